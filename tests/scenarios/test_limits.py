"""Guards, closing, extension, the one iteration counter, stalls, budget: each limit in headless and interactive runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.agents import Bench, FakeTool, Turn, bench
from tui_agent.config.sections import ContextSection, Limits, Permissions
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.engine.budget import IterationBudget
from tui_agent.llm.api import ReportedUsage, Request

YOLO = Permissions(mode="yolo")


def looking(request: Request) -> Turn:
    """Never comes to an end by itself; every look differs."""
    if not request.tools:
        return Turn("closing words")
    return Turn("next", calls=(("look", {"path": f"f{len(request.messages)}"}),))


async def choose(b: Bench, choice: ev.Choice, amount: float | None = None, nth: int = 1) -> None:
    await asyncio.wait_for(
        b.agent.until(
            lambda: len([e for e in b.of(ev.GuardTripped) if e.asks]) >= nth and b.state.run is not None
        ),
        10,
    )
    b.mailbox.handle(cmd.Extend(choice=choice, amount=amount))


# ---- steps


async def test_max_steps_grants_one_call_for_unseen_results_then_closes_without_tools(tmp_path: Path) -> None:
    b = bench(tmp_path, looking, limits=Limits(max_steps=3))
    end = await b.run()
    assert (end.stop_reason, end.status, end.final_output) == ("max_steps", "partial", "closing words")
    with_tools = [request for request in b.requests if request.tools]
    assert len(with_tools) == 3 + 1
    assert b.requests[-1].tools == ()
    assert "[SYSTEM]" in b.requests[-1].messages[-1].text
    assert [event.grace for event in b.of(ev.TurnStart)] == [False, False, False, True]
    assert b.state.run is None


async def test_a_model_that_ends_on_its_last_step_has_succeeded(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn(calls=(("look", {}),)), Turn("done")], limits=Limits(max_steps=2))
    assert (await b.run()).stop_reason == "llm_done"


async def test_calls_in_the_closing_reply_are_ignored_and_not_left_open(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        return Turn("words", calls=(("look", {"path": f"f{len(request.messages)}"}),))

    b = bench(tmp_path, script, limits=Limits(max_steps=1))
    assert (await b.run()).final_output == "words"
    assert not b.state.open_calls
    assert b.state.messages[-1].calls == ()


async def test_a_closing_call_that_fails_is_replaced_by_a_canned_summary(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        return looking(request) if request.tools else Turn(failure=Failure("server", "500"))

    b = bench(tmp_path, script, limits=Limits(max_steps=1))
    end = await b.run()
    assert end.stop_reason == "max_steps"
    assert "look ×2" in end.final_output
    assert len([r for r in b.requests if not r.tools]) == 1, "the closing call is made once"


async def test_the_person_extends_the_steps(tmp_path: Path) -> None:
    b = bench(tmp_path, looking, limits=Limits(max_steps=2), interactive=True)
    b.mailbox.prompt("go")
    await choose(b, "continue")
    await choose(b, "summarise", nth=2)
    await b.mailbox.idle()
    extended = b.of(ev.LimitExtended)
    assert [(event.choice, event.value) for event in extended] == [("continue", 12), ("summarise", 0)]
    assert len([e for e in b.of(ev.TurnStart) if not e.grace]) == 12
    assert b.end.final_output == "closing words"
    assert b.end.stop_reason == "max_steps"


async def test_the_person_stops_without_another_call(tmp_path: Path) -> None:
    b = bench(tmp_path, looking, limits=Limits(max_steps=1), interactive=True)
    b.mailbox.prompt("go")
    await choose(b, "stop")
    await b.mailbox.idle()
    assert b.end.stop_reason == "max_steps"
    assert all(request.tools for request in b.requests)


async def test_time_spent_waiting_for_the_person_does_not_count(tmp_path: Path) -> None:
    b = bench(
        tmp_path,
        [Turn(calls=(("edit", {"path": "a"}),)), Turn("end")],
        interactive=True,
        limits=Limits(timeout=60),
    )
    b.mailbox.prompt("go")
    asked = await b.until(ev.ApprovalRequested)
    b.clock.time += 3600
    b.mailbox.handle(cmd.Approve(id=asked.id, decision="once"))
    await b.mailbox.idle()
    assert b.end.stop_reason == "llm_done"


async def test_the_model_asks_for_more_steps_up_to_the_hard_ceiling(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        if not request.tools:
            return Turn("closed")
        n = len(request.messages)
        return Turn(calls=(("more", {"reason": f"part {n}"}), ("look", {"path": str(n)})))

    limits = Limits(max_steps=2, hard_max_steps=15, extend_by=10)
    b = bench(tmp_path, script, limits=limits)
    end = await b.run()
    granted = b.of(ev.LimitExtended)
    assert [event.value for event in granted] == [12, 15]
    assert granted[0].by == "model"
    assert granted[0].why == "part 1"
    assert len([e for e in b.of(ev.TurnStart) if not e.grace]) == 15
    assert end.stop_reason == "max_steps"
    assert "hard ceiling of 15" in b.of(ev.ToolExecutionEnd)[-2].text


async def test_a_veto_sets_the_limit_back(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def more(_: Any, context: Any) -> str:
        answer = context.request_steps("please")
        await gate.wait()
        return answer

    def script(request: Request) -> Turn:
        if not request.tools:
            return Turn("closed")
        return Turn(calls=(("more", {"n": len(request.messages)}),))

    registry = [FakeTool("more", more, "ask", parallel=False)]
    b = bench(tmp_path, script, limits=Limits(max_steps=1), registry=registry)
    b.mailbox.prompt("go")
    await b.until(ev.LimitExtended)
    b.mailbox.handle(cmd.SetLimit(limit="max_steps", value=1))
    gate.set()
    await b.mailbox.idle()
    assert b.end.stop_reason == "max_steps"
    assert len(b.of(ev.TurnStart)) == 2
    assert b.of(ev.TurnStart)[-1].grace
    assert "Refused" in b.of(ev.ToolExecutionEnd)[-1].text


def test_one_counter_shared_with_children() -> None:
    parent = IterationBudget(5)
    child = parent.child(3)
    assert child.consume()
    assert child.consume()
    assert (parent.used, child.used) == (2, 2)
    assert parent.consume()
    assert parent.consume()
    assert child.remaining == 1
    assert child.consume()
    assert not child.consume(), "the parent is empty"
    assert parent.used == 5, "a refused call takes nothing"
    child.refund()
    assert (parent.used, child.used) == (4, 2)
    small = IterationBudget(10).child(1)
    assert small.consume()
    assert not small.consume(), "the child is empty"


async def test_a_retried_call_is_refunded(tmp_path: Path) -> None:
    script = [Turn(failure=Failure("server", "500")), Turn(calls=(("look", {}),)), Turn("done")]
    b = bench(tmp_path, script, limits=Limits(max_steps=2))
    assert (await b.run()).stop_reason == "llm_done"
    assert [event.step for event in b.of(ev.TurnStart)] == [1, 1, 2]


# ---- time


async def test_the_total_timeout_closes(tmp_path: Path) -> None:
    def look(*_: Any) -> str:
        b.clock.time += 40
        return str(b.clock.time)

    b = bench(tmp_path, looking, registry=[FakeTool("look", look)], limits=Limits(timeout=100))
    end = await b.run()
    assert (end.stop_reason, end.final_output) == ("timeout", "closing words")
    assert len([r for r in b.requests if r.tools]) == 3


async def test_the_step_timeout_closes_and_keeps_what_was_shown(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        return Turn("half", hang=True) if request.tools else Turn("closed")

    b = bench(tmp_path, script, limits=Limits(step_timeout=0.05))
    end = await b.run()
    assert (end.stop_reason, end.status, end.final_output) == ("timeout", "partial", "closed")
    failed = b.of(ev.MessageEnd)[1]
    assert failed.failure.step
    assert failed.message.interrupted
    assert len(b.requests) == 2


async def test_the_person_gives_a_slow_step_another_try(tmp_path: Path) -> None:
    turns = iter([Turn(hang=True), Turn("in time")])
    b = bench(tmp_path, lambda _: next(turns), limits=Limits(step_timeout=0.05), interactive=True)
    b.mailbox.prompt("go")
    await choose(b, "continue")
    await b.mailbox.idle()
    assert (b.end.stop_reason, b.end.final_output) == ("llm_done", "in time")
    assert [request.step_timeout for request in b.requests] == pytest.approx([0.05, 0.075])


async def test_headless_the_total_timeout_cuts_a_long_stream_and_a_long_tool(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        return Turn("half", hang=True) if request.tools else Turn("closed")

    b = bench(tmp_path, script, limits=Limits(timeout=0.2))
    end = await b.run()
    assert (end.stop_reason, end.final_output) == ("timeout", "closed")

    async def wait(*_: Any) -> str:
        await asyncio.Event().wait()
        return "never"

    slow = bench(
        tmp_path, lambda r: Turn(calls=(("slow", {}),)) if r.tools else Turn("closed"), limits=Limits(timeout=0.2),
        registry=[FakeTool("slow", wait)],
    )  # fmt: skip
    slow.mailbox.prompt("go")
    await slow.until(ev.ToolExecutionStart)
    slow.clock.time += 1
    await asyncio.wait_for(slow.mailbox.idle(), 5)
    assert (slow.end.stop_reason, slow.end.final_output) == ("timeout", "closed")
    ended = slow.of(ev.ToolExecutionEnd)[0]
    assert ended.status == "interrupted"
    assert "the time for this run is over" in ended.text


# ---- budget


def usage_of(request: Request, output: int = 100) -> ReportedUsage:
    return ReportedUsage(input=1000, output=output)


async def test_the_budget_is_never_passed_and_keeps_a_closing_call_in_reserve(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        if not request.tools:
            return Turn("closed", usage=ReportedUsage(input=1000, output=min(100, request.max_output or 100)))
        turn = looking(request)
        return Turn(turn.text, calls=turn.calls, usage=ReportedUsage(input=1000, output=100))

    b = bench(tmp_path, script, prices=(1e-6, 1e-5), limits=Limits(budget_usd=0.06), window=100_000)
    end = await b.run()
    assert end.stop_reason == "budget_exceeded"
    assert end.final_output == "closed"
    assert end.cost_usd is not None
    assert end.cost_usd <= 0.06
    assert b.of(ev.LimitWarning)[0].limit == "budget_usd"
    assert len([e for e in b.of(ev.LimitWarning) if e.limit == "budget_usd"]) == 1
    assert all(request.max_output > 0 for request in b.requests), "the budget caps the output"


async def test_a_budget_too_small_for_any_call_sends_nothing(tmp_path: Path) -> None:
    b = bench(tmp_path, looking, prices=(1.0, 1.0), limits=Limits(budget_usd=0.01))
    end = await b.run()
    assert (end.stop_reason, end.status) == ("budget_exceeded", "partial")
    assert b.requests == []
    assert "no tool calls" in end.final_output
    assert end.cost_usd == 0


async def test_the_person_raises_the_budget(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn("done")], prices=(1e-3, 1e-3), limits=Limits(budget_usd=0.1), interactive=True)
    b.mailbox.prompt("go")
    await choose(b, "continue", amount=100.0)
    await b.mailbox.idle()
    assert b.end.stop_reason == "llm_done"
    assert b.of(ev.LimitExtended)[0].value == pytest.approx(100.1)


async def test_raising_a_tiny_budget_raises_it_to_what_the_next_request_needs(tmp_path: Path) -> None:
    b = bench(
        tmp_path, [Turn("done")], prices=(1e-3, 1e-3), limits=Limits(budget_usd=0.0005), interactive=True
    )
    b.mailbox.prompt("go")
    await choose(b, "continue")
    await b.mailbox.idle()
    assert b.end.stop_reason == "llm_done"
    assert len([e for e in b.of(ev.GuardTripped) if e.asks]) == 1
    assert b.of(ev.GuardTripped)[0].needed > 0.0005


# ---- context


async def test_a_prompt_that_can_not_be_made_smaller_ends_context_full(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn("closed")], window=1000)
    end = await b.run("x" * 8000)
    assert (end.stop_reason, end.status) == ("context_full", "partial")
    assert len(b.of(ev.Compaction)) <= 2
    assert all(not request.tools for request in b.requests)


async def test_two_hundred_steps_in_a_small_window(tmp_path: Path) -> None:
    steps = 0

    def script(request: Request) -> Turn:
        nonlocal steps
        if "summarise" in request.system or not request.tools:
            return Turn("## Goal\nlook at everything")
        steps += 1
        if steps > 200:
            return Turn("seen everything")
        return Turn(f"look {steps}", calls=(("look", {"path": f"file{steps}"}),))

    look = FakeTool("look", lambda a, _: f"{a['path']}: " + "words and more words " * 60)
    b = bench(
        tmp_path, script, registry=[look], window=16_000, limits=Limits(max_steps=250),
        context=ContextSection(max_tool_result_tokens=400),
    )  # fmt: skip
    end = await b.run()
    assert (end.stop_reason, end.final_output) == ("llm_done", "seen everything")
    compactions = b.of(ev.Compaction)
    assert len([c for c in compactions if c.method == "model"]) >= 2
    assert all(event.used <= event.window for event in b.of(ev.Context))
    assert len(b.state.messages) < 120, "the model's window stays small, however long the run"
    first = b.requests[-1].messages[0]
    assert first.text.startswith("do it")


async def test_a_failing_summary_is_made_mechanically(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        if not request.tools:
            return Turn(failure=Failure("server", "500"))
        if len(b.of(ev.Compaction)):
            return Turn("end")
        return Turn("x", calls=(("look", {"path": f"f{len(request.messages)}"}),))

    look = FakeTool("look", lambda *_: "long text " * 100)
    b = bench(tmp_path, script, registry=[look], window=4000)
    assert (await b.run()).stop_reason == "llm_done"
    compaction = b.of(ev.Compaction)[0]
    assert compaction.method == "mechanical"
    assert "look" in compaction.summary.text
    assert compaction.after_tokens < compaction.before_tokens


async def test_compacting_by_hand_while_idle(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        if not request.tools:
            return Turn("summary of it")
        n = len(request.messages)
        return Turn("x", calls=(("look", {"path": str(n)}),)) if n < 16 else Turn("end")

    b = bench(tmp_path, script)
    await b.run()
    before = len(b.state.messages)
    b.mailbox.handle(cmd.Compact(keep="the file names"))
    await b.mailbox.idle()
    assert b.of(ev.Compaction)[0].method == "model"
    assert len(b.state.messages) < before
    assert "the file names" in b.requests[-1].messages[0].text


# ---- stalls


async def test_the_same_call_with_the_same_answer_warns_at_three_and_stops_at_five(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        return Turn(calls=(("look", {"path": "./same"}),)) if request.tools else Turn("I was stuck.")

    b = bench(tmp_path, script, registry=[FakeTool("look", lambda *_: "same (0.31 s)")])
    end = await b.run()
    assert (end.stop_reason, end.status, end.final_output) == ("stalled", "partial", "I was stuck.")
    assert [(event.count, event.action) for event in b.of(ev.Stall)] == [(3, "warn"), (5, "stop")]
    assert len([r for r in b.requests if r.tools]) == 5
    warned = [m for m in b.requests[3].messages if m.synthetic]
    assert len(warned) == 1


async def test_polling_a_growing_log_and_editing_between_tests_are_no_stalls(tmp_path: Path) -> None:
    lines: list[str] = []

    def tail(*_: Any) -> str:
        lines.append("another line")
        return "\n".join(lines)

    polls = [Turn(calls=(("look", {}),)) for _ in range(8)]
    b = bench(tmp_path, [*polls, Turn("end")], registry=[FakeTool("look", tail)])
    assert (await b.run()).stop_reason == "llm_done"
    assert not b.of(ev.Stall)
    cycle = [
        t for _ in range(8) for t in (Turn(calls=(("edit", {"path": "a"}),)), Turn(calls=(("look", {}),)))
    ]
    edits = bench(tmp_path, [*cycle, Turn("end")], permissions=YOLO)
    assert (await edits.run()).stop_reason == "llm_done"
    assert not edits.of(ev.Stall)


async def test_a_cycle_of_calls_is_a_stall_and_the_person_may_let_it_go_on(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        done = sum(1 for m in request.messages if m.role == "assistant")
        if done >= 14:
            return Turn("end")
        return Turn(calls=(("look", {"path": "ab"[done % 2]}),))

    b = bench(tmp_path, script, interactive=True)
    b.mailbox.prompt("go")
    await choose(b, "continue")
    await b.mailbox.idle()
    assert b.of(ev.Stall)[0].kind == "cycle"
    assert b.end.stop_reason == "llm_done"


# ---- replies that are no end


async def test_a_truncated_reply_is_continued_four_times(tmp_path: Path) -> None:
    b = bench(tmp_path, lambda r: Turn("piece ", finish="length") if r.tools else Turn("closed"))
    end = await b.run()
    assert end.stop_reason == "incomplete"
    assert [(n.why, n.attempt, n.limit) for n in b.of(ev.Nudge)] == [("length", n, 4) for n in (1, 2, 3, 4)]
    two = bench(tmp_path, [Turn("one ", finish="length"), Turn("two")])
    assert (await two.run()).final_output == "one two"


async def test_an_empty_reply_is_nudged_three_times(tmp_path: Path) -> None:
    b = bench(tmp_path, lambda r: Turn("") if r.tools else Turn("closed"))
    assert (await b.run()).stop_reason == "incomplete"
    assert len(b.of(ev.Nudge)) == 3
