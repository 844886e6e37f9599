"""The iteration budget: one counter of model calls, shared with sub-agents; there is no second hidden limit."""

from __future__ import annotations

import threading


class IterationBudget:
    """Counts model calls up to ``limit``; a child draws from its own limit and from its parent's at once.

    The lock matters for children that run in other threads; within one event loop it is free.
    """

    def __init__(self, limit: int, parent: IterationBudget | None = None) -> None:
        self._limit, self._used, self._parent = limit, 0, parent
        self._lock = threading.Lock() if parent is None else parent._lock

    @property
    def limit(self) -> int:
        return self._limit

    @property
    def used(self) -> int:
        return self._used

    @property
    def remaining(self) -> int:
        """Calls left, here and in every parent."""
        own = max(0, self._limit - self._used)
        return own if self._parent is None else min(own, self._parent.remaining)

    def consume(self) -> bool:
        """Take one call; False (and nothing taken) if this budget or a parent's is empty."""
        with self._lock:
            if self.remaining <= 0:
                return False
            for budget in self._line():
                budget._used += 1
            return True

    def refund(self) -> None:
        """Give one call back: it was retried by us, or only compacted."""
        with self._lock:
            for budget in self._line():
                budget._used = max(0, budget._used - 1)

    def extend(self, limit: int) -> None:
        """Set a new limit."""
        with self._lock:
            self._limit = limit

    def child(self, limit: int) -> IterationBudget:
        """A slice for a sub-agent."""
        return IterationBudget(limit, self)

    def _line(self) -> list[IterationBudget]:
        line: list[IterationBudget] = [self]
        while (parent := line[-1]._parent) is not None:
            line.append(parent)
        return line
