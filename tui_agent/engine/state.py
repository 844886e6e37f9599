"""The session's state: the facts folded from its events, and the questions that the loop asks of them.

``for event in log: state.apply(event)`` is resume, fork and replay.
"""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.core.events import Event
from tui_agent.core.messages import Message
from tui_agent.engine import fold, fold_limits
from tui_agent.engine.facts import Facts, OpenCall, Partial, Run
from tui_agent.engine.handlers import HANDLERS

PLAN = fold.PLAN
TABLES = (fold, fold_limits)
"""The modules whose functions are in ``HANDLERS``."""
CLOSING_OUTPUT_TOKENS = 400
"""What a closing summary may cost in output; the budget guard keeps it in reserve."""
SMALLEST_OUTPUT_TOKENS = 256
"""A call whose output had to be capped below this is not worth sending."""


@dataclass(slots=True)
class State(Facts):
    """Everything the loop decides by."""

    def apply(self, event: Event) -> None:
        """Fold one event in; O(1) but for compaction, rewind and the end of a batch. Unknown events change nothing."""
        if event.ts > self.now:
            self.now = event.ts
        if event.seq:
            self.seq = event.seq
        handler = HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    # ---- derived questions

    @property
    def tail(self) -> Message | None:
        """The last message of the model's history."""
        return self.messages[-1] if self.messages else None

    @property
    def factor(self) -> float:
        """Real over counted tokens of the model in use."""
        return self.calibration.factor(self.run.model if self.run else self.model)

    @property
    def context_used(self) -> int:
        """Tokens of the next request: the last reported size plus what came since, or all of it as counted."""
        if self.reported:
            return self.reported + int(self.factor * max(0, self.counted - self.reported_counted))
        return int(self.factor * (self.fixed_tokens + self.counted))

    @property
    def context_exact(self) -> bool:
        return self.reported > 0

    @property
    def context_share(self) -> float:
        """Used part of the window, 0 when the window is unknown."""
        return self.context_used / self.window if self.window else 0.0

    @property
    def elapsed(self) -> float:
        """Seconds of this run, without the time spent waiting for the person."""
        run = self.run
        if run is None:
            return 0.0
        waiting = self.now - run.waiting_since if run.waiting_since else 0.0
        return self.now - run.started - run.waited - waiting

    @property
    def can_continue(self) -> str:
        """Empty when a run may go on without a new prompt, otherwise why not."""
        if self.run is not None:
            return "the agent is running"
        tail = self.tail
        if tail is None:
            return "there is nothing to continue yet"
        if tail.role == "assistant":
            return "the last word is the model's; send a message to go on"
        return ""

    def price(self, output_tokens: int, input_tokens: int | None = None) -> float | None:
        """USD that a call of this many tokens would cost at full price; None when the price is unknown."""
        run = self.run
        if run is None or run.prices is None:
            return None
        size = self.context_used if input_tokens is None else input_tokens
        return size * run.prices[0] + output_tokens * run.prices[1]

    @property
    def budget_left(self) -> float | None:
        """USD left of this run's budget; None = no budget."""
        run = self.run
        return None if run is None or run.budget_usd is None else run.budget_usd - run.cost

    def closing_affordable(self) -> bool:
        """True if a closing call fits into what is left of the budget."""
        left, cost = self.budget_left, self.price(CLOSING_OUTPUT_TOKENS)
        return left is None or cost is None or cost <= left


__all__ = ["CLOSING_OUTPUT_TOKENS", "PLAN", "SMALLEST_OUTPUT_TOKENS", "OpenCall", "Partial", "Run", "State"]
