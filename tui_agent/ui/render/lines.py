"""Logical lines, still without a width, and how each becomes rows of one width.

A line names roles, not colours, and what a person would copy; a row is one strip of the screen. Every row is exactly
as wide as the page (Textual drops others), and knows which characters of its line it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, Protocol

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_agent.ui.render.cells import fit, reach, spaces, width, wrap_hard, wrap_words
from tui_agent.ui.render.plain import source_index

TEXT_WIDTH = 110
"""Widest text in cells; longer lines are hard to read (``screen.md``)."""
NARROW = 60
"""Cells below which the verbs of titles are not filled up to a column."""
NARROWEST_TEXT = 12
"""Cells that indents leave to the text."""
MARGIN = 1
GUTTER = 2

Role = str | Style
"""A theme's role, ``syntax.GROUP`` for code, or a style that came with the text (a program's own colours)."""
Span = tuple[int, int, Role]
Prefix = tuple[tuple[str, Role], ...]
Link = tuple[int, int, str]
Wrap = Literal["words", "hard", "cut"]

PLAIN: Prefix = ((spaces(MARGIN + GUTTER), "content"),)
"""The empty gutter before what is not marked."""


class Palette(Protocol):
    """What rendering needs of a theme (``ui/themes.py`` has it)."""

    def style(self, role: str) -> Style:
        """The look of a role, e.g. ``heading`` or ``diff-add``."""
        ...

    def syntax(self, group: str) -> Style:
        """The look of a group of code tokens, e.g. ``keyword``."""
        ...


class Ink:
    """Roles mixed into finished styles, on one ground; remembers every mixture."""

    def __init__(self, palette: Palette, ground: Style) -> None:
        self.ground = ground
        self._palette = palette
        self._plain = ground + palette.style("content")
        self._mixed: dict[tuple[Role, ...], Style] = {}

    def mix(self, *roles: Role) -> Style:
        """The style of text that has these roles, later ones on top."""
        style = self._mixed.get(roles)
        if style is None:
            style = self._plain
            for role in roles:
                style += role if isinstance(role, Style) else self.overlay(role)
            self._mixed[roles] = style
        return style

    def overlay(self, role: str) -> Style:
        """The bare style of a role, to put over finished text (selection, matches)."""
        if role.startswith("syntax."):
            return self._palette.syntax(role[7:])
        return self._palette.style(role)


class Page:
    """One width to lay lines out for, with its ink."""

    __slots__ = ("cells", "edge", "ink", "wide_edge")

    def __init__(self, cells: int, ink: Ink) -> None:
        self.cells = max(cells, 1)
        self.ink = ink
        self.wide_edge = max(self.cells - 1, 1)
        """Where code and output end at the latest; one cell stays free at the right."""
        self.edge = min(self.wide_edge, MARGIN + GUTTER + TEXT_WIDTH)
        """Where text ends at the latest."""

    def row(self, segments: list[Segment], used: int, line: int, start: int, end: int, lead: int) -> Row:
        """Make a row from segments of ``used`` cells, filled or cut to the page's width."""
        if used < self.cells:
            segments.append(Segment(spaces(self.cells - used), self.ink.mix()))
        if used > self.cells:
            segments = cropped(segments, self.cells)
        return Row(Strip(segments, self.cells), line, start, end, lead, min(used, self.cells))

    def blank(self, line: int = 0) -> Row:
        """An empty row."""
        return self.row([], 0, line, 0, 0, 0)


class Row:
    """One row: characters ``start`` to ``end`` of logical line ``line`` (of its part), behind ``lead`` cells of gutter.

    ``used`` cells hold something, the rest is ground.
    """

    __slots__ = ("end", "lead", "line", "painted", "start", "strip", "used")

    def __init__(self, strip: Strip, line: int, start: int, end: int, lead: int, used: int) -> None:
        self.strip = strip
        self.line = line
        self.start = start
        self.end = end
        self.lead = lead
        self.used = used
        self.painted: dict[bool, Strip] = {}
        """Finished strips without and with the scroll thumb beside them; the widget fills it."""


class Line:
    """One logical line. ``text`` is what is shown and searched; ``copy`` gives its source back."""

    __slots__ = ("links", "text")

    whole = False
    """Selected and copied as a whole, because its place on a row does not say which character it is."""

    def __init__(self, text: str, links: Sequence[Link] = ()) -> None:
        self.text = text
        self.links = links

    def copy(self, start: int, end: int | None) -> str:
        """What selecting the characters from start to end puts on the clipboard."""
        return self.text[start:end]

    def rows(self, number: int, page: Page) -> list[Row]:
        """The rows of this line, which is the ``number``-th of its part."""
        raise NotImplementedError


