"""Leaving, by every door: the terminal is as it was, and the last words say how to go on."""

import base64
import os
import re
import select
import signal
import subprocess
import sys
import termios
import tty
from pathlib import Path

import pytest

from tests.fakes.processes import alive
from tests.terminal.terminal import MARK, PATIENCE, Terminal, newest_log
from tui_agent.config.paths import Paths
from tui_agent.core import events as ev

FAST = {"TUI_AGENT_DEMO_SPEED": "20"}
PROMPT = "ask for something"

RESTING = {7, 25}
"""The private modes of a terminal at rest that a program may leave on: lines wrap, the cursor is shown."""


def restored(terminal: Terminal) -> None:
    """Assert that the terminal is as the program found it."""
    shown = terminal.text
    assert terminal.modes - RESTING == set(), terminal.modes
    assert 25 in terminal.modes, "the cursor is hidden"
    assert termios.tcgetattr(terminal.inner) == terminal.settings, "the line's settings differ"
    raw = terminal.raw
    pushed, popped = re.findall(rb"\x1b\[>\d+u", raw), re.findall(rb"\x1b\[<\d*u", raw)
    assert len(pushed) == len(popped), "the keyboard protocol is left on"
    assert "│" not in shown.splitlines()[0], shown


@pytest.mark.parametrize("how", ["keys", "SIGTERM", "SIGHUP", "SIGTERM while it works"])
def test_the_terminal_is_as_it_was_and_the_last_words_say_how_to_go_on(how: str) -> None:
    working = how.endswith("works")
    with Terminal("--demo", env={"TUI_AGENT_DEMO_SPEED": "0.5" if working else "20"}) as terminal:
        terminal.wait_for("I'll look" if working else "done · success")
        engine = terminal.engine()
        (start,) = terminal.logged(ev.SessionStart)
        if how == "keys":
            terminal.wait_for(PROMPT)
            terminal.press("ctrl+d")
            expected = 0
        else:
            terminal.signal(signal.Signals[how.partition(" ")[0]])
            expected = 130
        assert terminal.wait_exit() == expected
        restored(terminal)
        assert f"tui-agent -r {start.id}" in terminal.text, terminal.picture()
        assert not alive(engine)
        (end,) = terminal.logged(ev.AgentEnd)
        assert end.stop_reason == ("user_interrupt" if working else "llm_done")
        assert terminal.logged(ev.SessionEnd)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_with_the_first_byte_leaves_the_terminal_as_it_was(
    number: signal.Signals,
) -> None:
    with Terminal("--demo") as terminal:
        terminal.wait_for(lambda: terminal.pieces)
        terminal.signal(number)
        assert terminal.wait_exit() == 130
        restored(terminal)


def test_when_the_window_closes_the_session_is_saved() -> None:
    with Terminal("--demo", env={"TUI_AGENT_DEMO_SPEED": "0.5"}) as terminal:
        terminal.wait_for("I'll look")
        engine = terminal.engine()
        terminal.hang_up()
        terminal.process.wait(PATIENCE)
        terminal.wait_for(lambda: not alive(engine))
        (end,) = terminal.logged(ev.AgentEnd)
        assert end.stop_reason == "user_interrupt"
        assert terminal.logged(ev.SessionEnd)


ELSEWHERE = """
import os, signal, sys
if child := os.fork():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os.setsid()
from tui_agent.cli import main
main(sys.argv[1:])
"""
"""The program in a session of its own, which no signal tells that the terminal is gone."""


def test_the_end_of_the_input_ends_the_program_even_if_no_signal_comes() -> None:
    with Terminal("--demo", env={"TUI_AGENT_DEMO_SPEED": "0.5"}, program=("-c", ELSEWHERE)) as terminal:
        terminal.wait_for("I'll look")
        engine = terminal.engine()
        terminal.hang_up()
        terminal.process.wait(PATIENCE)
        terminal.wait_for(lambda: not alive(engine))
        assert terminal.logged(ev.SessionEnd)


def test_after_a_stop_the_screen_is_painted_again() -> None:
    with Terminal("--demo", env=FAST) as terminal:
        terminal.wait_for("done · success")
        terminal.wait_for(PROMPT)
        stat = Path(f"/proc/{terminal.process.pid}/stat")
        if not stat.exists():
            pytest.skip("only /proc says whether a process is stopped")
        terminal.press("\x18", "z")
        terminal.wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
        terminal.wait_gone("done · success")
        terminal.signal(signal.SIGCONT)
        terminal.wait_for("done · success")
        terminal.wait_for(PROMPT)
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
        restored(terminal)


