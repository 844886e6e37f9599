"""Random messages and event sequences: hostile ones (any history) and plausible ones (as a run leaves them)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from tui_agent.core import events as ev
from tui_agent.core.events import EVENT_TYPES, AnyEvent
from tui_agent.core.messages import (
    Call,
    FinishReason,
    Image,
    Message,
    Origin,
    Part,
    Reasoning,
    Result,
    Role,
    Text,
    user,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

words = st.sampled_from(
    ["fix", "the", "retry", "test", "naïve", "日本語", "🎉", "x" * 30, "a\nb", "\x1b[31m", "  "]
)
texts = st.one_of(
    st.sampled_from(["", " ", "\n", "ok", "fix the test", "src/main.py:45: E302", "\x1b]0;owned\x07"]),
    st.lists(words, max_size=6).map(" ".join),
    st.text(max_size=20),
)
"""Short texts: empty ones, blank ones, control characters, lone pieces of Unicode."""

call_ids = st.sampled_from(["c1", "c2", "c3", "c1-2", "call", ""])
"""Few, so that histories clash."""

tool_names = st.sampled_from(
    ["read_file", "edit_file", "run_command", "mcp__git__log", "read file", "", "n" * 80]
)
arguments = st.dictionaries(
    st.sampled_from(["path", "pattern", "command"]), st.one_of(texts, st.integers(), st.none()), max_size=2
)
opaque = st.sampled_from([(), ({"type": "thinking", "signature": "sig"},)])

reasonings = st.builds(Reasoning, text=texts, opaque=opaque)
images = st.builds(Image, media_type=st.just("image/png"), data=st.just(PIXEL))
calls = st.builds(
    Call,
    id=call_ids,
    name=tool_names,
    arguments=arguments,
    raw=st.sampled_from(["", '{"path": "un']),
    opaque=st.sampled_from([{}, {"thought_signature": "s"}]),
)
results = st.builds(
    Result,
    call_id=call_ids,
    name=tool_names,
    text=texts,
    ok=st.booleans(),
    images=st.sampled_from([(), (Image("image/png", PIXEL),)]),
)
parts: st.SearchStrategy[Part] = st.one_of(st.builds(Text, texts), reasonings, images, calls, results)

_ROLES: list[Role] = ["user", "assistant", "tool", "system"]
_ORIGINS: list[Origin] = ["person", "steering", "follow_up", "system", "hook", "sub_agent", "model", "tool"]
_STATUSES: list[ev.ToolStatus] = ["ok", "error", "denied", "interrupted", "not_started"]
_HOOK_ENDS = [
    ev.HookEnd(call_id="", name="lint", path="a.py", status="ok"),
    ev.HookEnd(call_id="", name="lint", path="a.py", status="failed"),
]
_FINISHES: list[FinishReason] = ["stop", "tool_calls", "length", "content_filter", "unknown"]
_KINDS: dict[Role, st.SearchStrategy[Part]] = {
    "user": st.one_of(st.builds(Text, texts), images),
    "assistant": st.one_of(st.builds(Text, texts), reasonings, calls),
    "tool": results,
    "system": st.builds(Text, texts),
}


@st.composite
def messages(draw: st.DrawFn, *, any_part: bool = False) -> Message:
    """One message; with ``any_part`` its parts need not suit its role."""
    role = draw(st.sampled_from(_ROLES))
    return Message(
        id=draw(st.sampled_from(["m1", "m2", "m3", "m4"])),
        role=role,
        parts=tuple(draw(st.lists(parts if any_part else _KINDS[role], max_size=4))),
        origin=draw(st.sampled_from(_ORIGINS)),
        model=draw(st.sampled_from(["", "a/one", "b/two"])),
        interrupted=draw(st.booleans()),
        synthetic=draw(st.booleans()),
        untrusted=draw(st.booleans()),
        finish=draw(st.sampled_from(_FINISHES)),
        tokens=draw(st.integers(0, 50)),
    )


def any_history(max_size: int = 12) -> st.SearchStrategy[list[Message]]:
    """Any list of messages at all: nothing about it need be valid."""
    return st.lists(st.one_of(messages(), messages(any_part=True)), max_size=max_size)


@st.composite
def valid_history(draw: st.DrawFn, *, max_exchanges: int = 10, long_texts: bool = False) -> list[Message]:
    """A history as a run leaves it: it begins with the user, every call is answered right after, and ids are unique."""
    size = st.integers(1, 3000 if long_texts else 30)
    history = [Message("u0", "user", (Text("task " + "w " * draw(size)),))]
    for number in range(draw(st.integers(0, max_exchanges))):
        if number and history[-1].role == "assistant":
            history.append(Message(f"u{number}", "user", (Text(f"then {number}"),)))
        elif number and history[-1].role == "tool" and draw(st.integers(0, 3)) == 0:
            history.append(Message(f"u{number}", "user", (Text(f"rather {number}"),), origin="steering"))
        asked = tuple(
            Call(
                f"c{number}.{n}", draw(st.sampled_from(["read_file", "run_command"])), {"path": f"src/{n}.py"}
            )
            for n in range(draw(st.integers(0, 3)))
        )
        said = (Text(f"step {number}"),) if not asked or draw(st.booleans()) else ()
        history.append(Message(f"a{number}", "assistant", (*said, *asked), origin="model"))
        if asked:
            answers = tuple(
                Result(call.id, call.name, "\n".join(f"line {n}" for n in range(draw(size))))
                for call in asked
            )
            history.append(Message(f"t{number}", "tool", answers, origin="tool"))
    if history[-1].role == "assistant" and draw(st.booleans()):
        history.append(Message("last", "user", (Text("and now?"),)))
    return history


# ---- events


def of_type(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a msgspec type, the unlikely ones included; made from its fields, so that new ones take part at once."""
    match kind:
        case inspect.StructType(cls=cls, fields=fields):
            required = {field.encode_name: of_type(field.type) for field in fields if field.required}
            optional = {field.encode_name: of_type(field.type) for field in fields if not field.required}
            return st.fixed_dictionaries(required, optional=optional).map(lambda values: cls(**values))
        case inspect.UnionType(types=types):
            return st.one_of(*(of_type(each) for each in types))
        case inspect.LiteralType(values=values):
            return st.sampled_from(list(values))
        case inspect.VarTupleType(item_type=item):
            return st.lists(of_type(item), max_size=3).map(tuple)
        case inspect.TupleType(item_types=items):
            return st.tuples(*(of_type(each) for each in items))
        case inspect.DictType():
            return arguments
        case inspect.StrType():
            return texts
        case inspect.IntType():
            return st.integers(0, 1000)
        case inspect.FloatType():
            return st.floats(0, 1e6, allow_nan=False)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case _:
            return st.none()


