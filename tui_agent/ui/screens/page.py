"""A page of text over the screen: help, cost, permissions, one whole block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from tui_agent.ui.render import cells
from tui_agent.ui.render.plain import visible
from tui_agent.ui.screens.overlay import Overlay
from tui_agent.ui.widgets.row import Line, Rows, Span

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

WIDEST = 116
"""Columns of the box."""
AROUND = 5
"""Columns of it that its border, the room beside the text and the scroll bar take."""


class PageScreen(Overlay[None]):
    """Lines that scroll; the keys are the keymap's ``page`` context."""

    DEFAULT_CSS = """
    PageScreen > Vertical { width: 90%; max-width: 116; height: auto; border: round $border; background: $background; padding: 0 1; }
    PageScreen #page-title { height: 1; }
    PageScreen #page-body { height: auto; }
    PageScreen VerticalScroll { scrollbar-size-vertical: 1; }
    """

    def __init__(self, app: TuiAgentApp, title: str, lines: Sequence[Line], *, source: str = "") -> None:
        super().__init__(app)
        self.heading = Rows(app.palette, id="page-title")
        self.body = Rows(app.palette, id="page-body")
        hint = app.keymap.hint
        keys = f"{hint('page.close')} closes · {hint('page.copy')} copies"
        self.heading.show([([(title, "title")], [(keys, "dim")])])
        self.body.show(lines)
        self._lines = list(lines)
        self._source = source or "\n".join(self.body.plain)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self.heading
            with VerticalScroll(can_focus=False):
                yield self.body

    def on_resize(self) -> None:
        """As tall as its lines, as far as they fit; a line that is too long goes on in the next row."""
        scroll = self.query_one(VerticalScroll)
        width = min(self.size.width * 9 // 10, WIDEST) - AROUND
        lines = [row for line in self._lines for row in whole(line, width)]
        self.body.show(lines)
        scroll.styles.height = max(min(len(lines), self.size.height * 9 // 10 - 3), 1)

    def perform(self, action: str, key: str) -> bool:  # noqa: ARG002
        scroll = self.query_one(VerticalScroll)
        match action:
            case "page.close":
                self.dismiss(None)
            case "page.down":
                scroll.scroll_down(animate=False)
            case "page.up":
                scroll.scroll_up(animate=False)
            case "page.page_down":
                scroll.scroll_page_down(animate=False)
            case "page.page_up":
                scroll.scroll_page_up(animate=False)
            case "page.top":
                scroll.scroll_home(animate=False)
            case "page.bottom":
                scroll.scroll_end(animate=False)
            case "page.copy":
                self.owner.outside.copy(self._source)
            case _:
                return False
        return True


def whole(line: Line, width: int) -> list[Line]:
    """The line in rows that cut nothing: the last span goes on below its own start, or behind ``↪``; the right part follows."""
    left, right = line
    spans = [(visible(text), role) for text, role in left]
    right_width = sum(cells.width(visible(text)) for text, _ in right)
    used = sum(cells.width(text) for text, _ in spans)
    if used + right_width + (2 if right and left else 0) <= width:
        return [line]
    rows: list[Line] = [(row, []) for row in _broken(spans, width)]
    return [*rows, ([], right)] if right else rows


def _broken(spans: Sequence[Span], width: int) -> list[list[Span]]:
    *before, (text, role) = spans or [("", "text")]
    lead = sum(cells.width(part) for part, _ in before)
    if 0 < lead <= width // 2:
        places = cells.wrap_words(text, width - lead)
        parts = [text[start:end] for start, end in places]
        return [[*before, (parts[0], role)], *([(" " * lead, "text"), (part, role)] for part in parts[1:])]
    text = "".join(part for part, _ in spans)
    places = cells.wrap_hard(text, width, width - 2)
    parts = [text[start:end] for start, end in places]
    return [[(parts[0], role)], *([("↪ ", "dim"), (part, role)] for part in parts[1:])]
