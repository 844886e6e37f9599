"""A small file that every running instance shares: until when a provider refuses requests, learnt from real 429s.

It only saves waiting in vain, so no fault of it may disturb a run: whatever goes wrong here is logged and ignored.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import msgspec

logger = logging.getLogger(__name__)
LONGEST = 24 * 3600.0
"""Seconds; an entry further away than this is taken for nonsense."""


class RateLimits:
    """Reset times (Unix seconds) by provider in the file ``path``; None keeps them in memory only."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._own: dict[str, float] = {}

    def until(self, provider: str, now: float) -> float:
        """When ``provider`` takes requests again; 0 when nothing is known or the time has passed."""
        until = self._read().get(provider, 0.0)
        return until if now < until <= now + LONGEST else 0.0

    def note(self, provider: str, until: float, now: float) -> None:
        """Record a reset time; entries that have passed are dropped."""
        entries = {name: ts for name, ts in self._read().items() if ts > now}
        entries[provider] = until
        self._own = entries
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            fresh.write_bytes(msgspec.json.encode(entries))
            fresh.replace(self._path)
        except OSError as error:
            logger.warning("rate limits not shared: %s", error)

    def clear(self, provider: str, now: float) -> None:
        """Forget a provider that has just answered, or that a person wants to be asked all the same."""
        if self.until(provider, now):
            self.note(provider, 0.0, now)

    def _read(self) -> dict[str, float]:
        if self._path is None:
            return self._own
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, float])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            logger.warning("rate limits not read: %s", error)
            return self._own
