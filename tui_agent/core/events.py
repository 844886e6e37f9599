"""The events of a session: the only way state changes, the lines of the log, and what every reader reads.

An event is one JSON line ``{"seq":1,"ts":1767225600.123,"type":"turn_start",…}``. ``seq`` counts the session's
logged events from 1 (0 = a transient delta that the log keeps in merged form); ``ts`` is Unix time in seconds.
Unknown types and fields are kept in the file and ignored by readers, so a newer version's log opens.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tui_agent.core.errors import Failure
from tui_agent.core.messages import Call, Message
from tui_agent.core.tool import Display, Intent

FORMAT_VERSION = 1

StopReason = Literal[
    "llm_done", "max_steps", "budget_exceeded", "context_full", "timeout", "user_interrupt", "llm_error",
    "stalled", "incomplete", "internal_error",
]  # fmt: skip
Status = Literal["running", "success", "partial", "failed"]
SessionKind = Literal["interactive", "headless", "sub_agent", "trigger", "replay"]
Mode = Literal["plan", "build", "mixed"]
ConfirmMode = Literal["yolo", "confirm-sensitive", "confirm-all"]
Purpose = Literal["turn", "close", "summary", "evaluation", "routing", "moa", "title", "sub_agent"]
Limit = Literal["max_steps", "budget_usd", "timeout", "stall"]
Choice = Literal["continue", "summarise", "stop"]
Decision = Literal["once", "session", "always", "deny", "edit"]
DeltaKind = Literal["text", "reasoning", "arguments"]
ToolStatus = Literal["ok", "error", "denied", "interrupted", "not_started"]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all events."""

    seq: int = 0
    ts: float = 0.0


# ---- session and run


class Ready(Event, tag="ready"):
    """The engine is up (on the pipe only, never in a log). ``last_seq`` is the session's last logged event."""

    session_id: str
    path: str
    model: str
    last_seq: int = 0
    window: int = 0
    pid: int = 0
    tools: tuple[str, ...] = ()
    demo: bool = False


class SessionStart(Event, tag="session_start"):
    """First line of every log."""

    version: int
    id: str
    kind: SessionKind
    cwd: str
    model: str
    mode: Mode = "build"
    confirm: ConfirmMode = "confirm-sensitive"
    parent: str = ""
    parent_seq: int = 0
    title: str = ""
    untrusted: bool = False
    branch: str = ""
    program: str = ""
    """Version of tui-agent that wrote it."""


class SessionRenamed(Event, tag="session_renamed"):
    title: str


class SessionEnd(Event, tag="session_end"):
    reason: str = ""


class RunLimits(msgspec.Struct, frozen=True):
    """The limits of one run; None = no limit. USD, seconds."""

    max_steps: int = 50
    hard_max_steps: int = 100
    budget_usd: float | None = None
    timeout: float | None = None
    step_timeout: float = 300.0
    stall_timeout: float = 60.0


class RunSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the run's decisions depend on beside its limits; in the log so that a replayed decision is the same."""

    fallbacks: tuple[str, ...] = ()
    self_eval: Literal["off", "basic", "full"] = "off"
    extend_by: int = 10
    summarize_after_steps: int = 8
    keep_recent: int = 4
    compact_at: float = 0.75
    critical_at: float = 0.95
    max_tool_result_tokens: int = 2000
    steering: Literal["all", "one"] = "all"
    follow_up: Literal["all", "one"] = "one"
    interrupt_grace: float = 5.0
    interactive: bool = True
    """A person is there to be asked; False closes by itself."""
    phased: bool = False
    """A plan phase first, then (approved) the build phase: mode ``mixed``."""


class AgentStart(Event, tag="agent_start"):
    """A run begins. ``system`` is the whole system prompt, byte-stable until the run ends or the model changes;
    ``parts`` are its pieces as (name, tokens). ``prices`` are USD per input and output token, None = unknown."""

    run: str
    model: str
    limits: RunLimits
    settings: RunSettings = RunSettings()
    prices: tuple[float, float] | None = None
    window: int = 0
    system: str = ""
    parts: tuple[tuple[str, int], ...] = ()
    tools: tuple[str, ...] = ()
    tools_tokens: int = 0
    continued: bool = False
    why: str = ""
    """Why this model (routing), empty when it was simply configured."""


