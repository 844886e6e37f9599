"""Messages on the page: what a person said, what a model thinks, writes and asks for."""

from __future__ import annotations

from typing import Literal

import msgspec

from tui_agent.core.events import (
    AgentEnd,
    AgentStart,
    DeltaKind,
    FollowUpDelivered,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Purpose,
    SteeringDelivered,
)  # fmt: skip
from tui_agent.core.messages import Image, Message
from tui_agent.ui.blocks import AssistantBlock, ReasoningBlock, UserBlock
from tui_agent.ui.fold.page import Handlers, Page
from tui_agent.ui.fold.tools import Tools

SHOWN: frozenset[Purpose] = frozenset({"turn", "close"})
"""Purposes whose text belongs on the page; of the others only the result is shown, by its own event."""


class Stream(msgspec.Struct):
    """A message that is being written. Times are Unix seconds."""

    id: str
    purpose: Purpose
    started: float
    data: float
    """When something last arrived."""
    model: str = ""
    doing: DeltaKind | None = None
    live: bool = False
    """Fed by transient deltas, so the log's own copies of them are skipped."""
    reasoning: ReasoningBlock | None = None
    text: AssistantBlock | None = None


class Messages:
    """Folds messages; tool calls inside a message go to ``Tools``."""

    def __init__(self, page: Page, tools: Tools, reasoning: Literal["folded", "open", "hidden"]) -> None:
        self.page = page
        self.tools = tools
        self.reasoning = reasoning
        self.stream: Stream | None = None
        self.first_prompt = ""
        self.interrupted_words = 0
        """Words of the last answer that an interrupt kept, in this run."""

    def handlers(self) -> Handlers:
        return {
            MessageStart: self.start,
            MessageUpdate: self.update,
            MessageEnd: self.end,
            SteeringDelivered: self.delivered,
            FollowUpDelivered: self.delivered,
            AgentStart: self.run_starts,
            AgentEnd: self.settle,
        }

    def start(self, event: MessageStart) -> None:
        if event.role == "assistant":
            self.settle(event)
            self.stream = Stream(event.id, event.purpose, event.ts, event.ts, event.model)

    def update(self, event: MessageUpdate) -> None:
        stream = self.stream
        if stream is None or stream.id != event.id:
            stream = self.stream = Stream(event.id, "turn", self.page.ts, self.page.ts)
        stream.data = self.page.ts
        if event.seq == 0:
            stream.live = True
        elif stream.live:
            return
        stream.doing = event.delta
        if stream.purpose not in SHOWN:
            return
        if event.delta == "text":
            self._text(stream, event.text)
        elif event.delta == "reasoning":
            self._reasoning(stream, event.text)
        else:
            self._quiet(stream)
            self.tools.building(event.id, event.call, event.name, event.text)

    def end(self, event: MessageEnd) -> None:
        message = event.message
        if message.role == "user":
            self.said(message)
        elif message.role == "assistant":
            self._finish(message, event)

    def said(self, message: Message) -> None:
        """A message of a person; the program's own are lines of their own events."""
        known = message.id in self.page.by_id
        if known or message.synthetic or message.origin not in {"person", "steering", "follow_up"}:
            return
        images = sum(isinstance(part, Image) for part in message.parts)
        text = message.text + ("\n" if message.text and images else "") + "[image] " * images
        if not self.first_prompt:
            self.first_prompt = text
        self.page.add(UserBlock(message.id, text.rstrip(), origin=message.origin))

    def delivered(self, event: SteeringDelivered | FollowUpDelivered) -> None:
        for message in event.messages:
            self.said(message)

    def run_starts(self, event: AgentStart) -> None:
        self.settle(event)
        self.interrupted_words = 0

    def settle(self, _event: object = None) -> None:
        """Whatever still streams has ended without its end: keep it, marked interrupted."""
        stream, self.stream = self.stream, None
        if stream is None:
            return
        self._quiet(stream)
        if stream.text is not None:
            stream.text.live, stream.text.interrupted = False, True
            self.interrupted_words = len(stream.text.text.split())
            self.page.changed(stream.text)

    def _text(self, stream: Stream, text: str) -> None:
        self._quiet(stream)
        if stream.text is None:
            if not text.strip():
                return
            stream.text = self.page.add(
                AssistantBlock(stream.id, live=True, model=stream.model, purpose=stream.purpose)
            )
        self.page.append(stream.text, text)

    def _reasoning(self, stream: Stream, text: str) -> None:
        if stream.reasoning is None:
            if not text.strip() or self.reasoning == "hidden":
                return
            stream.reasoning = self.page.add(
                ReasoningBlock(f"{stream.id}:r", live=True, folded=self.reasoning == "folded")
            )
        self.page.append(stream.reasoning, text)

    def _quiet(self, stream: Stream) -> None:
        """The reasoning is over as soon as anything else comes."""
        block = stream.reasoning
        if block is not None and block.live:
            block.live, block.duration = False, max(self.page.ts - block.ts, 0.0)
            self.page.changed(block)

    def _finish(self, message: Message, event: MessageEnd) -> None:
        stream, self.stream = self.stream, None
        if stream is None or stream.id != message.id:
            stream = Stream(message.id, event.purpose, event.ts, event.ts, message.model)
        if event.purpose not in SHOWN:
            return
        self._quiet(stream)
        self._finish_reasoning(stream, message)
        self._finish_text(stream, message, event)
        self.tools.announced(message)

    def _finish_reasoning(self, stream: Stream, message: Message) -> None:
        block, text = stream.reasoning, message.reasoning
        if not text.strip() or self.reasoning == "hidden":
            if block is not None:
                self.page.remove(block)
            return
        if block is None:
            block = self.page.add(ReasoningBlock(f"{message.id}:r", text, folded=self.reasoning == "folded"))
        else:
            block.text = text
        block.seq, block.live = self.page.seq, False
        self.page.changed(block)

    def _finish_text(self, stream: Stream, message: Message, event: MessageEnd) -> None:
        block, text = stream.text, message.text
        if not text.strip():
            if block is not None:
                self.page.remove(block)
            return
        if block is None:
            block = self.page.add(AssistantBlock(message.id, text, purpose=event.purpose))
        block.text, block.seq, block.live = text, self.page.seq, False
        block.model = message.model or block.model
        block.interrupted = message.interrupted or event.failure is not None
        block.broken = event.failure is not None
        if block.interrupted:
            self.interrupted_words = len(text.split())
        self.page.changed(block)
