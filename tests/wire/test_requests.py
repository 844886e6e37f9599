"""What really goes over the wire: only keys that the provider takes, whatever the history holds."""

import json
from typing import Any

import pytest

from tests.fakes.fake_llm import Answer, FakeLLM, Received, ToolCall, say
from tests.wire.conftest import GEMINI, READ, RESPONSES, ROUTES, ask, calls_in, reply_of
from tui_agent.core.messages import Call, Image, Message, Reasoning, Result, Text, user
from tui_agent.llm import catalog
from tui_agent.llm.litellm_model import LitellmModel

CLAUDE = ROUTES[1]
SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "SIG"}
PIXEL = Image("image/png", "iVBORw0KGgo=")


def assistant(*parts: Any, model: str, **more: Any) -> Message:
    return Message(id=f"a{len(parts)}", role="assistant", parts=parts, origin="model", model=model, **more)


def results(*parts: Result) -> Message:
    return Message(id="t1", role="tool", parts=parts, origin="tool")


def history(model: str, id: str = "call_1", **more: Any) -> tuple[Message, ...]:
    """One tool loop: asked, called with signed reasoning, answered."""
    spoken = assistant(
        Reasoning("Hm.", (SIGNED,)),
        Text("I look."),
        Call(id, "read_file", {"path": "a.py"}),
        model=model,
        **more,
    )
    return (user("u1", "Look."), spoken, results(Result(id, "read_file", "x = 1")))


async def sent(model: LitellmModel, fake: FakeLLM, name: str, **more: Any) -> Received:
    fake.add(say("ok"))
    await reply_of(model, ask(fake, name, **more))
    return fake.requests[-1]


def keys(value: Any) -> set[str]:
    """All keys anywhere within a JSON value."""
    if isinstance(value, dict):
        return set(value).union(*(keys(inner) for inner in value.values()))
    return set().union(*(keys(inner) for inner in value)) if isinstance(value, list) else set()


async def test_openai_gets_openais_keys_and_nothing_else(model: LitellmModel, fake: FakeLLM) -> None:
    received = await sent(model, fake, "openai/fake", messages=history("openai/fake"))
    assert set(received.json) == {"model", "messages", "tools", "stream", "stream_options"}
    assert received.messages == [
        {"role": "system", "content": "You are a fake."},
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path": "a.py"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "x = 1"},
    ]
    assert received.json["tools"][0]["function"] == {
        "name": READ.name, "description": READ.description, "parameters": READ.schema,
    }  # fmt: skip


async def test_claude_gets_its_signed_thinking_back(model: LitellmModel, fake: FakeLLM) -> None:
    received = await sent(model, fake, CLAUDE, messages=history(CLAUDE))
    assert received.messages[1]["content"][0] == SIGNED


@pytest.mark.parametrize(
    "messages",
    [history("openai/other"), history(CLAUDE, interrupted=True)],
    ids=["another model's", "interrupted"],
)
async def test_claude_gets_no_thinking_that_it_would_refuse(
    model: LitellmModel, fake: FakeLLM, messages: tuple[Message, ...]
) -> None:
    received = await sent(model, fake, CLAUDE, messages=messages, spec={"reasoning_effort": "high"})
    assert "signature" not in keys(received.messages)
    assert "thinking" not in received.json, "a tool loop without signed thinking must go on without thinking"


async def test_claude_thinks_when_it_may(model: LitellmModel, fake: FakeLLM) -> None:
    thinks = {"reasoning_effort": "high", "temperature": 0.3}
    received = await sent(model, fake, CLAUDE, messages=history(CLAUDE), spec=thinks)
    assert received.json["thinking"]["budget_tokens"] < received.json["max_tokens"]
    assert "temperature" not in received.json
    received = await sent(model, fake, CLAUDE, messages=history(CLAUDE), spec=thinks, max_output=1000)
    assert "thinking" not in received.json
    assert (received.json["max_tokens"], received.json["temperature"]) == (1000, 0.3)


