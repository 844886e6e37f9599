"""The engine is not there: it was killed, or another process has the session. One card says what can be done."""

from pathlib import Path

from tests.ui.stage import Stage, on_stage
from tui_agent.core import events as ev
from tui_agent.engine.launch import Launch
from tui_agent.sessions.log import Log
from tui_agent.ui.settings import UiOptions

HELD = "session 20260101-000000-k3j9 is open in another process (7980): close it there, or fork the session"


async def restarted(stage: Stage, key: str = "r") -> None:
    before = len(stage.sources)
    await stage.press(key)
    await stage.until(lambda: len(stage.sources) > before and stage.source.started)


async def test_a_cut_run_is_named_as_such_and_the_status_line_is_free_again() -> None:
    async with on_stage() as stage:
        await stage.begin()
        stage.source.end("the engine was killed by SIGKILL")
        await stage.until(lambda: stage.app.gone)
        assert "the engine was killed by SIGKILL" in stage.card
        assert "/continue then goes on" in stage.card
        await restarted(stage)
        await stage.tell(ev.Ready(session_id="s", path="", model="m", last_seq=0, pid=1, window=1, tools=()))
        assert stage.said == ""
        await stage.end("user_interrupt", "partial", detail="the engine ended while it worked")
        shown = stage.screen.view.blocks[-1].text
        assert "stopped: the engine ended while it worked · partial" in shown
        assert "stopped by you" not in shown
        assert "/continue goes on" in shown


async def test_an_idle_engine_that_died_promises_no_run() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.end()
        stage.source.end("the engine was killed by SIGKILL")
        await stage.until(lambda: stage.app.gone)
        assert "starts it again" in stage.card
        assert "/continue" not in stage.card


async def test_a_session_that_is_open_elsewhere_is_one_card_with_advice_that_works(tmp_path: Path) -> None:
    path = tmp_path / "20260101-000000-k3j9.jsonl"
    start = ev.SessionStart(version=1, id=path.stem, kind="interactive", cwd=str(tmp_path), model="m")
    with Log.create(path, start) as log:
        log.append(ev.SessionRenamed(title="busy elsewhere"))
        async with on_stage(launch=Launch(cwd=str(tmp_path), resume=str(path)), size=(100, 30)) as stage:
            await stage.tell(ev.Notice(level="error", text=HELD))
            stage.source.end("the engine ended with code 1")
            await stage.until(lambda: stage.app.gone)
            assert "open in another tui-agent (process 7980)" in stage.card
            assert "ended with code 1" not in stage.card
            assert stage.screen.view.blocks == []
            before = len(stage.sources)
            await stage.press("ctrl+x", "f")
            await stage.until(lambda: len(stage.sources) > before and stage.source.started)
            assert stage.app.gone == ""
            assert stage.card == ""
            assert Path(stage.app.launch.resume) != path


async def test_choosing_a_session_asks_for_no_model_first() -> None:
    options = UiOptions(theme="dark", pick_session=True)
    async with on_stage(launch=Launch(cwd=str(Path.cwd())), options=options) as stage:
        assert "Sessions" in type(stage.app.screen).__name__


async def test_the_last_words_say_what_they_are_for() -> None:
    async with on_stage() as stage:
        await stage.begin()
        assert stage.app.last_words()[-1] == "to go on: tui-agent -r 20260101-000000-k3j9"


async def test_the_first_mistake_of_the_keys_is_said_with_the_number_of_the_others(tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    file.write_text("foo: bar\nsend: [ctrl+]\n")
    async with on_stage(options=UiOptions(theme="dark", keybindings=file)) as stage:
        assert f"{file}:1: foo: there is no such action" in stage.said
        assert stage.said.endswith("and 1 more")
