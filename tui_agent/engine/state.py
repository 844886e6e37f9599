"""The session's state: a fold over its events, changed in place and by nothing else.

``for event in log: state.apply(event)`` is resume, fork and replay. No clock, no randomness, no I/O: times and ids come
inside events, so two folds of the same log are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.core.events import Event, RunLimits, RunSettings
from tui_agent.core.messages import Call, Message, Reasoning, Result, Text
from tui_agent.engine.budget import IterationBudget
from tui_agent.engine.stall import Repetitions
from tui_agent.llm.tokens import Calibration

CLOSING_OUTPUT_TOKENS = 400
"""What a closing summary may cost in output; the budget guard keeps it in reserve."""
SMALLEST_OUTPUT_TOKENS = 256
"""A call whose output had to be capped below this is not worth sending."""
PLAN = "plan"
"""Name of the intent with which a mixed run asks to carry out its plan."""


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
class State:
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

    def apply(self, event: Event) -> None:
        """Fold one event in; O(1) but for compaction, rewind and the end of a batch. Unknown events change nothing."""
        if event.ts > self.now:
            self.now = event.ts
        if event.seq:
            self.seq = event.seq
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    # ---- derived questions

    @property
    def tail(self) -> Message | None:
        """The last message of the model's history."""
        return self.messages[-1] if self.messages else None

    @property
    def factor(self) -> float:
        """Real over counted tokens of the model in use."""
        return self.calibration.factor(self.run.model if self.run else self.model)

    @property
    def context_used(self) -> int:
        """Tokens of the next request: the last reported size plus what came since, or all of it as counted."""
        if self.reported:
            return self.reported + int(self.factor * max(0, self.counted - self.reported_counted))
        return int(self.factor * (self.fixed_tokens + self.counted))

    @property
    def context_exact(self) -> bool:
        return self.reported > 0

    @property
    def context_share(self) -> float:
        """Used part of the window, 0 when the window is unknown."""
        return self.context_used / self.window if self.window else 0.0

    @property
    def elapsed(self) -> float:
        """Seconds of this run, without the time spent waiting for the person."""
        run = self.run
        if run is None:
            return 0.0
        waiting = self.now - run.waiting_since if run.waiting_since else 0.0
        return self.now - run.started - run.waited - waiting

    @property
    def can_continue(self) -> str:
        """Empty when a run may go on without a new prompt, otherwise why not."""
        if self.run is not None:
            return "the agent is running"
        tail = self.tail
        if tail is None:
            return "there is nothing to continue yet"
        if tail.role == "assistant":
            return "the last word is the model's; send a message to go on"
        return ""

    def price(self, output_tokens: int, input_tokens: int | None = None) -> float | None:
        """USD that a call of this many tokens would cost at full price; None when the price is unknown."""
        run = self.run
        if run is None or run.prices is None:
            return None
        size = self.context_used if input_tokens is None else input_tokens
        return size * run.prices[0] + output_tokens * run.prices[1]

    @property
    def budget_left(self) -> float | None:
        """USD left of this run's budget; None = no budget."""
        run = self.run
        return None if run is None or run.budget_usd is None else run.budget_usd - run.cost

    def closing_affordable(self) -> bool:
        """True if a closing call fits into what is left of the budget."""
        left, cost = self.budget_left, self.price(CLOSING_OUTPUT_TOKENS)
        return left is None or cost is None or cost <= left


_E = TypeVar("_E", bound=Event)
_HANDLERS: dict[type[Event], Callable[[State, Any], None]] = {}


def _on(kind: type[_E]) -> Callable[[Callable[[State, _E], None]], Callable[[State, _E], None]]:
    def register(handler: Callable[[State, _E], None]) -> Callable[[State, _E], None]:
        _HANDLERS[kind] = handler
        return handler

    return register


def _append(state: State, message: Message) -> None:
    state.messages.append(message)
    state.counted += message.tokens


def _recount(state: State) -> None:
    state.counted = sum(message.tokens for message in state.messages)
    state.reported = state.reported_counted = 0


# ---- session and run


@_on(ev.SessionStart)
def _session_start(state: State, event: ev.SessionStart) -> None:
    state.id, state.kind, state.cwd, state.model = event.id, event.kind, event.cwd, event.model
    state.mode, state.confirm, state.untrusted = event.mode, event.confirm, event.untrusted
    state.title = event.title or state.title
    state.parent = event.parent


@_on(ev.SessionRenamed)
def _session_renamed(state: State, event: ev.SessionRenamed) -> None:
    state.title = event.title


