"""A list with a search line and, where there is room, a preview: models, sessions, themes, history, commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rapidfuzz import fuzz
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tui_agent.ui.screens.overlay import Overlay
from tui_agent.ui.widgets.row import Line, Rows, Span

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

T = TypeVar("T")
ENOUGH = 55
"""Score (0–100) from which an item counts as found."""


@dataclass(slots=True, frozen=True)
class Item(Generic[T]):
    """One row: what it is, a note on its right, and what it stands for. ``off`` says why it can't be chosen."""

    text: str
    value: T
    note: str = ""
    mark: str = ""
    role: str = "text"
    search: str = ""
    off: str = ""


def matching(items: Sequence[Item[T]], query: str) -> list[Item[T]]:
    """Items that fit the query, the best first; in their own order without one."""
    needle = query.casefold().strip()
    if not needle:
        return list(items)
    scored: list[tuple[float, int, Item[T]]] = []
    for index, item in enumerate(items):
        text = f"{item.text} {item.search}".casefold()
        score = 200.0 if needle in text else fuzz.partial_ratio(needle, text)
        if needle not in text and not all(part in text for part in needle.split()):
            score = min(score, fuzz.WRatio(needle, item.text.casefold()))
        if score >= max(ENOUGH, 90 - 5 * len(needle)) or needle in text:
            scored.append((-score, index, item))
    return [item for _, _, item in sorted(scored, key=lambda row: row[:2])]


@dataclass(slots=True)
class Choice(Generic[T]):
    """What was chosen, and by which action (``picker.choose``, ``sessions.fork``…)."""

    value: T
    action: str = "picker.choose"
    query: str = field(default="")


