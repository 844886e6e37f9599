"""Whole runs with the scripted model: what is emitted, what the model is sent, how it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.agents import START, FakeTool, Turn, bench, tools
from tui_agent.config.sections import Config, ContextSection, Hook, Hooks, Limits, Permissions, Queues
from tui_agent.context.repair import violations
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.core.messages import Call
from tui_agent.core.tool import ToolResult
from tui_agent.engine.state import State
from tui_agent.llm.api import ReportedUsage, Request
from tui_agent.sessions.log import Log, read

YOLO = Permissions(mode="yolo")


def looking(request: Request) -> Turn:
    """A model that never comes to an end by itself; every look is a new one."""
    if not request.tools:
        return Turn("closing words")
    return Turn("next", calls=(("look", {"path": f"f{len(request.messages)}"}),))


def texts(request: Request, role: str = "user") -> list[str]:
    return [message.text for message in request.messages if message.role == role]


async def test_a_run_of_three_calls_and_an_edit(tmp_path: Path) -> None:
    script = [
        Turn("I look.", calls=(("look", {"path": "a"}), ("look", {"path": "b"}))),
        Turn("I edit.", calls=(("edit", {"path": "a.py"}),)),
        Turn("All done."),
    ]
    b = bench(tmp_path, script, permissions=YOLO)
    end = await b.run("please")
    assert (end.stop_reason, end.status, end.steps, end.tool_calls) == ("llm_done", "success", 3, 3)
    assert end.final_output == "All done."
    assert end.files_changed == ("a.py",)
    assert b.types().count("agent_end") == 1
    results = b.requests[1].messages[-1].results
    assert [result.call_id for result in results] == [call.id for call in b.requests[1].messages[-2].calls]
    assert b.requests[0].system == b.requests[2].system
    assert b.requests[0].tools is b.requests[2].tools, (
        "the schemas must be the same bytes for provider caches"
    )


async def test_steering_comes_after_the_tool_results_and_before_the_next_call_exactly_once(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()

    async def wait(*_: Any) -> str:
        await gate.wait()
        return "waited"

    slow = FakeTool("slow", wait)
    b = bench(
        tmp_path, [Turn(calls=(("slow", {}),)), Turn("one"), Turn("two")], registry=[slow], permissions=YOLO
    )
    b.mailbox.prompt("go")
    await b.until(ev.ToolExecutionStart)
    b.mailbox.handle(cmd.Steer(text="use src/"))
    b.mailbox.handle(cmd.Queue(text="then the tests"))
    gate.set()
    await b.mailbox.idle()
    roles = [(m.role, m.origin, m.text) for m in b.requests[1].messages]
    assert roles[-2][0] == "tool"
    assert roles[-1] == ("user", "steering", "use src/")
    assert "then the tests" not in texts(b.requests[1])
    assert texts(b.requests[2])[-1] == "then the tests"
    assert [m.text for r in b.requests for m in r.messages if m.origin == "steering"] == ["use src/"] * 2
    assert b.types().count("steering_delivered") == b.types().count("follow_up_delivered") == 1
    assert b.end.stop_reason == "llm_done"


async def test_a_prompt_just_sent_is_not_followed_by_steering_before_the_first_call(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn("one"), Turn("two")])
    b.mailbox.prompt("go")
    b.mailbox.handle(cmd.Steer(text="quickly"))
    await b.mailbox.idle()
    assert texts(b.requests[0]) == ["go"]
    assert texts(b.requests[1]) == ["go", "quickly"]


async def test_waiting_messages_can_be_edited_and_dropped(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def wait(*_: Any) -> str:
        await gate.wait()
        return "waited"

    b = bench(
        tmp_path,
        [Turn(calls=(("slow", {}),)), Turn("one")],
        registry=[FakeTool("slow", wait)],
        permissions=YOLO,
    )
    b.mailbox.prompt("go")
    await b.until(ev.ToolExecutionStart)
    b.mailbox.handle(cmd.Steer(text="first"))
    b.mailbox.handle(cmd.Steer(text="second"))
    first, second = list(b.state.steering)
    b.mailbox.handle(cmd.EditQueued(id=first, text="better"))
    b.mailbox.handle(cmd.DropQueued(id=second))
    gate.set()
    await b.mailbox.idle()
    assert texts(b.requests[1])[-1] == "better"
    b.mailbox.handle(cmd.EditQueued(id=first, text="too late"))
    assert b.of(ev.Notice)[-1].text.startswith("That message has already been delivered")


async def test_one_steering_message_at_a_time_when_configured(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def wait(*_: Any) -> str:
        await gate.wait()
        return "waited"

    script = [Turn(calls=(("slow", {}),)), Turn(calls=(("slow", {"n": 2}),)), Turn("end")]
    b = bench(
        tmp_path, script, registry=[FakeTool("slow", wait)], permissions=YOLO, queues=Queues(steering="one")
    )
    b.mailbox.prompt("go")
    await b.until(ev.ToolExecutionStart)
    b.mailbox.handle(cmd.Steer(text="first"))
    b.mailbox.handle(cmd.Steer(text="second"))
    gate.set()
    await b.mailbox.idle()
    assert [[m.text for m in event.messages] for event in b.of(ev.SteeringDelivered)] == [
        ["first"],
        ["second"],
    ]


# ---- interrupts


async def test_escape_during_a_stream_keeps_the_partial_text_and_the_next_prompt_works(
    tmp_path: Path,
) -> None:
    b = bench(tmp_path, [Turn("half an answer", hang=True), Turn("whole")])
    b.mailbox.prompt("go")
    await b.until(ev.MessageUpdate)
    b.mailbox.handle(cmd.Interrupt(now=True))
    await b.mailbox.idle()
    assert (b.end.stop_reason, b.end.status) == ("user_interrupt", "partial")
    kept = b.of(ev.MessageEnd)[-1].message
    assert kept.interrupted
    assert kept.text.startswith("half")
    assert b.types().count("turn_start") == 1, "no further model call"
    end = await b.run("again")
    assert end.stop_reason == "llm_done"
    assert violations(b.requests[-1].messages) == []


async def test_a_graceful_interrupt_lets_a_tool_finish_and_makes_no_further_call(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def wait(*_: Any) -> str:
        await gate.wait()
        return "finished by itself"

    registry = [FakeTool("slow", wait, parallel=False), *tools()]
    b = bench(
        tmp_path, [Turn(calls=(("slow", {}), ("look", {"path": "x"})))], registry=registry, permissions=YOLO
    )
    b.mailbox.prompt("go")
    await b.until(ev.ToolExecutionStart)
    b.mailbox.handle(cmd.Steer(text="unsent"))
    b.mailbox.handle(cmd.Interrupt())
    gate.set()
    await b.mailbox.idle()
    ended = {event.name: event for event in b.of(ev.ToolExecutionEnd)}
    assert ended["slow"].status == "ok"
    assert "finished by itself" in ended["slow"].text
    assert ended["look"].status == "not_started"
    assert b.end.stop_reason == "user_interrupt"
    assert b.end.returned == ("unsent",)
    assert len(b.requests) == 1


async def test_a_second_ctrl_c_ends_the_tool_at_once_and_keeps_its_output(tmp_path: Path) -> None:
    async def wait(_: Any, context: Any) -> str:
        context.output("line one\n")
        await asyncio.Event().wait()
        return "never"

    b = bench(tmp_path, [Turn(calls=(("slow", {}),))], registry=[FakeTool("slow", wait)], permissions=YOLO)
    b.mailbox.prompt("go")
    await b.until(ev.ToolExecutionStart)
    b.mailbox.handle(cmd.Interrupt())
    b.mailbox.handle(cmd.Interrupt())
    await asyncio.wait_for(b.mailbox.idle(), 2)
    ended = b.of(ev.ToolExecutionEnd)[-1]
    assert ended.status == "interrupted"
    assert "line one" in ended.text
    assert [event.how for event in b.of(ev.InterruptRequested)] == ["graceful", "now"]


async def test_the_grace_runs_out(tmp_path: Path) -> None:
    async def wait(*_: Any) -> str:
        await asyncio.Event().wait()
        return "never"

    limits = Limits(interrupt_grace=0.05)
    b = bench(
        tmp_path,
        [Turn(calls=(("slow", {}),))],
        registry=[FakeTool("slow", wait)],
        permissions=YOLO,
        limits=limits,
    )
    b.mailbox.prompt("go")
    await b.until(ev.ToolExecutionStart)
    b.mailbox.handle(cmd.Interrupt())
    await asyncio.wait_for(b.mailbox.idle(), 2)
    assert b.of(ev.ToolExecutionEnd)[-1].status == "interrupted"


async def test_an_interrupt_while_an_approval_waits_answers_it(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn(calls=(("edit", {"path": "a"}),))], interactive=True)
    b.mailbox.prompt("go")
    await b.until(ev.ApprovalRequested)
    b.mailbox.handle(cmd.Interrupt())
    await asyncio.wait_for(b.mailbox.idle(), 2)
    assert b.of(ev.ApprovalResolved)[-1].by == "interrupt"
    assert b.of(ev.ToolExecutionEnd)[-1].status == "not_started"
    assert b.end.stop_reason == "user_interrupt"


async def test_stop_after_this_step(tmp_path: Path) -> None:
    b = bench(tmp_path, looking, permissions=YOLO)
    b.mailbox.prompt("go")
    await b.until(ev.ToolExecutionStart)
    b.mailbox.handle(cmd.StopAfterStep())
    await b.mailbox.idle()
    assert b.end.stop_reason == "user_interrupt"
    assert len(b.requests) == 1
    assert b.of(ev.ToolExecutionEnd)[-1].status == "ok"


async def test_an_interrupt_during_hooks_keeps_the_edit(tmp_path: Path) -> None:
    hooks = Hooks(post_edit=(Hook(name="slow", command="sleep 30"),))
    b = bench(tmp_path, [Turn(calls=(("edit", {"path": "a.py"}),))], permissions=YOLO, hooks=hooks)
    b.mailbox.prompt("go")
    await b.until(ev.HookStart)
    b.mailbox.handle(cmd.Interrupt(now=True))
    await asyncio.wait_for(b.mailbox.idle(), 5)
    ended = b.of(ev.ToolExecutionEnd)[-1]
    assert (ended.status, ended.changed) == ("ok", ("a.py",))
    assert "interrupted" in ended.text
    assert b.of(ev.HookEnd)[-1].output == "interrupted"
    assert b.end.files_changed == ("a.py",)


# ---- tools


async def test_reads_overlap_and_answers_keep_the_models_order(tmp_path: Path) -> None:
    started: list[str] = []
    second_done = asyncio.Event()

    async def look(arguments: dict[str, Any], _: Any) -> str:
        started.append(arguments["path"])
        if arguments["path"] == "1":
            await second_done.wait()
        else:
            second_done.set()
        return arguments["path"]

    calls = (("look", {"path": "1"}), ("look", {"path": "2"}))
    b = bench(tmp_path, [Turn(calls=calls), Turn("end")], registry=[FakeTool("look", look)])
    await b.run()
    assert [event.text for event in b.of(ev.ToolExecutionEnd)] == ["2", "1"], "panels settle as they finish"
    assert [result.text for result in b.requests[1].messages[-1].results] == ["1", "2"]


async def test_no_more_than_four_calls_run_at_once(tmp_path: Path) -> None:
    running = most = 0
    gate = asyncio.Event()

    async def look(*_: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 4:
            gate.set()
        await gate.wait()
        running -= 1
        return "x"

    calls = tuple(("look", {"path": str(n)}) for n in range(11))
    b = bench(tmp_path, [Turn(calls=calls), Turn("end")], registry=[FakeTool("look", look)])
    await b.run()
    assert most == 4


async def test_unknown_tools_and_broken_arguments_are_answered_and_end_after_three(tmp_path: Path) -> None:
    b = bench(tmp_path, lambda r: Turn(calls=(("lok", {}),)) if r.tools else Turn("I give up."))
    end = await b.run()
    assert end.stop_reason == "incomplete"
    assert end.status == "partial"
    assert "There is no tool named 'lok'" in b.of(ev.ToolExecutionEnd)[0].text
    assert len([r for r in b.requests if r.tools]) == 4
    broken = bench(tmp_path, [Turn(calls=(("look", '{"path": "a'),)), Turn("better")])
    assert (await broken.run()).stop_reason == "llm_done"
    assert "could not be read" in broken.of(ev.ToolExecutionEnd)[0].text


async def test_a_tool_that_raises_is_an_answer_and_not_the_end(tmp_path: Path) -> None:
    def explode(*_: Any) -> str:
        raise RuntimeError("boom")

    b = bench(tmp_path, [Turn(calls=(("bad", {}),)), Turn("I see.")], registry=[FakeTool("bad", explode)])
    assert (await b.run()).stop_reason == "llm_done"
    assert "RuntimeError: boom" in b.of(ev.ToolExecutionEnd)[0].text


async def test_terminate_ends_the_run_when_every_result_says_so(tmp_path: Path) -> None:
    final = FakeTool("final", lambda *_: ToolResult("stop here", terminate=True))
    b = bench(tmp_path, [Turn("x", calls=(("final", {}), ("final", {})))], registry=[final, *tools()])
    assert (await b.run()).stop_reason == "llm_done"
    mixed = bench(
        tmp_path, [Turn("x", calls=(("final", {}), ("look", {}))), Turn("more")], registry=[final, *tools()]
    )
    assert len((await mixed.run()).final_output) > 0
    assert len(mixed.requests) == 2


@pytest.mark.parametrize(
    ("decision", "status", "ran"),
    [("once", "ok", 1), ("session", "ok", 1), ("always", "ok", 1), ("deny", "denied", 0)],
)
async def test_approvals(tmp_path: Path, decision: ev.Decision, status: str, ran: int) -> None:
    registry = tools()
    b = bench(
        tmp_path, [Turn(calls=(("edit", {"path": "a"}),)), Turn("end")], registry=registry, interactive=True
    )
    b.mailbox.prompt("go")
    asked = await b.until(ev.ApprovalRequested)
    assert not b.of(ev.ToolExecutionStart)
    b.mailbox.handle(
        cmd.Approve(id=asked.id, decision=decision, note="rather not" if decision == "deny" else "")
    )
    await b.mailbox.idle()
    ended = b.of(ev.ToolExecutionEnd)[0]
    assert ended.status == status
    assert len(registry[1].ran) == ran
    if decision == "deny":
        assert "rather not" in b.requests[1].messages[-1].results[0].text


async def test_the_time_a_person_thinks_is_not_the_time_a_tool_took(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn(calls=(("edit", {"path": "a"}),)), Turn("end")], interactive=True)
    b.mailbox.prompt("go")
    asked = await b.until(ev.ApprovalRequested)
    b.clock.time += 60
    b.mailbox.handle(cmd.Approve(id=asked.id, decision="once"))
    await b.mailbox.idle()
    assert 0 < b.of(ev.ToolExecutionEnd)[0].duration < 1


async def test_an_edited_approval_runs_the_edit_and_tells_the_model(tmp_path: Path) -> None:
    registry = tools()
    b = bench(
        tmp_path, [Turn(calls=(("edit", {"path": "a"}),)), Turn("end")], registry=registry, interactive=True
    )
    b.mailbox.prompt("go")
    asked = await b.until(ev.ApprovalRequested)
    b.mailbox.handle(cmd.Approve(id=asked.id, decision="edit", arguments={"path": "b"}))
    await b.mailbox.idle()
    assert registry[1].ran == [{"path": "b"}]
    assert "edited the call" in b.of(ev.ToolExecutionEnd)[0].text


async def test_headless_without_a_rule_answers_instead_of_hanging(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn(calls=(("shell", {"command": "make"}),)), Turn("end")])
    assert (await b.run()).stop_reason == "llm_done"
    ended = b.of(ev.ToolExecutionEnd)[0]
    assert ended.status == "denied"
    assert "approval" in ended.text


async def test_plan_mode_offers_and_allows_reads_only(tmp_path: Path) -> None:
    b = bench(
        tmp_path,
        [Turn(calls=(("edit", {"path": "a"}), ("look", {}))), Turn("the plan")],
        mode="plan",
        permissions=YOLO,
    )
    await b.run()
    assert {tool.name for tool in b.requests[0].tools} == {"look", "more"}
    assert [event.status for event in b.of(ev.ToolExecutionEnd)] == ["error", "ok"]
    assert "plan mode" in b.requests[0].system


@pytest.mark.parametrize("interactive", [True, False])
async def test_mixed_mode_plans_then_builds_with_the_plan_in_context(
    tmp_path: Path, interactive: bool
) -> None:
    script = [Turn("1. edit a"), Turn(calls=(("edit", {"path": "a"}),)), Turn("built")]
    b = bench(tmp_path, script, mode="mixed", permissions=YOLO, interactive=interactive)
    b.mailbox.prompt("go")
    if interactive:
        asked = await b.until(ev.ApprovalRequested)
        assert asked.intent.tool == "plan"
        b.mailbox.handle(cmd.Approve(id=asked.id, decision="once"))
    await b.mailbox.idle()
    assert b.end.final_output == "built"
    assert "edit" not in {tool.name for tool in b.requests[0].tools}
    assert "edit" in {tool.name for tool in b.requests[1].tools}
    assert "1. edit a" in texts(b.requests[1], "assistant")
    assert "build mode" in b.requests[1].system


async def test_a_refused_plan_ends_the_run_and_a_note_goes_on_planning(tmp_path: Path) -> None:
    b = bench(
        tmp_path, [Turn("plan one"), Turn("plan two")], mode="mixed", permissions=YOLO, interactive=True
    )
    b.mailbox.prompt("go")
    first = await b.until(ev.ApprovalRequested)
    b.mailbox.handle(cmd.Approve(id=first.id, decision="deny", note="smaller steps"))
    second = await b.until(ev.ApprovalRequested, 2)
    assert texts(b.requests[1])[-1] == "smaller steps"
    b.mailbox.handle(cmd.Approve(id=second.id, decision="deny"))
    await b.mailbox.idle()
    assert (b.end.stop_reason, b.end.final_output) == ("llm_done", "plan two")


# ---- continuing, sessions, accounting


async def test_continue_is_legal_only_where_the_model_has_the_next_word(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn(failure=Failure("content_policy", "no")), Turn("now it works")])
    assert (await b.run()).stop_reason == "llm_error"
    b.mailbox.handle(cmd.Continue())
    await b.mailbox.idle()
    assert b.end.stop_reason == "llm_done"
    assert texts(b.requests[1]) == ["do it"]
    b.mailbox.handle(cmd.Continue())
    assert "Can't continue" in b.of(ev.Notice)[-1].text


async def test_costs_are_summed_and_an_unknown_price_is_not_zero(tmp_path: Path) -> None:
    usage = ReportedUsage(input=1000, output=100)
    b = bench(tmp_path, [Turn("x", usage=usage)], prices=(1e-6, 1e-5))
    assert (await b.run()).cost_usd == pytest.approx(0.002)
    unknown = bench(tmp_path, [Turn("x", usage=usage)], prices=None)
    assert (await unknown.run()).cost_usd is None


async def test_unreported_usage_is_marked_and_never_calibrates(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn("x"), Turn("y", usage=ReportedUsage(input=500, output=5))])
    await b.run()
    assert not b.of(ev.Usage)[0].reported
    assert not b.state.context_exact
    await b.run()
    assert b.state.context_exact
    assert b.of(ev.Context)[-1].used == 505


async def test_an_interrupted_call_is_counted_by_our_own_count(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn("some words " * 30, hang=True)], prices=(1e-6, 1e-5))
    b.mailbox.prompt("go")
    await b.until(ev.MessageUpdate)
    b.mailbox.handle(cmd.Interrupt(now=True))
    await b.mailbox.idle()
    used = b.of(ev.Usage)[-1]
    assert not used.reported
    assert used.output > 0
    assert b.end.cost_usd


async def test_call_ids_are_unique_within_a_session(tmp_path: Path) -> None:
    b = bench(tmp_path, looking, permissions=YOLO, limits=Limits(max_steps=3))
    b.agent.unique_call(
        Call("scripted-2-look", "look")
    )  # as a server does that numbers its calls anew in every reply
    await b.run()
    ids = [call.id for message in b.state.messages for call in message.calls]
    assert len(ids) == len(set(ids)) >= 3
    assert "scripted-2-look" not in ids


async def test_a_bug_in_a_step_ends_the_run_as_internal_error_and_the_session_lives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = bench(tmp_path, [Turn("x", calls=(("look", {}),)), Turn("later")])

    def broken(*_: Any) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(type(b.agent), "end_turn", broken)
    b.mailbox.prompt("go")
    await b.mailbox.idle()
    monkeypatch.undo()
    assert b.end.stop_reason == "internal_error"
    assert "a bug" in b.end.detail
    end = await b.run("again")
    assert end.stop_reason == "llm_done"


async def test_a_changed_model_renders_the_system_prompt_anew(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn("one"), Turn("two")])
    await b.run()
    b.mailbox.handle(cmd.SetModel(model="test/two"))
    await b.run()
    assert "test/two" in b.requests[1].system
    assert b.of(ev.AgentStart)[-1].model == "test/two"


async def test_a_model_changed_while_it_runs_counts_from_the_next_call(tmp_path: Path) -> None:
    async def switch(*_: Any) -> str:
        b.mailbox.handle(cmd.SetModel(model="test/two"))
        return "switched"

    b = bench(tmp_path, [Turn(calls=(("look", {}),)), Turn("end")], registry=[FakeTool("look", switch)])
    await b.run()
    assert [request.model.name for request in b.requests] == ["test/one", "test/two"]
    assert "test/two" in b.requests[1].system
    assert b.state.model == "test/two"


async def test_results_are_truncated_for_the_model_and_whole_in_the_log(tmp_path: Path) -> None:
    long = "\n".join(f"line {n} of the output" for n in range(2000))
    b = bench(
        tmp_path, [Turn(calls=(("look", {}),)), Turn("end")], registry=[FakeTool("look", lambda *_: long)],
        context=ContextSection(max_tool_result_tokens=500),
    )  # fmt: skip
    await b.run()
    seen = b.requests[1].messages[-1].results[0].text
    assert len(seen) < len(long) / 4
    assert "omitted" in seen
    assert b.of(ev.ToolExecutionEnd)[0].text == long


def test_the_default_configuration_is_the_specifications() -> None:
    limits, context = Config().limits, Config().context
    assert (limits.max_steps, limits.hard_max_steps, limits.extend_by, limits.stall_timeout) == (
        50,
        100,
        10,
        60,
    )
    assert (context.max_tool_result_tokens, context.summarize_after_steps, context.keep_recent) == (
        2000,
        8,
        4,
    )
    assert (context.compact_at, context.critical_at) == (0.75, 0.95)


async def test_the_conversation_goes_back_to_any_event_across_a_compaction(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        if not request.tools:
            return Turn("summary of it")
        return Turn(f"answer {len(request.messages)}")

    start = ev.SessionStart(seq=1, ts=START, version=1, id="s1", kind="headless", cwd="/", model="test/one")
    path = tmp_path / "s.jsonl"
    b = bench(tmp_path, script, log=Log.create(path, start))
    b.agent.kit.read_log = lambda: read(path)
    for n in range(8):
        await b.run(f"question {n}")
    third = b.of(ev.AgentEnd)[2].seq
    before = [message.id for message in b.state.messages]
    b.mailbox.handle(cmd.Compact())
    await b.mailbox.idle()
    assert len(b.state.messages) < len(before)
    b.mailbox.handle(cmd.RewindTo(to_seq=third))
    await b.mailbox.idle()
    assert [message.id for message in b.state.messages] == before[:6]
    await b.run("another question 3")
    assert [m.text for m in b.requests[-1].messages if m.role == "user"] == [
        "question 0", "question 1", "question 2", "another question 3",
    ]  # fmt: skip
    again = State()
    for event in read(path):
        again.apply(event)
    assert [message.id for message in again.messages] == [message.id for message in b.state.messages]
