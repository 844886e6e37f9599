"""Lists and pages: as tall as what is in them, in columns, nothing cut that matters, and messages that go away."""

import re
from pathlib import Path

import pytest

from tests.ui.stage import MODEL, START, Stage, on_stage
from tests.ui.test_screen import record
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.engine.launch import Launch
from tui_agent.llm import catalog, local
from tui_agent.llm.catalog import KnownModel
from tui_agent.llm.local import LocalModel
from tui_agent.ui.screens.page import PageScreen, whole
from tui_agent.ui.screens.picker import PickerScreen
from tui_agent.ui.screens.replay import ReplayScreen
from tui_agent.ui.screens.sessions import SessionsScreen
from tui_agent.ui.screens.start import StartScreen
from tui_agent.ui.widgets.columns import GAP, Cells, line_of, natural, squeezed
from tui_agent.ui.widgets.row import Rows

SIZES = [(80, 24), (120, 40), (200, 50)]


def seen(stage: Stage, selector: str) -> list[str]:
    """The rows of a widget on the top screen, as they are painted."""
    rows = stage.app.screen.query_one(selector, Rows)
    return [rows.render_line(y).text.rstrip() for y in range(rows.size.height)]


def picker(stage: Stage) -> PickerScreen[object]:
    top = stage.app.screen
    assert isinstance(top, PickerScreen)
    return top


# ---- columns


@pytest.mark.parametrize("room", range(8, 140, 3))
def test_columns_never_overflow_and_give_up_numbers_before_the_text(room: int) -> None:
    rows = [
        Cells("a rather long title of a session", "mailer", ("today 10:24", "31 steps", "$1.12", "+210 −88"), "f4"),
        Cells("日本語の題", "x", ("Fri", "1 step", "", "")),
    ]  # fmt: skip
    widths = squeezed(natural(rows), room)
    assert widths.total <= room
    for row in rows:
        left, right = line_of(row, widths, [], "text")
        used = sum(len(text) for text, _ in [*left, *right])
        assert used <= room + 1 + GAP
    if widths.numbers:
        assert widths.text >= 24


def test_columns_begin_and_end_below_each_other() -> None:
    rows = [Cells("a", "one", ("1 s", "$1")), Cells("long text", "two words", ("10 s", "$0.10"))]
    widths = squeezed(natural(rows), 80)
    texts = ["".join(text for text, _ in line_of(row, widths, [], "text")[0]) for row in rows]
    assert texts == ["a          one         1 s     $1", "long text  two words  10 s  $0.10"]


# ---- height


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_chooser_is_as_tall_as_its_list(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none() -> list[LocalModel]:
        return []

    monkeypatch.setattr(local, "discover", none)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    async with on_stage(size=size, launch=Launch(cwd=str(Path.cwd())), begin=False) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, StartScreen))
        await stage.settle()
        assert stage.app.screen.query_one("Vertical").region.height == 6
        assert seen(stage, "#picker-title")[0].endswith("type to search")
        assert "OPENAI_API_KEY is set" in seen(stage, "#picker-list")[0]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("key", ["f3", "f4", "ctrl+p", "ctrl+r", "ctrl+x t"])
async def test_no_list_is_taller_than_the_screen_or_cut(key: str, size: tuple[int, int], home: Path) -> None:
    record(home)
    async with on_stage(size=size) as stage:
        await stage.press(*key.split())
        await stage.settle()
        top, box = picker(stage), stage.app.screen.query_one("Vertical").region
        assert box.height == top.tall + 4 <= size[1] * 9 // 10
        assert box.width <= size[0] * 9 // 10
        assert "esc" in seen(stage, "#picker-footer")[0]
        assert len([row for row in seen(stage, "#picker-list") if row]) == max(
            min(len(top.items), top.tall), 1
        )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("key", ["f1", "f2", "ctrl+x b", "ctrl+x i", "ctrl+x h", "ctrl+x m"])
