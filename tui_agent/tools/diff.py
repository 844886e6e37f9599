"""Bounded line diffs: good ones for what people and models write, coarse ones for what would take too long."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from tui_agent.core.tool import Diff
from tui_agent.tools.text import clean

CONTEXT = 3
MAX_LINES = 20_000
"""Lines of the changed region (equal head and tail cut off) beyond which all of it counts as replaced."""
MAX_CHARACTERS = 2_000_000
"""The same limit in characters."""
MAX_SHOWN = 2_000
"""Lines of hunks kept in a ``Diff``: it is logged, sent and drawn."""
MAX_WIDTH = 2_000
"""Characters of one shown line."""
_SMALL = 40_000
"""Product of lengths up to which difflib (quadratic and worse) looks at a stretch without a line unique to both sides."""
_WORK = 2_000_000
"""Sum of those products in one diff."""

Block = tuple[int, int, int]
"""Equal lines: start in the old, start in the new, length."""


def diff(name: str, before: str | None, after: str | None) -> Diff:
    """The change of one file as hunks with three lines of context; None: there is no such file before or after."""
    old, new = before or "", after or ""
    if "\r\n" in old and "\r\n" in new:
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    old_lines, new_lines = _lines(old), _lines(new)
    blocks = _matching(old_lines, new_lines)
    equal = sum(length for _, _, length in blocks)
    rows = list(_hunks(old_lines, new_lines, blocks))
    if len(rows) > MAX_SHOWN:
        rows[MAX_SHOWN:] = [f"\\ {len(rows) - MAX_SHOWN:,} more lines"]
    return Diff(
        path=name, hunks=clean("\n".join(rows)), added=len(new_lines) - equal, removed=len(old_lines) - equal,
        created=before is None, deleted=after is None,
    )  # fmt: skip


def _lines(text: str) -> list[str]:
    """Lines with their ``\\n``; only the last may lack it."""
    *whole, last = text.split("\n")
    found = [f"{line}\n" for line in whole]
    return [*found, last] if last else found


def _matching(old: list[str], new: list[str]) -> list[Block]:
    """All equal stretches, in order, neighbours joined."""
    head, tail = _same_ends(old, new, 0, len(old), 0, len(new))
    middle = (head, len(old) - tail, head, len(new) - tail)
    blocks = [(0, 0, head)]
    if _affordable(old[head : middle[1]]) and _affordable(new[head : middle[3]]):
        blocks += _between(old, new, *middle, [_WORK])
    blocks.append((middle[1], middle[3], tail))
    joined: list[Block] = []
    for one, other, length in blocks:
        if joined and joined[-1][0] + joined[-1][2] == one and joined[-1][1] + joined[-1][2] == other:
            first = joined.pop()
            joined.append((first[0], first[1], first[2] + length))
        elif length:
            joined.append((one, other, length))
    return joined


def _affordable(lines: list[str]) -> bool:
    return len(lines) <= MAX_LINES and sum(map(len, lines)) <= MAX_CHARACTERS


def _same_ends(old: list[str], new: list[str], a: int, b: int, c: int, d: int) -> tuple[int, int]:
    """How many lines ``old[a:b]`` and ``new[c:d]`` share at their heads and at their tails."""
    limit = min(b - a, d - c)
    head = 0
    while head < limit and old[a + head] == new[c + head]:
        head += 1
    tail = 0
    while tail < limit - head and old[b - 1 - tail] == new[d - 1 - tail]:
        tail += 1
    return head, tail


def _between(
    old: list[str], new: list[str], a: int, b: int, c: int, d: int, budget: list[int]
) -> list[Block]:
    """Equal stretches of ``old[a:b]`` and ``new[c:d]`` by patience diff (Bram Cohen): anchors at lines that both
    have exactly once, then the stretches between; difflib where there is no anchor, as far as the budget goes."""
    head, tail = _same_ends(old, new, a, b, c, d)
    blocks = [(a, c, head)]
    a, b, c, d = a + head, b - tail, c + head, d - tail
    if a < b and c < d:
        anchors = _anchors(old[a:b], new[c:d])
        product = (b - a) * (d - c)
        if anchors:
            left, right = a, c
            for one, other in anchors:
                blocks += _between(old, new, left, a + one, right, c + other, budget)
                blocks.append((a + one, c + other, 1))
                left, right = a + one + 1, c + other + 1
            blocks += _between(old, new, left, b, right, d, budget)
        elif product <= min(_SMALL, budget[0]):
            budget[0] -= product
            matcher = difflib.SequenceMatcher(None, old[a:b], new[c:d], autojunk=False)
            blocks += [(a + block.a, c + block.b, block.size) for block in matcher.get_matching_blocks()]
    blocks.append((b, d, tail))
    return blocks


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Lines that both sides have exactly once, thinned to the longest run that is in order on both."""
    in_old, in_new = Counter(old), Counter(new)
    position = {line: index for index, line in enumerate(new) if in_new[line] == 1}
    pairs = [
        (index, position[line]) for index, line in enumerate(old) if in_old[line] == 1 and line in position
    ]
    # Longest increasing subsequence by patience sorting: each pile's top, and for each pair the top of the pile before.
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for at, (_, other) in enumerate(pairs):
        pile = bisect_left(tops, other)
        before.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [other]
        piles[pile : pile + 1] = [at]
    chain: list[tuple[int, int]] = []
    at = piles[-1] if piles else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _hunks(old: list[str], new: list[str], blocks: list[Block]) -> Iterator[str]:
    """Rows of unified hunks: ``@@`` heads, then lines marked with a space, ``-`` or ``+``."""
    changes: list[tuple[int, int, int, int]] = []
    a = c = 0
    for one, other, length in [*blocks, (len(old), len(new), 0)]:
        if a < one or c < other:
            changes.append((a, one, c, other))
        a, c = one + length, other + length
    group: list[tuple[int, int, int, int]] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * CONTEXT:
            yield from _hunk(old, new, group)
            group = []
        group.append(change)
    if group:
        yield from _hunk(old, new, group)


def _hunk(old: list[str], new: list[str], group: list[tuple[int, int, int, int]]) -> Iterator[str]:
    start = max(0, group[0][0] - CONTEXT)
    end = min(len(old), group[-1][1] + CONTEXT)
    new_start = group[0][2] - (group[0][0] - start)
    new_end = group[-1][3] + (end - group[-1][1])
    yield f"@@ -{_span(start, end)} +{_span(new_start, new_end)} @@"
    at = start
    for a, b, c, d in group:
        yield from _rows(" ", old[at:a])
        yield from _rows("-", old[a:b])
        yield from _rows("+", new[c:d])
        at = b
    yield from _rows(" ", old[at:end])


def _span(start: int, end: int) -> str:
    """``start,count`` as diff writes it: counted from 1, an empty one names the line before it."""
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _rows(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        text = line.removesuffix("\n")
        yield f"{mark}{text if len(text) <= MAX_WIDTH else f'{text[:MAX_WIDTH]}…'}"
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