class AgentEnd(Event, tag="agent_end"):
    """Exactly one ends every run. ``returned`` are queued messages that go back to the composer."""

    run: str
    stop_reason: StopReason
    status: Status
    steps: int = 0
    tool_calls: int = 0
    cost_usd: float | None = 0.0
    duration: float = 0.0
    final_output: str = ""
    failure: Failure | None = None
    files_changed: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    detail: str = ""
    """What to know beyond the reason; a traceback for internal_error (log only)."""


class TurnStart(Event, tag="turn_start"):
    """A model call that uses one step of the budget; ``grace`` marks the last call beyond it."""

    step: int
    grace: bool = False


class TurnEnd(Event, tag="turn_end"):
    step: int
    tool_calls: int = 0


# ---- messages


class MessageStart(Event, tag="message_start"):
    id: str
    role: Literal["system", "user", "assistant", "tool"]
    origin: str = "model"
    model: str = ""
    purpose: Purpose = "turn"


class MessageUpdate(Event, tag="message_update"):
    """A piece of a streaming message. For ``arguments``, ``call`` is the call's id and ``name`` its tool."""

    id: str
    delta: DeltaKind
    text: str
    call: str = ""
    name: str = ""


class MessageEnd(Event, tag="message_end"):
    """The final message replaces the partial one. With ``failure`` the call failed; a message with no parts is not kept."""

    message: Message
    failure: Failure | None = None
    purpose: Purpose = "turn"


# ---- tools and hooks


class ToolExecutionStart(Event, tag="tool_execution_start"):
    """On disk before the tool runs. ``summary`` is the argument summary of the panel title."""

    call: Call
    summary: str
    effect: str = "read"
    preview: Display | None = None


class ToolExecutionUpdate(Event, tag="tool_execution_update"):
    """Live output of a running call."""

    call_id: str
    text: str


class ToolExecutionEnd(Event, tag="tool_execution_end"):
    """One call is answered; ``text`` is the whole answer for the model, hook output included, before truncation."""

    call_id: str
    name: str
    status: ToolStatus
    text: str
    summary: str = ""
    display: Display | None = None
    changed: tuple[str, ...] = ()
    full_output: str = ""
    duration: float = 0.0
    terminate: bool = False
    untrusted: bool = False
    tokens: int = 0


class HookStart(Event, tag="hook_start"):
    call_id: str
    name: str
    path: str
    command: str = ""


class HookEnd(Event, tag="hook_end"):
    """``status`` is ok, failed (exit code ≠ 0), timeout or missing (command not found)."""

    call_id: str
    name: str
    path: str
    status: Literal["ok", "failed", "timeout", "missing"]
    output: str = ""
    exit_code: int | None = None
    duration: float = 0.0
    rewrote: bool = False


class ApprovalRequested(Event, tag="approval_requested"):
    """``why`` is the rule or mode that asks; ``rule`` is what "always" would add, empty when it can't be offered."""

    id: str
    call_id: str
    intent: Intent
    why: str = ""
    rule: str = ""
    default: Literal["once", "deny"] = "once"


class ApprovalResolved(Event, tag="approval_resolved"):
    id: str
    decision: Decision
    by: Literal["person", "rule", "interrupt"] = "person"
    arguments: dict[str, Any] | None = None
    note: str = ""


class QuestionAsked(Event, tag="question_asked"):
    """The model asks the person (``ask_user``)."""

    id: str
    call_id: str
    question: str
    options: tuple[str, ...] = ()


class QuestionAnswered(Event, tag="question_answered"):
    """``text`` None: nobody answered (interrupt)."""

    id: str
    text: str | None


# ---- steering


class SteeringQueued(Event, tag="steering_queued"):
    id: str
    text: str


class SteeringEdited(Event, tag="steering_edited"):
    """A waiting message (steering or follow-up) was changed; ``text`` None: removed."""

    id: str
    text: str | None


class SteeringDelivered(Event, tag="steering_delivered"):
    """Takes the messages out of the queue and into the history in one line: exactly once across a crash."""

    messages: tuple[Message, ...]


class FollowUpQueued(Event, tag="follow_up_queued"):
    id: str
    text: str


class FollowUpDelivered(Event, tag="follow_up_delivered"):
    messages: tuple[Message, ...]


