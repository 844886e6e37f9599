"""The main screen: transcript, what waits, what goes on, the composer, the gauges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.timer import Timer

from tui_agent.core.commands import Command
from tui_agent.core.events import AgentEnd, Event
from tui_agent.ui.actions.agent import AgentActions
from tui_agent.ui.actions.answers import AnswerActions
from tui_agent.ui.actions.composing import ComposingActions
from tui_agent.ui.actions.places import PlaceActions
from tui_agent.ui.actions.reading import ReadingActions
from tui_agent.ui.fold.page import Change
from tui_agent.ui.keys import Hit, Pending, Unbound
from tui_agent.ui.view import View
from tui_agent.ui.widgets.activity import activity_line
from tui_agent.ui.widgets.approval import approval_lines, plan_lines
from tui_agent.ui.widgets.completion import Completions
from tui_agent.ui.widgets.composer import Composer
from tui_agent.ui.widgets.gauge import gauge_line
from tui_agent.ui.widgets.hints import hint_spans
from tui_agent.ui.widgets.limitcard import limit_lines, question_lines
from tui_agent.ui.widgets.pending import pending_lines
from tui_agent.ui.widgets.row import Line, Rows
from tui_agent.ui.widgets.sidebar import Sidebar
from tui_agent.ui.widgets.title import title_line
from tui_agent.ui.widgets.trace import TracePane
from tui_agent.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

REFRESH = 1 / 30
"""Seconds between two paintings of the rows while events come in."""
TICK = 0.25
"""Seconds between two paintings of a running clock."""
MESSAGE_SECONDS = 6.0
"""How long the line that says what a key did stands."""
HINTS_IN_GAUGE = 118
"""Columns from which the hints fit into the gauge row, so that they need no row of their own."""
TITLE_ROWS = 24
"""Rows from which the title row is shown."""
HINT_COLUMNS = 60
"""Columns from which the row of hints is shown."""

Action = Callable[[str], bool]


class SessionScreen(Screen[None]):
    """Draws a view, and turns keys into actions. It holds no state that the log does not have, but where one looks."""

    DEFAULT_CSS = """
    SessionScreen { layout: vertical; layers: base popup; }
    SessionScreen > .row { height: 1; }
    SessionScreen > #pending, SessionScreen > #card { height: auto; }
    SessionScreen > #middle { height: 1fr; min-height: 3; }
    SessionScreen > #middle > Transcript { width: 1fr; height: 1fr; }
    SessionScreen > #middle > #unread { layer: popup; dock: bottom; height: 1; width: auto; display: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS = "Composer"

    def __init__(self, view: View, owner: TuiAgentApp) -> None:
        super().__init__()
        self.view = view
        self.owner = owner
        """The app, typed, and known before the screen is shown."""
        palette = owner.palette
        self.resolver = owner.new_resolver()
        self.title_row = Rows(palette, id="title", classes="row")
        self.transcript = Transcript(palette, owner.reduced_motion, id="transcript")
        self.sidebar = Sidebar(palette)
        self.trace = TracePane(palette, owner.config.ui.language)
        self.pending = Rows(palette, id="pending")
        self.card = Rows(palette, id="card", base="card")
        self.activity = Rows(palette, id="activity", classes="row")
        self.composer = Composer(palette, self.route, owner.history_texts)
        self.gauge = Rows(palette, id="gauge", classes="row")
        self.hints = Rows(palette, id="hints", classes="row")
        self.unread = Rows(palette, id="unread")
        self.completions = Completions(palette)
        self.editing = ""
        """Id of the waiting message that is in the composer."""
        self.overlay_closed = 0.0
        """When something that lay over the screen went away, on the clock of key events."""
        self._last_key = self._this_key = 0.0
        self._message, self._message_until = "", 0.0
        self._answered: set[str] = set()
        self._dirty = False
        self._tick: Timer | None = None
        self.agent = AgentActions(self)
        self.answers = AnswerActions(self)
        self.composing = ComposingActions(self)
        self.reading = ReadingActions(self)
        self.places = PlaceActions(self)
        groups = (self.agent, self.answers, self.composing, self.reading, self.places)
        self.actions: Mapping[str, Action] = {
            name: action for group in groups for name, action in group.table().items()
        }

    def compose(self) -> ComposeResult:
        yield self.title_row
        with Horizontal(id="middle"):
            yield self.transcript
            yield self.sidebar
            yield self.unread
        yield self.trace
        yield self.pending
        yield self.card
        yield self.activity
        yield self.composer
        yield self.gauge
        yield self.hints
        yield self.completions

    def on_mount(self) -> None:
        """Draw what is known."""
        self.transcript.set_blocks(self.view.blocks)
        self._tick = self.set_interval(TICK, self.refresh_rows, pause=True)
        self.fit_rows()
        self.refresh_rows()

    # ---- events come in

    def receive(self, batch: Iterable[Event]) -> None:
        """Fold events and pass on what changed; the rows follow within 1/30 s."""
        for event in batch:
            for change in self.view.apply(event):
                self.show_change(change)
            self.trace.feed(event)
            if isinstance(event, AgentEnd):
                self._answered.clear()
                self.agent.run_ended()
        if not self._dirty and self.is_attached:
            self._dirty = True
            self.set_timer(REFRESH, self.refresh_rows)

    def reset(self, view: View) -> None:
        """Show another view from its start (a session opened, a history read)."""
        self.view = view
        self.editing = ""
        self._answered.clear()
        self.transcript.set_blocks(view.blocks)
        self.refresh_rows()

    def show_change(self, change: Change) -> None:
        """Pass one change to the transcript, or returned messages to the composer."""
        block = change.block
        if block is None:
            self.composer.put_back(change.text)
            self.say("messages that waited are back in the composer")
        elif change.what == "added":
            self.transcript.add(block)
        elif change.what == "removed":
            self.transcript.remove(block)
        else:
            self.transcript.changed(block)

    def send(self, command: Command) -> None:
        """Ask something of the engine, after everything asked before."""
        self.owner.send(command)

    # ---- keys

    def route(self, event: events.Key) -> bool:
        """A key of the composer: True if it was an action, a part of a chord, or meant for the search line."""
        self._last_key, self._this_key = self._this_key, event.time
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
        gave = {
            one.context
            for one in self.owner.keymap.bindings
            if (one.chord, one.action) == (hit.chord, hit.action.id)
        }
        rest = [name for name in contexts if name not in gave]
        return rest if len(rest) < len(contexts) and len(hit.chord) == 1 else []

    def perform(self, action: str, key: str = "") -> bool:
        """Do an action by its id; False if it does not apply now."""
        found = self.actions.get(action)
        return found is not None and found(key)

    def contexts(self) -> list[str]:
        """Where keys count now."""
        found = [
            *self.composing.contexts(),
            *self.reading.contexts(),
            *self.answers.contexts(),
            "composer",
            "app",
        ]
        if self.composer.is_empty:
            found.append("empty")
        if self.view.running or self.has_overlay:
            found.append("running")
        return found

    def just_typed(self, seconds: float) -> bool:
        """Whether the key before this one came less than so many seconds ago."""
        return self._this_key - self._last_key < seconds

    @property
    def has_overlay(self) -> bool:
        """Whether something of this screen lies over it that escape closes."""
        return bool(self.editing) or self.sidebar.over

    def close_overlay(self) -> bool:
        """Close the topmost such thing; False if there is none."""
        if self.composing.leave_edit() or self.reading.close_sidebar():
            self.closed_overlay()
            return True
        return False

    def closed_overlay(self) -> None:
        """Something that lay over the screen went away: an escape right after it is no interrupt."""
        self.overlay_closed = self.owner.ticks()
        self.refresh_rows()

    def overlay_gone(self, _result: object = None) -> None:
        """The same, as the answer to a pushed screen."""
        self.closed_overlay()

    def answered(self, id: str) -> None:
        """The card was answered; it goes at once, not only when the engine says so."""
        self._answered.add(id)
        self.refresh_rows()

    def is_answered(self, id: str) -> bool:
        """Whether an answer is already on its way."""
        return id in self._answered

    def copy_selection(self) -> bool:
        """Copy what is selected in the transcript or the composer; False if nothing is."""
        text = self.get_selected_text() or self.composer.selected_text
        if not text:
            return False
        self.owner.outside.copy(text)
        self.clear_selection()
        self.composer.selection = self.composer.selection.cursor(self.composer.selection.end)
        self.say("copied")
        return True

    # ---- messages of widgets

    def on_composer_edited(self) -> None:
        """The text or the caret moved: completions and hints follow, and the draft is saved soon."""
        self.composing.text_changed()
        self.owner.draft_changed(self.composer)
        self.refresh_rows()

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
        view, width, now = self.view, self.size.width, self.owner.now()
        self.title_row.show([title_line(view, str(Path.home()))])
        self.pending.show(pending_lines(view, self.composing.marked or self.editing, width))
        self.card.show(self.card_lines())
        chord = " ".join(self.resolver.pending)
        still = self.owner.reduced_motion
        self.activity.show([activity_line(view, now, message=self.message, chord=chord, still=still)])
        self._show_hints(width)
        self.sidebar.show(view)
        self.trace.draw()
        self.composer.hint = self.composing.placeholder()
        if self._tick is not None:
            (self._tick.resume if view.running or chord else self._tick.pause)()

    def _show_hints(self, width: int) -> None:
        hints = self.reading.hint_spans() or hint_spans(
            self.view, self.owner.keymap.hint, empty=self.composer.is_empty, editing=bool(self.editing)
        )
        beside = width >= HINTS_IN_GAUGE
        self.gauge.show([gauge_line(self.view.gauges, hints if beside else [], width)])
        self.hints.show([] if beside else [([(" ", "text"), *hints], [])])

    def card_lines(self) -> list[Line]:
        """The card above the composer: the first thing that waits for an answer."""
        run = self.view.run
        held = self.answers.held()
        room = max(self.size.height // 3, 4)
        if self.owner.gone:
            return self.owner.failure_lines()
        if (approval := self.answers.approval) is not None:
            if approval.intent.tool == "plan":
                return plan_lines(self.answers.plan_keys(), held)
            return approval_lines(approval, self.answers.approval_keys(), room, len(run.approvals), held)
        if (question := self.answers.question) is not None:
            return question_lines(question, room, held)
        if run.limit is not None:
            return limit_lines(
                run.limit, self.answers.limit_keys(), self.view.meters.settings.extend_by, held
            )
        return []

    def on_resize(self) -> None:
        """Rows come and go with the size of the terminal, never with what streams."""
        self.fit_rows()
        self.refresh_rows()

    def fit_rows(self) -> None:
        """What has room at this size."""
        width, height = self.size.width, self.size.height
        self.title_row.display = height >= TITLE_ROWS
        self.hints.display = HINT_COLUMNS <= width < HINTS_IN_GAUGE
        self.sidebar.fit(width)

    def set_palette(self) -> None:
        """Paint with the app's theme from now on."""
        palette = self.owner.palette
        for rows in self.query(Rows):
            rows.set_palette(palette)
        self.composer.set_palette(palette)
        self.transcript.set_theme(palette)
