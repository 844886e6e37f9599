"""The list of completions above the composer. It lies over the transcript, so nothing moves when it opens."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tui_agent.ui.render.lines import Palette
from tui_agent.ui.widgets.row import Line, Rows

ROWS = 8


class Completion(msgspec.Struct, frozen=True):
    """What is put in, what is shown, and a word about it."""

    text: str
    shown: str
    note: str = ""
    dim: bool = False


class Completions(Rows):
    """Up to eight completions, one marked."""

    DEFAULT_CSS = """
    Completions { layer: popup; dock: bottom; height: auto; width: 80%; max-width: 90; display: none; background: $surface; }
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
        self.styles.margin = (0, 0, above, 2)
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

    def _draw(self) -> None:
        top = min(max(self.at - ROWS // 2, 0), max(len(self.items) - ROWS, 0))
        lines: list[Line] = []
        for index, item in enumerate(self.items[top : top + ROWS], top):
            marked = index == self.at
            role = "cursor" if marked else "dim" if item.dim else "text"
            lines.append(
                (
                    [("▸ " if marked else "  ", "accent"), (item.shown, role)],
                    [(item.note, "dim"), (" ", "text")],
                )
            )
        self.show(lines)
