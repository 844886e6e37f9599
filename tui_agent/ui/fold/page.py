"""The list of blocks that the fold writes and the transcript draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

from tui_agent.core.events import Event
from tui_agent.ui.blocks import Block

ChangeKind = Literal["added", "appended", "changed", "removed", "returned"]

Handlers = dict[type[Event], Callable[[Any], None]]
"""What a part of the fold does with the events that concern it."""

B = TypeVar("B", bound=Block)


class Change(NamedTuple):
    """One thing that an event changed; ``text`` is what was appended, or what returns to the composer."""

    what: ChangeKind
    block: Block | None = None
    text: str = ""


class Page:
    """Blocks in reading order, found by id. Only the fold changes them, and every change is noted."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.by_id: dict[str, Block] = {}
        self.changes: list[Change] = []
        self.seq = 0
        self.ts = 0.0

    def add(self, block: B) -> B:
        """Put a block at the end; a second block of the same id gets an id of its own."""
        if block.id in self.by_id:
            block.id = f"{block.id}#{len(self.blocks)}"
        block.seq, block.ts = self.seq, self.ts
        self.blocks.append(block)
        self.by_id[block.id] = block
        self.changes.append(Change("added", block))
        return block

    def append(self, block: Block, text: str) -> None:
        """Let a block's text grow.

        The detour over a local name lets CPython extend the string in place, so that a long stream stays linear.
        """
        grown = block.text
        block.text = ""
        grown += text
        block.text = grown
        block.version += 1
        self.changes.append(Change("appended", block, text))

    def changed(self, block: Block) -> None:
        """Note that a block was changed in place."""
        block.version += 1
        self.changes.append(Change("changed", block))

    def remove(self, block: Block) -> None:
        """Take a block out; it is looked for from the end, where such blocks are."""
        for index in range(len(self.blocks) - 1, -1, -1):
            if self.blocks[index] is block:
                del self.blocks[index]
                break
        self.by_id.pop(block.id, None)
        self.changes.append(Change("removed", block))

    def cut(self, to_seq: int) -> None:
        """Take out every block at the end that came after event ``to_seq``."""
        while self.blocks and (self.blocks[-1].seq > to_seq or self.blocks[-1].seq == 0):
            self.remove(self.blocks[-1])

    @property
    def last(self) -> Block | None:
        """The block at the end."""
        return self.blocks[-1] if self.blocks else None
