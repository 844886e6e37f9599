"""Which sheet draws which block, how much of it is shown of itself, and how high it may be."""

from __future__ import annotations

from typing import Any

from tui_agent.ui.blocks import (
    AssistantBlock,
    Block,
    CardBlock,
    NoticeBlock,
    ReasoningBlock,
    ToolBlock,
    UserBlock,
)  # fmt: skip
from tui_agent.ui.render.ansi import plain_text
from tui_agent.ui.render.messages import AssistantSheet, CardSheet, NoticeSheet, ReasoningSheet, UserSheet
from tui_agent.ui.render.sheet import Level, Sheet
from tui_agent.ui.render.tool import TAIL, ToolSheet, natural_level


def new_sheet(block: Block) -> Sheet[Any]:
    """An empty sheet for a block."""
    kinds: dict[type[Block], type[Sheet[Any]]] = {
        UserBlock: UserSheet,
        AssistantBlock: AssistantSheet,
        ReasoningBlock: ReasoningSheet,
        ToolBlock: ToolSheet,
        NoticeBlock: NoticeSheet,
        CardBlock: CardSheet,
    }
    return kinds[type(block)]()


def level_of(block: Block) -> Level:
    """How much is shown of a block that nobody folded or opened."""
    if isinstance(block, ToolBlock):
        return natural_level(block)
    return "folded" if block.folded else "brief"


def family(block: Block, level: Level) -> str:
    """Neighbours of one family, each one line, stand without an empty row between them; empty: none."""
    if level != "folded":
        return "notice" if isinstance(block, NoticeBlock) and not block.body and not block.hint else ""
    if isinstance(block, ToolBlock | ReasoningBlock):
        return "work"
    return "notice" if isinstance(block, NoticeBlock) and not block.hint else ""


def guess(block: Block, level: Level, cells: int) -> int:
    """The height that a block may have, from its size alone; for 20,000 of them a matter of milliseconds."""
    if level == "folded":
        return 1
    text = block.text
    if isinstance(block, ToolBlock):
        if level == "open":
            return 1 + text.count("\n")
        diff = getattr(block.display, "hunks", "")
        return 1 + len(block.hooks) + (min(diff.count("\n"), 40) if diff else min(text.count("\n"), TAIL))
    if isinstance(block, CardBlock):
        return 1 + len(block.rows)
    if isinstance(block, NoticeBlock):
        return 1 + bool(block.hint)
    return 1 + text.count("\n") + len(text) // (cells * 2)


def source_of(block: Block) -> str:
    """What is searched, and copied as a whole: text as it came, output without its colours."""
    if isinstance(block, ToolBlock):
        if diff := getattr(block.display, "hunks", ""):
            return diff
        text = plain_text(block.text) if block.text else ""
        return text or block.summary or block.arguments_text
    if isinstance(block, NoticeBlock):
        return "\n".join(part for part in (block.text, block.body) if part)
    return block.text


def searched(block: Block) -> str:
    """All that a search looks through: the source, and what a title says."""
    if isinstance(block, ToolBlock):
        hooks = "\n".join(f"{row.name} {row.output}" for row in block.hooks)
        return f"{block.name} {block.summary}\n{source_of(block)}\n{hooks}"
    if isinstance(block, CardBlock):
        return "\n".join([block.title, *(f"{label} {text}" for label, text in block.rows)])
    return source_of(block)
