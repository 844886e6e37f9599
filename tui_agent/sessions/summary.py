"""What a list of sessions says about each: a small fold over its log, that can go on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from tui_agent.core import events as ev
from tui_agent.core.events import SessionKind, decode
from tui_agent.core.messages import Message
from tui_agent.core.tool import Diff

TITLE_CHARS = 80
TEXT_CHARS = 20_000
"""What of one message is searchable."""

Outcome = Literal["new", "running", "success", "partial", "failed"]
"""``new``: nothing was asked yet."""


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One session as a list shows it. Times are Unix seconds, ``size`` bytes, ``cost`` USD (None: some price is unknown).

    ``live``: a process is writing it now. ``cut``: its last run has no end (a crash); its ``status`` is then partial.
    ``asked`` is the first thing the person said.
    """

    id: str
    path: Path
    title: str
    started: float
    updated: float
    status: Outcome
    stop_reason: str
    steps: int
    cost: float | None
    added: int
    removed: int
    files: tuple[str, ...]
    model: str
    kind: SessionKind
    parent: str
    parent_seq: int
    cwd: str
    branch: str
    size: int
    live: bool
    cut: bool
    untrusted: bool
    asked: str


class Found(msgspec.Struct, frozen=True):
    """A text worth finding again: who said it (user or assistant) in which event."""

    seq: int
    who: str
    text: str


class Fold(msgspec.Struct):
    """The state of the fold after ``offset`` bytes of the file; stored in the index."""

    offset: int = 0
    id: str = ""
    title: str = ""
    asked: str = ""
    started: float = 0.0
    updated: float = 0.0
    status: Outcome = "new"
    stop_reason: str = ""
    steps: int = 0
    open_steps: int = 0
    in_run: bool = False
    cost: float = 0.0
    unpriced: bool = False
    added: int = 0
    removed: int = 0
    files: list[str] = []
    model: str = ""
    kind: SessionKind = "interactive"
    parent: str = ""
    parent_seq: int = 0
    cwd: str = ""
    branch: str = ""
    untrusted: bool = False

    def go_on(self, path: Path) -> list[Found]:
        """Take in the whole lines after ``offset``; returns their texts."""
        found: list[Found] = []
        with path.open("rb", 1 << 20) as file:
            file.seek(self.offset)
            for line in _whole_lines(file):
                self.offset += len(line)
                if _kind(line) not in _SKIPPED:
                    try:
                        event = decode(line)
                    except (ValueError, RecursionError):
                        continue
                    if not isinstance(event, ev.SessionRenamed):  # a title is no reason to go to the top
                        self.updated = event.ts or self.updated
                    found.extend(self._apply(event))
        return found

    def summary(self, path: Path, size: int, *, live: bool) -> SessionSummary:
        """The row for a list; ``id`` and times come from the file where the log says nothing."""
        cut = self.in_run and not live
        asked = self.asked.strip()
        return SessionSummary(
            id=path.stem,
            path=path,
            title=self.title or _first_line(asked),
            started=self.started,
            updated=self.updated,
            status="partial" if cut else self.status,
            stop_reason="" if self.in_run else self.stop_reason,
            steps=self.steps + self.open_steps,
            cost=None if self.unpriced else self.cost,
            added=self.added,
            removed=self.removed,
            files=tuple(self.files),
            model=self.model,
            kind=self.kind,
            parent=self.parent,
            parent_seq=self.parent_seq,
            cwd=self.cwd,
            branch=self.branch,
            size=size,
            live=live,
            cut=cut,
            untrusted=self.untrusted,
            asked=asked,
        )

    def _apply(self, event: ev.AnyEvent) -> Iterator[Found]:
        match event:
            case ev.SessionStart():
                self._start(event)
            case ev.SessionRenamed():
                self.title = event.title
            case ev.AgentStart():
                self.in_run, self.status, self.open_steps, self.model = True, "running", 0, event.model
            case ev.TurnStart():
                self.open_steps += 1
            case ev.AgentEnd():
                self.in_run, self.status, self.stop_reason = False, event.status, event.stop_reason
                self.steps, self.open_steps = self.steps + event.steps, 0
                self._changed(event.files_changed)
            case ev.Usage():
                self.cost += event.cost_usd or 0.0
                self.unpriced = self.unpriced or event.cost_usd is None
            case ev.ToolExecutionEnd():
                self._changed(event.changed)
                self.untrusted = self.untrusted or event.untrusted
                if isinstance(event.display, Diff) and event.status == "ok":
                    self.added += event.display.added
                    self.removed += event.display.removed
            case ev.ModelChanged():
                self.model = event.model
            case ev.Fallback():
                self.model = event.target
            case ev.MessageEnd(purpose="turn" | "close"):
                yield from self._said(event.seq, event.message)
            case ev.SteeringDelivered() | ev.FollowUpDelivered():
                for message in event.messages:
                    yield from self._said(event.seq, message)
            case _:
                pass

    def _start(self, event: ev.SessionStart) -> None:
        self.id, self.kind, self.cwd, self.branch = event.id, event.kind, event.cwd, event.branch
        self.title, self.started, self.model = event.title, event.ts, event.model
        self.parent, self.parent_seq, self.untrusted = event.parent, event.parent_seq, event.untrusted

    def _said(self, seq: int, message: Message) -> Iterator[Found]:
        text = message.text.strip()
        if not text or message.synthetic or message.role not in ("user", "assistant"):
            return
        if message.role == "user" and not self.asked:
            self.asked = text[:2_000]
        yield Found(seq, message.role, text[:TEXT_CHARS])

    def _changed(self, paths: tuple[str, ...]) -> None:
        self.files.extend(path for path in paths if path not in self.files)


_SKIPPED = frozenset(
    {b"message_update", b"tool_execution_update", b"message_start", b"context", b"hook_start", b"notice"}
)
"""Types that say nothing for a list; most lines are of these, and leaving them unparsed makes a fold 3 times as fast."""


def _kind(line: bytes) -> bytes:
    """The type of a line as the log writes it (type first); empty if it begins otherwise."""
    return line[9 : line.find(b'"', 9)] if line.startswith(b'{"type":"') else b""


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    for line in file:
        if not line.endswith(b"\n"):
            return
        yield line


def _first_line(text: str) -> str:
    line = " ".join(text.split("\n", 1)[0].split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"
