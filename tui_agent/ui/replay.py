"""The time line of a recorded session: where one is, how fast it goes, where to jump. Knows no screen and no clock."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tui_agent.core.events import (
    AgentEnd,
    Compaction,
    Event,
    MessageEnd,
    Rewind,
    ToolExecutionEnd,
    ToolExecutionStart,
)

IDLE = 2.0
"""Longest gap between two events that is played, in seconds."""
SPEEDS = (0.25, 0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 12.0, 16.0)
"""What the keys 1 to 9 mean."""

MarkKind = Literal["person", "edit", "tool", "error", "compaction", "end"]
SIGNS: dict[MarkKind, str] = {"person": "p", "edit": "e", "error": "✗", "compaction": "c", "end": "◆"}
"""How marks look on the scrubber; tool calls are not drawn, they are too many."""
RANK: tuple[MarkKind, ...] = ("error", "end", "person", "compaction", "edit")
"""Which mark is drawn where several share a column."""


@dataclass(slots=True, frozen=True)
class Mark:
    """A place worth jumping to: the number of events up to and including it."""

    at: int
    kind: MarkKind


def mark_of(event: Event) -> MarkKind | None:
    """What kind of place an event is, if it is one."""
    match event:
        case MessageEnd(message=message) if (
            message.role == "user" and not message.synthetic and message.origin == "person"
        ):
            return "person"
        case MessageEnd(failure=failure) if failure is not None:
            return "error"
        case ToolExecutionStart():
            return "tool"
        case ToolExecutionEnd(status="error" | "denied" | "interrupted"):
            return "error"
        case ToolExecutionEnd(changed=changed) if changed:
            return "edit"
        case AgentEnd(status="failed"):
            return "error"
        case AgentEnd():
            return "end"
        case Compaction() | Rewind():
            return "compaction"
        case _:
            return None


class Timeline:
    """``index`` events have happened; ``position`` is the played time in seconds, long idle gaps cut to ``IDLE``."""

    def __init__(self, events: Sequence[Event], speed: float = 1.0) -> None:
        self.events = events
        self.playing = True
        self.speed = speed
        self.index = 0
        self.position = 0.0
        self.times: list[float] = []
        """Played time of each event."""
        self.idle = 0.0
        """Seconds that are skipped in all."""
        self.marks: list[Mark] = []
        last = played = 0.0
        for number, event in enumerate(events, 1):
            gap = max(event.ts - last, 0.0) if last and event.ts else 0.0
            last = event.ts or last
            played += min(gap, IDLE)
            self.idle += max(gap - IDLE, 0.0)
            self.times.append(played)
            if kind := mark_of(event):
                self.marks.append(Mark(number, kind))

    @property
    def length(self) -> float:
        """Seconds that playing it takes at speed 1."""
        return self.times[-1] if self.times else 0.0

    @property
    def now(self) -> float:
        """Unix time at this moment of the recording."""
        if not self.index:
            return self.events[0].ts if self.events else 0.0
        return self.events[self.index - 1].ts + max(self.position - self.times[self.index - 1], 0.0)

    def advance(self, seconds: float) -> None:
        """So much real time went by."""
        if self.playing:
            self.seek(self.position + seconds * self.speed)
            self.playing = self.index < len(self.events)

    def seek(self, position: float) -> None:
        """Go to a played time."""
        self.position = min(max(position, 0.0), self.length)
        self.index = bisect_right(self.times, self.position)

    def go_to(self, index: int) -> None:
        """Go to where so many events have happened."""
        self.index = min(max(index, 0), len(self.events))
        self.position = self.times[self.index - 1] if self.index else 0.0

    def step(self, by: int) -> None:
        """One event on or back, and stay there."""
        self.playing = False
        self.go_to(self.index + by)

    def jump(self, by: int, *kinds: MarkKind) -> bool:
        """Go to the next (``by`` 1) or last (−1) mark of these kinds; False if there is none."""
        if by > 0:
            found = next((mark for mark in self.marks if mark.at > self.index and mark.kind in kinds), None)
        else:
            found = next(
                (mark for mark in reversed(self.marks) if mark.at < self.index and mark.kind in kinds), None
            )
        if found is None:
            return False
        self.go_to(found.at)
        return True

    def index_of_seq(self, seq: int) -> int:
        """How many events have happened once event ``seq`` has."""
        return sum(0 < event.seq <= seq for event in self.events) if seq else 0

    def bar(self, width: int) -> str:
        """The scrubber: marks along the line, and where one is."""
        room = max(width - 2, 1)
        cells = ["─"] * room
        placed: dict[int, int] = {}
        for mark in self.marks:
            if mark.kind == "tool":
                continue
            column = self._column(self.times[mark.at - 1], room)
            rank = RANK.index(mark.kind)
            if rank <= placed.get(column, len(RANK)):
                placed[column] = rank
                cells[column] = SIGNS[mark.kind]
        cells[self._column(self.position, room)] = "●"
        return f"├{''.join(cells)}┤"

    def _column(self, position: float, room: int) -> int:
        return min(int(position / self.length * (room - 1)) if self.length else 0, room - 1)
