"""What follows a failed model call: wait and send again, refresh the key, shrink, fall back, or stop.

Pure: the failure, the attempts so far and the fallbacks are in the state; the waiting and its jitter are performed elsewhere.
Only this table retries; litellm's and the SDKs' own retries are off.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tui_agent.core.errors import Failure
from tui_agent.engine.state import Run

MAX_ATTEMPTS = 3
MAX_REFRESHES = 2
LONGEST_WAIT = 120.0
"""Seconds; a longer Retry-After is cut to this."""
MAX_OVERFLOWS = 2
"""Tries to make a prompt fit that the provider found too long."""


class Again(msgspec.Struct, frozen=True):
    """Send the request again after about ``wait`` seconds."""

    failure: Failure
    attempt: int
    limit: int
    wait: float
    action: Literal["wait", "refresh", "plain", "ask_again"] = "wait"


class Switch(msgspec.Struct, frozen=True):
    """Go on with the next model of the fallback chain."""

    target: str
    failure: Failure


class Shrink(msgspec.Struct, frozen=True):
    """The prompt was too long for the model: compact, then send again."""

    failure: Failure


class GiveUp(msgspec.Struct, frozen=True):
    """Nothing more can be tried."""

    failure: Failure


Recovery = Again | Switch | Shrink | GiveUp


def plan(run: Run, failure: Failure) -> Recovery:
    """The next move after ``failure``."""
    if run.retry_cut == "stop":
        return GiveUp(failure)
    if run.retry_cut == "fallback":
        return _fall_back(run, failure)
    match failure.kind:
        case "rate_limit" | "timeout" | "network" | "server":
            if run.attempts < MAX_ATTEMPTS:
                attempt = run.attempts + 1
                return Again(failure, attempt, MAX_ATTEMPTS, backoff(attempt, failure.retry_after))
            return _fall_back(run, failure)
        case "auth":
            if failure.refreshable and run.refreshes < MAX_REFRESHES:
                return Again(failure, run.refreshes + 1, MAX_REFRESHES, 0.0, "refresh")
            return _fall_back(run, failure)
        case "billing" | "not_found":
            return _fall_back(run, failure)
        case "context_overflow":
            return Shrink(failure) if run.overflows < MAX_OVERFLOWS else GiveUp(failure)
        case "bad_request":
            return GiveUp(failure) if run.plain else Again(failure, 1, 1, 0.0, "plain")
        case "malformed":
            return _fall_back(run, failure) if run.asked_again else Again(failure, 1, 1, 0.0, "ask_again")
        case _:
            return GiveUp(failure)


def next_fallback(run: Run) -> str:
    """The next model of the chain that this run has not tried; empty if there is none."""
    tried = {run.model, *run.fallbacks_used}
    return next((name for name in run.settings.fallbacks if name not in tried), "")


def backoff(attempt: int, retry_after: float | None) -> float:
    """Seconds before an attempt: the provider's own wait, or 1, 2, 4 … (jitter is added when it is performed)."""
    wait = retry_after if retry_after is not None else float(2 ** (attempt - 1))
    return min(LONGEST_WAIT, max(0.0, wait))


def _fall_back(run: Run, failure: Failure) -> Recovery:
    target = next_fallback(run)
    return Switch(target, failure) if target else GiveUp(failure)
