"""``tui-agent replay``: play a saved session with the widgets of the live one, or print it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_agent.cli import fail
from tui_agent.cli.open import check_terminal

if TYPE_CHECKING:
    from tui_agent.core.events import SessionStart


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("session")
@click.option(
    "--speed", type=click.FloatRange(0.25, 16), default=1.0, show_default=True, help="How fast it plays."
)
@click.option(
    "--from", "from_seq", type=click.IntRange(0), default=0, metavar="N", help="Begin at this event."
)
@click.option("--plain", is_flag=True, help="Print it as text, without a screen.")
@click.option("--theme", metavar="NAME", default="", help="Theme; auto follows the terminal.")
def replay(session: str, speed: float, from_seq: int, plain: bool, theme: str) -> int:
    """Play SESSION: an id, the beginning of one, or a file."""
    path = _find(session)
    start = _start(path)
    if plain:
        return _print(path, from_seq)
    check_terminal()
    from tui_agent.engine.launch import Launch
    from tui_agent.ui.app import UiOptions, run_ui

    folder = Path(start.cwd)
    launch = Launch(cwd=str(folder if folder.is_dir() else Path.cwd()), kind="replay")
    return run_ui(launch, UiOptions(replay=path, speed=speed, from_seq=from_seq, theme=theme))


def _find(session: str) -> Path:
    from tui_agent.config.paths import Paths
    from tui_agent.core.errors import SessionError
    from tui_agent.sessions.store import Store

    try:
        return Store(Paths.from_environ().sessions_dir).find(session, Path.cwd())
    except SessionError as error:
        raise fail(f"tui-agent replay: {error}") from error


def _start(path: Path) -> SessionStart:
    from tui_agent.core.events import SessionStart
    from tui_agent.sessions.log import read

    first = next(iter(read(path)), None)
    if not isinstance(first, SessionStart):
        raise fail(f"tui-agent replay: {path} is no session log: its first line is no session_start")
    return first


def _print(path: Path, from_seq: int) -> int:
    """The session as the human trace with the model's words between."""
    from tui_agent.cli.printing import plain as visible
    from tui_agent.core import events as ev
    from tui_agent.readers.trace import HumanTrace
    from tui_agent.sessions.log import read

    trace = HumanTrace()
    for event in read(path):
        lines = trace.feed(event)
        if event.seq < from_seq:
            continue
        if isinstance(event, ev.MessageEnd) and event.message.text.strip():
            who = "▌ " if event.message.role == "user" else "  "
            lines = [*lines, "", *(who + line for line in event.message.text.splitlines()), ""]
        elif isinstance(event, ev.SteeringDelivered | ev.FollowUpDelivered):
            lines = [*lines, *(f"▌ {message.text}" for message in event.messages)]
        for line in lines:
            click.echo(visible(line))
    return 0
