"""What a session's state consists of, as plain records; ``fold.py`` changes them, ``state.py`` asks them questions."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.core.events import RunLimits, RunSettings
from tui_agent.core.messages import Call, Message, Reasoning, Result, Text
from tui_agent.engine.budget import IterationBudget
from tui_agent.engine.stall import Repetitions
from tui_agent.llm.tokens import Calibration


@dataclass(slots=True)
class Partial:
    """A message that is still streaming."""

    id: str
    model: str = ""
    purpose: ev.Purpose = "turn"
    text: list[str] = field(default_factory=lambda: [])
    reasoning: list[str] = field(default_factory=lambda: [])

    def message(self, *, interrupted: bool = True) -> Message | None:
        """What was shown so far as a message; None if nothing was. Calls are left out: their arguments may be cut."""
        parts: list[Text | Reasoning] = []
        if self.reasoning:
            parts.append(Reasoning("".join(self.reasoning)))
        if self.text:
            parts.append(Text("".join(self.text)))
        if not parts:
            return None
        return Message(
            id=self.id,
            role="assistant",
            parts=tuple(parts),
            origin="model",
            model=self.model,
            interrupted=interrupted,
        )


@dataclass(slots=True)
class OpenCall:
    """A call that the model made and that has no answer in the history yet."""

    call: Call
    started: bool = False
    result: Result | None = None
    tokens: int = 0
    terminate: bool = False
    untrusted: bool = False


@dataclass(slots=True)
class Run:
    """What one run adds to the session's state; gone when the run has ended."""

    id: str
    started: float
    model: str
    limits: RunLimits
    settings: RunSettings
    iterations: IterationBudget
    first: int
    """Number of messages when the run began."""
    prices: tuple[float, float] | None = None
    phase: str = ""
    mode: ev.Mode = "build"
    budget_usd: float | None = None
    timeout: float | None = None
    calls_made: int = 0
    tool_calls: int = 0
    cost: float = 0.0
    cost_unknown: bool = False
    files: dict[str, None] = field(default_factory=lambda: {})
    cut: ev.InterruptRequested | None = None
    stop_after: bool = False
    terminate: bool = False
    asking: ev.GuardTripped | None = None
    choice: ev.Choice | None = None
    waited: float = 0.0
    waiting_since: float = 0.0
    grace_used: bool = False
    closing: ev.Closing | None = None
    closed: bool = False
    failure: Failure | None = None
    attempts: int = 0
    refreshes: int = 0
    plain: bool = False
    asked_again: bool = False
    overflows: int = 0
    retry: ev.Retry | None = None
    retry_cut: str = ""
    fallbacks_used: list[str] = field(default_factory=lambda: [])
    broken_stream: bool = False
    empty_reply: bool = False
    """The last reply had neither text nor calls."""
    stale_system: bool = False
    """The system prompt names another model than the one in use."""
    held: bool = False
    """The person set the number of steps, so the model's requests for more are refused."""
    compactions: int = 0
    futile: int = 0
    nudges: dict[str, int] = field(default_factory=lambda: {})
    bad_batches: int = 0
    evaluations: list[ev.Evaluation] = field(default_factory=lambda: [])
    repetitions: Repetitions = field(default_factory=Repetitions)
    warned_at: int = 0
    extensions: int = 0
    final_output: str = ""
    carried: str = ""
    """The beginning of an answer whose continuation was asked for."""
    warned: set[str] = field(default_factory=set[str])


@dataclass(slots=True)
class Facts:
    """Everything the loop decides by. ``messages`` is the model's window (compaction replaces its old part)."""

    id: str = ""
    kind: ev.SessionKind = "interactive"
    cwd: str = ""
    title: str = ""
    model: str = ""
    hand_picked: bool = False
    """A person chose the model, so routing leaves it alone."""
    mode: ev.Mode = "build"
    confirm: ev.ConfirmMode = "confirm-sensitive"
    untrusted: bool = False
    parent: str = ""
    now: float = 0.0
    seq: int = 0
    messages: list[Message] = field(default_factory=lambda: [])
    system: str = ""
    parts: tuple[tuple[str, int], ...] = ()
    tools: frozenset[str] = frozenset()
    fixed_tokens: int = 0
    """Counted tokens of the system prompt and the tool schemas."""
    window: int = 0
    partial: Partial | None = None
    open_calls: dict[str, OpenCall] = field(default_factory=lambda: {})
    steering: dict[str, str] = field(default_factory=lambda: {})
    follow_ups: dict[str, str] = field(default_factory=lambda: {})
    approvals: dict[str, ev.ApprovalRequested] = field(default_factory=lambda: {})
    resolved: dict[str, ev.ApprovalResolved] = field(default_factory=lambda: {})
    questions: dict[str, ev.QuestionAsked] = field(default_factory=lambda: {})
    answers: dict[str, ev.QuestionAnswered] = field(default_factory=lambda: {})
    run: Run | None = None
    runs: int = 0
    last_end: ev.AgentEnd | None = None
    cost: float = 0.0
    cost_unknown: bool = False
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    calibration: Calibration = field(default_factory=Calibration)
    counted: int = 0
    """Counted tokens of ``messages``, kept as they come and go."""
    reported: int = 0
    """Input and output of the last reported call: the exact size of everything up to ``reported_at``."""
    reported_counted: int = 0
    limit_changes: dict[str, float | None] = field(default_factory=lambda: {})
