"""A scrolling view of a roll: keeps its place, follows the end, paints rows in view, and lets text be selected.

It uses names of Textual that are private (``_size_updated``, ``_selecting``, ``_select_state``): Textual is pinned, and
tests hold what they are used for. Its own thumb replaces Textual's scroll bar, which took a quarter of the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import SelectEnd, Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_agent.ui.blocks import Block
from tui_agent.ui.render import overlay
from tui_agent.ui.render.cells import spaces
from tui_agent.ui.render.lines import Ink, Line, Page, Palette
from tui_agent.ui.render.roll import Anchor, Place, Roll
from tui_agent.ui.render.selecting import position, selected_text

BEAT = 0.5
"""Seconds between the two looks of the mark of something that runs."""
THUMB = "▐"


class RollView(ScrollView, can_focus=False):
    """Rows of a roll, painted a line at a time; ``_draw`` after every change of it."""

    DEFAULT_CSS = """
    RollView {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 0;
    }
    """

    def __init__(
        self, theme: Palette, clock: Callable[[], float], *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.theme = theme
        self.reduced_motion = False
        self._page = Page(80, Ink(theme, Style()))
        self._roll = Roll(self._page, clock)
        self._following = True
        self._anchor: Anchor | None = None
        self._anchor_row = 0
        """The row of the screen on which the anchor stays."""
        self._moving = False
        self._beat: Timer | None = None
        self._bright = True
        self._dragging = False
        self._filters: Sequence[LineFilter] = ()
        self._blanks: dict[bool, Strip] = {}
        self._colour = Color(0, 0, 0)
        """The ground, as filters want it."""

    def on_mount(self) -> None:
        """Start the pulse, which rests while nothing runs."""
        self._beat = self.set_interval(BEAT, self._pulse, pause=True)
        self._reflow()
        self._draw()

    # ---- scrolling

    @property
    def following(self) -> bool:
        """Whether the view sticks to the bottom."""
        return self._following

    def scroll_top(self) -> None:
        """Go to the first line."""
        self._go(0)

    def scroll_bottom(self) -> None:
        """Go to the last line and follow."""
        self._following, self._anchor = True, None
        self._draw()

    def scroll_page(self, pages: float) -> None:
        """Go ``pages`` screens down (negative: up), one line short of a screen so that the eye finds its place."""
        self._go(self._top + round(pages * max(self.size.height - 1, 1)))

    @property
    def _top(self) -> int:
        return round(self.scroll_y)

    def _show_row(self, row: int) -> None:
        """Scroll if a row is out of view, so that it stands in the upper third."""
        height = self.size.height
        if not self._top <= row < self._top + height:
            self._go(row - height // 3)

    def _go(self, top: int) -> None:
        """Put a row at the top, or as near as the ends allow."""
        height = self.size.height
        top = self._roll.settle(max(top, 0), height)
        if top >= self._roll.total - height:
            self._following, self._anchor = True, None
        else:
            self._keep(self._roll.anchor(top), 0)
        self._draw()

    def _keep(self, anchor: Anchor | None, row: int) -> None:
        """From now on what the anchor names stays on this row of the screen."""
        self._following = False
        self._anchor, self._anchor_row = anchor, row

    def _draw(self) -> None:
        """Measure what is in view, set the scroll position and paint."""
        height = self.size.height
        if not height or not self.is_attached:
            return
        top = self._settled_top(height)
        if top >= self._roll.total - height:
            top = self._roll.settle_end(height)
            self._following, self._anchor = True, None
        elif self._anchor is None or self._anchor_row:
            self._keep(self._roll.anchor(top), 0)
        size = Size(self.size.width, self._roll.total)
        if size != self.virtual_size:
            # Its own setter would lay out the screen.
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]
        self._moving = True
        self.scroll_target_y = self.scroll_y = float(top)
        self._moving = False
        self._drawn()
        self.refresh()

    def _settled_top(self, height: int) -> int:
        if self._following:
            return self._roll.settle_end(height)
        row = self._roll.row(self._anchor) if self._anchor is not None else None
        top = self._top if row is None else row - self._anchor_row
        return self._roll.settle(max(top, 0), height)

    def _drawn(self) -> None:
        """The view shows other rows than before."""
        if self._beat is not None:
            runs = any(self._is_running(place) for place in self._places())
            (self._beat.resume if runs else self._beat.pause)()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Textual scrolled (wheel, a drag at the edge): what stands at the top now is what stays."""
        if self._moving or round(old_value) == round(new_value):
            return
        self._go(round(new_value))
        if self.is_attached and self.screen._selecting:  # pyright: ignore[reportPrivateUsage]
            self.call_later(self._extend_selection)

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        before = self._size
        self._moving = True
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        self._moving = False
        if size != before:
            if size.width != before.width:
                self._reflow()
            self._draw()
        return changed

    def _places(self) -> list[Place]:
        return self._roll.window(self._top, self.size.height)

    def _last_in_view(self) -> int:
        places = self._places()
        return places[-1].entry if places else -1

    def _title_row(self, block: Block) -> int | None:
        return self._roll.row(Anchor(block, 0, 0, 0))

    # ---- looks

    def set_theme(self, theme: Palette) -> None:
        """Paint with another theme from now on; the view stays where it is."""
        self.theme = theme
        self._repaint()

    def notify_style_update(self) -> None:
        """The style sheet may have changed the ground."""
        super().notify_style_update()
        if self.is_attached and self._ground != self._page.ink.ground:
            self._repaint()

    @property
    def _ground(self) -> Style:
        return Style(bgcolor=self.rich_style.bgcolor)

    def _new_page(self) -> Page:
        self._blanks.clear()
        self._colour = self.background_colors[1]
        self._page = Page(max(self.size.width - 1, 1), Ink(self.theme, self._ground))
        return self._page

    def _reflow(self) -> None:
        self._roll.reflow(self._new_page())

    def _repaint(self) -> None:
        self._roll.repaint(self._new_page())
        self.refresh()

    # ---- painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Finished strips, kept with their rows, so that scrolling does not render a line twice.

        Textual's own way would style and copy every line on every frame.
        """
        filters = self.get_line_filters()
        if filters != self._filters:
            self._filters = filters
            self._repaint()
        places = self._places()
        thumb = self._thumb()
        strips = [self._strip(places[y] if y < len(places) else None, y in thumb) for y in crop.line_range]
        if crop.column_span != (0, self._page.cells + 1):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _thumb(self) -> range:
        """The rows beside which the thumb stands."""
        height, total = self.size.height, self._roll.total
        if total <= height or not height:
            return range(0)
        size = max(height * height // total, 1)
        start = round(self._top * (height - size) / max(total - height, 1))
        return range(start, start + size)

    def _strip(self, place: Place | None, thumb: bool) -> Strip:
        if place is None or place.row is None:
            blank = self._blanks.get(thumb)
            if blank is None:
                ground = Segment(spaces(self._page.cells), self._page.ink.mix())
                blank = self._blanks[thumb] = self._finished([ground], thumb)
            return blank
        row = place.row
        over = self._overlaid(row.strip, place)
        if over is not row.strip:
            return self._finished(list(over), thumb)
        strip = row.painted.get(thumb)
        if strip is None:
            strip = row.painted[thumb] = self._finished(list(row.strip), thumb)
        return strip

    def _finished(self, segments: list[Segment], thumb: bool) -> Strip:
        """Add the last column and apply the filters of the app (NO_COLOR, terminal colours)."""
        ink = self._page.ink
        segments.append(Segment(THUMB, ink.mix("scrollbar-thumb")) if thumb else Segment(" ", ink.mix()))
        strip = Strip(segments, self._page.cells + 1)
        for line_filter in self._filters:
            strip = strip.apply_filter(line_filter, self._colour)
        return strip

    def _line(self, place: Place) -> Line:
        """The logical line of a place that has a row."""
        assert place.row is not None
        return self._roll.parts(place.entry)[place.part].lines[place.row.line]

    def _overlaid(self, strip: Strip, place: Place) -> Strip:
        """What lies over a row now; the very same strip if nothing does."""
        assert place.row is not None
        row = place.row
        if not self._bright and place.part == 0 and row.line == 0 and self._is_running(place):
            strip = overlay.restyle(strip, row.lead, row.lead + 1, self._page.ink.overlay("context"))
        selection = self.text_selection
        if selection is not None:
            span = selection.get_span(position(place.entry, place.part, row.line))
            if span is not None and (span[1] < 0 or span[1] > span[0]):
                start, end = span[0], span[1] if span[1] >= 0 else row.end
                cells = overlay.cells_of(row, self._line(place), start, end)
                strip = overlay.restyle(strip, *cells, self._page.ink.overlay("selection"))
        return strip

    # ---- what runs

    def _is_running(self, place: Place) -> bool:
        return self._roll.entries[place.entry].block.live and place.part == 0

    def _pulse(self) -> None:
        """Show that something runs, and for how long, only where it is in view."""
        self._bright = self.reduced_motion or not self._bright
        for y, place in enumerate(self._places()):
            if place.row is not None and place.row.line == 0 and self._is_running(place):
                self._roll.update(place.entry)
                self.refresh(Region(0, y, self.size.width, 1))

    # ---- selecting

    @property
    def allow_select(self) -> bool:
        """Text can be selected, though this is a container to Textual."""
        return True

    def render_line(self, y: int) -> Strip:
        """One row for Textual's hit tests only: which character of which line stands where."""
        places = self._roll.window(self._top + y, 1)
        cells = self._page.cells
        if not places:
            return self._end_of_roll(cells)
        place = places[0]
        row = place.row
        if row is None:
            offset = Style.from_meta({"offset": (0, position(place.entry, 0, 0))})
            return Strip([*(Segment(" ", offset) for _ in range(cells))], cells)
        line = self._line(place)
        where = position(place.entry, place.part, row.line)
        lead = Style.from_meta({"offset": (row.start, where)})
        segments = [Segment(" ", lead) for _ in range(row.lead)]
        text = row.strip.crop(row.lead, row.used).text if line.whole else line.text[row.start : row.end]
        segments.append(Segment(text, lead))
        return Strip(segments)

    def _end_of_roll(self, cells: int) -> Strip:
        """Below the last row: the end of the last line."""
        last = len(self._roll.entries) - 1
        if last < 0:
            return Strip.blank(cells)
        parts = self._roll.parts(last)
        lines = parts[-1].lines if parts else ()
        where = position(last, max(len(parts) - 1, 0), max(len(lines) - 1, 0))
        offset = Style.from_meta({"offset": (len(lines[-1].text) if lines else 0, where)})
        return Strip([*(Segment(" ", offset) for _ in range(cells))], cells)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """The source of what is selected, in view or not."""
        return "".join(selected_text(self._roll, selection)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002
        """Paint it."""
        self.refresh()

    def _extend_selection(self) -> None:
        """Textual keeps the old end while it scrolls during a drag inside one widget: look the pointer up again."""
        screen: Any = self.screen
        state = screen._select_state
        if state is None or not screen._selecting or state.start.content_widget is not self:
            return
        widget, offset = screen.get_widget_and_offset_at(*state.screen_offset)
        if widget is self and offset is not None and isinstance(self.parent, Widget):
            screen._select_state = state.update_end(state.screen_offset, SelectEnd(self.parent, self, offset))

    # ---- the thumb

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take the thumb."""
        if event.x >= self._page.cells and self._roll.total > self.size.height:
            self.screen.clear_selection()
            self.capture_mouse()
            self._dragging = True
            self._drag(event.y)
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Move the thumb."""
        if self._dragging:
            self._drag(event.y)
            event.stop()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let the thumb go."""
        if self._dragging:
            self._dragging = False
            self.release_mouse()
            event.stop()

    def _drag(self, y: float) -> None:
        height = self.size.height
        size = len(self._thumb())
        share = (y - size / 2) / max(height - size, 1)
        self._go(round(min(max(share, 0.0), 1.0) * (self._roll.total - height)))
