"""The fold: how each event changes the session's facts, in place and by nothing else.

One small function an event. No clock, no randomness, no I/O: times and ids come inside events, so two folds of the same
log are equal. O(1) but for compaction, rewind and the end of a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from tui_agent.core import events as ev
from tui_agent.core.events import Event
from tui_agent.core.messages import Message, Result
from tui_agent.engine.budget import IterationBudget
from tui_agent.engine.facts import Facts, OpenCall, Partial, Run

PLAN = "plan"
"""Name of the intent with which a mixed run asks to carry out its plan."""

_E = TypeVar("_E", bound=Event)
HANDLERS: dict[type[Event], Callable[[Facts, Any], None]] = {}
"""What to do for each event; one that is not here changes nothing."""


def _on(kind: type[_E]) -> Callable[[Callable[[Facts, _E], None]], Callable[[Facts, _E], None]]:
    def register(handler: Callable[[Facts, _E], None]) -> Callable[[Facts, _E], None]:
        HANDLERS[kind] = handler
        return handler

    return register


def _append(state: Facts, message: Message) -> None:
    state.messages.append(message)
    state.counted += message.tokens


def _recount(state: Facts) -> None:
    state.counted = sum(message.tokens for message in state.messages)
    state.reported = state.reported_counted = 0


# ---- session and run


@_on(ev.SessionStart)
def _session_start(state: Facts, event: ev.SessionStart) -> None:
    state.id, state.kind, state.cwd, state.model = event.id, event.kind, event.cwd, event.model
    state.mode, state.confirm, state.untrusted = event.mode, event.confirm, event.untrusted
    state.title = event.title or state.title
    state.parent = event.parent


@_on(ev.SessionRenamed)
def _session_renamed(state: Facts, event: ev.SessionRenamed) -> None:
    state.title = event.title


@_on(ev.AgentStart)
def _agent_start(state: Facts, event: ev.AgentStart) -> None:
    limits = event.limits
    state.run = Run(
        id=event.run, started=event.ts, model=event.model, limits=limits, settings=event.settings, prices=event.prices,
        iterations=IterationBudget(limits.max_steps), first=len(state.messages), mode=state.mode,
        budget_usd=limits.budget_usd, timeout=limits.timeout, phase="plan" if event.settings.phased else "",
    )  # fmt: skip
    state.runs += 1
    if event.system != state.system:
        state.reported = state.reported_counted = 0
    state.system, state.parts, state.window = event.system, event.parts, event.window
    state.fixed_tokens = sum(tokens for _, tokens in event.parts) + event.tools_tokens
    state.tools = frozenset(event.tools)


@_on(ev.AgentEnd)
def _agent_end(state: Facts, event: ev.AgentEnd) -> None:
    state.run, state.last_end, state.partial = None, event, None
    state.steering.clear()
    state.follow_ups.clear()
    state.approvals.clear()
    state.questions.clear()


@_on(ev.InterruptRequested)
def _interrupt(state: Facts, event: ev.InterruptRequested) -> None:
    if state.run is None:
        return
    if event.how == "after_step":
        state.run.stop_after = True
    else:
        state.run.cut = event


# ---- messages


@_on(ev.TurnStart)
def _turn_start(state: Facts, event: ev.TurnStart) -> None:
    run = state.run
    if run is None:
        return
    run.failure, run.retry, run.retry_cut, run.empty_reply = None, None, "", False
    run.calls_made += 1
    if event.grace:
        run.grace_used = True
    else:
        run.iterations.consume()


@_on(ev.MessageStart)
def _message_start(state: Facts, event: ev.MessageStart) -> None:
    if event.role == "assistant":
        state.partial = Partial(event.id, event.model, event.purpose)


@_on(ev.MessageUpdate)
def _message_update(state: Facts, event: ev.MessageUpdate) -> None:
    partial = state.partial
    if partial is None or partial.id != event.id:
        return
    if event.delta == "text":
        partial.text.append(event.text)
    elif event.delta == "reasoning":
        partial.reasoning.append(event.text)


@_on(ev.MessageEnd)
def _message_end(state: Facts, event: ev.MessageEnd) -> None:
    message, run = event.message, state.run
    if state.partial is not None and state.partial.id == message.id:
        state.partial = None
    if message.role == "system" or event.purpose not in ("turn", "close"):
        return
    if message.parts:
        _append(state, message)
    if message.role != "assistant":
        return
    for call in message.calls:
        state.open_calls[call.id] = OpenCall(call)
    if run is None:
        return
    if message.text.strip():
        run.final_output = run.carried + message.text
    if event.purpose == "close":
        run.closed = True
        return
    run.failure = event.failure
    run.broken_stream = event.failure is not None and bool(message.parts)
    run.empty_reply = event.failure is None and not message.text.strip() and not message.calls
    if event.failure is None and not message.interrupted:
        run.attempts, run.plain, run.asked_again = 0, False, False
        run.tool_calls += len(message.calls)
        run.carried = ""
        if message.calls or message.finish != "length":
            run.nudges.pop("length", None)
        if not run.empty_reply:
            run.nudges.pop("empty", None)
            run.nudges.pop("partial", None)
        if not message.calls:
            run.repetitions.reply(message.text)


@_on(ev.SteeringQueued)
def _steering_queued(state: Facts, event: ev.SteeringQueued) -> None:
    state.steering[event.id] = event.text


@_on(ev.FollowUpQueued)
def _follow_up_queued(state: Facts, event: ev.FollowUpQueued) -> None:
    state.follow_ups[event.id] = event.text


@_on(ev.SteeringEdited)
def _steering_edited(state: Facts, event: ev.SteeringEdited) -> None:
    for queue in (state.steering, state.follow_ups):
        if event.id in queue:
            if event.text is None:
                del queue[event.id]
            else:
                queue[event.id] = event.text


@_on(ev.SteeringDelivered)
def _steering_delivered(state: Facts, event: ev.SteeringDelivered) -> None:
    _deliver(state, state.steering, event.messages)


@_on(ev.FollowUpDelivered)
def _follow_up_delivered(state: Facts, event: ev.FollowUpDelivered) -> None:
    _deliver(state, state.follow_ups, event.messages)
    if state.run is not None:
        state.run.evaluations.clear()


def _deliver(state: Facts, queue: dict[str, str], messages: tuple[Message, ...]) -> None:
    for message in messages:
        queue.pop(message.id, None)
        _append(state, message)
    if state.run is not None:
        state.run.repetitions.reset()
        state.run.warned_at = 0


# ---- tools


@_on(ev.ToolExecutionStart)
def _tool_start(state: Facts, event: ev.ToolExecutionStart) -> None:
    opened = state.open_calls.get(event.call.id)
    if opened is not None:
        opened.started = True
        opened.call = event.call


@_on(ev.ToolExecutionEnd)
def _tool_end(state: Facts, event: ev.ToolExecutionEnd) -> None:
    opened = state.open_calls.get(event.call_id)
    if opened is None:
        return
    opened.result = Result(event.call_id, event.name, event.text, ok=event.status == "ok")
    opened.tokens, opened.terminate, opened.untrusted = event.tokens, event.terminate, event.untrusted
    if event.untrusted:
        state.untrusted = True
    run = state.run
    if run is not None:
        run.files.update(dict.fromkeys(event.changed))
        run.repetitions.call(event.name, opened.call.arguments, event.text, edited=bool(event.changed))
        if event.changed:
            run.warned_at = 0
    if all(entry.result for entry in state.open_calls.values()):
        _close_batch(state)


def _close_batch(state: Facts) -> None:
    """All calls are answered: the results join the history in the model's order."""
    batch = list(state.open_calls.values())
    state.open_calls.clear()
    message = Message(
        id=f"results-{batch[0].call.id}",
        role="tool",
        parts=tuple(entry.result for entry in batch if entry.result is not None),
        origin="tool",
        tokens=sum(entry.tokens for entry in batch),
        untrusted=any(entry.untrusted for entry in batch),
    )
    _append(state, message)
    run = state.run
    if run is not None:
        malformed = all(entry.call.error or entry.call.name not in state.tools for entry in batch)
        run.bad_batches = run.bad_batches + 1 if malformed else 0
        run.terminate = all(entry.terminate for entry in batch)


