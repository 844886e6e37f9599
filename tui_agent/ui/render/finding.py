"""Finding text: sources are searched, because most blocks are never laid out; a match is placed when it is visited."""

from __future__ import annotations

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
        self.matches: list[Match] = []
        self.current = -1

    def search(self, text: str, from_index: int) -> int:
        """Look for a text; the position is just before the first match from a block on. How many there are."""
        self.text = text
        self._look()
        ahead = (number for number, match in enumerate(self.matches) if match.entry >= from_index)
        self.current = next(ahead, 0) - 1
        return len(self.matches)

    def _look(self) -> None:
        wanted = self.text.lower()
        self.matches = []
        if not wanted:
            return
        for index, entry in enumerate(self._roll.entries):
            count = searched(entry.block).lower().count(wanted)
            self.matches += [Match(index, number) for number in range(count)]

    def step(self, direction: int) -> Match | None:
        """Go to the next (1) or previous (-1) match, round the ends; None when there is none (any more)."""
        before = self.matches[self.current] if 0 <= self.current < len(self.matches) else None
        self._look()  # text may have come meanwhile
        if not self.matches:
            self.current = -1
            return None
        if before is not None and before in self.matches:
            self.current = self.matches.index(before)
        self.current = (self.current + direction) % len(self.matches)
        return self.matches[self.current]

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