class InterruptRequested(Event, tag="interrupt_requested"):
    """``graceful`` lets a running tool go on for ``grace`` seconds; ``now`` doesn't; ``after_step`` stops before the next call."""

    how: Literal["graceful", "now", "after_step"]
    grace: float = 0.0
    by: Literal["person", "signal", "engine"] = "person"


# ---- accounting, limits, recovery


class Usage(Event, tag="usage"):
    """What one model call used. ``input`` includes ``cached``; ``output`` includes ``reasoning``. Tokens, USD.

    ``reported`` False: the provider said nothing and the numbers are our count. ``cost_usd`` None: price unknown.
    ``counted`` is our uncalibrated count of the same request, for calibration.
    """

    purpose: Purpose
    model: str
    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    cost_usd: float | None = None
    reported: bool = True
    counted: int = 0
    message_id: str = ""


class Context(Event, tag="context"):
    """Size of the next request against the model's window, in tokens; ``exact`` once calibrated on reported usage."""

    used: int
    window: int
    exact: bool = False


class LimitWarning(Event, tag="limit_warning"):
    """Once per limit and run, at 80 % (budget) or on the last step."""

    limit: Limit
    used: float
    allowed: float


class GuardTripped(Event, tag="guard_tripped"):
    """A safety net tripped; ``asks`` True: the run waits for the person's choice. ``needed`` is what going on would take
    at least (budget: USD of the next request and a closing one)."""

    reason: StopReason
    used: float = 0.0
    allowed: float = 0.0
    needed: float = 0.0
    asks: bool = False
    grace: bool = False


class LimitExtended(Event, tag="limit_extended"):
    """The choice on a tripped limit, or the model's request for more steps. ``value`` is the new limit."""

    limit: Limit
    choice: Choice = "continue"
    value: float = 0.0
    by: Literal["person", "model"] = "person"
    why: str = ""


class Closing(Event, tag="closing"):
    """The graceful close begins; ``message`` is the instruction put into the history (None: no closing call is made)."""

    reason: StopReason
    message: Message | None = None


class Nudge(Event, tag="nudge"):
    """The model is asked to go on: a truncated, empty or malformed reply; ``message`` joins the history."""

    why: Literal["length", "empty", "malformed", "partial"]
    attempt: int
    limit: int
    message: Message


class Retry(Event, tag="retry"):
    """Our loop will send the request again at ``until`` (Unix time); the step is refunded."""

    failure: Failure
    attempt: int
    limit: int
    until: float
    action: Literal["wait", "refresh", "plain", "ask_again"] = "wait"
    fallback: str = ""
    """The model a key would switch to."""


class RetryCut(Event, tag="retry_cut"):
    """The person cut a wait short."""

    choice: Literal["now", "fallback", "stop"]


class Fallback(Event, tag="fallback"):
    """The run goes on with another model; the system prompt is rendered anew."""

    source: str
    target: str
    why: str
    system: str = ""
    window: int = 0
    prices: tuple[float, float] | None = None
    until: float = 0.0
    """The first model is not tried again before this time."""


class PhaseChanged(Event, tag="phase_changed"):
    """A mixed run's plan was accepted (or edited) and the build phase begins; ``message`` tells the model."""

    system: str = ""
    tools: tuple[str, ...] = ()
    tools_tokens: int = 0
    message: Message | None = None


class Compaction(Event, tag="compaction"):
    """The model's history becomes the messages whose ids are in ``history``, in that order; nothing leaves the log.

    ``method``: ``model`` (summarised by the model), ``mechanical`` (list of tools and files), ``window`` (oldest exchanges
    left out), ``none`` (nothing could be gained). ``summary`` and the ``changed`` messages are new; all others are as they were.
    """

    method: Literal["model", "mechanical", "window", "none"]
    before_messages: int
    after_messages: int
    before_tokens: int
    after_tokens: int
    summary: Message | None = None
    changed: tuple[Message, ...] = ()
    history: tuple[str, ...] = ()
    why: str = ""
    duration: float = 0.0


class Repair(Event, tag="repair"):
    """The API copy of the history was mended before a request."""

    merged: int = 0
    dropped: int = 0
    answered: int = 0


class Stall(Event, tag="stall"):
    kind: Literal["same_call", "cycle", "same_reply"]
    count: int
    action: Literal["warn", "ask", "stop"]
    what: str = ""
    message: Message | None = None


class Checkpoint(Event, tag="checkpoint"):
    id: str
    step: int = 0
    files: tuple[str, ...] = ()


