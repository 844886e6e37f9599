"""Where a path that a model wrote really leads: symlinks resolved, inside or outside the workspace, never a device."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tui_agent.core.errors import ToolError

SYSTEM_TREES = (Path("/proc"), Path("/sys"), Path("/dev"))
"""Kernel interfaces: memory, keys in environments (``/proc/*/environ``), disks. No file tool reads or writes there."""


class Place(msgspec.Struct, frozen=True):
    """A resolved path; ``name`` is workspace-relative POSIX when inside, else absolute; ``outside``: it needs a person's yes."""

    path: Path
    name: str
    outside: bool


def locate(path: str, workspace: Path, *, readable: Path | None = None) -> Place:
    """Resolve ``path`` against the (resolved) workspace; raises ``ToolError`` for what no tool may touch.

    ``readable`` is a folder that doesn't count as outside (the session's own, with the whole outputs of commands).
    """
    if not path.strip():
        raise ToolError("path: empty")
    if "\0" in path:
        raise ToolError("path: holds a NUL character")
    try:
        resolved = (workspace / Path(path).expanduser()).resolve()
        mode = _mode(resolved)
    except (OSError, RuntimeError, UnicodeError) as error:
        # RuntimeError: a loop of symlinks (before Python 3.13), or ~user that doesn't exist.
        raise ToolError(f"{path}: {reason(error)}") from None
    if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ToolError(f"{path}: not a regular file (a device, pipe or socket); refused")
    inside = resolved.is_relative_to(workspace)
    if not inside and any(resolved.is_relative_to(tree) for tree in SYSTEM_TREES):
        raise ToolError(f"{path}: leads into {resolved}, which belongs to the system; refused")
    name = resolved.relative_to(workspace).as_posix() if inside else resolved.as_posix()
    own = readable is not None and resolved.is_relative_to(readable.resolve())
    return Place(resolved, name, not inside and not own)


def outside(places: Iterable[Place]) -> tuple[str, ...]:
    """The names of those that leave the workspace."""
    return tuple(place.name for place in places if place.outside)


def reason(error: BaseException) -> str:
    """An operating system's error in a few words, without errno and path."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]


def _mode(path: Path) -> int:
    """The file's mode, 0 if there is none or it can't be seen."""
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return 0
