"""A page of text over the screen: help, cost, permissions, one whole block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from tui_agent.core.events import ApprovalRequested
from tui_agent.ui.screens.overlay import Overlay
from tui_agent.ui.widgets.approval import body_spans
from tui_agent.ui.widgets.row import Line, Rows

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp


class PageScreen(Overlay[None]):
    """Lines that scroll; the keys are the keymap's ``page`` context."""

    DEFAULT_CSS = """
    PageScreen > Vertical { width: 90%; max-width: 116; height: 90%; border: round $border; background: $background; padding: 0 1; }
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
        self._source = source or "\n".join(self.body.plain)

    @classmethod
    def of_approval(cls, app: TuiAgentApp, event: ApprovalRequested) -> PageScreen:
        """The whole command or change that waits for an answer."""
        lines: list[Line] = [(spans, []) for spans in body_spans(event.intent.command, event.intent.preview)]
        return cls(app, f"{event.intent.tool} waits for your answer", lines)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self.heading
            with VerticalScroll(can_focus=False):
                yield self.body

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
