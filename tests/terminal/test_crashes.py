"""kill -9 of the engine, of the screen, of both: what was acknowledged is there again, and the work goes on."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.fake_llm import FakeLLM, call, fault, say
from tests.fakes.processes import alive, running
from tests.terminal.terminal import Terminal
from tests.terminal.wire import problems, requested, results, user_texts, with_model
from tui_agent.config.paths import Paths
from tui_agent.core import events as ev

PROMPT = "ask for something"


@pytest.fixture
def slow() -> Iterator[str]:
    """A command that would run for long, and is ended at last: nobody could end it when its engine was killed."""
    command = f"sleep 100.{os.getpid()}"
    yield command
    for pid in running(command):
        os.kill(pid, signal.SIGKILL)


def test_killed_in_a_tool_then_in_a_stream_the_session_goes_on(slow: str) -> None:
    script = [
        call("run_command", command=f"echo begun; {slow}"),
        fault("hang_middle", after=4, text="Half of this answer is all that came before the end."),
        say("All is well again."),
    ]
    with FakeLLM(script) as fake:
        with Terminal("--confirm", "yolo", env=with_model(fake)) as terminal:
            terminal.wait_for(PROMPT)
            terminal.say("work")
            terminal.wait_for("│ begun")
            terminal.send("mind the gap\r")
            terminal.wait_for("steer  mind the gap")
            os.kill(terminal.engine(), signal.SIGKILL)
            terminal.wait_for("the engine was killed by SIGKILL")
            terminal.expect("nothing was lost" in terminal.text)
            terminal.wait_for("⏸ run_command")
            terminal.pause()
            terminal.press("r")
            terminal.wait_for("stopped")
            (end,) = terminal.logged(ev.AgentEnd)
            assert end.stop_reason == "user_interrupt"
            assert end.returned == ("mind the gap",)
            (answered,) = terminal.logged(ev.ToolExecutionEnd)
            assert answered.status == "interrupted"
            terminal.wait_for("mind the gap")
            terminal.wait_gone("⧗")
            terminal.press("enter")
            requested(terminal, fake, 1)
            terminal.wait_for("Half of this answer")
            terminal.wait_for(lambda: terminal.logged(ev.MessageUpdate))
            os.kill(terminal.engine(), signal.SIGKILL)
            terminal.kill()
        with Terminal("-c", env=with_model(fake)) as terminal:
            terminal.wait_for("Half of this answer")
            terminal.wait_for("stopped")
            terminal.wait_for(PROMPT)
            terminal.say("and now?")
            terminal.wait_for("All is well again.")
            assert len(terminal.logged(ev.AgentEnd)) >= 2
    second, third = fake.requests[1:]
    assert problems(second) == []
    assert problems(third) == []
    assert "nterrupted" in results(second)[0]
    assert user_texts(second) == ["work", "mind the gap"]
    assert user_texts(third) == ["work", "mind the gap", "and now?"]
    assert "Half of this answer" in str(third.messages)


def test_the_engine_saves_and_leaves_when_the_screen_is_killed_and_the_draft_is_kept() -> None:
    home = Paths.from_environ()
    with Terminal("--demo", env={"TUI_AGENT_DEMO_SPEED": "0.5"}) as terminal:
        terminal.wait_for("scripted model")
        engine = terminal.engine()
        terminal.send("a draft with ümläuts")
        terminal.wait_for("a draft with ümläuts")
        terminal.wait_for(lambda: any("ml" in file.read_text() for file in home.drafts_dir.glob("*.json")))
        (start,) = terminal.logged(ev.SessionStart)
        terminal.kill()
        terminal.wait_for(lambda: not alive(engine))
        (end,) = terminal.logged(ev.AgentEnd)
        assert end.stop_reason == "user_interrupt"
        assert terminal.logged(ev.SessionEnd)
        before = len(terminal.log())
    with Terminal("--demo", "-c", start.cwd, env={"TUI_AGENT_DEMO_SPEED": "20"}) as terminal:
        terminal.wait_for("stopped by you")
        terminal.wait_for("a draft with ümläuts")
        assert len(terminal.log()) >= before
        terminal.send("\x7f" * 30 + "show the file\r")
        terminal.wait_for("done · success")
    assert Path(start.cwd).is_dir()
