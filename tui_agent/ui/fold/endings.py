"""The card at the end of a run: what happened, why, and what to do next, for every stop reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from tui_agent.core.events import AgentEnd, RunLimits, StopReason
from tui_agent.ui import words
from tui_agent.ui.blocks import CardBlock

Key = Callable[[str], str]
"""The label of an action's key, e.g. ``f3``; empty when it has none."""

TITLES: dict[StopReason, str] = {
    "llm_done": "done",
    "max_steps": "stopped at the step limit",
    "budget_exceeded": "stopped at the budget",
    "context_full": "stopped: the context is full",
    "timeout": "stopped at the time limit",
    "user_interrupt": "stopped by you",
    "llm_error": "stopped: the model could not be reached",
    "stalled": "stopped: it went round in circles",
    "incomplete": "stopped: no usable answer came",
    "internal_error": "stopped by an error in tui-agent",
}


NO_USE_AGAIN = frozenset(
    {"auth", "billing", "not_found", "bad_request", "content_policy", "context_overflow"}
)
"""Failures that the same request meets again."""


class RunFacts(msgspec.Struct, frozen=True):
    """What the fold knows about the run that ended. ``changed`` maps a path to lines added and removed."""

    limits: RunLimits
    max_steps: int
    changed: dict[str, tuple[int, int]]
    kept_words: int
    ended_tools: list[str]
    review: str
    unknown_prices: int
    summed_up: bool = False
    """Whether a last answer sums up what is done."""


def card(event: AgentEnd, facts: RunFacts, key: Key) -> CardBlock:
    """The card below a run."""
    block = CardBlock(f"end/{event.run}", mark=_mark(event), tone=_tone(event))
    title = TITLES[event.stop_reason]
    if event.failure is not None and event.stop_reason == "llm_error":
        title = f"stopped: {event.failure.text}"
    if cut_off(event):
        title = f"stopped: {words.first_line(event.detail, 80)}"
    block.title = f"{title} · {event.status}"
    block.right = _right(event, facts)
    block.rows = [*_why(event, facts), *_changed(facts), *_next(event, key)]
    block.data = {"run": event.run, "stop_reason": event.stop_reason, "status": event.status}
    block.text = "\n".join(
        [f"{block.title}  {block.right}", *(f"{label}  {text}".strip() for label, text in block.rows)]
    )
    return block


def cut_off(event: AgentEnd) -> bool:
    """Whether the run's end is only what was found when the session was opened again: nobody stopped it."""
    return event.stop_reason == "user_interrupt" and bool(event.detail.strip())


def _mark(event: AgentEnd) -> str:
    if event.status == "failed":
        return "✗"
    return "◆" if event.stop_reason == "llm_done" else "⏸"


def _tone(event: AgentEnd) -> Literal["ok", "warn", "error"]:
    if event.status == "success":
        return "ok"
    return "error" if event.status == "failed" else "warn"


def _right(event: AgentEnd, facts: RunFacts) -> str:
    """Steps, calls, time, money, files: what the run came to."""
    parts = [
        words.count(event.steps, "step"),
        words.count(event.tool_calls, "call"),
        words.seconds(event.duration),
    ]
    parts.append("$?" if event.cost_usd is None else words.cost(event.cost_usd, facts.unknown_prices))
    if facts.changed:
        added = sum(plus for plus, _ in facts.changed.values())
        removed = sum(minus for _, minus in facts.changed.values())
        parts.append(f"{words.count(len(facts.changed), 'file')} ({words.diff(added, removed)})")
    if facts.review:
        parts.append(facts.review)
    return " · ".join(parts)


def _changed(facts: RunFacts) -> list[tuple[str, str]]:
    if not facts.changed:
        return []
    shown = [
        f"{path}  {words.diff(plus, minus)}" if plus or minus else path
        for path, (plus, minus) in list(facts.changed.items())[:4]
    ]
    if len(facts.changed) > len(shown):
        shown.append(f"and {len(facts.changed) - len(shown)} more")
    return [("changed", "    ".join(shown))]


