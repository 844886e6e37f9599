"""Puts a stream's pieces together: text, reasoning, tool calls as any server streams them, finish reason, usage.

Our own, because litellm's builder merges calls that share an index, drops calls without an id, loses split names and
invents usage. It reads litellm's chunks by attribute only, so that tests can feed it plain objects.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from tui_agent.core.messages import Call, FinishReason, Part, Reasoning, Text
from tui_agent.llm.api import CallDelta, Delta, ReasoningDelta, ReportedUsage, TextDelta

FINISHES: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
}

OPEN, CLOSE = "<think>", "</think>"


class _OpenCall:
    """A call that is still being streamed."""

    def __init__(self, given_id: str, name: str) -> None:
        self.given_id = given_id
        self.id = (
            given_id or f"call{uuid.uuid4().hex[:5]}"
        )  # nine letters and digits, which every provider accepts
        self.name = name
        self.text = ""
        self.opaque: dict[str, Any] = {}


class Assembler:
    """Feed chunks, take deltas; then ``parts``, ``finish`` and ``usage``.

    ``tools`` are the names that were offered (to tell a split name from a new call); ``inline_think``: a reply that begins with
    ``<think>`` is reasoning up to ``</think>``.
    """

    def __init__(self, tools: Iterable[str] = (), *, inline_think: bool = False) -> None:
        self._tools = frozenset(tools)
        self._calls: list[_OpenCall] = []
        self._at_index: dict[int, _OpenCall] = {}
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._blocks: dict[int, dict[str, Any]] = {}
        self._items: list[Any] = []
        self._fields: dict[str, Any] = {}
        self._think = _InlineThink() if inline_think else None
        self._finish = ""

    @property
    def ended(self) -> bool:
        """True once the provider (or litellm in its place) said why the reply ended."""
        return bool(self._finish)

    @property
    def responses(self) -> bool:
        """True if the reply came by ``/v1/responses``, where litellm may invent usage and cost."""
        return bool(self._items) or "openai_responses_replay" in self._fields

    @property
    def has_blocks(self) -> bool:
        """True if the reply holds Claude's thinking, whose tokens litellm estimates."""
        return bool(self._blocks)

    def feed(self, chunk: Any) -> list[Delta]:
        """The neutral deltas of one chunk; empty for pings, usage and ends."""
        choices = getattr(chunk, "choices", None) or ()
        deltas: list[Delta] = []
        for choice in choices[:1]:
            delta = getattr(choice, "delta", None)
            if delta is not None:
                deltas.extend(self._delta(delta))
            if reason := getattr(choice, "finish_reason", None):
                self._finish = str(reason)
        return deltas

    def close(self) -> list[Delta]:
        """What was held back to see whether it is a ``<think>`` mark."""
        return self._said(*self._think.close()) if self._think else []

    def _delta(self, delta: Any) -> Iterator[Delta]:
        thought = getattr(delta, "reasoning_content", None)
        if isinstance(thought, str) and thought:
            self._reasoning.append(thought)
            yield ReasoningDelta(thought)
        for block in getattr(delta, "thinking_blocks", None) or ():
            self._block(block)
        self._items.extend(_plain(item) for item in getattr(delta, "reasoning_items", None) or ())
        fields = getattr(delta, "provider_specific_fields", None)
        if isinstance(fields, dict):
            kept = cast("dict[str, Any]", fields)
            self._fields.update({name: value for name, value in kept.items() if name != "thinking_blocks"})
        content = _content(getattr(delta, "content", None)) or _content(getattr(delta, "refusal", None))
        if content:
            yield from (
                self._said(*self._think.feed(content)) if self._think else self._said(("text", content))
            )
        for call in getattr(delta, "tool_calls", None) or ():
            yield from self._call(call)

    def _said(self, *pieces: tuple[str, str]) -> list[Delta]:
        deltas: list[Delta] = []
        for kind, text in pieces:
            if kind == "text":
                self._text.append(text)
                deltas.append(TextDelta(text))
            else:
                self._reasoning.append(text)
                deltas.append(ReasoningDelta(text))
        return deltas

    def _block(self, block: Any) -> None:
        """Claude's thinking, in fragments: text, then the signature in one of its own; or redacted as a whole."""
        piece = _plain(block)
        at = piece.pop("index", len(self._blocks))
        known = self._blocks.setdefault(at, {"type": piece.get("type", "thinking")})
        for name in ("thinking", "signature", "data"):
            if value := piece.get(name):
                known[name] = known.get(name, "") + value

    # ---- tool calls

    def _call(self, piece: Any) -> Iterator[Delta]:
        function = getattr(piece, "function", None)
        given_id = str(getattr(piece, "id", None) or "")
        name = str(getattr(function, "name", None) or "")
        arguments = _argument_text(getattr(function, "arguments", None))
        index = getattr(piece, "index", None)
        index = index if isinstance(index, int) else 0
        call, fresh = self._pick(index, given_id, name)
        if call is None:
            return
        fields = getattr(piece, "provider_specific_fields", None)
        if isinstance(fields, dict):
            call.opaque.update(cast("dict[str, Any]", fields))
        call.text += arguments
        if fresh or name or arguments:
            yield CallDelta(call.id, call.name, arguments)

    def _pick(self, index: int, given_id: str, name: str) -> tuple[_OpenCall | None, bool]:
        """The call that a piece belongs to: by id, then by index; a new one if it can't belong to the old one."""
        known = next((call for call in self._calls if given_id and call.given_id == given_id), None)
        if known is None and (not given_id or not name):  # an id without a name begins nothing
            known = self._at_index.get(index)
            if known and name and (known.text or known.name in self._tools) and name != known.name:
                known = None  # a second whole name: another call at the same index
            elif known and name and name == known.name and _is_whole(known.text):
                known = None
        if known is not None:
            self._at_index[index] = known
            if name and name != known.name and not known.text:
                known.name += name
            return known, False
        if not name and not given_id:
            return (self._calls[-1] if self._calls else None), False
        call = _OpenCall(given_id, name)
        self._calls.append(call)
        self._at_index[index] = call
        return call, True

    # ---- the whole reply

    @property
    def finish(self) -> FinishReason:
        reason = FINISHES.get(self._finish, "unknown")
        return "tool_calls" if reason == "stop" and self._calls else reason

    def parts(self) -> tuple[Part, ...]:
        """The reply: reasoning, then text, then calls."""
        parts: list[Part] = []
        opaque = [*self._signed_blocks(), *self._replay()]
        reasoning = "".join(self._reasoning)
        if reasoning or opaque:
            parts.append(Reasoning(reasoning, tuple(opaque)))
        if text := "".join(self._text):
            parts.append(Text(text))
        return (*parts, *(self._finished(call) for call in self._calls))

    def _signed_blocks(self) -> list[dict[str, Any]]:
        """Thinking without a signature is refused when it comes back, so it is not kept for that."""
        blocks = [self._blocks[at] for at in sorted(self._blocks)]
        return [block for block in blocks if block.get("signature") or block.get("data")]

    def _replay(self) -> list[dict[str, Any]]:
        """What else the provider wants back: OpenAI's reasoning items with their order, Gemini's thought signatures."""
        found: list[dict[str, Any]] = []
        if self._items:
            found.append({"type": "reasoning_items", "items": self._items})
        kept = ("openai_responses_replay",) if self._items else ("thought_signatures",)
        fields = {name: self._fields[name] for name in kept if name in self._fields}
        if fields:
            found.append({"type": "fields", "fields": fields})
        return found

    def _finished(self, call: _OpenCall) -> Call:
        arguments, error = parse_arguments(call.text)
        if error and self._finish == "length":
            error = "the reply was cut off at the length limit, in the middle of the arguments"
        raw = call.text if error else ""
        return Call(
            call.id,
            call.name,
            arguments,
            raw,
            error or ("" if call.name else "the call has no name"),
            call.opaque,
        )