@_on(ev.ApprovalRequested)
def _approval_requested(state: Facts, event: ev.ApprovalRequested) -> None:
    state.approvals[event.id] = event
    _wait_begins(state, event.ts)


@_on(ev.ApprovalResolved)
def _approval_resolved(state: Facts, event: ev.ApprovalResolved) -> None:
    asked = state.approvals.pop(event.id, None)
    state.resolved[event.id] = event
    if asked is not None and asked.intent.tool == PLAN and event.decision == "deny" and state.run is not None:
        state.run.terminate = not event.note
    _wait_ends(state, event.ts)


@_on(ev.QuestionAsked)
def _question_asked(state: Facts, event: ev.QuestionAsked) -> None:
    state.questions[event.id] = event
    _wait_begins(state, event.ts)


@_on(ev.QuestionAnswered)
def _question_answered(state: Facts, event: ev.QuestionAnswered) -> None:
    state.questions.pop(event.id, None)
    state.answers[event.id] = event
    _wait_ends(state, event.ts)


def _wait_begins(state: Facts, ts: float) -> None:
    if state.run is not None and not state.run.waiting_since:
        state.run.waiting_since = ts


def _wait_ends(state: Facts, ts: float) -> None:
    run = state.run
    if (
        run is not None
        and run.waiting_since
        and not state.approvals
        and not state.questions
        and not run.asking
    ):
        run.waited += max(0.0, ts - run.waiting_since)
        run.waiting_since = 0.0


