"""The seam to language models: one request in, deltas and one reply out. Everything foreign stays behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol

import msgspec

from tui_agent.core.messages import FinishReason, Message, Part


class ToolSchema(msgspec.Struct, frozen=True):
    """A tool as the model is told of it; ``schema`` is the JSON schema of its arguments object."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model with everything needed to call it; made by ``catalog.resolve``. The key itself is looked up per call.

    ``window`` and ``max_output`` are tokens (0 = unknown); prices USD per token (None = unknown).
    """

    name: str
    alias: str = ""
    api_base: str = ""
    api_key_env: str = ""
    key_command: str = ""
    window: int = 0
    max_output: int = 0
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None
    cache_write_price: float | None = None
    reasoning_effort: str = ""
    temperature: float | None = None
    local: bool = False

    @property
    def label(self) -> str:
        """What the screen calls it: the alias, or the name without its provider."""
        return self.alias or self.name.rpartition("/")[2]

    @property
    def provider(self) -> str:
        """The part before the first slash, e.g. ``anthropic``; ``openai`` if there is none."""
        head, slash, _ = self.name.partition("/")
        return head if slash else "openai"


class Request(msgspec.Struct, frozen=True):
    """One model call. ``messages`` hold no system message (``system`` is it) and are provider-valid (repaired).

    ``step_timeout`` bounds the whole call, ``stall_timeout`` the wait for the first byte of content and every gap between
    pieces of content (pings don't count); seconds. ``plain`` leaves out every optional parameter.
    """

    model: ModelSpec
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    max_output: int = 0
    step_timeout: float = 300.0
    stall_timeout: float = 60.0
    plain: bool = False
    json_object: bool = False
    session_id: str = ""


class TextDelta(msgspec.Struct, frozen=True):
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    text: str


class CallDelta(msgspec.Struct, frozen=True):
    """A piece of a tool call's arguments; the first piece of a call may be empty and announces its name."""

    id: str
    name: str
    text: str = ""


class ReportedUsage(msgspec.Struct, frozen=True):
    """Tokens as the provider reported them; ``cost_usd`` only if the provider gave a price itself."""

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    cost_usd: float | None = None


class Reply(msgspec.Struct, frozen=True):
    """The end of a stream: the whole message's parts, why it ended, and usage only if the provider reported it."""

    parts: tuple[Part, ...]
    finish: FinishReason = "stop"
    usage: ReportedUsage | None = None
    model: str = ""


Delta = TextDelta | ReasoningDelta | CallDelta


class Model(Protocol):
    """Streams deltas, then exactly one ``Reply``.

    Raises ``ModelError`` for every failure, classified. Closing the iterator or cancelling the task closes the connection
    at once. Never retries by itself.
    """

    def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]: ...

    async def ready(self, spec: ModelSpec) -> None:
        """Return when a call to ``spec`` can begin; what has to be loaded first is not part of the call's time."""
        ...

    def preload(self) -> None:
        """Begin whatever takes long before the first call, in the background; returns at once."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
