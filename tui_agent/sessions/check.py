"""Looking a log over: is every line there, and does every run, call and message that began also end?"""

from __future__ import annotations

import stat
from pathlib import Path

from tui_agent.core import events as ev
from tui_agent.core.errors import SessionError
from tui_agent.core.events import FORMAT_VERSION, AnyEvent, decode

MOST = 50
"""Findings that are told one by one."""


def check(path: Path, *, live: bool = False) -> list[str]:
    """What is wrong, a line each. In a log that is ``live`` (being written) an open end is nothing wrong."""
    checker = _Checker()
    try:
        mode = path.stat().st_mode
        with path.open("rb", 1 << 20) as file:
            for number, line in enumerate(file, 1):
                checker.line(number, line, live=live)
    except OSError as error:
        raise SessionError(f"can't read the session file {path}: {error.strerror or error}") from error
    if stat.S_IMODE(mode) & 0o077:
        checker.found.append(f"others can read it: its mode is {stat.S_IMODE(mode):04o}, not 0600")
    checker.end(live=live)
    found = checker.found
    return found if len(found) <= MOST else [*found[:MOST], f"and {len(found) - MOST} more"]


class _Checker:
    """The fold behind ``check``."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._first = True
        self._last_seq = 0
        self._run: tuple[str, int] | None = None
        self._calls: dict[str, tuple[str, int]] = {}

    def line(self, number: int, line: bytes, *, live: bool) -> None:
        try:
            event = decode(line)
        except (ValueError, RecursionError):
            if line.endswith(b"\n"):
                self.found.append(f"line {number}: can't be read ({len(line)} bytes)")
            elif not live:
                self.found.append(
                    f"line {number}: unfinished ({len(line)} bytes); opening the session drops it"
                )
            return
        if self._first:
            self._check_start(event)
            self._first = False
        self._check_seq(number, event.seq)
        self._follow(event)

    def end(self, *, live: bool) -> None:
        """What is still open at the end."""
        if self._first:
            self.found.append("it is empty")
        if live:
            return
        for id, (name, seq) in self._calls.items():
            self.found.append(
                f"event {seq}: the call {name} ({id}) has no end; a resume marks it interrupted"
            )
        if self._run:
            self.found.append(f"event {self._run[1]}: the run {self._run[0]} has no agent_end")

    def _check_start(self, event: AnyEvent) -> None:
        if not isinstance(event, ev.SessionStart):
            self.found.append("line 1: is no session_start")
        elif event.version > FORMAT_VERSION:
            self.found.append(f"line 1: format {event.version} is newer than this program's {FORMAT_VERSION}")

    def _check_seq(self, number: int, seq: int) -> None:
        if seq == self._last_seq:
            self.found.append(f"line {number}: event {seq} is there twice")
        elif seq < self._last_seq:
            self.found.append(f"line {number}: event {seq} comes after event {self._last_seq}")
        elif seq > self._last_seq + 1:
            missing = (
                f"event {seq - 1} is"
                if seq == self._last_seq + 2
                else f"events {self._last_seq + 1} to {seq - 1} are"
            )
            self.found.append(f"line {number}: {missing} missing before it")
        self._last_seq = max(self._last_seq, seq)

    def _follow(self, event: AnyEvent) -> None:
        match event:
            case ev.AgentStart():
                if self._run:
                    self.found.append(f"event {self._run[1]}: the run {self._run[0]} has no agent_end")
                self._run = (event.run, event.seq)
            case ev.AgentEnd():
                if self._run is None:
                    self.found.append(f"event {event.seq}: agent_end without a run")
                self._run = None
            case ev.ToolExecutionStart():
                self._calls[event.call.id] = (event.call.name, event.seq)
            case ev.ToolExecutionEnd():
                self._calls.pop(event.call_id, None)
            case _:
                pass
