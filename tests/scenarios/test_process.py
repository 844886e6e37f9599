"""The engine as a process: what goes over its two pipes, how it ends, and what is in the log afterwards."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from tests.fakes.processes import running
from tests.fakes.scripted_engine import script
from tui_agent.config.paths import Paths
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.errors import EngineGone
from tui_agent.engine.launch import Launch
from tui_agent.engine.process import EngineProcess
from tui_agent.llm.scripted import Turn
from tui_agent.sessions.log import read

ROOT = Path(__file__).resolve().parents[2]
MODULE = "tests.fakes.scripted_engine"
PATIENCE = 40.0
"""Seconds that a test waits in vain on a busy machine."""
YOLO = {"permissions.mode": "yolo", "model": "openai/fake"}

LOOK = """
import os
for number in range(3, 200):
    try:
        os.fstat(number)
    except OSError:
        continue
    print("open:", number)
print("looked")
"""

E = TypeVar("E", bound=ev.Event)


@pytest.fixture(autouse=True)
def path_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child finds the package of the tests as well."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], str(ROOT)]))


class Client:
    """Someone at the other end of the pipes, who remembers what came."""

    def __init__(self, engine: EngineProcess) -> None:
        self.engine = engine
        self.seen: list[ev.AnyEvent] = []
        self._news = asyncio.Event()
        self._ended = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for event in self.engine.events():
            self.seen.append(event)
            self._news.set()
        self._news.set()

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.seen if isinstance(event, kind)]

    async def first(self, kind: type[E], like: Callable[[E], object] = lambda _: True) -> E:
        """The first event of a type that is like this, once it has come."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for event in self.all(kind):
                    if like(event):
                        return event
                assert not self._ended.done(), f"no {kind.__name__}: {self.engine.failure}, {self.seen[-3:]}"
                self._news.clear()
                await self._news.wait()

    async def end(self) -> str:
        """Wait until nothing can come any more; why, if nobody asked for it."""
        async with asyncio.timeout(PATIENCE):
            await self._ended
        return self.engine.failure

    def send(self, *given: cmd.Command) -> None:
        for command in given:
            self.engine.send(command)


@asynccontextmanager
async def engine(launch: Launch | None = None, module: str = MODULE) -> AsyncGenerator[Client]:
    client = Client(await EngineProcess.start(launch or Launch(cwd=str(Path.cwd()), overrides=YOLO), module))
    try:
        yield client
    finally:
        await client.engine.stop()
        await client.end()


def logged(ready: ev.Ready) -> list[ev.AnyEvent]:
    return list(read(Path(ready.path)))


