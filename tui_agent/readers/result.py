"""The one object that ``run --json`` prints, and the exit code of a run."""

from __future__ import annotations

from typing import Any

from tui_agent.core import events as ev
from tui_agent.core.events import AgentEnd, Event

EXIT_SUCCESS, EXIT_FAILED, EXIT_PARTIAL, EXIT_CONFIG = 0, 1, 2, 3
EXIT_AUTH, EXIT_TIMEOUT, EXIT_INTERRUPTED = 4, 5, 130
"""The seed's table."""


def exit_code(end: AgentEnd | None, exit_code_on_partial: bool = True) -> int:
    """The process's exit code for how a run ended; None: it never came to an end.

    Timeout and interrupt have codes of their own, so ``exit_code_on_partial`` False doesn't turn them into success.
    """
    if end is None:
        return EXIT_FAILED
    if end.stop_reason == "user_interrupt":
        return EXIT_INTERRUPTED
    if end.stop_reason == "timeout":
        return EXIT_TIMEOUT
    if end.status == "partial":
        return EXIT_PARTIAL if exit_code_on_partial else EXIT_SUCCESS
    if end.status == "success":
        return EXIT_SUCCESS
    return EXIT_AUTH if end.failure is not None and end.failure.kind == "auth" else EXIT_FAILED


class ResultReader:
    """Folds a session's events into the result of its last run.

    Tokens are those of every call: summaries, evaluation, advisors and sub-agents included.
    """

    def __init__(self) -> None:
        self._session = ""
        self._model = ""
        self._steps = 0
        self._calls = 0
        self._first_ts = self._last_ts = 0.0
        self._cost: float | None = 0.0
        self._tokens = dict.fromkeys(("input", "cached", "output", "reasoning"), 0)
        self._changed: dict[str, None] = {}
        self._said = ""
        self._end: AgentEnd | None = None

    @property
    def end(self) -> AgentEnd | None:
        """How the last run ended; None while it runs."""
        return self._end

    def feed(self, event: Event) -> None:
        """Take in one event."""
        self._last_ts = max(self._last_ts, event.ts)
        match event:
            case ev.SessionStart():
                self._session, self._model = event.id, event.model
            case ev.AgentStart():
                self._begin(event)
            case ev.ModelChanged():
                self._model = event.model
            case ev.Fallback():
                self._model = event.target
            case ev.TurnStart():
                self._steps += 1
            case ev.MessageEnd() if event.message.role == "assistant" and event.purpose in ("turn", "close"):
                self._said = event.message.text or self._said
            case ev.ToolExecutionEnd():
                self._calls += 1
                self._changed.update(dict.fromkeys(event.changed))
            case ev.Usage():
                self._add(event)
            case ev.AgentEnd():
                self._end = event
            case _:
                pass

    def _begin(self, event: ev.AgentStart) -> None:
        """A new run; what was used before the first one (routing) belongs to it."""
        if self._end is not None:
            self._tokens = dict.fromkeys(self._tokens, 0)
            self._cost, self._end = 0.0, None
        self._model = event.model
        self._first_ts = event.ts
        self._steps = self._calls = 0
        self._changed.clear()
        self._said = ""

    def _add(self, event: ev.Usage) -> None:
        for name in self._tokens:
            self._tokens[name] += getattr(event, name)
        if event.cost_usd is None:
            self._cost = None
        elif self._cost is not None:
            self._cost += event.cost_usd

    def result(self) -> dict[str, Any]:
        """The object of ``run --json``; a run that never ended counts as failed, with what is known of it.

        ``cost_usd`` is null when the price of a call is unknown.
        """
        end = self._end
        if end is None:
            end = AgentEnd(
                run="",
                stop_reason="internal_error",
                status="failed",
                steps=self._steps,
                tool_calls=self._calls,
                cost_usd=self._cost,
                duration=self._last_ts - self._first_ts,
                final_output=self._said,
                files_changed=tuple(self._changed),
            )
        return {
            "status": end.status,
            "stop_reason": end.stop_reason,
            "final_output": end.final_output,
            "steps": end.steps,
            "tool_calls": end.tool_calls,
            "cost_usd": end.cost_usd,
            "tokens": dict(self._tokens),
            "duration_seconds": round(end.duration, 3),
            "session_id": self._session,
            "model": self._model,
            "files_changed": list(end.files_changed),
        }
