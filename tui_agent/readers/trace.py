"""The human trace: what the agent does, step by step, as lines for a person.

Checkpoints, sizes and usage are no lines: the trace tells the work, the gauges tell the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from tui_agent.core import events as ev
from tui_agent.core.events import Event
from tui_agent.core.messages import Call
from tui_agent.readers.trace_page import Page, clean
from tui_agent.readers.trace_words import Language

HUMAN = 25
"""The log level of a trace line, between INFO (20) and WARNING (30)."""

logging.addLevelName(HUMAN, "HUMAN")

HOOK_LINES = 5
"""Lines of a failed hook's output that are shown."""

_E = TypeVar("_E", bound=Event)
_HANDLERS: dict[type[Event], Callable[[Page, Any], None]] = {}


class HumanTrace:
    """Folds a session's events into lines; calls that run at once are written one after the other."""

    def __init__(self, language: Language = "en") -> None:
        self._page = Page(language)
        self._marks: list[tuple[int, int]] = []

    def feed(self, event: Event) -> list[str]:
        """The lines that an event brings, empty ones included; often none."""
        page = self._page
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(page, event)
        if isinstance(event, ev.Rewind) and event.conversation:
            kept = [messages for seq, messages in self._marks if seq <= event.to_seq]
            page.messages = kept[-1] if kept else 0
        if event.seq and (not self._marks or self._marks[-1][1] != page.messages):
            self._marks.append((event.seq, page.messages))
        return page.take()


def _on(kind: type[_E]) -> Callable[[Callable[[Page, _E], None]], Callable[[Page, _E], None]]:
    def register(handler: Callable[[Page, _E], None]) -> Callable[[Page, _E], None]:
        _HANDLERS[kind] = handler
        return handler

    return register


# ---- runs and messages


@_on(ev.AgentStart)
def _agent_start(page: Page, event: ev.AgentStart) -> None:
    page.steps = page.unasked = 0
    page.system = 1 if event.system else 0
    page.step_timeout = event.limits.step_timeout
    if event.why:
        page.say("model", model=event.model, why=f"({event.why})")


@_on(ev.TurnStart)
def _turn_start(page: Page, event: ev.TurnStart) -> None:
    page.steps += 1
    messages = page.number("message", "messages", page.system + page.messages)
    page.say("last_step" if event.grace else "step", gap=True, step=event.step, messages=messages)


@_on(ev.MessageEnd)
def _message_end(page: Page, event: ev.MessageEnd) -> None:
    message = event.message
    if event.purpose not in ("turn", "close"):
        return
    if message.parts:
        page.messages += 1
    if message.role != "assistant":
        return
    page.asked = {call.id: _subject(call) for call in message.calls}
    if event.failure is not None:
        if event.failure.step:
            page.say("step_timeout", gap=True, seconds=f"{page.step_timeout:g}")
    elif message.interrupted:
        page.say("cut_reply")
    elif message.calls and event.purpose == "turn":
        page.say("calls", calls=page.number("a_call", "n_calls", len(message.calls)))
        page.leave_gap()
    elif message.parts:
        page.say("final")


@_on(ev.AgentEnd)
def _agent_end(page: Page, event: ev.AgentEnd) -> None:
    page.settle_all(page.words["interrupted"])
    steps, reason = page.number("a_step", "steps", event.steps), event.stop_reason
    failure = event.failure
    if event.status == "success":
        page.say("done", gap=True, steps=steps)
    elif reason == "llm_done":
        page.say("partly_done", gap=True, steps=steps)
        reason = "not_passed"
    elif reason == "llm_error":
        page.say("failed", gap=True, text=failure.text if failure else event.final_output)
    elif reason == "internal_error":
        page.say("broken", gap=True, text=event.detail.strip().rpartition("\n")[2])
    else:
        page.say("stopped", gap=True, steps=steps)
    page.say("reason", text=page.words[f"why_{reason}"])
    if failure is not None and failure.hint:
        page.say("hint", text=failure.hint)
    if page.unasked:
        page.say("unasked", calls=page.number("a_call", "n_calls", page.unasked))
    if event.cost_usd is None:
        page.say("cost", cost="$?")
    elif event.cost_usd:
        page.say("cost", cost=f"${event.cost_usd:.4f}")
    page.say("totals", steps=steps, calls=page.number("a_call", "n_calls", event.tool_calls))
    page.leave_gap()


@_on(ev.Closing)
def _closing(page: Page, event: ev.Closing) -> None:
    page.messages += event.message is not None
    page.say("closing", gap=True, reason=event.reason, steps=page.number("a_step", "steps", page.steps))


