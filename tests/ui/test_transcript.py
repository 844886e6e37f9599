"""The transcript as a widget: it keeps its place, follows, selects sources, finds, folds, and stays cheap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.filter import Monochrome
from textual.geometry import Offset
from textual.message import Message
from textual.pilot import Pilot
from textual.selection import SELECT_ALL, Selection

from tests.ui.painting import NOW, dark
from tui_agent.core.tool import Output
from tui_agent.ui.blocks import AssistantBlock, Block, NoticeBlock, ReasoningBlock, ToolBlock, UserBlock
from tui_agent.ui.render.roll import KEPT_ROWS, KEPT_SHEETS
from tui_agent.ui.render.selecting import position
from tui_agent.ui.themes import load
from tui_agent.ui.widgets.transcript import Transcript


class Stand(App[None]):
    """A transcript alone on a screen, and what it said."""

    def __init__(self, blocks: list[Block], *, reduced_motion: bool = True) -> None:
        super().__init__()
        self.transcript = Transcript(dark(), reduced_motion, clock=lambda: NOW)
        self.start = blocks
        self.said: list[Message] = []
        self.layouts = 0

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_mount(self) -> None:
        self.transcript.set_blocks(self.start)

    def on_transcript_selected(self, event: Message) -> None:
        self.said.append(event)

    on_transcript_toggled = on_transcript_link_clicked = on_transcript_selected
    on_transcript_unread_changed = on_transcript_found = on_transcript_selected


class Held:
    """What a test holds."""

    def __init__(self, app: Stand, pilot: Pilot[None]) -> None:
        self.app, self.pilot, self.view = app, pilot, app.transcript

    def rows(self) -> list[str]:
        """What is on the screen."""
        view = self.view
        strips = view.render_lines(view.size.region)
        assert all(strip.cell_length == view.size.width for strip in strips)
        return [strip.text[:-1].rstrip() for strip in strips]

    @property
    def top(self) -> str:
        return self.rows()[0]

    async def grow(self, block: Block, text: str) -> None:
        """More of a streaming block, drawn."""
        block.text += text
        block.version += 1
        self.view.changed(block)
        self.view.flush()
        await self.pilot.pause()

    def said(self, kind: type[Message]) -> list[Any]:
        return [message for message in self.app.said if isinstance(message, kind)]

    def select(self, start: tuple[int, int, int, int], end: tuple[int, int, int, int]) -> None:
        """Select from (block, part, line, character) to another."""
        offsets = [Offset(place[3], position(*place[:3])) for place in (start, end)]
        self.app.screen.selections = {self.view: Selection(*offsets)}


@asynccontextmanager
async def stand(
    *blocks: Block, size: tuple[int, int] = (80, 20), reduced_motion: bool = True
) -> AsyncGenerator[Held]:
    app = Stand(list(blocks), reduced_motion=reduced_motion)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Held(app, pilot)


def prompts(count: int) -> list[Block]:
    return [UserBlock(f"u{number}", f"prompt {number}") for number in range(count)]


def command(text: str = "", status: str = "ok", id: str = "t") -> ToolBlock:
    block = ToolBlock(id, text, name="run_command", summary="make", status=status, outcome="exit 0")
    block.live = status == "running"
    return block


# ---- following, and keeping one's place


async def test_it_opens_at_the_end_and_follows() -> None:
    reply = AssistantBlock("a", "", live=True)
    async with stand(*prompts(30)) as held:
        assert held.rows()[-1] == " ▌ prompt 29"
        held.view.add(reply)
        await held.grow(reply, "one\n\ntwo\n\nthree")
        assert held.rows()[-1] == "   three"
        assert held.view.following


async def test_scrolled_up_the_view_stays_while_text_arrives() -> None:
    reply = AssistantBlock("a", "start", live=True)
    async with stand(*prompts(30), reply) as held:
        held.view.scroll_page(-1)
        before = held.rows()
        for number in range(50):
            await held.grow(reply, f" more **text** {number}\n\n```py\nx = {number}\n```\n")
            assert held.rows() == before
        assert not held.view.following
        assert held.view.unread == 1
        held.view.scroll_bottom()
        assert "x = 49" in held.rows()[-1]
        await held.pilot.pause()
        assert [event.count for event in held.said(Transcript.UnreadChanged)] == [1, 0]


async def test_in_the_middle_of_a_streaming_reply_the_view_stays_too() -> None:
    reply = AssistantBlock(
        "a", "".join(f"{n}. item {n} of a list that wraps {'word ' * 20}\n" for n in range(40)), live=True
    )
    async with stand(reply) as held:
        held.view.scroll_page(-1)
        before = held.rows()
        for number in range(40, 60):
            await held.grow(reply, f"{number}. item\n\n| a | b |\n|---|---|\n| x | y |\n\n")
            assert held.rows() == before


async def test_new_blocks_are_counted_until_they_are_seen() -> None:
    async with stand(*prompts(30)) as held:
        held.view.scroll_top()
        held.view.add(NoticeBlock("n1", "one"), UserBlock("n2", "two"))
        held.view.flush()
        assert held.view.unread == 2
        held.view.scroll_page(0.5)
        assert held.view.unread == 2
        held.view.scroll_page(9)
        assert held.view.unread == 0


async def test_what_shrinks_above_the_view_does_not_move_it() -> None:
    running = command("line\n" * 30, "running")
    async with stand(*prompts(3), running, *prompts(60)[5:]) as held:
        held.view.scroll_top()
        held.view.scroll_page(1)
        before = held.rows()
        assert before[0] != ""
        running.status, running.live = "ok", False
        await held.grow(running, "")
        assert held.rows() == before


async def test_a_resize_keeps_the_first_line() -> None:
    long = [UserBlock(f"u{n}", f"prompt {n} " + "with many words " * 30) for n in range(30)]
    async with stand(*long) as held:
        held.view.scroll_page(-3)
        await held.pilot.pause()
        for width in (40, 120, 25, 80):
            first = held.view._anchor
            assert first is not None
            await held.pilot.resize_terminal(width, 20)
            await held.pilot.pause()
            place = held.view._places()[0]
            assert held.view._roll.entries[place.entry].block is first.block
            assert place.row is not None
            assert place.row.start <= first.start < max(place.row.end, 1) + 1


async def test_a_resize_at_the_end_stays_at_the_end() -> None:
    async with stand(*prompts(30)) as held:
        for size in ((40, 30), (100, 10), (80, 20)):
            await held.pilot.resize_terminal(*size)
            await held.pilot.pause()
            assert held.rows()[-1] == " ▌ prompt 29"


@pytest.mark.parametrize("width", [1, 2, 5, 10, 19])
async def test_a_screen_that_is_far_too_narrow_is_no_error(width: int) -> None:
    blocks = [
        UserBlock("u", "中文 prompt"),
        command("x\n", "error"),
        AssistantBlock("a", "| a | b |\n|--|--|\n| c | d |\n\n> - x"),
    ]
    async with stand(*blocks) as held:
        await held.pilot.resize_terminal(width, 20)
        await held.pilot.pause()
        assert len(held.rows()) == 20


async def test_the_wheel_moves_and_lets_go_of_the_end() -> None:
    async with stand(*prompts(30)) as held:
        await held.pilot._post_mouse_events([events.MouseScrollUp], held.view, (5, 5))
        await held.pilot.pause()
        assert not held.view.following
        assert held.rows()[-1] != " ▌ prompt 29"


async def test_paging_up_and_down_comes_back() -> None:
    async with stand(*prompts(30)) as held:
        held.view.scroll_top()
        first = held.rows()
        held.view.scroll_page(1)
        assert held.rows()[0] == first[-1]
        held.view.scroll_page(-1)
        assert held.rows() == first


# ---- cost


async def test_many_changes_are_one_drawing() -> None:
    reply = AssistantBlock("a", "x", live=True)
    async with stand(reply) as held:
        drawings = 0
        draw = held.view._draw

        def counted() -> None:
            nonlocal drawings
            drawings += 1
            draw()

        held.view._draw = counted
        for _ in range(1000):
            reply.text += " more"
            held.view.changed(reply)
        assert drawings == 0
        held.view.flush()
        assert drawings == 1


async def test_a_change_is_drawn_by_itself_soon() -> None:
    reply = AssistantBlock("a", "x", live=True)
    async with stand(reply) as held:
        drawn = asyncio.Event()
        draw = held.view._draw
        held.view._draw = lambda: (draw(), drawn.set())[0]
        reply.text = "x marks"
        held.view.changed(reply)
        await asyncio.wait_for(drawn.wait(), 10)
        assert held.rows()[1] == "   x marks"


async def test_growing_never_lays_out_the_screen() -> None:
    reply = AssistantBlock("a", "x", live=True)
    async with stand(*prompts(40), reply) as held:
        layouts: list[object] = []
        refresh = held.app.screen._refresh_layout
        held.app.screen._refresh_layout = lambda *args, **kw: (layouts.append(args), refresh(*args, **kw))[1]
        for _ in range(5):
            await held.grow(reply, "more\n\n")
        assert layouts == []
        assert held.view.virtual_size.height == held.view._roll.total


async def test_rows_and_sheets_that_are_kept_are_few() -> None:
    async with stand(*[AssistantBlock(f"a{n}", "text\n\n" * 30) for n in range(900)]) as held:
        for _ in range(300):
            held.view.scroll_page(-1)
        roll = held.view._roll
        assert roll._kept_rows <= KEPT_ROWS
        assert len(roll._sheets) <= KEPT_SHEETS
        assert roll._kept_rows == sum(roll._kept.values()) == sum(len(part.rows or ()) for part in roll._kept)


async def test_a_drawn_line_is_not_drawn_again() -> None:
    async with stand(*prompts(30)) as held:
        first = held.view.render_lines(held.view.size.region)
        again = held.view.render_lines(held.view.size.region)
        assert all(one is two for one, two in zip(first, again, strict=True))


async def test_only_the_end_of_a_long_reply_is_laid_out_again() -> None:
    reply = AssistantBlock("a", "".join(f"paragraph {n}\n\n" for n in range(300)), live=True)
    async with stand(reply) as held:
        parts = list(held.view._roll.parts(0))
        await held.grow(reply, "end")
        assert held.view._roll.parts(0)[:299] == parts[:299]


# ---- folding


async def test_a_toggle_keeps_the_title_where_it_is() -> None:
    block = command("".join(f"line {n}\n" for n in range(200)))
    async with stand(*prompts(5), block, *prompts(30)[6:]) as held:
        held.view.scroll_to_block(block)
        row = next(y for y, text in enumerate(held.rows()) if "run_command" in text)
        held.view.toggle(block)
        rows = held.rows()
        assert "run_command" in rows[row]
        assert rows[row + 1] == "   │ line 0"
        assert not held.view.is_folded(block)
        held.view.toggle(block)
        assert "run_command" in held.rows()[row]
        assert held.view.is_folded(block)
        await held.pilot.pause()
        assert [event.folded for event in held.said(Transcript.Toggled)] == [False, True]


async def test_a_failed_command_opens_before_it_folds() -> None:
    block = command("".join(f"line {n}\n" for n in range(50)), "error")
    async with stand(block, size=(80, 70)) as held:
        assert len([row for row in held.rows() if "line" in row]) == 9
        held.view.toggle(block)
        assert len([row for row in held.rows() if "line" in row]) == 50
        held.view.toggle(block)
        assert len([row for row in held.rows() if "line" in row]) == 0


async def test_all_calls_open_and_fold_at_once() -> None:
    blocks = [command("out\n", id=f"t{n}") for n in range(3)]
    async with stand(*blocks, ReasoningBlock("r", "hm", folded=True)) as held:
        assert held.view.toggle_all()
        assert sum("out" in row for row in held.rows()) == 3
        assert held.view.is_folded(held.view.blocks[3])
        assert not held.view.toggle_all()
        assert sum("out" in row for row in held.rows()) == 0


async def test_a_fold_outlives_a_replay_that_makes_new_blocks() -> None:
    async with stand(command("out\n")) as held:
        held.view.toggle(held.view.blocks[0])
        held.view.set_blocks([command("out\n")])
        assert not held.view.is_folded(held.view.blocks[0])


async def test_a_click_on_a_title_toggles_and_a_drag_does_not() -> None:
    block = command("out\n")
    async with stand(block) as held:
        await held.pilot.click(Transcript, offset=(10, 1))
        assert not held.view.is_folded(block)
        await held.pilot.click(Transcript, offset=(10, 2))
        assert not held.view.is_folded(block)
        await held.pilot.mouse_down(Transcript, offset=(10, 1))
        await held.pilot.hover(Transcript, offset=(20, 1))
        await held.pilot.mouse_up(Transcript, offset=(20, 1))
        assert not held.view.is_folded(block)


# ---- the block cursor


async def test_the_cursor_walks_over_blocks_and_back_to_the_end() -> None:
    blocks = [*prompts(20), command(id="t1"), AssistantBlock("a", "x"), command(id="t2")]
    async with stand(*blocks, size=(80, 10)) as held:
        view = held.view
        assert view.select_previous() is blocks[-1]
        assert view.select_previous("tool") is blocks[20]
        assert any(row.startswith("▎  ✓ run_command") for row in held.rows())
        for _ in range(15):
            view.select_previous()
        assert view.selected is blocks[5]
        assert any(row == "▎▌ prompt 5" for row in held.rows())
        assert not view.following
        for _ in range(17):
            assert view.select_next() is not None
        assert view.select_next() is None
        assert view.selected is None
        assert view.following
        await held.pilot.pause()
        assert held.said(Transcript.Selected)[-1].block is None


async def test_the_source_of_a_block_is_copied_as_it_came() -> None:
    async with stand() as held:
        assert held.view.block_source(AssistantBlock("a", "# **x**\n\t1")) == "# **x**\n\t1"


# ---- blocks that go


async def test_blocks_can_go_from_anywhere() -> None:
    blocks = prompts(6)
    async with stand(*blocks) as held:
        held.view.select(blocks[2])
        held.view.remove_block(blocks[2])
        assert held.view.selected is None
        assert [row for row in held.rows() if row] == [f" ▌ prompt {n}" for n in (0, 1, 3, 4, 5)]
        held.view.truncate(2)
        assert [row for row in held.rows() if row] == [" ▌ prompt 0", " ▌ prompt 1"]
        held.view.changed(blocks[5])
        held.view.flush()
        held.view.add(UserBlock("new", "new"))
        held.view.flush()
        assert held.rows()[5] == " ▌ new"


async def test_losing_the_first_block_in_view_is_no_error() -> None:
    blocks = prompts(60)
    async with stand(*blocks) as held:
        held.view.scroll_page(-1)
        anchor = held.view._anchor
        assert anchor is not None
        held.view.remove_block(anchor.block)
        assert len([row for row in held.rows() if row]) >= 9


# ---- selecting


async def test_a_drag_copies_the_source_without_gutter_and_wrapping() -> None:
    text = "a prompt that is long enough to wrap over more than one row of this narrow screen"
    async with stand(UserBlock("u", text), size=(40, 10)) as held:
        assert held.rows()[1:3] == [
            " ▌ a prompt that is long enough to",
            " ▌ wrap over more than one row of this",
        ]
        await held.pilot.mouse_down(Transcript, offset=(5, 1))
        await held.pilot.hover(Transcript, offset=(6, 2))
        await held.pilot.mouse_up(Transcript, offset=(6, 2))
        expected = "prompt that is long enough to wrap"
        assert held.app.screen.get_selected_text() == expected
        assert await held.view.selected_text() == expected


async def test_a_drag_from_the_gutter_takes_the_line_from_its_start() -> None:
    async with stand(UserBlock("u", "one\ntwo\nthree")) as held:
        await held.pilot.mouse_down(Transcript, offset=(0, 1))
        await held.pilot.hover(Transcript, offset=(60, 2))
        await held.pilot.mouse_up(Transcript, offset=(60, 2))
        assert held.app.screen.get_selected_text() == "one\ntwo"


async def test_selected_code_keeps_its_tabs_and_long_lines() -> None:
    code = "def f():\n\treturn 1  # " + "long " * 40
    async with stand(AssistantBlock("a", f"```python\n{code}\n```"), size=(50, 20)) as held:
        held.select((0, 0, 0, 0), (0, 0, 1, 1 << 20))
        assert held.app.screen.get_selected_text() == code
        held.select((0, 0, 1, 4), (0, 0, 1, 10))
        assert held.app.screen.get_selected_text() == "return"


async def test_blocks_out_of_view_are_copied_too() -> None:
    async with stand(*prompts(300)) as held:
        held.app.screen.selections = {held.view: SELECT_ALL}
        copied = held.app.screen.get_selected_text()
        assert copied == "\n\n".join(f"prompt {n}" for n in range(300)) == await held.view.selected_text()


async def test_a_title_is_copied_as_a_whole() -> None:
    async with stand(command("out\n")) as held:
        held.select((0, 0, 0, 3), (0, 0, 0, 9))
        assert held.app.screen.get_selected_text() == "✓ run_command make  exit 0 · 0.0 s"


async def test_a_selection_survives_text_folding_and_another_width() -> None:
    block, reply = command("out\n"), AssistantBlock("a", "", live=True)
    async with stand(
        UserBlock("u", "the first " + "word " * 30), block, UserBlock("v", "second"), reply
    ) as held:
        held.select((0, 0, 0, 4), (2, 0, 0, 3))
        expected = held.app.screen.get_selected_text()
        assert expected is not None
        assert expected.startswith("first word")
        assert expected.endswith("sec")
        await held.grow(reply, "more\n\ntext")
        await held.pilot.resize_terminal(30, 12)
        await held.pilot.pause()
        assert held.app.screen.get_selected_text() == expected
        held.view.toggle(block)
        assert held.app.screen.get_selected_text() == expected.replace("s\n", "s\nout\n", 1)


async def test_what_is_selected_is_seen() -> None:
    async with stand(UserBlock("u", "one 中文 two")) as held:
        held.select((0, 0, 0, 4), (0, 0, 0, 6))
        strip = held.view.render_lines(held.view.size.region)[1]
        ground = dark().style("selection").bgcolor
        assert [segment.text for segment in strip if segment.style and segment.style.bgcolor == ground] == [
            "中文"
        ]


async def test_a_drag_over_the_edge_goes_on_selecting() -> None:
    async with stand(*prompts(60), size=(80, 12)) as held:
        held.view.scroll_top()
        await held.pilot.mouse_down(Transcript, offset=(3, 1))
        await held.pilot.hover(Transcript, offset=(3, 10))
        held.view.scroll_y = 20
        await held.pilot.pause()
        await held.pilot.pause()
        copied = held.app.screen.get_selected_text()
        assert copied is not None
        assert copied.count("prompt") > 10
        await held.pilot.mouse_up(Transcript, offset=(3, 10))


async def test_a_double_click_takes_a_word_and_a_triple_click_its_line() -> None:
    async with stand(UserBlock("u", "see src/a_b.py:43 now")) as held:
        await held.pilot.click(Transcript, offset=(10, 1), times=2)
        assert held.app.screen.get_selected_text() == "src/a_b.py:43"
        await held.pilot.click(Transcript, offset=(10, 1), times=3)
        assert held.app.screen.get_selected_text() == "see src/a_b.py:43 now"


async def test_a_rewind_lets_go_of_the_selection() -> None:
    async with stand(*prompts(5)) as held:
        held.select((3, 0, 0, 0), (4, 0, 0, 3))
        held.view.truncate(2)
        assert held.app.screen.get_selected_text() is None


# ---- links


async def test_a_click_on_a_link_says_its_address() -> None:
    reply = AssistantBlock("a", "read [the docs](https://x.org/a) [bad](https://u@x.org)")
    async with stand(reply) as held:
        for x in (4, 10, 45):
            await held.pilot.click(Transcript, offset=(x, 1))
        assert [event.url for event in held.said(Transcript.LinkClicked)] == ["https://x.org/a"]


# ---- find


async def test_matches_are_found_highlighted_and_walked_over() -> None:
    async with stand(*prompts(100)) as held:
        held.view.scroll_top()
        assert held.view.find("PROMPT 5") == 11
        ground = dark().style("find-current").bgcolor
        marked = [
            segment.text
            for strip in held.view.render_lines(held.view.size.region)
            for segment in strip
            if segment.style and segment.style.bgcolor == ground
        ]
        assert marked == ["prompt 5"]
        held.view.next_match()
        assert any(row.endswith("prompt 50") for row in held.rows())
        held.view.previous_match()
        held.view.previous_match()
        assert any(row.endswith("prompt 59") for row in held.rows())
        await held.pilot.pause()
        assert [(event.index, event.total) for event in held.said(Transcript.Found)] == [
            (1, 11),
            (2, 11),
            (1, 11),
            (11, 11),
        ]
        assert held.view.find("") == 0


async def test_find_starts_where_one_looks() -> None:
    async with stand(*prompts(100)) as held:
        held.view.find("prompt")
        await held.pilot.pause()
        assert held.said(Transcript.Found)[-1].index > 85


async def test_a_match_inside_a_folded_block_opens_it() -> None:
    block = command("".join(f"line {n}\n" for n in range(500)))
    async with stand(block, *prompts(30)) as held:
        assert held.view.find("line 321") == 1
        assert any("line 321" in row for row in held.rows())


async def test_a_match_that_came_later_is_found() -> None:
    reply = AssistantBlock("a", "needle", live=True)
    async with stand(reply) as held:
        assert held.view.find("needle") == 1
        await held.grow(reply, " and needle")
        held.view.next_match()
        await held.pilot.pause()
        assert (held.said(Transcript.Found)[-1].index, held.said(Transcript.Found)[-1].total) == (2, 2)


async def test_nothing_found_is_said() -> None:
    async with stand(*prompts(3)) as held:
        assert held.view.find("nowhere") == 0
        held.view.next_match()
        await held.pilot.pause()
        assert {(event.index, event.total) for event in held.said(Transcript.Found)} == {(0, 0)}


# ---- looks


async def test_another_theme_paints_everything_anew_in_place() -> None:
    async with stand(*prompts(60)) as held:
        held.view.scroll_page(-1)
        before = held.rows()
        colours = held.view.render_lines(held.view.size.region)[1]
        light, _ = load("light")
        assert light is not None
        held.view.set_theme(light)
        assert held.rows() == before
        assert held.view.render_lines(held.view.size.region)[1] != colours


async def test_filters_of_the_app_hold_for_every_row() -> None:
    async with stand(UserBlock("u", "x"), command("out\n", "error")) as held:
        held.app._filters.append(Monochrome())
        held.select((0, 0, 0, 0), (0, 0, 0, 1))
        for strip in held.view.render_lines(held.view.size.region):
            for segment in strip:
                assert segment.style is not None
                colour = segment.style.color
                assert colour is None or colour.triplet is None or len({*colour.triplet}) == 1


async def test_a_running_mark_pulses_and_its_time_counts() -> None:
    block = command("", "running")
    block.started = NOW - 3
    async with stand(block, reduced_motion=False) as held:
        bright = held.view.render_lines(held.view.size.region)[1]
        held.view._pulse()
        dim = held.view.render_lines(held.view.size.region)[1]
        assert bright.text == dim.text
        assert bright != dim
        held.view._roll.clock = lambda: NOW + 5
        held.view._pulse()
        assert held.rows()[1].endswith(" 8 s")


async def test_nothing_pulses_under_reduced_motion_or_out_of_view() -> None:
    block = command("", "running")
    async with stand(block, reduced_motion=True) as held:
        before = held.view.render_lines(held.view.size.region)[1]
        held.view._pulse()
        assert held.view.render_lines(held.view.size.region)[1] == before
        assert held.view._beat is not None
        assert held.view._beat._active.is_set()
        held.view.add(*prompts(60))
        held.view.flush()
        assert not held.view._beat._active.is_set()


async def test_the_thumb_shows_where_one_is() -> None:
    async with stand(*prompts(100)) as held:
        view = held.view

        def thumb() -> list[int]:
            return [
                y for y, strip in enumerate(view.render_lines(view.size.region)) if strip.text.endswith("▐")
            ]

        assert thumb()[-1] == 19
        view.scroll_top()
        assert thumb()[0] == 0
        await held.pilot.mouse_down(Transcript, offset=(79, 10))
        await held.pilot.mouse_up(Transcript, offset=(79, 10))
        assert 8 <= thumb()[0] <= 12
        view.truncate(3)
        assert thumb() == []


async def test_wide_characters_fill_their_rows_exactly() -> None:
    text = "日本語 🇩🇪🇫🇷 👩‍👩‍👧 ❤️ 1️⃣ e\u0301 한국어 " * 10
    async with stand(
        UserBlock("u", text), AssistantBlock("a", text), command(text, "error"), size=(37, 40)
    ) as held:
        held.view.toggle(held.view.blocks[2])
        held.rows()  # checks every width


async def test_a_file_of_many_lines_opens_at_once_and_is_laid_out_in_parts() -> None:
    block = command("x")
    block.display = Output("y = 1\n" * 50_000, "python", 1)
    async with stand(block) as held:
        held.view.toggle(block)
        made = [part for part in held.view._roll.parts(0) if part.rows is not None]
        assert len(made) < 5
        assert held.view._roll.total > 40_000
