"""Where events come from: the running engine, or a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from tui_agent.core.commands import Command
from tui_agent.core.errors import EngineGone
from tui_agent.core.events import Event
from tui_agent.engine.launch import Launch
from tui_agent.engine.process import EngineProcess
from tui_agent.sessions import log


class EventSource(Protocol):
    """A stream of one session's events. ``events`` ends when nothing can come any more; ``failure`` then says why."""

    failure: str

    def history(self) -> Iterable[Event]:
        """What happened before; may read a file, so it is called in a thread."""
        ...

    async def start(self) -> None:
        """Begin; called after the first paint. Raises ``EngineGone``."""
        ...

    def events(self) -> AsyncIterator[Event]:
        """What happens from now on."""
        ...

    def send(self, command: Command) -> None:
        """Ask something of the engine; raises ``EngineGone``."""
        ...

    async def close(self) -> None:
        """Let everything be saved and end; safe to call twice."""
        ...


class LiveSource:
    """The engine process of one session. Events that the log already gave are left out."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.failure = ""
        self._engine: EngineProcess | None = None
        self._seen = 0

    def history(self) -> Iterable[Event]:
        """The session's log, empty for a new session."""
        if not self.launch.resume:
            return
        for event in log.read(Path(self.launch.resume)):
            self._seen = max(self._seen, event.seq)
            yield event

    async def start(self) -> None:
        self._engine = await EngineProcess.start(self.launch)

    async def events(self) -> AsyncIterator[Event]:
        engine = self._engine
        if engine is None:
            return
        async for event in engine.events():
            if event.seq == 0 or event.seq > self._seen:
                yield event
        self.failure = engine.failure

    def send(self, command: Command) -> None:
        if self._engine is None:
            raise EngineGone("the engine is not running")
        self._engine.send(command)

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.stop()


class ScriptedSource:
    """Events handed over one by one (tests, pictures); commands are kept in ``sent``."""

    def __init__(self, past: Sequence[Event] = ()) -> None:
        self.failure = ""
        self.sent: list[Command] = []
        self.started = False
        self._past = past
        self._fed = self._taken = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()

    def history(self) -> Iterable[Event]:
        return self._past

    async def start(self) -> None:
        self.started = True

    async def events(self) -> AsyncIterator[Event]:
        while (event := await self._queue.get()) is not None:
            yield event
            self._taken += 1
            if self._taken == self._fed:
                self._idle.set()

    async def drained(self) -> None:
        """Wait until everything that was fed has been taken in."""
        await self._idle.wait()

    def send(self, command: Command) -> None:
        if self.failure:
            raise EngineGone(self.failure)
        self.sent.append(command)

    async def close(self) -> None:
        self._queue.put_nowait(None)

    def feed(self, *events: Event) -> None:
        """These happen now."""
        for event in events:
            self._fed += 1
            self._idle.clear()
            self._queue.put_nowait(event)

    def end(self, failure: str = "") -> None:
        """The stream ends, with a failure as when the engine dies."""
        self.failure = failure
        self._queue.put_nowait(None)
