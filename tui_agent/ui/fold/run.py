"""The run on the screen: what goes on now, since when, and what waits for a person."""

from __future__ import annotations

from typing import Literal

import msgspec

from tui_agent.core.errors import Failure
from tui_agent.core.events import (
    AgentEnd,
    AgentStart,
    ApprovalRequested,
    ApprovalResolved,
    Closing,
    Fallback,
    FollowUpDelivered,
    FollowUpQueued,
    GuardTripped,
    InterruptRequested,
    LimitChanged,
    LimitExtended,
    MessageStart,
    QuestionAnswered,
    QuestionAsked,
    Ready,
    Retry,
    RetryCut,
    Stall,
    SteeringDelivered,
    SteeringEdited,
    SteeringQueued,
    StopReason,
    TurnStart,
)  # fmt: skip
from tui_agent.ui.fold.page import Change, Handlers, Page


class Queued(msgspec.Struct, frozen=True):
    """A message that waits: a steering message or a follow-up."""

    id: str
    text: str
    kind: Literal["steer", "next"]


class LimitCard(msgspec.Struct, frozen=True):
    """A tripped limit that waits for a choice."""

    reason: StopReason
    used: float
    allowed: float
    what: str = ""
    needed: float = 0.0
    """What going on takes at least (budget: USD)."""
    step: bool = False
    """The time limit of one model call, not of the run."""


class RetryWait(msgspec.Struct, frozen=True):
    """A wait before the next attempt; ``until`` is Unix time."""

    failure: Failure
    attempt: int
    limit: int
    until: float
    action: str
    fallback: str


class Veto(msgspec.Struct, frozen=True):
    """More steps that the model gave itself; a key takes them back to ``before``."""

    before: int
    after: int
    why: str


class Stopping(msgspec.Struct, frozen=True):
    """An interrupt on its way; the running tool may go on until ``until`` (Unix time)."""

    how: Literal["graceful", "now", "after_step"]
    until: float


