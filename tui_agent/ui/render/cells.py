"""Text measured in terminal cells: graphemes, widths, and where lines may break.

Widths are rich's (``cell_len``): it knows joiners, variation selectors, keycaps and skin tones, and agrees with wcwidth.
Nothing here splits a grapheme, so a part of a line is never wider than it was measured.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len, split_graphemes

ELLIPSIS = "…"
_REGIONAL = range(0x1F1E6, 0x1F200)
_NO_LINE_START = frozenset("、。，．：；！？）］｝」』】》〉…ー々")
_NO_LINE_END = frozenset("（［｛「『【《〈")


def graphemes(text: str) -> list[tuple[int, int, int]]:
    """Each grapheme as (start, end, cells); the two letters of a flag stay together."""
    if text.isascii():
        return [(index, index + 1, 1) for index in range(len(text))]
    spans = split_graphemes(text)[0]
    if not any(ord(text[start]) in _REGIONAL for start, _, _ in spans):
        return spans
    joined: list[tuple[int, int, int]] = []
    half_flag = False
    for start, end, cells in spans:
        regional = ord(text[start]) in _REGIONAL
        if regional and half_flag and joined:
            joined[-1] = (joined[-1][0], end, joined[-1][2] + cells)
            half_flag = False
        else:
            joined.append((start, end, cells))
            half_flag = regional and end == start + 1
    return joined


def width(text: str) -> int:
    """How many cells a text takes; it must hold no control characters (``plain.visible`` sees to that)."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, cells: int) -> str:
    """The text, or as much of its start as fits with an ellipsis."""
    if width(text) <= cells:
        return text
    if cells <= 0:
        return ""
    return text[: reach(text, cells - 1)].rstrip() + ELLIPSIS


def fit_start(text: str, cells: int) -> str:
    """The text, or as much of its end as fits behind an ellipsis (for paths, whose end says more)."""
    total = width(text)
    if total <= cells:
        return text
    if cells <= 0:
        return ""
    if text.isascii():
        return ELLIPSIS + text[len(text) - cells + 1 :]
    for start, _, size in graphemes(text):
        if total <= cells - 1:
            return ELLIPSIS + text[start:]
        total -= size
    return ELLIPSIS


def pad(text: str, cells: int) -> str:
    """The text cut or filled with spaces to exactly so many cells."""
    text = fit(text, cells)
    return text + " " * (cells - width(text))


def reach(text: str, cells: int) -> int:
    """The index up to which the text fits into so many cells; never inside a grapheme, as rich's own cropping may be."""
    if text.isascii():
        return min(cells, len(text))
    used = 0
    for start, _, size in graphemes(text):
        used += size
        if used > cells:
            return start
    return len(text)


def wrap_words(text: str, cells: int) -> list[tuple[int, int]]:
    """Break at spaces, between wide characters, and inside a word only when it is longer than a line.

    The ranges leave out the space at a break. A grapheme that is wider than a line gets a line of its own.
    """
    cells = max(cells, 1)
    if text.isascii():
        return _wrap_ascii(text, cells)
    if cell_len(text) <= cells:
        return [(0, len(text))]
    return _wrap_graphemes(text, cells)


def _wrap_ascii(text: str, cells: int) -> list[tuple[int, int]]:
    length, start = len(text), 0
    rows: list[tuple[int, int]] = []
    while length - start > cells:
        end = text.rfind(" ", start, start + cells + 1)
        if end <= start or text[start:end].isspace():
            end = start + cells
            rows.append((start, end))
            start = end
        else:
            rows.append((start, end))
            start = end + 1
    if start < length or not rows:
        rows.append((start, length))
    return rows


def _wrap_graphemes(text: str, cells: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    units = graphemes(text)
    row = here = used = 0
    best: tuple[int, int] | None = None  # where the row may end, and where the next one starts then
    solid = False  # something but spaces stands on this row
    while here < len(units):
        start, end, size = units[here]
        space = text[start:end] == " "
        if used + size > cells and here > row:
            stop, resume = (here, here + 1) if space and solid else best or (here, here)
            rows.append((units[row][0], units[stop][0]))
            row = here = resume
            used, best, solid = 0, None, False
            continue
        if space and solid:
            best = here, here + 1
        elif here > row and _may_break_before(text, start, size):
            best = here, here
        used += size
        solid = solid or not space
        here += 1
    if row < len(units) or not rows:
        rows.append((units[row][0] if units else 0, len(text)))
    return rows


def _may_break_before(text: str, index: int, size: int) -> bool:
    return size > 1 and text[index] not in _NO_LINE_START and text[index - 1] not in _NO_LINE_END


def wrap_hard(text: str, first: int, rest: int) -> list[tuple[int, int]]:
    """Break wherever the cells run out: ``first`` cells on the first row, ``rest`` on those below (code, output)."""
    first, rest = max(first, 1), max(rest, 1)
    if text.isascii():
        length = len(text)
        if length <= first:
            return [(0, length)]
        starts = [0, *range(first, length, rest)]
        return [*zip(starts, [*starts[1:], length], strict=True)]
    if cell_len(text) <= first:
        return [(0, len(text))]
    rows: list[tuple[int, int]] = []
    start, used, limit = 0, 0, first
    for begin, _, size in graphemes(text):
        if used + size > limit and begin > start:
            rows.append((start, begin))
            start, used, limit = begin, 0, rest
        used += size
    rows.append((start, len(text)))
    return rows


@lru_cache(maxsize=256)
def spaces(count: int) -> str:
    """So many spaces (none when negative), shared."""
    return " " * count
