"""The transcript: one virtualised widget that paints blocks (``ui/blocks.py``) and asks for nothing else.

It obeys: the app calls the methods below, the transcript posts messages. It never takes the focus; keys come in as calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.message import Message
from textual.scroll_view import ScrollView

from tui_agent.ui.blocks import Block, BlockKind
from tui_agent.ui.render.lines import Palette


class Transcript(ScrollView, can_focus=False):
    """Blocks from oldest to newest, painted a line at a time."""

    class Selected(Message):
        """The block cursor moved; ``block`` is None when it was put away."""

        def __init__(self, block: Block | None) -> None:
            super().__init__()
            self.block = block

    class Toggled(Message):
        """A person folded or opened a block."""

        def __init__(self, block: Block, folded: bool) -> None:
            super().__init__()
            self.block = block
            self.folded = folded

    class LinkClicked(Message):
        """A person clicked a link; ``url`` is http, https, mailto or a path, nothing else."""

        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

    class UnreadChanged(Message):
        """How many blocks below the view are new or grew since the person scrolled up (0: back at the bottom)."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    class Found(Message):
        """The find position moved: the ``index``-th (from 1, 0: none) of ``total`` matches."""

        def __init__(self, index: int, total: int) -> None:
            super().__init__()
            self.index = index
            self.total = total

    def __init__(
        self, theme: Palette, reduced_motion: bool = False, *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.theme = theme
        self.reduced_motion = reduced_motion

    # -- blocks: pass the same objects that the view changes ------------------------------------------

    @property
    def blocks(self) -> Sequence[Block]:
        """All blocks, oldest first."""
        raise NotImplementedError

    def set_blocks(self, blocks: Iterable[Block]) -> None:
        """Replace everything (a session opened, a replay sought) and go to the bottom; folds of known ids are kept."""
        raise NotImplementedError

    def add(self, *blocks: Block) -> None:
        """Put blocks at the end; seen within 1/30 s."""
        raise NotImplementedError

    def changed(self, block: Block) -> None:
        """Say that a block changed (its version grew). Costs nothing until the next flush (at most 30 a second).

        While ``live``, ``text`` of user, assistant and reasoning blocks only grows at its end.
        """
        raise NotImplementedError

    def remove(self, block: Block) -> None:
        """Take one block out."""
        raise NotImplementedError

    def truncate(self, count: int) -> None:
        """Keep the first ``count`` blocks (rewind, replay seek)."""
        raise NotImplementedError

    def flush(self) -> None:
        """Draw pending changes now instead of at the next tick."""
        raise NotImplementedError

    # -- folding -------------------------------------------------------------------------------------

    def is_folded(self, block: Block) -> bool:
        """Whether the block shows as its title only: what a person chose, else the block's own default."""
        raise NotImplementedError

    def toggle(self, block: Block) -> None:
        """Fold or open one block; the line under the cursor stays where it is."""
        raise NotImplementedError

    def toggle_all(self, kind: BlockKind = "tool") -> bool:
        """Open all blocks of a kind, or fold them when all are open; True when they are open now."""
        raise NotImplementedError

    # -- the block cursor ----------------------------------------------------------------------------

    @property
    def selected(self) -> Block | None:
        """The block under the block cursor."""
        raise NotImplementedError

    def select(self, block: Block | None) -> None:
        """Put the cursor on a block (scrolls it into view), or put it away."""
        raise NotImplementedError

    def select_previous(self, kind: BlockKind | None = None) -> Block | None:
        """Move up; from nowhere: the last block in view. None when there is none."""
        raise NotImplementedError

    def select_next(self, kind: BlockKind | None = None) -> Block | None:
        """Move down; past the last block the cursor goes away and the view follows again."""
        raise NotImplementedError

    def block_source(self, block: Block) -> str:
        """What ``block.copy`` copies: markdown, prompt or output as it came, without gutters and wrapping."""
        raise NotImplementedError

    # -- find ----------------------------------------------------------------------------------------

    def find(self, text: str) -> int:
        """Search all sources (case-insensitive), highlight, go to the match nearest below the top; how many there are.

        An empty text ends the search.
        """
        raise NotImplementedError

    def next_match(self) -> None:
        """Go to the next match, past the end to the first."""
        raise NotImplementedError

    def previous_match(self) -> None:
        """Go to the previous match, past the start to the last."""
        raise NotImplementedError

    # -- scrolling -----------------------------------------------------------------------------------

    @property
    def following(self) -> bool:
        """Whether the view sticks to the bottom."""
        raise NotImplementedError

    @property
    def unread(self) -> int:
        """As in ``UnreadChanged``."""
        raise NotImplementedError

    def scroll_top(self) -> None:
        """Go to the first line."""
        raise NotImplementedError

    def scroll_bottom(self) -> None:
        """Go to the last line and follow."""
        raise NotImplementedError

    def scroll_page(self, pages: float) -> None:
        """Go ``pages`` screens down (negative: up), one line short of a screen so that the eye finds its place."""
        raise NotImplementedError

    def scroll_to_block(self, block: Block) -> None:
        """Bring a block's first line into view."""
        raise NotImplementedError

    # -- looks ---------------------------------------------------------------------------------------

    def set_theme(self, theme: Palette) -> None:
        """Paint with another theme from now on; the view stays where it is."""
        raise NotImplementedError
