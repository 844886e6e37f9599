"""The whole loop over HTTP through real litellm: how many requests each fault leads to, counted by the server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fakes.agents import Bench, bench
from tests.fakes.fake_llm import (
    STATUSES,
    Answer,
    FakeLLM,
    FaultKind,
    Received,
    ToolCall,
    call,
    calls,
    fault,
    say,
    status,
)
from tests.wire.conftest import spec_of
from tui_agent.config.sections import Limits, Permissions
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.llm.litellm_model import LitellmModel


def agent(
    tmp_path: Path, model: LitellmModel, fake: FakeLLM, name: str = "openai/fake", **more: Any
) -> Bench:
    """The tests' agent, but its model is litellm talking to the fake; waits are virtual."""
    b = bench(tmp_path, [], model=model, permissions=Permissions(mode="yolo"), **more)
    b.agent.kit.resolve = lambda wanted: spec_of(
        fake, "anthropic/claude-sonnet-4-5" if wanted == "second" else name
    )
    return b


REQUESTS = {
    400: 2,
    401: 1,
    402: 1,
    403: 1,
    404: 1,
    408: 4,
    413: 3,
    422: 2,
    429: 4,
    500: 4,
    502: 4,
    503: 4,
    529: 4,
}
"""By status: one, and what the recovery table adds; an overflow is also tried after a (vain) compaction."""


@pytest.mark.parametrize("code", STATUSES)
async def test_requests_by_status_without_a_fallback(
    tmp_path: Path, model: LitellmModel, fake: FakeLLM, code: int
) -> None:
    fake.default = status(code)
    b = agent(tmp_path, model, fake)
    end = await b.run()
    assert len(fake.hits) == REQUESTS[code]
    assert end.stop_reason == ("context_full" if code == 413 else "llm_error")
    assert end.status == ("partial" if code == 413 else "failed")


@pytest.mark.parametrize("code", [401, 402, 404, 429, 503])
async def test_a_fallback_on_another_protocol_takes_over(
    tmp_path: Path, model: LitellmModel, code: int
) -> None:
    def answer(received: Received) -> Answer:
        return status(code) if received.path.endswith("/chat/completions") else say("from the second one")

    async with FakeLLM(answer) as fake:
        b = agent(tmp_path, model, fake, fallbacks=("second",))
        end = await b.run()
        assert end.final_output == "from the second one"
        paths = [request.path for request in fake.requests]
        assert [path.endswith("/messages") for path in paths] == [False] * REQUESTS[code] + [True]


@pytest.mark.parametrize("kind", ["cut", "reset", "cut_json", "error_event"])
async def test_after_a_cut_stream_the_partial_answer_is_kept_and_continued(
    tmp_path: Path, model: LitellmModel, fake: FakeLLM, kind: FaultKind
) -> None:
    fake.add(fault(kind), say(" and the rest."))
    b = agent(tmp_path, model, fake)
    end = await b.run()
    assert end.stop_reason == "llm_done"
    assert end.final_output.startswith("one two")
    assert end.final_output.endswith("and the rest.")
    assert len(fake.requests) == 2
    sent = fake.requests[1].messages
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"].startswith("one two")


@pytest.mark.parametrize(("kind", "requests"), [("refuse", 4), ("empty", 2), ("html", 2), ("json_error", 4)])
async def test_faults_before_any_text(
    tmp_path: Path, model: LitellmModel, fake: FakeLLM, kind: FaultKind, requests: int
) -> None:
    fake.default = fault(kind, after=0)
    b = agent(tmp_path, model, fake)
    assert (await b.run()).stop_reason == "llm_error"
    assert len(fake.hits) == requests


async def test_a_server_that_only_pings_is_stalled(
    tmp_path: Path, model: LitellmModel, fake: FakeLLM
) -> None:
    fake.add(fault("pings", after=1), say("awake"))
    b = agent(tmp_path, model, fake, limits=Limits(stall_timeout=0.2))
    end = await b.run()
    assert end.stop_reason == "llm_done"
    retry = b.of(ev.Retry)[0]
    assert retry.failure.kind == "timeout"
    assert len(fake.requests) == 2


@pytest.mark.parametrize("name", ["openai/fake", "anthropic/claude-sonnet-4-5"])
async def test_three_calls_and_an_edit_then_the_answer(
    tmp_path: Path, model: LitellmModel, fake: FakeLLM, name: str
) -> None:
    looks = [ToolCall("look", {"path": path}) for path in "abc"]
    fake.add(calls(*looks, text="I look."), call("edit", path="a.py"), say("All done."))
    b = agent(tmp_path, model, fake, name)
    end = await b.run("please")
    assert (end.status, end.tool_calls, end.files_changed) == ("success", 4, ("a.py",))
    assert end.final_output == "All done."
    assert all(usage.reported for usage in b.of(ev.Usage))
    assert b.state.context_exact
    reported = b.of(ev.Usage)[-1]
    assert b.of(ev.Context)[-1].used == reported.input + reported.output, (
        "the gauge is what the provider reported"
    )


async def test_the_system_prompt_and_tools_are_the_same_bytes_in_every_request_of_a_run(
    tmp_path: Path, model: LitellmModel, fake: FakeLLM
) -> None:
    fake.add(call("look", path="a"), call("look", path="b"), say("end"))
    b = agent(tmp_path, model, fake, "anthropic/claude-sonnet-4-5")
    await b.run()
    fixed = {msgspec.json.encode([r.json["system"], r.json["tools"]]) for r in fake.requests}
    assert len(fixed) == 1
    assert b"cache_control" in fixed.pop()


async def test_an_interrupt_closes_the_connection_at_once(
    tmp_path: Path, model: LitellmModel, fake: FakeLLM
) -> None:
    fake.add(fault("hang_middle"), say("again"))
    b = agent(tmp_path, model, fake)
    b.mailbox.prompt("go")
    await b.until(ev.MessageUpdate)
    request = await fake.arrived(0)
    loop = asyncio.get_running_loop()
    began = loop.time()
    b.mailbox.handle(cmd.Interrupt(now=True))
    await b.mailbox.idle()
    await asyncio.to_thread(request.closed.wait, 5)
    assert request.closed.is_set()
    assert request.closed_at - began < 1, "both are the monotonic clock"
    assert b.end.stop_reason == "user_interrupt"
    assert (await b.run("go on")).stop_reason == "llm_done"
    assert [m["role"] for m in fake.requests[1].messages] == ["system", "user", "assistant", "user"]
