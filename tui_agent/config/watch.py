"""Live files: tells which of the files that people write have changed, whichever way their editor saves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]  # trio's types are not there

from tui_agent.config.paths import CONFIG_NAME, KEYBINDINGS_NAME, Paths

DEBOUNCE_MS = 100
"""Editors save in several steps; they are one change."""

_BELOW = ("themes", "commands", "skills")


async def changes(
    paths: Paths, project: Path | None = None, extra: tuple[Path, ...] = (), stop: asyncio.Event | None = None
) -> AsyncIterator[set[Path]]:
    """Yield the files that were changed, made or removed, until ``stop``: settings, keys, themes, commands and skills.

    ``project`` is the project's ``.tui-agent`` folder, ``extra`` are files named on the command line. Folders are
    watched, not files, because editors replace files; for one that does not exist yet its nearest parent is watched.
    """
    stop = stop or asyncio.Event()
    roots = [paths.config_dir, *([project] if project is not None else [])]
    matters = _test(roots, extra)
    while not stop.is_set():
        there = _existing(roots, extra)
        watch = awatch(*there, stop_event=stop, recursive=False, debounce=DEBOUNCE_MS, watch_filter=None)
        async with aclosing(watch):
            async for found in watch:
                if hits := {path for _, name in found if matters(path := Path(name))}:
                    yield hits
                if _existing(roots, extra) != there:
                    break


def _test(roots: list[Path], extra: tuple[Path, ...]) -> Callable[[Path], bool]:
    """Return what tells a file that matters from the sessions and logs that may lie beside it."""

    def matters(path: Path) -> bool:
        if path in extra:
            return True
        for root in roots:
            if path.is_relative_to(root):
                parts = path.relative_to(root).parts
                named = parts in ((CONFIG_NAME,), (KEYBINDINGS_NAME,))
                return named or (len(parts) > 1 and parts[0] in _BELOW and path.suffix in (".yaml", ".md"))
        return False

    return matters


def _existing(roots: list[Path], extra: tuple[Path, ...]) -> list[Path]:
    """The folders to watch now."""
    wanted = [*roots, *(root / name for root in roots for name in _BELOW), *(file.parent for file in extra)]
    found: dict[Path, None] = {}
    for folder in wanted:
        near = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
        found[near] = None
    for root in roots:
        found |= dict.fromkeys(folder for folder in (root / "skills").glob("*") if folder.is_dir())
    return list(found)
