"""The command line: ``tui-agent [DIR]`` opens the UI, everything else is a subcommand.

``--help`` must answer at once, so nothing heavier than click is imported before a command is chosen.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import sys
from pathlib import Path
from typing import Any

import click

from tui_agent import __version__

EXIT_CONFIG = 3
"""Exit code for anything a person must mend before the program can start."""

COMMANDS: dict[str, str] = {
    "run": "tui_agent.cli.run:run",
    "replay": "tui_agent.cli.replay:replay",
    "sessions": "tui_agent.cli.sessions:sessions",
    "models": "tui_agent.cli.inspect:models",
    "config": "tui_agent.cli.inspect:config",
    "doctor": "tui_agent.cli.doctor:doctor",
    "themes": "tui_agent.cli.inspect:themes",
    "keys": "tui_agent.cli.inspect:keys",
}
"""Subcommands and where they are; each is imported when it is called."""
SHORT_HELP: dict[str, str] = {
    "run": "Run one prompt without a screen.",
    "replay": "Play a saved session.",
    "sessions": "List, show, search, export, fork, verify, remove sessions.",
    "models": "Known models and local servers.",
    "config": "The effective configuration and where each value came from.",
    "doctor": "Check terminal, keys, git, ripgrep, credentials, stores.",
    "themes": "List and check themes.",
    "keys": "List and check key bindings.",
}
_OPEN = "open"


class Program(click.Group):
    """A group whose default command opens the UI, and whose subcommands are imported when they are called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version")):
            args = [_OPEN, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it so
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        target = "tui_agent.cli.open:open_ui" if cmd_name == _OPEN else COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, name = target.partition(":")
        return getattr(importlib.import_module(module), name)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        formatter.write_usage("tui-agent", "[DIR] [OPTIONS]")
        formatter.write_usage("tui-agent", "COMMAND [ARGS]...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        opener = self.get_command(ctx, _OPEN)
        if opener is not None:
            rows = [row for param in opener.get_params(ctx) if (row := param.get_help_record(ctx))]
            with formatter.section("Options"):
                formatter.write_dl([*rows, ("--version", "Show the version and exit.")])
        with formatter.section("Commands"):
            formatter.write_dl(list(SHORT_HELP.items()))


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tui-agent")
def program() -> None:
    """Work with a coding agent, full screen.

    Opens in DIR (default: here). With no model configured you choose one, or the demo, which needs no key and no network.
    """


def main(argv: list[str] | None = None) -> None:
    """Entry point; exits with the documented code, 3 for a mistake on the command line."""
    try:
        _main(argv)
    except SystemExit as done:
        if argv is None and isinstance(done.code, int):
            _leave_at_once(done.code)
        raise


def _main(argv: list[str] | None) -> None:
    try:
        code: Any = program.main(argv, prog_name="tui-agent", standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.UsageError as error:
        if error.ctx is not None and error.ctx.info_name == _OPEN:
            words = sys.argv[1:] if argv is None else argv
            click.echo(_meant(error, words), err=True)
        else:
            error.show(sys.stderr)
        sys.exit(EXIT_CONFIG)
    except click.ClickException as error:
        error.show(sys.stderr)
        sys.exit(error.code if isinstance(error, _Plain) else EXIT_CONFIG)
    except KeyboardInterrupt:  # before the run listens to signals itself
        sys.exit(130)
    except BrokenPipeError:
        _silence_stdout()
        sys.exit(1)
    except FileNotFoundError:
        if not _nowhere():
            raise
        click.echo("tui-agent: the folder it was started in is gone: cd to one that is there.", err=True)
        sys.exit(EXIT_CONFIG)
    sys.exit(code if isinstance(code, int) else 0)


def fail(text: str, code: int = EXIT_CONFIG) -> click.ClickException:
    """An error that prints ``text`` as it is and exits with ``code``."""
    return _Plain(text, code)


class _Plain(click.ClickException):
    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    def show(self, file: Any = None) -> None:
        click.echo(self.message, file=file or sys.stderr)


def directory(value: str) -> Path:
    """DIR as a folder; what is neither a folder nor a command names the nearest of both."""
    path = Path(value).expanduser()
    if path.is_dir():
        return path.resolve()
    near = difflib.get_close_matches(value, COMMANDS, 1)
    meant = f" Did you mean the command {near[0]!r}?" if near else ""
    what = "is not a folder" if path.exists() else "does not exist"
    raise fail(f"tui-agent: {value}: {what}.{meant}")


def _meant(error: click.UsageError, words: list[str]) -> str:
    """What is wrong with a command line that opens the screen, and which command or option was probably meant."""
    text = error.format_message()
    given = next((word for word in words if word in COMMANDS), "")
    near = difflib.get_close_matches(words[0], COMMANDS, 1) if words else []
    hint = ""
    if isinstance(error, click.NoSuchOption):
        if not error.possibilities and difflib.get_close_matches(error.option_name, ["--version"]):
            hint = " Did you mean --version?"
    elif given:
        hint = f" Options come after the command: tui-agent {given} …"
    elif near:
        hint = f" Did you mean the command {near[0]!r}?"
    stop = "" if text.endswith((".", "?)")) else "."
    return f"tui-agent: {text}{stop}{hint}\nTry 'tui-agent --help'."


def _nowhere() -> bool:
    """Whether the current folder was removed under us."""
    import os

    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False


def _leave_at_once(code: int) -> None:
    """End the process here if litellm's import was begun: its thread may hold locks for which an orderly end waits for ever."""
    import os

    door = sys.modules.get("tui_agent.llm.litellm_model")
    if door is None or not door.begun():
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _silence_stdout() -> None:
    """The reader of our output has gone: keep the interpreter from complaining when it flushes."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
