"""The real program in a pseudo-terminal, as a person meets it: what it writes goes through a terminal emulator.

    with Terminal("--demo", columns=100, rows=30) as terminal:
        terminal.wait_for("done")
        terminal.send("hello\\r")

Nothing here sleeps: a thread reads whatever the program writes, with the time, and ``wait_for`` looks again at each
new piece. Everything a test waits for in vain is an assertion that shows the screen.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyte

from tests.fakes.processes import descendants
from tui_agent.config.paths import Paths
from tui_agent.core.events import AnyEvent, Event
from tui_agent.sessions.log import read

PATIENCE = 40.0
"""Seconds that a test waits in vain: generous, because the machine may be busy; nothing good takes as long."""

GLANCE = 0.05
"""Seconds between two looks at something that is not on the screen (a file, a process)."""

REST = 0.8
"""Seconds without a key after which the next one may answer a card (the program asks for 0.5)."""

_FOREIGN = re.compile(rb"\x1b\[[<=>][0-9;:]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b\[\?u")
"""Sequences that the emulator would print instead of ignoring: keyboard protocol, queries."""
_UNFINISHED = re.compile(rb"\x1b(\[[0-9;:<=>?$]*)?$")
_OTHER_SCREEN = re.compile(rb"(\x1b\[\?1049[hl])")
_PRIVATE_MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")

ENGINE = "tui_agent.engine.process"
"""In the command line of the engine."""

MARK = b"\x1b]7;all read\x07"
"""What ``wait_exit`` writes into the line behind the program's last output."""