@_on(ev.Nudge)
def _nudge(page: Page, event: ev.Nudge) -> None:
    page.messages += 1
    page.say("nudge", why=page.words[f"nudge_{event.why}"], attempt=event.attempt, limit=event.limit)


# ---- tools and hooks


@_on(ev.ToolExecutionStart)
def _tool_start(page: Page, event: ev.ToolExecutionStart) -> None:
    page.open_call(event.call.id, event.call.name, event.summary)


def _subject(call: Call) -> str:
    """A call's first argument that is text: the command, the path, the question."""
    return next((value for value in call.arguments.values() if isinstance(value, str)), "")


@_on(ev.ToolExecutionEnd)
def _tool_end(page: Page, event: ev.ToolExecutionEnd) -> None:
    page.messages += 1
    page.unasked += event.summary == "needs approval"
    if not page.is_open(event.call_id):
        page.open_call(event.call_id, event.name, page.asked.get(event.call_id, ""))
    why = next((line for line in event.text.splitlines() if line.strip()), event.summary)
    how = "would_do" if event.summary == "would do" else event.status
    page.settle(event.call_id, page.words[how].format(text=clean(why)).rstrip(": "))


@_on(ev.HookEnd)
def _hook_end(page: Page, event: ev.HookEnd) -> None:
    values = {"name": clean(event.name, 80), "path": clean(event.path), "seconds": f"{event.duration:.0f} s"}
    key = "hook_rewrote" if event.status == "ok" and event.rewrote else f"hook_{event.status}"
    lines = [page.words[key].format(**values)]
    if event.status != "ok":
        output = [line for line in event.output.splitlines() if line.strip()]
        lines += [f"         {clean(line)}" for line in output[:HOOK_LINES]]
        if len(output) > HOOK_LINES:
            lines.append(page.words["more_lines"].format(n=len(output) - HOOK_LINES))
    page.hook_lines(event.call_id, lines)


@_on(ev.ApprovalRequested)
def _approval_requested(page: Page, event: ev.ApprovalRequested) -> None:
    page.say("approval", tool=event.intent.tool, why=event.why or event.intent.effect)


@_on(ev.ApprovalResolved)
def _approval_resolved(page: Page, event: ev.ApprovalResolved) -> None:
    if event.decision == "deny":
        page.say("refused", note=event.note)
    elif event.by == "person":
        page.say("approved", decision=event.decision)


@_on(ev.QuestionAsked)
def _question_asked(page: Page, event: ev.QuestionAsked) -> None:
    page.say("question", text=event.question)


@_on(ev.QuestionAnswered)
def _question_answered(page: Page, event: ev.QuestionAnswered) -> None:
    if event.text is None:
        page.say("no_answer")
    else:
        page.say("answer", text=event.text)


# ---- the person


@_on(ev.SteeringQueued)
def _steering_queued(page: Page, event: ev.SteeringQueued) -> None:
    page.say("queued", text=event.text)


@_on(ev.FollowUpQueued)
def _follow_up_queued(page: Page, event: ev.FollowUpQueued) -> None:
    page.say("next_queued", text=event.text)


@_on(ev.SteeringDelivered)
def _steering_delivered(page: Page, event: ev.SteeringDelivered) -> None:
    for message in event.messages:
        page.messages += 1
        page.say("delivered", text=message.text)


@_on(ev.FollowUpDelivered)
def _follow_up_delivered(page: Page, event: ev.FollowUpDelivered) -> None:
    for message in event.messages:
        page.messages += 1
        page.say("next", text=message.text)


@_on(ev.InterruptRequested)
def _interrupt(page: Page, event: ev.InterruptRequested) -> None:
    if event.how == "graceful":
        page.say("interrupt", gap=True, seconds=f"{event.grace:g} s")
    else:
        page.say("interrupt_now" if event.how == "now" else "stop_after_step", gap=True)


@_on(ev.Rewind)
def _rewind(page: Page, event: ev.Rewind) -> None:
    words = [page.words["conversation"]] * event.conversation + [page.words["files"]] * event.files
    page.say("rewind", seq=event.to_seq, what=", ".join(words))


# ---- limits, recovery, context


def _amount(limit: str, value: float) -> str:
    """A limit's value with its unit; small sums with as many digits as they need, so that no budget reads ``$0.00``."""
    if limit == "budget_usd":
        return f"${value:.2f}" if value >= 0.01 or not value else "$" + f"{value:.8f}".rstrip("0")
    return f"{value:g} s" if limit == "timeout" else f"{value:g}"


