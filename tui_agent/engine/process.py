"""The engine as a process of its own: the child's main, the JSON-lines pipe, and the client that the UI holds.

Commands come in and events go out on two pipes that nothing started by the engine inherits. The child's standard output
and error go to a file, because libraries print. When the command pipe closes (the UI has gone, however), the engine
interrupts what runs, saves and leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.config.paths import Paths
from tui_agent.core import commands, events
from tui_agent.core.commands import Command
from tui_agent.core.errors import AgentError, ConfigError, EngineGone
from tui_agent.core.events import AnyEvent, Event, Notice, Ready
from tui_agent.engine import launch as launching
from tui_agent.engine.launch import Launch

if TYPE_CHECKING:
    from tui_agent.engine.assemble import Session
    from tui_agent.llm.api import Model

MODULE = "tui_agent.engine.process"
STOP_SECONDS = 6.0
"""How long the engine may take to save and leave before it is killed."""
LAST_WORDS = 2000
"""Bytes of the engine's error file that a failure shows."""


# ---- the UI's side


class EngineProcess:
    """A running engine. ``events`` ends when it has gone; ``failure`` then says why, empty after an orderly end."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        writer: asyncio.WriteTransport,
        reader: asyncio.StreamReader,
        errors: Path,
        errors_from: int,
    ) -> None:
        self._process, self._writer, self._reader = process, writer, reader
        self._errors, self._errors_from = errors, errors_from
        self._stopping = False
        self.failure = ""

    @classmethod
    async def start(cls, launch: Launch, module: str = MODULE) -> EngineProcess:
        """Start an engine (``module`` is run as the child); raises ``EngineGone`` if the process can't be made."""
        command_read, command_write = os.pipe()
        event_read, event_write = os.pipe()
        errors = Paths.from_environ().state_dir / "engine.log"
        try:
            errors.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(errors, "ab", opener=_private) as sink:  # noqa: ASYNC230 - Path.open takes no opener
                errors_from = sink.tell()  # before the child can write a word
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", module, str(command_read), str(event_write),
                    pass_fds=(command_read, event_write), stdin=asyncio.subprocess.DEVNULL, stdout=sink, stderr=sink,
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            os.close(command_write)
            os.close(event_read)
            raise EngineGone(f"the engine could not be started: {error}") from error
        finally:
            os.close(command_read)
            os.close(event_write)
        writer, reader = await _connect(command_write, event_read)
        engine = cls(process, writer, reader, errors, errors_from)
        writer.write(launching.encode(launch) + b"\n")
        return engine

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, command: Command) -> None:
        """Hand over a command; raises ``EngineGone`` once the engine is known to have gone."""
        if self._writer.is_closing():
            raise EngineGone(self.failure or "the engine has ended")
        self._writer.write(commands.encode(command) + b"\n")

    async def events(self) -> AsyncIterator[AnyEvent]:
        """Everything the engine says, until it has gone."""
        async for line in _lines(self._reader):
            with contextlib.suppress(ValueError):
                yield events.decode(line)
        code = await self._process.wait()
        if not self._stopping and code != 0:
            self.failure = self._why(code)
        elif not self._stopping:
            self.failure = "the engine ended without being asked to"
        self._writer.close()

    async def stop(self) -> None:
        """Ask the engine to save and leave; kill it if it doesn't."""
        self._stopping = True
        if not self._writer.is_closing():
            self._writer.write(commands.encode(commands.Shutdown()) + b"\n")
            self._writer.close()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    def _why(self, code: int) -> str:
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        words = self._last_words()
        return f"the engine {how}" + (f": {words}" if words else "")

    def _last_words(self) -> str:
        """The last line that this engine wrote to its error file."""
        try:
            with self._errors.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._errors_from, size - LAST_WORDS))
                lines = file.read().decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1] if lines else ""


