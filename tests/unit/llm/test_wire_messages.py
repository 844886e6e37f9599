import json
from typing import Any

from tui_agent.core.messages import Call, Message, Reasoning, Result, Text, user
from tui_agent.llm.api import ModelSpec, Request, ToolSchema
from tui_agent.llm.route import route
from tui_agent.llm.wire_messages import NO_OUTPUT, NOTHING_SAID, wire_messages, wire_tools

GEMINI = "gemini/gemini-2.5-pro"
CLAUDE = "anthropic/claude-sonnet-4-5"


def wired(name: str, *messages: Message, system: str = "") -> list[dict[str, Any]]:
    spec = ModelSpec(name=name)
    return wire_messages(Request(model=spec, system=system, messages=messages), route(spec))


def said(*parts: Any, model: str = "openai/fake", id: str = "a1", **more: Any) -> Message:
    return Message(id=id, role="assistant", parts=parts, origin="model", model=model, **more)


def answers(*parts: Result) -> Message:
    return Message(id="t", role="tool", parts=parts, origin="tool")


def test_each_result_is_a_message_of_its_own() -> None:
    calls = said(Call("c1", "a", {}), Call("c2", "b", {"x": 1}))
    out = wired(
        "openai/fake", user("u", "go"), calls, answers(Result("c1", "a", "one"), Result("c2", "b", "two"))
    )
    assert [wire["role"] for wire in out] == ["user", "assistant", "tool", "tool"]
    assert [(wire["tool_call_id"], wire["content"]) for wire in out[2:]] == [("c1", "one"), ("c2", "two")]
    assert out[1]["content"] is None


def test_nothing_is_ever_empty() -> None:
    out = wired("openai/fake", user("u", " \n"), said(Text("  ")), answers(Result("c", "a", "")))
    assert [wire["content"] for wire in out] == [NOTHING_SAID, NOTHING_SAID, NO_OUTPUT]


def test_gemini_folds_equal_calls_so_we_do_it_first() -> None:
    calls = said(
        Call("c1", "a", {"x": 1}), Call("c2", "a", {"x": 1}), Call("c3", "a", {"x": 2}), model=GEMINI
    )
    results = answers(Result("c1", "a", "one"), Result("c2", "a", "two"), Result("c3", "a", "three"))
    _, call, *tools = wired(GEMINI, user("u", "go"), calls, results)
    assert [one["id"] for one in call["tool_calls"]] == ["c1", "c3"]
    assert [tool["tool_call_id"] for tool in tools] == ["c1", "c3"]
    assert "one" in tools[0]["content"]
    assert "two" in tools[0]["content"]
    _, call, *tools = wired("gemini/gemini-3-pro", user("u", "go"), calls, results)
    assert (len(call["tool_calls"]), len(tools)) == (3, 3)


def test_gemini_gets_its_ids_and_signatures_back() -> None:
    long = "call_1__thought__" + "x" * 400
    call = Call(long, "a", {}, opaque={"thought_signature": "x"})
    fields = ({"type": "fields", "fields": {"thought_signatures": ["y"]}},)
    messages = (
        user("u", "go"),
        said(Reasoning("", fields), call, model=GEMINI),
        answers(Result(long, "a", "ok")),
    )
    out = wired(GEMINI, *messages)
    assert out[1]["tool_calls"][0]["id"] == out[2]["tool_call_id"] == long
    assert out[1]["tool_calls"][0]["provider_specific_fields"] == {"thought_signature": "x"}
    assert out[1]["provider_specific_fields"] == {"thought_signatures": ["y"]}
    other = wired("openai/fake", *messages)
    assert "provider_specific_fields" not in json.dumps(other)
    assert len(other[2]["tool_call_id"]) == 9


def test_deepseek_wants_its_reasoning_back_and_nobody_elses() -> None:
    thought = said(Reasoning("hm"), Text("x"), model="deepseek/deepseek-reasoner")
    assert wired("deepseek/deepseek-reasoner", user("u", "go"), thought)[1]["reasoning_content"] == "hm"
    assert "reasoning_content" not in wired("openai/fake", user("u", "go"), thought)[1]
    foreign = said(Reasoning("hm"), Text("x"), model="openai/fake")
    assert "reasoning_content" not in wired("deepseek/deepseek-reasoner", user("u", "go"), foreign)[1]


def test_a_message_is_the_models_own_under_any_of_its_names() -> None:
    signed = Reasoning("hm", ({"type": "thinking", "thinking": "hm", "signature": "S"},))
    for name in (CLAUDE, "smart", "claude-sonnet-4-5"):
        spec = ModelSpec(name=CLAUDE, alias="smart" if name == "smart" else "")
        request = Request(
            model=spec, system="", messages=(user("u", "go"), said(signed, Text("x"), model=name))
        )
        assert "thinking_blocks" in wire_messages(request, route(spec))[1]


def test_the_same_history_is_the_same_bytes() -> None:
    messages = [
        user("u", "go"),
        said(Call("weird:1", "a", {}), model="x"),
        answers(Result("weird:1", "a", "ok")),
    ]
    first = wired(CLAUDE, *messages, system="s")
    grown = wired(
        CLAUDE, *messages, said(Text("done"), model=CLAUDE, id="a2"), user("u2", "more"), system="s"
    )
    strip = [
        json.dumps(wire).replace(', "cache_control": {"type": "ephemeral"}', "")
        for wire in grown[: len(first)]
    ]
    assert strip == [
        json.dumps(wire).replace(', "cache_control": {"type": "ephemeral"}', "") for wire in first
    ]


def test_openrouters_claude_caches_people_only() -> None:
    out = wired(
        "openrouter/anthropic/claude-sonnet-4.5",
        user("u1", "one"), said(Call("c", "a", {})), answers(Result("c", "a", "ok")), system="s",
    )  # fmt: skip
    marked = [wire["role"] for wire in out if "cache_control" in json.dumps(wire)]
    assert marked == ["system", "user"]


def test_tools_keep_their_order() -> None:
    tools = tuple(ToolSchema(name, "d", {"type": "object"}) for name in "cab")
    assert [tool["function"]["name"] for tool in wire_tools(tools)] == ["c", "a", "b"]
