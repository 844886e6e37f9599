"""How one model is reached through litellm: which litellm route, which address, which habits of the provider."""

from __future__ import annotations

import os
import re
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from tui_agent.core.errors import Failure
from tui_agent.core.messages import Part, Reasoning
from tui_agent.llm import catalog
from tui_agent.llm.api import ModelSpec, Request
from tui_agent.llm.providers import base_of, provider

Dialect = Literal["openai", "claude", "gemini", "ollama"]

CLAUDE_PROVIDERS = frozenset({"anthropic", "bedrock", "vertex_ai", "azure_ai", "openrouter"})
OWN_SERVERS = frozenset(
    {"ollama", "ollama_chat", "lm_studio", "llamafile", "hosted_vllm", "custom_openai", "openai_like"}
)
"""Providers that speak OpenAI's protocol at an address of one's own; litellm's ``openai/`` route has the fewest surprises
for them (``ollama_chat/`` asks ``/api/show`` before each call and gives every tool call index 0)."""

ECHO_PROVIDERS = frozenset({"deepseek", "moonshot"})
"""Providers whose thinking models want ``reasoning_content`` back within a tool loop (their documentation)."""

SILENT_THINKING = 5
"""Factor on the stall timeout before the first content of models that think without sending anything (OpenAI's)."""

CLAUDE_OUTPUT = 32_000
"""Tokens asked of Claude unless the request says otherwise: the maximum (litellm's default) plus a long prompt is refused."""

THINKING_ROOM = 8_192
"""Tokens of output below which Claude is not asked to think: its budget must stay below ``max_tokens``."""


class Route(msgspec.Struct, frozen=True):
    """One way to a model. ``caching``: where ``cache_control`` may stand; ``num_ctx`` is Ollama's context, 0 = not set."""

    model: str
    api_base: str = ""
    dialect: Dialect = "openai"
    caching: Literal["none", "parts", "everywhere"] = "none"
    signed_thinking: bool = False
    echo_reasoning: bool = False
    inline_think: bool = False
    merge_twins: bool = False
    """Gemini before 3: two calls with the same name and arguments become one, and the API refuses the second result."""
    num_ctx: int = 0
    slow_start: float = 1.0


def route(spec: ModelSpec) -> Route:
    """The way to ``spec``; ``check`` says whether it leads anywhere."""
    name, base = spec.provider, base_of(spec.provider, spec.api_base, os.environ)
    tail = spec.name.partition("/")[2] or spec.name
    if name == "ollama_chat" and spec.window:
        return Route(spec.name, base.removesuffix("/v1"), "ollama", inline_think=True, num_ctx=spec.window)
    if name in OWN_SERVERS:
        if name in ("ollama", "ollama_chat") and not base.endswith("/v1"):
            base += "/v1"
        return Route(f"openai/{tail}", base, inline_think=True)
    if "claude" in tail.lower() and name in CLAUDE_PROVIDERS:
        through = name == "openrouter"
        caching = "parts" if through else "everywhere"
        return Route(spec.name, base, "claude", caching, signed_thinking=not through)
    if name == "gemini" or (name == "vertex_ai" and "gemini" in tail):
        return Route(spec.name, base, "gemini", merge_twins=not re.search(r"gemini-(?:[3-9]|\d\d)", tail))
    known = catalog.find(spec.name)
    silent = name in ("openai", "azure") and known is not None and known.reasoning is True
    return Route(
        spec.name,
        base,
        echo_reasoning=name in ECHO_PROVIDERS,
        inline_think=bool(base) and name == "openai",
        slow_start=SILENT_THINKING if silent else 1.0,
    )


def check(spec: ModelSpec, way: Route) -> Failure | None:
    """What is wrong with the address, found before litellm turns it into something that looks transient."""
    variables = provider(spec.provider).bases
    line = f"models.{spec.alias or 'NAME'}.api_base"
    where = f"{variables[0]}, or {line} in config.yaml" if variables else f"{line} in config.yaml"
    if not way.api_base:
        if spec.provider in OWN_SERVERS or spec.provider in ("azure", "azure_ai", "litellm_proxy"):
            text = f"{spec.provider} needs the address of its server"
            return Failure("not_found", text, provider=spec.provider, hint=f"Set {where}.")
        return None
    try:
        parts = urlsplit(way.api_base)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if sound and way.api_base.isprintable() and " " not in way.api_base:
        return None
    text = f'The address "{way.api_base}" is not an http:// or https:// address'
    return Failure("not_found", text, provider=spec.provider, hint=f"Mend {where}.")


def options(request: Request, way: Route) -> dict[str, Any]:
    """The optional parameters of a call: only what the model is known to take; none at all for a plain request."""
    spec = request.model
    chosen: dict[str, Any] = {}
    output = request.max_output
    if way.dialect == "claude" and not output:
        output = min(spec.max_output or CLAUDE_OUTPUT, CLAUDE_OUTPUT)
    if output:
        chosen["max_tokens"] = output
    if way.num_ctx:
        chosen["num_ctx"] = way.num_ctx
    if way.signed_thinking and not request.tools and _has_calls(request):
        chosen["tool_choice"] = (
            "none"  # litellm adds a stand-in tool, which Claude wants wherever calls were made
        )
        if spec.provider == "bedrock":
            del chosen["tool_choice"]
    if request.plain:
        return chosen
    if way.dialect != "ollama":
        chosen["stream_options"] = {"include_usage": True}
    thinking = bool(spec.reasoning_effort) and not _thinking_is_refused(request, way, output)
    if thinking:
        chosen["reasoning_effort"] = spec.reasoning_effort
    if spec.temperature is not None and not (thinking and way.dialect == "claude"):
        chosen["temperature"] = spec.temperature  # Claude refuses any temperature but 1 while it thinks
    known = catalog.find(spec.name)
    if request.json_object and way.dialect in ("openai", "gemini") and known and known.json_schema:
        chosen["response_format"] = {"type": "json_object"}
    return chosen


def replays_items(request: Request) -> bool:
    """True if litellm will call ``/v1/responses``, the only place that takes the model's reasoning items back."""
    spec = request.model
    if catalog.supports(spec).responses:
        return True
    newer = re.search(r"gpt-(?:5\.[4-9]|[6-9])", spec.name) and spec.provider in ("openai", "azure")
    return bool(newer and request.tools and (spec.reasoning_effort or not spec.api_base))


def _has_calls(request: Request) -> bool:
    return any(message.calls for message in request.messages)


def _thinking_is_refused(request: Request, way: Route, output: int) -> bool:
    """True where Claude would refuse to think: too little room, or a tool loop whose calls have no signed thinking
    (another model made them, or the turn was interrupted)."""
    if not way.signed_thinking:
        return False
    if output < THINKING_ROOM:
        return True
    for message in reversed(request.messages):
        if message.role == "user":
            return False
        if message.calls:
            return (
                message.interrupted
                or not is_own(message.model, request.model)
                or not message_is_signed(message.parts)
            )
    return False


def is_own(model: str, spec: ModelSpec) -> bool:
    """True if a message says it is by the model that is asked now."""
    return bool(model) and model in (spec.name, spec.alias, spec.label)


def message_is_signed(parts: tuple[Part, ...]) -> bool:
    """True if a message holds thinking that Claude signed."""
    blocks = (block for part in parts if isinstance(part, Reasoning) for block in part.opaque)
    return any(block.get("type") in ("thinking", "redacted_thinking") for block in blocks)
