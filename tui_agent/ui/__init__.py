"""The screen: a view folded from events, widgets that draw it, and keys that become commands.

Modules that the first paint does not need are imported when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.ui import completing, library, models, opening, pages

LATE = ("completing", "library", "models", "opening", "pages")
"""Modules that ``ui.NAME`` imports."""


def __getattr__(name: str) -> ModuleType:
    if name in LATE:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(name)


__all__ = ["completing", "library", "models", "opening", "pages"]
