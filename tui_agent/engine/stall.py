"""Loops that lead nowhere: the same call with the same answer, cycles of calls, the same reply again.

Arguments *and* results are compared, so polling a growing log is no stall, and an edit in between starts the count
anew, so edit-and-test cycles are work.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Literal

import msgspec

WARN_AT, STOP_AT = 3, 5
"""Repetitions that bring a warning to the model, and that end or ask."""
LONGEST_CYCLE = 5
_KEPT = LONGEST_CYCLE * STOP_AT

Kind = Literal["same_call", "cycle", "same_reply"]

_VOLATILE = re.compile(
    r"0x[0-9a-fA-F]+"  # addresses
    r"|\d{4}-\d\d-\d\d[T ]?(?:\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?)?"  # dates
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?"  # times
    r"|\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds)\b"  # durations
)


class Repetition(msgspec.Struct, frozen=True):
    """What repeats, how often, and a short description of it."""

    kind: Kind
    count: int
    what: str


def _canonical(value: Any) -> Any:
    """Arguments that differ only in spacing, key order or ``./`` are similar."""
    if isinstance(value, str):
        return " ".join(value.split()).removeprefix("./")
    if isinstance(value, dict):
        return {str(key): _canonical(item) for key, item in sorted(value.items())}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _digest(*texts: str) -> str:
    return hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class Repetitions:
    """The recent calls and replies of a run, as digests."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, str]] = []
        self._reply, self._replies = "", 0

    def call(self, name: str, arguments: dict[str, Any], result: str, *, edited: bool) -> None:
        """Note an answered call; one that changed a file forgets what came before."""
        if edited:
            self.reset()
            return
        shape = msgspec.json.encode(_canonical(arguments)).decode()
        digest = _digest(name, shape, _VOLATILE.sub("#", result))
        self._calls.append((digest, name))
        del self._calls[:-_KEPT]

    def reply(self, text: str) -> None:
        """Note the text of a model's reply; replies without text don't count either way."""
        text = " ".join(text.split())
        if not text:
            return
        self._replies = self._replies + 1 if text == self._reply else 1
        self._reply = text

    def reset(self) -> None:
        self._calls.clear()
        self._reply, self._replies = "", 0

    def find(self) -> Repetition | None:
        """The strongest repetition at the end of the record, if it is worth a warning."""
        found: Repetition | None = None
        for period in range(1, LONGEST_CYCLE + 1):
            count = self._repeats(period)
            if count >= WARN_AT and (found is None or count > found.count):
                names = [name for _, name in self._calls[-period:]]
                found = Repetition("same_call" if period == 1 else "cycle", count, " → ".join(names))
        if self._replies >= WARN_AT and (found is None or self._replies > found.count):
            found = Repetition("same_reply", self._replies, self._reply[:60])
        return found

    def _repeats(self, period: int) -> int:
        """How often the last ``period`` calls stand one after another at the end."""
        digests = [digest for digest, _ in self._calls]
        if len(digests) < period * WARN_AT:
            return 0
        pattern, count = digests[-period:], 1
        while digests[-period * (count + 1) : len(digests) - period * count] == pattern:
            count += 1
        return count