@_on(ev.AgentStart)
def _agent_start(state: State, event: ev.AgentStart) -> None:
    limits = event.limits
    state.run = Run(
        id=event.run, started=event.ts, model=event.model, limits=limits, settings=event.settings, prices=event.prices,
        iterations=IterationBudget(limits.max_steps), first=len(state.messages), mode=state.mode,
        budget_usd=limits.budget_usd, timeout=limits.timeout, phase="plan" if event.settings.phased else "",
    )  # fmt: skip
    state.runs += 1
    if event.system != state.system:
        state.reported = state.reported_counted = 0
    state.system, state.parts, state.window = event.system, event.parts, event.window
    state.fixed_tokens = sum(tokens for _, tokens in event.parts) + event.tools_tokens
    state.tools = frozenset(event.tools)


@_on(ev.AgentEnd)
def _agent_end(state: State, event: ev.AgentEnd) -> None:
    state.run, state.last_end, state.partial = None, event, None
    state.steering.clear()
    state.follow_ups.clear()
    state.approvals.clear()
    state.questions.clear()


@_on(ev.InterruptRequested)
def _interrupt(state: State, event: ev.InterruptRequested) -> None:
    if state.run is None:
        return
    if event.how == "after_step":
        state.run.stop_after = True
    else:
        state.run.cut = event


# ---- messages


@_on(ev.TurnStart)
def _turn_start(state: State, event: ev.TurnStart) -> None:
    run = state.run
    if run is None:
        return
    run.failure, run.retry, run.retry_cut, run.empty_reply = None, None, "", False
    run.calls_made += 1
    if event.grace:
        run.grace_used = True
    else:
        run.iterations.consume()


@_on(ev.MessageStart)
def _message_start(state: State, event: ev.MessageStart) -> None:
    if event.role == "assistant":
        state.partial = Partial(event.id, event.model, event.purpose)


@_on(ev.MessageUpdate)
def _message_update(state: State, event: ev.MessageUpdate) -> None:
    partial = state.partial
    if partial is None or partial.id != event.id:
        return
    if event.delta == "text":
        partial.text.append(event.text)
    elif event.delta == "reasoning":
        partial.reasoning.append(event.text)


@_on(ev.MessageEnd)
def _message_end(state: State, event: ev.MessageEnd) -> None:
    message, run = event.message, state.run
    if state.partial is not None and state.partial.id == message.id:
        state.partial = None
    if message.role == "system" or event.purpose not in ("turn", "close"):
        return
    if message.parts:
        _append(state, message)
    if message.role != "assistant":
        return
    for call in message.calls:
        state.open_calls[call.id] = OpenCall(call)
    if run is None:
        return
    if message.text.strip():
        run.final_output = run.carried + message.text
    if event.purpose == "close":
        run.closed = True
        return
    run.failure = event.failure
    run.broken_stream = event.failure is not None and bool(message.parts)
    run.empty_reply = event.failure is None and not message.text.strip() and not message.calls
    if event.failure is None and not message.interrupted:
        run.attempts, run.plain, run.asked_again = 0, False, False
        run.tool_calls += len(message.calls)
        run.carried = ""
        if message.calls or message.finish != "length":
            run.nudges.pop("length", None)
        if not run.empty_reply:
            run.nudges.pop("empty", None)
            run.nudges.pop("partial", None)
        if not message.calls:
            run.repetitions.reply(message.text)


@_on(ev.SteeringQueued)
def _steering_queued(state: State, event: ev.SteeringQueued) -> None:
    state.steering[event.id] = event.text


@_on(ev.FollowUpQueued)
def _follow_up_queued(state: State, event: ev.FollowUpQueued) -> None:
    state.follow_ups[event.id] = event.text


@_on(ev.SteeringEdited)
def _steering_edited(state: State, event: ev.SteeringEdited) -> None:
    for queue in (state.steering, state.follow_ups):
        if event.id in queue:
            if event.text is None:
                del queue[event.id]
            else:
                queue[event.id] = event.text


@_on(ev.SteeringDelivered)
def _steering_delivered(state: State, event: ev.SteeringDelivered) -> None:
    _deliver(state, state.steering, event.messages)


@_on(ev.FollowUpDelivered)
def _follow_up_delivered(state: State, event: ev.FollowUpDelivered) -> None:
    _deliver(state, state.follow_ups, event.messages)
    if state.run is not None:
        state.run.evaluations.clear()


def _deliver(state: State, queue: dict[str, str], messages: tuple[Message, ...]) -> None:
    for message in messages:
        queue.pop(message.id, None)
        _append(state, message)
    if state.run is not None:
        state.run.repetitions.reset()
        state.run.warned_at = 0


# ---- tools


@_on(ev.ToolExecutionStart)
def _tool_start(state: State, event: ev.ToolExecutionStart) -> None:
    opened = state.open_calls.get(event.call.id)
    if opened is not None:
        opened.started = True
        opened.call = event.call