def of(events: list[ev.AnyEvent], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def pieces(ready: ev.Ready) -> list[ev.MessageUpdate]:
    """What of streamed messages is on disk; the screen is up to a tenth of a second ahead of it."""
    return of(logged(ready), ev.MessageUpdate)


def resumed(ready: ev.Ready) -> Launch:
    return Launch(cwd=str(Path.cwd()), resume=ready.path, overrides=YOLO)


LONG = f"sleep 100.{os.getpid()}"
"""A command that takes long, as no other process on the machine calls it."""


@pytest.fixture(autouse=True)
def end_what_nobody_else_could() -> Iterator[None]:
    """An engine that is killed can't end what it started."""
    yield
    for pid in running(LONG):
        os.kill(pid, signal.SIGKILL)


def waiting() -> Turn:
    """A turn with a command that takes long."""
    return Turn("I wait.", calls=(("run_command", {"command": f"echo begun; {LONG}"}),))


async def test_ready_comes_first_then_everything_that_is_logged_and_stop_is_orderly() -> None:
    async with engine() as client:
        ready = await client.first(ev.Ready)
        assert client.seen[0] is ready
        assert (ready.last_seq, ready.model, ready.pid) == (1, "openai/fake", client.engine.pid)
        assert "run_command" in ready.tools
        client.send(cmd.Prompt(text=script(Turn("Hello there."))))
        end = await client.first(ev.AgentEnd)
        assert (end.stop_reason, end.final_output) == ("llm_done", "Hello there.")
        await client.engine.stop()
        assert await client.end() == ""
        with pytest.raises(EngineGone):
            client.send(cmd.Prompt(text="too late"))
    log = logged(ready)
    facts = [event for event in log if not isinstance(event, ev.MessageUpdate | ev.ToolExecutionUpdate)]
    assert [event for event in client.seen if event.seq] == facts
    assert isinstance(log[-1], ev.SessionEnd)
    words = "".join(event.text for event in of(client.seen, ev.MessageUpdate) if event.delta == "text")
    assert words == "Hello there."


async def test_what_is_said_meanwhile_is_delivered_once_and_in_its_place() -> None:
    wait = Turn(calls=(("run_command", {"command": "while [ ! -e go ]; do sleep 0.02; done"}),))
    async with engine() as client:
        client.send(cmd.Prompt(text=script(wait, Turn("one"))))
        await client.first(ev.ToolExecutionStart)
        client.send(cmd.Steer(text="steered"), cmd.Steer(text="dropped"), cmd.Queue(text="followed"))
        dropped = await client.first(ev.SteeringQueued, lambda event: event.text == "dropped")
        await client.first(ev.FollowUpQueued)
        client.send(cmd.DropQueued(id=dropped.id))
        with open("go", "w"):  # noqa: ASYNC230 - a file of no bytes
            pass
        end = await client.first(ev.AgentEnd)
        ready = await client.first(ev.Ready)
    assert end.status == "success"
    delivered = [
        (type(event).__name__, message.text)
        for event in logged(ready)
        if isinstance(event, ev.SteeringDelivered | ev.FollowUpDelivered)
        for message in event.messages
    ]
    assert delivered == [("SteeringDelivered", "steered"), ("FollowUpDelivered", "followed")]


async def test_it_interrupts_saves_and_leaves_when_the_pipe_closes() -> None:
    client = Client(await EngineProcess.start(Launch(cwd=str(Path.cwd()), overrides=YOLO), MODULE))
    ready = await client.first(ev.Ready)
    client.send(cmd.Prompt(text=script(waiting())))
    await client.first(ev.ToolExecutionUpdate)
    client.engine._writer.abort()
    await client.end()
    log = logged(ready)
    (end,), (call,) = of(log, ev.AgentEnd), of(log, ev.ToolExecutionEnd)
    assert (end.stop_reason, call.status) == ("user_interrupt", "interrupted")
    assert isinstance(log[-1], ev.SessionEnd)
    assert "begun" in call.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_makes_it_save_and_leave(number: signal.Signals) -> None:
    async with engine() as client:
        ready = await client.first(ev.Ready)
        client.send(cmd.Prompt(text=script(Turn("word " * 500))))
        await client.first(ev.MessageUpdate)
        os.kill(client.engine.pid, number)
        assert await client.end() == "the engine ended without being asked to"
    log = logged(ready)
    (end,) = of(log, ev.AgentEnd)
    assert end.stop_reason == "user_interrupt"
    assert of(log, ev.MessageEnd)[-1].message.interrupted
    assert isinstance(log[-1], ev.SessionEnd)


async def test_killed_anywhere_it_goes_on_with_nothing_lost() -> None:
    async with engine() as client:
        ready = await client.first(ev.Ready)
        client.send(cmd.Prompt(text=script(Turn("First words."), waiting())))
        await client.first(ev.AgentEnd)
        client.send(cmd.Prompt(text=script(waiting())))
        await client.first(ev.ToolExecutionUpdate)
        client.send(cmd.Steer(text="remember this"))
        await client.first(ev.SteeringQueued)
        os.kill(client.engine.pid, signal.SIGKILL)
        assert (await client.end()).startswith("the engine was killed by SIGKILL")
        seen = [event for event in client.seen if event.seq]
    assert logged(ready)[-1].seq >= seen[-1].seq, "something was shown that is not in the log"

    async with engine(resumed(ready)) as client:
        again = await client.first(ev.Ready)
        assert (again.session_id, again.last_seq) == (ready.session_id, logged_before(again))
        end = await client.first(ev.AgentEnd)
        assert (end.stop_reason, end.returned) == ("user_interrupt", ("remember this",))
        (call,) = client.all(ev.ToolExecutionEnd)
        assert call.status == "interrupted"
        assert "outcome unknown" in call.text
        client.send(cmd.Prompt(text=script(Turn("word " * 500))))
        await client.first(
            ev.MessageUpdate, lambda _: any(piece.text.startswith("word") for piece in pieces(ready))
        )
        os.kill(client.engine.pid, signal.SIGKILL)
        await client.end()

    async with engine(resumed(ready)) as client:
        await client.first(ev.AgentEnd)
        client.send(cmd.Prompt(text="what now?"))
        end = await client.first(ev.AgentEnd, lambda event: event.stop_reason == "llm_done")
        assert end.final_output == "You said: what now?"
    log = logged(ready)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert len(of(log, ev.AgentStart)) == len(of(log, ev.AgentEnd)) == 4
    partial = next(end.message for end in of(log, ev.MessageEnd) if end.message.interrupted)
    assert partial.text.startswith("word")


def logged_before(ready: ev.Ready) -> int:
    """Number of the last event that the log had when the engine opened it."""
    return next(event.seq for event in reversed(logged(ready)) if event.seq <= ready.last_seq)


async def test_lines_that_are_no_commands_are_passed_over_and_long_ones_arrive_whole() -> None:
    text = "ä€😀 " * 150_000
    async with engine() as client:
        client.engine._writer.write(b'garbage\n{"cmd":"unheard of"}\n{"cmd":"prompt"}\n\xff\xfe\n\n')
        client.send(cmd.Prompt(text=text))
        end = await client.first(ev.AgentEnd)
        assert end.status == "success"
        said = await client.first(ev.MessageEnd)
        assert said.message.text == text


async def test_what_it_starts_inherits_nothing_and_what_it_prints_goes_to_a_file() -> None:
    command = f"{sys.executable} -c {shlex.quote(LOOK)}"
    turn = Turn(calls=(("run_command", {"command": command}),))
    async with engine() as client:
        client.send(cmd.Prompt(text=script(turn, Turn("Done."))))
        end = await client.first(ev.ToolExecutionEnd)
        await client.first(ev.AgentEnd)
    assert "looked" in end.text
    assert "open" not in end.text, end.text
    printed = (Paths.from_environ().state_dir / "engine.log").read_text()
    assert "libraries print" in printed


async def test_a_mistake_in_the_configuration_is_said_and_ends_with_3() -> None:
    Paths.from_environ().config_dir.mkdir(parents=True)
    Paths.from_environ().config_file.write_text("limits: {max_stepz: 1}\n")
    async with engine() as client:
        notice = await client.first(ev.Notice)
        assert "max_steps" in notice.text
        assert "config.yaml:1" in notice.text
        assert notice.hint
        assert "ended with code 3" in await client.end()


async def test_a_session_belongs_to_one_engine_at_a_time() -> None:
    async with engine() as client:
        ready = await client.first(ev.Ready)
        client.send(cmd.Prompt(text=script(Turn("Mine."))))
        await client.first(ev.AgentEnd)
        async with engine(resumed(ready)) as second:
            notice = await second.first(ev.Notice)
            assert notice.level == "error"
            assert await second.end()
        client.send(cmd.Prompt(text="still mine?"))
        await client.first(ev.AgentEnd, lambda event: event.final_output == "You said: still mine?")


async def test_an_engine_that_cannot_start_leaves_its_last_words() -> None:
    async with engine(module="tests.fakes.no_such_engine") as client:
        failure = await client.end()
    assert "ended with code 1" in failure
    assert "no_such_engine" in failure


async def test_interrupting_a_stream_twice_in_a_row_ends_it_once() -> None:
    async with engine() as client:
        client.send(cmd.Prompt(text=script(Turn("word " * 5000))))
        await client.first(ev.MessageUpdate)
        client.send(cmd.Interrupt(now=True), cmd.Interrupt(), cmd.Interrupt(now=True))
        end = await client.first(ev.AgentEnd)
        client.send(cmd.Prompt(text="and?"))
        await client.first(ev.AgentEnd, lambda event: event.stop_reason == "llm_done")
    assert end.stop_reason == "user_interrupt"
    assert len(client.all(ev.AgentEnd)) == 2
