"""Writing: whole characters, pastes, drafts, history, completions, the editor."""

import json
import time
from pathlib import Path

import pytest
from textual import events

from tests.ui.stage import on_stage
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.ui.app import DRAFT_DELAY

FAMILY = "👩‍👩‍👧‍👦"
FLAG = "🇪🇸"


# ---- pastes


async def test_a_paste_of_a_megabyte_is_folded_and_sent_byte_for_byte() -> None:
    text = "".join(f"line {number:06d} with a «word» and a 日本\n" for number in range(25_000))
    assert len(text.encode()) > 1_000_000
    async with on_stage() as stage:
        await stage.type("look: ")
        began = time.perf_counter()
        await stage.paste(text)
        assert time.perf_counter() - began < 1.0
        assert stage.sent == []
        assert stage.composer.text.startswith("look: [pasted #1: 25,001 lines")
        assert len(stage.composer.text) < 100
        await stage.press("enter")
        assert stage.sent == [cmd.Prompt(text="look: " + text)]


async def test_a_paste_that_ends_in_a_line_end_does_not_send_itself() -> None:
    async with on_stage() as stage:
        await stage.paste("rm -rf /\n")
        assert stage.sent == []
        assert stage.composer.text == "rm -rf /\n"


async def test_line_ends_of_terminals_become_line_ends() -> None:
    async with on_stage() as stage:
        await stage.paste("one\rtwo\r\nthree")
        assert stage.composer.text == "one\ntwo\nthree"


async def test_control_sequences_in_a_paste_are_kept_but_never_drawn() -> None:
    text = "safe \x1b]0;owned\x07\x1b[2J text"
    async with on_stage() as stage:
        await stage.paste(text)
        shown = "".join(segment.text for y in range(3) for segment in stage.composer.render_line(y))
        assert "\x1b" not in shown
        await stage.press("enter")
        assert stage.sent == [cmd.Prompt(text=text)]


async def test_a_folded_paste_is_one_character_for_the_caret() -> None:
    async with on_stage() as stage:
        await stage.type("ab")
        await stage.paste("x\n" * 30)
        before = stage.composer.text
        await stage.press("left")
        assert stage.composer.cursor_location == (0, 2)
        await stage.press("right")
        assert stage.composer.cursor_location == (0, len(before))
        await stage.press("backspace")
        assert stage.composer.text == "ab"


async def test_a_folded_paste_opens_where_it_stands() -> None:
    async with on_stage() as stage:
        await stage.paste("x\n" * 20)
        await stage.press("ctrl+x", "x")
        assert stage.composer.text == "x\n" * 20


async def test_two_pastes_keep_their_own_texts() -> None:
    async with on_stage() as stage:
        one, two = "a\n" * 20, "b\n" * 20
        await stage.paste(one)
        await stage.type(" and ")
        await stage.paste(two)
        await stage.press("enter")
        assert stage.sent == [cmd.Prompt(text=f"{one} and {two}")]


# ---- whole characters


@pytest.mark.parametrize("whole", [FAMILY, FLAG, "e\u0301", "👍🏽", "1️⃣", "日"])
async def test_moving_and_deleting_by_whole_characters(whole: str) -> None:
    async with on_stage() as stage:
        await stage.paste(f"a{whole}b")
        await stage.press("left", "left")
        assert stage.composer.cursor_location == (0, 1)
        await stage.press("right")
        assert stage.composer.cursor_location == (0, 1 + len(whole))
        await stage.press("backspace")
        assert stage.composer.text == "ab"


async def test_deleting_to_the_right_takes_a_whole_character() -> None:
    async with on_stage() as stage:
        await stage.paste(f"{FLAG}{FLAG}")
        await stage.press("home", "delete")
        assert stage.composer.text == FLAG


async def test_the_caret_is_drawn_on_the_whole_character() -> None:
    async with on_stage() as stage:
        await stage.paste(f"a{FLAG}")
        await stage.press("left")
        strip = stage.composer.render_line(0)
        reversed_text = [segment.text for segment in strip if segment.style and segment.style.reverse]
        assert reversed_text == [FLAG]
        assert strip.cell_length == stage.composer.scrollable_content_region.width


async def test_a_vertical_move_never_lands_inside_a_character() -> None:
    async with on_stage() as stage:
        await stage.paste(f"abcdef\n{FAMILY}x")
        await stage.press("up", "home", "right", "right", "down")
        row, column = stage.composer.cursor_location
        assert row == 1
        assert column in {0, len(FAMILY), len(FAMILY) + 1}


# ---- drafts and history


async def test_a_draft_is_on_disk_within_half_a_second() -> None:
    assert DRAFT_DELAY <= 0.5
    async with on_stage() as stage:
        await stage.type("a long thought")
        await stage.paste("x\n" * 40)
        stage.app.save_draft()
        files = list(stage.app.drafts.path.parent.glob("*.json"))
        assert len(files) == 1
        saved = json.loads(files[0].read_text())
        assert saved["text"] == stage.composer.text
        assert saved["pastes"] == {"1": "x\n" * 40}
        assert files[0].stat().st_mode & 0o777 == 0o600
    async with on_stage() as stage:
        assert stage.composer.text.startswith("a long thought[pasted #1")
        await stage.press("enter")
        assert stage.sent == [cmd.Prompt(text="a long thought" + "x\n" * 40)]
        stage.app.save_draft()
        assert not files[0].exists()


