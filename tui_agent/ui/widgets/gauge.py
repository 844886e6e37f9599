"""The gauge row: how full the context is, what came from the cache, what it costs."""

from __future__ import annotations

from tui_agent.ui import words
from tui_agent.ui.fold.gauges import AMBER, RED, Gauges
from tui_agent.ui.widgets.row import Line, Span

BAR = 12
"""Cells of the context bar where there is room."""


def level(share: float) -> str:
    """The role of a gauge that is this full."""
    return "gauge-full" if share >= RED else "gauge-warn" if share >= AMBER else "gauge-ok"


def context_spans(gauges: Gauges, bar: int) -> list[Span]:
    """``ctx ▓▓▓░░░ 43 %  86k/200k``; a ``~`` until the count was checked against the provider's."""
    about = "" if gauges.exact or not gauges.used else "~"
    if not gauges.window:
        used = f"{about}{words.tokens(gauges.used)} tokens" if gauges.used else "empty"
        return [(" ctx ", "dim"), (used, "text")]
    share = min(gauges.share, 1.0)
    role = level(gauges.share)
    filled = min(round(share * bar), bar)
    mark = " !" if role == "gauge-full" else ""
    return [
        (" ctx ", "dim"),
        ("▓" * filled, role),
        ("░" * (bar - filled), "gauge-empty"),
        (f" {about}{gauges.share * 100:.0f} %{mark}", role),
        (f"  {words.tokens(gauges.used)}/{words.tokens(gauges.window)}", "dim"),
    ]


def money_spans(gauges: Gauges) -> list[Span]:
    """``turn $0.04   session $0.31 / 5.00``."""
    spans: list[Span] = [
        ("turn ", "dim"),
        (words.cost(gauges.turn, gauges.turn_unknown), "text"),
        ("   session ", "dim"),
        (
            words.cost(gauges.session, gauges.session_unknown),
            level(gauges.spent_share) if gauges.budget else "text",
        ),
    ]
    if gauges.budget is not None:
        spans.append((f" / {words.money(gauges.budget).removeprefix('$')}", "dim"))
    return spans


def gauge_line(gauges: Gauges, hints: list[Span], width: int) -> Line:
    """The row for a width: the cache share goes first when it is narrow, then the hints, then the bar shrinks."""
    cache: list[Span] = []
    if gauges.cached >= 0:
        cache = [("cache ", "dim"), (f"{gauges.cached * 100:.0f} %", "text")]
    money = money_spans(gauges)
    for bar, with_cache, with_hints in (
        (BAR, True, True),
        (BAR, False, True),
        (BAR, False, False),
        (4, False, False),
    ):
        left = context_spans(gauges, bar)
        for spans in (cache if with_cache else [], money):
            if spans:
                left += [("   ", "text"), *spans]
        right = [*hints, (" ", "text")] if with_hints and hints else []
        if _width(left) + (2 + _width(right) if right else 0) <= width:
            return left, right
    return left, []


def _width(spans: list[Span]) -> int:
    return sum(len(text) for text, _ in spans)
