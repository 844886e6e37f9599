"""Changes of a file: line numbers, a sign, code in its colours, and the words that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from tui_agent.core.tool import Diff
from tui_agent.ui.render.code import CodeLine, highlight, language_of, shifted
from tui_agent.ui.render.lines import PLAIN, Prefix, Span, TextLine
from tui_agent.ui.render.plain import is_plain, visible

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
LONGEST_COMPARED = 240
"""Characters of a line whose words are compared; more would cost more than it shows."""
LONGEST_COLOURED = 400
"""Lines of a diff whose context is coloured as code."""
SIGNS = {"+": ("+", "diff-add"), "-": ("−", "diff-del")}


class Change(NamedTuple):
    """One line of a diff: its sign (``+``, ``-`` or a space; ``@`` for a place where lines were left out)."""

    sign: str
    number: int
    text: str


def read(hunks: str) -> list[Change]:
    """The lines of unified hunks; what is not one (a header, a note about the last newline) is left out."""
    changes: list[Change] = []
    old = new = 0
    for line in hunks.split("\n"):
        if (match := _HUNK.match(line)) is not None:
            old, new = int(match.group(1)), int(match.group(2))
            if changes:
                changes.append(Change("@", 0, match.group(3)))
        elif line.startswith("+"):
            changes.append(Change("+", new, line[1:]))
            new += 1
        elif line.startswith("-"):
            changes.append(Change("-", old, line[1:]))
            old += 1
        elif line.startswith(" "):
            changes.append(Change(" ", new, line[1:]))
            old += 1
            new += 1
    return changes


def diff_lines(diff: Diff, prefix: Prefix = PLAIN, limit: int | None = None) -> tuple[list[TextLine], int]:
    """Lines of a diff, at most ``limit``, and how many are left out."""
    changes = read(diff.hunks)
    shown = changes if limit is None or len(changes) <= limit else changes[:limit]
    digits = max((len(str(change.number)) for change in shown), default=1)
    code = _code(shown, language_of(diff.path)) if len(shown) <= LONGEST_COLOURED else {}
    words = dict(_emphasis(shown))
    lines: list[TextLine] = []
    for index, change in enumerate(shown):
        if change.sign == "@":
            note = f"{' ' * digits} ⋯ {visible(change.text)}".rstrip()
            lines.append(TextLine(note, first=prefix, wrap="cut", base=("diff-hunk",)))
        else:
            spans = sorted(
                [*code.get(index, ()), *words.get(index, ())], key=lambda span: (span[0], -span[1])
            )
            lines.append(_line(change, digits, spans, prefix))
    return lines, len(changes) - len(shown)


def _line(change: Change, digits: int, spans: Sequence[Span], prefix: Prefix) -> TextLine:
    text = change.text
    shown = text if is_plain(text) else visible(text)
    if shown != text:
        spans = shifted(text, spans)
    sign, role = SIGNS.get(change.sign, (" ", ""))
    mark = f"{role}-mark" if role else "diff-number"
    number: Prefix = ((f"{change.number:>{digits}} ", "diff-number"), (f"{sign} ", mark))
    return TextLine(
        shown,
        spans,
        first=(*prefix, *number),
        rest=(*prefix, (" " * (digits + 3), "diff-number")),
        wrap="hard",
        base=(role,) if role else ("diff-context",),
        fill=bool(role),
        raw=text,
    )


def _code(changes: Sequence[Change], language: str) -> dict[int, Sequence[Span]]:
    """Code colours by line: the new text is read as one piece, what went as another."""
    coloured: dict[int, Sequence[Span]] = {}
    for signs in ("-", "+ "):
        places = [index for index, change in enumerate(changes) if change.sign in signs]
        lines: list[CodeLine] = (
            highlight([changes[index].text for index in places], language) if language else []
        )
        coloured |= {index: spans for index, (_, spans) in zip(places, lines, strict=False)}
    return coloured


def _emphasis(changes: Sequence[Change]) -> Iterator[tuple[int, list[Span]]]:
    """Bold for the words that differ, where as many lines came as went."""
    index = 0
    while index < len(changes):
        if changes[index].sign != "-":
            index += 1
            continue
        middle = index
        while middle < len(changes) and changes[middle].sign == "-":
            middle += 1
        end = middle
        while end < len(changes) and changes[end].sign == "+":
            end += 1
        if end - middle == middle - index:
            for offset in range(middle - index):
                before, after = _compare(changes[index + offset].text, changes[middle + offset].text)
                yield index + offset, before
                yield middle + offset, after
        index = end


def _compare(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Spans of what went and of what came; none when the lines have little in common."""
    if max(len(old), len(new)) > LONGEST_COMPARED:
        return [], []
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < 0.5:
        return [], []
    went: list[Span] = []
    came: list[Span] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        for spans, words, first, last, role in (
            (went, before, i1, i2, "diff-del-word"),
            (came, after, j1, j2, "diff-add-word"),
        ):
            if last > first:
                start = sum(map(len, words[:first]))
                spans.append((start, start + sum(map(len, words[first:last])), role))
    return went, came
