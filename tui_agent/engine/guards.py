"""The safety nets: one function each, asked in one order before every model call.

A guard reads the state and says whether a limit stands in the way. What follows (ask, one last call, close) is decided in
``loop.py``; the interrupt is not in this list because it needs no model call and is decided before anything else.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tui_agent.core.events import Limit, StopReason
from tui_agent.engine.stall import STOP_AT
from tui_agent.engine.state import CLOSING_OUTPUT_TOKENS, SMALLEST_OUTPUT_TOKENS, State


class Trip(msgspec.Struct, frozen=True):
    """A tripped guard. ``extends`` names the limit that a person may raise; None: it can only close."""

    reason: StopReason
    used: float
    allowed: float
    extends: Limit | None = None
    needed: float = 0.0


Guard = Callable[[State], Trip | None]


def step_timeout(state: State) -> Trip | None:
    """One model call took longer than ``step_timeout`` seconds."""
    run = state.run
    if run is None or run.failure is None or not run.failure.step:
        return None
    return Trip("timeout", run.limits.step_timeout, run.limits.step_timeout, "timeout")


def max_steps(state: State) -> Trip | None:
    run = state.run
    if run is None or run.iterations.remaining > 0:
        return None
    return Trip("max_steps", run.iterations.used, run.iterations.limit, "max_steps")


def total_timeout(state: State) -> Trip | None:
    """Seconds of the run, time spent waiting for the person not counted."""
    run = state.run
    if run is None or run.timeout is None or state.elapsed <= run.timeout:
        return None
    return Trip("timeout", round(state.elapsed, 1), run.timeout, "timeout")


def context(state: State) -> Trip | None:
    """More than ``critical_at`` of the window, after compaction was tried (the loop compacts first)."""
    run = state.run
    if run is None or not state.window or state.context_share <= run.settings.critical_at:
        return None
    return Trip("context_full", state.context_used, state.window)


def budget(state: State) -> Trip | None:
    """The next call, its smallest useful answer and a closing call must fit into what is left; unknown prices can't be checked."""
    run, left = state.run, state.budget_left
    if run is None or left is None or run.budget_usd is None:
        return None
    cost, closing = state.price(SMALLEST_OUTPUT_TOKENS), state.price(CLOSING_OUTPUT_TOKENS)
    if cost is None or closing is None:
        return Trip("budget_exceeded", run.cost, run.budget_usd, "budget_usd") if left <= 0 else None
    if cost + closing <= left:
        return None
    return Trip("budget_exceeded", run.cost, run.budget_usd, "budget_usd", cost + closing)


def stalled(state: State) -> Trip | None:
    """The same thing happened ``STOP_AT`` times."""
    run = state.run
    found = run.repetitions.find() if run is not None else None
    return Trip("stalled", found.count, STOP_AT, "stall") if found and found.count >= STOP_AT else None


GUARDS: tuple[Guard, ...] = (max_steps, step_timeout, total_timeout, context, budget, stalled)


def first(state: State, guards: tuple[Guard, ...] = GUARDS) -> Trip | None:
    """The first guard that trips, in the order of ``guards``."""
    for guard in guards:
        if trip := guard(state):
            return trip
    return None


def output_cap(state: State) -> int:
    """Largest output in tokens that the budget allows for the next call; 0 = no cap needed."""
    run, left = state.run, state.budget_left
    if run is None or left is None or run.prices is None or run.prices[1] <= 0:
        return 0
    spare = left - (state.price(0) or 0.0)
    if run.closing is None:
        spare -= state.price(CLOSING_OUTPUT_TOKENS) or 0.0
    return max(1, int(spare / run.prices[1]))
