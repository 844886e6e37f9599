"""The card that asks: each of its answers does what it says, and a key pressed while typing never answers it."""

import json

from tests.terminal.terminal import Terminal
from tui_agent.config.paths import Paths
from tui_agent.core import events as ev


def test_every_answer_to_an_approval_and_the_guard_against_typing() -> None:
    with Terminal("--demo", "--confirm", "confirm-all", env={"TUI_AGENT_DEMO_SPEED": "20"}) as terminal:
        terminal.wait_for("list_files wants to read")
        terminal.pause()
        terminal.send("x\x7fy")  # the composer is empty again, but someone is typing
        terminal.wait_for("│ y")
        assert terminal.logged(ev.ApprovalResolved) == []
        terminal.press("backspace")
        terminal.pause()
        terminal.send("sy")
        terminal.wait_for("read_file wants to read tests/test_stats.py")
        terminal.wait_for("│ y")
        terminal.wait_for("your text comes first")
        assert [answer.decision for answer in terminal.logged(ev.ApprovalResolved)] == ["session"]
        terminal.press("backspace")
        terminal.wait_for("y yes, once")
        terminal.pause()
        terminal.press("y")

        terminal.wait_for("read_file wants to read wordstats/stats.py")
        terminal.pause()
        terminal.press("n")

        terminal.wait_for("search_code wants to read")
        terminal.pause()
        terminal.press("e")
        terminal.wait_for("change search_code")
        terminal.send("\x7f" * 80 + '{"pattern": "median"}')
        terminal.wait_for('{"pattern": "median"}')
        terminal.press("enter")

        terminal.wait_for("done · success")
        terminal.say("show the file")
        terminal.wait_for("read_file wants to read")
        terminal.wait_for("always: ")
        terminal.pause()
        terminal.press("a")
        terminal.wait_for("A script is speaking")

        assert [answer.decision for answer in terminal.logged(ev.ApprovalResolved)] == [
            "session", "once", "deny", "edit", "always",
        ]  # fmt: skip
        ended = {end.name + str(n): end for n, end in enumerate(terminal.logged(ev.ToolExecutionEnd))}
        started = terminal.logged(ev.ToolExecutionStart)
        assert [start.call.arguments for start in started if start.call.name == "search_code"] == [
            {"pattern": "median"}
        ]
        assert ended["read_file2"].status == "denied"
        assert "refused" in ended["read_file2"].text
        always = terminal.logged(ev.ApprovalRequested)[-1].rule
        assert always in json.dumps(
            json.loads((Paths.from_environ().state_dir / "approvals.json").read_text())
        )
