"""Cards that ask how to go on: a tripped limit, and a question of the model."""

from __future__ import annotations

from collections.abc import Mapping

from tui_agent.core.events import QuestionAsked
from tui_agent.ui import words
from tui_agent.ui.fold.run import LimitCard, RetryWait
from tui_agent.ui.widgets.row import Line, Span

BUDGET_EXTENSION = 1.5
"""What the engine raises a budget to by itself: so many times what going on takes at least."""

WHAT = {
    "max_steps": "the steps are used up",
    "budget_exceeded": "the budget is used up",
    "timeout": "the time is used up",
    "stalled": "it seems to go round in circles",
    "context_full": "the context is full",
}


def limit_lines(card: LimitCard, keys: Mapping[str, str], extend_by: int, held: str) -> list[Line]:
    """Continue, summarise and stop, or stop: three keys."""
    left: list[Span] = [(" ◌ ", "accent"), (_what(card), "text")]
    if card.what:
        left.append((f": {card.what}", "dim"))
    return [(left, [(_used(card), "dim"), (" ", "text")]), (_choices(card, keys, extend_by, held), [])]


def _what(card: LimitCard) -> str:
    left = card.allowed - card.used
    if card.reason == "budget_exceeded" and left > 0:
        needs = (
            f"going on may cost about {words.money(card.needed)}" if card.needed else "going on may cost more"
        )
        return f"{needs}, and {words.money(left)} of the budget is left"
    if card.step:
        return f"this model call took its {words.seconds(card.allowed)} (step timeout)"
    return WHAT.get(card.reason, card.reason)


def _used(card: LimitCard) -> str:
    if card.reason == "budget_exceeded":
        return f"{words.money(card.used)} of {words.money(card.allowed)} used"
    if card.step:
        return ""
    if card.reason == "timeout":
        return f"{words.seconds(card.used)} of {words.seconds(card.allowed)}"
    if card.reason == "stalled":
        return f"{card.used:.0f} times"
    return f"{card.used:.0f} of {card.allowed:.0f} steps"


def _choices(card: LimitCard, keys: Mapping[str, str], extend_by: int, held: str) -> list[Span]:
    if held:
        return [("   ", "text"), (held, "dim")]
    more = {"max_steps": f" (+{extend_by} steps)", "stalled": "", "context_full": ""}.get(
        card.reason, " (+50 %)"
    )
    if card.reason == "budget_exceeded":
        least = max(card.allowed, card.used + card.needed)
        more = f" (budget {words.money(least * BUDGET_EXTENSION)})"
    spans: list[Span] = [("   ", "text")]
    own = [("amount", "type a number")] if card.reason in {"max_steps", "budget_exceeded", "timeout"} else []
    for name, what in (
        ("continue", f"go on{more}"),
        *own,
        ("summarise", "sum up and stop"),
        ("stop", "stop"),
    ):
        if key := keys.get(name):
            spans += [(key, "key"), (f" {what}    ", "text")]
    return spans


def question_lines(event: QuestionAsked, rows: int, held: str) -> list[Line]:
    """The question, its options by number, and how to answer in one's own words."""
    text = event.question.strip().splitlines() or [""]
    options = event.options[:9]
    room = max(rows - 1 - len(options), 1)
    shown = text[:room]
    if len(text) > room:
        shown[-1] += " …"
    lines: list[Line] = [
        ([(" ◌ " if index == 0 else "   ", "accent"), (line, "text")], []) for index, line in enumerate(shown)
    ]
    lines += [
        ([("   ", "text"), (str(number), "key"), (f" {option}", "text")], [])
        for number, option in enumerate(options, 1)
    ]
    own = held or ("or write an answer and press enter" if options else "write the answer and press enter")
    return [*lines, ([("   ", "text"), (own, "dim")], [])]


def retry_lines(wait: RetryWait, keys: Mapping[str, str], held: str) -> list[Line]:
    """One row of keys; what is waited for stands in the activity row below it."""
    if held:
        return [([("   ", "text"), (held, "dim")], [])]
    spans: list[Span] = [("   ", "text")]
    other = [("fallback", f"go on with {words.model_label(wait.fallback)}")] if wait.fallback else []
    for name, what in (("now", "try again now"), *other, ("stop", "stop")):
        if key := keys.get(name):
            spans += [(key, "key"), (f" {what}    ", "text")]
    return [(spans, [])]
