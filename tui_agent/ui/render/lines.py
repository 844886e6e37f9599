"""What a renderer hands to the layout: lines of text with roles, still without a width."""

from __future__ import annotations

from typing import Protocol

from rich.style import Style


class Palette(Protocol):
    """What rendering needs of a theme (``ui/themes.py`` has it)."""

    def style(self, role: str) -> Style:
        """The look of a role, e.g. ``heading`` or ``diff-add``."""
        ...

    def syntax(self, group: str) -> Style:
        """The look of a group of code tokens, e.g. ``keyword``."""
        ...
