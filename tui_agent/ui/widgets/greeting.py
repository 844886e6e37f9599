"""What an empty session says: what this is, what it will do with this folder, and where to look."""

from __future__ import annotations

from collections.abc import Callable

from tui_agent.core.events import ConfirmMode
from tui_agent.ui.view import View
from tui_agent.ui.widgets.row import Line, Span

ASKS: dict[ConfirmMode, str] = {
    "yolo": "asks for nothing",
    "confirm-sensitive": "asks before what is sensitive",
    "confirm-all": "asks before every step",
}
KEYS = (
    ("models.open", "model"),
    ("sessions.open", "earlier sessions"),
    ("mode.cycle", "plan or build"),
    ("app.help", "all keys"),
)


def greeting_lines(view: View, place: str, label: Callable[[str], str]) -> list[Line]:
    """The lines for the place where the transcript will be; ``place`` is the folder, ``label`` names an action's key."""
    meters = view.meters
    does = "reads and plans" if meters.mode == "plan" else "reads, writes and runs"
    keys: list[Span] = [("     ", "text")]
    for action, what in KEYS:
        if key := label(action):
            keys += [(key, "key"), (f" {what}    ", "dim")]
    return [
        ([("   ◆ ", "accent"), ("tui-agent", "title"), (" · a coding agent in your terminal", "dim")], []),
        ([(f"     It {does} in {place}, and {ASKS[meters.confirm]}.", "dim")], []),
        ([], []),
        (keys, []),
        ([], []),
    ]
