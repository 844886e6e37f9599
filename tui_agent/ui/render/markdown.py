"""Markdown as lines: headings, lists, quotes, tables, code; HTML stays text, nothing is fetched, nothing is executed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tui_agent.ui.render.code import Listing, code_lines
from tui_agent.ui.render.inline import Inline, inline
from tui_agent.ui.render.lines import PLAIN, BlankLine, Line, Prefix, Role, Span, TextLine
from tui_agent.ui.render.plain import visible
from tui_agent.ui.render.table import Table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_BLANK = re.compile(r"[ \t]*")
_BLANK_IN_QUOTE = re.compile(r"[ \t>]*")
_TASK = re.compile(r"\[([ xX])\] ")
DEEPEST = 100
"""Levels that the parser goes down; it would leave out what is nested deeper, so such a text is shown as it is."""
DEEPEST_INDENT = 40
"""Cells of bullets and quote bars before a line; what nests deeper stands there too, so that text keeps its room."""


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The one parser; made at first use, because importing markdown-it costs 14 ms that the first paint does not have.

    Link definitions are off: they would change text that is already on the screen.
    """
    from markdown_it import MarkdownIt

    rules = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    return rules.enable(["table", "strikethrough"]).disable(["reference"])


@lru_cache(maxsize=1)
def _scanner() -> MarkdownIt:
    """The same parser without what happens inside paragraphs: four times as fast, to find where blocks begin."""
    from markdown_it import MarkdownIt

    rules = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    return rules.enable("table").disable(["reference", "inline", "text_join"])


def parse(source: str) -> list[Token]:
    """The tokens of a source."""
    return parser().parse(source)


def scan(source: str) -> list[Token]:
    """The block tokens of a source, without their inline children."""
    return _scanner().parse(source)


def language_of_fence(info: str) -> str:
    """``python`` from an info string such as ``Python title="x"`` or ``{.python}``."""
    return info.strip().lstrip("{.").partition(" ")[0].partition("{")[0].rstrip("}").lower()


def markdown_lines(
    source: str,
    prefix: Prefix = PLAIN,
    base: tuple[Role, ...] = (),
    *,
    gap: bool = False,
    follows: bool = False,
) -> list[Line]:
    """The lines of a source; ``gap``: an empty one comes first; ``follows``: before a heading, too."""
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    tokens = parse(source)
    page = _Page(source.split("\n"), prefix, base)
    if any(token.level >= DEEPEST - 1 for token in tokens):
        page.lines += [
            TextLine(visible(line), first=prefix, base=base, raw=line) for line in source.split("\n")
        ]
    else:
        page.blocks(tokens)
    gap = gap or (follows and bool(tokens) and tokens[0].type == "heading_open")
    return [BlankLine(), *page.lines] if gap and page.lines else page.lines


class _Page:
    """Walks block tokens and writes lines; ``first`` goes before the next line, ``rest`` before those that follow."""

    def __init__(self, source: list[str], prefix: Prefix, base: tuple[Role, ...]) -> None:
        self.source = source
        self.lines: list[Line] = []
        self.first = self.rest = prefix
        self.base = base
        self.depth = 0
        self.outer: list[tuple[Prefix, tuple[Role, ...], int]] = []

    def blocks(self, tokens: Sequence[Token]) -> None:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            kind = token.type
            if kind == "table_open":
                end = next(at for at in range(index, len(tokens)) if tokens[at].type == "table_close")
                self._gap(token)
                self.lines += Table(tokens[index:end], self._lead(), self.base).lines
                index = end
            elif kind == "inline":
                self._inline(token, tokens[index - 1] if index else None)
            elif kind in {"fence", "code_block"}:
                self._gap(token)
                self._code(token)
            elif kind == "hr":
                self._gap(token)
                self._write(Inline("─" * 24), ("rule",))
            elif kind in {"paragraph_open", "heading_open"}:
                self._gap(token, always=kind == "heading_open")
            else:
                self._nest(token)
            index += 1

    def _gap(self, token: Token, *, always: bool = False) -> None:
        """An empty line where the source has one (any number of them), and before a heading."""
        start = token.map[0] if token.map else 0
        if not self.lines or not start or (self.outer and self.outer[-1][2] == len(self.lines)):
            return
        blank = _BLANK_IN_QUOTE if "quote" in self.base else _BLANK
        if always or blank.fullmatch(self.source[start - 1]):
            self.lines.append(TextLine("", first=self.rest, base=self.base) if self.outer else BlankLine())

    def _lead(self) -> Prefix:
        lead, self.first = self.first, self.rest
        return lead

    def _write(self, line: Inline, base: tuple[Role, ...] = (), spans: Sequence[Span] = ()) -> None:
        self.lines.append(
            TextLine(
                line.text,
                [*spans, *line.spans],
                first=self._lead(),
                rest=self.rest,
                base=(*self.base, *base),
                links=line.links,
            )
        )

    def _inline(self, token: Token, before: Token | None) -> None:
        heading = before is not None and before.type == "heading_open"
        for number, line in enumerate(inline(token)):
            if number == 0 and self.first is not self.rest and (task := _TASK.match(line.text)):
                done = task.group(1) != " "
                line = _without_start(line, task.end())
                self.first = (*self.first, ("☑ " if done else "☐ ", "ok" if done else "list-mark"))
                self.rest = (*self.rest, ("  ", "content"))
            self._write(line, ("heading",) if heading else ())

    def _code(self, token: Token) -> None:
        listing = Listing(language_of_fence(token.info) if token.type == "fence" else "")
        windows = listing.feed(token.content.removesuffix("\n").split("\n"))
        if (last := listing.finish()) is not None:
            windows.append(last)
        lead = self._lead()
        for window in windows:
            lines = code_lines(window.coloured, self.rest)
            if lead is not self.rest:
                lines[0].first = (*lead, *lines[0].first[len(self.rest) :])
                lead = self.rest
            self.lines += lines

    def _nest(self, token: Token) -> None:
        kind = token.type
        if kind == "list_item_open":
            self._gap(token)
            self.outer.append((self.rest, self.base, len(self.lines)))
            mark = f"{token.info}{token.markup} " if token.info else ("• " if self.depth % 2 else "◦ ")
            self._indent(mark, "list-mark", " " * len(mark))
        elif kind == "blockquote_open":
            self._gap(token)
            self.outer.append((self.rest, self.base, len(self.lines)))
            self._indent("▎ ", "quote", "▎ ")
            self.first, self.base = self.rest, (*self.base, "quote")
        elif kind in {"list_item_close", "blockquote_close"}:
            rest, base, written = self.outer.pop()
            if len(self.lines) == written:
                self._write(Inline(""))  # an empty item or quote
            self.rest, self.base = rest, base
            self.first = self.rest
        elif kind in {"bullet_list_open", "ordered_list_open"}:
            self.depth += 1
        elif kind in {"bullet_list_close", "ordered_list_close"}:
            self.depth -= 1

    def _indent(self, mark: str, role: Role, rest: str) -> None:
        if sum(len(text) for text, _ in self.rest) + len(mark) > DEEPEST_INDENT:
            self.first = (*self.first,)  # a copy, so that it still differs from rest
            return
        self.first, self.rest = (*self.first, (mark, role)), (*self.rest, (rest, role))


def _without_start(line: Inline, count: int) -> Inline:
    spans = [(max(start - count, 0), end - count, role) for start, end, role in line.spans if end > count]
    links = [(max(start - count, 0), end - count, url) for start, end, url in line.links if end > count]
    return Inline(line.text[count:], spans, links)
