"""Lines and blocks as the text that stands on the screen, for tests of rendering."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from tui_agent.ui.blocks import Block
from tui_agent.ui.render.lines import Ink, Line, Page, Row, layout
from tui_agent.ui.render.roll import Roll
from tui_agent.ui.render.sheet import Level
from tui_agent.ui.themes import Theme, load

GROUND = Style.parse("on #101010")
NOW = 1_000.0
"""The time of every test, Unix seconds."""


def dark() -> Theme:
    """The shipped dark theme."""
    theme, errors = load("dark")
    assert theme is not None, errors
    return theme


def page(cells: int = 80) -> Page:
    """A page of so many cells."""
    return Page(cells, Ink(dark(), GROUND))


def text_of(rows: Sequence[Row], cells: int) -> list[str]:
    """Rows as text without the blanks at their ends; each is exactly as wide as its page."""
    for row in rows:
        assert row.strip.cell_length == cells
        assert sum(segment.cell_length for segment in row.strip) == cells
    return [row.strip.text.rstrip() for row in rows]


def shown(lines: Sequence[Line], cells: int = 80) -> list[str]:
    """What some lines look like."""
    return text_of(layout(lines, page(cells)), cells)


def roll(*blocks: Block, cells: int = 80, now: float = NOW, **levels: Level) -> Roll:
    """A roll of blocks; ``levels`` are what a person folded or opened, by block id."""
    made = Roll(page(cells), lambda: now)
    made.choices.update(levels)
    made.set(blocks)
    return made


def painted(*blocks: Block, cells: int = 80, now: float = NOW, **levels: Level) -> list[str]:
    """All rows of some blocks, from the first row that is not empty."""
    made = roll(*blocks, cells=cells, now=now, **levels)
    made.settle_end(1_000)
    rows = made.window(0, 1_000)
    lines = [place.row.strip.text.rstrip() if place.row else "" for place in rows]
    assert all(place.row is None or place.row.strip.cell_length == cells for place in rows)
    return lines[1:] if lines and not lines[0] else lines


def style_at(row: Row, text: str) -> Style:
    """The style of the segment that begins with a text."""
    return next(segment.style or Style() for segment in row.strip if segment.text.startswith(text))
