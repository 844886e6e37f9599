"""Lines of the program itself on the page: limits, retries, compaction, reviews, changes of mode and model."""

from __future__ import annotations

from typing import Literal

from tui_agent.core.errors import ErrorClass, Failure
from tui_agent.core.events import (
    Advisor,
    AgentStart,
    Closing,
    Compaction,
    Evaluation,
    Fallback,
    GuardTripped,
    LimitChanged,
    LimitExtended,
    LimitWarning,
    Memory,
    MessageStart,
    ModeChanged,
    ModelChanged,
    Notice,
    Nudge,
    PhaseChanged,
    Retry,
    RetryCut,
    Rewind,
    Stall,
)  # fmt: skip
from tui_agent.ui import words
from tui_agent.ui.blocks import NoticeBlock
from tui_agent.ui.fold.page import Handlers, Page

Level = Literal["info", "warning", "error"]

CLASSES: dict[ErrorClass, str] = {
    "auth": "key refused",
    "billing": "no credit",
    "rate_limit": "rate limit",
    "timeout": "timeout",
    "network": "connection lost",
    "server": "server error",
    "not_found": "model not found",
    "context_overflow": "context too long",
    "bad_request": "request refused",
    "content_policy": "refused by the content policy",
    "malformed": "unreadable reply",
    "unknown": "error",
}
"""Classes of failure in a person's words."""

LIMITS = {"max_steps": "step limit", "budget_usd": "budget", "timeout": "time limit", "stall": "stall"}
NUDGES = {
    "length": "the reply was cut at its length limit; continuing",
    "empty": "the reply was empty; asking again",
    "malformed": "the reply was malformed; asking again",
    "partial": "the reply broke off; continuing",
}
ACTIONS = {
    "refresh": "looking the key up again",
    "plain": "without optional parameters",
    "compact": "after compacting",
}


def describe(failure: Failure) -> str:
    """``rate limit (429) from anthropic``."""
    provider = failure.provider
    if failure.kind == "network":
        return f"connection to {provider} lost" if provider else CLASSES["network"]
    status = f" ({failure.status})" if failure.status and failure.kind != "malformed" else ""
    return f"{CLASSES[failure.kind]}{status}{f' from {provider}' if provider else ''}"


def attempt(number: int, limit: int) -> str:
    """`` · attempt 2 of 3``, empty where there is only one."""
    return f" · attempt {number} of {limit}" if limit > 1 else ""


def limit_value(limit: str, value: float | None) -> str:
    """A limit's value with its unit."""
    if value is None:
        return "none"
    if limit == "budget_usd":
        return words.money(value)
    return words.seconds(value) if limit == "timeout" else f"{value:.0f}"


