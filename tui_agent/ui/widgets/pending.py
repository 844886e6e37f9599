"""Chips of messages that wait above the composer."""

from __future__ import annotations

from tui_agent.ui import words
from tui_agent.ui.view import View
from tui_agent.ui.widgets.row import Line

ROWS = 3


def pending_lines(view: View, editing: str, width: int) -> list[Line]:
    """At most three rows, the newest ones; ``editing`` is the id of the one that is in the composer."""
    items = list(view.run.queue.values())
    hidden = max(len(items) - ROWS, 0)
    lines: list[Line] = []
    for item in items[hidden:]:
        steer = item.kind == "steer"
        mark, role = ("⧗ steer", "steer") if steer else ("⋯ next ", "follow-up")
        text = words.first_line(item.text, max(width - 40, 20))
        tail = "being edited" if item.id == editing else "↑ edits" if item is items[-1] else ""
        if hidden and item is items[hidden]:
            tail = f"and {hidden} more before it"
        lines.append(([(f" {mark}  ", role), (text, "text")], [(tail, "dim"), (" ", "text")]))
    return lines