class Rewind(Event, tag="rewind"):
    """Conversation and/or files went back to the state after event ``to_seq``. The model's history becomes the messages with
    the ids in ``history``; those that it no longer held (compaction) are in ``restored``. Nothing leaves the log."""

    to_seq: int
    conversation: bool = True
    files: bool = False
    undo: str = ""
    history: tuple[str, ...] = ()
    restored: tuple[Message, ...] = ()


class Evaluation(Event, tag="evaluation"):
    """One self-evaluation; ``error`` set: the evaluation call itself failed, which is a note only.

    ``message`` (full mode, not passed) is the correction request that joins the history.
    """

    attempt: int
    passed: bool
    completed: bool = False
    confidence: float = 0.0
    issues: tuple[str, ...] = ()
    suggestion: str = ""
    error: str = ""
    message: Message | None = None
    best: str = ""
    """Id of the message that is the best attempt so far."""


class Advisor(Event, tag="advisor"):
    """A reference model's draft (Mixture of Agents); ``error`` set: it failed and becomes a note."""

    model: str
    text: str = ""
    error: str = ""
    duration: float = 0.0
    for_step: int = 0


class Memory(Event, tag="memory"):
    action: Literal["recalled", "remembered", "forgot"]
    count: int = 0
    text: str = ""


class ModeChanged(Event, tag="mode_changed"):
    mode: Mode | None = None
    confirm: ConfirmMode | None = None


class ModelChanged(Event, tag="model_changed"):
    """``model`` is a litellm name or alias."""

    model: str
    window: int = 0
    prices: tuple[float, float] | None = None
    system: str = ""
    why: str = ""
    by: Literal["person", "engine"] = "person"


class LimitChanged(Event, tag="limit_changed"):
    """A person set a limit for this session (``/budget``); ``value`` None: no limit."""

    limit: Limit
    value: float | None


class Notice(Event, tag="notice"):
    """Something a person should know that is no other event; ``hint`` is what to do now."""

    level: Literal["info", "warning", "error"]
    text: str
    hint: str = ""
    detail: str = ""


class Unknown(Event, tag="unknown"):
    """An event of a type this version does not know; ``raw`` is its line."""

    name: str
    raw: dict[str, Any] = {}


AnyEvent = (
    Ready | SessionStart | SessionRenamed | SessionEnd | AgentStart | AgentEnd | TurnStart | TurnEnd
    | MessageStart | MessageUpdate | MessageEnd
    | ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd | HookStart | HookEnd
    | ApprovalRequested | ApprovalResolved | QuestionAsked | QuestionAnswered
    | SteeringQueued | SteeringEdited | SteeringDelivered | FollowUpQueued | FollowUpDelivered | InterruptRequested
    | Usage | Context | LimitWarning | GuardTripped | LimitExtended | Closing | Nudge | Retry | RetryCut | Fallback | PhaseChanged
    | Compaction | Repair | Stall | Checkpoint | Rewind | Evaluation | Advisor | Memory
    | ModeChanged | ModelChanged | LimitChanged | Notice | Unknown
)  # fmt: skip

EVENT_TYPES: dict[str, type[Event]] = {str(kind.__struct_config__.tag): kind for kind in AnyEvent.__args__}
"""Every event type by its name on the wire."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyEvent)
_any = msgspec.json.Decoder(dict[str, Any])


def encode(event: Event) -> bytes:
    """One line without its newline; an unknown event is written back as it came."""
    if isinstance(event, Unknown):
        return _encoder.encode({**event.raw, "seq": event.seq, "ts": event.ts, "type": event.name})
    return _encoder.encode(event)


def decode(line: bytes | str) -> AnyEvent:
    """Parse one line. A type or value this version does not know becomes ``Unknown``; raises ``ValueError`` if it is no JSON object."""
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        try:
            raw = _any.decode(line)
        except msgspec.MsgspecError as error:
            raise ValueError(f"not an event: {error}") from error
        seq, ts = raw.get("seq", 0), raw.get("ts", 0.0)
        return Unknown(
            seq=seq if isinstance(seq, int) else 0,
            ts=float(ts) if isinstance(ts, int | float) else 0.0,
            name=str(raw.get("type", "")),
            raw=raw,
        )
    except msgspec.DecodeError as error:
        raise ValueError(f"not an event: {error}") from error
