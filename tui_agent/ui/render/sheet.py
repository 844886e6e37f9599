"""A sheet is how one block looks now: its parts, brought up to date after each change with as little work as may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Literal, TypeVar
from zlib import crc32

from tui_agent.ui.blocks import Block
from tui_agent.ui.render.document import Document
from tui_agent.ui.render.lines import PLAIN, Line, Prefix, Role
from tui_agent.ui.render.part import Part, fixed

Level = Literal["folded", "brief", "open"]
"""How much of a block is shown: its title, what matters now, or all there is."""

PIECE = 200
"""Lines in one part of a long text."""


B = TypeVar("B", bound=Block)


class Sheet(Generic[B]):
    """The parts of one block; subclasses know one kind of block each."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.dropped: list[Part] = []
        """Parts that were replaced; whoever keeps their rows drains it."""
        self.now = 0.0
        """The time, Unix seconds; for what counts up while it is watched."""
        self.more = False
        """Whether ``open`` would show more than this."""

    def update(self, block: B, level: Level) -> int:
        """Bring the parts up to date; the index of the first that changed."""
        raise NotImplementedError

    def put(self, parts: Sequence[Part], start: int = 0) -> int:
        """Replace the parts from ``start`` on; returns ``start``."""
        self.dropped += self.parts[start:]
        self.parts[start:] = parts
        return start

    def put_lines(self, lines: Sequence[Line], start: int = 0) -> int:
        """As ``put``, with one part of a few lines."""
        return self.put([fixed(lines)] if lines else [], start)


class Growing:
    """Markdown that follows a block's text: only what was appended is read."""

    def __init__(self, prefix: Prefix = PLAIN, base: tuple[Role, ...] = ()) -> None:
        self._prefix = prefix
        self._base = base
        self._start()

    def _start(self) -> None:
        self._document = Document(self._prefix, self._base)
        self._consumed = 0
        self._checksum = 0
        self._given = 0
        self._finished = False

    def update(self, text: str, *, live: bool) -> tuple[int, list[Part]]:
        """Parts that are new or changed, and the index of the first; the rest stays as it was.

        A live text only grows. One that is final is compared with what was read, because it may have been corrected.
        """
        if self._finished and len(text) == self._consumed and not self._differs(text):
            return self._given, []
        if self._finished or len(text) < self._consumed or (not live and self._differs(text)):
            self._start()
        fresh = text[self._consumed :]
        if fresh:
            self._checksum = crc32(fresh.encode("utf-8", "surrogatepass"), self._checksum)
            self._consumed = len(text)
            self._document.feed(fresh)
        tail: list[Part] = []
        if not live:
            self._document.finish()
            self._finished = True
        elif lines := self._document.tail():
            tail = [fixed(lines)]
        start, self._given = self._given, len(self._document.parts)
        return start, [*self._document.parts[start:], *tail]

    def _differs(self, text: str) -> bool:
        return crc32(text[: self._consumed].encode("utf-8", "surrogatepass")) != self._checksum


def pieces(lines: Sequence[str], make: Callable[[Sequence[str], int], Sequence[Line]]) -> list[Part]:
    """Parts of a long plain text; ``make`` turns some lines, the first with its index, into logical ones when needed."""
    return [
        Part(
            partial(make, lines[start : start + PIECE], start),
            sum(map(len, lines[start : start + PIECE])),
            min(PIECE, len(lines) - start),
        )
        for start in range(0, len(lines), PIECE)
    ]


def split_lines(text: str) -> list[str]:
    """Lines of a text, without an empty one after a last newline."""
    return text.removesuffix("\n").split("\n") if text else []
