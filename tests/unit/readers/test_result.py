"""The object of ``run --json`` and the exit codes, as the specification has them."""

from __future__ import annotations

import json

import pytest

from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.core.messages import Call, Message, Text
from tui_agent.readers.result import ResultReader, exit_code

START = ev.SessionStart(version=1, id="s1", kind="headless", cwd="/p", model="a/one", ts=100.0)
BEGIN = ev.AgentStart(run="r1", model="a/one", limits=ev.RunLimits(), ts=101.0)


def end(
    reason: ev.StopReason = "llm_done", status: ev.Status = "success", failure: Failure | None = None
) -> ev.AgentEnd:
    return ev.AgentEnd(
        run="r1", stop_reason=reason, status=status, steps=2, tool_calls=1, cost_usd=0.25, duration=3.21049,
        final_output="done", files_changed=("a.py",), failure=failure,
    )  # fmt: skip


def read(*events: ev.Event) -> ResultReader:
    reader = ResultReader()
    for event in events:
        reader.feed(event)
    return reader


def test_the_object_is_the_promised_one() -> None:
    reader = read(
        START,
        ev.Usage(purpose="routing", model="a/one", input=10, output=1),
        BEGIN,
        ev.TurnStart(step=1),
        ev.Usage(purpose="turn", model="a/one", input=100, cached=40, output=20, reasoning=5, cost_usd=0.2),
        ev.Usage(purpose="summary", model="a/one", input=7, output=3),
        end(),
        ev.Usage(purpose="title", model="a/one", input=5, output=2),
    )
    result = reader.result()
    assert result == {
        "status": "success",
        "stop_reason": "llm_done",
        "final_output": "done",
        "steps": 2,
        "tool_calls": 1,
        "cost_usd": 0.25,
        "tokens": {"input": 122, "cached": 40, "output": 26, "reasoning": 5},
        "duration_seconds": 3.21,
        "session_id": "s1",
        "model": "a/one",
        "files_changed": ["a.py"],
    }
    assert json.loads(json.dumps(result)) == result
    assert list(result) == [
        "status",
        "stop_reason",
        "final_output",
        "steps",
        "tool_calls",
        "cost_usd",
        "tokens",
        "duration_seconds",
        "session_id",
        "model",
        "files_changed",
    ]


def test_the_last_run_counts() -> None:
    used = ev.Usage(purpose="turn", model="m", input=100)
    reader = read(START, BEGIN, used, end(), BEGIN, used, end("max_steps", "partial"))
    assert reader.result()["tokens"]["input"] == 100
    assert reader.result()["stop_reason"] == "max_steps"


def test_the_model_is_the_one_that_answered() -> None:
    assert (
        read(START, BEGIN, ev.Fallback(source="a/one", target="b/two", why="429")).result()["model"]
        == "b/two"
    )
    assert read(START, BEGIN, ev.ModelChanged(model="c/three")).result()["model"] == "c/three"


def test_a_run_that_never_ended_failed_and_says_what_is_known() -> None:
    reader = read(
        START,
        BEGIN,
        ev.TurnStart(step=1),
        ev.MessageEnd(message=Message("a", "assistant", (Text("looking"), Call("c", "edit_file")))),
        ev.ToolExecutionEnd(call_id="c", name="edit_file", status="ok", text="", changed=("b.py",), ts=104.5),
        ev.Usage(purpose="turn", model="m", input=3, cost_usd=None),
    )
    result = reader.result()
    assert reader.end is None
    assert (result["status"], result["stop_reason"]) == ("failed", "internal_error")
    assert (result["steps"], result["tool_calls"], result["files_changed"]) == (1, 1, ["b.py"])
    assert (result["cost_usd"], result["duration_seconds"], result["final_output"]) == (None, 3.5, "looking")


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (end(), 0),
        (end("llm_done", "partial"), 2),
        (end("max_steps", "partial"), 2),
        (end("budget_exceeded", "partial"), 2),
        (end("context_full", "partial"), 2),
        (end("stalled", "partial"), 2),
        (end("incomplete", "partial"), 2),
        (end("timeout", "partial"), 5),
        (end("timeout", "failed"), 5),
        (end("user_interrupt", "partial"), 130),
        (end("llm_error", "failed"), 1),
        (end("llm_error", "failed", Failure("server", "500")), 1),
        (end("llm_error", "failed", Failure("auth", "401")), 4),
        (end("internal_error", "failed"), 1),
        (None, 1),
    ],
)
def test_exit_codes(event: ev.AgentEnd | None, code: int) -> None:
    assert exit_code(event) == code
    assert exit_code(event, exit_code_on_partial=False) == (0 if code == 2 else code)
