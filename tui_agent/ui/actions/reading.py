"""Actions on what is shown: blocks, search, scrolling, the sidebar, the trace. None of them changes the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events

from tui_agent.core.messages import Call
from tui_agent.ui.actions.group import Action, Group, Table
from tui_agent.ui.blocks import AssistantBlock, Block, ToolBlock
from tui_agent.ui.widgets.row import Line, Span
from tui_agent.ui.widgets.sidebar import Tab

if TYPE_CHECKING:
    from tui_agent.ui.screens.stage import StageScreen


class ReadingActions(Group["StageScreen"]):
    """Where a person looks."""

    def __init__(self, screen: StageScreen) -> None:
        super().__init__(screen)
        self.searching = False
        """The search line is open."""
        self.settled = False
        """Enter was pressed in it: n and N go on."""
        self.query = ""
        self._place = (0, 0)

    def table(self) -> Table:
        transcript = self.screen.transcript
        return {
            "tools.toggle_all": self.toggle_tools,
            "reasoning.toggle": self.toggle_reasoning,
            **dict.fromkeys(("block.previous", "block.up"), self._scrolling(transcript.select_previous)),
            **dict.fromkeys(("block.next", "block.down"), self._scrolling(transcript.select_next)),
            "block.first": lambda _key: self._end_block(0),
            "block.last": lambda _key: self._end_block(-1),
            "block.leave": self.leave_block,
            "block.toggle": self._on_block(transcript.toggle),
            "block.open": self._on_block(self.open_block),
            "block.copy": self._on_block(self.copy_block),
            "block.copy_output": self._on_block(self.copy_output),
            "block.edit_file": self._on_block(self.edit_file),
            "transcript.find": self.find,
            "transcript.top": self._scrolling(transcript.scroll_top),
            "transcript.bottom": self._scrolling(transcript.scroll_bottom),
            "transcript.page_up": self._scrolling(lambda: transcript.scroll_page(-1)),
            "transcript.page_down": self._scrolling(lambda: transcript.scroll_page(1)),
            "find.next": self.next_match,
            "find.previous": self.previous_match,
            "find.close": self.close_find,
            "sidebar.toggle": self.toggle_sidebar,
            **{f"sidebar.{tab}": self._opening(tab) for tab in ("plan", "changes", "hooks", "memory")},
            "trace.toggle": self.toggle_trace,
            "reply.copy": self.copy_reply,
        }

    def contexts(self) -> list[str]:
        found = ["found" if self.settled else "find"] if self.searching else []
        if self.screen.transcript.selected is not None:
            found.append("block")
        return found

    # ---- blocks

    def _end_block(self, at: int) -> bool:
        blocks = self.screen.transcript.blocks
        if blocks:
            self.screen.transcript.select(blocks[at])
        return True

    def leave_block(self, _key: str) -> bool:
        self.screen.transcript.select(None)
        self.screen.closed_overlay()
        return True

    def _on_block(self, act: Callable[[Block], None]) -> Action:
        def run(_key: str) -> bool:
            block = self.screen.transcript.selected
            if block is None:
                return False
            act(block)
            return True

        return run

    def open_block(self, block: Block) -> None:
        """All of a block on a page of its own."""
        lines: list[Line] = [([(line, "text")], []) for line in self._whole(block).splitlines()]
        title = block.name if isinstance(block, ToolBlock) else block.kind
        self.app.show_page(title, lines, source=self._whole(block))

    def copy_block(self, block: Block) -> None:
        self.app.outside.copy(self.screen.transcript.block_source(block))
        self.screen.say("block copied")

    def copy_output(self, block: Block) -> None:
        if not isinstance(block, ToolBlock):
            self.screen.say("this block has no output: y copies its text")
            return
        self.app.outside.copy(block.text)
        self.screen.say("output copied")

    def edit_file(self, block: Block) -> None:
        """Open the file that a call is about."""
        path = self._path(block)
        if path is None:
            self.screen.say("this block is about no file")
        else:
            self.app.outside.edit_file(path)

    def copy_reply(self, _key: str) -> bool:
        for block in reversed(self.screen.view.blocks):
            if isinstance(block, AssistantBlock):
                self.app.outside.copy(block.text)
                return self.done("last answer copied")
        return self.refuse("there is no answer yet")

    def _path(self, block: Block) -> str | None:
        call: Call | None = block.call if isinstance(block, ToolBlock) else None
        path = call.arguments.get("path") if call is not None else None
        return path if isinstance(path, str) else None

    def _whole(self, block: Block) -> str:
        if not isinstance(block, ToolBlock):
            return self.screen.transcript.block_source(block)
        text = f"{block.name} {block.summary}\n\n{block.text}"
        return f"{text}\n\nthe whole output: {block.full_output}" if block.full_output else text

    def toggle_tools(self, _key: str) -> bool:
        opened = self.screen.transcript.toggle_all("tool")
        return self.done("all tool panels open" if opened else "all tool panels folded")

    def toggle_reasoning(self, _key: str) -> bool:
        opened = self.screen.transcript.toggle_all("reasoning")
        return self.done("reasoning open" if opened else "reasoning folded")

    # ---- search

    def find(self, _key: str) -> bool:
        """Open the search line; what is typed goes there until escape."""
        self.searching, self.settled = True, False
        self.screen.transcript.find(self.query)
        return True

    def typed(self, event: events.Key) -> bool:
        """A key of the search line; True if it was taken."""
        if not self.searching:
            return False
        if event.is_printable and event.character:
            self._search(self.query + event.character)
        elif event.key == "backspace":
            self._search(self.query[:-1])
        elif event.key == "ctrl+u":
            self._search("")
        else:
            return False
        return True

    def _search(self, query: str) -> None:
        self.query, self.settled = query, False
        if not self.screen.transcript.find(query):
            self._place = (0, 0)
        self.screen.refresh_rows()

    def next_match(self, _key: str) -> bool:
        self.settled = True
        self.screen.transcript.next_match()
        return True

    def previous_match(self, _key: str) -> bool:
        self.settled = True
        self.screen.transcript.previous_match()
        return True

    def close_find(self, _key: str) -> bool:
        self.leave_find()
        self.screen.closed_overlay()
        return True

    def leave_find(self) -> bool:
        """Put the search line away; False if it was not there."""
        was, self.searching, self.settled = self.searching, False, False
        if was:
            self.screen.transcript.find("")
        return was

    def found(self, index: int, total: int) -> None:
        """The transcript says where the search is."""
        self._place = (index, total)
        self.screen.refresh_rows()

    def hint_spans(self) -> list[Span]:
        """The search line, or the keys of a selected block; empty if there is neither."""
        hint = self.screen.resolver.keymap.hint
        if self.searching:
            index, total = self._place
            place = f"{index} of {total}" if total else "nothing found" if self.query else ""
            keys = "n next · N before · esc ends" if self.settled else "enter next · esc ends"
            return [("find ", "accent"), (self.query, "text"), ("▏ ", "accent"), (f"{place}  {keys}", "dim")]
        if self.screen.transcript.selected is not None:
            pairs = [
                ("block.toggle", "fold"),
                ("block.copy", "copy"),
                ("block.open", "all of it"),
                ("block.leave", "back"),
            ]
            spans: list[Span] = []
            for action, what in pairs:
                if key := hint(action):
                    spans += [(" · " if spans else "", "dim"), (key, "key"), (f" {what}", "dim")]
            return spans
        return []

    # ---- panes

    def toggle_sidebar(self, _key: str) -> bool:
        sidebar = self.screen.sidebar
        sidebar.display = not sidebar.display
        sidebar.show(self.screen.view)
        return True

    def close_sidebar(self) -> bool:
        """Escape closes a sidebar that lies over the transcript."""
        if not self.screen.sidebar.over:
            return False
        self.screen.sidebar.display = False
        return True

    def toggle_trace(self, _key: str) -> bool:
        self.screen.trace.display = not self.screen.trace.display
        self.screen.call_after_refresh(self.screen.trace.draw)
        return True

    def _opening(self, tab: Tab) -> Action:
        def run(_key: str) -> bool:
            sidebar = self.screen.sidebar
            again = bool(sidebar.display) and sidebar.tab == tab
            sidebar.display, sidebar.tab = not again, tab
            sidebar.show(self.screen.view)
            return True

        return run

    def _scrolling(self, scroll: Callable[[], object]) -> Action:
        def run(_key: str) -> bool:
            scroll()
            return True

        return run
