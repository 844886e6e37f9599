"""The activity row: what goes on now, for how long, and how to stop it."""

from __future__ import annotations

from tui_agent.ui import words
from tui_agent.ui.view import Activity, View
from tui_agent.ui.widgets.row import Line, Span

QUIET = 3.0
"""Seconds without data after which the row says so."""
PULSE = "●○"


def activity_line(
    view: View, now: float, *, message: str = "", chord: str = "", still: bool = True, stops: bool = True
) -> Line:
    """The row at a time (Unix seconds). ``message`` is what a key just did; it stands where there is room.

    Without ``stops`` (a replay) it names no keys that stop what went on.
    """
    activity = view.activity
    right: list[Span] = [(message, "accent"), (" ", "text")] if message else []
    if chord:
        right = [(f"{chord} …", "key"), (" ", "text")]
    if activity.kind == "idle":
        return ([(" ", "text")] if not right else [(" ", "text"), *right]), []
    mark = "●" if still or int(now * 2) % 2 == 0 else PULSE[1]
    role = {"stopping": "warn", "retry": "warn", "question": "accent"}.get(activity.kind, "running")
    left: list[Span] = [(f" {'◌' if activity.kind == 'question' else mark} ", role), (activity.what, "text")]
    left += [(f" · {part}", "dim") for part in _details(view, activity, now, stops=stops)]
    if view.run.stop_after_step:
        left.append((" · stops after this step", "warn"))
    return left, right


def _details(view: View, activity: Activity, now: float, *, stops: bool) -> list[str]:
    gauges = view.gauges
    parts: list[str] = []
    if activity.kind == "retry":
        left = activity.until - now
        return [
            f"again in {words.whole_seconds(left)}" if left > 0 else "again now",
            *(["esc stops"] if stops else []),
        ]
    if activity.kind == "stopping":
        left = words.whole_seconds(activity.until - now)
        return [f"{left} · again = now" if stops else left] if activity.until > now else []
    if activity.kind == "question":
        return []
    if gauges.max_steps and gauges.step and view.running:
        parts.append(f"step {gauges.step}/{gauges.max_steps}")
    elapsed = max(now - activity.since, 0.0)
    if activity.since:
        near = activity.limit and elapsed > activity.limit / 2
        parts.append(words.whole_seconds(elapsed) + (f" of {words.seconds(activity.limit)}" if near else ""))
    if activity.data and now - activity.data >= QUIET:
        parts.append(f"no data {words.whole_seconds(now - activity.data)}")
    if stops:
        only = activity.kind != "tool" or view.side_work
        parts.append("esc stops" if only else "esc stops · ctrl+c lets it finish")
    return parts
