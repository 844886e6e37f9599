"""What a fake model is told to answer: text, reasoning, tool calls, usage, pace, quirks and faults; all of it also as JSON."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Quirk = Literal["index_zero", "no_ids", "split_names", "dict_arguments", "ids_once", "whole_calls"]
"""How servers mis-stream tool calls: every call at index 0; no ids; names in two pieces; arguments as an object;
``ids_once`` sends id and name only in a call's first delta and the rest without; ``whole_calls`` sends a call in one delta."""

FaultKind = Literal[
    "status",        # an HTTP status instead of a stream: status, body, headers, retry_after
    "refuse",        # the connection is dropped before a status line
    "hang_headers",  # no status line until released
    "hang_first",    # status line, then nothing until released
    "hang_middle",   # nothing after `after` pieces of content until released
    "pings",         # like hang_middle, but with an SSE comment (Anthropic: a ping event) every 50 ms
    "cut",           # the connection is closed after `after` pieces, without the end of the body
    "reset",         # the same with a TCP reset
    "cut_json",      # half an SSE line after `after` pieces, then a clean end of the body
    "end_early",     # a clean end of the body after `after` pieces, no finish reason
    "empty",         # 200 with an empty body
    "html",          # 200 with a login page
    "json_error",    # 200 with a JSON error body instead of a stream
    "error_event",   # an error event within the stream after `after` pieces
    "repeat",        # the same piece of text 200 times, then the normal end
]  # fmt: skip

STATUSES = (400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 529)
"""The thirteen statuses that real providers answer with when something is wrong."""


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the server reports them; ``input`` includes ``cached`` and ``cache_write``."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float | None = None


class ToolCall(msgspec.Struct, frozen=True):
    """A call the fake asks for; ``arguments`` as text is sent as it is (broken JSON, say). No id: one is made up."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str = ""
    pieces: int = 3
    """Deltas that the arguments are spread over."""


class Fault(msgspec.Struct, frozen=True):
    """Something that goes wrong with one answer; ``after`` counts pieces of content that are sent before it."""

    kind: FaultKind
    after: int = 3
    status: int = 500
    body: dict[str, Any] | str | None = None
    retry_after: str = ""
    headers: dict[str, str] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the fake. Parts are sent in the order reasoning, text, calls.

    ``chunk`` is characters a delta, ``pace`` tokens a second (a token = 4 characters; 0 = as fast as possible).
    ``usage`` "auto" is worked out from the sizes, null is not reported. ``finish`` overrides the finish reason.
    """

    text: str = ""
    reasoning: str = ""
    signature: str = "sig-of-the-fake"
    """Anthropic: the thinking block's signature."""
    redacted: str = ""
    """Anthropic: a redacted_thinking block with this data after the thinking block."""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | Literal["auto"] | None = "auto"
    finish: str = ""
    chunk: int = 12
    pace: float = 0
    quirks: tuple[Quirk, ...] = ()
    fault: Fault | None = None


def say(text: str, **more: Any) -> Answer:
    """An answer of plain text."""
    return Answer(text=text, **more)


def call(name: str, **arguments: Any) -> Answer:
    """An answer that asks for one tool call."""
    return Answer(calls=(ToolCall(name, arguments),))


def calls(*wanted: ToolCall, **more: Any) -> Answer:
    """An answer that asks for several calls."""
    return Answer(calls=wanted, **more)


def status(code: int, body: dict[str, Any] | str | None = None, *, retry_after: str = "") -> Answer:
    """An HTTP status with a body as the provider would write it."""
    return Answer(fault=Fault("status", status=code, body=body, retry_after=retry_after))


def fault(
    kind: FaultKind, *, after: int = 3, text: str = "one two three four five six seven eight", **more: Any
) -> Answer:
    """A text answer that goes wrong after ``after`` pieces."""
    return Answer(text=text, chunk=6, fault=Fault(kind, after=after), **more)
