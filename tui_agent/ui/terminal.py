"""The way to the terminal, where Textual's own driver falls short (each of these was measured or seen to fail):

- only cells that changed are sent, one style code a change (11.8 MB became 1.6 MB in 30 s of streaming);
- a terminal that stops reading does not stop the program: frames are left out and made up for later;
- bytes on stdin that are not UTF-8 don't end the program; the end of stdin does, instead of being read for ever;
- a program that was stopped and goes on (fg) paints its screen again;
- stray output of libraries goes to a file instead of over the screen.

Textual is pinned, because its private names are used; tests hold the behaviour.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import Full
from typing import IO, Any, TypeVar

from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import _compositor as compositor
from textual import events, on
from textual import screen as textual_screen
from textual.app import App
from textual.driver import Driver
from textual.drivers import _writer_thread as writer_thread
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_agent.ui.background import Decoder

UPDATE_PERIOD = 1 / 240
"""Seconds between two looks for what has changed on the screen. Textual's 1/60 makes a key wait up to 17 ms while text streams
(measured at 200 tokens/s, key to glyph: p99 38 ms, with this 12 ms, at the same CPU: text itself is drawn 30 times a second)."""
WAITING_WRITES = 3
"""Writes that may wait for the terminal before frames are left out (a frame is up to three)."""
CATCH_UP = 0.05
"""Seconds until a left out frame is tried again."""
PATIENCE = 0.5
"""Seconds that the end of the program waits for a terminal that does not read."""
_COMPLEX = re.compile(r"[^\x20-\x7e\xa0-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff\u2200-\u22ff\u2500-\u25ff]")
"""Characters that a terminal may take to be wider or narrower than we do: rows with such are sent whole."""


class Canvas:
    """What the terminal shows; renders updates to what differs from it."""

    def __init__(self) -> None:
        self._shown: dict[int, dict[int, Strip]] = {}
        self._size = Size(0, 0)

    def forget(self) -> None:
        """The terminal may show something else now (resized, resumed): send everything again."""
        self._shown.clear()

    def render(self, update: object, console: Console) -> str | None:
        """The sequences that bring the terminal up to date; None for an update of a kind that is not known."""
        if isinstance(update, compositor.LayoutUpdate):
            if update.region.size != self._size:
                self._size = update.region.size
                self.forget()
            pieces = _whole_rows(update)
        elif isinstance(update, compositor.ChopsUpdate):
            pieces = _changed_spans(update)
        else:
            return None
        depth = console._color_system or ColorSystem.TRUECOLOR  # pyright: ignore[reportPrivateUsage]
        out: list[str] = []
        for y, x, strip in pieces:
            self._put(out, y, x, strip, depth)
        return "".join(out)

    def _put(self, out: list[str], y: int, x: int, strip: Strip, depth: ColorSystem) -> None:
        row = self._shown.setdefault(y, {})
        old = row.get(x)
        if old is strip:
            return
        end = x + strip.cell_length
        if old is None or old.cell_length != strip.cell_length:
            for start in [
                start for start, other in row.items() if start < end and start + other.cell_length > x
            ]:
                del row[start]
            old = None
        row[x] = strip
        skipped, segments = _difference(old, strip)
        if segments:
            out.append(f"\x1b[{y + 1};{x + skipped + 1}H")
            out.append(sequences(segments, depth))


def _whole_rows(update: compositor.LayoutUpdate) -> Iterator[tuple[int, int, Strip]]:
    for y, line in enumerate(update.strips, update.region.y):
        x = update.region.x
        for strip in line:
            yield y, x, strip
            x += strip.cell_length


def _changed_spans(update: compositor.ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    for y, start, stop in update.spans:
        chops: Mapping[int, Strip | None] = update.chops[y]
        for end, (x, strip) in zip(update.chop_ends[y], chops.items(), strict=False):
            if strip is None or x > stop or end <= start:
                continue
            yield y, x, strip if start <= x < stop and end <= stop else strip.crop(0, min(end, stop) - x)


def _difference(old: Strip | None, new: Strip) -> tuple[int, list[Segment]]:
    """Cells that are the same at the start, and the segments from there to the last change."""
    after = [segment for segment in new if segment.text]
    if old is None:
        return 0, after
    before = [segment for segment in old if segment.text]
    if before == after:
        return 0, []
    if _COMPLEX.search(old.text) or _COMPLEX.search(new.text):
        return 0, after
    same = 0
    while before and after and before[0] == after[0]:
        same += len(after[0].text)
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    if before and after and before[0].style == after[0].style:
        common = _common(before[0].text, after[0].text)
        same += common
        after[0] = Segment(after[0].text[common:], after[0].style)
        before[0] = Segment(before[0].text[common:], before[0].style)
    if before and after and before[-1].style == after[-1].style:
        common = _common(before[-1].text[::-1], after[-1].text[::-1])
        after[-1] = Segment(after[-1].text[: len(after[-1].text) - common], after[-1].style)
    return same, [segment for segment in after if segment.text]


def _common(one: str, other: str) -> int:
    """How many characters two texts share at their start."""
    shorter = min(len(one), len(other))
    return next((index for index in range(shorter) if one[index] != other[index]), shorter)


def sequences(segments: Iterable[Segment], depth: ColorSystem) -> str:
    """Text with one style code a change and one reset at the end."""
    out: list[str] = []
    now = ""
    for text, style, _ in segments:
        if style is not None and style.link:
            out.append("\x1b[0m" + Strip.render_style(style, text, depth))
            now = ""
            continue
        code = "" if style is None else _code(style, depth)
        if code != now:
            out.append(f"\x1b[0;{code}m" if code else "\x1b[0m")
            now = code
        out.append(text)
    if now:
        out.append("\x1b[0m")
    return "".join(out)


def _code(style: Style, depth: ColorSystem) -> str:
    known = style._ansi  # pyright: ignore[reportPrivateUsage]
    return Strip.render_ansi(style, depth) if known is None else known


class _Changes(compositor.CompositorUpdate):
    """An update that renders to its changes only."""

    def __init__(self, update: compositor.CompositorUpdate, canvas: Canvas) -> None:
        self._update = update
        self._canvas = canvas

    def render_segments(self, console: Console) -> str:
        changes = self._canvas.render(self._update, console)
        return self._update.render_segments(console) if changes is None else changes


class PatientWriter(writer_thread.WriterThread):
    """Writes in a thread; a terminal that does not read, or is gone, never stops who writes."""

    def __init__(self, file: IO[str]) -> None:
        super().__init__(file)
        self.gone = False

    @property
    def waiting(self) -> int:
        """Writes that the terminal has not taken yet."""
        return self._queue.qsize()

    def write(self, text: str) -> None:
        """Queue a text; it is dropped if far too much waits already (frames don't come so far)."""
        if not self.gone:
            with suppress(Full):
                self._queue.put_nowait(text)

    def run(self) -> None:
        """Write until the end, or until the terminal is gone."""
        try:
            super().run()
        except (OSError, ValueError):
            self.gone = True

    def stop(self) -> None:
        """End after what is queued, if the terminal takes it soon."""
        with suppress(Full):
            self._queue.put_nowait(None)
        self.join(PATIENCE)


class Keys(Decoder):
    """The decoder of what the terminal sends; it alone sees the empty read that says that there is no terminal any more."""

    def decode(self, data: bytes, final: bool = False) -> str:
        if not data and not final:
            raise EOFError
        return super().decode(data, final)


def _tolerant_decoder(encoding: str) -> Callable[[], Decoder]:
    """``codecs.getincrementaldecoder``, but what it makes keeps late answers of the terminal to itself."""
    return partial(Keys, encoding)


def _ending(driver: type[Driver]) -> type[Driver]:
    """The driver, but the end of the input ends the program, as the signal does that a closed terminal should send."""

    class Ending(driver):
        def run_input_thread(self) -> None:
            known: Any = super()  # the method is of the drivers for Unix, not of their base
            try:
                known.run_input_thread()
            except (EOFError, OSError):
                os.kill(os.getpid(), signal.SIGHUP)

    return Ending


R = TypeVar("R")


class TerminalApp(App[R]):
    """An app whose frames and keys take this way."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        textual_screen.__dict__["UPDATE_PERIOD"] = UPDATE_PERIOD
        super().__init__(*args, **kwargs)
        self._canvas = Canvas()
        self._writer: object = None
        self._late: Timer | None = None
        self._early: list[events.Key | events.Paste] | None = None
        """Keys and pastes that came before anything could take them; None while they take their usual way."""

    @property
    def typed_early(self) -> bool:
        """Whether something was typed before there was a place for it."""
        return bool(self._early)

    async def on_event(self, event: events.Event) -> None:
        """Keep what comes too early: Textual drops a key while nothing has the focus."""
        early = self._early
        if early is not None and isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            early.append(event)
        else:
            await super().on_event(event)

    def keep_early(self) -> None:
        """From now on keep what is typed, until ``take_early``."""
        self._early = []

    def take_early(self, target: Widget) -> None:
        """``target`` has the focus from now on, and gets what was typed before, in its order."""
        early, self._early = self._early, None
        for event in early or ():
            target.post_message(event)

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver, mended where it is the one for terminals of Unix."""
        found = super().get_driver_class()
        if found.__module__ == "textual.drivers.linux_driver":
            module: Any = import_module(found.__module__)
            module.WriterThread = PatientWriter
            module.getincrementaldecoder = _tolerant_decoder
            return _ending(found)
        return found

    @on(Driver.SignalResume)
    def paint_again(self) -> None:
        """Back from a stop (ctrl+z, fg): the shell has written where the screen was."""
        self.repaint_terminal()

    def repaint_terminal(self) -> None:
        """Send the whole screen again, when something else may have drawn on it."""
        self._canvas.forget()
        self.screen.refresh()

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        writer = getattr(self._driver, "_writer_thread", None)
        if isinstance(writer, PatientWriter) and isinstance(renderable, compositor.CompositorUpdate):
            if writer is not self._writer:  # started, or resumed after a stop
                self._writer = writer
                self._canvas.forget()
            if writer.waiting > WAITING_WRITES:
                self._later(screen)
                return
            renderable = _Changes(renderable, self._canvas)
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType]

    def _later(self, screen: Screen[Any]) -> None:
        """The terminal is slow: leave this frame out, and soon show what holds then."""
        if self._late is None:
            self._late = self.set_timer(CATCH_UP, partial(self._catch_up, screen))

    def _catch_up(self, screen: Screen[Any]) -> None:
        self._late = None
        if screen is self.screen and not self._batch_count:
            whole = screen._compositor.render_full_update()  # pyright: ignore[reportPrivateUsage]
            self._display(screen, whole)
        else:
            self.screen.refresh()


@contextmanager
def own_terminal(stray: Path) -> Generator[None]:
    """Keep the terminal for Textual: whatever else writes to descriptors 1 and 2 lands in the file ``stray``.

    Textual draws on ``sys.__stderr__`` and asks ``sys.__stdout__`` for the size: both get a descriptor of their own.
    """
    stray.parent.mkdir(parents=True, exist_ok=True)
    saved = os.dup(1), os.dup(2)
    before = sys.__stdout__, sys.__stderr__
    log = os.open(stray, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    screen = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.__stdout__ = sys.__stderr__ = screen  # type: ignore[misc]
        yield
    finally:
        sys.__stdout__, sys.__stderr__ = before  # type: ignore[misc]
        sys.stdout.flush()
        sys.stderr.flush()
        for number, descriptor in zip((1, 2), saved, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(log)
        with suppress(OSError):
            screen.close()