class Notices:
    """Folds what the program itself has to say."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.review = ""
        """Outcome of the last self-evaluation of this run, e.g. ``review 92 %``."""
        self.recalled = 0
        self.summed_up = False
        """The run closes with an answer that sums up what is done."""
        self._retry: NoticeBlock | None = None
        self._switch: NoticeBlock | None = None
        self._uncompacted: NoticeBlock | None = None
        """What was said of the last attempt to compact in vain; it stands once a run."""

    def handlers(self) -> Handlers:
        return {
            AgentStart: self.run_starts,
            MessageStart: self.message,
            Retry: self.retry,
            RetryCut: self.retry_cut,
            Fallback: self.fallback,
            PhaseChanged: self.phase,
            Compaction: self.compaction,
            Evaluation: self.evaluation,
            Nudge: self.nudge,
            Closing: self.closing,
            GuardTripped: self.guard,
            LimitWarning: self.warning,
            LimitExtended: self.extended,
            LimitChanged: self.limit_changed,
            Stall: self.stall,
            Advisor: self.advisor,
            Memory: self.memory,
            Rewind: self.rewind,
            ModeChanged: self.mode,
            ModelChanged: self.model,
            Notice: self.notice,
        }

    def say(
        self, text: str, *, level: Level = "info", right: str = "", body: str = "", hint: str = ""
    ) -> NoticeBlock:
        """One line at the end of the page; ``body`` opens below it."""
        block = NoticeBlock(f"n{len(self.page.blocks)}.{self.page.seq}", text, folded=bool(body), level=level)
        block.right, block.body, block.hint = right, body, hint
        return self.page.add(block)

    def run_starts(self, event: AgentStart) -> None:
        self.review, self._retry, self.recalled, self.summed_up = "", None, 0, False
        self._uncompacted = None
        if event.why:
            self.say(f"model {words.model_label(event.model)}: {event.why}")

    def message(self, _event: MessageStart) -> None:
        self._retry = self._retry if self._retry is self.page.last else None

    def retry(self, event: Retry) -> None:
        text = f"{describe(event.failure)}{attempt(event.attempt, event.limit)}"
        wait = event.until - event.ts
        right = ACTIONS.get(event.action) or (f"waits {words.seconds(wait)}" if wait >= 0.05 else "at once")
        if self._retry is not None and self._retry is self.page.last:
            self._retry.text, self._retry.right = text, right
            self.page.changed(self._retry)
        else:
            self._retry = self.say(text, level="warning", right=right, hint=event.failure.hint)

    def retry_cut(self, event: RetryCut) -> None:
        if self._retry is not None:
            self._retry.right = {"now": "tried at once", "fallback": "fell back", "stop": "stopped"}[
                event.choice
            ]
            self.page.changed(self._retry)

    def fallback(self, event: Fallback) -> None:
        self._retry = None
        self.say(
            f"goes on with {words.model_label(event.target)} instead of {words.model_label(event.source)}",
            level="warning",
            right=event.why,
        )

    def phase(self, _event: PhaseChanged) -> None:
        self.say("the plan is accepted: now it is built")

    def compaction(self, event: Compaction) -> None:
        if event.method == "none":
            text = f"context not compacted: {event.why or 'there was nothing to gain'}"
            if self._uncompacted is None or self._uncompacted.text != text:
                self._uncompacted = self.say(text)
            return
        self._uncompacted = None
        how = {"model": "", "mechanical": " · listed, not summarised", "window": " · oldest dropped"}[
            event.method
        ]
        self.say(
            f"context {event.before_messages} → {event.after_messages} messages"
            f" · {words.tokens(event.before_tokens)} → {words.tokens(event.after_tokens)} tokens{how}",
            right=words.seconds(event.duration) if event.duration else "",
            body=event.summary.text if event.summary else "",
        )

    def evaluation(self, event: Evaluation) -> None:
        if event.error:
            self.say(f"the review could not be made: {event.error}")
            return
        self.review = f"review {event.confidence:.0%}".replace("%", " %")
        if event.passed:
            self.say(self.review, body="\n".join(event.issues))
            return
        found = words.count(len(event.issues), "issue") if event.issues else "not complete"
        body = "\n".join([*(f"- {issue}" for issue in event.issues), event.suggestion]).strip()
        self.say(f"{self.review} · {found}", level="warning", right=f"attempt {event.attempt}", body=body)

    def nudge(self, event: Nudge) -> None:
        self.say(f"{NUDGES[event.why]} {event.attempt}/{event.limit}")

    def closing(self, event: Closing) -> None:
        why = event.reason.replace("_", " ")
        self.summed_up = event.message is not None
        body = event.message.text if event.message else ""
        tail = "one last answer without tools" if event.message else "no closing call"
        self.say(f"closing: {why}", level="warning", right=tail, body=body)

    def guard(self, event: GuardTripped) -> None:
        if event.grace:
            self.say("last call: the steps are used up, and the model has not seen its last results")

    def warning(self, event: LimitWarning) -> None:
        name = LIMITS[event.limit]
        used, allowed = limit_value(event.limit, event.used), limit_value(event.limit, event.allowed)
        self.say(f"{name}: {used} of {allowed} used", level="warning")

    def extended(self, event: LimitExtended) -> None:
        value = limit_value(event.limit, event.value)
        if event.by == "model":
            self.say(
                f"the model takes more steps, now {value}: {event.why or 'no reason given'}", level="warning"
            )
        elif event.choice == "continue":
            self.say(f"{LIMITS[event.limit]} raised to {value}")

    def limit_changed(self, event: LimitChanged) -> None:
        self.say(f"{LIMITS[event.limit]}: {limit_value(event.limit, event.value)}")

    def stall(self, event: Stall) -> None:
        what = f": {event.what}" if event.what else ""
        tail = {"warn": "the model was told", "ask": "waits for you", "stop": "stopped"}[event.action]
        self.say(f"looping? {event.count}× the same{what}", level="warning", right=tail)

    def advisor(self, event: Advisor) -> None:
        name = words.model_label(event.model)
        if event.error:
            self.say(f"advisor {name} failed: {event.error}", level="warning")
        else:
            self.say(f"advisor {name} made a draft", right=words.seconds(event.duration), body=event.text)

    def memory(self, event: Memory) -> None:
        self.recalled = event.count if event.action == "recalled" else self.recalled
        self.say(f"{event.action} {event.count or ''}".strip(), right=words.first_line(event.text, 60))

    def rewind(self, event: Rewind) -> None:
        if event.conversation:
            self.page.cut(event.to_seq)
        what = [name for name, on in (("conversation", event.conversation), ("files", event.files)) if on]
        self.say(f"rewound: {' and '.join(what)}", hint="can be undone" if event.undo else "")

    def mode(self, event: ModeChanged) -> None:
        parts = [f"mode {event.mode}"] if event.mode else []
        parts += [f"confirm {event.confirm}"] if event.confirm else []
        if parts:
            self._switched(" · ".join(parts))

    def model(self, event: ModelChanged) -> None:
        self._switched(f"model {words.model_label(event.model)}" + (f" · {event.why}" if event.why else ""))

    def notice(self, event: Notice) -> None:
        self.say(event.text, level=event.level, body=event.detail, hint=event.hint)

    def _switched(self, text: str) -> None:
        """Cycling through modes leaves one line, not one a key press."""
        if (
            self._switch is not None
            and self._switch is self.page.last
            and self._switch.text.split()[0] == text.split(maxsplit=1)[0]
        ):
            self._switch.text = text
            self.page.changed(self._switch)
        else:
            self._switch = self.say(text)
