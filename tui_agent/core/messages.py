"""Messages of a conversation, neutral to any provider's wire format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant", "tool"]
Origin = Literal["person", "steering", "follow_up", "system", "hook", "sub_agent", "model", "tool"]
FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "unknown"]


class Text(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    """Plain or markdown text."""

    text: str


class Reasoning(msgspec.Struct, frozen=True, tag_field="kind", tag="reasoning", omit_defaults=True):
    """A model's reasoning; ``opaque`` is what the provider wants back unchanged (signatures, encrypted items)."""

    text: str
    opaque: tuple[dict[str, Any], ...] = ()


class Image(msgspec.Struct, frozen=True, tag_field="kind", tag="image"):
    """An image as base64 ``data`` with its media type, e.g. ``image/png``."""

    media_type: str
    data: str


class Call(msgspec.Struct, frozen=True, tag_field="kind", tag="call", omit_defaults=True):
    """A tool call as the model asked for it.

    ``arguments`` is the parsed object; when the text could not be parsed it is empty, ``raw`` holds
    the text as it came and ``error`` says why (the loop answers such a call with an error result).
    """

    id: str
    name: str
    arguments: dict[str, Any] = {}
    raw: str = ""
    error: str = ""
    opaque: dict[str, Any] = {}


class Result(msgspec.Struct, frozen=True, tag_field="kind", tag="result", omit_defaults=True):
    """The answer to one call: the whole text for the model, before any truncation."""

    call_id: str
    name: str
    text: str
    ok: bool = True
    images: tuple[Image, ...] = ()


Part = Text | Reasoning | Image | Call | Result


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message; ``tokens`` is its counted size (uncalibrated, 0 = not counted)."""

    id: str
    role: Role
    parts: tuple[Part, ...]
    origin: Origin = "person"
    model: str = ""
    interrupted: bool = False
    synthetic: bool = False
    untrusted: bool = False
    finish: FinishReason = "stop"
    tokens: int = 0

    @property
    def text(self) -> str:
        """All text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        """All reasoning parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls of an assistant message, in the model's order."""
        return tuple(part for part in self.parts if isinstance(part, Call))

    @property
    def results(self) -> tuple[Result, ...]:
        """The tool results of a tool message."""
        return tuple(part for part in self.parts if isinstance(part, Result))


def user(id: str, text: str, *, origin: Origin = "person", synthetic: bool = False) -> Message:
    """A user message of one text part."""
    return Message(id=id, role="user", parts=(Text(text),), origin=origin, synthetic=synthetic)


def exchanges(messages: list[Message]) -> Iterator[list[Message]]:
    """Split a history into whole exchanges: an assistant message with the results that answer it,
    and the user messages before it; never between a call and its result."""
    group: list[Message] = []
    answered = False
    for message in messages:
        if group and answered and message.role != "tool":
            yield group
            group, answered = [], False
        group.append(message)
        answered = answered or message.role == "assistant"
    if group:
        yield group