class Run:
    """Folds the run's own state and everything that waits."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.running = False
        self.started = 0.0
        self.closing: StopReason | None = None
        self.stopping: Stopping | None = None
        self.stop_after_step = False
        self.last_end: AgentEnd | None = None
        self.queue: dict[str, Queued] = {}
        self.approvals: dict[str, ApprovalRequested] = {}
        self.allowed: list[str] = []
        """Rules that the person has added since the engine started."""
        self.questions: dict[str, QuestionAsked] = {}
        self.limit: LimitCard | None = None
        self.retry: RetryWait | None = None
        self.veto: Veto | None = None
        self.waiting_since = 0.0
        """When the run last began to wait for a model."""
        self._steps = 0
        self._step_timeout = 0.0

    def handlers(self) -> Handlers:
        return {
            Ready: lambda _event: self.allowed.clear(),
            AgentStart: self.starts,
            AgentEnd: self.ends,
            TurnStart: self.turn,
            MessageStart: self.message,
            ApprovalRequested: self.asked,
            ApprovalResolved: self.resolved,
            QuestionAsked: self.question,
            QuestionAnswered: self.answered,
            SteeringQueued: self.steering,
            FollowUpQueued: self.follow_up,
            SteeringEdited: self.edited,
            SteeringDelivered: self.delivered,
            FollowUpDelivered: self.delivered,
            InterruptRequested: self.interrupt,
            GuardTripped: self.tripped,
            Stall: self.stalled,
            LimitExtended: self.extended,
            LimitChanged: self.limit_set,
            Closing: self.closes,
            Retry: self.retries,
            RetryCut: self.retry_over,
            Fallback: self.retry_over,
        }

    def starts(self, event: AgentStart) -> None:
        self.running, self.started, self.waiting_since = True, event.ts, event.ts
        self.closing, self.stopping, self.stop_after_step = None, None, False
        self._steps, self._step_timeout = event.limits.max_steps, event.limits.step_timeout
        self._nothing_waits()

    def ends(self, event: AgentEnd) -> None:
        self.running, self.last_end, self.stopping, self.stop_after_step = False, event, None, False
        self.closing = None
        self._nothing_waits()
        if event.returned:
            self.queue = {key: item for key, item in self.queue.items() if item.text not in event.returned}
            self.page.changes.append(Change("returned", text="\n\n".join(event.returned)))

    def cut_off(self) -> None:
        """Nothing runs any more."""
        self.running, self.stopping, self.stop_after_step, self.closing = False, None, False, None
        self._nothing_waits()

    def turn(self, event: TurnStart) -> None:
        self.waiting_since, self.retry, self.veto = event.ts, None, None

    def message(self, event: MessageStart) -> None:
        if event.role == "assistant":
            self.retry = None

    def asked(self, event: ApprovalRequested) -> None:
        self.approvals[event.id] = event

    def resolved(self, event: ApprovalResolved) -> None:
        asked = self.approvals.pop(event.id, None)
        if (
            asked is not None
            and event.decision in {"session", "always"}
            and asked.rule not in {"", *self.allowed}
        ):
            self.allowed.append(asked.rule)
        self.waiting_since = event.ts

    def question(self, event: QuestionAsked) -> None:
        self.questions[event.id] = event

    def answered(self, event: QuestionAnswered) -> None:
        self.questions.pop(event.id, None)

    def steering(self, event: SteeringQueued) -> None:
        self.queue[event.id] = Queued(event.id, event.text, "steer")

    def follow_up(self, event: FollowUpQueued) -> None:
        self.queue[event.id] = Queued(event.id, event.text, "next")

    def edited(self, event: SteeringEdited) -> None:
        old = self.queue.get(event.id)
        if event.text is None:
            self.queue.pop(event.id, None)
        elif old is not None:
            self.queue[event.id] = Queued(old.id, event.text, old.kind)

    def delivered(self, event: SteeringDelivered | FollowUpDelivered) -> None:
        for message in event.messages:
            if self.queue.pop(message.id, None) is None:
                same = next((item.id for item in self.queue.values() if item.text == message.text), "")
                self.queue.pop(same, None)

    def interrupt(self, event: InterruptRequested) -> None:
        if event.how == "after_step":
            self.stop_after_step = True
        else:
            self.stopping = Stopping(event.how, event.ts + (event.grace if event.how == "graceful" else 0.0))
            self._nothing_waits()

    def tripped(self, event: GuardTripped) -> None:
        if event.asks:
            what = self.limit.what if self.limit else ""
            step = event.reason == "timeout" and event.used == event.allowed == self._step_timeout
            self.limit = LimitCard(event.reason, event.used, event.allowed, what, event.needed, step)

    def stalled(self, event: Stall) -> None:
        if event.action == "ask":
            self.limit = LimitCard("stalled", event.count, 0, event.what)

    def extended(self, event: LimitExtended) -> None:
        self.limit = None
        self.waiting_since = event.ts
        if event.limit == "max_steps" and event.choice == "continue":
            if event.by == "model":
                self.veto = Veto(self._steps, int(event.value), event.why)
            self._steps = int(event.value)

    def limit_set(self, event: LimitChanged) -> None:
        if event.limit == "max_steps":
            self._steps, self.veto = int(event.value or 0), None

    def closes(self, event: Closing) -> None:
        self.closing, self.limit, self.waiting_since = event.reason, None, event.ts

    def retries(self, event: Retry) -> None:
        self.retry = RetryWait(
            event.failure, event.attempt, event.limit, event.until, event.action, event.fallback
        )

    def retry_over(self, event: RetryCut | Fallback) -> None:
        self.retry, self.waiting_since = None, event.ts

    def _nothing_waits(self) -> None:
        self.approvals.clear()
        self.questions.clear()
        self.limit = self.retry = self.veto = None
