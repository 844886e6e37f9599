"""Changing a call before it runs: its command, or its arguments as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical

from tui_agent.ui.drafts import History
from tui_agent.ui.screens.overlay import Overlay
from tui_agent.ui.widgets.composer import Composer
from tui_agent.ui.widgets.row import Rows

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

COMMAND = "command"
"""The argument that is edited by itself when a call has it."""


class EditScreen(Overlay["dict[str, Any] | None"]):
    """Enter runs the call as changed, shift+enter is a new line, escape leaves it as it was."""

    DEFAULT_CSS = """
    EditScreen > Vertical { width: 90%; max-width: 116; height: auto; max-height: 80%; background: $background; }
    EditScreen Rows { height: 1; }
    """

    contexts: ClassVar[Sequence[str]] = ("composer", "picker")

    def __init__(self, app: TuiAgentApp, tool: str, arguments: dict[str, Any]) -> None:
        super().__init__(app)
        self._arguments = arguments
        self._alone = isinstance(arguments.get(COMMAND), str)
        self._title = Rows(app.palette, id="edit-title")
        self._title.show(
            [([(f" change {tool}", "title")], [("enter runs it · esc leaves it as it was ", "dim")])]
        )
        self._error = Rows(app.palette, id="edit-error")
        self._text = Composer(app.palette, self._route, History(None), id="edit-text")
        text = arguments[COMMAND] if self._alone else json.dumps(arguments, indent=2, ensure_ascii=False)
        self._text.set_text(text)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self._title
            yield self._text
            yield self._error

    def on_mount(self) -> None:
        """The text has the keys."""
        self._text.focus()

    def _route(self, event: events.Key) -> bool:
        if event.key == "escape":
            self.dismiss(None)
        elif event.key == "enter":
            self._finish()
        elif event.key in {"shift+enter", "alt+enter", "ctrl+j"}:
            self._text.insert_text("\n")
        else:
            return False
        return True

    def _finish(self) -> None:
        text = self._text.value
        if self._alone:
            self.dismiss({**self._arguments, COMMAND: text})
            return
        try:
            changed: Any = json.loads(text)
        except ValueError as error:
            self._error.show([([(f" not valid JSON: {error}", "error")], [])])
            return
        if not isinstance(changed, dict):
            self._error.show([([(" the arguments must be one object", "error")], [])])
            return
        self.dismiss(changed)  # pyright: ignore[reportUnknownArgumentType]
