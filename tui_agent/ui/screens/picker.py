"""A list with a search line and, where there is room, a preview: models, sessions, themes, history, commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rapidfuzz import fuzz
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.css.scalar import Scalar

from tui_agent.ui.render import cells
from tui_agent.ui.render.lines import Palette
from tui_agent.ui.screens.overlay import Overlay
from tui_agent.ui.widgets.columns import GAP, Cells, Widths, line_of, natural, squeezed
from tui_agent.ui.widgets.row import Line, Rows, Span

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

T = TypeVar("T")
ENOUGH = 55
"""Score (0–100) from which an item counts as found."""
TALLEST = 28
"""Rows of a list, however many there are."""
PREVIEW_ROWS = 14
"""Rows that a preview gets beside a list that is shorter."""
NARROWEST, WIDEST = 64, 130
"""Columns of the box: as wide as its rows between these, all of it where there is a preview."""
LEAD = 2
"""Cells before a row's text, for the mark of the chosen one."""


@dataclass(slots=True, frozen=True)
class Item(Generic[T]):
    """One row in columns (``Cells``), and what it stands for. ``off`` says why it can't be chosen."""

    text: str
    value: T
    what: str = ""
    numbers: tuple[str, ...] = ()
    note: str = ""
    mark: str = ""
    role: str = "text"
    search: str = ""
    off: str = ""

    @property
    def cells(self) -> Cells:
        """What stands in the columns."""
        return Cells(self.text, self.off or self.what, self.numbers, self.note)


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


class Pane(Rows):
    """Rows that are made for the size that they get."""

    def __init__(self, palette: Palette, draw: Callable[[], None], *, id: str) -> None:
        super().__init__(palette, id=id)
        self._draw = draw

    def on_resize(self) -> None:
        """Draw what fits now."""
        self._draw()


