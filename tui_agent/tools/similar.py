"""Where a file looks most like some lines that are not in it: what a model needs to mend its call."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz import fuzz, process

PLACES = 3
"""Similar places shown."""
MAX_LINES = 12
"""Lines of one similar place."""
ALIKE = 55.0
"""Least similarity of two lines (rapidfuzz ratio, 0–100) worth showing."""
MAX_SEARCHED = 50_000
"""Lines of a file that are searched."""
MAX_WIDTH = 500
"""Characters of a line that are compared and shown (minified files)."""


def similar(rows: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Indices where the rows look most like the wanted lines, best first; found by the longest wanted line."""
    rows = [row[:MAX_WIDTH] for row in rows[:MAX_SEARCHED]]
    wanted = [line[:MAX_WIDTH] for line in wanted[:MAX_LINES]]
    key = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    candidates = process.extract(
        wanted[key], rows, scorer=fuzz.ratio, processor=str.strip, limit=5 * PLACES, score_cutoff=ALIKE
    )
    whole = "\n".join(line.strip() for line in wanted)
    scored: dict[int, float] = {}
    for _, _, index in candidates:
        start = max(0, index - key)
        scored[start] = fuzz.ratio(whole, "\n".join(row.strip() for row in rows[start : start + len(wanted)]))
    ranked = sorted(scored, key=lambda start: (-scored[start], start))
    return [start for start in ranked if scored[start] >= max(ALIKE / 2, scored[ranked[0]] - 20)][:PLACES]


def report(rows: Sequence[str], wanted: Sequence[str]) -> str:
    """The similar places as numbered lines, and whether only white space differs; ends the sentence ``… not found.``"""
    places = similar(rows, wanted) if any(line.strip() for line in wanted) else []
    if not places:
        return "Nothing in the file looks like it: read the file again."
    window = rows[places[0] : places[0] + len(wanted)]
    spaces = len(window) == len(wanted) and all(
        _bare(one) == _bare(other) for one, other in zip(wanted, window, strict=True)
    )
    why = "It is there with other white space (indentation, tabs, spaces at line ends). " if spaces else ""
    length = min(len(wanted), MAX_LINES)
    shown = "\n…\n".join(numbered(rows[at : at + length], at + 1) for at in places)
    return f"{why}Most similar:\n{shown}"


def numbered(rows: Sequence[str], first: int, width: int = MAX_WIDTH) -> str:
    """Lines as ``read_file`` gives them: number, tab, text; longer ones than ``width`` are cut."""
    digits = len(str(first + len(rows) - 1))
    return "\n".join(
        f"{number:>{digits}}\t{row if len(row) <= width else f'{row[:width]}… [{len(row) - width:,} more characters]'}"
        for number, row in enumerate(rows, first)
    )


def _bare(line: str) -> str:
    return "".join(line.split())
