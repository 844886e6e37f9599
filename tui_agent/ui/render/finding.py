"""Finding text: sources are searched, because most blocks are never laid out; a match is placed when it is visited."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from tui_agent.ui.render.overlay import occurrences
from tui_agent.ui.render.roll import Anchor, Roll
from tui_agent.ui.render.sheets import searched


class Match(NamedTuple):
    """One match: the ``number``-th in the source of the block ``entry``."""

    entry: int
    number: int


class Finder:
    """One search through the roll and where it stands."""

    def __init__(self, roll: Roll) -> None:
        self._roll = roll
        self.text = ""
        self.total = 0
        """How many matches there are."""
        self.current = 0
        """Which of them was gone to, from 1; 0: none yet."""
        self._ends: list[int] = []
        """For each block that has matches, how many there are up to its end ..."""
        self._entries: list[int] = []
        """... and which block that is."""
        self._revision = -1

    def search(self, text: str, from_entry: int) -> int:
        """Look for a text; the position is just before the first match from a block on. How many there are."""
        self.text = text
        self._look()
        self.current = self._matches_before(from_entry)
        return self.total

    def _look(self) -> None:
        wanted = self.text.lower()
        self._ends, self._entries, self.total = [], [], 0
        self._revision = self._roll.revision
        for number, entry in enumerate(self._roll.entries if wanted else ()):
            if count := searched(entry.block).lower().count(wanted):
                self.total += count
                self._ends.append(self.total)
                self._entries.append(number)

    def _matches_before(self, entry: int) -> int:
        place = bisect_left(self._entries, entry)
        return self._ends[place - 1] if place else 0

    def step(self, direction: int) -> Match | None:
        """Go to the next (1) or previous (-1) match, round the ends; None when there is none (any more)."""
        if self._revision != self._roll.revision:  # text came meanwhile
            self._look()
        if not self.total:
            self.current = 0
            return None
        self.current = (self.current - 1 + direction) % self.total + 1
        place = bisect_left(self._ends, self.current)
        before = self._ends[place - 1] if place else 0
        return Match(self._entries[place], self.current - before - 1)

    def place(self, match: Match) -> tuple[Anchor | None, bool]:
        """Where a match is shown, or the one shown before it; and whether it is itself shown as the block stands now."""
        block = self._roll.entries[match.entry].block
        seen = -1
        found: Anchor | None = None
        for number, part in enumerate(self._roll.parts(match.entry)):
            for place, line in enumerate(part.lines):
                for at in occurrences(line.text, self.text):
                    seen += 1
                    found = Anchor(block, number, place, at)
                    if seen == match.number:
                        return found, True
        return found, False