@_on(ev.ToolExecutionEnd)
def _tool_end(state: State, event: ev.ToolExecutionEnd) -> None:
    opened = state.open_calls.get(event.call_id)
    if opened is None:
        return
    opened.result = Result(event.call_id, event.name, event.text, ok=event.status == "ok")
    opened.tokens, opened.terminate, opened.untrusted = event.tokens, event.terminate, event.untrusted
    if event.untrusted:
        state.untrusted = True
    run = state.run
    if run is not None:
        run.files.update(dict.fromkeys(event.changed))
        run.repetitions.call(event.name, opened.call.arguments, event.text, edited=bool(event.changed))
        if event.changed:
            run.warned_at = 0
    if all(entry.result for entry in state.open_calls.values()):
        _close_batch(state)


def _close_batch(state: State) -> None:
    """All calls are answered: the results join the history in the model's order."""
    batch = list(state.open_calls.values())
    state.open_calls.clear()
    message = Message(
        id=f"results-{batch[0].call.id}",
        role="tool",
        parts=tuple(entry.result for entry in batch if entry.result is not None),
        origin="tool",
        tokens=sum(entry.tokens for entry in batch),
        untrusted=any(entry.untrusted for entry in batch),
    )
    _append(state, message)
    run = state.run
    if run is not None:
        malformed = all(entry.call.error or entry.call.name not in state.tools for entry in batch)
        run.bad_batches = run.bad_batches + 1 if malformed else 0
        run.terminate = all(entry.terminate for entry in batch)


@_on(ev.ApprovalRequested)
def _approval_requested(state: State, event: ev.ApprovalRequested) -> None:
    state.approvals[event.id] = event
    _wait_begins(state, event.ts)


@_on(ev.ApprovalResolved)
def _approval_resolved(state: State, event: ev.ApprovalResolved) -> None:
    asked = state.approvals.pop(event.id, None)
    state.resolved[event.id] = event
    if asked is not None and asked.intent.tool == PLAN and event.decision == "deny" and state.run is not None:
        state.run.terminate = not event.note
    _wait_ends(state, event.ts)


@_on(ev.QuestionAsked)
def _question_asked(state: State, event: ev.QuestionAsked) -> None:
    state.questions[event.id] = event
    _wait_begins(state, event.ts)


@_on(ev.QuestionAnswered)
def _question_answered(state: State, event: ev.QuestionAnswered) -> None:
    state.questions.pop(event.id, None)
    state.answers[event.id] = event
    _wait_ends(state, event.ts)


def _wait_begins(state: State, ts: float) -> None:
    if state.run is not None and not state.run.waiting_since:
        state.run.waiting_since = ts


def _wait_ends(state: State, ts: float) -> None:
    run = state.run
    if (
        run is not None
        and run.waiting_since
        and not state.approvals
        and not state.questions
        and not run.asking
    ):
        run.waited += max(0.0, ts - run.waiting_since)
        run.waiting_since = 0.0


# ---- accounting


@_on(ev.Usage)
def _usage(state: State, event: ev.Usage) -> None:
    state.input_tokens += event.input
    state.cached_tokens += event.cached
    state.output_tokens += event.output
    state.reasoning_tokens += event.reasoning
    run = state.run
    if event.cost_usd is None:
        state.cost_unknown = True
    else:
        state.cost += event.cost_usd
    if run is not None:
        run.cost += event.cost_usd or 0.0
        run.cost_unknown = run.cost_unknown or event.cost_usd is None
    if not event.reported or event.purpose != "turn":
        return
    state.reported = event.input + event.output
    state.reported_counted = state.counted
    state.calibration = state.calibration.learn(event.model, event.counted, event.input)


@_on(ev.LimitWarning)
def _limit_warning(state: State, event: ev.LimitWarning) -> None:
    if state.run is not None:
        state.run.warned.add(event.limit)


@_on(ev.LimitChanged)
def _limit_changed(state: State, event: ev.LimitChanged) -> None:
    state.limit_changes[event.limit] = event.value
    if state.run is not None:
        state.run.held = state.run.held or event.limit == "max_steps"
        _set_limit(state.run, event.limit, event.value)


def _set_limit(run: Run, limit: ev.Limit, value: float | None) -> None:
    if limit == "max_steps" and value is not None:
        run.iterations.extend(int(value))
    elif limit == "budget_usd":
        run.budget_usd = value
    elif limit == "timeout":
        run.timeout = value


@_on(ev.GuardTripped)
def _guard_tripped(state: State, event: ev.GuardTripped) -> None:
    if state.run is not None and event.asks:
        state.run.asking = event
        state.run.choice = None
        _wait_begins(state, event.ts)


