"""What stands where on the session's screen, at every size; what opens over it; and what is left when the engine dies."""

from pathlib import Path

import pytest

from tests.ui.stage import MODEL, START, on_stage
from tui_agent.config.paths import Paths
from tui_agent.config.trust import Trust
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.messages import Message, Text
from tui_agent.core.tool import Diff, Plan
from tui_agent.engine.launch import Launch
from tui_agent.llm import local
from tui_agent.llm.local import LocalModel
from tui_agent.sessions.log import Log
from tui_agent.ui.screens.page import PageScreen
from tui_agent.ui.screens.picker import PickerScreen
from tui_agent.ui.screens.replay import ReplayScreen
from tui_agent.ui.screens.sessions import SessionsScreen
from tui_agent.ui.screens.start import StartScreen, TrustScreen
from tui_agent.ui.settings import UiOptions

# ---- layout


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50), (60, 20), (40, 12)])
async def test_rows_fit_and_never_overlap(size: tuple[int, int]) -> None:
    async with on_stage(size=size) as stage:
        await stage.begin()
        await stage.call()
        await stage.tell((ev.SteeringQueued, {"id": "q1", "text": "use src/"}))
        await stage.ask()
        shown = [
            widget.region
            for widget in (
                stage.screen.title_row, stage.screen.transcript, stage.screen.pending, stage.screen.card,
                stage.screen.activity, stage.screen.composer, stage.screen.gauge, stage.screen.hints,
            )
            if widget.display and widget.region.height
        ]  # fmt: skip
        assert sum(region.height for region in shown) == size[1]
        assert [region.y for region in shown] == sorted(region.y for region in shown)
        assert all(region.right <= size[0] for region in shown)
        assert stage.screen.transcript.region.height >= (3 if size[1] >= 20 else 1)


async def test_title_and_hints_go_where_there_is_no_room() -> None:
    async with on_stage(size=(80, 24)) as stage:
        assert stage.screen.title_row.display
        await stage.pilot.resize_terminal(80, 20)
        await stage.settle()
        assert not stage.screen.title_row.display
        await stage.pilot.resize_terminal(50, 20)
        await stage.settle()
        assert not stage.screen.hints.display


async def test_activity_and_gauge_keep_their_height_while_things_happen() -> None:
    async with on_stage() as stage:
        before = (stage.screen.activity.region, stage.screen.gauge.region)
        await stage.begin(budget_usd=5.0)
        await stage.call()
        await stage.tell(
            (ev.Usage, {"purpose": "turn", "model": MODEL, "input": 100, "cached": 71, "cost_usd": 0.04})
        )
        assert (stage.screen.activity.region, stage.screen.gauge.region) == before


async def test_the_gauge_row_of_the_design() -> None:
    async with on_stage(size=(120, 40)) as stage:
        await stage.begin(budget_usd=5.0)
        await stage.tell(
            (ev.Usage, {"purpose": "turn", "model": MODEL, "input": 1000, "cached": 710, "cost_usd": 0.31}),
            (ev.Context, {"used": 86_214, "window": 200_000, "exact": True}),
        )
        row = stage.rows("gauge")
        assert row.startswith(
            " ctx ▓▓▓▓▓░░░░░░░ 43 %  86k/200k   cache 71 %   turn $0.31   session $0.31 / 5.00"
        )
        assert "enter steer" in row


@pytest.mark.parametrize(("used", "role"), [(50, "gauge-ok"), (75, "gauge-warn"), (95, "gauge-full")])
async def test_gauges_turn_amber_and_red(used: int, role: str) -> None:
    async with on_stage(size=(120, 40)) as stage:
        await stage.begin()
        await stage.tell((ev.Context, {"used": used, "window": 100, "exact": True}))
        left, _ = stage.screen.gauge.lines[0]
        assert (f" {used} %" + (" !" if role == "gauge-full" else ""), role) in left


async def test_an_unknown_price_is_no_zero() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.tell((ev.Usage, {"purpose": "turn", "model": "local/x", "input": 10}))
        assert "session $?" in stage.rows("gauge")


async def test_hostile_text_reaches_no_row() -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\x9b31m[bold]x[/]"
    async with on_stage(size=(120, 40)) as stage:
        await stage.begin(evil)
        await stage.call(summary=evil)
        await stage.tell((ev.SteeringQueued, {"id": "q", "text": evil}), (ev.SessionRenamed, {"title": evil}))
        await stage.ask(evil)
        for widget in (
            stage.screen.title_row,
            stage.screen.pending,
            stage.screen.card,
            stage.screen.activity,
        ):
            for y in range(widget.size.height):
                text = widget.render_line(y).text
                assert "\x1b" not in text
                assert "\x9b" not in text