@cache
def any_event() -> st.SearchStrategy[AnyEvent]:
    """An event of any type with any contents."""
    return st.one_of(
        *(of_type(inspect.type_info(kind)) for kind in EVENT_TYPES.values() if kind is not ev.Unknown)
    )


def any_events(max_size: int = 25) -> st.SearchStrategy[list[AnyEvent]]:
    """Events in no order that makes sense, numbered as a log numbers them."""
    return st.lists(any_event(), max_size=max_size).map(numbered)


def numbered(events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """The events with ``seq`` from 1 and times a quarter of a second apart."""
    return [
        msgspec.structs.replace(event, seq=number, ts=1_767_225_600 + number / 4)
        for number, event in enumerate(events, start=1)
    ]


@st.composite
def sessions(draw: st.DrawFn, *, max_runs: int = 2, max_steps: int = 4) -> list[AnyEvent]:
    """The log of a session as the engine writes it: whole runs of steps with calls, hooks, steering, and one end each."""
    events: list[AnyEvent] = [
        ev.SessionStart(version=ev.FORMAT_VERSION, id="s1", kind="headless", cwd="/p", model="a/one")
    ]
    for run in range(draw(st.integers(1, max_runs))):
        name = f"r{run}"
        events.append(ev.MessageEnd(message=user(f"{name}u", draw(texts) or "task")))
        events.append(
            ev.AgentStart(run=name, model="a/one", limits=ev.RunLimits(), system="You are …", window=1000)
        )
        steps, calls_made = draw(st.integers(1, max_steps)), 0
        for step in range(1, steps + 1):
            number = 0 if step == steps else draw(st.integers(1, 3))
            events += _step(draw, f"{name}.{step}", step, number)
            calls_made += number
        reason: ev.StopReason = draw(st.sampled_from(["llm_done", "max_steps", "user_interrupt"]))
        status: ev.Status = "success" if reason == "llm_done" else "partial"
        events.append(
            ev.AgentEnd(
                run=name, stop_reason=reason, status=status, steps=steps, tool_calls=calls_made, duration=1.0
            )
        )
    return numbered(events)


def _step(draw: st.DrawFn, name: str, step: int, number: int) -> list[AnyEvent]:
    """One model call and the ``number`` tool calls that it asks for, which may end in any order."""
    asked = [Call(f"{name}.c{n}", draw(st.sampled_from(["read_file", "edit_file"]))) for n in range(number)]
    said = (Text(f"step {name}"),) if not asked or draw(st.booleans()) else ()
    message = Message(f"{name}a", "assistant", (*said, *asked), origin="model", model="a/one", tokens=5)
    events: list[AnyEvent] = [
        ev.TurnStart(step=step),
        ev.MessageStart(id=message.id, role="assistant"),
        ev.MessageUpdate(id=message.id, delta="text", text=message.text),
        ev.MessageEnd(message=message),
        ev.Usage(purpose="turn", model="a/one", input=50, output=5, cost_usd=0.001, message_id=message.id),
        *(ev.ToolExecutionStart(call=call, summary=f"{call.id}.py") for call in asked),
    ]
    for call in draw(st.permutations(asked)):
        if call.name == "edit_file":
            events.append(ev.HookStart(call_id=call.id, name="lint", path="a.py"))
            ended = draw(st.sampled_from(_HOOK_ENDS))
            events.append(msgspec.structs.replace(ended, call_id=call.id, output=draw(texts)))
        status = draw(st.sampled_from(_STATUSES))
        changed = ("a.py",) if call.name == "edit_file" and status == "ok" else ()
        end = ev.ToolExecutionEnd(
            call_id=call.id, name=call.name, status=status, text=draw(texts), changed=changed, tokens=3
        )
        events.append(end)
    if asked and draw(st.booleans()):
        events.append(ev.SteeringQueued(id=f"{name}s", text="rather so"))
        delivered = user(f"{name}s", "rather so", origin="steering")
        events.append(ev.SteeringDelivered(messages=(delivered,)))
    events.append(ev.TurnEnd(step=step, tool_calls=number))
    return events
