"""What a model says, through the real litellm: text, reasoning, calls as servers stream them, finish reasons, usage."""

import msgspec
import pytest

from tests.fakes.fake_llm import Answer, FakeLLM, Quirk, ToolCall, Usage, say
from tests.wire.conftest import GEMINI, RESPONSES, ROUTES, ask, calls_in, failure_of, listen, reply_of
from tui_agent.core.messages import Reasoning, Text
from tui_agent.llm.api import CallDelta, ReasoningDelta, ReportedUsage, TextDelta
from tui_agent.llm.litellm_model import LitellmModel

TWO = (ToolCall("read_file", {"path": "a.py"}), ToolCall("list_files", {}))


@pytest.mark.parametrize("name", [*ROUTES, GEMINI, RESPONSES])
async def test_the_deltas_add_up_to_the_reply(model: LitellmModel, fake: FakeLLM, name: str) -> None:
    fake.add(
        Answer(text="Hello, world: ñ 漢字 👩‍👩‍👧", reasoning="Let me think about it.", calls=TWO, chunk=3)
    )
    *deltas, reply = await listen(model, ask(fake, name))
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "Hello, world: ñ 漢字 👩‍👩‍👧"
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "Let me think about it."
    reasoning, text, first, second = reply.parts
    assert (reasoning.text, text) == ("Let me think about it.", Text("Hello, world: ñ 漢字 👩‍👩‍👧"))
    assert (first.name, first.arguments, first.error) == ("read_file", {"path": "a.py"}, "")
    assert (second.name, second.arguments, second.error) == ("list_files", {}, "")
    assert first.id != second.id
    pieces = [d for d in deltas if isinstance(d, CallDelta) and d.id == first.id]
    assert msgspec.json.decode("".join(piece.text for piece in pieces)) == {"path": "a.py"}
    assert {piece.name for piece in pieces} == {"read_file"}
    assert reply.finish == "tool_calls"
    assert reply.model == name


@pytest.mark.parametrize("index_zero", [False, True])
@pytest.mark.parametrize(
    "quirk", ["no_ids", "split_names", "dict_arguments", "ids_once", "whole_calls", None]
)
async def test_calls_survive_every_servers_way_of_streaming_them(
    model: LitellmModel, fake: FakeLLM, quirk: Quirk | None, index_zero: bool
) -> None:
    quirks: list[Quirk] = [*([quirk] if quirk else []), *(["index_zero"] if index_zero else [])]
    calls = (ToolCall("read_file", {"path": "a.py"}), ToolCall("list_files", {"path": "b"}))
    fake.add(Answer(calls=calls, quirks=tuple(quirks)))
    reply = await reply_of(model, ask(fake, "openai/fake"))
    found = calls_in(reply)
    assert [(call.name, call.arguments, call.error) for call in found] == [
        (call.name, call.arguments, "") for call in calls
    ]
    assert len({call.id for call in found} - {""}) == 2


async def test_arguments_that_are_no_json_are_kept_as_they_came(model: LitellmModel, fake: FakeLLM) -> None:
    fake.add(
        Answer(calls=(ToolCall("read_file", '{"path": "a.py'),)),
        Answer(calls=(ToolCall("read_file", '{"path'),), finish="length"),
    )
    (call,) = calls_in(await reply_of(model, ask(fake, "openai/fake")))
    assert (call.arguments, call.raw) == ({}, '{"path": "a.py')
    assert "JSON" in call.error
    reply = await reply_of(model, ask(fake, "openai/fake"))
    assert "length limit" in calls_in(reply)[0].error


async def test_thinking_is_kept_with_its_signature(model: LitellmModel, fake: FakeLLM) -> None:
    fake.add(Answer(text="Yes.", reasoning="Because of this.", signature="SIG", redacted="SEALED", chunk=4))
    reply = await reply_of(model, ask(fake, ROUTES[1]))
    thinking = {"type": "thinking", "thinking": "Because of this.", "signature": "SIG"}
    sealed = {"type": "redacted_thinking", "data": "SEALED"}
    assert reply.parts[0] == Reasoning("Because of this.", (thinking, sealed))


