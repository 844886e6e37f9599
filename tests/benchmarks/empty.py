"""The floor: a Textual app with a line of text and an input, nothing else."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Static, TextArea


class Empty(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("ask for something")
        yield TextArea()


if __name__ == "__main__":
    Empty().run()
