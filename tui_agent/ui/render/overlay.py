"""What lies over finished rows for a moment: selection, matches, the block cursor, a pulsing mark."""

from __future__ import annotations

import re

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_agent.ui.render.cells import reach, width
from tui_agent.ui.render.lines import Line, Row

_WORD = re.compile(r"[\w./:@~-]+")
"""A word for a double click: a name, a path, a URL."""


def restyle(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """Put a style over the cells from start to end, whole graphemes only."""
    if start >= end:
        return strip
    made: list[Segment] = []
    at = 0
    for segment in strip:
        text, old, _ = segment
        size = width(text)
        first, last = max(start - at, 0), min(end - at, size)
        at += size
        if first >= last:
            made.append(segment)
            continue
        left, right = reach(text, first), reach(text, last)
        pieces = ((text[:left], old), (text[left:right], (old or Style.null()) + style), (text[right:], old))
        made += [Segment(piece, look) for piece, look in pieces if piece]
    return Strip(made, strip.cell_length)


def replace(strip: Strip, start: int, text: str, style: Style) -> Strip:
    """Put a text over the cells from start on."""
    end = start + width(text)
    segment = Strip([Segment(text, style)], width(text))
    return Strip.join([strip.crop(0, start), segment, strip.crop(end, None)])


def cells_of(row: Row, line: Line, start: int, end: int) -> tuple[int, int]:
    """The cells of a row that show the characters from start to end of its line (of a ``whole`` line: all)."""
    if line.whole:
        return row.lead, row.used
    start, end = max(start, row.start), min(end, row.end)
    if end <= start:
        return row.lead, row.lead
    first = row.lead + width(line.text[row.start : start])
    return first, first + width(line.text[start:end])


def character_at(row: Row, line: Line, cell: int) -> int:
    """The character of the line that a cell of a row shows."""
    if line.whole:
        return row.start
    at = row.lead
    for index in range(row.start, row.end):
        at += width(line.text[index])
        if cell < at:
            return index
    return row.end


def word_at(text: str, index: int) -> tuple[int, int]:
    """The word at a character, as a range; where no word is, the character."""
    for match in _WORD.finditer(text):
        if match.start() <= index < match.end():
            return match.span()
    return index, min(index + 1, len(text))


def occurrences(text: str, wanted: str) -> list[int]:
    """Where a text holds another, whatever their case."""
    text, wanted = text.lower(), wanted.lower()
    found: list[int] = []
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + len(wanted))
    return found