@_on(ev.LimitExtended)
def _limit_extended(state: State, event: ev.LimitExtended) -> None:
    run = state.run
    if run is None:
        return
    if event.by == "person":
        run.asking = None
        _wait_ends(state, event.ts)
    if event.choice != "continue":
        run.choice = event.choice
        return
    if event.by == "model":
        run.extensions += 1
    if event.limit == "stall":
        run.repetitions.reset()
        run.warned_at = 0
    elif run.failure is not None and run.failure.step:
        run.failure = None
    else:
        _set_limit(run, event.limit, event.value)


@_on(ev.Closing)
def _closing(state: State, event: ev.Closing) -> None:
    if state.run is None:
        return
    state.run.closing, state.run.failure = event, None
    if event.message is None:
        state.run.closed = True
    else:
        _append(state, event.message)


@_on(ev.Nudge)
def _nudge(state: State, event: ev.Nudge) -> None:
    _append(state, event.message)
    run = state.run
    if run is not None:
        run.nudges[event.why] = event.attempt
        run.broken_stream = run.empty_reply = False
        run.carried = run.final_output if event.why in ("length", "partial") else ""


@_on(ev.Stall)
def _stall(state: State, event: ev.Stall) -> None:
    if event.message is not None:
        _append(state, event.message)
    if state.run is not None:
        state.run.warned_at = max(state.run.warned_at, event.count)


# ---- recovery


@_on(ev.Retry)
def _retry(state: State, event: ev.Retry) -> None:
    run = state.run
    if run is None:
        return
    run.retry, run.retry_cut, run.failure = event, "", None
    run.iterations.refund()
    if event.action == "wait":
        run.attempts = event.attempt
    elif event.action == "refresh":
        run.refreshes += 1
    elif event.action == "plain":
        run.plain = True
    elif event.action == "ask_again":
        run.asked_again = True


@_on(ev.RetryCut)
def _retry_cut(state: State, event: ev.RetryCut) -> None:
    run = state.run
    if run is None:
        return
    run.retry_cut = event.choice
    if event.choice != "now" and run.retry is not None:
        run.failure = run.retry.failure


@_on(ev.Fallback)
def _fallback(state: State, event: ev.Fallback) -> None:
    run = state.run
    if run is None:
        return
    if run.retry is None:
        run.iterations.refund()
    run.fallbacks_used.append(event.target)
    run.model, run.prices, run.failure, run.retry, run.retry_cut = event.target, event.prices, None, None, ""
    run.attempts, run.compactions, run.futile, run.overflows = 0, 0, 0, 0
    run.plain = run.asked_again = False
    _model_switched(state, event.system, event.window)


@_on(ev.ModelChanged)
def _model_changed(state: State, event: ev.ModelChanged) -> None:
    state.model = event.model
    state.hand_picked = state.hand_picked or event.by == "person"
    if state.run is not None:
        state.run.model, state.run.prices, state.run.attempts = event.model, event.prices, 0
        state.run.stale_system = not event.system
        _model_switched(state, event.system, event.window)


def _model_switched(state: State, system: str, window: int) -> None:
    state.system = system or state.system
    state.window = window
    state.reported = state.reported_counted = 0


@_on(ev.PhaseChanged)
def _phase_changed(state: State, event: ev.PhaseChanged) -> None:
    if state.run is not None:
        state.run.phase = ""
        state.tools = frozenset(event.tools)
    state.system = event.system or state.system
    state.reported = state.reported_counted = 0
    if event.message is not None:
        _append(state, event.message)


@_on(ev.Compaction)
def _compaction(state: State, event: ev.Compaction) -> None:
    run = state.run
    if run is not None:
        run.compactions += 1
        gained = event.after_tokens < event.before_tokens * 0.9
        run.futile = 0 if gained else run.futile + 1
        if run.failure is not None and run.failure.kind == "context_overflow":
            run.failure = None
            run.overflows += 1
            run.iterations.refund()
    if event.method == "none":
        return
    by_id = {message.id: message for message in (*state.messages, *event.changed)}
    if event.summary is not None:
        by_id[event.summary.id] = event.summary
    state.messages = [by_id[id] for id in event.history if id in by_id]
    _recount(state)


@_on(ev.Evaluation)
def _evaluation(state: State, event: ev.Evaluation) -> None:
    if state.run is not None:
        state.run.evaluations.append(event)
    if event.message is not None:
        _append(state, event.message)


@_on(ev.ModeChanged)
def _mode_changed(state: State, event: ev.ModeChanged) -> None:
    state.mode = event.mode or state.mode
    state.confirm = event.confirm or state.confirm
