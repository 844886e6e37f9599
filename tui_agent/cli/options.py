"""Options that several commands share, and the launch that they describe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui_agent.cli import EXIT_CONFIG, fail

if TYPE_CHECKING:
    from tui_agent.config.load import Loaded

F = TypeVar("F", bound=Callable[..., Any])

KEYS: dict[str, str] = {
    "model": "model", "mode": "mode", "confirm": "permissions.mode", "budget": "limits.budget_usd",
    "max_steps": "limits.max_steps", "timeout": "limits.timeout", "step_timeout": "limits.step_timeout",
    "theme": "ui.theme", "language": "ui.language", "self_eval": "self_eval",
}  # fmt: skip
"""Option to the configuration key that it sets."""

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("-m", "--model", metavar="NAME", help="litellm name, or an alias from the configuration."),
    click.option(
        "--demo", is_flag=True, help="Scripted model on a fresh scratch project; no key, no network."
    ),
    click.option(
        "-c", "--continue", "continue_last", is_flag=True, help="Go on with the last session of this folder."
    ),
    click.option(
        "-r", "--resume", metavar="[ID]", is_flag=False, flag_value="?", help="Go on with a session."
    ),
    click.option("--mode", metavar="MODE", help="plan, build or mixed."),
    click.option("--confirm", metavar="MODE", help="yolo, confirm-sensitive or confirm-all."),
    click.option("--budget", metavar="USD", help="Most that a run may cost."),
    click.option("--max-steps", metavar="N", help="Steps of a run; one more to read the last results."),
    click.option("--timeout", metavar="S", help="Seconds that a run may take."),
    click.option("--step-timeout", metavar="S", help="Seconds that one model call may take."),
    click.option(
        "--config", "config_file", metavar="FILE", help="Read this configuration instead of the user's."
    ),
    click.option("--language", metavar="LANG", help="Language of the human trace: en or es."),
)


def shared(command: F) -> F:
    """Add the options that the UI and ``run`` have in common."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def overrides(values: dict[str, Any]) -> dict[str, Any]:
    """The configuration keys that were given as options."""
    return {key: values[name] for name, key in KEYS.items() if values.get(name) is not None}


def loaded(cwd: Path, values: dict[str, Any]) -> Loaded:
    """The effective configuration; every mistake is printed on a line of its own, exit 3."""
    from tui_agent.config.load import load
    from tui_agent.core.errors import ConfigError

    file = values.get("config_file")
    if file and not Path(file).expanduser().is_file():
        raise fail(f"{file}: there is no such file (--config)")
    try:
        return load(cwd, config_file=Path(file).expanduser() if file else None, overrides=overrides(values))
    except ConfigError as error:
        raise fail(str(error), EXIT_CONFIG) from error


def ready(settings: Loaded) -> None:
    """Make the folders that every session writes to; one that can't be written ends the program with one line, exit 3."""
    import tempfile

    from tui_agent.config.yamlfile import visible

    paths = settings.paths
    for folder in (paths.state_dir, paths.sessions_dir):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            why = error.strerror or str(error)
            raise fail(
                f"tui-agent: {visible(str(folder))}: {why}: sessions are kept there. "
                "TUI_AGENT_HOME names another folder."
            ) from error


def session_path(cwd: Path, values: dict[str, Any]) -> str:
    """The log to resume for ``-c`` and ``-r ID``; empty for a new session, ``?`` when the UI is to ask."""
    if not values.get("continue_last") and not values.get("resume"):
        return ""
    from tui_agent.config.paths import Paths
    from tui_agent.core.errors import SessionError
    from tui_agent.sessions.store import Store

    store = Store(Paths.from_environ().sessions_dir)
    wanted = values.get("resume")
    if wanted == "?":
        return "?"
    try:
        if wanted:
            return str(store.find(wanted, cwd))
        last = store.last(cwd)
    except SessionError as error:
        raise fail(f"tui-agent: {error}") from error
    if last is None:
        raise fail(f"tui-agent: there is no session to continue in {cwd}. Start one without -c.")
    return str(getattr(last, "path", last))
