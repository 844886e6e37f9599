"""Stopping a run: escape cuts at once, ctrl+c lets the command end; nothing is lost and the next request is valid."""

import os
from pathlib import Path

from tests.fakes.fake_llm import FakeLLM, ToolCall, call, calls, fault, say
from tests.fakes.processes import running
from tests.terminal.terminal import Terminal
from tests.terminal.wire import problems, requested, results, user_texts, with_model
from tui_agent.core import events as ev

CUT = 0.2
"""Seconds from escape to the end of the connection."""
GONE = 2.0
"""Seconds from escape to the end of the process group."""
PROMPT = "ask for something"


def test_escape_closes_the_stream_and_ends_the_process_group() -> None:
    behind, before = f"sleep 101.{os.getpid()}", f"sleep 100.{os.getpid()}"
    script = [
        fault("hang_middle", after=4, text="These words are kept, whatever comes after them."),
        calls(
            ToolCall("run_command", {"command": f"{behind} & {before}"}),
            ToolCall("list_files", {"path": "."}),
        ),
        say("Here I am again."),
    ]
    with FakeLLM(script) as fake, Terminal("--confirm", "yolo", env=with_model(fake)) as terminal:
        terminal.wait_for(PROMPT)
        terminal.say("tell me")
        stream = requested(terminal, fake, 0)
        terminal.wait_for("These words are kept")
        pressed = terminal.press("escape")
        terminal.wait_for(stream.closed.is_set)
        assert stream.closed_at - pressed < CUT
        terminal.wait_for("stopped by you")
        terminal.wait_for(PROMPT)
        terminal.expect("These words are kept" in terminal.text)
        (end,) = terminal.logged(ev.AgentEnd)
        assert (end.stop_reason, end.status) == ("user_interrupt", "partial")
        kept = terminal.logged(ev.MessageEnd)[-1].message
        assert kept.interrupted
        assert kept.text.startswith("These words are kept")

        terminal.say("sleep well")
        terminal.wait_for(lambda: running(behind) and running(before))
        terminal.press("escape")
        terminal.wait_for(lambda: not running(behind) and not running(before), timeout=GONE)
        terminal.wait_for(lambda: len(terminal.logged(ev.AgentEnd)) == 2)
        assert terminal.logged(ev.AgentEnd)[-1].stop_reason == "user_interrupt"
        assert [done.status for done in terminal.logged(ev.ToolExecutionEnd)] == [
            "interrupted",
            "not_started",
        ]

        terminal.wait_for(PROMPT)
        terminal.say("still there?")
        terminal.wait_for("Here I am again.")
    for request in fake.requests:
        assert problems(request) == []
    again, last = fake.requests[1:]
    assert "These words are kept" in str(again.messages)
    assert user_texts(last)[-1] == "still there?"
    assert len(results(last)) == 2


def test_ctrl_c_lets_a_command_end_and_asks_the_model_no_more() -> None:
    stubborn = f"sleep 100.{os.getpid()}"
    script = [
        call("run_command", command="echo begun; sleep 3; echo ended > result.txt"),
        say("Not lost."),
        call("run_command", command=f"trap '' INT TERM; echo deaf; {stubborn}"),
    ]
    with FakeLLM(script) as fake, Terminal("--confirm", "yolo", env=with_model(fake)) as terminal:
        terminal.wait_for(PROMPT)
        terminal.say("run it")
        terminal.wait_for("│ begun")
        terminal.send("half a thought")
        terminal.wait_for("half a thought")
        terminal.press("ctrl+c")
        terminal.wait_for("may finish")
        terminal.wait_for("stopped by you")
        assert Path("result.txt").read_text() == "ended\n"
        (done,), (end,) = terminal.logged(ev.ToolExecutionEnd), terminal.logged(ev.AgentEnd)
        assert (done.status, end.stop_reason, end.steps) == ("ok", "user_interrupt", 1)
        assert len(fake.requests) == 1
        terminal.expect("half a thought" in terminal.text, "the draft was lost")
        terminal.press("enter")
        terminal.wait_for("Not lost.")
        terminal.say("once more")
        terminal.wait_for("│ deaf")
        terminal.press("ctrl+c")
        terminal.wait_for("again")
        terminal.press("ctrl+c")
        terminal.wait_for(lambda: not running(stubborn), timeout=GONE)
        terminal.wait_for(lambda: len(terminal.logged(ev.AgentEnd)) == 3)
        assert [asked.how for asked in terminal.logged(ev.InterruptRequested)] == [
            "graceful",
            "graceful",
            "now",
        ]
        assert len(fake.requests) == 3
    assert problems(fake.requests[1]) == []
    assert user_texts(fake.requests[1]) == ["run it", "half a thought"]
