"""The fold, first half: session, messages, steering and tools. How each event changes the facts, in place and by nothing else.

One small function an event. No clock, no randomness, no I/O: times and ids come inside events, so two folds of the same
log are equal. O(1) but for compaction, rewind and the end of a batch.
"""

from __future__ import annotations

from tui_agent.core import events as ev
from tui_agent.core.messages import Message, Result
from tui_agent.engine.budget import IterationBudget
from tui_agent.engine.facts import Facts, OpenCall, Partial, Run
from tui_agent.engine.handlers import append, on, wait_begins, wait_ends

PLAN = "plan"
"""Name of the intent with which a mixed run asks to carry out its plan."""

# ---- session and run


@on(ev.SessionStart)
def _session_start(state: Facts, event: ev.SessionStart) -> None:
    state.id, state.kind, state.cwd, state.model = event.id, event.kind, event.cwd, event.model
    state.mode, state.confirm, state.untrusted = event.mode, event.confirm, event.untrusted
    state.title = event.title or state.title
    state.parent = event.parent


@on(ev.SessionRenamed)
def _session_renamed(state: Facts, event: ev.SessionRenamed) -> None:
    state.title = event.title


@on(ev.AgentStart)
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


@on(ev.AgentEnd)
def _agent_end(state: Facts, event: ev.AgentEnd) -> None:
    state.run, state.last_end, state.partial = None, event, None
    state.steering.clear()
    state.follow_ups.clear()
    state.approvals.clear()
    state.questions.clear()


@on(ev.InterruptRequested)
def _interrupt(state: Facts, event: ev.InterruptRequested) -> None:
    if state.run is None:
        return
    if event.how == "after_step":
        state.run.stop_after = True
    else:
        state.run.cut = event


# ---- messages


@on(ev.TurnStart)
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


@on(ev.MessageStart)
def _message_start(state: Facts, event: ev.MessageStart) -> None:
    if event.role == "assistant":
        state.partial = Partial(event.id, event.model, event.purpose)


@on(ev.MessageUpdate)
def _message_update(state: Facts, event: ev.MessageUpdate) -> None:
    partial = state.partial
    if partial is None or partial.id != event.id:
        return
    if event.delta == "text":
        partial.text.append(event.text)
    elif event.delta == "reasoning":
        partial.reasoning.append(event.text)


@on(ev.MessageEnd)
def _message_end(state: Facts, event: ev.MessageEnd) -> None:
    message, run = event.message, state.run
    if state.partial is not None and state.partial.id == message.id:
        state.partial = None
    if message.role == "system" or event.purpose not in ("turn", "close"):
        return
    if message.parts:
        append(state, message)
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


@on(ev.SteeringQueued)
def _steering_queued(state: Facts, event: ev.SteeringQueued) -> None:
    state.steering[event.id] = event.text


@on(ev.FollowUpQueued)
def _follow_up_queued(state: Facts, event: ev.FollowUpQueued) -> None:
    state.follow_ups[event.id] = event.text


@on(ev.SteeringEdited)
def _steering_edited(state: Facts, event: ev.SteeringEdited) -> None:
    for queue in (state.steering, state.follow_ups):
        if event.id in queue:
            if event.text is None:
                del queue[event.id]
            else:
                queue[event.id] = event.text


@on(ev.SteeringDelivered)
def _steering_delivered(state: Facts, event: ev.SteeringDelivered) -> None:
    _deliver(state, state.steering, event.messages)


@on(ev.FollowUpDelivered)
def _follow_up_delivered(state: Facts, event: ev.FollowUpDelivered) -> None:
    _deliver(state, state.follow_ups, event.messages)
    if state.run is not None:
        state.run.evaluations.clear()


def _deliver(state: Facts, queue: dict[str, str], messages: tuple[Message, ...]) -> None:
    for message in messages:
        queue.pop(message.id, None)
        append(state, message)
    if state.run is not None:
        state.run.repetitions.reset()
        state.run.warned_at = 0


# ---- tools


@on(ev.ToolExecutionStart)
def _tool_start(state: Facts, event: ev.ToolExecutionStart) -> None:
    opened = state.open_calls.get(event.call.id)
    if opened is not None:
        opened.started = True
        opened.call = event.call


@on(ev.ToolExecutionEnd)
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
    append(state, message)
    run = state.run
    if run is not None:
        malformed = all(entry.call.error or entry.call.name not in state.tools for entry in batch)
        run.bad_batches = run.bad_batches + 1 if malformed else 0
        run.terminate = all(entry.terminate for entry in batch)


@on(ev.ApprovalRequested)
def _approval_requested(state: Facts, event: ev.ApprovalRequested) -> None:
    state.approvals[event.id] = event
    wait_begins(state, event.ts)


@on(ev.ApprovalResolved)
def _approval_resolved(state: Facts, event: ev.ApprovalResolved) -> None:
    asked = state.approvals.pop(event.id, None)
    state.resolved[event.id] = event
    if asked is not None and asked.intent.tool == PLAN and event.decision == "deny" and state.run is not None:
        state.run.terminate = not event.note
    wait_ends(state, event.ts)


@on(ev.QuestionAsked)
def _question_asked(state: Facts, event: ev.QuestionAsked) -> None:
    state.questions[event.id] = event
    wait_begins(state, event.ts)


@on(ev.QuestionAnswered)
def _question_answered(state: Facts, event: ev.QuestionAnswered) -> None:
    state.questions.pop(event.id, None)
    state.answers[event.id] = event
    wait_ends(state, event.ts)