class TextLine(Line):
    """Text that wraps at words, hard (``↪`` marks what is not a line of its own), or is cut."""

    __slots__ = ("base", "fill", "first", "raw", "rest", "spans", "tab", "wrap")

    def __init__(
        self,
        text: str,
        spans: Sequence[Span] = (),
        *,
        first: Prefix = PLAIN,
        rest: Prefix | None = None,
        wrap: Wrap = "words",
        base: tuple[Role, ...] = (),
        fill: bool = False,
        raw: str | None = None,
        tab: int = 4,
        links: Sequence[Link] = (),
    ) -> None:
        super().__init__(text, links)
        self.spans = spans
        self.first = first
        self.rest = first if rest is None else rest
        self.wrap: Wrap = wrap
        self.base = base
        self.fill = fill
        """Whether the base's background goes on to the edge of the text."""
        self.raw = raw if raw != text else None
        """The line before its tabs and control characters were made visible."""
        self.tab = tab

    def copy(self, start: int, end: int | None) -> str:
        if self.raw is None:
            return self.text[start:end]
        begin = source_index(self.raw, start, self.tab)
        stop = None if end is None or end >= len(self.text) else source_index(self.raw, end, self.tab)
        return self.raw[begin:stop]

    def rows(self, number: int, page: Page) -> list[Row]:
        edge = page.edge if self.wrap == "words" else page.wide_edge
        prefix, rest = squeezed(self.first, edge), squeezed(self.rest, edge)
        lead = sum(width(text) for text, _ in prefix)
        room = edge - lead
        text = self.text
        if self.wrap == "words":
            ranges = wrap_words(text, room)
        elif self.wrap == "hard":
            ranges = wrap_hard(text, room, room - 2)
        else:
            ranges = [(0, len(text))]
        made: list[Row] = []
        for start, end in ranges:
            segments = [Segment(part, page.ink.mix(role)) for part, role in (rest if made else prefix)]
            used = lead if not made else sum(width(part) for part, _ in rest)
            if made and self.wrap == "hard":
                segments.append(Segment("↪ ", page.ink.mix(*self.base, "context")))
                used += 2
            ahead = used
            segments += colour(text, self.spans, start, end, self.base, page.ink)
            used += width(text[start:end])
            if self.fill and used < page.edge:
                segments.append(Segment(spaces(page.edge - used), page.ink.mix(*self.base)))
                used = page.edge
            made.append(page.row(segments, used, number, start, end, ahead))
        return made


class TitleLine(Line):
    """``mark verb target`` at the left, outcome and duration at the right.

    What does not fit beside each other gives way as ``overflow`` says: ``cut`` the target, then the outcome; ``wrap`` the
    target below; ``below`` puts the whole right side on a second row.
    """

    __slots__ = ("first", "head", "overflow", "right", "source", "target", "verb")

    whole = True

    def __init__(
        self,
        head: tuple[str, Role],
        verb: tuple[str, Role],
        target: tuple[str, Role],
        right: Sequence[tuple[str, Role]] = (),
        *,
        first: Prefix = PLAIN,
        overflow: Literal["cut", "wrap", "below"] = "cut",
        source: str = "",
    ) -> None:
        self.head = (f"{head[0]} " if head[0] else "", head[1])
        self.verb = (f"{verb[0]}  " if verb[0] and target[0] else verb[0], verb[1])
        self.target = target
        self.right = [(text, role) for text, role in right if text]
        """Pieces that `` · `` joins; the first gives way when the target could not any more."""
        self.first = first
        self.overflow = overflow
        self.source = source
        """What is copied; empty: the text."""
        words = [head[0], verb[0].rstrip(), target[0]]
        outcome = " · ".join(text for text, _ in self.right)
        super().__init__(" ".join(word for word in words if word) + (f"  {outcome}" if outcome else ""))

    def copy(self, start: int, end: int | None) -> str:
        return (self.source or self.text)[start:end]

    def rows(self, number: int, page: Page) -> list[Row]:
        lead = sum(width(text) for text, _ in self.first)
        verb = self.verb
        if verb[0] and page.edge < NARROW:  # columns need room
            verb = verb[0].rstrip() + ("  " if self.target[0] else ""), verb[1]
        head = sum(width(text) for text, _ in (self.head, verb))
        room = page.edge - lead - head
        right, target = self.right, self.target[0]
        below: list[tuple[str, Role]] = []
        if self.overflow == "below" and width(target) + _joined(right) + 2 > room:
            right, below = [], right
        wanted = min(width(target), 12)
        right = _shorten(right, room - wanted - 2, max(wanted - 2, 0))
        beside = room - (_joined(right) + 2 if right else 0)
        ranges = wrap_words(target, beside) if self.overflow != "cut" else [(0, len(target))]
        shown = fit(target, beside) if self.overflow == "cut" else target[slice(*ranges[0])]
        made = [self._row(page, number, (*self.first, self.head, verb, (shown, self.target[1])), right)]
        indent = (*self.first, (spaces(width(self.head[0])), "content"))
        for start, end in (
            wrap_words(target[ranges[1][0] :], room + width(verb[0])) if len(ranges) > 1 else ()
        ):
            start, end = start + ranges[1][0], end + ranges[1][0]
            made.append(self._row(page, number, (*indent, (target[start:end], self.target[1])), []))
        if below:
            text = " · ".join(text for text, _ in below)
            for start, end in wrap_words(text, page.edge - lead - width(self.head[0])):
                made.append(self._row(page, number, (*indent, (text[start:end], below[0][1])), []))
        return made

    def _row(self, page: Page, number: int, left: Prefix, right: Sequence[tuple[str, Role]]) -> Row:
        segments = [Segment(text, page.ink.mix(role)) for text, role in left if text]
        used = sum(width(text) for text, _ in left)
        if right:
            gap = max(page.edge - used - _joined(right), 1)
            segments.append(Segment(spaces(gap), page.ink.mix()))
            used += gap
        for index, (text, role) in enumerate(right):
            shown = f" · {text}" if index else text
            segments.append(Segment(shown, page.ink.mix(role)))
            used += width(shown)
        lead = sum(width(text) for text, _ in self.first)
        return page.row(segments, used, number, 0, len(self.source or self.text), lead)


