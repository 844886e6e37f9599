"""Parts: the pieces of a block that are rendered, measured and forgotten one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui_agent.ui.render.lines import Line, Page, Row, layout


class Part:
    """A few lines that can be made again at any time, with their height at the current width.

    ``size`` and ``least`` (characters, lines) serve to guess the height until the part was laid out.
    """

    __slots__ = ("_lines", "_make", "exact", "height", "least", "rows", "size")

    def __init__(
        self,
        make: Callable[[], Sequence[Line]],
        size: int,
        least: int = 1,
        lines: Sequence[Line] | None = None,
    ) -> None:
        self._make = make
        self._lines = lines
        self.size = size
        self.least = least
        self.rows: list[Row] | None = None
        self.height = 0
        self.exact = False

    @property
    def lines(self) -> Sequence[Line]:
        """The lines, made if they were forgotten."""
        if self._lines is None:
            self._lines = self._make()
        return self._lines

    def guess(self, cells: int) -> int:
        """The height that it may have in so many cells (text width)."""
        return self.least + self.size // (max(cells, 1) * 2)

    def lay_out(self, page: Page) -> list[Row]:
        """Rows for a page, kept until ``forget``."""
        if self.rows is None:
            self.rows = layout(self.lines, page)
            self.height = len(self.rows)
            self.exact = True
        return self.rows

    def forget(self) -> None:
        """Drop what can be made again; the height stays."""
        self.rows = None
        self._lines = None


def fixed(lines: Sequence[Line]) -> Part:
    """A part of lines that are cheap enough to keep."""
    return Part(lambda: lines, sum(len(line.text) for line in lines), len(lines), lines)
