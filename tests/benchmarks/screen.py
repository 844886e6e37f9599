"""What a person waits for, measured from outside: a real pseudo-terminal, keys written, glyphs seen coming out."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
import tty
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

READY = b"sk for something"  # the cursor stands on the first letter
GLYPHS = [
    chr(code)
    for code in (
        *range(0x0561, 0x0587),
        *range(0x10D0, 0x10F1),
        *range(0x03B1, 0x03CA),
        *range(0x0430, 0x0450),
    )
]
"""Letters that nothing else on the screen has: each is typed once and looked for."""
ROOT = Path(__file__).parents[2]


@dataclass
class Terminal:
    """A program in a pseudo-terminal of 120×40 whose output is only looked at for markers."""

    command: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        tty.setraw(slave)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            **self.environment,
        }
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            self.command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(slave)
        self.bytes = 0
        self._seen = b""

    def write(self, text: str) -> None:
        os.write(self.master, text.encode())

    def wait_for(self, marker: bytes, seconds: float) -> float | None:
        """The time at which ``marker`` came out; what came before is forgotten. None: it did not come."""
        deadline = time.perf_counter() + seconds
        while True:
            at = self._seen.find(marker)
            if at >= 0:
                self._seen = self._seen[at + len(marker) :]
                return time.perf_counter()
            left = deadline - time.perf_counter()
            if left <= 0:
                return None
            self._seen = self._seen[-64:] if len(self._seen) > 1_000_000 else self._seen
            if not self._read(left):
                return None

    def drain(self, seconds: float) -> None:
        """Read for a while."""
        deadline = time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0 and self._read(left):
            pass
        self._seen = self._seen[-64:]

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.bytes += len(data)
        self._seen += data
        return bool(data)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Resident megabytes."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def children(pid: int) -> list[int]:
    """Processes that ``pid`` started (its engine)."""
    found: list[int] = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(status.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(status.parent.name))
    return found


def start_times(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds to the first paint, and until a key typed at that moment is shown."""
    terminal = Terminal(command, environment)
    try:
        painted = terminal.wait_for(READY, 20)
        terminal.write(GLYPHS[0])
        shown = terminal.wait_for(GLYPHS[0].encode(), 20)
        assert painted is not None
        assert shown is not None
        return (painted - terminal.started) * 1000, (shown - terminal.started) * 1000
    finally:
        terminal.close()


def echo_times(terminal: Terminal, keys: int, every: float) -> list[float]:
    """Milliseconds from each key to its glyph."""
    times: list[float] = []
    for glyph in GLYPHS[1 : keys + 1]:
        terminal.drain(every)
        pressed = time.perf_counter()
        terminal.write(glyph)
        shown = terminal.wait_for(glyph.encode(), 3)
        times.append((shown - pressed) * 1000 if shown else 3000.0)
    return times


def percentiles(times: list[float]) -> str:
    ordered = sorted(times)
    return f"p50 {statistics.median(ordered):5.1f} ms   p99 {ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]:5.1f} ms"


def rows() -> list[tuple[str, str]]:
    """The section's table."""
    table: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        project = Path(home, "project")
        project.mkdir()
        base = {"TUI_AGENT_HOME": home, "TUI_AGENT_UI__MOUSE": "false"}
        empty = [sys.executable, "-m", "tests.benchmarks.empty"]
        real = [sys.executable, "-m", "tui_agent", "-m", "openai/gpt-5-mini", str(project)]
        table += _starts(empty, real, base)
        table += _streams(project, base)
    return table


def _starts(empty: list[str], real: list[str], base: dict[str, str]) -> list[tuple[str, str]]:
    start_times(empty, base)
    start_times(real, base)  # both have their .pyc files now
    floor, ours = [], []
    for _ in range(5):
        floor.append(start_times(empty, base))
        ours.append(start_times(real, base))
    rows: list[tuple[str, str]] = []
    for at, what in enumerate(("first paint", "input ready (a key is shown)")):
        low, mine = statistics.median(f[at] for f in floor), statistics.median(o[at] for o in ours)
        rows.append((what, f"{mine:.0f} ms, {mine / low:.2f} × an empty Textual app ({low:.0f} ms)"))
    return rows


def _streams(project: Path, base: dict[str, str]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for rate, tokens in ((0, 0), (200, 4_000), (2_000, 20_000)):
        environment = {**base, "BENCH_RATE": str(max(rate, 1)), "BENCH_TOKENS": str(max(tokens, 1))}
        command = [sys.executable, "-m", "tests.benchmarks.app", str(project), *(["go"] if rate else [])]
        terminal = Terminal(command, environment)
        try:
            terminal.wait_for(READY, 20)
            terminal.drain(1.5)
            seconds = tokens / rate if rate else 8.0
            keys = min(len(GLYPHS) - 1, int(seconds * 0.85 / 0.08))
            times = echo_times(terminal, keys, 0.07)
            name = f"key to screen, {rate:,} tokens/s" if rate else "key to screen, idle"
            rows.append((name, f"{percentiles(times)}   ({len(times)} keys)"))
            if rate == 2_000:
                terminal.drain(4)
                rows += _cost(terminal, tokens)
        finally:
            terminal.close()
    return rows


def _cost(terminal: Terminal, tokens: int) -> list[tuple[str, str]]:
    pid = terminal.process.pid
    engine = next(iter(children(pid)), 0)
    rows = [
        (f"CPU for {tokens:,} streamed tokens, screen", f"{cpu_seconds(pid):.1f} s (start and keys included)")
    ]
    if engine:
        rows.append((f"CPU for {tokens:,} streamed tokens, engine", f"{cpu_seconds(engine):.1f} s"))
    rows.append(("memory after it, screen", f"{memory(pid):.0f} MB"))
    if engine:
        rows.append(("memory after it, engine (without litellm)", f"{memory(engine):.0f} MB"))
    rows.append(("bytes written to the terminal", f"{terminal.bytes / 1e6:.1f} MB"))
    return rows
