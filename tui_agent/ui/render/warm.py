"""What is imported late, so that the first paint does not wait for it."""

from __future__ import annotations

from tui_agent.ui.render.code import START, highlight
from tui_agent.ui.render.markdown import markdown_lines, scan


def warm_up() -> None:
    """Import the markdown parser and the highlighter and use them once (60 ms): right after the first paint."""
    scan("x\n")
    markdown_lines("`x` **x**\n")
    highlight(["x = 1"], "python", START)
