"""Rows of fixed height: text on the left, text on the right, cut to the width, never wrapped."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.ui.render import cells
from tui_agent.ui.render.lines import Palette
from tui_agent.ui.render.plain import visible

Span = tuple[str, str]
"""Text and the role that colours it."""
Line = tuple[Sequence[Span], Sequence[Span]]
"""Spans on the left and on the right."""


def paint(palette: Palette, line: Line, width: int, blank: Style) -> Strip:
    """One row of exactly ``width`` cells: the right part stands if it fits beside the left, the left is cut last."""
    left, right = line
    right_width = sum(cells.width(visible(text)) for text, _ in right)
    left_width = sum(cells.width(visible(text)) for text, _ in left)
    if left_width + (2 if right else 0) + right_width > width and right_width > width // 3:
        right, right_width = (), 0
    room = width - right_width - (2 if right else 0)
    segments = _fit(palette, left, room, blank)
    used = sum(cells.width(segment.text) for segment in segments)
    segments.append(Segment(" " * (width - used - right_width), blank))
    segments += [Segment(visible(text), blank + palette.style(role)) for text, role in right]
    return Strip(segments, width)


def _fit(palette: Palette, spans: Sequence[Span], room: int, blank: Style) -> list[Segment]:
    """The spans as segments that take at most ``room`` cells."""
    segments: list[Segment] = []
    for text, role in spans:
        shown = visible(text)
        size = cells.width(shown)
        if size > room:
            shown = cells.fit(shown, room)
            size = room
        if shown:
            segments.append(Segment(shown, blank + palette.style(role)))
        room -= size
        if room <= 0:
            break
    return segments


class Rows(Widget, can_focus=False):
    """A few painted rows; ``show`` replaces them and repaints only if they differ."""

    DEFAULT_CSS = """
    Rows { height: auto; width: 1fr; }
    """

    def __init__(
        self, palette: Palette, *, id: str | None = None, classes: str | None = None, base: str = "text"
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._palette = palette
        self._base = base
        self._lines: list[Line] = []

    @property
    def lines(self) -> list[Line]:
        """What is shown."""
        return self._lines

    @property
    def plain(self) -> list[str]:
        """The rows as text, left and right apart by two spaces."""
        return ["  ".join("".join(text for text, _ in side) for side in line if side) for line in self._lines]

    def show(self, lines: Sequence[Line]) -> None:
        """Draw these rows from now on; the widget's height follows only if its style says so."""
        new = list(lines)
        if new == self._lines:
            return
        tall = len(new) != len(self._lines)
        self._lines = new
        self.refresh(layout=tall)

    def set_palette(self, palette: Palette) -> None:
        """Paint with another theme from now on."""
        self._palette = palette
        self.refresh()

    def get_content_height(self, container: object, viewport: object, width: int) -> int:  # noqa: ARG002
        """One row a line."""
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """Row ``y``, blank below the last one."""
        width = self.size.width
        line: Line = self._lines[y] if 0 <= y < len(self._lines) else ((), ())
        return paint(self._palette, line, width, self.rich_style + self._palette.style(self._base))
