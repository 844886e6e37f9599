"""Lists whose rows stand in columns: a text, what it is, numbers, and a note at the right edge. Nothing ragged, nothing lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tui_agent.ui.render import cells
from tui_agent.ui.render.plain import visible
from tui_agent.ui.widgets.row import Line, Span

GAP = 2
"""Cells between two columns."""
LEAST_TEXT = 24
"""Cells that the text keeps before a column of numbers is left out for it."""
MOST_TEXT = 48
"""Cells of the text column where others follow: one long name must not push them out of sight."""
LEAST_WHAT = 12
"""Cells below which the second column says nothing."""


class Cells(NamedTuple):
    """One row. ``numbers`` are aligned on the right of their columns, ``note`` on the right of the row."""

    text: str
    what: str = ""
    numbers: tuple[str, ...] = ()
    note: str = ""


class Widths(NamedTuple):
    """Cells of each column; 0 where there is none."""

    text: int = 0
    what: int = 0
    numbers: tuple[int, ...] = ()
    note: int = 0

    @property
    def total(self) -> int:
        """Cells of a whole row."""
        widths = [self.text, self.what, *self.numbers, self.note]
        return sum(widths) + GAP * (sum(width > 0 for width in widths) - 1)


def natural(rows: Iterable[Cells]) -> Widths:
    """The widths at which nothing is cut."""
    text = what = note = 0
    numbers: list[int] = []
    for row in rows:
        text, what, note = (
            max(text, _width(row.text)),
            max(what, _width(row.what)),
            max(note, _width(row.note)),
        )
        numbers += [0] * (len(row.numbers) - len(numbers))
        for index, number in enumerate(row.numbers):
            numbers[index] = max(numbers[index], _width(number))
    if what or any(numbers):
        text = min(text, MOST_TEXT)
    return Widths(text, what, tuple(numbers), note)


def squeezed(wish: Widths, room: int) -> Widths:
    """The widths for ``room`` cells: numbers go first, from the last one, then the second column is cut, then the text."""
    text, what, numbers, note = wish
    least = min(text, LEAST_TEXT) + (min(what, LEAST_WHAT) + GAP if what else 0)
    while numbers and least + _with_gaps(*numbers, note) > room:
        numbers = numbers[:-1]
    if least + _with_gaps(note) > room:
        note = 0
    left = room - _with_gaps(*numbers, note)
    if what:
        text = min(text, max(left - GAP - what, min(text, left * 2 // 5)))
        what = max(min(what, left - GAP - text), 0)
        what = what if what >= min(LEAST_WHAT, wish.what) else 0
    if not what:
        text = min(wish.text, left)
    return Widths(text, what, numbers, note)


def line_of(row: Cells, widths: Widths, lead: Sequence[Span], role: str) -> Line:
    """The row as spans behind ``lead``; its text in ``role``, everything else dim."""
    left: list[Span] = [*lead, (cells.pad(visible(row.text), widths.text), role)]
    rest = ""
    if widths.what:
        rest += " " * GAP + cells.pad(visible(row.what), widths.what)
    for number, width in zip(row.numbers, widths.numbers, strict=False):
        shown = visible(number)
        rest += " " * (GAP + width - _width(number)) + shown if width else ""
    if rest:
        left.append((rest, "dim"))
    return left, [(row.note, "dim"), (" ", "text")] if widths.note and row.note else []


def _with_gaps(*widths: int) -> int:
    return sum(width + GAP for width in widths if width)


def _width(text: str) -> int:
    return cells.width(visible(text)) if text else 0
