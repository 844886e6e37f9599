"""The loop's view of the outside: clock, sleep, ids and chance, so that tests can have their own."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path


def new_id() -> str:
    """A short random id, unique within a session."""
    return secrets.token_hex(5)


@dataclass(frozen=True, slots=True)
class World:
    """``now`` is Unix time in seconds, ``sleep`` takes seconds, ``chance`` gives a float in [0, 1)."""

    cwd: Path
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    new_id: Callable[[], str] = new_id
    chance: Callable[[], float] = random.random
