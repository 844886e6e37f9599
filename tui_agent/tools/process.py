"""A shell command in a process group of its own: live output, a bounded memory of it, and an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
import codecs
import os
import secrets
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from tui_agent.tools.text import size

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 64 * 1024
"""What is kept in memory of an output; all of a longer one goes to a file."""
MAX_FILE_BYTES = 256 * 1024 * 1024
"""Where the file of a whole output stops growing (``yes`` would fill the disk)."""
LIVE_BURST = 256 * 1024
LIVE_RATE = 64 * 1024
"""Bytes, and bytes a second after them, that go out live; nobody reads faster, and every piece is logged."""
CHUNK_BYTES = 64 * 1024
PIPE_GRACE = 0.3
"""Seconds that a pipe may stay open (a background child has it) after the command itself ended."""
SIGNAL_GRACE = 0.5
"""Seconds between INT, TERM and KILL."""
_PROCESSES = Path("/proc")
POLL = 0.025
"""Seconds between two looks at whether the group is gone; there is no event for that."""


class Outcome(msgspec.Struct, frozen=True):
    """How a command ended. ``code`` is negative for a signal.

    ``held``: something it started still has its output open. ``group`` is its process group if members of it still run.
    """

    code: int
    timed_out: bool = False
    held: bool = False
    group: int = 0


class Capture:
    """Takes a command's output: passes it on live, keeps head and tail, writes a long one to a private file."""

    def __init__(
        self, live: Callable[[str], None], folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total = 0
        self.path: Path | None = None
        self.trouble = ""
        """Why the file doesn't hold everything."""
        self._live, self._folder, self._clock = live, folder, clock
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._file: BinaryIO | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._allowance, self._refilled, self._skipped = float(LIVE_BURST), clock(), 0

    def feed(self, data: bytes) -> None:
        """The next piece of output."""
        before = self.total
        self.total += len(data)
        if before <= HEAD_BYTES + TAIL_BYTES < self.total:
            self._spill()
        if self._file:
            self._store(data)
        self._show(data)
        room = HEAD_BYTES - len(self._head)
        self._head += data[:room]
        rest = data[room:]
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
            while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
                self._tail_bytes -= len(self._tail.popleft())

    def close(self) -> None:
        """No more output comes."""
        last = self._decoder.decode(b"", final=True)
        if last:
            self._live(last)
        if self._file:
            self._file.close()
            self._file = None

    @property
    def parts(self) -> tuple[bytes, int, bytes]:
        """Head, number of bytes left out, tail."""
        tail = b"".join(self._tail)
        if self.total > HEAD_BYTES + TAIL_BYTES:
            tail = tail[-TAIL_BYTES:]
        return bytes(self._head), self.total - len(self._head) - len(tail), tail

    def _spill(self) -> None:
        """Begin the file with what was kept so far, which is everything."""
        path = self._folder / "outputs" / f"{secrets.token_hex(6)}.txt"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self.trouble = f"the whole output could not be kept: {error.strerror}"
            return
        self._file = open(handle, "wb")  # noqa: SIM115
        self.path = path
        self._store(bytes(self._head) + b"".join(self._tail))

    def _store(self, data: bytes) -> None:
        if self.trouble or not self._file:
            return
        if self.total > MAX_FILE_BYTES:
            self.trouble = f"the file ends at {size(MAX_FILE_BYTES)}"
            return
        try:
            self._file.write(data)
        except OSError as error:
            self.trouble = f"the file is not whole: {error.strerror}"

    def _show(self, data: bytes) -> None:
        """Pass on what a person can follow; a flood is shown in samples."""
        now = self._clock()
        self._allowance = min(LIVE_BURST, self._allowance + (now - self._refilled) * LIVE_RATE)
        self._refilled = now
        if self._allowance < len(data):
            self._skipped += len(data)
            return
        self._allowance -= len(data)
        text = self._decoder.decode(data)
        if self._skipped:
            text = f"\n[{size(self._skipped)} not shown]\n{text}"
            self._skipped = 0
        if text:
            self._live(text)


class Pipe:
    """The reading end of a command's output on the event loop."""

    def __init__(self, feed: Callable[[bytes], None]) -> None:
        self._feed = feed
        self._loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._loop.add_reader(self._reading, self._ready)

    def started(self) -> None:
        """The child has its copy of the writing end."""
        os.close(self.writing)
        self.writing = -1

    def leave(self) -> None:
        """Go on reading until the last writer is gone, for nobody."""
        self._feed = _ignore
        if not self.ended.is_set():
            _left.add(self)

    def close(self) -> None:
        if not self.ended.is_set():
            self._loop.remove_reader(self._reading)
            os.close(self._reading)
            self.ended.set()
        if self.writing >= 0:
            self.started()
        _left.discard(self)

    def _ready(self) -> None:
        try:
            data = os.read(self._reading, CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self._feed(data)
        else:
            self.close()


_left: set[Pipe] = set()
"""Pipes that background children keep open; they are read on for nobody, or those children would die of SIGPIPE."""


async def execute(
    argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str], seconds: float, capture: Capture
) -> Outcome:
    """Run a program to its end; stdin is empty, no descriptor is inherited.

    When it ends, the call ends ``PIPE_GRACE`` seconds later at most, whoever still holds its output. On timeout and on
    cancellation its whole process group is ended. ``OSError`` and ``ValueError`` mean that it could not be started.
    """
    pipe = Pipe(capture.feed)
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=pipe.writing, stderr=pipe.writing,
            cwd=cwd, env=dict(environ), start_new_session=True,
        )  # fmt: skip
    except BaseException:
        pipe.close()
        capture.close()
        raise
    pipe.started()
    timed_out = False
    try:
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
        except TimeoutError:
            timed_out = True
            await end_group(process.pid)
        with suppress(TimeoutError):
            async with asyncio.timeout(PIPE_GRACE):
                await pipe.ended.wait()
    except BaseException:
        await end_group(process.pid)
        with suppress(TimeoutError):
            async with asyncio.timeout(SIGNAL_GRACE):
                await process.wait()
        pipe.close()
        raise
    finally:
        pipe.leave()
        capture.close()
    group = process.pid if is_alive(process.pid) else 0
    return Outcome(await process.wait(), timed_out, not pipe.ended.is_set(), group)


async def end_group(group: int) -> None:
    """INT, TERM, KILL to a process group, half a second apart; a cancellation meanwhile kills at once."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if not signal_group(group, number):
                return
            if number == signal.SIGTERM:
                signal_group(group, signal.SIGCONT)
            if await _gone(group, SIGNAL_GRACE):
                return
    except asyncio.CancelledError:
        signal_group(group, signal.SIGKILL)
        raise


def signal_group(group: int, number: int) -> bool:
    """Send a signal (0: none, only look); False if nothing is there any more that can be reached."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def is_alive(group: int) -> bool:
    """Whether a process group has a member that still runs; zombies that nobody collects (containers) don't count."""
    if not signal_group(group, 0):
        return False
    stats = list(_PROCESSES.glob("[0-9]*/stat"))
    return not stats or any(_runs_in(stat, group) for stat in stats)


def _runs_in(stat: Path, group: int) -> bool:
    """Whether this ``/proc/PID/stat`` (``pid (name) state parent group …``) is of a live member of the group."""
    try:
        state, _, of = stat.read_bytes().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return False
    return int(of) == group and state not in {b"Z", b"X"}


async def _gone(group: int, within: float) -> bool:
    """Whether the whole group ends within so many seconds."""
    deadline = time.monotonic() + within
    while is_alive(group):
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL)
    return True


def _ignore(_: bytes) -> None:
    pass
