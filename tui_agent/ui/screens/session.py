"""The main screen: a session, the composer, and the card of what waits for an answer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult

from tui_agent.core.commands import Command
from tui_agent.core.events import AgentEnd, AgentStart, Compaction, Event, Notice
from tui_agent.ui.actions.agent import AgentActions
from tui_agent.ui.actions.answers import PLAN, AnswerActions
from tui_agent.ui.actions.composing import ComposingActions
from tui_agent.ui.actions.places import PlaceActions
from tui_agent.ui.actions.reading import ReadingActions
from tui_agent.ui.firstframe import HINTS_IN_GAUGE
from tui_agent.ui.fold.page import Change
from tui_agent.ui.screens.stage import StageScreen
from tui_agent.ui.view import View
from tui_agent.ui.widgets.approval import plan_lines
from tui_agent.ui.widgets.completion import Completions
from tui_agent.ui.widgets.composer import Composer
from tui_agent.ui.widgets.gauge import gauge_line
from tui_agent.ui.widgets.greeting import greeting_lines
from tui_agent.ui.widgets.hints import hint_spans
from tui_agent.ui.widgets.limitcard import limit_lines, question_lines, retry_lines
from tui_agent.ui.widgets.row import Line, Rows
from tui_agent.ui.widgets.title import short_path

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

REFRESH = 1 / 30
"""Seconds between two paintings of the rows while events come in."""


class SessionScreen(StageScreen):
    """A session as it happens. Keys come through the composer, which always has the focus."""

    DEFAULT_CSS = """
    SessionScreen > #card { height: auto; }
    SessionScreen > #middle > #greeting { layer: popup; dock: bottom; height: auto; }
    """

    AUTO_FOCUS = "Composer"

    def __init__(self, view: View, owner: TuiAgentApp) -> None:
        super().__init__(view, owner)
        palette = owner.palette
        self.card = Rows(palette, id="card", base="card")
        self.composer = Composer(palette, self.route, owner.history_texts)
        self.completions = Completions(palette)
        self.greeting = Rows(palette, id="greeting")
        self.editing = ""
        """Id of the waiting message that is in the composer."""
        self._last_key = self._this_key = 0.0
        self._answered: set[str] = set()
        self.agent = AgentActions(self)
        self.answers = AnswerActions(self)
        self.composing = ComposingActions(self)
        self.reading = ReadingActions(self)
        self.places = PlaceActions(self)
        groups = (self.reading, self.agent, self.answers, self.composing, self.places)
        self.actions = {name: action for group in groups for name, action in group.table().items()}

    def compose(self) -> ComposeResult:
        yield from self.compose_top()
        yield self.card
        yield self.activity
        yield self.composer
        yield self.gauge
        yield self.hints

    def mount_rest(self) -> None:
        super().mount_rest()
        if not self.completions.is_attached:
            self.mount(self.completions)
            self.query_one("#middle").mount(self.greeting)

    # ---- events come in

    def receive(self, batch: Iterable[Event]) -> None:
        """Fold events and pass on what changed; the rows follow within 1/30 s."""
        for event in batch:
            for change in self.view.apply(event):
                self.show_change(change)
            self.trace.feed(event)
            if isinstance(event, Compaction | Notice | AgentStart):
                self.agent.compacting = False
            if isinstance(event, AgentEnd):
                self._answered.clear()
                self.agent.run_ended()
        if not self._dirty and self.is_attached:
            self._dirty = True
            self.set_timer(REFRESH, self.refresh_rows)

    @property
    def busy(self) -> bool:
        """Whether there is something that escape and ctrl+c end."""
        return self.view.running or self.agent.side_work

    def reset(self, view: View) -> None:
        self.editing = ""
        self.agent.compacting = False
        self._answered.clear()
        super().reset(view)

    def show_change(self, change: Change) -> None:
        """Pass one change to the transcript, or messages that return to the composer."""
        if change.block is None:
            self.composer.put_back(change.text)
            self.say("messages that waited are back in the composer")
        super().show_change(change)

    def send(self, command: Command) -> None:
        """Ask something of the engine, after everything asked before."""
        self.owner.send(command)

    # ---- keys

    def route(self, event: events.Key) -> bool:
        """A key of the composer: True if it is not for the text."""
        self._last_key, self._this_key = self._this_key, event.time
        return self.press(event)

    def contexts(self) -> list[str]:
        found = [
            *self.composing.contexts(),
            *self.reading.contexts(),
            *self.answers.contexts(),
            "composer",
            "app",
        ]
        if self.composer.is_empty:
            found.append("empty")
        if self.busy or self.has_overlay:
            found.append("running")
        return found

    @property
    def key_time(self) -> float:
        """When the last key was pressed, on the clock of key events."""
        return self._this_key

    def just_typed(self, seconds: float, *, but: float = 0.0) -> bool:
        """Whether the key before this one came less than so many seconds ago, not counting the one of the time ``but``."""
        return self._this_key - self._last_key < seconds and self._last_key != but

    @property
    def has_overlay(self) -> bool:
        """Whether something of this screen lies over it that escape closes."""
        return bool(self.editing) or self.answers.noting or self.reading.searching or self.sidebar.over

    def close_overlay(self) -> bool:
        """Close the topmost such thing; False if there is none."""
        leaving = (
            self.composing.leave_edit,
            self.answers.leave_note,
            self.reading.leave_find,
            self.reading.close_sidebar,
        )
        if any(leave() for leave in leaving):
            self.closed_overlay()
            return True
        return False

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

    def on_composer_edited(self) -> None:
        """The text or the caret moved: completions and hints follow, and the draft is saved soon."""
        self.composing.text_changed()
        self.owner.draft_changed(self.composer)
        self.refresh_rows()

    # ---- rows

    @property
    def marked_message(self) -> str:
        return self.composing.marked or self.editing

    def draw_own(self, width: int) -> None:
        self.card.show(self.card_lines())
        hint = self.resolver.keymap.hint
        self.greeting.display = self.has_keys and not self.view.blocks
        if self.greeting.display:
            place = short_path(str(self.owner.cwd), str(Path.home()))
            self.greeting.show(greeting_lines(self.view, place, hint))
        hints = self.reading.hint_spans() or hint_spans(
            self.view, hint, empty=self.composer.is_empty, editing=bool(self.editing)
        )
        beside = width >= HINTS_IN_GAUGE
        self.gauge.show([gauge_line(self.view.gauges, hints if beside else [], width)])
        self.hints.show([] if beside else [([(" ", "text"), *hints], [])])
        self.composer.hint = self.composing.placeholder()

    def card_lines(self) -> list[Line]:
        """The card above the composer: the first thing that waits for an answer."""
        run, answers = self.view.run, self.answers
        held = answers.held()
        room = max(self.size.height // 3, 4)
        if self.owner.gone:
            return self.owner.failure_lines()
        if (approval := answers.approval) is not None:
            if approval.intent.tool == PLAN:
                return plan_lines(answers.keys("plan", "accept", "edit", "reject"), held)
            return answers.approval_card(approval)
        if (question := answers.question) is not None:
            return question_lines(question, room, held)
        if run.limit is not None:
            keys = answers.keys("limit", "continue", "amount", "summarise", "stop")
            return limit_lines(run.limit, keys, self.view.meters.settings.extend_by, held)
        if run.retry is not None:
            return retry_lines(run.retry, answers.keys("retry", "now", "fallback", "stop"), held)
        return []

    def set_palette(self) -> None:
        super().set_palette()
        self.composer.set_palette(self.owner.palette)