# ---- accounting


@_on(ev.Usage)
def _usage(state: Facts, event: ev.Usage) -> None:
    state.input_tokens += event.input
    state.cached_tokens += event.cached
    state.output_tokens += event.output
    state.reasoning_tokens += event.reasoning
    run = state.run
    if event.cost_usd is None:
        state.cost_unknown = True
    else:
        state.cost += event.cost_usd
    if run is not None:
        run.cost += event.cost_usd or 0.0
        run.cost_unknown = run.cost_unknown or event.cost_usd is None
    if not event.reported or event.purpose != "turn":
        return
    state.reported = event.input + event.output
    state.reported_counted = state.counted
    state.calibration = state.calibration.learn(event.model, event.counted, event.input)


@_on(ev.LimitWarning)
def _limit_warning(state: Facts, event: ev.LimitWarning) -> None:
    if state.run is not None:
        state.run.warned.add(event.limit)


@_on(ev.LimitChanged)
def _limit_changed(state: Facts, event: ev.LimitChanged) -> None:
    state.limit_changes[event.limit] = event.value
    if state.run is not None:
        state.run.held = state.run.held or event.limit == "max_steps"
        _set_limit(state.run, event.limit, event.value)


def _set_limit(run: Run, limit: ev.Limit, value: float | None) -> None:
    if limit == "max_steps" and value is not None:
        run.iterations.extend(int(value))
    elif limit == "budget_usd":
        run.budget_usd = value
    elif limit == "timeout":
        run.timeout = value


@_on(ev.GuardTripped)
def _guard_tripped(state: Facts, event: ev.GuardTripped) -> None:
    if state.run is not None and event.asks:
        state.run.asking = event
        state.run.choice = None
        _wait_begins(state, event.ts)


@_on(ev.LimitExtended)
def _limit_extended(state: Facts, event: ev.LimitExtended) -> None:
    run = state.run
    if run is None:
        return
    if event.by == "person":
        run.asking = None
        _wait_ends(state, event.ts)
    if event.choice != "continue":
        run.choice = event.choice
        return
    if event.by == "model":
        run.extensions += 1
    if event.limit == "stall":
        run.repetitions.reset()
        run.warned_at = 0
    elif run.failure is not None and run.failure.step:
        run.failure = None
        run.limits = msgspec.structs.replace(run.limits, step_timeout=event.value or run.limits.step_timeout)
    else:
        _set_limit(run, event.limit, event.value)


@_on(ev.Closing)
def _closing(state: Facts, event: ev.Closing) -> None:
    if state.run is None:
        return
    state.run.closing, state.run.failure = event, None
    if event.message is None:
        state.run.closed = True
    else:
        _append(state, event.message)


