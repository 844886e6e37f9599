"""The table of the fold: which function changes the facts for which event, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tui_agent.core.events import Event
from tui_agent.core.messages import Message
from tui_agent.engine.facts import Facts

_E = TypeVar("_E", bound=Event)
HANDLERS: dict[type[Event], Callable[[Facts, Any], None]] = {}
"""What to do for each event; one that is not here changes nothing."""


def on(kind: type[_E]) -> Callable[[Callable[[Facts, _E], None]], Callable[[Facts, _E], None]]:
    """Register the function for one kind of event."""

    def register(handler: Callable[[Facts, _E], None]) -> Callable[[Facts, _E], None]:
        HANDLERS[kind] = handler
        return handler

    return register


def append(state: Facts, message: Message) -> None:
    """Add a message to the model's history."""
    state.messages.append(message)
    state.counted += message.tokens


def recount(state: Facts) -> None:
    """Count anew after the history was replaced; the last reported size no longer holds."""
    state.counted = sum(message.tokens for message in state.messages)
    state.reported = state.reported_counted = 0


def wait_begins(state: Facts, ts: float) -> None:
    """The run waits for the person from now on."""
    if state.run is not None and not state.run.waiting_since:
        state.run.waiting_since = ts


def wait_ends(state: Facts, ts: float) -> None:
    """Nothing may be left to wait for; the time until now does not count as the run's."""
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
