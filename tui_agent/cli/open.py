"""``tui-agent [DIR]``: check what can be checked before the screen is taken, then open the UI."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_agent.cli import directory, fail
from tui_agent.cli.options import loaded, overrides, ready, session_path, shared

if TYPE_CHECKING:
    from tui_agent.config.load import Loaded
    from tui_agent.ui.firstframe import FirstFrame


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("dir", default=".")
@shared
@click.option("-p", "--prompt", metavar="TEXT", help="Send this first.")
@click.option("--theme", metavar="NAME", help="Theme; auto follows the terminal.")
@click.option("--keybindings", metavar="FILE", help="Read these key bindings instead of the user's.")
def open_ui(dir: str, **values: Any) -> int:
    """Open the full-screen UI in DIR."""
    cwd = directory(dir)
    check_terminal()
    settings = loaded(cwd, values)
    resume = session_path(cwd, values)
    ready(settings)
    if values["keybindings"] and not Path(values["keybindings"]).expanduser().is_file():
        raise fail(f"{values['keybindings']}: there is no such file (--keybindings)")
    from tui_agent.ui.background import needs_asking
    from tui_agent.ui.firstframe import FirstFrame

    first = FirstFrame(ask_background=needs_asking(values["theme"] or settings.config.ui.theme, os.environ))
    try:
        return _open(cwd, values, settings, resume, first)
    finally:
        first.close()


def _open(cwd: Path, values: dict[str, Any], settings: Loaded, resume: str, first: FirstFrame) -> int:
    """Build what the screen needs; the frame that is there already says that it comes."""
    from tui_agent.engine.launch import Launch

    launch = Launch(
        cwd=str(cwd),
        resume="" if resume == "?" else resume,
        demo=values["demo"],
        config_file=str(Path(values["config_file"]).expanduser()) if values["config_file"] else "",
        overrides=overrides(values),
    )
    prompt = values["prompt"] or ""
    if values["demo"]:
        from tui_agent.engine import demo

        launch = demo.launch(launch)
        prompt = prompt or ("" if resume else demo.PROMPT)
    from tui_agent.ui.app import UiOptions, run_ui

    options = UiOptions(
        prompt=prompt,
        theme=values["theme"] or "",
        keybindings=Path(values["keybindings"]).expanduser() if values["keybindings"] else None,
        config_file=Path(launch.config_file) if launch.config_file else None,
        overrides=launch.overrides,
        pick_session=resume == "?",
    )
    return run_ui(launch, options, settings, first)


def check_terminal() -> None:
    """The UI needs a terminal that can move its cursor; scripts have ``run``."""
    hint = 'Use `tui-agent run "…"` where there is no screen (see `tui-agent run --help`).'
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise fail(f"tui-agent: the screen needs a terminal on standard input and output. {hint}")
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        raise fail(f"tui-agent: TERM={os.environ.get('TERM', '')!r} cannot draw a screen. {hint}")
