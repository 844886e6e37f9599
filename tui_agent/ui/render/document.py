"""Markdown that grows at its end: whatever can't change any more is settled, only the rest is parsed again.

A top-level block is settled when the next one has begun, a list item when the next item has, and a listing window by
window. This gives the same lines as parsing the whole at once, whatever pieces the text came in (a property test).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from tui_agent.ui.render.code import CodeLine, Listing, State, Window, code_lines, highlight
from tui_agent.ui.render.lines import PLAIN, BlankLine, Line, Prefix, Role
from tui_agent.ui.render.markdown import language_of_fence, markdown_lines, scan
from tui_agent.ui.render.part import Part

if TYPE_CHECKING:
    from markdown_it.token import Token

_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`\n]*\n)|~{3,})([^\n]*)\n")
_UNDECIDED = re.compile(r"[-=*_~`#>+|:\s]*|\s*\d{1,9}[.)]?")
"""An unfinished line that may still become a rule, a heading, a fence or an item; it is not shown before it is clear."""


class Document:
    """A growing source and its parts; ``parts`` are settled, ``tail()`` is the rest as it looks now."""

    def __init__(self, prefix: Prefix = PLAIN, base: tuple[Role, ...] = ()) -> None:
        self.parts: list[Part] = []
        self._prefix = prefix
        self._base = base
        self._rest = ""
        """Whole lines that are not settled."""
        self._open = ""
        """What came after the last newline."""
        self._held = ""
        """A carriage return at the end: half of a newline, or a whole one."""
        self._gap = False
        """Whether an empty line stands before the rest."""
        self._fence: _Fence | None = None

    def feed(self, text: str) -> None:
        """Add source and settle what can be settled."""
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        whole, newline, last = text.rpartition("\n")
        if newline:
            self._rest += f"{self._open}{whole}\n"
            self._open = last
            self._settle(final=False)
        else:
            self._open += last

    def finish(self) -> None:
        """Nothing more comes: settle all."""
        self._rest += self._open + ("\n" if self._held else "")
        self._open = self._held = ""
        self._settle(final=True)
        if self._fence is not None:
            self._close(self._fence)

    def tail(self) -> list[Line]:
        """What is not settled, as it looks now."""
        undecided = _UNDECIDED.fullmatch(self._open) is not None
        if (fence := self._fence) is not None:
            lines = list(fence.listing.unfinished())
            if not undecided:
                lines.append((fence.unindent(self._open), ()))
            return _listing_lines(lines, self._prefix, gap=fence.gap)
        source = self._rest if undecided else self._rest + self._open
        return markdown_lines(source, self._prefix, self._base, gap=self._spaced, follows=bool(self.parts))

    @property
    def _spaced(self) -> bool:
        return self._gap and bool(self.parts)

    # ---- settling

    def _settle(self, *, final: bool) -> None:
        while self._rest:
            if self._fence is not None:
                if not self._take_listing(self._fence, final=final):
                    return
            elif (opening := _FENCE.match(self._rest)) is not None:
                self._fence = _Fence(opening, gap=self._spaced)
                self._rest = self._rest[opening.end() :]
            elif not self._settle_blocks(final=final):
                return

    def _settle_blocks(self, *, final: bool) -> bool:
        """Settle every block but the last; whether that one is a listing, which settles in its own way."""
        starts = _starts(scan(self._rest))
        if not starts:
            self._gap = True
            self._rest = ""
            return False
        lines = self._rest.split("\n")
        self._gap = self._gap or starts[0][0] > 0
        for (line, token), (end, _) in pairwise(starts):
            if token.type == "fence":
                self._add_listing(token)
            else:
                self._add("\n".join(lines[line:end]) + "\n")
            self._gap = not lines[end - 1].strip(" \t")
        last, token = starts[-1]
        self._rest = "\n".join(lines[last:])
        if token.type == "fence" and _FENCE.match(self._rest):
            return True
        if final:
            self._add(self._rest)
            self._rest = ""
        return False

    def _add(self, source: str) -> None:
        make = partial(
            markdown_lines, source, self._prefix, self._base, gap=self._spaced, follows=bool(self.parts)
        )
        self.parts.append(Part(make, len(source), source.rstrip("\n").count("\n") + 1 + self._spaced))

    # ---- listings

    def _take_listing(self, fence: _Fence, *, final: bool) -> bool:
        """Move whole lines into the listing; whether its end was among them."""
        closing = fence.closing.search(self._rest)
        body = self._rest[: closing.start()] if closing else self._rest
        self._rest = self._rest[closing.end() :] if closing else ""
        if body:
            lines = [fence.unindent(line) for line in body.removesuffix("\n").split("\n")]
            self._add_windows(fence, fence.listing.feed(lines))
        if closing is None and not final:
            return False
        self._close(fence)
        return True

    def _add_listing(self, token: Token) -> None:
        """A fence that is there as a whole."""
        fence = _Fence(None, gap=self._spaced, language=language_of_fence(token.info))
        if token.content:
            self._add_windows(fence, fence.listing.feed(token.content.removesuffix("\n").split("\n")))
        self._close(fence)

    def _close(self, fence: _Fence) -> None:
        window = fence.listing.finish()
        if window is None and fence.empty:
            window = Window([""], (), [("", ())])
        self._add_windows(fence, [] if window is None else [window])
        self._fence = None
        self._gap = False

    def _add_windows(self, fence: _Fence, windows: Sequence[Window]) -> None:
        for window in windows:
            make = partial(
                _window_lines, window.lines, fence.listing.language, window.state, self._prefix, fence.gap
            )
            lines = _listing_lines(window.coloured, self._prefix, gap=fence.gap)
            self.parts.append(Part(make, sum(map(len, window.lines)), len(lines), lines))
            fence.gap = fence.empty = False


class _Fence:
    """A listing whose end has not come yet."""

    def __init__(self, opening: re.Match[str] | None, *, gap: bool, language: str = "") -> None:
        self.gap = gap
        self.empty = True
        self._indent = len(opening.group(1)) if opening else 0
        marker = opening.group(2) if opening else "```"
        self.closing = re.compile(
            rf"^ {{0,3}}{re.escape(marker[0])}{{{len(marker)},}}[ \t]*(?:\n|\Z)", re.MULTILINE
        )
        self.listing = Listing(language_of_fence(opening.group(3)) if opening else language)

    def unindent(self, line: str) -> str:
        """A line without the indentation that the fence itself has."""
        column = index = 0
        while column < self._indent and line[index : index + 1] in (" ", "\t"):
            column += 4 - column % 4 if line[index] == "\t" else 1
            index += 1
        return " " * (column - self._indent) + line[index:]


def _starts(tokens: Sequence[Token]) -> list[tuple[int, Token]]:
    """Where each top-level block begins, and each item of a top-level list: (line, token)."""
    starts: list[tuple[int, Token]] = []
    first_item = False
    for token in tokens:
        if token.nesting < 0 or token.map is None:
            continue
        if token.level == 0:
            starts.append((token.map[0], token))
            first_item = True
        elif token.level == 1 and token.type == "list_item_open":
            if not first_item:
                starts.append((token.map[0], token))
            first_item = False
    return starts


def _listing_lines(lines: Sequence[CodeLine], prefix: Prefix, *, gap: bool) -> list[Line]:
    made: list[Line] = [*code_lines(lines, prefix)]
    return [BlankLine(), *made] if gap and made else made


def _window_lines(lines: list[str], language: str, state: State, prefix: Prefix, gap: bool) -> list[Line]:
    return _listing_lines(highlight(lines, language, state), prefix, gap=gap)
