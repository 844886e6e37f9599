"""What lies beside the agent: the person's editor, their own shell lines, their terminal without colours."""

import os
import re
import stat
from pathlib import Path

from tests.fakes.fake_llm import FakeLLM, say
from tests.fakes.processes import running
from tests.terminal.terminal import Terminal
from tests.terminal.wire import requested, user_texts, with_model
from tui_agent.core import events as ev

PROMPT = "ask for something"
GONE = 5.0
"""Seconds from a key to the end of the process group; the machine may be busy."""

EDITOR = """#!/bin/sh
printf 'THE EDITOR IS HERE'
printf 'and complains' >&2
[ -t 0 ] && [ -t 1 ] && [ -t 2 ] || exit 1
read -r line
printf '%s' "$line" > "$1"
"""


def test_the_editor_has_the_terminal_and_the_screen_comes_back_whole(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(EDITOR)
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    with Terminal(
        "--demo", env={"EDITOR": str(editor), "VISUAL": "", "TUI_AGENT_DEMO_SPEED": "20"}
    ) as terminal:
        terminal.wait_for("done · success")
        terminal.wait_for(PROMPT)
        terminal.send("a draft")
        terminal.wait_for("a draft")
        terminal.press("\x07")
        terminal.wait_for("THE EDITOR IS HERE")
        terminal.wait_for("and complains")
        terminal.send("written elsewhere\r")
        terminal.wait_for("│ written elsewhere")
        terminal.wait_for("done · success")


def test_without_colour_no_colour_is_sent_and_everything_can_be_read() -> None:
    env = {"NO_COLOR": "1", "TUI_AGENT_DEMO_SPEED": "20"}
    with Terminal("--demo", env=env) as terminal:
        terminal.wait_for("done · success")
        terminal.wait_for(PROMPT)
        terminal.send("can be read")
        terminal.wait_for("can be read")
        terminal.press("\x10")  # the list of commands
        terminal.wait_for("commands")
        codes = {code for run in re.findall(rb"\x1b\[([0-9;]*)m", terminal.raw) for code in run.split(b";")}
        colours = {
            b"38",
            b"48",
            *(str(number).encode() for number in (*range(30, 38), *range(40, 48), *range(90, 108))),
        }
        assert codes & colours == set(), codes


def test_escape_and_ctrl_c_stop_a_shell_line_and_nothing_else() -> None:
    line = f"sleep 100.{os.getpid()}"
    with FakeLLM([say("Here.")]) as fake, Terminal(env=with_model(fake)) as terminal:
        terminal.wait_for(PROMPT)
        for key in ("escape", "ctrl+c"):
            terminal.say(f"!{line}")
            terminal.wait_for(lambda: running(line))
            terminal.wait_for("esc stops")
            terminal.press(key)
            terminal.wait_for(lambda: not running(line), timeout=GONE)
            terminal.wait_gone("esc stops")
        assert [end.status for end in terminal.logged(ev.ToolExecutionEnd)] == ["interrupted", "interrupted"]
        terminal.say("still there?")
        assert "still there?" in user_texts(requested(terminal, fake, 0))[-1]
        terminal.wait_for("Here.")


def test_a_message_without_a_model_waits_for_the_choice_and_is_sent_then() -> None:
    with FakeLLM([say("Chosen well.")]) as fake:
        env = {name: value for name, value in with_model(fake).items() if name != "TUI_AGENT_MODEL"}
        with Terminal(env=env) as terminal:
            terminal.wait_for("which model?")
            terminal.press("escape")
            terminal.wait_gone("which model?")
            terminal.say("hello there")
            terminal.wait_for("enter chooses")
            terminal.press("escape")
            terminal.wait_for("│ hello there")
            terminal.wait_gone("enter chooses")
            terminal.press("enter")
            terminal.wait_for("enter chooses")
            terminal.send("openai/gpt-5-mini\r")
            terminal.wait_for("Chosen well.")
            assert user_texts(fake.requests[0])[-1] == "hello there"
