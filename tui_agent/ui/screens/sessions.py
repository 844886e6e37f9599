"""The list of sessions: open, replay, fork; with a preview of how each began and ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tui_agent.ui.screens.picker import PickerScreen

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp


class SessionsScreen(PickerScreen[Path]):
    """Sessions of this project, or of all; ``/`` begins a search."""

    contexts: ClassVar[Sequence[str]] = ("sessions",)

    def __init__(self, app: TuiAgentApp) -> None:
        self.everywhere = False
        super().__init__(app, "sessions", [])
