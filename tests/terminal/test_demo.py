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
        assert f"tui-agent -r {log[0].id}" in terminal.text  # type: ignore[union-attr]