@_on(ev.Nudge)
def _nudge(state: Facts, event: ev.Nudge) -> None:
    _append(state, event.message)
    run = state.run
    if run is not None:
        run.nudges[event.why] = event.attempt
        run.broken_stream = run.empty_reply = False
        run.carried = run.final_output if event.why in ("length", "partial") else ""


@_on(ev.Stall)
def _stall(state: Facts, event: ev.Stall) -> None:
    if event.message is not None:
        _append(state, event.message)
    if state.run is not None:
        state.run.warned_at = max(state.run.warned_at, event.count)


# ---- recovery


@_on(ev.Retry)
def _retry(state: Facts, event: ev.Retry) -> None:
    run = state.run
    if run is None:
        return
    run.retry, run.retry_cut, run.failure = event, "", None
    run.iterations.refund()
    if event.action == "wait":
        run.attempts = event.attempt
    elif event.action == "refresh":
        run.refreshes += 1
    elif event.action == "plain":
        run.plain = True
    elif event.action == "ask_again":
        run.asked_again = True


@_on(ev.RetryCut)
def _retry_cut(state: Facts, event: ev.RetryCut) -> None:
    run = state.run
    if run is None:
        return
    run.retry_cut = event.choice
    if event.choice != "now" and run.retry is not None:
        run.failure = run.retry.failure


@_on(ev.Fallback)
def _fallback(state: Facts, event: ev.Fallback) -> None:
    run = state.run
    if run is None:
        return
    if run.retry is None:
        run.iterations.refund()
    run.fallbacks_used.append(event.target)
    run.model, run.prices, run.failure, run.retry, run.retry_cut = event.target, event.prices, None, None, ""
    run.attempts, run.compactions, run.futile, run.overflows = 0, 0, 0, 0
    run.plain = run.asked_again = False
    _model_switched(state, event.system, event.window)


@_on(ev.ModelChanged)
def _model_changed(state: Facts, event: ev.ModelChanged) -> None:
    state.model = event.model
    state.hand_picked = state.hand_picked or event.by == "person"
    if state.run is not None:
        state.run.model, state.run.prices, state.run.attempts = event.model, event.prices, 0
        state.run.stale_system = not event.system
        _model_switched(state, event.system, event.window)


def _model_switched(state: Facts, system: str, window: int) -> None:
    state.system = system or state.system
    state.window = window
    state.reported = state.reported_counted = 0


@_on(ev.PhaseChanged)
def _phase_changed(state: Facts, event: ev.PhaseChanged) -> None:
    if state.run is not None:
        state.run.phase = ""
        state.tools = frozenset(event.tools)
    state.system = event.system or state.system
    state.reported = state.reported_counted = 0
    if event.message is not None:
        _append(state, event.message)


@_on(ev.Compaction)
def _compaction(state: Facts, event: ev.Compaction) -> None:
    run = state.run
    if run is not None:
        run.compactions += 1
        gained = event.after_tokens < event.before_tokens * 0.9
        run.futile = 0 if gained else run.futile + 1
        if run.failure is not None and run.failure.kind == "context_overflow":
            run.failure = None
            run.overflows += 1
            run.iterations.refund()
    if event.method == "none":
        return
    by_id = {message.id: message for message in (*state.messages, *event.changed)}
    if event.summary is not None:
        by_id[event.summary.id] = event.summary
    state.messages = [by_id[id] for id in event.history if id in by_id]
    _recount(state)


@_on(ev.Rewind)
def _rewind(state: Facts, event: ev.Rewind) -> None:
    if not event.conversation:
        return
    by_id = {message.id: message for message in (*state.messages, *event.restored)}
    state.messages = [by_id[id] for id in event.history if id in by_id]
    state.open_calls.clear()
    state.partial = None
    _recount(state)


@_on(ev.Evaluation)
def _evaluation(state: Facts, event: ev.Evaluation) -> None:
    if state.run is not None:
        state.run.evaluations.append(event)
    if event.message is not None:
        _append(state, event.message)


@_on(ev.ModeChanged)
def _mode_changed(state: Facts, event: ev.ModeChanged) -> None:
    state.mode = event.mode or state.mode
    state.confirm = event.confirm or state.confirm
