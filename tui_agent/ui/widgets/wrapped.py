"""Lines broken where the cells run out, so that nothing of them is hidden: what goes on below begins with ``↪``."""

from __future__ import annotations

from collections.abc import Sequence

from tui_agent.ui.render import cells
from tui_agent.ui.render.plain import visible
from tui_agent.ui.widgets.row import Span

MARK = "↪ "


def wrapped(spans: Sequence[Span], width: int) -> list[list[Span]]:
    """The rows of a line, none wider than ``width`` cells, every character of it on one of them."""
    shown = [(visible(text), role) for text, role in spans]
    text = "".join(part for part, _ in shown)
    rows: list[list[Span]] = []
    for start, end in cells.wrap_hard(text, width, width - len(MARK)):
        row = _slice(shown, start, end)
        rows.append([(MARK, "dim"), *row] if rows else row)
    return rows


def _slice(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The part of the spans from character ``start`` up to ``end``."""
    found: list[Span] = []
    at = 0
    for text, role in spans:
        if part := text[max(start - at, 0) : max(end - at, 0)]:
            found.append((part, role))
        at += len(text)
    return found


class Reading:
    """A text of which must be known what a person has had on the screen, from its start on and without a gap.

    ``seen`` and ``size`` count characters, so they hold at every width.
    """

    def __init__(self, lines: Sequence[Sequence[Span]]) -> None:
        self.lines = lines
        self.seen = 0
        self.size = sum(sum(len(visible(text)) for text, _ in line) + 1 for line in lines)
        self._rows: dict[int, tuple[list[list[Span]], list[int]]] = {}

    @property
    def whole(self) -> bool:
        """Whether all of it has been shown."""
        return self.seen >= self.size

    def rows(self, width: int) -> list[list[Span]]:
        """All of it in rows of so many cells."""
        return self._at(width)[0]

    def show(self, width: int, first: int, last: int) -> None:
        """The rows from ``first`` up to before ``last`` are on the screen; they count if nothing above them is unseen."""
        ends = self._at(width)[1]
        if 0 <= first < last < len(ends) and ends[first] <= self.seen:
            self.seen = max(self.seen, ends[last])

    def unseen(self, width: int) -> int:
        """How many rows have not been shown."""
        return sum(end > self.seen for end in self._at(width)[1])

    def _at(self, width: int) -> tuple[list[list[Span]], list[int]]:
        """The rows, and for each the character it starts at, the end of all last."""
        if width not in self._rows:
            if len(self._rows) > 1:
                self._rows.clear()
            rows: list[list[Span]] = []
            ends = [0]
            for line in self.lines:
                parts = wrapped(line, width)
                for number, part in enumerate(parts):
                    text = sum(len(text) for text, _ in part) - (len(MARK) if number else 0)
                    ends.append(ends[-1] + text + (number == len(parts) - 1))
                rows += parts
            self._rows[width] = rows, ends
        return self._rows[width]