# ---- panes and pages


async def test_the_sidebar_shows_plan_changes_and_hooks() -> None:
    async with on_stage(size=(130, 40)) as stage:
        await stage.begin()
        call = await stage.call("edit_file", "a.py")
        diff = Diff(path="a.py", hunks="@@\n-x\n+y\n", added=1, removed=1)
        end = {
            "call_id": call.id,
            "name": "edit_file",
            "status": "ok",
            "text": "",
            "display": diff,
            "changed": ("a.py",),
        }
        await stage.tell(
            (
                ev.HookEnd,
                {
                    "call_id": call.id,
                    "name": "ruff",
                    "path": "a.py",
                    "status": "failed",
                    "output": "a.py:1 F401",
                },
            ),
            (ev.ToolExecutionEnd, end),
        )
        await stage.press("ctrl+x", "2")
        shown = "\n".join(stage.screen.sidebar.rows.plain)
        assert "a.py  +1 −1" in shown
        await stage.press("ctrl+x", "3")
        assert "⚠ ruff a.py" in "\n".join(stage.screen.sidebar.rows.plain)
        assert not stage.screen.sidebar.over
        plan = Plan((("done", "look"), ("active", "mend")))
        await stage.tell(
            (
                ev.ToolExecutionEnd,
                {"call_id": "t", "name": "todo", "status": "ok", "text": "", "display": plan},
            )
        )
        await stage.press("ctrl+x", "1")
        assert "● mend" in "\n".join(stage.screen.sidebar.rows.plain)


async def test_the_trace_reads_along() -> None:
    async with on_stage(size=(100, 40)) as stage:
        await stage.begin()
        await stage.call()
        await stage.press("f12")
        await stage.settle()
        assert "pytest -q" in stage.rows("trace")


async def test_help_is_made_from_the_keymap() -> None:
    async with on_stage(size=(100, 40)) as stage:
        await stage.press("f1")
        page = stage.app.screen
        assert isinstance(page, PageScreen)
        shown = " ".join(" ".join(page.body.plain).split())
        for action in stage.app.keymap.actions.values():
            if stage.app.keymap.hint(action.id):
                assert action.help in shown
        await stage.press("escape")
        assert stage.app.screen is stage.screen


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/cost", "this session"), ("/context", "tokens"), ("/permissions", "confirm mode"), ("/hooks", "no hook"),
        ("/mcp", "no server"), ("/doctor", "terminal"), ("/keys", "Commands"),
    ],
)  # fmt: skip
async def test_pages(text: str, words: str) -> None:
    async with on_stage(size=(100, 40)) as stage:
        await stage.begin()
        await stage.type(text)
        stage.screen.completions.close()
        await stage.press("enter")
        page = stage.app.screen
        assert isinstance(page, PageScreen)
        assert words in "\n".join(page.body.plain)


async def test_the_model_chooser_finds_and_sets() -> None:
    async with on_stage(size=(100, 40)) as stage:
        await stage.press("f3")
        assert isinstance(stage.app.screen, PickerScreen)
        await stage.press(*"claude-sonnet-4-5")
        marked = stage.app.screen.marked
        assert marked is not None
        assert "claude-sonnet-4-5" in marked.value
        await stage.press("enter")
        assert stage.sent == [cmd.SetModel(model=marked.value)]


async def test_themes_are_tried_on_while_one_looks() -> None:
    async with on_stage(size=(100, 40)) as stage:
        await stage.press("ctrl+x", "t")
        await stage.press(*"light")
        assert stage.app.theme_name == "light"
        await stage.press("escape")
        assert stage.app.theme_name == "dark"
        await stage.press("ctrl+x", "t", *"gruvbox")
        await stage.press("enter")
        assert stage.app.theme_name == "gruvbox-dark"


async def test_the_palette_does_what_it_names() -> None:
    async with on_stage(size=(100, 40)) as stage:
        await stage.press("ctrl+p", *"trace")
        await stage.press("enter")
        assert stage.screen.trace.display


async def test_going_back_names_what_would_be_taken_back() -> None:
    async with on_stage(size=(110, 40)) as stage:
        await stage.begin()
        await stage.end()
        stage.screen.composer.set_text("")
        await stage.press("escape", "escape")
        assert isinstance(stage.app.screen, PickerScreen)
        await stage.press("c")
        assert stage.sent == [cmd.RewindTo(to_seq=2, files=False)]
        assert stage.composer.text == "fix the retry test"


# ---- find and blocks


