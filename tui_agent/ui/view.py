"""The second fold: the same events that make the engine's state make the screen.

Pure and deterministic: no clock, no randomness, no I/O. Every event costs O(1) amortised, so a session of
100,000 events opens in under a second, and a prefix folded first changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from tui_agent.core.events import AgentEnd, Checkpoint, Event
from tui_agent.ui import words
from tui_agent.ui.blocks import Block, CardBlock
from tui_agent.ui.fold.endings import Key, RunFacts, card
from tui_agent.ui.fold.gauges import Gauges, Meters
from tui_agent.ui.fold.messages import Messages
from tui_agent.ui.fold.notices import Notices, attempt, describe
from tui_agent.ui.fold.page import Change, Page
from tui_agent.ui.fold.run import Run
from tui_agent.ui.fold.tools import Tools

ActivityKind = Literal["idle", "model", "tool", "question", "retry", "stopping"]

SHIPPED_KEYS = {
    "composer.send": "enter",
    "models.open": "f3",
    "context.open": "f2",
    "session.rewind": "esc esc",
}
"""Labels for cards when no keymap is given (exports, tests)."""


def shipped_key(action: str) -> str:
    """The shipped key of an action that cards name."""
    return SHIPPED_KEYS.get(action, "")


class Activity(msgspec.Struct, frozen=True):
    """What goes on now. Times are Unix seconds; ``limit`` is seconds (0 = none)."""

    kind: ActivityKind = "idle"
    what: str = ""
    since: float = 0.0
    data: float = 0.0
    """When something last came in; 0 when nothing is expected to."""
    limit: float = 0.0
    until: float = 0.0
    """When a wait is over (retry, grace of an interrupt)."""


class View:
    """Everything that the screen shows, folded from events. ``apply`` says what changed in the transcript."""

    def __init__(
        self,
        *,
        key: Key = shipped_key,
        reasoning: Literal["folded", "open", "hidden"] = "folded",
    ) -> None:
        self.page = Page()
        self.tools = Tools(self.page)
        self.messages = Messages(self.page, self.tools, reasoning)
        self.meters = Meters()
        self.run = Run(self.page)
        self.notices = Notices(self.page)
        self.last_seq = 0
        self.checkpoints: list[Checkpoint] = []
        self._key = key
        self._data_at = 0.0
        self._handlers: dict[type[Event], tuple[Callable[[Any], None], ...]] = {}
        own = {AgentEnd: self._end, Checkpoint: self.checkpoints.append}
        parts = (self.meters, self.messages, self.tools, self.run, self.notices)
        for table in (*(part.handlers() for part in parts), own):
            for kind, handler in table.items():
                self._handlers[kind] = (*self._handlers.get(kind, ()), handler)

    # ---- folding

    def apply(self, event: Event) -> list[Change]:
        """Fold one event; what it changed in the transcript, in order."""
        page = self.page
        page.changes = []
        if event.seq:
            self.last_seq = page.seq = event.seq
        if event.ts:
            page.ts = event.ts
        for handler in self._handlers.get(type(event), ()):
            handler(event)
        return page.changes

    def fold(self, events: Iterable[Event]) -> None:
        """Fold many at once, without asking what changed."""
        for event in events:
            self.apply(event)

    # ---- what the screen asks

    @property
    def blocks(self) -> list[Block]:
        """The transcript, in reading order."""
        return self.page.blocks

    @property
    def gauges(self) -> Gauges:
        """The gauges at this moment."""
        return self.meters.snapshot()

    @property
    def now(self) -> float:
        """Time of the last event, Unix seconds."""
        return self.page.ts

    @property
    def title(self) -> str:
        """The session's title, or else the first thing that was asked."""
        return self.meters.session.title or words.first_line(self.messages.first_prompt, 60)

    @property
    def model_label(self) -> str:
        """The chosen model, and the one that stands in for it."""
        label = words.model_label(self.meters.model)
        return f"{label} via {self.meters.via}" if self.meters.via else label

    @property
    def running(self) -> bool:
        """True while a run goes on."""
        return self.run.running

    @property
    def side_work(self) -> bool:
        """True while a command of the person's own (``!``) runs, outside any run."""
        return not self.run.running and bool(self.tools.running)

    @property
    def busy(self) -> bool:
        """True while there is something that an interrupt ends."""
        return self.run.running or self.side_work

    @property
    def activity(self) -> Activity:
        """What goes on now, the most telling thing first."""
        run = self.run
        if run.stopping is not None and run.running:
            return self._stopping()
        if run.retry is not None:
            wait = run.retry
            what = f"{describe(wait.failure)}{attempt(wait.attempt, wait.limit)}"
            return Activity("retry", what, self.page.ts, until=wait.until)
        if run.approvals or run.questions or run.limit:
            return Activity("question", "waiting for your answer", self.page.ts)
        running = self.tools.running
        if running:
            return self._tool_activity()
        if not run.running:
            return Activity()
        return self._model_activity()

    def cut_off(self) -> list[Change]:
        """The engine has gone: what was open will not go on. The log decides what becomes of it when it is read again."""
        self.page.changes = []
        self.messages.settle()
        self.tools.settle()
        self.run.cut_off()
        return self.page.changes

    # ---- inside

    def _end(self, event: AgentEnd) -> None:
        changed = self.tools.totals(self.tools.run_changes)
        for path in event.files_changed:
            changed.setdefault(path, (0, 0))
        facts = RunFacts(
            limits=self.meters.limits,
            max_steps=self.meters.max_steps,
            changed=changed,
            kept_words=self.messages.interrupted_words,
            ended_tools=self.tools.ended_by_interrupt,
            review=self.notices.review,
            unknown_prices=self.meters.turn.unknown,
            summed_up=self.notices.summed_up,
        )
        self.page.add(card(event, facts, self._key))

    def _stopping(self) -> Activity:
        stopping = self.run.stopping
        assert stopping is not None
        running = self.tools.running
        if running and stopping.how == "graceful":
            what = f"stopping: {running[0].name} may finish"
            return Activity("stopping", what, self.page.ts, until=stopping.until)
        return Activity("stopping", "stopping", self.page.ts)

    def _tool_activity(self) -> Activity:
        running = self.tools.running
        first = running[0]
        name = words.first_line(f"{first.name} {first.summary}", 60)
        name = name.removeprefix("run_command ")
        what = f"running {name}" if len(running) == 1 else f"running {len(running)} tools: {name}"
        return Activity("tool", what, first.started)

    def _model_activity(self) -> Activity:
        stream, limits = self.messages.stream, self.meters.limits
        if stream is None:
            since = self.run.waiting_since
            model = self.meters.via or words.model_label(self.meters.model)
            return Activity("model", f"waiting for {model}", since, since, limits.step_timeout)
        doing = {
            "summary": "compacting the context",
            "evaluation": "reviewing the work",
            "routing": "choosing a model",
            "moa": "asking the advisors",
            "title": "naming the session",
            "sub_agent": "running a sub-agent",
        }.get(stream.purpose) or {
            None: f"waiting for {self.meters.via or words.model_label(stream.model or self.meters.model)}",
            "text": "closing" if stream.purpose == "close" else "writing",
            "reasoning": "thinking",
            "arguments": "preparing a call",
        }[stream.doing]
        return Activity("model", doing, stream.started, stream.data, limits.step_timeout)


__all__ = ["Activity", "Block", "CardBlock", "Change", "View", "shipped_key"]
