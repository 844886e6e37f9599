"""Merging of streamed pieces: often enough for the eye, seldom enough for the disk.

A delta reaches the screen at most every ``SCREEN_EVERY`` seconds and the log every ``LOG_EVERY``; the first one after a
pause goes out at once. Whatever else happens, pieces come before the event that follows them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from tui_agent.core.events import MessageUpdate, ToolExecutionUpdate

SCREEN_EVERY = 1 / 30
LOG_EVERY = 1 / 10
LIVE_OUTPUT_BYTES = 16_384
"""A burst of command output beyond this shows its tail only; the tool keeps the whole."""
LOGGED_OUTPUT_CHARS = 65_536
"""Live output of one call in the log; its result holds head and tail anyway."""

Piece = MessageUpdate | ToolExecutionUpdate


class _Pile:
    """Pieces in order, neighbours of one kind merged."""

    def __init__(self) -> None:
        self._heads: list[Piece] = []
        self._texts: list[list[str]] = []

    def add(self, piece: Piece) -> None:
        if self._heads and _same_stream(self._heads[-1], piece):
            self._texts[-1].append(piece.text)
        else:
            self._heads.append(piece)
            self._texts.append([piece.text])

    def take(self) -> list[Piece]:
        merged = [
            msgspec.structs.replace(head, text="".join(texts))
            for head, texts in zip(self._heads, self._texts, strict=True)
        ]
        self._heads.clear()
        self._texts.clear()
        return merged

    def __bool__(self) -> bool:
        return bool(self._heads)


def _same_stream(one: Piece, other: Piece) -> bool:
    match one, other:
        case MessageUpdate(), MessageUpdate():
            return (one.id, one.delta, one.call) == (other.id, other.delta, other.call)
        case ToolExecutionUpdate(), ToolExecutionUpdate():
            return one.call_id == other.call_id
        case _:
            return False


class Deltas:
    """Collects pieces and hands them on, to ``show`` and to ``write``, at their two rates."""

    def __init__(self, show: Callable[[Piece], None], write: Callable[[Piece], None]) -> None:
        self._show, self._write = show, write
        self._screen, self._log = _Pile(), _Pile()
        self._screen_timer: asyncio.TimerHandle | None = None
        self._log_timer: asyncio.TimerHandle | None = None
        self._shown_at = self._logged_at = 0.0
        self._logged: dict[str, int] = {}

    def push(self, piece: Piece) -> None:
        """Take one piece; needs a running event loop."""
        self._screen.add(piece)
        if self._worth_logging(piece):
            self._log.add(piece)
        loop = asyncio.get_running_loop()
        if self._screen_timer is None:
            due = max(0.0, self._shown_at + SCREEN_EVERY - loop.time())
            if due == 0.0:
                self._flush_screen()
            else:
                self._screen_timer = loop.call_later(due, self._flush_screen)
        if self._log_timer is None and self._log:
            due = max(0.0, self._logged_at + LOG_EVERY - loop.time())
            self._log_timer = loop.call_later(due, self._flush_log)

    def flush(self) -> None:
        """Hand on everything now; called before any other event."""
        if self._screen:
            self._flush_screen()
        if self._log:
            self._flush_log()

    def _worth_logging(self, piece: Piece) -> bool:
        if isinstance(piece, MessageUpdate):
            return True
        so_far = self._logged.get(piece.call_id, 0)
        self._logged[piece.call_id] = so_far + len(piece.text)
        return so_far < LOGGED_OUTPUT_CHARS

    def _flush_screen(self) -> None:
        if self._screen_timer is not None:
            self._screen_timer.cancel()
            self._screen_timer = None
        self._shown_at = asyncio.get_running_loop().time()
        for piece in self._screen.take():
            if isinstance(piece, ToolExecutionUpdate) and len(piece.text) > LIVE_OUTPUT_BYTES:
                piece = msgspec.structs.replace(piece, text="…\n" + piece.text[-LIVE_OUTPUT_BYTES:])
            self._show(piece)

    def _flush_log(self) -> None:
        if self._log_timer is not None:
            self._log_timer.cancel()
            self._log_timer = None
        self._logged_at = asyncio.get_running_loop().time()
        for piece in self._log.take():
            self._write(piece)
