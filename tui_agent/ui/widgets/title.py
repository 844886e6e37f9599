"""The top row: what is worked on, where, with which model, and how careful it is."""

from __future__ import annotations

from pathlib import PurePath

from tui_agent.ui.view import View
from tui_agent.ui.widgets.row import Line, Span
from tui_agent.ui.words import first_line

CONFIRM = {"yolo": "never asks", "confirm-sensitive": "asks", "confirm-all": "asks always"}
KINDS = {"headless": "headless", "sub_agent": "sub-agent", "trigger": "trigger", "replay": "replay"}


def short_path(path: str, home: str) -> str:
    """A path with the person's home as ``~``."""
    pure = PurePath(path)
    if home and pure.is_relative_to(home):
        rest = str(pure.relative_to(home))
        return "~" if rest == "." else f"~/{rest}"
    return path


def title_line(view: View, home: str, *, dry_run: bool = False) -> Line:
    """Title, place, model; on the right how it works."""
    meters = view.meters
    place = short_path(meters.session.cwd, home)
    if meters.session.branch:
        place = f"{place} ({meters.session.branch})"
    left: list[Span] = [(" ", "text"), (first_line(view.title, 60) or "new session", "title")]
    for text in (place, view.model_label):
        if text:
            left += [(" · ", "dim"), (text, "dim")]
    right: list[Span] = [("DRY RUN", "badge-warn"), (" · ", "dim")] if dry_run else []
    if meters.session.untrusted:
        right += [("UNTRUSTED", "untrusted"), (" · ", "dim")]
    if kind := KINDS.get(meters.session.kind):
        right += [(kind, "accent"), (" · ", "dim")]
    right.append((meters.mode, "mode" if meters.mode == "build" else "badge-warn"))
    right += [
        (" · ", "dim"),
        (CONFIRM[meters.confirm], "warn" if meters.confirm == "yolo" else "dim"),
        (" ", "text"),
    ]
    return left, right