class PickerScreen(Overlay["Choice[T] | None"], Generic[T]):
    """Type to search, enter to choose. ``preview`` draws the marked item, ``moved`` hears of it."""

    DEFAULT_CSS = """
    PickerScreen > Vertical { width: 90%; max-width: 130; height: 70%; max-height: 32; border: round $border; background: $background; padding: 0 1; }
    PickerScreen Rows { height: 1; }
    PickerScreen Horizontal { height: 1fr; }
    PickerScreen #picker-list { height: 1fr; width: 1fr; }
    PickerScreen #picker-preview { height: 1fr; width: 1fr; display: none; }
    PickerScreen .-wide #picker-preview { display: block; }
    """

    contexts: ClassVar[Sequence[str]] = ("picker",)
    PREVIEW_FROM = 90
    """Columns from which the preview has room."""

    def __init__(
        self,
        app: TuiAgentApp,
        title: str,
        items: Sequence[Item[T]],
        *,
        marked: T | None = None,
        preview: Callable[[T, int, int], Sequence[Line]] | None = None,
        moved: Callable[[T], None] | None = None,
        footer: str = "",
        empty: str = "nothing found",
        query: str = "",
    ) -> None:
        super().__init__(app)
        self.items = items
        self.query_text = query
        self.at = 0
        self._title, self._footer, self._empty = title, footer, empty
        self._preview, self._moved = preview, moved
        self.shown: list[Item[T]] = matching(items, query)
        if marked is not None:
            self.at = next((index for index, item in enumerate(self.shown) if item.value == marked), 0)
        palette = app.palette
        self._head = Rows(palette, id="picker-title")
        self._list = Rows(palette, id="picker-list")
        self._side = Rows(palette, id="picker-preview")
        self._foot = Rows(palette, id="picker-footer")

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self._head
            with Horizontal():
                yield self._list
                yield self._side
            yield self._foot

    def on_mount(self) -> None:
        """Draw once the size is known."""
        self.call_after_refresh(self.draw)

    def on_resize(self) -> None:
        """The preview comes and goes with the width."""
        self.set_class(self._preview is not None and self.size.width >= self.PREVIEW_FROM, "-wide")
        self.query_one(Horizontal).set_class(
            self._preview is not None and self.size.width >= self.PREVIEW_FROM, "-wide"
        )
        self.call_after_refresh(self.draw)

    @property
    def marked(self) -> Item[T] | None:
        """The item under the mark."""
        return self.shown[self.at] if 0 <= self.at < len(self.shown) else None

    def replace(self, items: Sequence[Item[T]], title: str = "") -> None:
        """Other items, the query and as far as possible the mark kept."""
        marked = self.marked
        self.items, self._title = items, title or self._title
        self.shown = matching(items, self.query_text)
        if marked is not None:
            self.at = next((index for index, item in enumerate(self.shown) if item.value == marked.value), 0)
        self.draw()

    # ---- keys

    def perform(self, action: str, key: str) -> bool:  # noqa: ARG002
        page = max(self._list.size.height - 1, 1)
        steps = {
            "next": 1,
            "previous": -1,
            "page_down": page,
            "page_up": -page,
            "first": -len(self.items),
            "last": len(self.items),
        }
        _, _, verb = action.partition(".")
        if verb in steps:
            self.move(steps[verb])
        elif verb == "close":
            self.dismiss(None)
        elif self.marked is not None and not self.marked.off:
            self.dismiss(Choice(self.marked.value, action, self.query_text))
        elif self.marked is not None:
            self.notify_off(self.marked.off)
        elif action == "picker.choose":
            self.nothing_marked()
        return True

    def nothing_marked(self) -> None:
        """Enter on an empty list; a picker that takes free text answers it."""

    def notify_off(self, why: str) -> None:
        """Say why an item can't be chosen."""
        self._foot.show([([(why, "warn")], [])])

    def typed(self, event: events.Key) -> bool:
        if event.is_printable and event.character:
            self.search(self.query_text + event.character)
        elif event.key == "backspace":
            self.search(self.query_text[:-1])
        elif event.key in {"ctrl+w", "ctrl+backspace"}:
            self.search(self.query_text.rstrip().rpartition(" ")[0])
        elif event.key == "ctrl+u":
            self.search("")
        else:
            return False
        return True

    def on_paste(self, event: events.Paste) -> None:
        """A paste goes into the search line."""
        self.search(self.query_text + event.text.splitlines()[0] if event.text else "")

    def search(self, query: str) -> None:
        """Show what fits."""
        self.query_text, self.at = query, 0
        self.shown = matching(self.items, query)
        self.draw()
        self._tell()

    def move(self, by: int) -> None:
        """Move the mark; it stops at the ends."""
        if self.shown:
            self.at = min(max(self.at + by, 0), len(self.shown) - 1)
        self.draw()
        self._tell()

    def _tell(self) -> None:
        if self._moved is not None and self.marked is not None:
            self._moved(self.marked.value)

    # ---- looks

    def draw(self) -> None:
        """Paint the list round the mark, and the preview."""
        if not self.is_attached:
            return
        count = f"{len(self.shown)} of {len(self.items)}" if self.query_text else f"{len(self.items)}"
        right: list[Span] = [("/ ", "dim"), (self.query_text, "text"), ("▏", "accent")]
        self._head.show([([(self._title, "title"), (f"  {count}", "dim")], right)])
        height = max(self._list.size.height, 1)
        top = min(max(self.at - height // 2, 0), max(len(self.shown) - height, 0))
        rows = [
            self._row(item, index == self.at)
            for index, item in enumerate(self.shown[top : top + height], top)
        ]
        self._list.show(rows or [([(self._empty, "dim")], [])])
        self._foot.show([([(self._footer or "enter chooses · esc closes", "dim")], [])])
        marked = self.marked
        if self._preview is not None and self._side.size.width and marked is not None:
            self._side.show(self._preview(marked.value, self._side.size.width, self._side.size.height))
        else:
            self._side.show([])

    def _row(self, item: Item[T], marked: bool) -> Line:
        role = "dim" if item.off else item.role
        left: list[Span] = [("▸ " if marked else "  ", "accent")]
        if item.mark:
            left.append((f"{item.mark} ", item.role))
        left.append((item.text, "cursor" if marked and not item.off else role))
        return left, [(item.off or item.note, "dim"), (" ", "text")]
