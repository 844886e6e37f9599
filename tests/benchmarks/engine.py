"""An engine whose model streams markdown at a given pace: BENCH_TOKENS pieces, BENCH_RATE a second."""

from __future__ import annotations

import os

from tui_agent.engine import process
from tui_agent.llm.api import ReportedUsage
from tui_agent.llm.scripted import PIECE, ScriptedModel, Turn

SECTION = """
## Part {n}

The delay is computed from the clock *before* the lock is taken, so two workers can pick the **same slot**. That explains
why the test `test_retry_{n}` fails one time in ten, and only on machines with more than one core:

- the first worker reads the clock, then waits for the lock
- the second one gets it, and [computes](https://example.org/{n}) the same delay
- both sleep equally long, and collide again

```python
def next_delay(self, attempt: int) -> float:
    with self._lock:
        now = self._clock()
        base = self._base * 2 ** attempt
        if attempt > {n}:
            raise TooManyAttempts(f"gave up after {{attempt}} attempts")
        return min(base + self._jitter(now), self._longest)
```

| attempt | delay | jitter |
|---|---|---|
| 1 | 0.5 s | 0.1 s |
| {n} | 8.0 s | 0.4 s |
"""
"""A third of it is code, as in the measurements that the design rests on."""


def text(pieces: int) -> str:
    """Markdown of about so many streamed pieces."""
    parts: list[str] = []
    size = n = 0
    while size < pieces:
        n += 1
        parts.append(SECTION.format(n=n))
        size += len(PIECE.findall(parts[-1]))
    return "".join(parts)


if __name__ == "__main__":
    pieces, rate = int(os.environ["BENCH_TOKENS"]), float(os.environ["BENCH_RATE"])
    turn = Turn(text(pieces), usage=ReportedUsage(input=2000, output=pieces))
    process.main(ScriptedModel([turn], rate=rate))
