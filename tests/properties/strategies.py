"""Random messages and event sequences: hostile ones (any history) and plausible ones (as a run leaves them)."""

from __future__ import annotations

from hypothesis import strategies as st

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
