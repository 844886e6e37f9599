"""The fold, second half: what was used, which limits hold, and what became of failures and of the context."""

from __future__ import annotations

import msgspec

from tui_agent.core import events as ev
from tui_agent.engine.facts import Facts, Run
from tui_agent.engine.handlers import append, on, recount, wait_begins, wait_ends

# ---- accounting


@on(ev.Usage)
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


@on(ev.LimitWarning)
def _limit_warning(state: Facts, event: ev.LimitWarning) -> None:
    if state.run is not None:
        state.run.warned.add(event.limit)


@on(ev.LimitChanged)
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


@on(ev.GuardTripped)
def _guard_tripped(state: Facts, event: ev.GuardTripped) -> None:
    if state.run is not None and event.asks:
        state.run.asking = event
        state.run.choice = None
        wait_begins(state, event.ts)


@on(ev.LimitExtended)
def _limit_extended(state: Facts, event: ev.LimitExtended) -> None:
    run = state.run
    if run is None:
        return
    if event.by == "person":
        run.asking = None
        wait_ends(state, event.ts)
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


@on(ev.Closing)
def _closing(state: Facts, event: ev.Closing) -> None:
    if state.run is None:
        return
    state.run.closing, state.run.failure = event, None
    if event.message is None:
        state.run.closed = True
    else:
        append(state, event.message)


@on(ev.Nudge)
def _nudge(state: Facts, event: ev.Nudge) -> None:
    append(state, event.message)
    run = state.run
    if run is not None:
        run.nudges[event.why] = event.attempt
        run.broken_stream = run.empty_reply = False
        run.carried = run.final_output if event.why in ("length", "partial") else ""


@on(ev.Stall)
def _stall(state: Facts, event: ev.Stall) -> None:
    if event.message is not None:
        append(state, event.message)
    if state.run is not None:
        state.run.warned_at = max(state.run.warned_at, event.count)


# ---- recovery


@on(ev.Retry)
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


@on(ev.RetryCut)
def _retry_cut(state: Facts, event: ev.RetryCut) -> None:
    run = state.run
    if run is None:
        return
    run.retry_cut = event.choice
    if event.choice != "now" and run.retry is not None:
        run.failure = run.retry.failure


@on(ev.Fallback)
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


@on(ev.ModelChanged)
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


@on(ev.PhaseChanged)
def _phase_changed(state: Facts, event: ev.PhaseChanged) -> None:
    if state.run is not None:
        state.run.phase = ""
        state.tools = frozenset(event.tools)
    state.system = event.system or state.system
    state.reported = state.reported_counted = 0
    if event.message is not None:
        append(state, event.message)


@on(ev.Compaction)
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
    recount(state)


@on(ev.Rewind)
def _rewind(state: Facts, event: ev.Rewind) -> None:
    if not event.conversation:
        return
    by_id = {message.id: message for message in (*state.messages, *event.restored)}
    state.messages = [by_id[id] for id in event.history if id in by_id]
    state.open_calls.clear()
    state.partial = None
    recount(state)


@on(ev.Evaluation)
def _evaluation(state: Facts, event: ev.Evaluation) -> None:
    if state.run is not None:
        state.run.evaluations.append(event)
    if event.message is not None:
        append(state, event.message)


@on(ev.ModeChanged)
def _mode_changed(state: Facts, event: ev.ModeChanged) -> None:
    state.mode = event.mode or state.mode
    state.confirm = event.confirm or state.confirm