BROKEN = """
import sys
from tui_agent.ui.app import TuiAgentApp
from tui_agent.cli import main

def broken(self):
    if self.main.view.running:
        raise RuntimeError("a fault of the program")

TuiAgentApp._watch = broken
main(sys.argv[1:])
"""


def test_a_fault_of_the_program_itself_leaves_the_terminal_and_the_session_in_order() -> None:
    with Terminal("--demo", env={"TUI_AGENT_DEMO_SPEED": "0.5"}, program=("-c", BROKEN)) as terminal:
        engine = terminal.engine()
        assert terminal.wait_exit() == 1
        restored(terminal)
        assert "RuntimeError: a fault of the program" in terminal.text, terminal.picture()
        stray = Paths.from_environ().state_dir / "screen.log"
        assert str(stray) in "".join(terminal.text.split("\n")), terminal.picture()
        assert "Traceback" in stray.read_text()
        assert "tui-agent -r " in terminal.text, terminal.picture()
        terminal.wait_for(lambda: not alive(engine))
        assert terminal.logged(ev.AgentEnd)


UNBORN = """
import os, sys
from tui_agent.ui import background
from tui_agent.ui.app import TuiAgentApp
from tui_agent.cli import main

background.LAST_PATIENCE = 20.0

def broken(self, *_, **__):
    os.write(1, b"about to fail")
    raise RuntimeError("it never came up")

TuiAgentApp.__init__ = broken
main(sys.argv[1:])
"""


def test_what_the_terminal_answers_late_never_reaches_the_shell() -> None:
    with Terminal("--demo", env={"COLORFGBG": ""}, program=("-c", UNBORN)) as terminal:
        terminal.wait_for(lambda: b"\x1b[c" in terminal.raw)
        terminal.wait_for(lambda: b"about to fail" in terminal.raw)
        terminal.send("\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?1;2c")
        assert terminal.wait_exit() != 0
        assert termios.tcgetattr(terminal.inner) == terminal.settings
        tty.setraw(terminal.inner, termios.TCSANOW)
        assert not select.select([terminal.inner], [], [], 0)[0], "the answer is left for the shell"


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_draw_is_refused_with_a_hint(term: str) -> None:
    with Terminal("--demo", env={"TERM": term}) as terminal:
        assert terminal.wait_exit() == 3
        assert b"\x1b" not in terminal.raw.replace(MARK, b"")
        assert "tui-agent run" in terminal.text
        assert term in terminal.text


def test_without_a_terminal_it_says_what_to_do() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tui_agent"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "tui-agent run" in done.stderr


def test_the_order_of_ctrl_c_and_of_escape() -> None:
    with Terminal("--demo", env={"TUI_AGENT_DEMO_SPEED": "0.5"}) as terminal:
        terminal.wait_for("I'll look")
        # Escape closes what lies on top first, and only then stops the run.
        terminal.press("f1")
        terminal.wait_for("show all keys")
        terminal.press("escape")
        terminal.wait_gone("show all keys")
        assert terminal.logged(ev.InterruptRequested) == []
        # Ctrl+C with a selection copies it; the run goes on.
        terminal.send("my draft")
        terminal.wait_for("my draft")
        terminal.press(*["shift+left"] * 5, "ctrl+c")
        terminal.wait_for("copied")
        assert b"\x1b]52;c;" + base64.b64encode(b"draft") in terminal.raw
        assert terminal.logged(ev.InterruptRequested) == []
        # Ctrl+C while it works stops it; the draft stays.
        terminal.press("ctrl+c")
        terminal.wait_for("stopped by you")
        terminal.expect("my draft" in terminal.text, "the draft was lost")
        # Idle with a draft: it is put away, and up brings it back.
        terminal.press("ctrl+c")
        terminal.wait_for("text put away")
        terminal.wait_for(PROMPT)
        terminal.press("up")
        terminal.wait_for("my draft")
        terminal.press("ctrl+c")
        terminal.wait_for(PROMPT)
        # Idle and empty: the first arms, the second leaves.
        terminal.press("ctrl+c")
        terminal.wait_for("press ctrl+c again to quit")
        terminal.press("ctrl+c")
        assert terminal.wait_exit() == 0
        (how,) = terminal.logged(ev.InterruptRequested)
        assert how.how == "graceful"
        restored(terminal)


def test_a_saved_session_replays_to_its_end_and_quits() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tui_agent", "run", "--demo", "--json", "--quiet", "fix it"],
        env={**os.environ, **FAST, "TMPDIR": os.environ["HOME"]}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Terminal("replay", "--speed", "16", str(newest_log(os.environ))) as terminal:
        terminal.wait_for("replay")
        terminal.wait_for("done · success")
        terminal.press("q")
        assert terminal.wait_exit() == 0
        restored(terminal)
