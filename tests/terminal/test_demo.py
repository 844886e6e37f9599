"""The demo on a real terminal: to its end card with no key and no network, with steering and follow-ups answered."""

import os

from tests.terminal.terminal import Terminal
from tui_agent.core import events as ev

PROMPT = "ask for something"
"""What the empty composer says while nothing runs."""


def test_the_demo_runs_to_its_end_card_and_answers_what_is_said_meanwhile() -> None:
    assert not [name for name in os.environ if name.endswith("_KEY")]
    with Terminal("--demo", env={"TUI_AGENT_DEMO_SPEED": "4"}) as terminal:
        terminal.wait_for("steer it while it works")
        terminal.send("why is it wrong?\rshow me the file\t")
        terminal.wait_for(lambda: terminal.logged(ev.FollowUpQueued))
        steered, queued = terminal.logged(ev.SteeringQueued, ev.FollowUpQueued)
        assert (steered.text, queued.text) == ("why is it wrong?", "show me the file")
        terminal.wait_for("done · success")
        terminal.wait_for(PROMPT)
        shown = terminal.text
        assert "A script is speaking" in " ".join(shown.split()), terminal.picture()
        assert shown.count("done · success") == 1, terminal.picture()

        log = terminal.log()
        said = [event.message for event in log if isinstance(event, ev.MessageEnd)]
        assert any("You said: *why is it wrong?*" in message.text for message in said)
        delivered = [event for event in log if isinstance(event, ev.SteeringDelivered | ev.FollowUpDelivered)]
        assert [message.text for event in delivered for message in event.messages] == [
            "why is it wrong?",
            "show me the file",
        ]
        (end,) = terminal.logged(ev.AgentEnd)
        assert (end.stop_reason, end.status, end.files_changed) == (
            "llm_done",
            "success",
            ("wordstats/stats.py",),
        )

        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        assert terminal.logged(ev.SessionEnd)
        assert f"tui-agent -r {log[0].id}" in terminal.text  # type: ignore[union-attr]


def test_the_first_start_offers_the_demo_and_keeps_what_was_written_before() -> None:
    with Terminal() as terminal:
        terminal.wait_for("which model?")
        terminal.wait_for("the demo")
        terminal.press("escape")
        terminal.wait_for(PROMPT)
        terminal.send("my own words")
        terminal.wait_for("my own words")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    with Terminal(env={"TUI_AGENT_DEMO_SPEED": "20"}) as terminal:
        terminal.wait_for("which model?")
        terminal.wait_for("the demo")
        terminal.press("enter")
        terminal.wait_for("my own words")
        terminal.wait_for("· demo")
        terminal.press("enter")
        terminal.wait_for("done · success")
    with Terminal() as terminal:
        terminal.wait_for("which model?")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_it_follows_the_size_of_the_window() -> None:
    with Terminal("--demo", columns=120, rows=40, env={"TUI_AGENT_DEMO_SPEED": "20"}) as terminal:
        terminal.wait_for("done · success")
        terminal.wait_for(PROMPT)
        for columns, rows in ((80, 24), (60, 16), (100, 30)):
            terminal.resize(columns, rows)
            frame = "╭" + "─" * (columns - 2) + "╮"
            terminal.wait_for(lambda frame=frame: frame in terminal.text)
            terminal.wait_for("done · success")
            terminal.send("x")
            terminal.wait_for("│ x")
            terminal.press("backspace")
            terminal.wait_for(PROMPT)
