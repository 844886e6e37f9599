"""The trace: one line a happening, the newest at the bottom."""

from __future__ import annotations

from collections import deque

from tui_agent.core.events import Event
from tui_agent.readers.trace import HumanTrace
from tui_agent.readers.trace_words import Language
from tui_agent.ui.render.lines import Palette
from tui_agent.ui.widgets.row import Line, Rows

KEPT = 2000


class TracePane(Rows):
    """A third of the screen at the bottom, hidden until asked for; it reads along all the time."""

    DEFAULT_CSS = """
    TracePane { height: 30%; display: none; border-top: hkey $border-blurred; }
    """

    def __init__(self, palette: Palette, language: Language) -> None:
        super().__init__(palette, id="trace")
        self._language: Language = language
        self._trace = HumanTrace(language)
        self._kept: deque[str] = deque(maxlen=KEPT)

    def begin(self) -> None:
        """Another session: what was written about the one before goes."""
        self._trace = HumanTrace(self._language)
        self._kept.clear()
        self.draw()

    def feed(self, event: Event) -> None:
        """Read one event."""
        self._kept.extend(self._trace.feed(event))

    def draw(self) -> None:
        """Show the newest lines that fit."""
        if self.display:
            room = max(self.size.height, 1)
            lines: list[Line] = [([(f" {line}", "dim")], []) for line in list(self._kept)[-room:]]
            self.show(lines)