async def test_thinking_without_a_signature_is_not_kept_for_replay(
    model: LitellmModel, fake: FakeLLM
) -> None:
    fake.add(Answer(text="Yes.", reasoning="Because.", signature=""))
    reply = await reply_of(model, ask(fake, ROUTES[1]))
    assert reply.parts[0] == Reasoning("Because.")


@pytest.mark.parametrize("name", ["openai/fake", "hosted_vllm/fake", "lm_studio/fake", "ollama/fake"])
async def test_inline_think_marks_of_local_servers_are_split_off(
    model: LitellmModel, fake: FakeLLM, name: str
) -> None:
    fake.add(say("<think>\nhm\n</think>\n\nThe <think> tag.", chunk=5))
    reply = await reply_of(model, ask(fake, name))
    assert reply.parts == (Reasoning("hm\n"), Text("The <think> tag."))


FINISHES = [
    ("openai/fake", "stop", "stop"), ("openai/fake", "length", "length"), ("openai/fake", "content_filter", "content_filter"),
    ("openai/fake", "function_call", "tool_calls"), (ROUTES[1], "max_tokens", "length"), (ROUTES[1], "pause_turn", "length"),
    (ROUTES[1], "refusal", "content_filter"), (ROUTES[1], "stop_sequence", "stop"), (RESPONSES, "length", "length"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "theirs", "ours"), FINISHES)
async def test_finish_reasons(model: LitellmModel, fake: FakeLLM, name: str, theirs: str, ours: str) -> None:
    fake.add(say("So far.", finish=theirs))
    assert (await reply_of(model, ask(fake, name))).finish == ours


async def test_a_reply_withheld_as_a_whole_is_a_failure(model: LitellmModel, fake: FakeLLM) -> None:
    fake.add(say("", finish="content_filter"))
    assert (await failure_of(model, ask(fake, "openai/fake"))).kind == "content_policy"


@pytest.mark.parametrize("name", [*ROUTES, GEMINI, RESPONSES])
async def test_an_empty_reply_is_a_reply(model: LitellmModel, fake: FakeLLM, name: str) -> None:
    fake.add(say(""))
    reply = await reply_of(model, ask(fake, name))
    assert (reply.parts, reply.finish) == ((), "stop")


@pytest.mark.parametrize("name", [*ROUTES, GEMINI, RESPONSES])
async def test_usage_is_what_the_server_reported(model: LitellmModel, fake: FakeLLM, name: str) -> None:
    written = 100 if name == ROUTES[1] else 0
    used = Usage(input=1000, cached=600, cache_write=written, output=50, reasoning=20)
    fake.add(say("hi", reasoning="A thought of some length.", usage=used))
    reply = await reply_of(model, ask(fake, name))
    thought = (
        0 if name == ROUTES[1] else 20
    )  # Anthropic does not report reasoning tokens, litellm estimates them
    assert reply.usage == ReportedUsage(
        input=1000, cached=600, cache_write=written, output=50, reasoning=thought
    )


@pytest.mark.parametrize("name", [*ROUTES, GEMINI, RESPONSES])
async def test_usage_that_nobody_reported_is_not_invented(
    model: LitellmModel, fake: FakeLLM, name: str
) -> None:
    fake.add(say("hi there", usage=None))
    assert (await reply_of(model, ask(fake, name))).usage is None


async def test_a_price_that_the_provider_gives_is_passed_on(model: LitellmModel, fake: FakeLLM) -> None:
    fake.add(say("hi", usage=Usage(input=10, output=5, cost=0.0123)))
    reply = await reply_of(model, ask(fake, "openrouter/some/model"))
    assert reply.usage is not None
    assert reply.usage.cost_usd == 0.0123


async def test_a_price_that_litellm_works_out_is_not_the_providers(
    model: LitellmModel, fake: FakeLLM
) -> None:
    fake.add(say("hi", usage=Usage(input=10, output=5)), say("hi", usage=Usage(input=10, output=5)))
    for name in (ROUTES[1], RESPONSES):
        reply = await reply_of(model, ask(fake, name))
        assert reply.usage is not None
        assert reply.usage.cost_usd is None
