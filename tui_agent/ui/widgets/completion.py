"""The list of completions above the composer. It lies over the transcript, so nothing moves when it opens."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tui_agent.ui.render.lines import Palette
from tui_agent.ui.widgets.columns import Cells, line_of, natural, squeezed
from tui_agent.ui.widgets.row import Line, Rows

ROWS = 8
LEAD = 3
"""Cells before a row's text, so that it stands above what is typed."""


class Completion(msgspec.Struct, frozen=True):
    """What is put in, what is shown, and a word about it."""

    text: str
    shown: str
    note: str = ""
    dim: bool = False


class Completions(Rows):
    """Up to eight completions, one marked."""

    DEFAULT_CSS = """
    Completions { layer: popup; dock: bottom; height: auto; width: 100%; display: none; background: $surface; border-top: hkey $border-blurred; }
    """

    def __init__(self, palette: Palette) -> None:
        super().__init__(palette, id="completions", base="menu")
        self.items: Sequence[Completion] = ()
        self.at = 0

    @property
    def is_open(self) -> bool:
        """Whether there is anything to choose."""
        return bool(self.items)

    @property
    def marked(self) -> Completion | None:
        """The completion that ``accept`` would take."""
        return self.items[self.at] if self.items else None

    def offer(self, items: Sequence[Completion], above: int) -> None:
        """Show these, ``above`` rows over the bottom of the screen; none closes the list."""
        old = self.marked
        self.items = items
        self.at = next((i for i, item in enumerate(items) if old is not None and item.text == old.text), 0)
        self.display = bool(items)
        self.styles.margin = (0, 0, above, 0)
        self._draw()

    def close(self) -> None:
        """Put the list away."""
        self.items = ()
        self.display = False

    def move(self, by: int) -> None:
        """Mark another one; past an end comes the other."""
        if self.items:
            self.at = (self.at + by) % len(self.items)
            self._draw()

    def on_mount(self) -> None:
        """Draw what was offered before there was a width."""
        self._draw()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self._draw()

    def _draw(self) -> None:
        if not self.is_attached:
            return
        top = min(max(self.at - ROWS // 2, 0), max(len(self.items) - ROWS, 0))
        lines: list[Line] = []
        rows = [Cells(item.shown, item.note) for item in self.items]
        widths = squeezed(natural(rows), self.screen.size.width - LEAD - 1)
        for index, item in enumerate(self.items[top : top + ROWS], top):
            marked = index == self.at
            role = "cursor" if marked else "dim" if item.dim else "text"
            lines.append(line_of(rows[index], widths, [(" ▸ " if marked else "   ", "accent")], role))
        self.show(lines)