async def test_a_page_is_as_tall_as_its_text(key: str, size: tuple[int, int]) -> None:
    async with on_stage(size=size) as stage:
        await stage.begin()
        await stage.press(*key.split())
        await stage.settle()
        top = stage.app.screen
        assert isinstance(top, PageScreen)
        box = top.query_one("Vertical").region
        assert box.height == min(len(top.body.lines), size[1] * 9 // 10 - 3) + 3
        width = top.body.size.width
        assert all(sum(len(text) for text, _ in [*left, *right]) <= width for left, right in top.body.lines)


def test_a_page_loses_nothing_where_it_is_narrow() -> None:
    text = "printf '%s' " + "x" * 100
    rows = whole(([(text, "code")], [("f4", "dim")]), 40)
    parts = ["".join(part for part, _ in left) for left, _ in rows]
    assert "".join(part.removeprefix("↪ ") for part in parts) == text
    assert all(len(part) <= 40 for part in parts)
    assert rows[-1] == ([], [("f4", "dim")])
    hanging = whole(
        ([("  ", "text"), ("key       ", "key"), ("one two three four five six", "text")], []), 30
    )
    assert ["".join(part for part, _ in left) for left, _ in hanging] == [
        "  key       one two three four",
        "            five six",
    ]


# ---- lists


async def test_the_palette_stands_in_columns() -> None:
    async with on_stage(size=(120, 40)) as stage:
        await stage.press("ctrl+p")
        await stage.settle()
        rows = seen(stage, "#picker-list")
        help_row, cost = (next(row for row in rows if f"/{name} " in row) for name in ("help", "cost"))
        assert help_row.index("all keys and commands") == cost.index("what this session has cost")
        assert help_row.endswith("f1")


async def test_models_begin_with_the_one_in_use_and_yours(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    known = [
        KnownModel("azure/gpt-5-mini", "azure", window=1000),
        KnownModel("openai/babbage-002", "openai", mode="completion", window=1000),
        KnownModel("openai/container", "openai"),
        KnownModel("openai/ft:gpt-4o", "openai", window=1000),
        KnownModel("openai/gpt-4o", "openai", window=1000),
        KnownModel("openai/gpt-5-mini", "openai", window=1000),
        KnownModel("openai/old", "openai", window=1000, deprecated="2020-01-01"),
    ]
    monkeypatch.setattr(catalog, "known", lambda: tuple(known))
    config = home / "tui-agent" / "config.yaml"
    config.parent.mkdir()
    config.write_text("models:\n  fast: {name: openai/gpt-5-nano}\n")
    async with on_stage(size=(120, 40)) as stage:
        await stage.begin()
        await stage.press("f3")
        top = picker(stage)
        names = [item.text for item in top.items]
        assert names == [MODEL, "fast", "openai/gpt-5-mini", "openai/gpt-4o", "azure/gpt-5-mini"]
        assert top.items[0].what == "in use"
        assert top.marked is top.items[0]
        await stage.type("gpt-5-mini")
        assert top.shown[0].text == "openai/gpt-5-mini"


async def test_sessions_keep_their_columns_beside_a_long_title(home: Path) -> None:
    record(home, "a title that is so long that it leaves no room for anything else on its row, and longer")
    record(home, "short")
    async with on_stage(size=(120, 40)) as stage:
        await stage.press("f4", "tab")
        await stage.until(lambda: len(picker(stage).items) == 2)
        rows = [row for row in seen(stage, "#picker-list") if row]
        assert all("1 step" in row for row in rows)
        assert len({row.index("1 step") for row in rows}) == 1
        assert any("…" in row for row in rows)


async def test_a_new_title_is_typed_on_a_line_that_says_so(home: Path) -> None:
    path = record(home, "old title")
    record(home, "another one")
    async with on_stage(size=(120, 40)) as stage:
        await stage.press("f4", "tab")
        listing = stage.app.screen
        assert isinstance(listing, SessionsScreen)
        await stage.until(lambda: len(listing.items) == 2)
        while listing.marked is None or listing.marked.text != "old title":
            await stage.press("down")
        order = [item.value.id for item in listing.items]
        await stage.press("n", "ctrl+u", *"new")
        assert seen(stage, "#picker-footer")[0].startswith("new title: new▏")
        assert "new" not in seen(stage, "#picker-title")[0]
        assert len(listing.shown) == 2, "it is no search"
        await stage.press("down", "enter")
        await stage.until(lambda: any(item.text == "new" for item in listing.items))
        assert listing.marked is not None
        assert listing.marked.value.path == path
        assert [item.value.id for item in listing.items] == order


async def test_the_session_on_the_screen_gets_its_title_from_its_engine(home: Path) -> None:
    path = record(home)
    async with on_stage(size=(120, 40)) as stage:
        await stage.tell(ev.Ready(session_id="s", path=str(path), model=MODEL))
        await stage.press("f4", "tab")
        await stage.until(lambda: picker(stage).items)
        await stage.press("n", *"!", "enter")
        assert stage.sent == [cmd.Rename(title="the flaky one!")]


async def test_themes_are_seen_before_they_are_taken() -> None:
    async with on_stage(size=(120, 40)) as stage:
        await stage.press("ctrl+x", "t")
        await stage.settle()
        rows = seen(stage, "#picker-list")
        assert rows[0].split() == ["auto", "as", "the", "terminal's", "background", "is"]
        assert "▸ ● dark" in "\n".join(rows)
        light = next(item for item in picker(stage).items if item.text == "light")
        assert light.what == "light"
        assert "make the retry test pass" in "\n".join(seen(stage, "#picker-preview"))
        side = stage.app.screen.query_one("#picker-preview", Rows)
        before = [segment.style for segment in side.render_line(0)]
        await stage.type("light")
        assert [segment.style for segment in side.render_line(0)] != before


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_completions_cover_the_whole_width_in_two_columns(size: tuple[int, int]) -> None:
    async with on_stage(size=size) as stage:
        await stage.begin()
        await stage.end()
        await stage.type("/c")
        box = stage.screen.completions
        assert (box.region.x, box.region.right) == (0, size[0])
        assert box.region.bottom == stage.composer.region.y
        rows = [box.render_line(y).text for y in range(box.size.height)]
        found = [re.search(r"what (is|this|the)", row) for row in rows]
        places = [match.start() for match in found if match]
        assert len(places) > 1
        assert len(set(places)) == 1


# ---- the empty session, and messages


async def test_an_empty_session_says_what_it_is_until_something_is_asked() -> None:
    async with on_stage() as stage:
        greeting = stage.screen.query_one("#greeting", Rows)
        assert greeting.display
        shown = "\n".join(greeting.plain)
        assert "a coding agent" in shown
        assert "asks before what is sensitive" in shown
        assert "f1 all keys" in shown
        assert greeting.region.bottom <= stage.screen.activity.region.y
        await stage.begin()
        assert not greeting.display


async def test_what_a_key_said_goes_with_the_next_key_or_by_itself() -> None:
    async with on_stage() as stage:
        clock = START + 60
        stage.app.now = lambda: clock
        stage.screen.say("last answer copied")
        await stage.press("a")
        assert stage.said == "last answer copied", "it was not read yet"
        clock += 2
        await stage.press("b")
        assert stage.said == ""
        stage.screen.say("saving the session before")
        clock += 7
        stage.screen.refresh_rows()
        assert stage.rows("activity").strip() == ""


async def test_nothing_is_said_of_the_session_before_in_a_new_one() -> None:
    async with on_stage() as stage:
        await stage.begin()
        stage.app.open_session(None)
        await stage.until(lambda: len(stage.sources) == 2 and stage.source.started)
        assert stage.said == ""


async def test_a_replay_offers_no_keys_that_stop_what_went_on(home: Path) -> None:
    path = record(home)
    async with on_stage(size=(130, 40)) as stage:
        stage.app.open_replay(path)
        await stage.until(lambda: isinstance(stage.app.screen, ReplayScreen) and stage.app.screen.line.events)
        screen = stage.app.screen
        assert isinstance(screen, ReplayScreen)
        await stage.press("end", "comma", "comma")
        assert screen.view.running
        assert "stops" not in "\n".join(screen.activity.plain)
        assert "●" in "\n".join(screen.activity.plain)
        assert "step 0" not in "\n".join(screen.activity.plain)


async def test_what_can_not_be_written_leaves_no_file(home: Path) -> None:
    async with on_stage() as stage:
        said = stage.app.library.export_of(home / "none.jsonl", "out.md")
        assert "could not be written" in said
        assert "[Errno" not in said
        assert not (stage.app.cwd / "out.md").exists()
