"""What the transcript shows, as plain data: the view folds events into these, the renderers draw them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from tui_agent.core.messages import Call
from tui_agent.core.tool import Display

BlockKind = Literal["user", "assistant", "reasoning", "tool", "notice", "card"]


@dataclass(slots=True, eq=False)
class Block:
    """One block. ``version`` grows with each change; ``text`` is the source that search and copy see.

    A streaming block has ``live`` True; only ``append`` may change its text then.
    ``folded`` is the block's own default; the transcript keeps what a person toggled.
    """

    id: str
    text: str = ""
    live: bool = False
    folded: bool = False
    version: int = 0
    seq: int = 0
    """Sequence number of the event that made it; replay, fork and rewind point here."""
    ts: float = 0.0

    kind: BlockKind = field(init=False, default="notice")


@dataclass(slots=True, eq=False)
class UserBlock(Block):
    """What a person said; ``origin`` is person, steering or follow_up; ``system`` marks the program's own nudges."""

    origin: str = "person"
    kind: BlockKind = field(init=False, default="user")


@dataclass(slots=True, eq=False)
class AssistantBlock(Block):
    """Markdown from a model."""

    model: str = ""
    interrupted: bool = False
    broken: bool = False
    """It broke off by itself; nobody stopped it."""
    purpose: str = "turn"
    kind: BlockKind = field(init=False, default="assistant")


@dataclass(slots=True, eq=False)
class ReasoningBlock(Block):
    """A model's reasoning, one line when folded (``thought for 4 s · 120 words``)."""

    duration: float = 0.0
    kind: BlockKind = field(init=False, default="reasoning")


@dataclass(slots=True, eq=False)
class HookRow:
    """A hook under its edit; status running, ok, failed, timeout or missing."""

    name: str
    path: str
    status: str = "running"
    output: str = ""
    duration: float = 0.0
    rewrote: bool = False
    change: str = ""
    """How the number of problems changed since this hook's last run on the file, e.g. ``+1``, ``−1``; may be empty."""


@dataclass(slots=True, eq=False)
class ToolBlock(Block):
    """One tool call. ``text`` is live or final output; ``arguments_text`` grows while the model writes the call.

    ``status``: building, waiting (approval), running, ok, error, denied, interrupted, not_started.
    ``cut`` says what the model saw when the output was truncated for it, e.g. ``first 40, last 20 of 812 lines``.
    """

    name: str = ""
    call: Call | None = None
    arguments_text: str = ""
    summary: str = ""
    outcome: str = ""
    status: str = "building"
    started: float = 0.0
    duration: float = 0.0
    preview: Display | None = None
    display: Display | None = None
    hooks: list[HookRow] = field(default_factory=lambda: [])
    cut: str = ""
    full_output: str = ""
    untrusted: bool = False
    kind: BlockKind = field(init=False, default="tool")


@dataclass(slots=True, eq=False)
class NoticeBlock(Block):
    """One line of the program itself (``◆``): compaction, retry, fallback, mode change, warning. ``body`` opens below it."""

    level: Literal["info", "warning", "error"] = "info"
    right: str = ""
    body: str = ""
    hint: str = ""
    kind: BlockKind = field(init=False, default="notice")


@dataclass(slots=True, eq=False)
class CardBlock(Block):
    """The end of a run. ``rows`` are (label, text) below the title; ``mark`` is ◆, ⏸ or ✗."""

    mark: str = "◆"
    tone: Literal["ok", "warn", "error"] = "ok"
    title: str = ""
    right: str = ""
    rows: list[tuple[str, str]] = field(default_factory=lambda: [])
    data: dict[str, Any] = field(default_factory=lambda: {})
    kind: BlockKind = field(init=False, default="card")
