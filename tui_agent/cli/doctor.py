"""``tui-agent doctor``: what works here and what doesn't, each with what to do about it."""

from __future__ import annotations

import contextlib
import locale
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click

from tui_agent import __version__

Verdict = Literal["ok", "warn", "bad"]
Finding = tuple[Verdict, str, str, str]
"""Verdict, what was looked at, what was found, what to do (may be empty)."""
_MARKS: dict[Verdict, str] = {"ok": "✓", "warn": "⚠", "bad": "✗"}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def doctor() -> int:
    """Check terminal, keys, colours, git, ripgrep, credentials (present or not, never shown) and stores."""
    worst = 0
    click.echo(
        f"tui-agent {__version__} · Python {platform.python_version()} · {platform.system()} {platform.release()}"
    )
    for verdict, what, found, advice in _findings():
        click.echo(f"{_MARKS[verdict]} {what:<14} {found}")
        if advice:
            click.echo(f"  {'':<14} → {advice}")
        worst = max(worst, 1 if verdict == "bad" else 0)
    return worst


def _findings() -> Iterator[Finding]:
    yield from _terminal()
    yield from _programs()
    yield from _configuration()
    yield from _credentials()
    yield from _stores()


def _terminal() -> Iterator[Finding]:
    term = os.environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        yield "bad", "terminal", f"TERM={term!r}", "the screen can't be drawn here; use `tui-agent run`"
    else:
        size = shutil.get_terminal_size()
        small = size.columns < 80 or size.lines < 24
        yield (
            "warn" if small else "ok", "terminal", f"{term}, {size.columns}×{size.lines}",
            "80×24 is the least that shows everything" if small else "",
        )  # fmt: skip
    depth = "none (NO_COLOR)" if os.environ.get("NO_COLOR") else os.environ.get("COLORTERM") or "256 or 16"
    yield "ok", "colours", depth, ""
    kitty = bool(os.environ.get("KITTY_WINDOW_ID")) or os.environ.get("TERM_PROGRAM", "") in {
        "WezTerm",
        "ghostty",
        "iTerm.app",
    }
    yield (
        "ok" if kitty else "warn", "keys", "shift+enter and ctrl+enter are delivered" if kitty else "plain key codes",
        "" if kitty else "where shift+enter sends nothing of its own, use alt+enter or ctrl+j for a new line, ctrl+x enter to steer at once",
    )  # fmt: skip
    encoding = locale.getpreferredencoding(False)
    utf8 = encoding.lower().replace("-", "") == "utf8"
    yield (
        "ok" if utf8 else "warn",
        "encoding",
        encoding,
        "" if utf8 else "set LANG to a UTF-8 locale, e.g. C.UTF-8",
    )


def _programs() -> Iterator[Finding]:
    git = _version("git", "--version")
    yield (
        "ok" if git else "warn",
        "git",
        git or "not found",
        "" if git else "branches and ignored files are not known without it",
    )
    beside = Path(sys.executable).with_name("rg")
    rg = _version(str(beside) if beside.exists() else "rg", "--version")
    yield (
        "ok" if rg else "warn",
        "ripgrep",
        rg or "not found",
        "" if rg else "searches use the slower built-in one",
    )


def _version(program: str, flag: str) -> str:
    try:
        done = subprocess.run([program, flag], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else ""


def _configuration() -> Iterator[Finding]:
    from tui_agent.config.load import load
    from tui_agent.core.errors import ConfigError

    try:
        settings = load(Path.cwd())
    except ConfigError as error:
        for line in str(error).splitlines():
            yield "bad", "config", line, ""
        return
    model = settings.config.model
    yield (
        "ok" if model else "warn",
        "model",
        model or "none chosen",
        "" if model else "set `model:` in the configuration, or choose one in the UI",
    )
    if settings.untrusted_project:
        yield (
            "warn",
            "project",
            f"{settings.project} is not trusted, its settings are not used",
            "open the UI here and answer the question",
        )
    for warning in settings.warnings:
        yield "warn", "config", warning, ""


def _credentials() -> Iterator[Finding]:
    from tui_agent.llm.credentials import present

    found = present()
    if not found:
        yield (
            "warn",
            "credentials",
            "no provider's key is in the environment",
            "set one, e.g. ANTHROPIC_API_KEY or OPENAI_API_KEY",
        )
    for provider, variable in found:
        yield "ok", "credentials", f"{provider}: {variable} is set", ""


def _writable(folder: Path) -> bool:
    """Tried, because what a superuser may do and what a read-only file system allows is not in the permissions."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _stores() -> Iterator[Finding]:
    from tui_agent.config.paths import Paths

    paths = Paths.from_environ()
    for what, folder in (
        ("sessions", paths.sessions_dir),
        ("state", paths.state_dir),
        ("config", paths.config_dir),
    ):
        existing = next(each for each in (folder, *folder.parents) if each.exists())
        writable = _writable(existing)
        yield (
            "ok" if writable else "bad",
            what,
            str(folder),
            "" if writable else f"{existing} can't be written",
        )
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        fts = "ENABLE_FTS5" in {row[0] for row in database.execute("pragma compile_options")}
    yield (
        "ok" if fts else "warn",
        "search",
        "SQLite has FTS5" if fts else "SQLite without FTS5",
        "" if fts else "searching sessions is slower",
    )