async def test_find_types_into_its_own_line() -> None:
    async with on_stage(size=(100, 40)) as stage:
        await stage.begin()
        await stage.tell(
            (ev.MessageEnd, {"message": Message(id="a", role="assistant", parts=(Text("retry retry"),))})
        )
        await stage.type("draft")
        await stage.press("ctrl+f", *"retry")
        assert stage.composer.text == "draft"
        assert "of 3" in stage.rows("hints")
        await stage.press("enter", "n", "N")
        assert stage.composer.text == "draft"
        await stage.press("escape")
        await stage.press("x")
        assert stage.composer.text == "draftx"


async def test_a_block_is_selected_copied_and_left() -> None:
    async with on_stage(size=(100, 40)) as stage:
        await stage.begin()
        await stage.end()
        await stage.press("alt+up", "alt+up")
        assert stage.screen.transcript.selected is not None
        await stage.press("y")
        assert stage.app.clipboard == "fix the retry test"
        await stage.press("escape")
        assert stage.screen.transcript.selected is None
        await stage.press("y")
        assert stage.composer.text == "y"


# ---- before the first run


async def test_without_a_model_it_asks_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")

    async def found() -> list[LocalModel]:
        return [LocalModel("ollama", "qwen3", "http://127.0.0.1:11434/v1", window=32_768)]

    monkeypatch.setattr(local, "discover", found)
    async with on_stage(size=(100, 40), launch=Launch(cwd=str(Path.cwd())), begin=False) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, StartScreen))
        chooser = stage.app.screen
        assert isinstance(chooser, StartScreen)
        await stage.until(lambda: len(chooser.items) == 3)
        assert [item.text for item in chooser.items] == ["anthropic/claude-sonnet-4-5", "qwen3", "the demo"]
        assert "ANTHROPIC_API_KEY is set" in chooser.items[0].what
        assert "sk-test" not in str(chooser.items)
        await stage.press("down", "enter")
        await stage.until(lambda: stage.app.screen is stage.screen)
        name = stage.app.launch.overrides["model"]
        assert stage.app.launch.overrides[f"models.{name}.api_base"] == "http://127.0.0.1:11434/v1"
        assert stage.app.launch.overrides[f"models.{name}.context_window"] == 32_768


async def test_the_demo_is_one_key_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none() -> list[LocalModel]:
        return []

    monkeypatch.setattr(local, "discover", none)
    async with on_stage(size=(100, 40), launch=Launch(cwd=str(Path.cwd())), begin=False) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, StartScreen))
        await stage.press("enter")
        await stage.until(lambda: stage.app.launch.demo)
        assert Path(stage.app.launch.cwd).name.startswith("tui-agent-demo")


@pytest.mark.parametrize(("key", "state"), [("y", "trusted"), ("n", "refused")])
async def test_a_projects_own_settings_are_asked_about_first(home: Path, key: str, state: str) -> None:
    folder = home / "project" / ".tui-agent"
    folder.mkdir()
    (folder / "config.yaml").write_text('hooks:\n  post_edit:\n    - {name: x, command: "curl evil"}\n')
    async with on_stage(size=(100, 40), begin=False) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, TrustScreen))
        question = stage.app.screen
        assert isinstance(question, TrustScreen)
        assert "after edits runs: curl evil" in "\n".join(question.rows.plain)
        assert not stage.source.started
        await stage.press(key)
        await stage.until(lambda: stage.app.screen is stage.screen)
        assert Trust(Paths.from_environ().trust_file).state(folder) == state
        assert bool(stage.app.config.hooks.post_edit) == (key == "y")


async def test_an_unreadable_key_file_is_told_with_its_line(home: Path) -> None:
    file = home / "keys.yaml"
    file.write_text("composer.sned: enter\n")
    async with on_stage(size=(160, 40), options=UiOptions(theme="dark", keybindings=file)) as stage:
        assert f"{file}:1" in stage.said
        assert "composer.send" in stage.said


async def test_keys_apply_as_soon_as_they_are_saved(home: Path) -> None:
    file = home / "keys.yaml"
    file.write_text("{}\n")
    async with on_stage(options=UiOptions(theme="dark", keybindings=file)) as stage:
        file.write_text("sidebar.toggle: f9\n")
        stage.app._watch()
        await stage.press("f9")
        assert stage.screen.sidebar.display


# ---- the engine