def cropped(segments: Sequence[Segment], cells: int) -> list[Segment]:
    """As many whole graphemes as fit, and blanks for half a one."""
    kept: list[Segment] = []
    for text, style, _ in segments:
        part = text[: reach(text, cells)]
        kept.append(Segment(part, style))
        cells -= width(part)
        if len(part) < len(text):
            kept.append(Segment(spaces(cells), style))
            break
    return kept


def squeezed(prefix: Prefix, edge: int) -> Prefix:
    """A prefix without its outer indents where they would leave no room for text."""
    pieces = list(prefix)
    while len(pieces) > 2 and sum(width(text) for text, _ in pieces) > edge - NARROWEST_TEXT:
        del pieces[1]
    return tuple(pieces)


def _joined(pieces: Sequence[tuple[str, Role]]) -> int:
    return sum(width(text) for text, _ in pieces) + 3 * max(len(pieces) - 1, 0)


def _shorten(right: list[tuple[str, Role]], room: int, spare: int) -> list[tuple[str, Role]]:
    """Cut the first piece until all fit, then drop pieces from the left; the last may take ``spare`` cells more."""
    while right and (over := _joined(right) - room) > 0:
        text, role = right[0]
        if len(right) == 1 and over <= spare:
            return right
        if width(text) - over >= 4 or len(right) == 1:
            return [(fit(text, max(width(text) - over, 0)), role), *right[1:]]
        right = right[1:]
    return right


class BlankLine(Line):
    """An empty row between things."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("")

    def rows(self, number: int, page: Page) -> list[Row]:
        return [page.blank(number)]


def colour(
    text: str, spans: Sequence[Span], start: int, end: int, base: tuple[Role, ...], ink: Ink
) -> list[Segment]:
    """Segments of ``text[start:end]``; spans are sorted by their start and may nest (inner ones later)."""
    if start >= end:
        return []
    if not spans:
        return [Segment(text[start:end], ink.mix(*base))]
    segments: list[Segment] = []
    at, furthest = start, 0
    for begin, stop, role in spans:
        if begin < furthest:
            return _colour_nested(text, spans, start, end, base, ink)
        furthest = stop
        if begin >= end:
            break
        begin, stop = max(begin, at), min(stop, end)
        if begin >= stop:
            continue
        if begin > at:
            segments.append(Segment(text[at:begin], ink.mix(*base)))
        segments.append(Segment(text[begin:stop], ink.mix(*base, role)))
        at = stop
    if at < end:
        segments.append(Segment(text[at:end], ink.mix(*base)))
    return segments


def _colour_nested(
    text: str, spans: Sequence[Span], start: int, end: int, base: tuple[Role, ...], ink: Ink
) -> list[Segment]:
    cuts = {start, end}
    for begin, stop, _ in spans:
        if start < begin < end:
            cuts.add(begin)
        if start < stop < end:
            cuts.add(stop)
    edges = sorted(cuts)
    return [
        Segment(
            text[left:right],
            ink.mix(*base, *(role for begin, stop, role in spans if begin <= left and right <= stop)),
        )
        for left, right in pairwise(edges)
    ]


def layout(lines: Sequence[Line], page: Page) -> list[Row]:
    """All rows of some lines."""
    return [row for number, line in enumerate(lines) for row in line.rows(number, page)]
