"""Every class of model failure, with nothing shown and with a partial answer shown: what follows, and how often it is tried."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.agents import Turn, bench
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.errors import ErrorClass, Failure
from tui_agent.llm.api import Request

TRANSIENT: tuple[ErrorClass, ...] = ("rate_limit", "timeout", "network", "server")


def failing(kind: ErrorClass, **fields: object) -> Turn:
    return Turn(failure=Failure(kind, f"{kind} happened", **fields))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("kind", TRANSIENT)
async def test_transient_failures_are_tried_three_times_more_then_the_run_fails(
    tmp_path: Path, kind: ErrorClass
) -> None:
    b = bench(tmp_path, lambda _: failing(kind))
    end = await b.run()
    assert (end.stop_reason, end.status) == ("llm_error", "failed")
    assert end.failure is not None
    assert end.failure.kind == kind
    assert len(b.requests) == 4
    assert b.clock.slept == [1.0, 2.0, 4.0]
    assert [event.attempt for event in b.of(ev.Retry)] == [1, 2, 3]


@pytest.mark.parametrize("kind", TRANSIENT)
async def test_after_a_partial_answer_it_is_kept_and_the_model_goes_on(
    tmp_path: Path, kind: ErrorClass
) -> None:
    turns = iter([Turn("the first part", failure=Failure(kind, "cut"), fail_after=2), Turn(" and the rest")])
    b = bench(tmp_path, lambda _: next(turns))
    end = await b.run()
    assert end.stop_reason == "llm_done"
    assert end.final_output == "the first and the rest"
    kept = b.requests[1].messages[1]
    assert (kept.role, kept.interrupted, kept.text) == ("assistant", True, "the first")
    assert b.requests[1].messages[2].synthetic
    assert b.of(ev.Nudge)[0].why == "partial"


@pytest.mark.parametrize(
    ("kind", "requests", "reason"),
    [
        ("auth", 1, "llm_error"), ("billing", 1, "llm_error"), ("not_found", 1, "llm_error"), ("bad_request", 2, "llm_error"),
        ("malformed", 2, "llm_error"), ("content_policy", 1, "llm_error"), ("unknown", 1, "llm_error"),
        ("context_overflow", 3, "context_full"),
    ],
)  # fmt: skip
async def test_permanent_failures_without_a_fallback(
    tmp_path: Path, kind: ErrorClass, requests: int, reason: ev.StopReason
) -> None:
    b = bench(tmp_path, lambda _: failing(kind))
    end = await b.run()
    assert end.stop_reason == reason
    assert len(b.requests) == requests
    assert b.types().count("agent_end") == 1
    assert b.clock.slept == []


@pytest.mark.parametrize(
    ("kind", "before"),
    [
        ("rate_limit", 4),
        ("timeout", 4),
        ("network", 4),
        ("server", 4),
        ("auth", 1),
        ("billing", 1),
        ("not_found", 1),
        ("malformed", 2),
    ],
)
async def test_the_fallback_takes_over(tmp_path: Path, kind: ErrorClass, before: int) -> None:
    def script(request: Request) -> Turn:
        return failing(kind) if request.model.name == "test/one" else Turn("from the other one")

    b = bench(tmp_path, script, fallbacks=("test/two",))
    end = await b.run()
    assert (end.stop_reason, end.final_output) == ("llm_done", "from the other one")
    assert len([r for r in b.requests if r.model.name == "test/one"]) == before
    switch = b.of(ev.Fallback)[0]
    assert (switch.source, switch.target) == ("test/one", "test/two")
    assert "test/two" in b.requests[-1].system, "the system prompt names the model, so it is rendered anew"
    assert b.state.model == "test/one", "the next run tries the first model again"
    assert [event.step for event in b.of(ev.TurnStart)] == [1] * (before + 1), "no failed call used up a step"


async def test_each_fallback_has_its_own_attempts_and_the_chain_ends(tmp_path: Path) -> None:
    b = bench(tmp_path, lambda _: failing("server"), fallbacks=("test/two", "test/three"))
    end = await b.run()
    assert end.stop_reason == "llm_error"
    names = [request.model.name for request in b.requests]
    assert names == ["test/one"] * 4 + ["test/two"] * 4 + ["test/three"] * 4


async def test_a_refused_key_is_looked_up_again_at_most_twice(tmp_path: Path) -> None:
    b = bench(tmp_path, lambda _: failing("auth", refreshable=True))
    end = await b.run()
    assert end.failure is not None
    assert end.failure.kind == "auth"
    assert len(b.requests) == 3
    assert [event.action for event in b.of(ev.Retry)] == ["refresh", "refresh"]


async def test_a_bad_request_is_tried_once_without_optional_parameters(tmp_path: Path) -> None:
    b = bench(tmp_path, [failing("bad_request"), Turn("works plainly")])
    assert (await b.run()).stop_reason == "llm_done"
    assert [request.plain for request in b.requests] == [False, True]


async def test_the_providers_own_wait_is_obeyed_and_capped(tmp_path: Path) -> None:
    b = bench(
        tmp_path,
        [failing("rate_limit", retry_after=7.0), failing("rate_limit", retry_after=5000.0), Turn("ok")],
    )
    assert (await b.run()).stop_reason == "llm_done"
    assert b.clock.slept == [7.0, 120.0]


async def test_a_real_429_is_remembered_for_other_runs(tmp_path: Path) -> None:
    refused = Turn(failure=Failure("rate_limit", "429", status=429, provider="test", retry_after=50.0))
    b = bench(tmp_path, [refused, Turn("ok"), Turn("more")])
    await b.run()
    assert b.clock.slept == [50.0]
    assert len(b.requests) == 2
    now = b.clock.now()
    b.agent.kit.rate_limits.note("test/one", now + 30, now)
    await b.run()
    assert len(b.requests) == 3
    assert sum(b.clock.slept) >= 79, "nothing was sent before the limit had passed"


async def test_while_the_chosen_model_cools_down_a_fallback_starts(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn("hello")], fallbacks=("test/two",))
    now = b.clock.now()
    b.agent.kit.rate_limits.note("test/one", now + 300, now)
    await b.run()
    assert b.requests[0].model.name == "test/two", "a limit is the model's, not the provider's"
    assert "rate limited" in b.of(ev.AgentStart)[0].why


@pytest.mark.parametrize(
    ("choice", "names"), [("now", ["test/one", "test/one"]), ("fallback", ["test/one", "test/two"])]
)
async def test_a_wait_can_be_cut_short(tmp_path: Path, choice: str, names: list[str]) -> None:
    turns = iter([failing("rate_limit", retry_after=60.0), Turn("ok")])
    b = bench(tmp_path, lambda _: next(turns), fallbacks=("test/two",), interactive=True)
    never = asyncio.Event()

    async def sleep(_: float) -> None:
        await never.wait()

    object.__setattr__(b.agent.kit.world, "sleep", sleep)
    b.mailbox.prompt("go")
    await b.until(ev.Retry)
    b.mailbox.handle(cmd.Answer(id="retry", text=choice))
    await asyncio.wait_for(b.mailbox.idle(), 5)
    assert [request.model.name for request in b.requests] == names
    assert b.end.stop_reason == "llm_done"


async def test_trying_again_now_asks_even_a_provider_that_said_when_it_would_answer_again(
    tmp_path: Path,
) -> None:
    refused = Turn(failure=Failure("rate_limit", "429", status=429, provider="test", retry_after=60.0))
    turns = iter([refused, Turn("ok")])
    b = bench(tmp_path, lambda _: next(turns), interactive=True)
    never = asyncio.Event()

    async def sleep(_: float) -> None:
        await never.wait()

    object.__setattr__(b.agent.kit.world, "sleep", sleep)
    b.mailbox.prompt("go")
    await b.until(ev.Retry)
    b.mailbox.handle(cmd.Answer(id="retry", text="now"))
    await asyncio.wait_for(b.mailbox.idle(), 5)
    assert b.end.stop_reason == "llm_done"
    assert len(b.requests) == 2


async def test_a_wait_can_be_given_up_and_interrupted(tmp_path: Path) -> None:
    for command, reason in (
        (cmd.Answer(id="retry", text="stop"), "llm_error"),
        (cmd.Interrupt(), "user_interrupt"),
    ):
        b = bench(tmp_path, [failing("server"), Turn("ok")])
        never = asyncio.Event()

        async def sleep(_: float, never: asyncio.Event = never) -> None:
            await never.wait()

        object.__setattr__(b.agent.kit.world, "sleep", sleep)
        b.mailbox.prompt("go")
        await b.until(ev.Retry)
        b.mailbox.handle(command)
        await asyncio.wait_for(b.mailbox.idle(), 5)
        assert b.end.stop_reason == reason
        assert len(b.requests) == 1
