"""The transcript: blocks (``ui/blocks.py``) on a roll, with folding, a block cursor, find, and news from below.

It obeys: the app calls the methods below, the transcript posts messages. It never takes the focus; keys come in as
calls. Changes are drawn at most 30 times a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from tui_agent.ui.blocks import Block, BlockKind, NoticeBlock, ReasoningBlock, ToolBlock, UserBlock
from tui_agent.ui.render import overlay
from tui_agent.ui.render.finding import Finder
from tui_agent.ui.render.lines import Palette
from tui_agent.ui.render.roll import Anchor, Place
from tui_agent.ui.render.selecting import position, selected_text
from tui_agent.ui.render.sheets import source_of
from tui_agent.ui.widgets.rollview import RollView

FRAME = 1 / 30
"""Seconds between two drawings of changes."""
BUSY = 4
"""A drawing that took long is followed by a pause of so many times its length, so that keys always get through."""
SLICE = 0.01
"""Seconds of copying after which keys get their turn."""
CURSOR = "▎"


class Transcript(RollView):
    """Blocks from oldest to newest. Pass it the very objects that the view changes."""

    class Selected(Message):
        """The block cursor moved; ``block`` is None when it was put away."""

        def __init__(self, block: Block | None) -> None:
            super().__init__()
            self.block = block

    class Toggled(Message):
        """A person folded or opened a block."""

        def __init__(self, block: Block, folded: bool) -> None:
            super().__init__()
            self.block = block
            self.folded = folded

    class LinkClicked(Message):
        """A person clicked a link; ``url`` is http, https or mailto, nothing else."""

        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

    class UnreadChanged(Message):
        """How many blocks below the view are new or grew since the person scrolled up (0: back at the bottom)."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    class Found(Message):
        """The find position moved: the ``index``-th (from 1, 0: none) of ``total`` matches."""

        def __init__(self, index: int, total: int) -> None:
            super().__init__()
            self.index = index
            self.total = total

    def __init__(
        self,
        theme: Palette,
        reduced_motion: bool = False,
        *,
        clock: Callable[[], float] = time.time,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """``clock`` gives Unix seconds for what counts up while it runs; a replay has its own."""
        super().__init__(theme, clock, id=id, classes=classes)
        self.reduced_motion = reduced_motion
        self._finder = Finder(self._roll)
        self._found: Anchor | None = None
        self._changed: dict[Block, None] = {}
        self._selected: Block | None = None
        self._unread: set[Block] = set()
        self._announced = 0
        self._frame: Timer | None = None
        self._last_frame = 0.0
        self._pause = FRAME
        self._pressed: tuple[int, int] | None = None

    # ---- blocks

    @property
    def blocks(self) -> Sequence[Block]:
        """All blocks, oldest first."""
        return [entry.block for entry in self._roll.entries]

    def set_blocks(self, blocks: Iterable[Block]) -> None:
        """Replace everything (a session opened, a replay sought) and go to the bottom; folds of known ids are kept."""
        self._roll.set(blocks)
        self._changed.clear()
        self._unread.clear()
        self._following, self._anchor = True, None
        self._forget_places()
        self._draw()

    def add(self, *blocks: Block) -> None:
        """Put blocks at the end; seen within 1/30 s."""
        for block in blocks:
            self._roll.add(block)
            self.changed(block)

    def changed(self, block: Block) -> None:
        """Say that a block changed (its version grew). Costs nothing until the next flush (at most 30 a second).

        While ``live``, ``text`` of assistant and reasoning blocks only grows at its end.
        """
        self._changed[block] = None
        if self._frame is None and self.is_attached:
            wait = self._last_frame + self._pause - time.monotonic()
            self._frame = self.set_timer(max(wait, 0.001), self.flush)

    def remove_block(self, block: Block) -> None:
        """Take one block out."""
        index = self._roll.index(block)
        if index is not None:
            self._roll.remove(index)
            self._forget_places()
            self._draw()

    def truncate(self, count: int) -> None:
        """Keep the first ``count`` blocks (rewind, replay seek)."""
        self._roll.truncate(count)
        self._forget_places()
        self._draw()

    def _forget_places(self) -> None:
        """Blocks went away: let go of them, and of a selection, which names blocks by their place."""
        known = self._roll.index
        self._changed = {block: None for block in self._changed if known(block) is not None}
        self._unread = {block for block in self._unread if known(block) is not None}
        if self._anchor is not None and known(self._anchor.block) is None:
            self._anchor = None
        self._found = None
        if self._selected is not None and known(self._selected) is None:
            self.select(None)
        if self.is_attached and self in self.screen.selections:
            self.screen.clear_selection()

    def flush(self) -> None:
        """Draw pending changes now instead of at the next tick."""
        if self._frame is not None:
            self._frame.stop()
            self._frame = None
        started = time.perf_counter()
        for block in self._changed:
            index = self._roll.index(block)
            if index is not None:
                self._roll.update(index)
                if not self._following:
                    self._unread.add(block)
        self._changed.clear()
        self._draw()
        self._pause = max(FRAME, BUSY * (time.perf_counter() - started))
        self._last_frame = time.monotonic()

    def on_mount(self) -> None:
        """Draw what came before there was a screen."""
        self._changed.clear()

    def _drawn(self) -> None:
        super()._drawn()
        if self._following:
            self._unread.clear()
        elif self._unread:
            last = self._last_in_view()
            self._unread = {block for block in self._unread if (self._roll.index(block) or 0) > last}
        if self._announced != len(self._unread):
            self._announced = len(self._unread)
            self.post_message(self.UnreadChanged(self._announced))

    @property
    def unread(self) -> int:
        """As in ``UnreadChanged``."""
        return len(self._unread)

    # ---- folding

    def is_folded(self, block: Block) -> bool:
        """Whether the block shows as its title only: what a person chose, else what suits its state."""
        return self._roll.level(block) == "folded"

    def toggle(self, block: Block) -> None:
        """Fold or open one block; its first row stays where it is, if it is in view."""
        index = self._roll.index(block)
        if index is None:
            return
        level = self._roll.level(block)
        opens = level == "folded" or (level == "brief" and self._roll.more(index))
        row, top = self._title_row(block), self._top
        self._roll.choices[block.id] = "open" if opens else "folded"
        self._roll.update(index)
        if row is not None and top <= row < top + self.size.height:
            self._keep(Anchor(block, 0, 0, 0), row - top)
        self._draw()
        self.post_message(self.Toggled(block, not opens))

    def toggle_all(self, kind: BlockKind = "tool") -> bool:
        """Open all blocks of a kind, or fold them when all are open; True when they are open now."""
        places = [index for index, entry in enumerate(self._roll.entries) if entry.block.kind == kind]
        opens = any(self._roll.entries[index].level != "open" for index in places)
        for index in places:
            self._roll.choices[self._roll.entries[index].block.id] = "open" if opens else "folded"
            self._roll.update(index)
        self._draw()
        return opens

    # ---- the block cursor

    @property
    def selected(self) -> Block | None:
        """The block under the block cursor."""
        return self._selected

    def select(self, block: Block | None) -> None:
        """Put the cursor on a block (scrolls it into view), or put it away."""
        if block is self._selected:
            return
        self._selected = block
        if block is not None:
            self.scroll_to_block(block)
        self.refresh()
        self.post_message(self.Selected(block))

    def select_previous(self, kind: BlockKind | None = None) -> Block | None:
        """Move up; from nowhere: the last block in view. None when there is none."""
        here = self._roll.index(self._selected) if self._selected is not None else None
        if here is None:
            here = self._last_in_view() + 1
        return self._select_first(range(here - 1, -1, -1), kind)

    def select_next(self, kind: BlockKind | None = None) -> Block | None:
        """Move down; past the last block the cursor goes away and the view follows again."""
        here = self._roll.index(self._selected) if self._selected is not None else None
        count = len(self._roll.entries)
        found = self._select_first(range(count if here is None else here + 1, count), kind)
        if found is None:
            self.select(None)
            self.scroll_bottom()
        return found

    def _select_first(self, places: Iterable[int], kind: BlockKind | None) -> Block | None:
        for index in places:
            block = self._roll.entries[index].block
            if self._roll.entries[index].height and kind in (None, block.kind):
                self.select(block)
                return block
        return None

    def scroll_to_block(self, block: Block) -> None:
        """Bring a block's first line into view."""
        row = self._title_row(block)
        if row is not None:
            self._show_row(row)

    # ---- copying

    def block_source(self, block: Block) -> str:
        """What ``block.copy`` copies: markdown, prompt, diff or output as it came, without gutters and wrapping."""
        return source_of(block)

    async def selected_text(self) -> str:
        """What is selected here, gathered in slices, so that 2,000 blocks don't stop the screen for a second."""
        selection = self.text_selection
        if selection is None:
            return ""
        parts: list[str] = []
        started = time.perf_counter()
        for part in selected_text(self._roll, selection):
            parts.append(part)
            if time.perf_counter() - started > SLICE:
                await asyncio.sleep(0)
                started = time.perf_counter()
        return "".join(parts)

    # ---- find

    def find(self, text: str) -> int:
        """Search all sources (case-insensitive), highlight, go to the first match from the top of the view on.

        How many there are. An empty text ends the search.
        """
        place = next(iter(self._places()), None)
        count = self._finder.search(text, place.entry if place is not None else 0)
        self._step(1)
        return count

    def next_match(self) -> None:
        """Go to the next match, past the end to the first."""
        self._step(1)

    def previous_match(self) -> None:
        """Go to the previous match, past the start to the last."""
        self._step(-1)

    def _step(self, direction: int) -> None:
        match = self._finder.step(direction)
        self._found = None
        if match is not None:
            block = self._roll.entries[match.entry].block
            self._found, shown = self._finder.place(match)
            if not shown and self._roll.level(block) != "open":
                self._roll.choices[block.id] = "open"
                self._roll.update(match.entry)
                self._found, _ = self._finder.place(match)
            row = self._roll.row(self._found or Anchor(block, 0, 0, 0))
            if row is not None:
                self._show_row(row)
            self._draw()
        self.refresh()
        self.post_message(self.Found(self._finder.current, self._finder.total))

    # ---- painting and clicks

    def _overlaid(self, strip: Strip, place: Place) -> Strip:
        strip = super()._overlaid(strip, place)
        row = place.row
        assert row is not None
        ink = self._page.ink
        if self._finder.text:
            line = self._line(place)
            here = self._found
            for at in overlay.occurrences(line.text, self._finder.text):
                current = (
                    here is not None
                    and here.block is self._roll.entries[place.entry].block
                    and (here.part, here.line, here.start) == (place.part, row.line, at)
                )
                cells = overlay.cells_of(row, line, at, at + len(self._finder.text))
                strip = overlay.restyle(strip, *cells, ink.overlay("find-current" if current else "find"))
        if self._selected is not None and self._roll.entries[place.entry].block is self._selected:
            strip = overlay.replace(strip, 0, CURSOR, ink.mix("accent"))
        return strip

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remember where, to tell a click from a drag."""
        self._pressed = event.screen_x, event.screen_y

    def on_click(self, event: events.Click) -> None:
        """Open a link, fold or open a block at its title; a double click selects a word, a triple one its line."""
        event.prevent_default()  # Textual would select everything
        if self._pressed != (event.screen_x, event.screen_y) or event.x >= self._page.cells:
            return
        place = next(iter(self._roll.window(self._top + event.y, 1)), None)
        if place is None or place.row is None:
            return
        line = self._line(place)
        at = overlay.character_at(place.row, line, event.x)
        if event.chain > 1:
            self._select_around(place, at, whole=event.chain > 2)
            return
        for start, end, url in line.links:
            if start <= at < end and event.x >= place.row.lead:
                self.post_message(self.LinkClicked(url))
                return
        block = self._roll.entries[place.entry].block
        if place.part == 0 and place.row.line == 0 and self._can_fold(place.entry):
            self.toggle(block)

    def _select_around(self, place: Place, at: int, *, whole: bool) -> None:
        assert place.row is not None
        line = self._line(place)
        start, end = (0, len(line.text)) if whole or line.whole else overlay.word_at(line.text, at)
        y = position(place.entry, place.part, place.row.line)
        self.screen.selections = {self: Selection(Offset(start, y), Offset(end, y))}

    def _can_fold(self, index: int) -> bool:
        """Whether a click on the title does something."""
        block = self._roll.entries[index].block
        if isinstance(block, NoticeBlock):
            return bool(block.body)
        if isinstance(block, UserBlock):
            return self._roll.more(index) or block.id in self._roll.choices
        return isinstance(block, ToolBlock | ReasoningBlock)
