"""A cut reaches the server at once, in every phase of a call; silence is noticed, whatever keeps the line open."""

import asyncio
import time
from contextlib import aclosing

import pytest

from tests.fakes.fake_llm import Answer, FakeLLM, FaultKind, fault, until
from tests.wire.conftest import GEMINI, RESPONSES, ROUTES, ask, cancelled, failure_of, listen, reply_of
from tui_agent.core.messages import Text
from tui_agent.llm.api import TextDelta
from tui_agent.llm.litellm_model import LitellmModel

AT_ONCE = 0.2
"""Seconds within which the server must see the connection closed."""

HANGS: list[FaultKind] = ["hang_headers", "hang_first", "hang_middle", "pings"]


@pytest.mark.parametrize("name", [*ROUTES, GEMINI, RESPONSES])
@pytest.mark.parametrize("kind", HANGS)
async def test_cancelling_closes_the_connection(
    model: LitellmModel, fake: FakeLLM, name: str, kind: FaultKind
) -> None:
    fake.add(fault(kind))
    call = asyncio.create_task(listen(model, ask(fake, name)))
    received = await fake.arrived()
    await until(received.held)
    cut = time.monotonic()
    await cancelled(call)
    await until(received.closed)
    assert received.closed_at - cut < AT_ONCE


@pytest.mark.parametrize("name", [*ROUTES, GEMINI])
async def test_leaving_the_stream_closes_the_connection(
    model: LitellmModel, fake: FakeLLM, name: str
) -> None:
    fake.add(Answer(text="word " * 500, chunk=5, pace=200))
    async with aclosing(model.stream(ask(fake, name))) as pieces:
        async for piece in pieces:
            assert isinstance(piece, TextDelta)
            break
        cut = time.monotonic()
    received = fake.request()
    await until(received.closed)
    assert received.closed_at - cut < AT_ONCE
    assert not received.done.is_set()


@pytest.mark.parametrize("name", [*ROUTES, GEMINI])
@pytest.mark.parametrize("kind", HANGS)
async def test_silence_ends_a_call(model: LitellmModel, fake: FakeLLM, name: str, kind: FaultKind) -> None:
    fake.add(fault(kind))
    started = time.monotonic()
    failure = await failure_of(model, ask(fake, name, stall_timeout=0.3))
    assert failure.kind == "timeout"
    assert "no data for 0.3 s" in failure.text
    assert 0.3 <= time.monotonic() - started < 2
    await until(fake.request().closed)
    assert len(fake.hits) == 1


async def test_a_slow_stream_is_not_silent(model: LitellmModel, fake: FakeLLM) -> None:
    fake.add(Answer(text="one two three four five", chunk=4, pace=10))  # 0.6 s, a piece each 0.1 s
    reply = await reply_of(model, ask(fake, "openai/fake", stall_timeout=0.3))
    assert reply.parts == (Text("one two three four five"),)


async def test_time_that_the_reader_takes_is_not_the_servers(model: LitellmModel, fake: FakeLLM) -> None:
    fake.add(Answer(text="one two three", chunk=4))
    async with aclosing(model.stream(ask(fake, "openai/fake", stall_timeout=0.2))) as pieces:
        heard = []
        async for piece in pieces:
            heard.append(piece)
            if len(heard) == 1:
                await asyncio.sleep(0.3)  # the reader is busy for longer than the server may be silent
    assert heard[-1].finish == "stop"


async def test_the_loop_runs_on_while_a_stream_is_fast(model: LitellmModel, fake: FakeLLM) -> None:
    fake.add(Answer(text="word " * 3000, chunk=5))
    rounds = 0

    async def count() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0)
            rounds += 1

    counting = asyncio.create_task(count())
    await reply_of(model, ask(fake, "openai/fake"))
    counting.cancel()
    assert rounds > 20
