"""Base of everything that opens over a screen: keys go through the keymap, nothing types into what lies below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import events
from textual.screen import ModalScreen

from tui_agent.ui.keys import Hit, Pending, Unbound

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

T = TypeVar("T")

EVERYWHERE = frozenset({"app.quit", "agent.interrupt"})
"""Actions whose keys count whatever lies on top: nobody is locked in, and a run can always be stopped."""


class Overlay(ModalScreen[T]):
    """A modal screen whose ``contexts`` say which keys of the keymap count in it."""

    DEFAULT_CSS = """
    Overlay { align: center middle; background: $background 40%; }
    """

    BINDINGS: ClassVar[list[str]] = []  # pyright: ignore[reportIncompatibleVariableOverride]
    contexts: ClassVar[Sequence[str]] = ("page",)

    def __init__(self, app: TuiAgentApp) -> None:
        super().__init__()
        self.owner = app
        """The app, typed; ``Screen.app`` is only known once the screen is shown."""
        self.keys = app.new_resolver()
        self._outer = app.new_resolver()

    def perform(self, action: str, key: str) -> bool:
        """Do an action; False leaves the key to ``typed``."""
        raise NotImplementedError

    def typed(self, event: events.Key) -> bool:  # noqa: ARG002
        """A key that is no action here; True if it was taken."""
        return False

    def on_key(self, event: events.Key) -> None:
        """Everything a key does happens here, in the order typed."""
        found = self.keys.feed(event.key, self.contexts, event.time)
        taken = False
        if isinstance(found, Hit):
            taken = self.perform(found.action.id, event.key)
        elif isinstance(found, Pending | Unbound):
            taken = True
        else:
            beyond = self._outer.feed(event.key, ("app",), event.time)
            if isinstance(beyond, Hit) and beyond.action.id in EVERYWHERE:
                taken = self.owner.main.perform(beyond.action.id, event.key)
        if not taken:
            taken = self.typed(event)
        event.stop()
        event.prevent_default()
