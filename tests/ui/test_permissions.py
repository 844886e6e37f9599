"""What is allowed can be seen, and going back offers what works."""

from pathlib import Path

import pytest

from tests.ui.stage import on_stage
from tui_agent.config.paths import Paths
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.errors import AgentError
from tui_agent.policy.remembered import Remembered
from tui_agent.ui.screens.page import PageScreen
from tui_agent.ui.screens.rewind import RewindScreen
from tui_agent.ui.view import View


async def test_permissions_show_the_rules_that_were_added_while_asked() -> None:
    file = Paths.from_environ().state_dir / "approvals.json"
    async with on_stage(size=(120, 40)) as stage:
        await stage.begin()
        await stage.ask(id="p1", rule="run_command(ls *)")
        await stage.ask(id="p2", rule="run_command(printf *)")
        await stage.ask(id="p3", rule="run_command(never *)")
        Remembered(file, stage.app.cwd).add("run_command(printf *)")
        await stage.tell(
            (ev.ApprovalResolved, {"id": "p1", "decision": "session"}),
            (ev.ApprovalResolved, {"id": "p2", "decision": "always"}),
            (ev.ApprovalResolved, {"id": "p3", "decision": "once"}),
        )
        await stage.press("ctrl+x", "i")
        page = stage.app.screen
        assert isinstance(page, PageScreen)
        text = "\n".join(page.body.plain)
        always, session = text.index("allowed always"), text.index("allowed for this session")
        assert always < text.index("run_command(printf *)") < session < text.index("run_command(ls *)")
        assert text.count("printf") == 1
        assert "never" not in text
        assert str(file) in "".join(text.split())


def test_rules_for_a_session_are_gone_with_its_engine() -> None:
    view = View()
    intent = ev.Intent(tool="run_command", effect="execute", command="ls")
    view.apply(ev.ApprovalRequested(id="p", call_id="c", intent=intent, rule="run_command(ls)"))
    view.apply(ev.ApprovalResolved(id="p", decision="session"))
    assert view.run.allowed == ["run_command(ls)"]
    view.apply(ev.Ready(session_id="s", path="s.jsonl", model="x"))
    assert view.run.allowed == []


@pytest.mark.parametrize("key", ["enter", "c"])
async def test_going_back_takes_the_conversation_only(key: str) -> None:
    async with on_stage(size=(110, 40)) as stage:
        await stage.begin()
        await stage.end()
        await stage.press("escape", "escape")
        screen = stage.app.screen
        assert isinstance(screen, RewindScreen)
        assert "files stay" in screen.footer()
        offered = [name for name, action in stage.app.keymap.actions.items() if action.context == "rewind"]
        assert not [name for name in offered if name.endswith((".files", ".both", ".undo", ".preview"))]
        await stage.press(key)
        assert stage.sent == [cmd.RewindTo(to_seq=2)]
        assert stage.composer.text == "fix the retry test"


async def test_going_back_in_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    forked: list[int] = []

    def fork(_store: object, _path: Path, at_seq: int) -> Path:
        forked.append(at_seq)
        raise AgentError("it was only asked")

    monkeypatch.setattr("tui_agent.sessions.store.Store.fork", fork)
    async with on_stage(size=(110, 40)) as stage:
        stage.app.session_path = "s.jsonl"
        await stage.begin()
        await stage.end()
        await stage.press("escape", "escape", "f")
        assert forked == [2]
        assert stage.sent == []


async def test_a_theme_that_was_taken_clears_what_was_said_of_another() -> None:
    async with on_stage(size=(110, 40)) as stage:
        await stage.type("/theme nope")
        stage.screen.completions.close()
        await stage.press("enter")
        assert "no theme nope" in stage.said
        stage.screen.composer.set_text("/theme light")
        stage.screen.completions.close()
        await stage.press("enter")
        assert stage.said == "theme light"
