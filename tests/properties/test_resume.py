"""A log cut anywhere folds, resumes and goes on: every call answered once, every run ended once, every request valid."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.agents import START, Bench, FakeTool, bench, tools
from tui_agent.config.sections import Limits, Permissions
from tui_agent.context.repair import violations
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.engine.state import State
from tui_agent.llm.scripted import Turn
from tui_agent.sessions.log import Log, read

CALLS = st.lists(
    st.sampled_from(
        [
            ("look", {"path": "a"}),
            ("look", {"path": "b"}),
            ("edit", {"path": "c.py"}),
            ("nope", {}),
            ("look", '{"bro'),
        ]
    ),
    max_size=3,
)
TURNS = st.builds(
    Turn,
    text=st.sampled_from(["", "some words here", "# head\n\ntext\n"]),
    reasoning=st.sampled_from(["", "hm, let me think"]),
    calls=CALLS.map(tuple),
    finish=st.sampled_from([None, None, None, "length"]),
    failure=st.sampled_from(
        [
            None,
            None,
            None,
            None,
            Failure("server", "500"),
            Failure("network", "cut"),
            Failure("context_overflow", "long"),
        ]
    ),
    fail_after=st.integers(0, 3),
)
SAID = st.lists(
    st.tuples(st.integers(1, 12), st.sampled_from(["steer", "queue", "interrupt", "now"])), max_size=3
)


def start() -> ev.SessionStart:
    return ev.SessionStart(seq=1, ts=START, version=1, id="s1", kind="headless", cwd="/tmp", model="test/one")


def begin(folder: Path, path: Path, turns: list[Turn], state: State | None = None) -> Bench:
    log = Log.open(path) if state else Log.create(path, start())
    script = iter(turns)
    return bench(
        folder, lambda _: next(script, Turn("the end")), log=log, state=state, permissions=Permissions(mode="yolo"),
        limits=Limits(max_steps=6), registry=[*tools(), FakeTool("slow")],
    )  # fmt: skip


async def play(b: Bench, said: list[tuple[int, str]]) -> None:
    """Run one prompt; things are said when so many events have been logged."""

    def speak(event: ev.Event) -> None:
        for at, what in said:
            if event.seq == at + b.state.runs:
                command: Any = {
                    "steer": cmd.Steer(text="by the way"), "queue": cmd.Queue(text="and then"),
                    "interrupt": cmd.Interrupt(), "now": cmd.Interrupt(now=True),
                }[what]  # fmt: skip
                asyncio.get_running_loop().call_soon(b.mailbox.handle, command)

    b.agent.readers.append(speak)
    b.mailbox.prompt("please")
    await b.mailbox.idle()


def check(events: list[ev.AnyEvent], b: Bench) -> None:
    starts = [event.run for event in events if isinstance(event, ev.AgentStart)]
    ends = Counter(event.run for event in events if isinstance(event, ev.AgentEnd))
    assert ends == Counter(starts), "every run has exactly one end"
    made = [
        call.id
        for e in events
        if isinstance(e, ev.MessageEnd) and e.purpose == "turn"
        for call in e.message.calls
    ]
    answered = Counter(e.call_id for e in events if isinstance(e, ev.ToolExecutionEnd))
    assert answered == Counter(made), "every call is answered exactly once"
    delivered = Counter(
        m.id for e in events if isinstance(e, ev.SteeringDelivered | ev.FollowUpDelivered) for m in e.messages
    )
    assert all(count == 1 for count in delivered.values())
    for request in b.requests:
        assert violations(request.messages) == []


@settings(max_examples=80)
@given(turns=st.lists(TURNS, max_size=7), said=SAID, cut=st.floats(0, 1))
def test_a_log_cut_anywhere_goes_on(turns: list[Turn], said: list[tuple[int, str]], cut: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(cut_and_go_on(Path(folder), turns, said, cut))


async def cut_and_go_on(folder: Path, turns: list[Turn], said: list[tuple[int, str]], cut: float) -> None:
    path = folder / "s.jsonl"
    first = begin(folder, path, turns)
    await play(first, said)
    await first.mailbox.shutdown()
    whole = list(read(path))
    check(whole, first)

    state = State()
    for event in whole:
        state.apply(event)
    assert [m.id for m in state.messages] == [m.id for m in first.state.messages], "the fold is the state"
    assert state.context_used == first.state.context_used

    raw = path.read_bytes()
    least = raw.index(b"\n") + 1
    path.write_bytes(raw[: least + int((len(raw) - least) * cut)])
    resumed = State()
    for event in read(path):
        resumed.apply(event)
    asked = set(resumed.open_calls)
    second = begin(folder, path, [Turn("here I am again")], state=resumed)
    second.agent.recover()
    assert not second.state.open_calls
    assert second.state.run is None
    await play(second, [])
    await second.mailbox.shutdown()
    events = list(read(path))
    check(events, second)
    ran_again = {e.call.id for e in second.events if isinstance(e, ev.ToolExecutionStart)} & asked
    assert not ran_again, "nothing is run again by itself"
    assert second.end.stop_reason == "llm_done"