def _why(event: AgentEnd, facts: RunFacts) -> list[tuple[str, str]]:
    rows = [("why", text) for text in [_reason(event, facts)] if text]
    if event.stop_reason == "llm_error":
        rows.append(("kept", "everything so far"))
    if event.stop_reason == "user_interrupt":
        kept = [f"{words.count(len(facts.ended_tools), 'tool')} ended: {', '.join(facts.ended_tools[:3])}"]
        kept = kept if facts.ended_tools else []
        if facts.kept_words:
            kept.append(f"the first {words.count(facts.kept_words, 'word')} of the last answer are kept")
        rows += [("kept", "; ".join(kept))] if kept else []
    if event.returned:
        queued = words.count(len(event.returned), "queued message")
        rows.append(
            ("queue", f"your {queued} {'is' if len(event.returned) == 1 else 'are'} back in the composer")
        )
    return rows


def _reason(event: AgentEnd, facts: RunFacts) -> str:
    limits = facts.limits
    budget = words.money(limits.budget_usd) if limits.budget_usd else "the budget"
    timeout = words.seconds(limits.timeout) if limits.timeout else words.seconds(limits.step_timeout)
    reasons: dict[StopReason, str] = {
        "llm_done": "",
        "user_interrupt": "",
        "max_steps": _steps_used(event, facts),
        "budget_exceeded": f"the next call would have passed {budget}",
        "context_full": "the next request does not fit into the model's window, even after compacting",
        "timeout": f"the run took longer than {timeout}",
        "llm_error": "",
        "stalled": "the same calls gave the same results again and again",
        "incomplete": "the replies stayed empty or broken after every reminder",
        "internal_error": words.first_line(event.detail.strip().rpartition("\n")[2], 200)
        or "an unexpected error",
    }
    if event.failure is not None and event.failure.step:
        return f"a model call took longer than its {words.seconds(limits.step_timeout)} (step timeout)"
    text = reasons[event.stop_reason]
    if event.failure is not None and event.stop_reason != "llm_error":
        text = f"{text}; {event.failure.text}" if text else event.failure.text
    return text


def _steps_used(event: AgentEnd, facts: RunFacts) -> str:
    """The count may be one above the limit: the step in which the model reads its last results."""
    used = min(event.steps, facts.max_steps) if facts.max_steps else event.steps
    extra = " and one more to read the last results" if event.steps > used else ""
    summary = "; what is done so far is summed up above" if facts.summed_up else ""
    verb = "is" if used == 1 and not extra else "are"
    of = f" of {facts.max_steps}" if facts.max_steps else ""
    return f"{used}{of} {'step' if (facts.max_steps or used) == 1 else 'steps'}{extra} {verb} used{summary}"


def _next(event: AgentEnd, key: Key) -> list[tuple[str, str]]:
    send, models, context = key("composer.send"), key("models.open"), key("context.open")
    rewind = key("session.rewind")
    hints: dict[StopReason, str] = {
        "llm_done": f"{send}: say what next · {rewind}: rewind" if rewind else f"{send}: say what next",
        "max_steps": f"{send}: say “go on”, the count begins anew · /steps N raises the limit",
        "budget_exceeded": f"/budget AMOUNT raises it · then {send}: say “go on”",
        "context_full": f"/compact or {context} shortens it · a model with a larger window: {models}",
        "timeout": f"{send}: say “go on” · limits.timeout and limits.step_timeout in the config raise it",
        "user_interrupt": f"{send}: say what to do instead, or “go on”",
        "llm_error": _after_failure(event, models),
        "stalled": f"{send}: say what to try instead",
        "incomplete": f"/retry · another model ({models})",
        "internal_error": f"{send}: say “go on” · please report it with the log file",
    }
    text = hints[event.stop_reason]
    if cut_off(event):
        text = f"/continue goes on from here (or say “go on”); look first at what was running · {send}: say what to do instead"
    if do := _to_do(event):
        return [("do", do), ("next", text)]
    return [("next", text)]


def _after_failure(event: AgentEnd, models: str) -> str:
    """What can follow a failed call; asking again in vain is not offered first."""
    if event.failure is not None and event.failure.kind in NO_USE_AGAIN:
        return f"choose another model ({models}), or mend it, then /retry"
    return f"/retry or /continue goes on · another model ({models})"


def _to_do(event: AgentEnd) -> str:
    if event.failure is None:
        return ""
    if event.failure.kind == "malformed" and not event.failure.hint:
        return "check api_base in the config: what answers there does not speak the API"
    return event.failure.hint
