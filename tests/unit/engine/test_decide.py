"""The tables of the loop: guards, status by reason, order of decisions. States are folded from events, never built by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.core.messages import Call, FinishReason, Message, Text, user
from tui_agent.engine import guards, loop
from tui_agent.engine.ending import status_of
from tui_agent.engine.guards import Trip
from tui_agent.engine.loop import decide
from tui_agent.engine.state import State


def folded(*events: ev.Event) -> State:
    state = State()
    for seq, event in enumerate(events, 1):
        state.apply(_stamped(event, seq))
    return state


def _stamped(event: ev.Event, seq: int) -> ev.Event:
    return msgspec.structs.replace(event, seq=seq, ts=event.ts or float(seq))


def started(**fields: Any) -> list[ev.Event]:
    limits = ev.RunLimits(**fields.pop("limits", {}))
    settings = ev.RunSettings(**fields.pop("settings", {"interactive": False}))
    start = ev.AgentStart(run="r", model="m", limits=limits, settings=settings, tools=("look",), **fields)
    return [ev.SessionStart(version=1, id="s", kind="headless", cwd="/", model="m"), start]


def said(text: str = "go", tokens: int = 10) -> ev.MessageEnd:
    return ev.MessageEnd(message=_counted(user(f"u{tokens}", text), tokens))


def _counted(message: Message, tokens: int) -> Message:
    return msgspec.structs.replace(message, tokens=tokens)


def replied(
    *calls: str, text: str = "", failure: Failure | None = None, finish: FinishReason = "stop", n: int = 0
) -> ev.MessageEnd:
    parts = ([Text(text)] if text else []) + [Call(f"{name}{n}", name) for name in calls]
    message = Message(id=f"a{n}", role="assistant", parts=tuple(parts), origin="model", finish=finish)
    return ev.MessageEnd(message=message, failure=failure)


def answered(name: str, n: int = 0, **fields: Any) -> ev.ToolExecutionEnd:
    return ev.ToolExecutionEnd(call_id=f"{name}{n}", name=name, status="ok", text="x", **fields)


def turns(count: int) -> list[ev.Event]:
    """So many steps with one call each, answered."""
    done: list[ev.Event] = []
    for n in range(count):
        done += [
            ev.TurnStart(step=n + 1),
            replied("look", n=n),
            answered("look", n, changed=("a",)),
            ev.TurnEnd(step=n + 1),
        ]
    return done


PRICES = (1e-3, 1e-3)


@pytest.mark.parametrize(
    ("name", "events", "expected"),
    [
        ("within all limits", [*started(), said()], None),
        ("steps used up", [*started(limits={"max_steps": 2}), said(), *turns(2)], "max_steps"),
        ("one step left", [*started(limits={"max_steps": 3}), said(), *turns(2)], None),
        (
            "step timeout",
            [*started(), said(), ev.TurnStart(step=1), replied(failure=Failure("timeout", "slow", step=True))],
            "timeout",
        ),
        ("total timeout", [*started(limits={"timeout": 5.0}), said(), ev.Notice(level="info", text="x", ts=99.0)], "timeout"),
        ("in time", [*started(limits={"timeout": 500.0}), said(), ev.Notice(level="info", text="x", ts=99.0)], None),
        ("window nearly full", [*started(window=100), said(tokens=96)], "context_full"),
        ("window not known", [*started(window=0), said(tokens=10**6)], None),
        ("window at 95 %", [*started(window=100), said(tokens=95)], None),
        ("budget used", [*started(limits={"budget_usd": 0.5}, prices=PRICES), said()], "budget_exceeded"),
        ("budget enough", [*started(limits={"budget_usd": 2.0}, prices=PRICES), said()], None),
        ("budget, price unknown", [*started(limits={"budget_usd": 0.5}), said()], None),
        (
            "budget passed, price unknown",
            [*started(limits={"budget_usd": 0.5}), said(), ev.Usage(purpose="turn", model="m", cost_usd=0.6)],
            "budget_exceeded",
        ),
        (
            "stalled",
            [*started(), said(), *[e for n in range(5) for e in (replied("look", n=n), answered("look", n))]],
            "stalled",
        ),
        (
            "not yet stalled",
            [*started(), said(), *[e for n in range(4) for e in (replied("look", n=n), answered("look", n))]],
            None,
        ),
    ],
)  # fmt: skip
def test_guards(name: str, events: list[ev.Event], expected: str | None) -> None:
    trip = guards.first(folded(*events))
    assert (trip.reason if trip else None) == expected, name


def test_guards_are_asked_in_the_specifications_order() -> None:
    assert [guard.__name__ for guard in guards.GUARDS] == [
        "max_steps", "step_timeout", "total_timeout", "context", "budget", "stalled",
    ]  # fmt: skip
    both = folded(*started(limits={"max_steps": 1, "timeout": 1.0}), said(), *turns(1))
    assert guards.first(both) == Trip("max_steps", 1, 1, "max_steps")


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("llm_done", "success"), ("max_steps", "partial"), ("budget_exceeded", "partial"), ("context_full", "partial"),
        ("timeout", "partial"), ("user_interrupt", "partial"), ("llm_error", "failed"), ("stalled", "partial"),
        ("incomplete", "partial"), ("internal_error", "failed"),
    ],
)  # fmt: skip
def test_status_transitions(reason: ev.StopReason, status: ev.Status) -> None:
    assert status_of(reason, []) == status


def test_a_success_that_evaluation_does_not_pass_is_partial() -> None:
    failed, passed = ev.Evaluation(attempt=1, passed=False), ev.Evaluation(attempt=2, passed=True)
    broken = ev.Evaluation(attempt=1, passed=False, error="no JSON")
    assert status_of("llm_done", [failed]) == "partial"
    assert status_of("llm_done", [failed, passed]) == "success"
    assert status_of("llm_done", [broken]) == "success", "a failed evaluation call is a note"
    assert status_of("llm_error", [passed]) == "failed"


FULL = {"window": 100, "settings": {"interactive": False, "summarize_after_steps": 1, "keep_recent": 1}}


@pytest.mark.parametrize(
    ("name", "events", "step"),
    [
        ("idle", [said()], None),
        ("a prompt", [*started(), said()], loop.CallModel()),
        ("cut before anything", [*started(), said(), ev.InterruptRequested(how="now")], loop.Finish("user_interrupt")),
        (
            "cut with open calls",
            [*started(), said(), replied("look"), ev.InterruptRequested(how="graceful")],
            loop.Finish("user_interrupt"),
        ),
        ("open calls", [*started(), said(), replied("look")], loop.RunTools()),
        ("results", [*started(), said(), replied("look"), answered("look")], loop.CallModel()),
        ("an answer", [*started(), said(), ev.TurnStart(step=1), replied(text="done")], loop.Finish("llm_done")),
        (
            "an answer on the last step",
            [*started(limits={"max_steps": 1}), said(), ev.TurnStart(step=1), replied(text="done")],
            loop.Finish("llm_done"),
        ),
        (
            "an answer, steering waits",
            [*started(), said(), ev.TurnStart(step=1), ev.SteeringQueued(id="q", text="t"), replied(text="done")],
            loop.Deliver("steering"),
        ),
        (
            "an answer, a follow-up waits",
            [*started(), said(), ev.TurnStart(step=1), ev.FollowUpQueued(id="q", text="t"), replied(text="done")],
            loop.Deliver("follow_up"),
        ),
        (
            "results, a follow-up waits",
            [*started(), said(), ev.FollowUpQueued(id="q", text="t"), ev.TurnStart(step=1), replied("look"), answered("look")],
            loop.CallModel(),
        ),
        (
            "steering right after the prompt",
            [*started(), said(), ev.SteeringQueued(id="q", text="t")],
            loop.CallModel(),
        ),
        (
            "truncated",
            [*started(), said(), ev.TurnStart(step=1), replied(text="half", finish="length")],
            loop.Nudge("length", 1, 4),
        ),
        ("empty", [*started(), said(), ev.TurnStart(step=1), replied()], loop.Nudge("empty", 1, 3)),
        (
            "stop after this step",
            [*started(), said(), ev.TurnStart(step=1), replied("look"), ev.InterruptRequested(how="after_step"), answered("look")],
            loop.Finish("user_interrupt"),
        ),
        ("nearly full, much history", [*started(**FULL), said(), *turns(3), said(tokens=80)], loop.Compact("summarise")),
        (
            "unseen results at the limit",
            [*started(limits={"max_steps": 1}), said(), *turns(1)],
            loop.CallModel(grace=True),
        ),
        (
            "after the grace call",
            [*started(limits={"max_steps": 1}), said(), *turns(1), ev.TurnStart(step=1, grace=True), replied("look", n=9), answered("look", 9)],
            loop.Close(Trip("max_steps", 1, 1, "max_steps")),
        ),
        (
            "a person is there",
            [*started(limits={"max_steps": 1}, settings={"interactive": True}), said(), ev.TurnStart(step=1), replied("look"), answered("look"), ev.TurnStart(step=1, grace=True), replied("look", n=1), answered("look", 1)],
            loop.Ask(Trip("max_steps", 1, 1, "max_steps")),
        ),
        (
            "evaluation due",
            [*started(settings={"self_eval": "basic", "interactive": False}), said(), ev.TurnStart(step=1), replied(text="done")],
            loop.Evaluate(1, correct=False),
        ),
        (
            "evaluated",
            [*started(settings={"self_eval": "basic", "interactive": False}), said(), ev.TurnStart(step=1), replied(text="done"), ev.Evaluation(attempt=1, passed=False)],
            loop.Finish("llm_done"),
        ),
    ],
)  # fmt: skip
def test_decisions(name: str, events: list[ev.Event], step: loop.Step | None) -> None:
    state = folded(*events)
    assert decide(state) == step, name
    assert decide(state) == step, "deciding changes nothing"
