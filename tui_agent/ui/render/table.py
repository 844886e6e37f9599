"""Tables that fit the width: columns shrink and cells wrap; nothing is cut while there is room for one word a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment

from tui_agent.ui.render.cells import spaces, width, wrap_words
from tui_agent.ui.render.inline import Inline, inline
from tui_agent.ui.render.lines import Line, Page, Prefix, Role, Row, TextLine, colour, squeezed

if TYPE_CHECKING:
    from markdown_it.token import Token

GAP = 2
NARROWEST = 3
"""Cells of the narrowest column; a table that would need narrower ones is shown as its source."""


class Table:
    """One table: its cells, the width each column would like, and its lines."""

    def __init__(self, tokens: Sequence[Token], prefix: Prefix, base: tuple[Role, ...]) -> None:
        self.prefix = prefix
        self.base = base
        self.aligns: list[str] = []
        cells = self._read(tokens)
        columns = max((len(row) for row in cells), default=0)
        self.wanted = [
            max((width(row[column].text) for row in cells if column < len(row)), default=0)
            for column in range(columns)
        ]
        self._widths: tuple[int, list[int]] = (-1, [])
        self.lines: list[Line] = []
        for number, row in enumerate(cells):
            row += [Inline("")] * (columns - len(row))
            self.lines.append(_TableRow(self, row, header=number == 0))
            if number == 0:
                self.lines.append(_TableRule(self))

    def _read(self, tokens: Sequence[Token]) -> list[list[Inline]]:
        rows: list[list[Inline]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                parts = inline(token)
                rows[-1].append(
                    parts[0] if len(parts) == 1 else Inline(" ".join(part.text for part in parts))
                )
            elif token.type == "th_open":
                self.aligns.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
        return rows

    def widths(self, room: int) -> list[int]:
        """Cells of each column in so much room; empty when they cannot stand beside each other."""
        if self._widths[0] != room:
            self._widths = room, share(self.wanted, room - GAP * (len(self.wanted) - 1))
        return self._widths[1]


def share(wanted: Sequence[int], room: int) -> list[int]:
    """Give narrow columns what they want and let the wide ones share the rest; empty when there is too little room."""
    if sum(wanted) <= room:
        return [max(cells, 1) for cells in wanted]
    if room < NARROWEST * len(wanted):
        return []
    given = [0] * len(wanted)
    open_columns = sorted(range(len(wanted)), key=lambda column: wanted[column])
    while open_columns:
        fair = room // len(open_columns)
        column = open_columns.pop(0)
        given[column] = max(min(wanted[column], fair), 1)
        room -= given[column]
    return given


class _TableRow(Line):
    __slots__ = ("cells", "header", "table")

    whole = True

    def __init__(self, table: Table, cells: list[Inline], *, header: bool) -> None:
        super().__init__(f"| {' | '.join(cell.text for cell in cells)} |")
        self.table = table
        self.cells = cells
        self.header = header

    def rows(self, number: int, page: Page) -> list[Row]:
        prefix = squeezed(self.table.prefix, page.edge)
        lead = sum(width(text) for text, _ in prefix)
        columns = self.table.widths(page.edge - lead)
        if not columns:
            return TextLine(self.text, first=prefix, base=self.table.base).rows(number, page)
        wrapped = [wrap_words(cell.text, cells) for cell, cells in zip(self.cells, columns, strict=True)]
        made: list[Row] = []
        for level in range(max(map(len, wrapped))):
            segments = [Segment(text, page.ink.mix(*self.table.base, role)) for text, role in prefix]
            used = lead
            for column, cells in enumerate(columns):
                if column:
                    segments.append(Segment(spaces(GAP), page.ink.mix(*self.table.base)))
                    used += GAP
                ranges = wrapped[column]
                start, end = ranges[level] if level < len(ranges) else (0, 0)
                segments += self._cell(column, start, end, cells, page)
                used += cells
            made.append(page.row(segments, used, number, 0, len(self.text), lead))
        return made

    def _cell(self, column: int, start: int, end: int, cells: int, page: Page) -> list[Segment]:
        cell = self.cells[column]
        base = (*self.table.base, "table-head") if self.header else self.table.base
        segments = colour(cell.text, cell.spans, start, end, base, page.ink)
        free = max(cells - width(cell.text[start:end]), 0)
        align = self.table.aligns[column] if column < len(self.table.aligns) else ""
        left = {"right": free, "center": free // 2}.get(align, 0)
        blank = page.ink.mix(*self.table.base)
        before = [Segment(spaces(left), blank)] if left else []
        after = [Segment(spaces(free - left), blank)] if free > left else []
        return [*before, *segments, *after]


class _TableRule(Line):
    __slots__ = ("table",)

    whole = True

    def __init__(self, table: Table) -> None:
        marks = {"right": "--:", "center": ":-:", "left": ":--"}
        aligns = [*table.aligns, *[""] * (len(table.wanted) - len(table.aligns))]
        super().__init__(f"| {' | '.join(marks.get(align, '---') for align in aligns)} |")
        self.table = table

    def rows(self, number: int, page: Page) -> list[Row]:
        prefix = squeezed(self.table.prefix, page.edge)
        lead = sum(width(text) for text, _ in prefix)
        columns = self.table.widths(page.edge - lead)
        if not columns:
            return TextLine(self.text, first=prefix, base=self.table.base).rows(number, page)
        total = sum(columns) + GAP * (len(columns) - 1)
        segments = [Segment(text, page.ink.mix(*self.table.base, role)) for text, role in prefix]
        segments.append(Segment("─" * total, page.ink.mix(*self.table.base, "table")))
        return [page.row(segments, lead + total, number, 0, len(self.text), lead)]
