"""Watching a session again: the same widgets, fed from its log at any speed, in either direction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult

from tui_agent.core.events import Event
from tui_agent.sessions import log
from tui_agent.ui import words
from tui_agent.ui.actions.group import Table
from tui_agent.ui.actions.reading import ReadingActions
from tui_agent.ui.firstframe import HINTS_IN_GAUGE
from tui_agent.ui.replay import SPEEDS, MarkKind, Timeline
from tui_agent.ui.screens.stage import StageScreen
from tui_agent.ui.widgets.gauge import gauge_line
from tui_agent.ui.widgets.row import Line, Rows, Span

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

FRAME = 1 / 20
"""Seconds between two looks at the clock while it plays."""
SKIP = 5.0
"""Seconds that the arrow keys go."""
BULK = 400
"""From so many events on, the page is set anew instead of event by event."""
STOPS: tuple[MarkKind, ...] = ("person", "edit", "error", "compaction", "end")


class ReplayScreen(StageScreen):
    """Transcript, gauges, plan and changes show the state at the moment of the recording."""

    DEFAULT_CSS = """
    ReplayScreen > #scrubber { height: 2; }
    """

    STOPS = False

    def __init__(self, owner: TuiAgentApp, path: Path, *, speed: float = 1.0, from_seq: int = 0) -> None:
        super().__init__(owner.new_view(), owner)
        self.path = path
        self.line = Timeline([], speed)
        self.scrubber = Rows(owner.palette, id="scrubber")
        self._from_seq = from_seq
        self._shown = 0
        self._last_tick = 0.0
        self.reading = ReadingActions(self)
        self.actions = {**self.reading.table(), **self._table()}

    def compose(self) -> ComposeResult:
        yield from self.compose_top()
        yield self.activity
        yield self.scrubber
        yield self.gauge
        yield self.hints

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._open)

    async def _open(self) -> None:
        recorded = await asyncio.to_thread(self._read)
        self.line = Timeline(recorded, self.line.speed)
        if self._from_seq:
            self.line.go_to(self.line.index_of_seq(self._from_seq))
        if not recorded:
            self.say("there is nothing in this session")
        self._last_tick = self.owner.ticks()
        self.follow()
        self.set_interval(FRAME, self._ticked)

    def _read(self) -> Sequence[Event]:
        return list(log.read(self.path))

    # ---- time

    def now(self) -> float:
        return self.line.now

    def _ticked(self) -> None:
        now = self.owner.ticks()
        self.line.advance(now - self._last_tick)
        self._last_tick = now
        if self.line.playing or self._shown != self.line.index:
            self.follow()

    def follow(self) -> None:
        """Bring the page to where the time line is."""
        index = self.line.index
        if index < self._shown or index - self._shown > BULK:
            view = self.owner.new_view()
            view.fold(self.line.events[:index])
            self._shown = index
            self.reset(view)
            return
        for event in self.line.events[self._shown : index]:
            for change in self.view.apply(event):
                self.show_change(change)
            self.trace.feed(event)
        self._shown = index
        self.refresh_rows()

    # ---- keys

    def contexts(self) -> list[str]:
        return [*self.reading.contexts(), "replay", "app"]

    def on_key(self, event: events.Key) -> None:
        """Nothing here takes text, so keys come to the screen itself."""
        self.press(event)
        event.stop()
        event.prevent_default()

    def _table(self) -> Table:
        return {
            "replay.play": self.play,
            "replay.back": lambda _key: self._moved(self.line.seek(self.line.position - SKIP)),
            "replay.forward": lambda _key: self._moved(self.line.seek(self.line.position + SKIP)),
            "replay.step": lambda _key: self._moved(self.line.step(1)),
            "replay.step_back": lambda _key: self._moved(self.line.step(-1)),
            "replay.mark_next": lambda _key: self.jump(1, *STOPS),
            "replay.mark_previous": lambda _key: self.jump(-1, *STOPS),
            "replay.tool_next": lambda _key: self.jump(1, "tool"),
            "replay.tool_previous": lambda _key: self.jump(-1, "tool"),
            "replay.error_next": lambda _key: self.jump(1, "error"),
            "replay.error_previous": lambda _key: self.jump(-1, "error"),
            "replay.user_next": lambda _key: self.jump(1, "person"),
            "replay.user_previous": lambda _key: self.jump(-1, "person"),
            "replay.start": lambda _key: self._moved(self.line.go_to(0)),
            "replay.end": lambda _key: self._moved(self.line.go_to(len(self.line.events))),
            "replay.speed": lambda key: self.set_speed(SPEEDS[int(key) - 1] if key.isdigit() else 1.0),
            "replay.faster": lambda _key: self.set_speed(self.line.speed * 2),
            "replay.slower": lambda _key: self.set_speed(self.line.speed / 2),
            "replay.fork": self.fork,
            "replay.export": self.export,
            "replay.close": self.close,
            "app.quit": self.close,
            "app.help": self.help,
            "agent.interrupt": self.close,
        }

    def _moved(self, _done: None) -> bool:
        self.follow()
        return True

    def play(self, _key: str) -> bool:
        """Play or pause; at the end it begins again."""
        if self.line.index >= len(self.line.events):
            self.line.go_to(0)
            self.line.playing = True
        else:
            self.line.playing = not self.line.playing
        self._last_tick = self.owner.ticks()
        return self._moved(None)

    def jump(self, by: int, *kinds: MarkKind) -> bool:
        """Go to a mark."""
        if not self.line.jump(by, *kinds):
            self.say("none that way")
        return self._moved(None)

    def set_speed(self, speed: float) -> bool:
        """How fast it plays, within a quarter and sixteen times."""
        self.line.speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        self.refresh_rows()
        return True

    def fork(self, _key: str) -> bool:
        """Leave the replay and go on from here in a copy."""
        self.close("")
        self.owner.library.fork_of(self.path, self.view.last_seq)
        return True

    def export(self, _key: str) -> bool:
        self.say(self.owner.library.export_of(self.path, ""))
        return True

    def help(self, _key: str) -> bool:
        self.owner.show_help(("replay", "block", "found", "app"))
        return True

    def close(self, _key: str) -> bool:
        """Back to the session, or out if there is none below."""
        self.owner.close_replay(self)
        return True

    # ---- rows

    def draw_own(self, width: int) -> None:
        """The scrubber, the gauges of that moment, and the keys."""
        line = self.line
        hints = self.reading.hint_spans() or self._hints()
        beside = width >= HINTS_IN_GAUGE
        self.gauge.show([gauge_line(self.view.gauges, hints if beside else [], width)])
        self.hints.show([] if beside else [([(" ", "text"), *hints], [])])
        mark = "▶" if line.playing else "⏸"
        began = _clock(line.events[0].ts, "%Y-%m-%d %H:%M") if line.events else ""
        speed = f"{line.speed:g}×"
        left: list[Span] = [
            (f" {mark} replay  ", "accent"),
            (self.view.title or self.path.stem, "title"),
            (f" · {began} · {speed}", "dim"),
        ]
        ends = _clock(line.events[-1].ts, "%H:%M:%S") if line.events else ""
        place: list[Span] = [(_clock(line.now, "%H:%M:%S"), "text"), (f" of {ends} ", "dim")]
        rows: list[Line] = [(left, place), ([(" ", "text"), (line.bar(width - 2), "dim")], [])]
        self.scrubber.show(rows)

    def _hints(self) -> list[Span]:
        pairs = (
            ("replay.play", "pause" if self.line.playing else "play"),
            ("replay.step", "step"),
            ("replay.mark_next", "marks"),
            ("replay.fork", "fork here"),
            ("replay.close", "back"),
        )
        spans: list[Span] = []
        for action, what in pairs:
            if key := self.resolver.keymap.hint(action):
                spans += [(" · " if spans else "", "dim"), (key, "key"), (f" {what}", "dim")]
        if self.line.idle >= 1:
            spans.append((f"   idle {words.whole_seconds(self.line.idle)} skipped", "dim"))
        return spans


def _clock(ts: float, form: str) -> str:
    return datetime.fromtimestamp(ts).astimezone().strftime(form) if ts else ""
