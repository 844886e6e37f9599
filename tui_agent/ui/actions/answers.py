"""Actions that answer the card above the composer: approvals, questions, limits, waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tui_agent.core.commands import Answer, Approve, Extend, Interrupt
from tui_agent.core.events import ApprovalRequested, Choice, Decision, QuestionAsked
from tui_agent.ui import screens
from tui_agent.ui.actions.group import Group, Table
from tui_agent.ui.blocks import ToolBlock
from tui_agent.ui.widgets.approval import Card, approval_lines, text_of
from tui_agent.ui.widgets.row import Line
from tui_agent.ui.widgets.wrapped import Reading
from tui_agent.ui.words import count

if TYPE_CHECKING:
    from tui_agent.ui.screens.session import SessionScreen

QUIET = 0.5
"""Seconds without a keystroke before a key may answer a card, so that typing never approves anything."""

CARD_ROWS = 7
"""Rows that the card of an approval gets at least; more on a high terminal."""

PLAN = "plan"
"""Name of the intent with which a mixed run shows its plan."""

SAID: dict[Decision, str] = {
    "once": "allowed once",
    "session": "allowed for this session",
    "always": "allowed always; the rule is saved",
    "deny": "refused",
    "edit": "runs as you changed it",
}


class AnswerActions(Group["SessionScreen"]):
    """Keys of cards. None takes the focus from a text that is not empty."""

    def __init__(self, screen: SessionScreen) -> None:
        super().__init__(screen)
        self._turned = 0
        self._note: tuple[str, Decision] | None = None
        self._reading: tuple[str, Reading] = ("", Reading(()))
        self._top = 0
        self._page = 1
        """Rows of the text on the card."""
        self._scrolled = 0.0
        """When a key last had to do with reading the text, on the clock of key events: that is no typing."""
        self._warned = ("", "")

    def table(self) -> Table:
        decisions: tuple[Decision, ...] = ("once", "session", "always", "deny")
        choices: tuple[tuple[str, Choice], ...] = (
            ("continue", "continue"),
            ("summarise", "summarise"),
            ("stop", "stop"),
        )
        return {
            **{f"approval.{decision}": self._deciding(decision) for decision in decisions},
            "approval.explain": self._noting(
                "deny", "write why not, then enter · enter alone just says no · esc goes back"
            ),
            "approval.down": lambda _key: self.scroll(1),
            "approval.up": lambda _key: self.scroll(-1),
            "approval.page_down": lambda _key: self.scroll(self._page),
            "approval.page_up": lambda _key: self.scroll(-self._page),
            "approval.edit": self.edit,
            "approval.view": self.show_all,
            "approval.next": self.next,
            "question.choose": self.choose,
            "question.skip": self.skip,
            **{f"limit.{name}": self._choosing(choice) for name, choice in choices},
            "limit.amount": self.amount,
            "plan.accept": lambda _key: self.decide("once"),
            "plan.edit": self._noting(
                "once", "write what to change in the plan, then enter: it is built with that"
            ),
            "plan.reject": self._noting(
                "deny", "write what to plan instead, then enter · enter alone just drops it"
            ),
            "retry.now": self._cutting("now", "trying again"),
            "retry.fallback": self._cutting("fallback", "going on with the next model"),
            "retry.stop": self.stop_retry,
        }

    def contexts(self) -> list[str]:
        """The card's context, if nothing is being typed."""
        run = self.screen.view.run
        if not self.screen.composer.is_empty or self.noting:
            return []
        if self.screen.just_typed(QUIET, but=self._scrolled):
            return []
        if event := self.approval:
            return ["plan" if event.intent.tool == PLAN else "approval"]
        if self.question is not None:
            return ["question"]
        if run.limit is not None:
            return ["limit"]
        return ["retry"] if run.retry is not None or self.app.gone else []

    def held(self) -> str:
        """Why keys don't answer the card now, empty if they do."""
        if self.noting:
            return "write it below, then enter · esc goes back"
        if self.screen.composer.is_empty or (self.question is not None and self.approval is None):
            return ""
        if self._note is not None and (event := self.approval) is not None and self._note[0] == event.id:
            return "enter sends your words with the answer"
        if self.screen.view.run.limit is not None and self.screen.composer.text.startswith("/extend"):
            return f"type a number of {self._unit()}, then enter"
        stash = self.app.keymap.hint("composer.stash")
        return f"your text comes first: send it, or put it away with {stash}"

    # ---- approvals

    @property
    def approval(self) -> ApprovalRequested | None:
        """The approval that the card shows."""
        waiting = [
            event
            for event in self.screen.view.run.approvals.values()
            if not self.screen.is_answered(event.id)
        ]
        return waiting[self._turned % len(waiting)] if waiting else None

    def keys(self, card: str, *names: str) -> dict[str, str]:
        """The key of each answer on a kind of card."""
        return {name: self.app.keymap.hint(f"{card}.{name}") for name in names}

    def next(self, _key: str) -> bool:
        """Show the next approval that waits."""
        if len(self.screen.view.run.approvals) < 2:
            return False
        self._turned += 1
        self._note = None
        return True

    # ---- what is read before it is allowed

    @property
    def reading(self) -> Reading:
        """What the call on the card would do, and how much of it has been on the screen."""
        event = self.approval
        if event is None:
            return Reading(())
        if self._reading[0] != event.id:
            self._reading = event.id, Reading(text_of(event, self.screen.size.width))
            self._top = 0
        return self._reading[1]

    def approval_card(self, event: ApprovalRequested) -> list[Line]:
        """The card of an approval; what it shows counts as shown while nothing lies over it."""
        screen, reading = self.screen, self.reading
        names = ("once", "session", "always", "deny", "explain", "edit", "view", "page_down", "page_up")
        card = Card(
            reading=reading,
            keys=self.keys("approval", *names),
            width=screen.size.width,
            rows=max(screen.size.height // 3, CARD_ROWS),
            top=self._top,
            waiting=len(screen.view.run.approvals),
            held=self.held(),
        )
        lines, first, last = approval_lines(event, card)
        self._page, self._top = max(last - first, 1), first
        if self.app.screen is screen and self._is_seen(len(lines)):
            reading.show(card.across, first, last)
            lines = approval_lines(event, card)[0]
        return lines

    def _is_seen(self, rows: int) -> bool:
        """Whether a card of so many rows has room on the screen above what stands below it."""
        screen = self.screen
        above = screen.card.region.y if screen.card.lines else 0
        return above + rows <= screen.size.height

    def scroll(self, by: int) -> bool:
        """Move the text on the card; False if all of it stands there."""
        if self.approval is None or self._page >= len(self.reading.rows(self._across())):
            return False
        self._top = max(self._top + by, 0)
        self._scrolled = self.screen.key_time
        return self.done("")

    def _across(self) -> int:
        return Card(reading=self._reading[1], keys={}, width=self.screen.size.width, rows=0).across

    def _unread(self, event: ApprovalRequested, decision: Decision) -> str:
        """Why the call can't be allowed yet, empty if it can: all of it has been shown, or the person was told that not."""
        reading = self.reading
        if reading.whole or event.intent.tool == PLAN:
            return ""
        if not event.intent.command and self._warned == (event.id, decision):
            return ""
        self._warned = event.id, decision
        self._scrolled = self.screen.key_time
        hint = self.app.keymap.hint
        rows = count(reading.unseen(self._across()), "row")
        shows = f"{rows} not shown yet: {hint('approval.page_down')} or {hint('approval.view')} shows more"
        again = "" if event.intent.command else f" · {hint(f'approval.{decision}')} again allows it unread"
        return shows + again

    def decide(self, decision: Decision, note: str = "") -> bool:
        """Answer the approval on the card."""
        event = self.approval
        if event is None:
            return False
        if decision in {"session", "always"} and not event.rule:
            return self.refuse("there is no rule that would cover this: allow it once")
        if decision != "deny" and (why := self._unread(event, decision)):
            return self.refuse(why)
        self.screen.send(Approve(id=event.id, decision=decision, note=note))
        self.screen.answered(event.id)
        return self.done(f"{event.intent.tool}: {SAID[decision]}")

    def send_note(self, text: str) -> bool:
        """Enter, after a key asked for words that go with the answer; False if none did."""
        asked = self._note if self.noting else None
        self._note = None
        return asked is not None and self.decide(asked[1], text)

    @property
    def noting(self) -> bool:
        """Whether words are being written that go with the answer."""
        return self._note is not None and self.approval is not None and self._note[0] == self.approval.id

    def leave_note(self) -> bool:
        """Escape while they are written: the card waits as before, the words stay a draft; False if there are none."""
        if not self.noting:
            return False
        self._note = None
        return self.done("it waits for your answer as before")

    def _noting(self, decision: Decision, say: str) -> Callable[[str], bool]:
        def begin(_key: str) -> bool:
            if self.approval is None:
                return False
            self._note = (self.approval.id, decision)
            return self.done(say)

        return begin

    def edit(self, _key: str) -> bool:
        """Change the command or the arguments, then run them."""
        event = self.approval
        if event is None:
            return False
        call = self._call(event)
        if call is None:
            return self.refuse("this call cannot be changed")
        if why := self._unread(event, "edit"):
            return self.refuse(why)

        def changed(arguments: dict[str, Any] | None) -> None:
            self.screen.closed_overlay()
            if arguments is None:
                self.screen.say("left as it was")
            elif event.id in self.screen.view.run.approvals:
                self.screen.send(Approve(id=event.id, decision="edit", arguments=arguments))
                self.screen.answered(event.id)
                self.done(f"{event.intent.tool}: {SAID['edit']}")
            else:
                self.screen.say("too late: the call is no longer waiting")

        self.app.push_screen(screens.editor.EditScreen(self.app, event.intent.tool, call), changed)
        return True

    def show_all(self, _key: str) -> bool:
        """The whole command or change on a page of its own."""
        event = self.approval
        if event is None:
            return False
        page = screens.approval.ApprovalPage(self.app, event, self.reading)
        self.app.push_screen(page, self.screen.overlay_gone)
        return True

    def _call(self, event: ApprovalRequested) -> dict[str, Any] | None:
        for block in reversed(self.screen.view.blocks):
            if isinstance(block, ToolBlock) and block.call is not None and block.call.id == event.call_id:
                return block.call.arguments
        return None

    def _deciding(self, decision: Decision) -> Callable[[str], bool]:
        return lambda _key: self.decide(decision)

    # ---- questions of the model

    @property
    def question(self) -> QuestionAsked | None:
        """The question that the card shows."""
        waiting = self.screen.view.run.questions.values()
        return next((event for event in waiting if not self.screen.is_answered(event.id)), None)

    def choose(self, key: str) -> bool:
        event = self.question
        if event is None or not key.isdigit() or not 0 < int(key) <= len(event.options):
            return False
        return self.answer(event.options[int(key) - 1])

    def skip(self, _key: str) -> bool:
        """Let the model decide; only where options make clear that letters are no text."""
        if self.question is None or not self.question.options:
            return False
        return self.answer("Decide yourself.")

    def answer(self, text: str) -> bool:
        """Answer the question of the model; False if there is none."""
        event = self.question
        if event is None:
            return False
        self.screen.send(Answer(id=event.id, text=text))
        self.screen.answered(event.id)
        return self.done("answered")

    # ---- limits and waits

    def choose_limit(self, choice: Choice, amount: float | None = None) -> bool:
        """Answer the card of a tripped limit."""
        if self.screen.view.run.limit is None:
            return False
        self.screen.send(Extend(choice=choice, amount=amount))
        return self.done({"continue": "goes on", "summarise": "sums up, then stops", "stop": "stops"}[choice])

    def amount(self, _key: str) -> bool:
        """Begin to type a limit of one's own."""
        limit = self.screen.view.run.limit
        if limit is None or limit.reason not in {"max_steps", "budget_exceeded", "timeout"}:
            return False
        self.screen.composer.set_text("/extend ")
        return True

    def _unit(self) -> str:
        limit = self.screen.view.run.limit
        units = {"max_steps": "more steps", "budget_exceeded": "more US dollars", "timeout": "more seconds"}
        return units.get(limit.reason if limit else "", "more")

    def stop_retry(self, _key: str) -> bool:
        if self.screen.view.run.retry is None:
            return False
        self.screen.send(Interrupt(now=True))
        return self.done("stopped")

    def _choosing(self, choice: Choice) -> Callable[[str], bool]:
        return lambda _key: self.choose_limit(choice)

    def _cutting(self, choice: str, said: str) -> Callable[[str], bool]:
        def cut(_key: str) -> bool:
            if self.app.gone and choice == "now":
                self.app.restart()
                return True
            if self.screen.view.run.retry is None:
                return False
            if choice == "fallback" and not self.screen.view.run.retry.fallback:
                return self.refuse("there is no other model to go on with: set fallbacks in the config")
            self.screen.send(Answer(id="retry", text=choice))
            return self.done(said)

        return cut