@_on(ev.LimitWarning)
def _limit_warning(page: Page, event: ev.LimitWarning) -> None:
    used, allowed = _amount(event.limit, event.used), _amount(event.limit, event.allowed)
    page.say("warning", gap=True, limit=event.limit, used=used, allowed=allowed)


_UNITS = {"budget_exceeded": "budget_usd", "timeout": "timeout"}


@_on(ev.GuardTripped)
def _guard_tripped(page: Page, event: ev.GuardTripped) -> None:
    reason, unit = page.words[f"why_{event.reason}"], _UNITS.get(event.reason, "")
    used, allowed = _amount(unit, event.used), _amount(unit, event.allowed)
    page.say("guard_used" if event.allowed else "guard", gap=True, reason=reason, used=used, allowed=allowed)
    if event.asks:
        page.say("guard_asks")


@_on(ev.LimitExtended)
def _limit_extended(page: Page, event: ev.LimitExtended) -> None:
    if event.choice == "continue":
        why = f"({event.why})" if event.why else ""
        page.say("extended", limit=event.limit, value=_amount(event.limit, event.value), why=why)
    else:
        page.say(event.choice)


@_on(ev.LimitChanged)
def _limit_changed(page: Page, event: ev.LimitChanged) -> None:
    value = page.words["no_limit"] if event.value is None else _amount(event.limit, event.value)
    page.say("limit", limit=event.limit, value=value)


@_on(ev.Retry)
def _retry(page: Page, event: ev.Retry) -> None:
    wait = event.until - event.ts
    key = "retry" if event.ts and wait >= 0.5 else "retry_now"
    text, seconds = clean(event.failure.text), f"{wait:.0f} s"
    page.say(
        key, kind=event.failure.kind, text=text, attempt=event.attempt, limit=event.limit, seconds=seconds
    )


@_on(ev.RetryCut)
def _retry_cut(page: Page, event: ev.RetryCut) -> None:
    page.say("retry_cut", choice=event.choice)


@_on(ev.Fallback)
def _fallback(page: Page, event: ev.Fallback) -> None:
    page.say("fallback", source=event.source, target=event.target, why=event.why)


@_on(ev.Compaction)
def _compaction(page: Page, event: ev.Compaction) -> None:
    if event.method == "none":
        page.say("no_compaction", why=event.why)
        return
    page.messages = event.after_messages
    page.say(
        "compaction",
        method=event.method,
        before=event.before_messages,
        after=event.after_messages,
        before_tokens=f"{event.before_tokens:,}",
        after_tokens=f"{event.after_tokens:,}",
    )


@_on(ev.Repair)
def _repair(page: Page, event: ev.Repair) -> None:
    page.say("repair", merged=event.merged, dropped=event.dropped, answered=event.answered)


@_on(ev.Stall)
def _stall(page: Page, event: ev.Stall) -> None:
    page.messages += event.message is not None
    page.say(f"stall_{event.action}", what=event.what or event.kind, count=event.count)


# ---- review, advice, settings


@_on(ev.Evaluation)
def _evaluation(page: Page, event: ev.Evaluation) -> None:
    page.messages += event.message is not None
    if event.error:
        page.say("no_evaluation", gap=True, attempt=event.attempt, text=event.error)
        return
    confidence = f"{100 * event.confidence:.0f}"
    page.say(
        "passed" if event.passed else "not_passed", gap=True, attempt=event.attempt, confidence=confidence
    )
    for issue in event.issues:
        page.put(f"   - {clean(issue)}")


@_on(ev.Advisor)
def _advisor(page: Page, event: ev.Advisor) -> None:
    page.say("no_advisor" if event.error else "advisor", model=event.model, text=event.error)


@_on(ev.Memory)
def _memory(page: Page, event: ev.Memory) -> None:
    page.say(f"memory_{event.action}", count=event.count, text=event.text)


@_on(ev.ModeChanged)
def _mode_changed(page: Page, event: ev.ModeChanged) -> None:
    if event.mode:
        page.say("mode", mode=event.mode)
    if event.confirm:
        page.say("confirm", confirm=event.confirm)


@_on(ev.ModelChanged)
def _model_changed(page: Page, event: ev.ModelChanged) -> None:
    page.say("model", model=event.model, why=f"({event.why})" if event.why else "")


@_on(ev.PhaseChanged)
def _phase_changed(page: Page, event: ev.PhaseChanged) -> None:
    page.messages += event.message is not None
    page.say("phase", gap=True)


@_on(ev.Notice)
def _notice(page: Page, event: ev.Notice) -> None:
    mark = {"info": "ℹ️", "warning": "⚠️", "error": "❌"}[event.level]
    page.put(f"{mark} {clean(event.text)}")
    if event.hint:
        page.say("hint", text=event.hint)