async def test_claude_caches_the_beginning_and_both_ends(model: LitellmModel, fake: FakeLLM) -> None:
    received = await sent(model, fake, CLAUDE, messages=history(CLAUDE))
    body = received.json
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert json.dumps(body).count("cache_control") == 3
    assert "cache_control" in body["messages"][0]["content"][-1]
    assert "cache_control" in json.dumps(body["messages"][-1]["content"][-1])
    again = await sent(
        model,
        fake,
        CLAUDE,
        messages=(*history(CLAUDE), assistant(Text("Done."), model=CLAUDE), user("u2", "More.")),
    )
    assert json.dumps(again.json["tools"]) == json.dumps(body["tools"])
    assert again.json["system"] == body["system"]


@pytest.mark.parametrize(
    "name", ["openai/fake", "openai/claude-sonnet-4-5", RESPONSES, "deepseek/deepseek-chat"]
)
async def test_nobody_else_gets_cache_marks(model: LitellmModel, fake: FakeLLM, name: str) -> None:
    received = await sent(model, fake, name, messages=history(name))
    assert "cache_control" not in keys(received.json)
    assert not {"signature", "thinking_blocks", "opaque"} & keys(received.json)


async def test_openrouter_is_told_who_asks_and_caches_claude(model: LitellmModel, fake: FakeLLM) -> None:
    received = await sent(model, fake, "openrouter/anthropic/claude-sonnet-4.5", messages=history("x"))
    assert (received.headers["x-title"], received.headers["http-referer"]) == (
        "tui-agent",
        "http://localhost",
    )
    assert "cache_control" in keys(received.messages[0])
    assert "thinking_blocks" not in keys(received.json)


async def test_ids_of_another_provider_are_made_acceptable(model: LitellmModel, fake: FakeLLM) -> None:
    received = await sent(
        model, fake, CLAUDE, messages=history("gemini/x", id="call:1__thought__c2lnbmF0dXJl")
    )
    call = received.messages[1]["content"][-1]
    assert call["id"].isalnum()
    assert len(call["id"]) == 9
    assert received.messages[2]["content"][0]["tool_use_id"] == call["id"]


async def test_equal_ids_in_two_turns_are_told_apart(model: LitellmModel, fake: FakeLLM) -> None:
    twice = (*history("openai/fake", id="call_0"), *history("openai/fake", id="call_0"))
    received = await sent(model, fake, "openai/fake", messages=twice)
    calls = [call["id"] for wire in received.messages for call in wire.get("tool_calls", ())]
    answers = [wire["tool_call_id"] for wire in received.messages if wire["role"] == "tool"]
    assert calls == answers
    assert len(set(calls)) == 2


@pytest.mark.parametrize("name", [*ROUTES, GEMINI, RESPONSES])
async def test_hostile_histories_are_sent(model: LitellmModel, fake: FakeLLM, name: str) -> None:
    """Lone surrogates, empty texts, unparsable arguments, calls without a name, an answer of nothing."""
    broken = Call("c1", "read_file", {}, raw='{"path": "a', error="not JSON")
    odd = Call("c2", "", {"text": "\ud800", "\ud83d": [None, {"deep": "ñ"}]})
    messages = (
        user("u1", "\ud800 hi \x00\x1b[31m"),
        assistant(Text(" "), model=name),
        user("u2", "   "),
        assistant(Text(""), broken, odd, model=name),
        results(Result("c1", "read_file", "", ok=False), Result("c2", "", "\udfff")),
        assistant(Reasoning("only thoughts"), model="other"),
        user("u3", "go on"),
    )
    received = await sent(model, fake, name, messages=messages)
    texts = json.dumps(received.json, ensure_ascii=False)
    texts.encode()
    assert "only thoughts" not in texts


@pytest.mark.parametrize("name", ROUTES)
async def test_images_of_people_and_tools_arrive(model: LitellmModel, fake: FakeLLM, name: str) -> None:
    messages = (
        Message(id="u1", role="user", parts=(Text("What is this?"), PIXEL)),
        assistant(Call("c1", "read_file", {}), model=name),
        results(Result("c1", "read_file", "an image", images=(PIXEL,))),
    )
    received = await sent(model, fake, name, messages=messages)
    assert json.dumps(received.json).count("iVBORw0KGgo=") == 2
    if name == "openai/fake":
        assert [wire["role"] for wire in received.messages] == ["system", "user", "assistant", "tool", "user"]


