"""What every group of actions has: its screen, its table, and two ways to answer a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp
    from tui_agent.ui.screens.stage import StageScreen

Action = Callable[[str], bool]
"""Does something for the key that asked for it; False: it does not apply now, and the next meaning of the key counts."""
Table = dict[str, Action]


S = TypeVar("S", bound="StageScreen")


class Group(Generic[S]):
    """Base of the groups."""

    def __init__(self, screen: S) -> None:
        self.screen = screen

    @property
    def app(self) -> TuiAgentApp:
        """The app, for what is not this screen's: the clipboard, the other screens, the clock."""
        return self.screen.owner

    def table(self) -> Table:
        """Actions by id."""
        raise NotImplementedError

    def contexts(self) -> list[str]:
        """Contexts of the keymap that hold because of this group."""
        return []

    def done(self, text: str) -> bool:
        """Say what was done."""
        self.screen.say(text)
        return True

    def refuse(self, why: str) -> bool:
        """Say why nothing was done; the key is taken nevertheless."""
        self.screen.say(why)
        return True
