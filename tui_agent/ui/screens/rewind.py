"""Going back: a list of what was asked; the conversation from one of them on is taken back, files stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from tui_agent.ui import words
from tui_agent.ui.screens.picker import Item, PickerScreen
from tui_agent.ui.widgets.row import Line

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp


@dataclass(slots=True, frozen=True)
class Point:
    """A message to go back to before. ``seq`` is its event, ``at`` Unix time."""

    seq: int
    text: str
    at: float
    whole: str


class RewindScreen(PickerScreen[Point]):
    """The newest message first. The preview says what would be taken back."""

    contexts: ClassVar[Sequence[str]] = ("rewind",)

    def __init__(self, app: TuiAgentApp, points: Sequence[Point], files: Mapping[str, int]) -> None:
        self._files = files
        items = [
            Item(
                point.text,
                point,
                numbers=(datetime.fromtimestamp(point.at).astimezone().strftime("%H:%M"),),
                search=point.whole,
            )
            for point in points
        ]
        super().__init__(
            app, "go back to before", items, preview=self._changes,
            footer="enter takes the conversation back, files stay · f goes on in a copy · esc closes",
        )  # fmt: skip

    @property
    def takes_text(self) -> bool:
        """Letters are keys here, there is no search."""
        return False

    def _changes(self, point: Point, _width: int, height: int) -> list[Line]:
        later = [path for path, seq in self._files.items() if seq >= point.seq]
        lines: list[Line] = [
            ([(line, "text")], []) for line in point.whole.splitlines()[: max(height - len(later) - 3, 1)]
        ]
        lines += [
            ([], []),
            ([(f"{words.count(len(later), 'file')} changed since; they stay as they are", "dim")], []),
        ]
        return [*lines, *(([(f"  {path}", "text")], []) for path in later[:height])]