def parse_arguments(text: str) -> tuple[dict[str, Any], str]:
    """A call's arguments from its text, and why they can't be read (empty if they can). No text is no arguments."""
    text = text.strip()
    if not text:
        return {}, ""
    if text.startswith("{}") and text[2:].lstrip().startswith("{"):
        text = text[2:].lstrip()  # some servers open with an empty object and stream the real one after it
    try:
        value = json.loads(text, strict=False)
        if isinstance(value, str):  # encoded twice
            value = json.loads(value, strict=False)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON: {error}"
    if value is None:
        return {}, ""
    if not isinstance(value, dict):
        return {}, "the arguments are not a JSON object"
    return cast("dict[str, Any]", value), ""


def reported_usage(chunks: Sequence[Any], assembler: Assembler) -> ReportedUsage | None:
    """Usage that the server reported, from litellm's raw chunks; None if it reported none.

    litellm's final chunk is not asked: without a report it holds an estimate that looks like one.
    """
    usage = next((u for chunk in reversed(chunks) if (u := getattr(chunk, "usage", None)) is not None), None)
    if usage is None:
        return None
    prompt, completion = _tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens")
    before, after = (
        getattr(usage, "prompt_tokens_details", None),
        getattr(usage, "completion_tokens_details", None),
    )
    if prompt == 0 or (assembler.responses and before is None and after is None):
        return None  # Anthropic's missing report arrives as zeros, that of /v1/responses as an estimate without details
    cost = getattr(usage, "cost", None)
    cached = _tokens(usage, "cache_read_input_tokens") or _tokens(before, "cached_tokens")
    written = _tokens(usage, "cache_creation_input_tokens") or _tokens(before, "cache_creation_tokens")
    return ReportedUsage(
        input=prompt,
        cached=min(cached, prompt),
        cache_write=min(written, max(0, prompt - cached)),
        output=completion,
        reasoning=0 if assembler.has_blocks else min(_tokens(after, "reasoning_tokens"), completion),
        cost_usd=float(cost) if isinstance(cost, int | float) and not assembler.responses else None,
    )


