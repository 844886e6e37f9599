"""Selections in the roll: a position is a number that stays right while text is added, folded or wrapped anew.

Textual keeps a selection as two offsets. Here y is (block, part, line) packed into one number and x a character of
that line, so nothing that happens on the screen moves a selection, and blocks that are not on it are copied too.
"""

from __future__ import annotations

from collections.abc import Iterator

from textual.geometry import Offset
from textual.selection import Selection

from tui_agent.ui.render.roll import Roll

_LINE_BITS = 16
_PART_BITS = 24


def position(block: int, part: int, line: int) -> int:
    """The y of a selection's offset (more than 32 bits, which textual-speedups would not hold; it is not used)."""
    return (block << _PART_BITS | part) << _LINE_BITS | min(line, (1 << _LINE_BITS) - 1)


def _place(y: int) -> tuple[int, int, int]:
    part = y >> _LINE_BITS
    return part >> _PART_BITS, part & ((1 << _PART_BITS) - 1), y & ((1 << _LINE_BITS) - 1)


def selected_text(roll: Roll, selection: Selection) -> Iterator[str]:
    """The source of what is selected, a part at a time, without gutters, padding and soft wraps."""
    last = Offset(1 << 30, position(len(roll.entries), 0, 0))
    start, end = selection.start or Offset(0, 0), selection.end or last
    first_block, last_block = _place(start.y)[0], _place(end.y)[0]
    begun = False
    for index in range(first_block, min(last_block + 1, len(roll.entries))):
        fresh = True
        for number, part in enumerate(roll.parts(index)):
            if position(index, number, (1 << _LINE_BITS) - 1) < start.y or position(index, number, 0) > end.y:
                continue
            lines: list[str] = []
            for place, line in enumerate(part.lines):
                y = position(index, number, place)
                if start.y <= y <= end.y:
                    begin = start.x if y == start.y and not line.whole else 0
                    stop = end.x if y == end.y and not line.whole else None
                    lines.append(line.copy(begin, stop))
            if part.rows is None:
                part.forget()
            if lines:
                between = "\n" * (1 + (fresh and roll.entries[index].gap)) if begun else ""
                begun, fresh = True, False
                yield between + "\n".join(lines)
