"""What a shell line may destroy, and which paths outside of the workspace it names; read from its syntax tree."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Look(msgspec.Struct, frozen=True):
    """``destructive`` is the first reason found, empty if none; ``outside`` are paths outside of the workspace."""

    destructive: str = ""
    outside: tuple[str, ...] = ()


def look(command: str, workspace: Path) -> Look:
    """Judge a shell line by its looks; what a program then does with its arguments can't be known."""
    return Look()
