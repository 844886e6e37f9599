"""Whatever a history holds, what goes out is valid; whatever text comes in is read without a fault."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_agent.core.messages import Call, Image, Message, Reasoning, Result, Text
from tui_agent.llm import tokens
from tui_agent.llm.api import ModelSpec, Request
from tui_agent.llm.assembler import parse_arguments
from tui_agent.llm.route import route
from tui_agent.llm.wire_messages import clean, wire_messages

CLAUDE = "anthropic/claude-sonnet-4-5"
GEMINI = "gemini/gemini-2.5-pro"


def wired(name: str, messages: list[Message]) -> list[dict[str, Any]]:
    spec = ModelSpec(name=name)
    return wire_messages(Request(model=spec, system="s", messages=tuple(messages)), route(spec))


def answers(*parts: Result) -> Message:
    return Message(id="t", role="tool", parts=parts, origin="tool")


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_has_a_count(text: str) -> None:
    assert tokens.count_text(text) <= len(text.encode("utf-8", "surrogatepass"))
    assert (tokens.count_text(text) > 0) == bool(text)


@given(st.text(max_size=40))
def test_no_argument_text_raises(text: str) -> None:
    arguments, _ = parse_arguments(text)
    assert isinstance(arguments, dict)


@given(st.text(st.characters(codec=None)))
def test_clean_text_is_utf8_and_otherwise_untouched(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert len(cleaned) == len(text)
    assert all(old == new for old, new in zip(text, cleaned, strict=True) if not 0xD800 <= ord(old) <= 0xDFFF)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
texts = st.text(st.characters(codec=None), max_size=8)
calls = st.builds(
    Call,
    id=st.sampled_from(["", "c1", "c2", "weird:id", "c1__thought__x"]),
    name=texts,
    arguments=st.dictionaries(st.text(max_size=3), json_values, max_size=2),
    raw=texts,
    error=texts,
)
parts = st.one_of(st.builds(Text, texts), st.builds(Reasoning, texts), calls)
histories = st.lists(
    st.one_of(
        st.builds(Message, id=texts, role=st.just("user"), parts=st.lists(st.one_of(st.builds(Text, texts), st.builds(Image, st.just("image/png"), st.just("AA=="))), max_size=3).map(tuple)),
        st.builds(Message, id=texts, role=st.just("assistant"), parts=st.lists(parts, max_size=4).map(tuple), model=st.sampled_from(["", "openai/fake", CLAUDE, GEMINI]), interrupted=st.booleans()),
    ),
    max_size=6,
)  # fmt: skip


def repaired(history: list[Message]) -> list[Message]:
    """Every call answered right after it, as the loop's own repair leaves a history."""
    whole: list[Message] = []
    for message in history:
        whole.append(message)
        if message.calls:
            whole.append(answers(*(Result(call.id, call.name, "ok") for call in message.calls)))
    return whole


@pytest.mark.parametrize(
    "name", ["openai/fake", CLAUDE, GEMINI, "mistral/x", "openrouter/anthropic/claude-x"]
)
@settings(max_examples=60)
@given(history=histories)
def test_any_history_comes_out_valid(name: str, history: list[Message]) -> None:
    out = wired(name, repaired(history))
    json.dumps(out, ensure_ascii=False).encode()
    open_calls: list[str] = []
    for wire in out:
        assert set(wire) <= {"role", "content", "tool_calls", "tool_call_id", "thinking_blocks"}
        assert wire["content"] or wire.get("tool_calls")
        if wire["role"] == "tool":
            assert wire["tool_call_id"] in open_calls
            open_calls.remove(wire["tool_call_id"])
        else:
            assert not open_calls, "every call is answered before anything else is said"
            ids = [call["id"] for call in wire.get("tool_calls", ())]
            assert len(set(ids)) == len(ids)
            assert all(ids)
            open_calls += ids
    assert not open_calls