async def test_a_dead_engine_is_told_and_started_again(home: Path) -> None:
    log = home / "s.jsonl"
    async with on_stage(size=(110, 30)) as stage:
        await stage.tell(ev.Ready(session_id="20260101-000000-k3j9", path=str(log), model=MODEL))
        await stage.begin()
        await stage.call()
        log.write_text("")
        stage.source.end("the engine was killed by SIGKILL")
        await stage.until(lambda: stage.app.gone)
        assert "killed by SIGKILL" in stage.card
        assert "session 20260101-000000-k3j9" in stage.card
        assert stage.rows("activity").strip() == ""
        await stage.press("r")
        await stage.until(lambda: stage.app.launch.resume == str(log) and not stage.app.gone)
        assert len(stage.sources) == 2
        assert stage.card == ""


async def test_what_is_said_to_a_dead_engine_starts_it_and_is_not_lost() -> None:
    async with on_stage() as stage:
        stage.source.end("the engine ended with code 1")
        await stage.until(lambda: stage.app.gone)
        await stage.type("go on\n")
        await stage.until(lambda: stage.source.sent)
        assert stage.sent == [cmd.Prompt(text="go on")]


async def test_a_resumed_session_shows_its_past_first() -> None:
    past = [
        ev.SessionStart(
            seq=1,
            ts=START,
            version=1,
            id="s",
            kind="interactive",
            cwd="/src",
            model=MODEL,
            title="the old one",
        ),
        ev.AgentStart(seq=2, ts=START, run="r", model=MODEL, limits=ev.RunLimits()),
        ev.MessageEnd(seq=3, ts=START, message=ev.Message(id="u", role="user", parts=(Text("hello"),))),
    ]
    async with on_stage(past=past) as stage:
        assert [block.text for block in stage.screen.transcript.blocks] == ["hello"]
        assert "the old one" in stage.rows("title_row")


# ---- sessions and replay


def record(home: Path, title: str = "the flaky one") -> Path:
    """A small session on disk."""
    paths = Paths.from_environ()
    folder = paths.sessions_dir / "p"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{title.replace(' ', '-')}.jsonl"
    start = ev.SessionStart(
        version=1,
        id=path.stem,
        kind="interactive",
        cwd=str(home / "project"),
        model=MODEL,
        title=title,
        ts=START,
    )
    with Log.create(path, start) as log:
        log.append(ev.AgentStart(ts=START + 1, run="r", model=MODEL, limits=ev.RunLimits()))
        log.append(
            ev.MessageEnd(ts=START + 2, message=ev.Message(id="u", role="user", parts=(Text("mend it"),)))
        )
        log.append(
            ev.MessageEnd(
                ts=START + 90,
                message=Message(id="a", role="assistant", parts=(Text("mended"),), origin="model"),
            )
        )
        log.append(ev.AgentEnd(ts=START + 91, run="r", stop_reason="llm_done", status="success", steps=1))
    return path


async def test_the_list_of_sessions_opens_and_replays(home: Path) -> None:
    record(home)
    async with on_stage(size=(130, 40)) as stage:
        await stage.press("f4")
        listing = stage.app.screen
        assert isinstance(listing, SessionsScreen)
        await stage.press("tab")
        await stage.until(lambda: listing.items)
        assert listing.items[0].text == "the flaky one"
        await stage.press("r")
        await stage.until(lambda: isinstance(stage.app.screen, ReplayScreen))


async def test_a_replay_is_walked_in_both_directions(home: Path) -> None:
    path = record(home)
    async with on_stage(size=(130, 40)) as stage:
        stage.app.open_replay(path)
        await stage.until(lambda: isinstance(stage.app.screen, ReplayScreen) and stage.app.screen.line.events)
        screen = stage.app.screen
        assert isinstance(screen, ReplayScreen)
        await stage.press("space")
        assert not screen.line.playing
        await stage.press("end")
        assert [block.kind for block in screen.view.blocks] == ["user", "assistant", "card"]
        await stage.press("comma")
        assert [block.kind for block in screen.view.blocks] == ["user", "assistant"]
        await stage.press("left_square_bracket")
        assert [block.kind for block in screen.view.blocks] == ["user"]
        assert [block.kind for block in screen.transcript.blocks] == ["user"]
        await stage.press("9")
        assert screen.line.speed == 16
        assert "idle" in "\n".join(screen.gauge.plain + screen.hints.plain)
        assert stage.sent == []
        await stage.press("q")
        assert stage.app.screen is stage.screen


async def test_a_replay_alone_leaves_when_it_is_closed(home: Path) -> None:
    path = record(home)
    options = UiOptions(theme="dark", replay=path)
    async with on_stage(size=(100, 30), options=options, begin=False) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, ReplayScreen) and stage.app.screen.line.events)
        await stage.press("q")
        await stage.until(lambda: not stage.app.is_running)
        assert stage.app.return_value == 0
