"""Plan, changed files, hooks and memory beside the transcript, or over it where it is narrow."""

from __future__ import annotations

from typing import Literal

from textual.containers import VerticalScroll

from tui_agent.ui import words
from tui_agent.ui.blocks import NoticeBlock
from tui_agent.ui.render.lines import Palette
from tui_agent.ui.view import View
from tui_agent.ui.widgets.row import Line, Rows

Tab = Literal["plan", "changes", "hooks", "memory"]
TABS: tuple[Tab, ...] = ("plan", "changes", "hooks", "memory")
WIDE = 120
"""Columns from which it stands beside the transcript instead of over it."""
HOOKS_SHOWN = 60

PLAN_MARKS = {"done": ("✓", "ok"), "active": ("●", "running"), "open": ("○", "dim")}
HOOK_MARKS = {"ok": ("✓", "hook-ok"), "running": ("●", "running")}


class Sidebar(VerticalScroll, can_focus=False):
    """One tab at a time. Shown only if a person asked for it."""

    DEFAULT_CSS = """
    Sidebar { width: 34; height: 1fr; display: none; border-left: vkey $border-blurred; padding: 0 1; scrollbar-size-vertical: 1; background: $background; }
    Sidebar.-over { layer: popup; dock: right; width: 44; max-width: 80%; }
    """

    def __init__(self, palette: Palette) -> None:
        super().__init__(id="sidebar")
        self.tab: Tab = "plan"
        self.rows = Rows(palette)
        self.rows.styles.height = "auto"

    def compose(self):
        yield self.rows

    @property
    def over(self) -> bool:
        """Whether it lies over the transcript now."""
        return bool(self.display) and self.has_class("-over")

    def fit(self, width: int) -> None:
        """Beside or over, by the terminal's columns."""
        self.set_class(width < WIDE, "-over")

    def show(self, view: View) -> None:
        """Draw the tab from the view."""
        if not self.display:
            return
        heads = [(f"{name} ", "title" if name == self.tab else "dim") for name in TABS]
        lines: list[Line] = [(heads, []), ([], [])]
        body = {"plan": _plan, "changes": _changes, "hooks": _hooks, "memory": _memory}[self.tab](view)
        self.rows.show([*lines, *(body or [([(EMPTY[self.tab], "dim")], [])])])


EMPTY: dict[Tab, str] = {
    "plan": "no plan yet",
    "changes": "no file changed yet",
    "hooks": "no hook ran yet",
    "memory": "nothing recalled or remembered",
}


def _plan(view: View) -> list[Line]:
    plan = view.tools.plan
    if plan is None:
        return []
    lines: list[Line] = []
    for state, text in plan.items:
        mark, role = PLAN_MARKS.get(state, PLAN_MARKS["open"])
        lines.append(([(f"{mark} ", role), (text, "dim" if state == "done" else "text")], []))
    return lines


def _changes(view: View) -> list[Line]:
    lines: list[Line] = []
    for path, (added, removed) in view.tools.totals().items():
        counts = [(f"+{added}", "added"), (f" −{removed}", "removed")] if added or removed else []
        lines.append(([(path, "text")], counts))
    return lines


def _hooks(view: View) -> list[Line]:
    lines: list[Line] = []
    for row in reversed(view.tools.hook_runs[-HOOKS_SHOWN:]):
        mark, role = HOOK_MARKS.get(row.status, ("⚠", "hook-fail"))
        lines.append(
            (
                [(f"{mark} ", role), (f"{row.name} ", "text"), (row.path, "dim")],
                [(words.seconds(row.duration), "dim")],
            )
        )
        first = words.first_line(row.output, 200)
        if first and row.status != "ok":
            lines.append(([("  ", "text"), (first, "dim")], []))
    return lines


def _memory(view: View) -> list[Line]:
    found = [
        block
        for block in view.blocks
        if isinstance(block, NoticeBlock) and block.text.startswith(("recalled", "remembered", "forgot"))
    ]
    return [([(block.text, "text"), (f"  {block.right}", "dim")], []) for block in found[-HOOKS_SHOWN:]]
