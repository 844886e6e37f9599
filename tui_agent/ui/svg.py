"""A session as a picture: the transcript as the screen draws it, whole, as SVG."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from textual.app import App, ComposeResult
from textual.theme import Theme as TextualTheme

from tui_agent.core.events import Event
from tui_agent.ui.blocks import Block
from tui_agent.ui.themes import Theme, load
from tui_agent.ui.view import View
from tui_agent.ui.widgets.transcript import Transcript

COLUMNS = 110
MOST_ROWS = 2000
"""A longer session is cut; a browser takes such a picture for ever."""


class _Picture(App[None]):
    """Only a transcript."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { background: $background; } Transcript { height: 1fr; }"

    def __init__(self, blocks: list[Block], theme: Theme, now: float) -> None:
        super().__init__()
        dress = TextualTheme(**theme.textual_fields())
        self.register_theme(dress)
        self.theme = dress.name
        self.transcript = Transcript(theme, reduced_motion=True, clock=lambda: now)
        self._blocks = blocks

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_mount(self) -> None:
        self.transcript.set_blocks(self._blocks)


def svg(events: Iterable[Event], *, theme: str = "dark", columns: int = COLUMNS) -> str:
    """The picture of a session. Raises ``ConfigError`` if the theme can't be read."""
    view = View()
    view.fold(events)
    looks, errors = load(theme)
    if looks is None:
        raise errors[0]
    return asyncio.run(_draw(view, looks, columns))


async def _draw(view: View, theme: Theme, columns: int) -> str:
    """Draw it once to learn how tall it is, and again at that height."""
    rows = 40
    picture = ""
    for _ in range(2):
        app = _Picture(view.blocks, theme, view.now)
        async with app.run_test(size=(columns, rows)) as pilot:
            await pilot.pause()
            tall = app.transcript.virtual_size.height
            picture = app.export_screenshot(title=view.title)
        if tall <= rows:
            break
        rows = min(tall, MOST_ROWS)
    return picture