def _tokens(holder: Any, name: str) -> int:
    value = getattr(holder, name, None)
    return value if isinstance(value, int) and value > 0 else 0


def _plain(value: Any) -> dict[str, Any]:
    """A dict of a dict or of a pydantic object."""
    dump = getattr(value, "model_dump", None)
    return dict(dump(exclude_none=True) if dump else value)


def _content(value: Any) -> str:
    """Text of a delta's content: mostly a string, with some servers a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = cast("list[Any]", value)
        texts = (part if isinstance(part, str) else _plain(part).get("text") for part in parts)
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _argument_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _is_whole(text: str) -> bool:
    return bool(text) and not parse_arguments(text)[1]


class _InlineThink:
    """Splits ``<think>…</think>`` off the beginning of a reply, however the marks are cut into pieces."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"
        self._thought = False

    def feed(self, text: str) -> list[tuple[str, str]]:
        if self._state == "text":
            return [("text", text)]
        self._held += text
        if self._state == "after":
            return self._after()
        if self._state == "start":
            seen = self._held.lstrip()
            if OPEN.startswith(seen[: len(OPEN)]) and len(seen) < len(OPEN):
                return []
            if not seen.startswith(OPEN):
                return self._leave()
            self._state, self._held = "thinking", seen[len(OPEN) :]
        return self._thinking()

    def _thinking(self) -> list[tuple[str, str]]:
        if not self._thought:
            self._held = self._held.lstrip("\n")
            self._thought = bool(self._held)
        thought, mark, rest = self._held.partition(CLOSE)
        if mark:
            self._state, self._held = "after", rest
            pieces = [("reasoning", thought)] if thought else []
            return pieces + self._after()
        keep = next((n for n in range(len(CLOSE) - 1, 0, -1) if thought.endswith(CLOSE[:n])), 0)
        self._held = thought[len(thought) - keep :]
        shown = thought[: len(thought) - keep]
        return [("reasoning", shown)] if shown else []

    def _after(self) -> list[tuple[str, str]]:
        """The blank lines between the mark and the answer are dropped."""
        rest = self._held.lstrip("\n")
        if not rest:
            self._held = ""
            return []
        self._held = rest
        return self._leave()

    def _leave(self) -> list[tuple[str, str]]:
        text, self._held, self._state = self._held, "", "text"
        return [("text", text)] if text else []

    def close(self) -> list[tuple[str, str]]:
        kind = "reasoning" if self._state == "thinking" else "text"
        text, self._held, self._state = self._held, "", "text"
        return [(kind, text)] if text else []