_STARTER = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Makes the pseudo-terminal the controlling terminal of the new session, then becomes the program."""

KEYS = {
    "enter": "\r", "escape": "\x1b", "tab": "\t", "backspace": "\x7f", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C",
    "left": "\x1b[D", "shift+left": "\x1b[1;2D", "ctrl+c": "\x03", "ctrl+d": "\x04", "ctrl+q": "\x11", "f1": "\x1bOP", "f4": "\x1bOS",
    "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "space": " ",
}  # fmt: skip
"""Key names to the bytes a terminal sends."""


class Terminal:
    """A pseudo-terminal with the program running in it."""

    def __init__(
        self,
        *arguments: str,
        columns: int = 100,
        rows: int = 30,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        program: tuple[str, ...] = ("-m", "tui_agent"),
    ) -> None:
        self.columns, self.rows = columns, rows
        self._arguments, self._program, self._cwd = arguments, program, cwd
        self.env = {**os.environ, "TMPDIR": os.environ["HOME"], **(env or {})}
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._unfinished = b""
        self.pieces: list[tuple[float, bytes]] = []
        """What the program wrote, piece by piece, with ``time.monotonic()``."""
        self._fed = 0
        self._news = threading.Condition()
        self._ended = False
        self.modes: set[int] = set()
        """Private modes that are on: 1049 other screen, 25 cursor shown, 1000 and so on mouse, 2004 paste."""

    # ---- life

    def __enter__(self) -> Self:
        self._outer, self.inner = os.openpty()
        self._bell = os.pipe()
        self.resize(self.columns, self.rows, tell=False)
        self.settings = termios.tcgetattr(self.inner)
        """The line's settings before the program came."""
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _STARTER, *self._program, *self._arguments],
            stdin=self.inner, stdout=self.inner, stderr=self.inner, env=self.env, cwd=self._cwd, start_new_session=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in [*self.descendants(), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.inner)
        self.hang_up()

    def hang_up(self) -> None:
        """Close the terminal, as when its window is closed."""
        if self._reader.is_alive():
            os.write(self._bell[1], b"!")
            self._reader.join()
        if self._outer >= 0:
            os.close(self._outer)
            os.close(self._bell[0])
            os.close(self._bell[1])
            self._outer = -1

    def _read(self) -> None:
        while True:
            try:
                ready, _, _ = select.select([self._outer, self._bell[0]], [], [])
                data = b"" if self._bell[0] in ready else os.read(self._outer, 1 << 16)
            except OSError as error:
                if error.errno != errno.EIO:  # the last one on the other side has gone
                    raise
                data = b""
            with self._news:
                if data:
                    self.pieces.append((time.monotonic(), data))
                self._ended = not data
                self._news.notify_all()
            if not data:
                return

    # ---- what is seen

    @property
    def raw(self) -> bytes:
        """Every byte that the program wrote."""
        with self._news:
            return b"".join(data for _, data in self.pieces)

    @property
    def text(self) -> str:
        """The screen's text, lines without the blanks at their ends."""
        self._feed()
        return "\n".join(line.rstrip() for line in self.screen.display)

    def line(self, words: str) -> str:
        """The first line of the screen that holds ``words``."""
        return next((line for line in self.text.splitlines() if words in line), "")

    def picture(self) -> str:
        """The screen in a frame, for people who read a failure."""
        edge = "+" + "-" * self.columns + "+"
        self._feed()
        return "\n".join([edge, *(f"|{line}|" for line in self.screen.display), edge])

    def _feed(self) -> None:
        with self._news:
            new, self._fed = self.pieces[self._fed :], len(self.pieces)
        if not new:
            return
        data = self._unfinished + b"".join(piece for _, piece in new)
        cut = _UNFINISHED.search(data)
        data, self._unfinished = (data[: cut.start()], data[cut.start() :]) if cut else (data, b"")
        for part in _OTHER_SCREEN.split(data):
            if part.startswith(b"\x1b[?1049"):
                self.screen.reset()  # the emulator has one screen only: what a person had before is blank here
            for numbers, how in _PRIVATE_MODE.findall(part):
                for number in map(int, numbers.split(b";")):
                    (self.modes.add if how == b"h" else self.modes.discard)(number)
            self._stream.feed(_FOREIGN.sub(b"", part))

    # ---- waiting

    def wait_for(self, what: str | Callable[[], Any], timeout: float = PATIENCE) -> Any:
        """Wait until the screen holds a text, or until a condition holds (its value is returned)."""
        end = time.monotonic() + timeout
        while True:
            found = what in self.text if isinstance(what, str) else what()
            if found:
                return found
            with self._news:
                if self._fed == len(self.pieces):
                    if self._ended and isinstance(what, str):
                        break
                    self._news.wait(GLANCE)
            if time.monotonic() > end:
                break
        raise AssertionError(self._complaint(what))

    def wait_gone(self, words: str, timeout: float = PATIENCE) -> None:
        """Wait until the screen no longer holds a text."""
        self.wait_for(lambda: words not in self.text, timeout)

    def wait_exit(self, timeout: float = PATIENCE) -> int:
        """Wait until the program has left and all its output is read; returns its exit code."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(self._complaint("the program's end")) from None
        self._drain()
        return code

    def _drain(self) -> None:
        """Have everything read that was written so far: our own mark comes through the line after it."""
        os.write(self.inner, MARK)
        with self._news:
            came = self._news.wait_for(
                lambda: b"".join(data for _, data in self.pieces[-4:]).endswith(MARK), PATIENCE
            )
        assert came, self._complaint("the last output")

    def _complaint(self, what: object) -> str:
        words = repr(what) if isinstance(what, str) else getattr(what, "__doc__", None) or "a condition"
        code = self.process.poll()
        life = "still runs" if code is None else f"ended with code {code}"
        return f"waited in vain for {words}; the program {life}. The screen:\n{self.picture()}"

    def expect(self, holds: object, words: str = "something else is on the screen") -> None:
        """Assert something that is so now, showing the screen if it is not."""
        assert holds, f"{words}. The screen:\n{self.picture()}"

    # ---- doing

    def send(self, keys: str) -> float:
        """Type text as it is; returns the time just before (``time.monotonic()``)."""
        now = time.monotonic()
        data = keys.encode()
        while data:
            data = data[os.write(self._outer, data) :]
        return now

    def press(self, *names: str) -> float:
        """Press keys by name, one write each; returns the time just before the last one."""
        at = 0.0
        for name in names:
            at = self.send(KEYS.get(name, name))
        return at

    def pause(self) -> None:
        """Take the hands off the keys for as long as a card wants before it takes one for an answer."""
        end = time.monotonic() + REST
        self.wait_for(lambda: time.monotonic() > end)

    def say(self, text: str) -> None:
        """Type into the composer, see it there, and send it."""
        self.send(text)
        self.wait_for(text[-40:])
        self.press("enter")

    def resize(self, columns: int, rows: int, *, tell: bool = True) -> None:
        """Change the terminal's size, as a window does."""
        fcntl.ioctl(self.inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.columns, self.rows = columns, rows
        if tell:
            self._feed()
            self.screen.resize(rows, columns)
            self.process.send_signal(signal.SIGWINCH)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program alone."""
        self.process.send_signal(number)

    # ---- processes and files

    def kill(self) -> None:
        """Kill the program alone, without a chance to do anything."""
        self.process.kill()
        self.process.wait()

    def descendants(self) -> list[int]:
        """Every process below the program, the engine first."""
        return descendants(self.process.pid)

    def engine(self) -> int:
        """Process id of the engine, once there is one."""
        return self.wait_for(lambda: next(iter(descendants(self.process.pid, ENGINE)), 0))

    def log(self) -> list[AnyEvent]:
        """The events of the newest session in the program's own home."""
        path = newest_log(self.env)
        return list(read(path)) if path else []

    def logged(self, *kinds: type[Event]) -> list[Any]:
        """The events of these types in the newest session."""
        return [event for event in self.log() if isinstance(event, kinds)]


def newest_log(env: Mapping[str, str]) -> Path | None:
    """The log that was written last below this environment's home."""
    files = Paths.from_environ(env).sessions_dir.rglob("*.jsonl")
    return max(files, key=lambda path: path.stat().st_mtime_ns, default=None)