async def test_a_model_that_sees_nothing_gets_no_image(model: LitellmModel, fake: FakeLLM) -> None:
    blind = next(
        known.name for known in catalog.known() if known.provider == "openai" and known.vision is False
    )
    messages = (Message(id="u1", role="user", parts=(Text("What is this?"), PIXEL)),)
    received = await sent(model, fake, blind, messages=messages)
    assert "iVBORw0KGgo=" not in json.dumps(received.json)
    assert "can't see" in json.dumps(received.json)


@pytest.mark.parametrize("name", [*ROUTES, RESPONSES])
async def test_a_closing_call_has_no_tools_to_use(model: LitellmModel, fake: FakeLLM, name: str) -> None:
    received = await sent(model, fake, name, messages=(*history(name), user("u2", "Close.")), tools=())
    if name == CLAUDE:  # Claude wants tools declared wherever calls were made
        assert received.json["tool_choice"] == {"type": "none"}
    else:
        assert not received.json.get("tools")


async def test_reasoning_items_go_back_to_responses_and_nowhere_else(
    model: LitellmModel, fake: FakeLLM
) -> None:
    fake.add(Answer(reasoning="Hm.", text="I look.", calls=(ToolCall("read_file", {"path": "a.py"}),)))
    reply = await reply_of(model, ask(fake, RESPONSES))
    (call,) = calls_in(reply)
    messages = (
        user("u1", "hi"),
        assistant(*reply.parts, model=RESPONSES),
        results(Result(call.id, call.name, "x = 1")),
    )
    received = await sent(model, fake, RESPONSES, messages=messages)
    assert [item["type"] for item in received.messages if "type" in item].count("reasoning") == 1
    assert "sealed-by-the-fake" in json.dumps(received.json)
    received = await sent(model, fake, "openai/fake", messages=messages)
    assert "sealed-by-the-fake" not in json.dumps(received.json)


async def test_a_plain_request_has_nothing_optional(model: LitellmModel, fake: FakeLLM) -> None:
    chosen = {"reasoning_effort": "high", "temperature": 0.3}
    received = await sent(model, fake, "openai/fake", spec=chosen, json_object=True)
    assert (received.json["reasoning_effort"], received.json["temperature"]) == ("high", 0.3)
    received = await sent(model, fake, "openai/fake", spec=chosen, json_object=True, plain=True)
    assert set(received.json) == {"model", "messages", "tools", "stream"}


async def test_a_json_object_is_asked_for_where_it_is_known_to_work(
    model: LitellmModel, fake: FakeLLM
) -> None:
    received = await sent(model, fake, "openai/gpt-4o", json_object=True, tools=())
    assert received.json["response_format"] == {"type": "json_object"}
    for name in ("openai/fake", CLAUDE):
        received = await sent(model, fake, name, json_object=True, tools=())
        assert "response_format" not in received.json
        assert "json_tool_call" not in json.dumps(received.json)


async def test_a_local_server_never_gets_the_cloud_services_key(
    model: LitellmModel, fake: FakeLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-real-one-0123456789")
    received = await sent(model, fake, "openai/fake")
    assert received.headers["authorization"] == "Bearer none"
    monkeypatch.setenv("LOCAL_KEY", "local-0123456789")
    received = await sent(model, fake, "openai/fake", spec={"api_key_env": "LOCAL_KEY"})
    assert received.headers["authorization"] == "Bearer local-0123456789"


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
async def test_the_environments_address_is_used_with_its_key(
    model: LitellmModel, fake: FakeLLM, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, fake.openai_base + "/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-the-proxy-0123456789")
    received = await sent(model, fake, "openai/fake", spec={"api_base": ""})
    assert received.headers["authorization"] == "Bearer sk-for-the-proxy-0123456789"


async def test_a_proxy_is_not_asked_for_this_machine(
    model: LitellmModel, fake: FakeLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("FRESH_KEY", "another-client-0123456789")  # litellm pools its clients by key
    await sent(model, fake, "openai/fake", spec={"api_key_env": "FRESH_KEY"})


async def test_a_token_that_is_no_key_goes_where_it_belongs(
    model: LitellmModel, fake: FakeLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", fake.anthropic_base)
    received = await sent(model, fake, CLAUDE, spec={"api_base": ""})
    assert received.headers["authorization"] == "Bearer token-0123456789"
    assert "x-api-key" not in received.headers
