"""All of a call that waits for an answer, on a page: what was on it counts as read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from tui_agent.core.events import ApprovalRequested
from tui_agent.ui import words
from tui_agent.ui.screens.page import PageScreen
from tui_agent.ui.widgets.row import Line
from tui_agent.ui.widgets.wrapped import Reading

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp


WIDEST, AROUND = 116, 5
"""Columns of a page, and those of them that its border, the room beside the text and the scroll bar take."""


class Window(VerticalScroll):
    """What a person sees of the text; says so whenever that changes."""

    def __init__(self, changed: Callable[[], object]) -> None:
        super().__init__(can_focus=False)
        self._changed = changed

    def on_resize(self) -> None:
        """More or fewer rows are in view."""
        self.call_after_refresh(self._changed)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are in view."""
        super().watch_scroll_y(old_value, new_value)
        self.call_after_refresh(self._changed)


class ApprovalPage(PageScreen):
    """The text of a call in rows that are cut nowhere, with a line that says how much of it was shown."""

    def __init__(self, app: TuiAgentApp, event: ApprovalRequested, reading: Reading) -> None:
        source = "\n".join("".join(text for text, _ in line) for line in reading.lines)
        super().__init__(app, event.intent.tool, [], source=source)
        self._reading = reading
        self._tool = event.intent.tool
        self._width = 0

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self.heading
            with Window(self._look):
                yield self.body

    def on_resize(self) -> None:
        """Break the lines for the new width, before the page finds out how tall it is with them."""
        self._width = min(self.size.width * 9 // 10, WIDEST) - AROUND
        self._lines: list[Line] = [(spans, []) for spans in self._reading.rows(self._width)]
        self.body.show(self._lines)

    def _look(self) -> None:
        """Note what is in view, and say how much is left."""
        scroll = self.query_one(Window)
        if not self._width or self.owner.screen is not self:
            return
        total = len(self.body.lines)
        first = round(scroll.scroll_offset.y)
        last = min(first + scroll.size.height, total)
        self._reading.show(self._width, first, last)
        unseen = self._reading.unseen(self._width)
        left = f"{words.count(unseen, 'row')} not shown yet" if unseen else "all of it was shown"
        hint = self.owner.keymap.hint
        keys = f"{hint('page.page_down')} on · {hint('page.close')} back to the answer"
        self.heading.show(
            [
                (
                    [
                        (self._tool, "title"),
                        (f"  rows {first + 1}–{last} of {total} · ", "dim"),
                        (left, "warn" if unseen else "ok"),
                    ],
                    [(keys, "dim")],
                )
            ]
        )