async def test_a_broken_drafts_file_is_no_obstacle() -> None:
    async with on_stage() as stage:
        path = stage.app.drafts.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"text": ["no"]')
    async with on_stage() as stage:
        assert stage.composer.text == ""


async def test_up_and_down_go_through_what_was_sent_and_back_to_the_draft() -> None:
    async with on_stage() as stage:
        await stage.type("first\n")
        await stage.type("second\n")
        await stage.type("draft")
        await stage.press("up")
        assert stage.composer.text == "second"
        await stage.press("up")
        assert stage.composer.text == "first"
        await stage.press("down", "down")
        assert stage.composer.text == "draft"


async def test_sending_something_old_does_not_lose_the_draft() -> None:
    async with on_stage() as stage:
        await stage.type("first\n")
        await stage.type("draft")
        await stage.press("up", "enter")
        assert stage.sent[-1] == cmd.Prompt(text="first")
        assert stage.composer.text == "draft"


async def test_up_inside_a_text_of_many_lines_moves_the_caret() -> None:
    async with on_stage() as stage:
        await stage.type("sent\n")
        await stage.paste("one\ntwo")
        await stage.press("up")
        assert stage.composer.text == "one\ntwo"
        assert stage.composer.cursor_location[0] == 0


async def test_history_is_searched_and_the_choice_is_not_sent() -> None:
    async with on_stage() as stage:
        for text in ("fix the parser", "write the docs", "fix the lexer"):
            await stage.type(text + "\n")
        _ = stage.sent
        await stage.press("ctrl+r", "p", "a", "r", "s")
        await stage.press("enter")
        assert stage.composer.text == "fix the parser"
        assert stage.sent == []


async def test_history_outlives_the_program() -> None:
    async with on_stage() as stage:
        await stage.type("yesterday\n")
    async with on_stage() as stage:
        await stage.press("up")
        assert stage.composer.text == "yesterday"


# ---- completions


async def test_commands_are_completed_and_run() -> None:
    async with on_stage() as stage:
        await stage.type("/comp")
        assert stage.screen.completions.is_open
        await stage.press("enter")
        assert stage.composer.text == "/compact "
        await stage.press("enter")
        assert stage.sent == [cmd.Compact()]


async def test_values_of_commands_are_completed() -> None:
    async with on_stage() as stage:
        await stage.type("/mode pl")
        await stage.press("tab")
        assert stage.composer.text == "/mode plan"
        await stage.press("enter")
        assert stage.sent == [cmd.SetMode(mode="plan")]


async def test_paths_are_completed_with_ignored_ones_last(home: Path) -> None:
    project = home / "project"
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("build/\n")
    for name in ("src/retry.py", "docs/retry.md", "build/retry.o"):
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    async with on_stage() as stage:
        await stage.type("look at @retr")
        await stage.until(lambda: len(stage.screen.completions.items) == 3)
        shown = [item.shown for item in stage.screen.completions.items]
        assert set(shown[:2]) == {"src/retry.py", "docs/retry.md"}
        assert shown[-1] == "build/retry.o"
        await stage.press("down", "tab")
        assert stage.composer.text == f"look at @{shown[1]} "
        assert stage.sent == []


async def test_escape_closes_completions_and_interrupts_nothing() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.type("/mo")
        await stage.press("escape")
        assert not stage.screen.completions.is_open
        assert stage.sent == []
        assert stage.composer.text == "/mo"


# ---- the editor


async def test_the_editors_text_comes_back_and_is_not_sent(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    script = home / "editor"
    script.write_text('#!/bin/sh\nprintf "written elsewhere\\n" > "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    async with on_stage() as stage:
        monkeypatch.setattr(stage.app, "suspend", _Nothing)
        await stage.type("draft")
        await stage.press("ctrl+g")
        assert stage.composer.text == "written elsewhere"
        assert stage.sent == []


class _Nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


async def test_an_editor_that_fails_leaves_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor")
    async with on_stage() as stage:
        monkeypatch.setattr(stage.app, "suspend", _Nothing)
        await stage.type("draft")
        await stage.press("ctrl+g")
        assert stage.composer.text == "draft"
        assert "could not be started" in stage.said


# ---- layout of the text


async def test_the_composer_grows_to_a_third_and_streaming_never_moves_it() -> None:
    async with on_stage(size=(80, 24)) as stage:
        await stage.begin()
        for _ in range(20):
            await stage.press("shift+enter")
        assert stage.composer.region.height <= 8
        before = stage.composer.region
        await stage.tell((ev.MessageStart, {"id": "a1", "role": "assistant"}))
        for piece in ("# Title\n\n", "text " * 200, "\n\n- a\n- b\n"):
            await stage.tell(ev.MessageUpdate(id="a1", delta="text", text=piece, ts=stage.ts))
            assert stage.composer.region == before


async def test_undo_brings_a_cleared_text_back() -> None:
    async with on_stage() as stage:
        await stage.type("abc")
        stage.app.post_message(events.Key("ctrl+u", None))
        await stage.settle()
        assert stage.composer.text == ""
        await stage.press("ctrl+z")
        assert stage.composer.text == "abc"
