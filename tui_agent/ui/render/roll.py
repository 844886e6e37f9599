"""The whole transcript as one roll of rows, of which only what is looked at is laid out.

Off-screen heights are guesses until they are measured; positions are kept as (block, line, character), so that
a corrected guess never moves what a person reads.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tui_agent.ui.blocks import Block
from tui_agent.ui.render.heights import Heights
from tui_agent.ui.render.lines import GUTTER, MARGIN, Page, Row
from tui_agent.ui.render.part import Part
from tui_agent.ui.render.sheet import Level, Sheet
from tui_agent.ui.render.sheets import family, guess, level_of, new_sheet

KEPT_ROWS = 4000
"""Rows that stay laid out (1.5 kB each); a screen has 50, a page up and down is then free."""
KEPT_SHEETS = 500


_NOTHING = Heights()


class Entry:
    """One block on the roll. ``height`` includes the empty row above it (``gap``)."""

    __slots__ = ("block", "family", "gap", "height", "inner", "level", "sheet")

    def __init__(self, block: Block, level: Level) -> None:
        self.block = block
        self.level: Level = level
        self.family = family(block, level)
        self.gap = 1
        self.height = 0
        self.sheet: Sheet[Any] | None = None
        self.inner = _NOTHING


class Place(NamedTuple):
    """One row that is looked at: which entry and part it belongs to; ``row`` is None in a gap (part -1)."""

    entry: int
    part: int
    row: Row | None


class Anchor(NamedTuple):
    """A position that survives reflow: a character of a line of a part of a block (part -1: the gap above it)."""

    block: Block
    part: int
    line: int
    start: int


class Roll:
    """Blocks in order, their heights, and the rows that are kept."""

    def __init__(self, page: Page, clock: Callable[[], float] = time.time) -> None:
        self.page = page
        self.clock = clock
        self.entries: list[Entry] = []
        self.choices: dict[str, Level] = {}
        """What a person folded or opened, by block id."""
        self.heights = Heights()
        self.revision = 0
        """Grows with each change of any block."""
        self._places: dict[Block, int] = {}
        self._kept: OrderedDict[Part, int] = OrderedDict()
        self._kept_rows = 0
        self._sheets: OrderedDict[Entry, None] = OrderedDict()

    # ---- blocks

    @property
    def total(self) -> int:
        """All rows."""
        return self.heights.total

    def index(self, block: Block) -> int | None:
        """Where a block is; None when it is not (any more)."""
        return self._places.get(block)

    def level(self, block: Block) -> Level:
        """How much of a block is shown."""
        return self.choices.get(block.id) or level_of(block)

    def set(self, blocks: Iterable[Block]) -> None:
        """Replace everything."""
        self.revision += 1
        self._forget_all()
        self.entries = [Entry(block, self.level(block)) for block in blocks]
        self._places = {entry.block: index for index, entry in enumerate(self.entries)}
        self._measure_anew()

    def add(self, block: Block) -> None:
        """Put a block at the end."""
        self.revision += 1
        entry = Entry(block, self.level(block))
        self._places[block] = len(self.entries)
        self.entries.append(entry)
        self._guess(len(self.entries) - 1)
        self.heights.append(entry.height)

    def remove(self, index: int) -> None:
        """Take a block out."""
        self.revision += 1
        self._close(self.entries[index])
        del self._places[self.entries.pop(index).block]
        for place in range(index, len(self.entries)):
            self._places[self.entries[place].block] = place
        self.heights = Heights(entry.height for entry in self.entries)
        self._regap(index)

    def truncate(self, count: int) -> None:
        """Keep the first ``count`` blocks."""
        self.revision += 1
        for entry in self.entries[count:]:
            self._close(entry)
            del self._places[entry.block]
        del self.entries[count:]
        self.heights.truncate(count)

    def update(self, index: int) -> None:
        """A block changed: bring its sheet up to date if it has one, else guess again."""
        self.revision += 1
        entry = self.entries[index]
        level = self.level(entry.block)
        kind = family(entry.block, level)
        if level != entry.level or kind != entry.family:
            entry.level, entry.family = level, kind
            self._regap(index)
            self._regap(index + 1)
        if entry.sheet is not None:
            self._refresh(entry)
        else:
            self._guess(index)
        self.heights.set(index, entry.height)

    # ---- looks

    def reflow(self, page: Page) -> None:
        """Lay everything out for another page; only what still grows keeps what was read of it."""
        self.page = page
        for entry in self.entries:
            if entry.sheet is not None and not entry.block.live:
                self._close(entry)
        self._kept.clear()
        self._kept_rows = 0
        for entry in self._sheets:
            for part in entry.sheet.parts if entry.sheet else ():
                part.rows, part.exact = None, False
            self._remeasure(entry)
        self._measure_anew()

    def repaint(self, page: Page) -> None:
        """Paint with other ink on a page of the same width; heights stay."""
        self.page = page
        for entry in self._sheets:
            for part in entry.sheet.parts if entry.sheet else ():
                part.rows = None
        self._kept.clear()
        self._kept_rows = 0

    # ---- looking

    def window(self, top: int, count: int) -> list[Place]:
        """The rows from ``top`` on; fewer than ``count`` at the end. ``settle`` comes before it."""
        places: list[Place] = []
        index, skip = self.heights.find(top)
        while len(places) < count and index < len(self.entries):
            entry = self._open(index)
            if entry.height and skip < entry.gap:
                places.append(Place(index, -1, None))
                skip += 1
            part, row = entry.inner.find(max(skip - entry.gap, 0))
            while part < len(entry.inner) and len(places) < count:
                rows = self._rows(index, part)
                places += [Place(index, part, found) for found in rows[row : row + count - len(places)]]
                part, row = part + 1, 0
            index, skip = index + 1, 0
        return places

    def settle(self, top: int, count: int) -> int:
        """Measure what is seen from ``top`` on; where the same first row is then."""
        if not self.entries:
            return 0
        index, skip = self.heights.find(max(top, 0))
        if index >= len(self.entries):
            return self.settle_end(count)
        entry = self._open(index)
        part, row = -1, skip
        if skip >= entry.gap and len(entry.inner):
            part, row = entry.inner.find(skip - entry.gap)
            part = min(part, len(entry.inner) - 1)
            row = min(row, max(len(self._rows(index, part)) - 1, 0))
        seen, at, piece = -row, index, max(part, 0)
        while seen < count and at < len(self.entries):
            entry = self._open(at)
            seen += entry.gap if piece == 0 and (at > index or part < 0) else 0
            while piece < len(entry.inner) and seen < count:
                seen += len(self._rows(at, piece))
                piece += 1
            at, piece = at + 1, 0
        return self._row_of(index, part, row)

    def settle_end(self, count: int) -> int:
        """Measure the last ``count`` rows; the row at which they begin."""
        seen, index = 0, len(self.entries) - 1
        while index >= 0 and seen < count:
            entry = self._open(index)
            part = len(entry.inner) - 1
            while part >= 0 and seen < count:
                seen += len(self._rows(index, part))
                part -= 1
            seen += entry.gap if entry.height else 0
            index -= 1
        return max(self.total - count, 0)

    def anchor(self, top: int) -> Anchor | None:
        """What stands at a row."""
        place = next(iter(self.window(top, 1)), None)
        if place is None:
            return None
        block = self.entries[place.entry].block
        if place.row is None:
            return Anchor(block, -1, 0, 0)
        return Anchor(block, place.part, place.row.line, place.row.start)

    def row(self, anchor: Anchor) -> int | None:
        """Where an anchor is now; None when its block is gone."""
        index = self.index(anchor.block)
        if index is None:
            return None
        entry = self._open(index)
        if anchor.part < 0 or not len(entry.inner):
            return self._row_of(index, -1, 0)
        part = min(anchor.part, len(entry.inner) - 1)
        found = 0
        for number, row in enumerate(self._rows(index, part)):
            if (row.line, row.start) > (anchor.line, anchor.start):
                break
            found = number
        return self._row_of(index, part, found)

    def parts(self, index: int) -> list[Part]:
        """The parts of a block."""
        sheet = self._open(index).sheet
        return sheet.parts if sheet is not None else []

    def more(self, index: int) -> bool:
        """Whether opening a block would show more than is shown now."""
        sheet = self._open(index).sheet
        return sheet is not None and sheet.more

    def _row_of(self, index: int, part: int, row: int) -> int:
        entry = self.entries[index]
        top = self.heights.start(index)
        return top + row if part < 0 else top + entry.gap + entry.inner.start(part) + row

    # ---- keeping

    def _open(self, index: int) -> Entry:
        """The entry with its sheet."""
        entry = self.entries[index]
        if entry.sheet is None:
            entry.sheet = new_sheet(entry.block)
            entry.inner = Heights()
            self._sheets[entry] = None
            self._refresh(entry)
            self.heights.set(index, entry.height)
            while len(self._sheets) > KEPT_SHEETS:
                self._close(next(iter(self._sheets)))
        self._sheets.move_to_end(entry)
        return entry

    def _close(self, entry: Entry) -> None:
        """Forget a sheet; its height stays."""
        if entry.sheet is not None:
            for part in entry.sheet.parts:
                self._drop(part)
            entry.sheet = None
            self._sheets.pop(entry, None)

    def _forget_all(self) -> None:
        self._kept.clear()
        self._kept_rows = 0
        self._sheets.clear()

    def _rows(self, index: int, number: int) -> list[Row]:
        """The rows of a part, laid out if they are not, and kept."""
        entry = self.entries[index]
        assert entry.sheet is not None
        part = entry.sheet.parts[number]
        if part.rows is not None:
            if part in self._kept:
                self._kept.move_to_end(part)
            return part.rows
        rows = part.lay_out(self.page)
        if entry.inner[number] != len(rows):
            entry.inner.set(number, len(rows))
            self._sum(entry)
            self.heights.set(index, entry.height)
        self._kept[part] = len(rows)
        self._kept_rows += len(rows)
        while self._kept_rows > KEPT_ROWS and len(self._kept) > 1:
            oldest, size = self._kept.popitem(last=False)
            self._kept_rows -= size
            oldest.forget()
        return rows

    def _drop(self, part: Part) -> None:
        self._kept_rows -= self._kept.pop(part, 0)

    # ---- measuring

    @property
    def _text_cells(self) -> int:
        return max(self.page.edge - MARGIN - GUTTER, 1)

    def _refresh(self, entry: Entry) -> None:
        """Bring a sheet up to date and its heights with it."""
        sheet = entry.sheet
        assert sheet is not None
        sheet.now = self.clock()
        start = sheet.update(entry.block, entry.level)
        for part in sheet.dropped:
            self._drop(part)
        sheet.dropped.clear()
        entry.inner.truncate(start)
        cells = self._text_cells
        for part in sheet.parts[start:]:
            if not part.exact:
                part.height = part.guess(cells)
            entry.inner.append(part.height)
        self._sum(entry)

    def _remeasure(self, entry: Entry) -> None:
        """Guess all parts again, for another width."""
        cells = self._text_cells
        parts = entry.sheet.parts if entry.sheet is not None else []
        for part in parts:
            part.height = part.guess(cells)
        entry.inner = Heights(part.height for part in parts)
        self._sum(entry)

    def _sum(self, entry: Entry) -> None:
        rows = entry.inner.total
        entry.height = rows + entry.gap if rows else 0

    def _guess(self, index: int) -> None:
        entry = self.entries[index]
        entry.gap = self._gap(index)
        entry.height = entry.gap + guess(entry.block, entry.level, self._text_cells)

    def _gap(self, index: int) -> int:
        kind = self.entries[index].family
        return 0 if index and kind and kind == self.entries[index - 1].family else 1

    def _regap(self, index: int) -> None:
        """The block above may have folded or opened."""
        if index >= len(self.entries):
            return
        entry = self.entries[index]
        gap = self._gap(index)
        if gap != entry.gap:
            if entry.height:
                entry.height += gap - entry.gap
            entry.gap = gap
            self.heights.set(index, entry.height)

    def _measure_anew(self) -> None:
        for index, entry in enumerate(self.entries):
            if entry.sheet is None:
                self._guess(index)
        self.heights = Heights(entry.height for entry in self.entries)
