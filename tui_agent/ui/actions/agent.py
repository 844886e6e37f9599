"""Actions on the agent: stop it, let it go on, change how it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.core.commands import (
    Compact,
    Continue,
    Interrupt,
    Prompt,
    RewindTo,
    SetLimit,
    SetMode,
    StopAfterStep,
)
from tui_agent.core.events import ConfirmMode, Mode
from tui_agent.ui.actions.group import Group, Table
from tui_agent.ui.blocks import AssistantBlock, UserBlock

if TYPE_CHECKING:
    from tui_agent.ui.screens.session import SessionScreen

OVERLAY_GUARD = 0.4
"""Seconds after an overlay closed in which escape does not interrupt."""
QUIT_WINDOW = 2.0
"""Seconds in which a second ctrl+c quits."""

MODES: tuple[Mode, ...] = ("build", "plan", "mixed")
CONFIRMS: tuple[ConfirmMode, ...] = ("confirm-sensitive", "confirm-all", "yolo")
MODE_MEANS = {
    "build": "build: all tools",
    "plan": "plan: nothing is changed",
    "mixed": "mixed: first a plan, then, if you accept it, the work",
}
CONFIRM_MEANS = {
    "confirm-sensitive": "asks before what is sensitive",
    "confirm-all": "asks before every tool",
    "yolo": "never asks (rules that deny still hold)",
}


class AgentActions(Group["SessionScreen"]):
    """What a person does to the run."""

    def __init__(self, screen: SessionScreen) -> None:
        super().__init__(screen)
        self.after_end = ""
        """Text to send as soon as the run that is being cut has ended."""
        self.compacting = False
        """Older exchanges are being summarised because the person asked for it, outside any run."""
        self._quit_until = 0.0

    @property
    def side_work(self) -> bool:
        """Whether something of the person's own runs outside any run: a ``!`` line, or ``/compact``."""
        view = self.screen.view
        return view.side_work or (self.compacting and not view.running)

    def busy_with(self) -> str:
        """Why nothing else can begin now, empty if it can; what was written stays where it is."""
        if not self.side_work:
            return ""
        what = "your command runs" if self.screen.view.side_work else "older exchanges are being summarised"
        return f"{what}: wait for its end, or stop it with {self.app.keymap.hint('agent.cut')}"

    def _stop_side_work(self) -> None:
        self.screen.send(Interrupt(now=True))
        self.screen.say("your command is stopped" if self.screen.view.side_work else "stopped")
        self.compacting = False

    def table(self) -> Table:
        return {
            "agent.interrupt": self.interrupt,
            "agent.cut": self.cut,
            "agent.stop_after_step": self.stop_after_step,
            "agent.steer_now": self.steer_now,
            "agent.continue": self.go_on,
            "agent.retry": self.retry,
            "mode.cycle": self.cycle_mode,
            "confirm.cycle": self.cycle_confirm,
            "context.compact": self.compact,
            "extension.veto": self.veto,
            "plan.apply": self.apply_plan,
        }

    def interrupt(self, _key: str) -> bool:
        """Ctrl+C: a selection is copied; a run is stopped; a draft is put away; twice when idle quits."""
        screen = self.screen
        if screen.copy_selection():
            return True
        if screen.view.running:
            again = screen.view.run.stopping is not None
            screen.send(Interrupt(now=again))
            screen.say(
                "stopping at once"
                if again
                else "stopping: a running tool may finish · again stops it at once"
            )
        elif self.side_work:
            self._stop_side_work()
        elif not screen.composer.is_empty:
            screen.composer.stash()
            screen.say("text put away: ↑ brings it back")
        elif self.app.ticks() < self._quit_until:
            self.app.leave()
        else:
            self._quit_until = self.app.ticks() + QUIT_WINDOW
            screen.say("press ctrl+c again to quit")
        return True

    def cut(self, _key: str) -> bool:
        """Escape: whatever lies on top goes first, then the run stops at once; the text stays."""
        screen = self.screen
        if screen.close_overlay():
            return True
        if self.app.ticks() - screen.overlay_closed < OVERLAY_GUARD:
            return True
        if self.side_work:
            self._stop_side_work()
        elif screen.view.running:
            screen.send(Interrupt(now=True))
            screen.say("stopped at once; what was said and done is kept")
        return True

    def stop_after_step(self, _key: str) -> bool:
        if not self.screen.view.running:
            return self.refuse("nothing runs")
        self.screen.send(StopAfterStep())
        return self.done("stops when this step is done")

    def steer_now(self, _key: str) -> bool:
        """Cut the running step, then send the text as a new prompt."""
        screen = self.screen
        if screen.composer.is_empty:
            return self.refuse("write first what to say")
        if not screen.view.running:
            return screen.composing.send("")
        self.after_end = screen.composer.take()
        screen.send(Interrupt(now=True))
        return self.done("cut; your text follows at once")

    def run_ended(self) -> None:
        """A run ended: send what was to follow it."""
        text, self.after_end = self.after_end, ""
        if text:
            self.screen.send(Prompt(text=text))

    def go_on(self, _key: str) -> bool:
        """``/continue``: legal only if the last message is a person's or a tool's."""
        if why := self.cannot_go_on():
            return self.refuse(why)
        self.screen.send(Continue())
        return self.done("goes on")

    def cannot_go_on(self) -> str:
        """Why ``/continue`` is refused now, empty if it is not."""
        view = self.screen.view
        if view.running:
            return "it is running already"
        if busy := self.busy_with():
            return busy
        if not any(isinstance(block, UserBlock) for block in view.blocks):
            return "there is nothing to go on from: say what to do"
        for block in reversed(view.blocks):
            if block.kind in {"user", "tool"}:
                return ""
            if isinstance(block, AssistantBlock) and block.purpose == "turn":
                return "" if block.interrupted else "the model has answered: say what to do next"
        return ""

    def retry(self, _key: str) -> bool:
        """Take back the last answer, if there is one, and ask again."""
        view = self.screen.view
        if view.running:
            return self.refuse("it is running; interrupt it first")
        if busy := self.busy_with():
            return self.refuse(busy)
        asked = next((block for block in reversed(view.blocks) if isinstance(block, UserBlock)), None)
        if asked is None:
            return self.refuse("there is nothing to send again")
        if self.cannot_go_on():
            self.screen.send(RewindTo(to_seq=asked.seq))
        self.screen.send(Continue())
        return self.done("asks again (files stay as they are)")

    def cycle_mode(self, _key: str) -> bool:
        meters = self.screen.view.meters
        mode = MODES[(MODES.index(meters.mode) + 1) % len(MODES)]
        self.screen.send(SetMode(mode=mode))
        return self.done(MODE_MEANS[mode])

    def cycle_confirm(self, _key: str) -> bool:
        meters = self.screen.view.meters
        confirm = CONFIRMS[(CONFIRMS.index(meters.confirm) + 1) % len(CONFIRMS)]
        self.screen.send(SetMode(confirm=confirm))
        return self.done(CONFIRM_MEANS[confirm])

    def compact(self, _key: str) -> bool:
        return self.compact_with("")

    def compact_with(self, keep: str) -> bool:
        """Summarise older exchanges now; ``keep`` says what the summary must not lose."""
        if self.screen.view.running:
            return self.refuse("it runs, and makes room by itself when it has to")
        if busy := self.busy_with():
            return self.refuse(busy)
        self.compacting = True
        self.screen.send(Compact(keep=keep))
        return self.done("older exchanges, if there are any, are being summarised")

    def apply_plan(self, _key: str) -> bool:
        """After a dry run: the same session goes on for real, and does what was only recorded."""
        if self.screen.view.running:
            return self.refuse("it is running; interrupt it first")
        if not self.app.apply_dry_run():
            return self.refuse("this is no dry run: everything was done for real")
        return self.done("goes on for real")

    def veto(self, _key: str) -> bool:
        """Take back the steps that the model gave itself."""
        veto = self.screen.view.run.veto
        if veto is None:
            return self.refuse("the model has not asked for more steps")
        self.screen.send(SetLimit(limit="max_steps", value=veto.before))
        return self.done(f"back to {veto.before} steps")