class PickerScreen(Overlay["Choice[T] | None"], Generic[T]):
    """Type to search, enter to choose. ``preview`` draws the marked item, ``moved`` hears of it."""

    DEFAULT_CSS = """
    PickerScreen > Vertical { width: 90%; height: auto; border: round $border; background: $background; padding: 0 1; }
    PickerScreen Rows { height: 1; }
    PickerScreen Horizontal { height: 1; }
    PickerScreen #picker-list { height: 1fr; width: 3fr; }
    PickerScreen #picker-preview { height: 1fr; width: 2fr; display: none; border-left: vkey $border-blurred; padding: 0 0 0 1; }
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
        self._wish: Widths | None = None
        self._said = ""
        if marked is not None:
            self.at = next((index for index, item in enumerate(self.shown) if item.value == marked), 0)
        palette = app.palette
        self._head = Rows(palette, id="picker-title")
        self._list = Pane(palette, self.draw, id="picker-list")
        self._side = Pane(palette, self.draw, id="picker-preview")
        self._foot = Pane(palette, self.draw, id="picker-footer")

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
        self.query_one(Horizontal).set_class(self.has_preview, "-wide")
        self.call_after_refresh(self.draw)

    @property
    def has_preview(self) -> bool:
        """Whether the marked item is shown beside the list."""
        return self._preview is not None and self.size.width >= self.PREVIEW_FROM

    @property
    def marked(self) -> Item[T] | None:
        """The item under the mark."""
        return self.shown[self.at] if 0 <= self.at < len(self.shown) else None

    def replace(self, items: Sequence[Item[T]], title: str = "") -> None:
        """Other items, the query and as far as possible the mark kept."""
        marked = self.marked
        self.items, self._title, self._wish = items, title or self._title, None
        self.shown = matching(items, self.query_text)
        if marked is not None:
            same = (index for index, item in enumerate(self.shown) if self.is_same(item.value, marked.value))
            self.at = next(same, 0)
        self.draw()

    def is_same(self, one: T, other: T) -> bool:
        """Whether two values stand for one thing, so that the mark stays on it."""
        return one == other

    def set_palette(self, palette: Palette) -> None:
        """Paint with another theme from now on."""
        for rows in self.query(Rows):
            rows.set_palette(palette)

    # ---- keys

    def perform(self, action: str, key: str) -> bool:  # noqa: ARG002
        self._said = ""
        page = max(self.tall - 1, 1)
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
        """Say something below the list, until the next key."""
        self._said = why
        self.draw()

    @property
    def takes_text(self) -> bool:
        """Whether letters are text now, not keys."""
        return True

    @property
    def typed_text(self) -> str:
        """What keys and pastes change."""
        return self.query_text

    def typed(self, event: events.Key) -> bool:
        self._said, text = "", self.typed_text
        if not self.takes_text:
            return True
        if event.is_printable and event.character:
            self.search(text + event.character)
        elif event.key == "backspace":
            self.search(text[:-1])
        elif event.key in {"ctrl+w", "ctrl+backspace"}:
            self.search(text.rstrip().rpartition(" ")[0])
        elif event.key == "ctrl+u":
            self.search("")
        else:
            return False
        return True

    def on_paste(self, event: events.Paste) -> None:
        """A paste goes where keys go."""
        if self.takes_text and event.text.strip():
            self.search(self.typed_text + event.text.strip().splitlines()[0])

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

    @property
    def tall(self) -> int:
        """Rows of the list: as many as there are items, as far as they fit; a search makes it no shorter."""
        wish = max(len(self.items), PREVIEW_ROWS if self.has_preview else 1)
        return max(min(wish, TALLEST, self.size.height * 9 // 10 - 4), 1)

    def _fit(self) -> None:
        """Make the box as large as what is in it."""
        wish = self._wish = self._wish or natural(item.cells for item in self.items)
        marks = 2 if any(item.mark for item in self.items) else 0
        rows = LEAD + marks + wish.total + GAP
        wide = WIDEST if self.has_preview else min(max(rows, len(self.footer()), NARROWEST), WIDEST - 4) + 4
        box = self.query_one(Vertical).styles
        width = min(wide, self.size.width * 9 // 10)
        middle = self.query_one(Horizontal).styles
        if (box.width, middle.height) != (Scalar.from_number(width), Scalar.from_number(self.tall)):
            box.width, middle.height = width, self.tall

    def draw(self) -> None:
        """Paint the list round the mark, and the preview."""
        if not self.is_attached or not self.size.width:
            return
        self._fit()
        height, found = self.tall, len(self.shown)
        count = f"{found:,} of {len(self.items):,}" if self.query_text else ""
        if not count and len(self.items) > height:
            count = f"{len(self.items):,}"
        self._head.show([([(self._title, "title"), (f"  {count}", "dim")], self.search_spans())])
        top = min(max(self.at - height // 2, 0), max(found - height, 0))
        marks = 2 if any(item.mark for item in self.items) else 0
        widths = squeezed(self._wish or Widths(), self._list.size.width - LEAD - marks - 1)
        rows = [
            self._row(item, widths, marked=index == self.at, marks=marks)
            for index, item in enumerate(self.shown[top : top + height], top)
        ]
        self._list.show(rows or [([(self._empty, "dim")], [])])
        self._foot.show(self.foot_lines())
        marked = self.marked
        if self._preview is not None and self._side.size.width and marked is not None:
            self._side.show(self._preview(marked.value, self._side.size.width, height))
        else:
            self._side.show([])

    def search_spans(self) -> list[Span]:
        """What is searched for, on the right of the title."""
        if self.query_text:
            return search_line("/", self.query_text)
        return [("type to search", "dim")] if self.takes_text else []

    def footer(self) -> str:
        """The keys, below the list."""
        return self._footer or "enter chooses · esc closes"

    def foot_lines(self) -> list[Line]:
        """What was just said, else the keys; where it is narrow the last of them, which closes, still stands."""
        if self._said:
            return [([(self._said, "warn")], [])]
        parts = self.footer().split(" · ")
        while len(parts) > 2 and cells.width(" · ".join(parts)) > max(self._foot.size.width, 1):
            del parts[-2]
        return [([(" · ".join(parts), "dim")], [])]

    def _row(self, item: Item[T], widths: Widths, *, marked: bool, marks: int) -> Line:
        role = "dim" if item.off else item.role
        lead: list[Span] = [("▸ " if marked else "  ", "accent")]
        if marks:
            lead.append((cells.pad(item.mark, marks), item.role))
        return line_of(item.cells, widths, lead, "cursor" if marked and not item.off else role)


def search_line(label: str, text: str) -> list[Span]:
    """A line that is being typed, with its caret."""
    return [(f"{label} ", "dim"), (text, "text"), ("▏", "accent")]
