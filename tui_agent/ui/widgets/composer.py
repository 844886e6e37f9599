"""Where a person writes: a text area that keeps the order of keys, whole characters, pastes and drafts."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Location, Selection, TextAreaTheme

from tui_agent.ui.drafts import Draft, History
from tui_agent.ui.pastes import Pastes, must_fold, normalise
from tui_agent.ui.render import cells
from tui_agent.ui.render.lines import Palette

SHOWN = {
    **{code: 0x2400 + code for code in range(0x20) if code != 0x09},
    0x7F: 0x2421,
    **dict.fromkeys(
        (*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C), 0xFFFD
    ),
}
"""One visible character for each that would act on the terminal, so that columns stay where they are."""


class Composer(TextArea):
    """The composer. ``route`` is asked first for every key; what it does not take edits the text, in the order typed.

    Textual runs a widget's bindings only after a key has bubbled to the app, while printable keys act at once, so a
    fast burst of both is reordered. Here every key is done inside ``on_key``.
    """

    DEFAULT_CSS = """
    Composer { height: auto; min-height: 3; max-height: 33vh; border: round $border; padding: 0 1; scrollbar-size-vertical: 1; }
    Composer:focus { border: round $border; }
    """

    BINDINGS: ClassVar[list[str]] = []  # pyright: ignore[reportIncompatibleVariableOverride]

    EDITING: ClassVar[dict[str, tuple[str, bool]]] = {
        **{
            key: (name, selecting)
            for plain, name in {
                "up": "cursor_up", "down": "cursor_down", "left": "cursor_left", "right": "cursor_right",
                "ctrl+left": "cursor_word_left", "ctrl+right": "cursor_word_right",
                "home": "cursor_line_start", "end": "cursor_line_end",
            }.items()
            for key, selecting in ((plain, False), (f"shift+{plain}".replace("shift+ctrl+", "ctrl+shift+"), True))
        },
        "ctrl+a": ("cursor_line_start", False), "ctrl+e": ("cursor_line_end", False),
        "alt+b": ("cursor_word_left", False), "alt+f": ("cursor_word_right", False),
        "backspace": ("delete_left", False), "delete": ("delete_right", False), "ctrl+h": ("delete_left", False),
        "ctrl+w": ("delete_word_left", False), "ctrl+backspace": ("delete_word_left", False),
        "alt+backspace": ("delete_word_left", False), "alt+delete": ("delete_word_right", False),
        "alt+d": ("delete_word_right", False), "ctrl+u": ("delete_to_start_of_line", False),
        "ctrl+k": ("delete_to_end_of_line", False), "ctrl+shift+k": ("delete_line", False),
        "ctrl+v": ("paste", False), "ctrl+z": ("undo", False), "ctrl+y": ("redo", False),
    }  # fmt: skip
    """Keys that edit and are no actions of the keymap: key → (text area action, extends the selection)."""

    class Edited(Message):
        """The text changed, or the caret moved."""

    def __init__(
        self, palette: Palette, route: Callable[[events.Key], bool], history: History, *, id: str = "composer"
    ) -> None:
        super().__init__(id=id, show_line_numbers=False, highlight_cursor_line=False)
        self.palette = palette
        self.history_texts = history
        self.pastes = Pastes()
        self._hint = ""
        self.typed_at = 0.0
        """When a key last went into the text (event time, seconds since boot)."""
        self.cursor_blink = False
        self.match_cursor_bracket = False
        self._route = route
        self._place: int | None = None
        self._kept = ""
        self.set_palette(palette)

    # ---- the text

    @property
    def hint(self) -> str:
        """Shown dim while there is no text."""
        return self._hint

    @hint.setter
    def hint(self, text: str) -> None:
        if text != self._hint:
            self._hint = text
            self._line_cache.clear()  # pyright: ignore[reportUnknownMemberType]
            self.refresh()

    @property
    def value(self) -> str:
        """The whole text, folded pastes included."""
        return self.pastes.expand(self.text)

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to lose."""
        return not self.text.strip()

    @property
    def draft(self) -> Draft:
        """What a drafts file keeps."""
        text = self.text if self._place is None else self._kept
        return Draft(text, self.pastes.used(text))

    def restore(self, draft: Draft) -> None:
        """Put a saved draft back."""
        self.pastes.restore(draft.pastes)
        self.set_text(draft.text)

    def set_text(self, text: str) -> None:
        """Replace the text; undo brings the old one back. The caret goes to the end."""
        self._place = None
        self._put(self._tame(text))

    def take(self) -> str:
        """The whole text, remembered for ↑; what was being written before ↑ comes back, else the composer is empty."""
        value = self.value
        kept = "" if self._place is None else self._kept
        self.history_texts.add(value.strip("\n"))
        self._place, self._kept = None, ""
        self.text = kept
        self.move_cursor(self.document.end)
        return value

    def put_back(self, text: str) -> None:
        """Text that returns (a queued message) goes before what is being written."""
        self.set_text(f"{text}\n\n{self.text}" if self.text.strip() else text)

    def stash(self) -> None:
        """Clear the text; ↑ finds it."""
        self.take()

    def insert_text(self, text: str) -> None:
        """Insert at the caret, replacing what is selected."""
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def expand_paste(self) -> bool:
        """Show the folded paste at the caret as text; True if there was one."""
        row, column = self.cursor_location
        for start, end, text in self.pastes.tokens(self.document.get_line(row)):
            if start <= column <= end:
                self.replace(text, (row, start), (row, end), maintain_selection_offset=False)
                return True
        return False

    # ---- what was sent before

    def older(self) -> bool:
        """The sent text before the shown one; True if there was one."""
        place = len(self.history_texts.items) if self._place is None else self._place
        if place == 0:
            return False
        if self._place is None:
            self._kept = self.text
        self._show_sent(place - 1)
        return True

    def newer(self) -> bool:
        """The sent text after the shown one, at the end what was being written; True if one was shown."""
        if self._place is None:
            return False
        if self._place + 1 >= len(self.history_texts.items):
            self._place = None
            self._put(self._kept)
        else:
            self._show_sent(self._place + 1)
        return True

    @property
    def at_top(self) -> bool:
        """Whether the caret is on the first row."""
        return self.navigator.is_first_wrapped_line(self.cursor_location)

    @property
    def at_bottom(self) -> bool:
        """Whether the caret is on the last row."""
        return self.navigator.is_last_wrapped_line(self.cursor_location)

    def _show_sent(self, place: int) -> None:
        self._place = place
        self._put(self._tame(self.history_texts.items[place]))

    def _tame(self, text: str) -> str:
        """Fold what would be slow or unsafe as text."""
        bare = self.pastes.expand(text)
        if bare != text:
            return text
        return self.pastes.fold(text) if must_fold(text) and len(text) > 4000 else text

    def _put(self, text: str) -> None:
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end)

    # ---- keys

    async def on_key(self, event: events.Key) -> None:
        """Everything a key does happens here, so that the next one finds it done."""
        if self._route(event):
            event.stop()
            event.prevent_default()
        elif event.is_printable and event.character:
            self.typed_at = event.time
            self._insert_key(event.character)
            event.stop()
            event.prevent_default()
        elif event.key in self.EDITING:
            self.typed_at = event.time
            self._edit_key(event.key)
            event.stop()
            event.prevent_default()
        else:
            event.prevent_default()

    def _insert_key(self, character: str) -> None:
        self._place = None
        self._replace_via_keyboard(character, *self.selection)

    def _edit_key(self, key: str) -> None:
        name, selecting = self.EDITING[key]
        if selecting:
            getattr(self, f"action_{name}")(True)
        else:
            getattr(self, f"action_{name}")()

    async def _on_paste(self, event: events.Paste) -> None:
        """A paste never sends; a large one is folded. Textual's own handler would insert it again."""
        event.stop()
        event.prevent_default()
        self.typed_at = event.time
        text = normalise(event.text)
        if text:
            self._place = None
            self.insert_text(self.pastes.fold(text) if must_fold(text) else text)

    # ---- whole characters

    def _stops(self, row: int) -> list[int]:
        """Columns of a line where the caret may stand: between graphemes, never inside a folded paste."""
        line = self.document.get_line(row)
        tokens = self.pastes.tokens(line)
        stops = [start for start, _, _ in cells.graphemes(line)]
        if tokens:
            stops = [at for at in stops if not any(start < at < end for start, end, _ in tokens)]
        return [*stops, len(line)]

    def get_cursor_left_location(self) -> Location:
        """One whole character to the left."""
        row, column = self.cursor_location
        if column == 0:
            return super().get_cursor_left_location()
        return row, max((stop for stop in self._stops(row) if stop < column), default=0)

    def get_cursor_right_location(self) -> Location:
        """One whole character to the right."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if column >= len(line):
            return super().get_cursor_right_location()
        return row, min(stop for stop in self._stops(row) if stop > column)

    def get_cursor_word_left_location(self) -> Location:
        """A word to the left, a folded paste being one."""
        return self._snap(super().get_cursor_word_left_location(), down=True)

    def get_cursor_word_right_location(self) -> Location:
        """A word to the right, a folded paste being one."""
        return self._snap(super().get_cursor_word_right_location(), down=False)

    def _snap(self, location: Location, *, down: bool) -> Location:
        row, column = location
        stops = self._stops(row)
        if column in stops:
            return location
        return row, max(s for s in stops if s < column) if down else min(s for s in stops if s > column)

    def _validate_selection(self, selection: Selection) -> Selection:
        """The caret never stands inside a character, wherever a click or a vertical move puts it."""
        start, end = super()._validate_selection(selection)
        return Selection(self._snap_plain(start), self._snap_plain(end))

    def _snap_plain(self, location: Location) -> Location:
        row, _ = location
        line = self.document.get_line(row)
        if line.isascii() and "[pasted #" not in line:
            return location
        return self._snap(location, down=True)

    def _watch_selection(self, previous_selection: Selection, selection: Selection) -> None:
        super()._watch_selection(previous_selection, selection)
        self.post_message(self.Edited())

    # ---- looks

    def set_palette(self, palette: Palette) -> None:
        """Paint with another theme from now on."""
        self.palette = palette
        self.register_theme(
            TextAreaTheme(
                "composer",
                base_style=palette.style("composer"),
                selection_style=palette.style("selection"),
            )
        )
        self.theme = "composer"
        self._set_theme("composer")

    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn: control characters shown, folded pastes marked."""
        line = self.document.get_line(line_index)
        text = Text(line.translate(SHOWN), end="", no_wrap=True)
        for start, end, _ in self.pastes.tokens(line):
            text.stylize(self.palette.style("paste"), start, end)
        return text

    @property
    def _draw_cursor(self) -> bool:
        """Textual marks one code point; ``_render_line`` marks the whole character instead."""
        return False

    def _render_line(self, y: int) -> Strip:
        if not self.text and y == 0 and self.hint:
            width = self.scrollable_content_region.size.width
            hint = cells.pad(self.hint, width)
            strip = Strip(
                [Segment(hint, self.palette.style("composer") + self.palette.style("placeholder"))], width
            )
        else:
            strip = super()._render_line(y)
        return self._with_caret(strip, y)

    def _with_caret(self, strip: Strip, y: int) -> Strip:
        x, cursor_y = self._cursor_offset
        if not self.has_focus or y + self.scroll_offset.y != cursor_y:
            return strip
        row, column = self.cursor_location
        line = self.document.get_line(row)
        size = next((size for start, _, size in cells.graphemes(line[column : column + 16]) if start == 0), 1)
        end = min(x + max(size, 1), strip.cell_length)
        caret = strip.crop(x, end).apply_style(Style(reverse=True))
        return Strip.join([strip.crop(0, x), caret, strip.crop(end)])