async def _connect(write_fd: int, read_fd: int) -> tuple[asyncio.WriteTransport, asyncio.StreamReader]:
    loop = asyncio.get_running_loop()
    writer, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(write_fd, "wb", 0))
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", 0))
    return writer, reader


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Lines of any length; what is left unfinished at the end is dropped."""
    rest = b""
    while chunk := await reader.read(1 << 18):
        *lines, tail = chunk.split(b"\n")
        if lines:
            lines[0] = rest + lines[0]
            rest = tail
        else:
            rest += tail
        for line in lines:
            if line:
                yield line


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


# ---- the child's side


def main(model: Model | None = None) -> None:
    """Entry of the child: ``python -m tui_agent.engine.process COMMAND_FD EVENT_FD``; ``model`` replaces the real one."""
    command_fd, event_fd = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (command_fd, event_fd):
        os.set_inheritable(descriptor, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(50_000, 20, 100)
    code = asyncio.run(_serve(command_fd, event_fd, model))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)  # an orderly end would wait for the thread that imports litellm, at times for ever


async def _serve(command_fd: int, event_fd: int, model: Model | None) -> int:
    """Run one session until it is told to stop or nobody listens any more; returns the exit code."""
    writer, reader = await _connect(event_fd, command_fd)

    def send(event: Event) -> None:
        if not writer.is_closing():
            writer.write(events.encode(event) + b"\n")

    lines = _lines(reader)
    first = await anext(lines, None)
    if first is None:
        return 0
    from tui_agent.llm.credentials import redact
    from tui_agent.readers.logfile import JsonFile, pipelines

    try:
        session = _assembled(launching.decode(first), model)
    except AgentError as error:
        hint = "Mend it and start again." if isinstance(error, ConfigError) else ""
        send(Notice(level="error", text=str(error), hint=hint))
        await _drained(writer)
        writer.close()
        return 3 if isinstance(error, ConfigError) else 1
    with pipelines([JsonFile(session.loaded.paths.log_file, redact)]):
        return await _converse(session, lines, send, writer)


def _assembled(launch: Launch, model: Model | None) -> Session:
    from tui_agent.engine.assemble import assemble

    return assemble(launch, model=model)


async def _converse(
    session: Session,
    lines: AsyncIterator[bytes],
    send: Callable[[Event], None],
    writer: asyncio.WriteTransport,
) -> int:
    agent, mailbox = session.agent, session.mailbox
    agent.readers.append(send)
    last_seq = agent.state.seq
    send(
        Ready(
            session_id=agent.state.id, path=str(session.path), model=agent.state.model, last_seq=last_seq, pid=os.getpid(),
            window=agent.state.window, tools=agent.tool_names(), demo=agent.kit.demo,
        )
    )  # fmt: skip
    if session.start is not None:
        send(session.start)
    for warning in session.warnings:
        send(Notice(level="warning", text=warning))
    agent.recover()
    session.preload()
    loop = asyncio.get_running_loop()
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ending.set)
    gc.freeze()
    listening = asyncio.create_task(_listen(session, lines))
    stopped = asyncio.create_task(ending.wait())
    await asyncio.wait({listening, stopped}, return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    stopped.cancel()
    await mailbox.shutdown()
    await _drained(writer)
    writer.close()
    return 0


async def _drained(writer: asyncio.WriteTransport) -> None:
    """Wait, within reason, until the UI has read everything."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2):
            while writer.get_write_buffer_size():  # noqa: ASYNC110 - a pipe transport has no other way to ask
                await asyncio.sleep(0.01)


async def _listen(session: Session, lines: AsyncIterator[bytes]) -> None:
    """Take commands until the pipe closes or a shutdown comes."""
    async for line in lines:
        try:
            command = commands.decode(line)
        except ValueError as error:
            session.agent.log_error("command", error)
            continue
        if isinstance(command, commands.Shutdown):
            return
        session.mailbox.handle(command)


if __name__ == "__main__":
    main()
