"""What the screen of a session and the replay of one have in common: everything that shows a view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from tui_agent.ui.firstframe import HINT_COLUMNS, HINTS_IN_GAUGE
from tui_agent.ui.fold.page import Change
from tui_agent.ui.keys import Hit, Keymap, Pending, Resolver, Unbound
from tui_agent.ui.view import View
from tui_agent.ui.widgets.activity import activity_line
from tui_agent.ui.widgets.pending import pending_lines
from tui_agent.ui.widgets.row import Rows
from tui_agent.ui.widgets.sidebar import Sidebar
from tui_agent.ui.widgets.title import title_line
from tui_agent.ui.widgets.trace import TracePane
from tui_agent.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from tui_agent.ui.actions.reading import ReadingActions
    from tui_agent.ui.app import TuiAgentApp

TICK = 0.25
"""Seconds between two paintings of a running clock."""
MESSAGE_SECONDS = 6.0
"""How long the line that says what a key did stands, if no other key comes."""
READ_SECONDS = 1.0
"""How long it stands at least, unless another one takes its place."""
TITLE_ROWS = 24
"""Rows from which the title row is shown."""
PENDING_ROWS = 16
"""Rows from which waiting messages are shown; below that a card needs the room."""

Action = Callable[[str], bool]
EMPTY = Keymap({}, ())
"""What holds until the keymap is read."""


class StageScreen(Screen[None]):
    """Shows a view and turns keys into actions. It holds no state that the log does not have, but where one looks."""

    DEFAULT_CSS = """
    StageScreen { layout: vertical; layers: base popup; }
    StageScreen > .row { height: 1; }
    StageScreen > #pending { height: auto; }
    StageScreen > #middle { height: 1fr; min-height: 1; }
    StageScreen > #middle > Transcript { width: 1fr; height: 1fr; }
    StageScreen > #middle > #unread { layer: popup; dock: bottom; height: 1; width: auto; display: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = []
    STOPS: ClassVar[bool] = True
    """Whether what goes on here can be stopped."""
    reading: ReadingActions
    actions: Mapping[str, Action]

    def __init__(self, view: View, owner: TuiAgentApp) -> None:
        super().__init__()
        self.view = view
        self.owner = owner
        """The app, typed, and known before the screen is shown."""
        palette = owner.palette
        self.resolver = Resolver(EMPTY)
        self.title_row = Rows(palette, id="title", classes="row")
        self.transcript = Transcript(palette, owner.reduced_motion, clock=self.now, id="transcript")
        self.sidebar = Sidebar(palette)
        self.trace = TracePane(palette, owner.config.ui.language)
        self.pending = Rows(palette, id="pending")
        self.activity = Rows(palette, id="activity", classes="row")
        self.gauge = Rows(palette, id="gauge", classes="row")
        self.hints = Rows(palette, id="hints", classes="row")
        self.unread = Rows(palette, id="unread")
        self.overlay_closed = 0.0
        """When something that lay over the screen went away, on the clock of key events."""
        self._message, self._message_until = "", 0.0
        self._dirty = False
        self._tick: Timer | None = None

    def compose_top(self) -> Iterator[Widget]:
        """The rows above what is special to a screen."""
        yield self.title_row
        with Horizontal(id="middle"):
            yield self.transcript
        yield self.pending

    def mount_rest(self) -> None:
        """What is hidden at first joins after the first paint, which it would only delay."""
        if not self.sidebar.is_attached:
            self.query_one("#middle").mount(self.sidebar, self.unread)
            self.mount(self.trace, before=self.pending)

    def on_mount(self) -> None:
        """Draw what is known; hints come with the keymap, right after the first paint."""
        self.transcript.set_blocks(self.view.blocks)
        if self.owner.is_painted:
            self.after_paint()
        self._tick = self.set_interval(TICK, self.refresh_rows, pause=True)
        self.fit_rows()
        self.refresh_rows()

    # ---- the view

    def now(self) -> float:
        """The time that clocks on this screen show, Unix seconds."""
        return self.owner.now()

    def reset(self, view: View) -> None:
        """Show another view from its start."""
        self.view, self._message = view, ""
        self.transcript.set_blocks(view.blocks)
        self.refresh_rows()

    def show_change(self, change: Change) -> None:
        """Pass one change to the transcript."""
        block = change.block
        if block is None:
            return
        if change.what == "added":
            self.transcript.add(block)
        elif change.what == "removed":
            self.transcript.remove_block(block)
        else:
            self.transcript.changed(block)

    # ---- keys

    def after_paint(self) -> None:
        """A person sees the screen now: get ready for what they may do."""
        self.mount_rest()
        self.use_keys()

    def use_keys(self) -> None:
        """Take the keymap that holds now."""
        self.resolver.keymap = self.owner.keymap
        self.refresh_rows()

    @property
    def has_keys(self) -> bool:
        """Whether the keymap is there; before the first paint it is not."""
        return bool(self.resolver.keymap.actions)

    def contexts(self) -> list[str]:
        """Where keys count now."""
        raise NotImplementedError

    def press(self, event: events.Key) -> bool:
        """Do what a key means; True if it was an action or a part of a chord, or belongs to the search line."""
        if not self.has_keys:
            self.use_keys()
        if self.owner.now() > self._message_until - MESSAGE_SECONDS + READ_SECONDS:
            self._message = ""
        contexts = self.contexts()
        taken = False
        while True:
            found = self.resolver.feed(event.key, contexts, event.time)
            if isinstance(found, Pending):
                taken = True
            elif isinstance(found, Unbound):
                self.say(f"{found.shown} means nothing")
                taken = True
            elif found is not None:
                taken = self.perform(found.action.id, event.key)
                if not taken and (contexts := self._without(found, contexts)):
                    continue
            break
        taken = taken or self.reading.typed(event)
        self.refresh_rows()
        return taken

    def _without(self, hit: Hit, contexts: list[str]) -> list[str]:
        """The contexts without the one that gave this action, so that the key's next meaning counts."""
        bindings = self.owner.keymap.bindings
        gave = {one.context for one in bindings if (one.chord, one.action) == (hit.chord, hit.action.id)}
        rest = [name for name in contexts if name not in gave]
        return rest if len(rest) < len(contexts) and len(hit.chord) == 1 else []

    def perform(self, action: str, key: str = "") -> bool:
        """Do an action by its id; False if it does not apply now."""
        found = self.actions.get(action)
        return found is not None and found(key)

    def closed_overlay(self) -> None:
        """Something that lay over the screen went away: an escape right after it is no interrupt."""
        self.overlay_closed = self.owner.ticks()
        self.refresh_rows()

    def overlay_gone(self, _result: object = None) -> None:
        """The same, as the answer to a pushed screen."""
        self.closed_overlay()

    # ---- messages of widgets

    def on_transcript_unread_changed(self, event: Transcript.UnreadChanged) -> None:
        """Show how much came while one looks further up."""
        self.unread.display = event.count > 0
        self.unread.show([([(f" ↓ {event.count} new ", "new-below")], [])])

    def on_transcript_found(self, event: Transcript.Found) -> None:
        """Show where the search is."""
        self.reading.found(event.index, event.total)

    def on_transcript_selected(self) -> None:
        """Hints follow the block cursor."""
        self.refresh_rows()

    def on_transcript_link_clicked(self, event: Transcript.LinkClicked) -> None:
        """A link is shown and copied, never opened unseen."""
        self.owner.outside.copy(event.url)
        self.say(f"copied {event.url}")

    def on_resize(self) -> None:
        """Rows come and go with the size of the terminal, never with what streams."""
        self.fit_rows()
        self.refresh_rows()

    # ---- rows

    def say(self, text: str) -> None:
        """Tell what just happened, in the activity row."""
        self._message = text
        self._message_until = self.owner.now() + MESSAGE_SECONDS
        if self.is_attached:
            self.set_timer(MESSAGE_SECONDS + 0.1, self.refresh_rows)
            self.refresh_rows()

    @property
    def message(self) -> str:
        """The line that tells what just happened, until it is old."""
        return self._message if self.owner.now() < self._message_until else ""

    def refresh_rows(self) -> None:
        """Paint every row anew from the view; unchanged rows cost nothing."""
        self._dirty = False
        if not self.is_attached:
            return
        view, width = self.view, self.size.width
        self.title_row.show([title_line(view, str(Path.home()), dry_run=self.owner.launch.dry_run)])
        self.pending.show(pending_lines(view, self.marked_message, width))
        chord = " ".join(self.resolver.pending)
        still = self.owner.reduced_motion
        row = activity_line(
            view, self.now(), message=self.message, chord=chord, still=still, stops=self.STOPS
        )
        self.activity.show([row])
        self.sidebar.show(view)
        self.trace.draw()
        self.draw_own(width)
        if self._tick is not None:
            (self._tick.resume if view.busy or chord else self._tick.pause)()

    @property
    def marked_message(self) -> str:
        """Id of the waiting message that is marked or edited."""
        return ""

    def draw_own(self, width: int) -> None:
        """Paint what is special to the screen."""
        raise NotImplementedError

    def fit_rows(self) -> None:
        """What has room at this size."""
        width, height = self.size.width, self.size.height
        self.title_row.display = height >= TITLE_ROWS
        self.pending.display = height >= PENDING_ROWS
        self.hints.display = HINT_COLUMNS <= width < HINTS_IN_GAUGE
        self.sidebar.fit(width)

    def set_palette(self) -> None:
        """Paint with the app's theme from now on."""
        palette = self.owner.palette
        for rows in self.query(Rows):
            rows.set_palette(palette)
        self.transcript.set_theme(palette)
