"""What the gauges show: context, cache, money, steps, and what the session is."""

from __future__ import annotations

import msgspec

from tui_agent.core.events import (
    AgentStart,
    Compaction,
    ConfirmMode,
    Context,
    Fallback,
    LimitChanged,
    LimitExtended,
    Mode,
    ModeChanged,
    ModelChanged,
    RunLimits,
    RunSettings,
    SessionRenamed,
    SessionStart,
    TurnStart,
    Usage,
)  # fmt: skip
from tui_agent.ui.fold.page import Handlers
from tui_agent.ui.words import model_label

AMBER, RED = 0.75, 0.95
"""Shares of a limit from which its gauge warns and from which it is full."""


class SessionInfo(msgspec.Struct):
    """Which session this is."""

    id: str = ""
    kind: str = "interactive"
    cwd: str = ""
    branch: str = ""
    title: str = ""
    parent: str = ""
    untrusted: bool = False
    started: float = 0.0


class Money(msgspec.Struct):
    """A sum in USD and the number of calls in it whose price is unknown."""

    known: float = 0.0
    unknown: int = 0
    calls: int = 0

    def add(self, usd: float | None) -> None:
        self.calls += 1
        if usd is None:
            self.unknown += 1
        else:
            self.known += usd


class Gauges(msgspec.Struct, frozen=True):
    """One picture of the gauges. Tokens, USD; ``cached`` is a share, −1 when nothing is known yet."""

    used: int = 0
    window: int = 0
    exact: bool = False
    cached: float = -1.0
    turn: float = 0.0
    turn_unknown: int = 0
    session: float = 0.0
    session_unknown: int = 0
    budget: float | None = None
    step: int = 0
    max_steps: int = 0

    @property
    def share(self) -> float:
        """How full the context is, 0 when the window is unknown."""
        return self.used / self.window if self.window else 0.0

    @property
    def spent_share(self) -> float:
        """How much of the budget is gone."""
        return self.session / self.budget if self.budget else 0.0


class Meters:
    """Folds usage, limits, mode and model."""

    def __init__(self) -> None:
        self.session = SessionInfo()
        self.model = ""
        self.via = ""
        """The model that stands in for ``model`` after a fallback."""
        self.why_model = ""
        self.mode: Mode = "build"
        self.confirm: ConfirmMode = "confirm-sensitive"
        self.limits = RunLimits(max_steps=0)
        self.settings = RunSettings()
        self.max_steps = 0
        self.step = 0
        self.grace = False
        self.turn = Money()
        self.total = Money()
        self.used = self.window = 0
        self.exact = False
        self.cached = -1.0
        self.parts: tuple[tuple[str, int], ...] = ()
        self.tools_tokens = 0
        self.by_purpose: dict[str, Money] = {}
        self.by_model: dict[str, Money] = {}
        self.input_tokens = self.cached_tokens = self.output_tokens = self.reasoning_tokens = 0

    def handlers(self) -> Handlers:
        return {
            SessionStart: self.session_start,
            SessionRenamed: self.renamed,
            AgentStart: self.run_starts,
            TurnStart: self.turn_starts,
            Usage: self.usage,
            Context: self.context,
            Compaction: self.compacted,
            LimitExtended: self.extended,
            LimitChanged: self.limit_changed,
            ModeChanged: self.mode_changed,
            ModelChanged: self.model_changed,
            Fallback: self.fell_back,
        }

    def snapshot(self) -> Gauges:
        """The gauges at this moment."""
        return Gauges(
            self.used, self.window, self.exact, self.cached,
            self.turn.known, self.turn.unknown, self.total.known, self.total.unknown,
            self.limits.budget_usd, self.step, self.max_steps,
        )  # fmt: skip

    def session_start(self, event: SessionStart) -> None:
        self.session = SessionInfo(
            event.id,
            event.kind,
            event.cwd,
            event.branch,
            event.title,
            event.parent,
            event.untrusted,
            event.ts,
        )
        self.model, self.mode, self.confirm = event.model, event.mode, event.confirm

    def renamed(self, event: SessionRenamed) -> None:
        self.session.title = event.title

    def run_starts(self, event: AgentStart) -> None:
        self.model, self.via, self.why_model = event.model, "", event.why
        self.limits, self.max_steps, self.settings = event.limits, event.limits.max_steps, event.settings
        self.window = event.window or self.window
        self.parts, self.tools_tokens = event.parts, event.tools_tokens
        self.step, self.grace, self.turn = 0, False, Money()

    def turn_starts(self, event: TurnStart) -> None:
        self.step, self.grace = event.step, event.grace

    def usage(self, event: Usage) -> None:
        self.turn.add(event.cost_usd)
        self.total.add(event.cost_usd)
        self.by_purpose.setdefault(event.purpose, Money()).add(event.cost_usd)
        self.by_model.setdefault(event.model, Money()).add(event.cost_usd)
        self.input_tokens += event.input
        self.cached_tokens += event.cached
        self.output_tokens += event.output
        self.reasoning_tokens += event.reasoning
        if event.purpose in {"turn", "close"} and event.input and event.reported:
            self.cached = min(event.cached / event.input, 1.0)

    def context(self, event: Context) -> None:
        self.used, self.window, self.exact = event.used, event.window or self.window, event.exact

    def compacted(self, event: Compaction) -> None:
        if event.method != "none":
            self.used = event.after_tokens

    def extended(self, event: LimitExtended) -> None:
        if event.choice == "continue":
            self._set_limit(event.limit, event.value)

    def limit_changed(self, event: LimitChanged) -> None:
        self._set_limit(event.limit, event.value)

    def mode_changed(self, event: ModeChanged) -> None:
        self.mode, self.confirm = event.mode or self.mode, event.confirm or self.confirm

    def model_changed(self, event: ModelChanged) -> None:
        self.model, self.via, self.why_model = event.model, "", event.why
        self.window = event.window or self.window

    def fell_back(self, event: Fallback) -> None:
        self.via = model_label(event.target)
        self.window = event.window or self.window

    def _set_limit(self, limit: str, value: float | None) -> None:
        old = self.limits
        steps, budget, timeout = old.max_steps, old.budget_usd, old.timeout
        if limit == "max_steps":
            steps = self.max_steps = int(value or 0)
        elif limit == "budget_usd":
            budget = value
        elif limit == "timeout":
            timeout = value
        self.limits = RunLimits(
            steps, old.hard_max_steps, budget, timeout, old.step_timeout, old.stall_timeout
        )
