"""How a run ends: its status, its final words and the one ``agent_end``."""

from __future__ import annotations

from tui_agent.core.errors import Failure
from tui_agent.core.events import AgentEnd, Evaluation, Status, StopReason
from tui_agent.core.messages import Message
from tui_agent.engine.state import Run, State

_FAILED: frozenset[StopReason] = frozenset({"llm_error", "internal_error"})


def status_of(reason: StopReason, evaluations: list[Evaluation]) -> Status:
    """``running`` → success, partial or failed. A success that self-evaluation did not pass is partial."""
    if reason in _FAILED:
        return "failed"
    if reason != "llm_done":
        return "partial"
    judged = [evaluation for evaluation in evaluations if not evaluation.error]
    return "success" if not judged or any(evaluation.passed for evaluation in judged) else "partial"


def ending(
    state: State, run: Run, reason: StopReason, *, failure: Failure | None = None, detail: str = ""
) -> AgentEnd:
    """The event that ends ``run``; queued messages are in it, so that they go back to the person."""
    return AgentEnd(
        run=run.id,
        stop_reason=reason,
        status=status_of(reason, run.evaluations),
        steps=run.iterations.used + run.grace_used,
        tool_calls=run.tool_calls,
        cost_usd=None if run.cost_unknown else round(run.cost, 8),
        duration=round(state.now - run.started, 3),
        final_output=_final_output(state, run, reason, failure),
        failure=failure,
        files_changed=tuple(run.files),
        returned=(*state.steering.values(), *state.follow_ups.values()),
        detail=detail,
    )


def _final_output(state: State, run: Run, reason: StopReason, failure: Failure | None) -> str:
    if reason == "llm_done":
        best = _best_attempt(state, run.evaluations)
        return best.text if best is not None else run.final_output
    if reason == "llm_error" and failure is not None:
        return f"The model could not be reached or refused: {failure.text}"
    if run.closing is not None and run.final_output:
        return run.final_output
    return run.final_output or f"The agent stopped ({reason})."


def _best_attempt(state: State, evaluations: list[Evaluation]) -> Message | None:
    """The attempt that passed, otherwise the most confident one."""
    judged = [evaluation for evaluation in evaluations if not evaluation.error and evaluation.best]
    if not judged:
        return None
    best = max(
        judged, key=lambda evaluation: (evaluation.passed, evaluation.completed, evaluation.confidence)
    )
    return next((message for message in state.messages if message.id == best.best), None)


def mechanical_close(state: State, run: Run) -> str:
    """What was done, without asking the model: for a closing call that failed or that the budget does not allow."""
    tools: dict[str, int] = {}
    for message in state.messages[run.first :]:
        for call in message.calls:
            tools[call.name] = tools.get(call.name, 0) + 1
    done = ", ".join(f"{name} ×{count}" for name, count in tools.items()) or "no tool calls"
    changed = ", ".join(run.files) or "none"
    reason = run.closing.reason if run.closing is not None else "stopped"
    return f"The agent stopped ({reason}). Done so far: {done}. Files changed: {changed}."
