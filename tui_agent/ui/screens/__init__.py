"""The screens. What opens over a session is imported when it is first asked for, so that the first paint comes sooner."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.ui.screens import approval, editor, overlay, page, picker, replay, rewind, sessions, start

LATE = ("approval", "editor", "overlay", "page", "picker", "replay", "rewind", "sessions", "start")
"""Modules that ``screens.NAME`` imports."""


def __getattr__(name: str) -> ModuleType:
    if name in LATE:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(name)


__all__ = ["approval", "editor", "overlay", "page", "picker", "replay", "rewind", "sessions", "start"]
