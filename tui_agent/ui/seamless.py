"""From the hand-painted first frame to the real screen, without a seam."""

from __future__ import annotations

from typing import Any, TypeVar

from textual.driver import Driver

from tui_agent.ui.firstframe import FirstFrame
from tui_agent.ui.terminal import TerminalApp

OTHER_SCREEN = "\x1b[?1049h"

R = TypeVar("R")


class SeamlessApp(TerminalApp[R], inherit_bindings=False):
    """An app that may find the first frame on the terminal. Textual's own keys are left out: its ctrl+q would not save."""

    def __init__(self, first: FirstFrame | None, *args: Any, **kwargs: Any) -> None:
        self.first = first
        super().__init__(*args, **kwargs)

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver; where the first frame is painted already, it does not change to the other screen again."""
        found, first = super().get_driver_class(), self.first
        if first is None or not first.painted:
            return found

        class Onward(found):
            """Entering the other screen twice would lose where the cursor was on the first."""

            def write(self, data: str) -> None:
                super().write(data.replace(OTHER_SCREEN, "") if first.painted else data)

        return Onward

    def cover_first_frame(self) -> None:
        """The driver puts back the line's settings that it found; tell it those before the hand-painted frame."""
        first, driver = self.first, self._driver
        if first is not None and first.settings is not None and driver is not None:
            first.covered()
            driver.attrs_before = first.settings  # pyright: ignore[reportAttributeAccessIssue]
