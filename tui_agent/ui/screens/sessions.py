"""The list of sessions: open, replay, fork, rename, export, remove; with a preview of each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from tui_agent.core.errors import AgentError
from tui_agent.sessions import log
from tui_agent.sessions.summary import SessionSummary
from tui_agent.ui import words
from tui_agent.ui.blocks import AssistantBlock, CardBlock, ToolBlock, UserBlock
from tui_agent.ui.screens.picker import Item, PickerScreen, search_line
from tui_agent.ui.widgets.row import Line, Span

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

MARKS = {
    "success": ("✓", "ok"),
    "partial": ("⏸", "warn"),
    "failed": ("✗", "error"),
    "running": ("●", "running"),
    "new": ("○", "dim"),
}
PREVIEW_BYTES = 4_000_000
"""Larger logs are not read for a preview."""
Typing = Literal["", "search", "rename"]


def when(ts: float, now: float) -> str:
    """``today 14:04``, ``Fri 17:45``, ``12 Nov``."""
    if not ts:
        return ""
    then, today = datetime.fromtimestamp(ts).astimezone(), datetime.fromtimestamp(now).astimezone()
    if then.date() == today.date():
        return then.strftime("today %H:%M")
    if today - then < timedelta(days=6):
        return then.strftime("%a %H:%M")
    return then.strftime("%d %b %Y" if then.year != today.year else "%d %b")


def row(summary: SessionSummary, now: float, *, everywhere: bool) -> Item[SessionSummary]:
    """One session as a row."""
    mark, role = MARKS[summary.status]
    cost = "$?" if summary.cost is None else words.money(summary.cost)
    changed = words.diff(summary.added, summary.removed) if summary.added or summary.removed else ""
    numbers = (when(summary.updated, now), words.count(summary.steps, "step"), cost, changed)
    what = Path(summary.cwd).name if everywhere else ""
    title = summary.title or "nothing asked yet"
    search = f"{summary.id} {summary.asked} {summary.model} {summary.cwd}"
    return Item(title, summary, what=what, numbers=numbers, mark=mark, role=role, search=search)


class SessionsScreen(PickerScreen[SessionSummary]):
    """Letters are keys; ``/`` begins a search, in titles at once and in what was said on enter."""

    contexts: ClassVar[Sequence[str]] = ("sessions",)
    PREVIEW_FROM = 110

    def __init__(self, app: TuiAgentApp) -> None:
        self.everywhere = False
        self.typing: Typing = ""
        self._sure = ""
        self._new_title = ""
        self._previews: dict[str, list[Line]] = {}
        self._rows: list[Item[SessionSummary]] = []
        super().__init__(app, "sessions", [], preview=self._look, empty="reading …")

    def on_mount(self) -> None:
        """Read the list in a thread: the first time it is long."""
        super().on_mount()
        self.load()

    def load(self) -> None:
        """Read the list again."""
        self.run_worker(self._load, group="load", exclusive=True)

    async def _load(self) -> None:
        store, project = self.owner.library.store, None if self.everywhere else self.owner.cwd
        found = await asyncio.to_thread(store.list, project)
        shown = [summary for summary in found if summary.kind != "sub_agent"]
        self._rows = [row(summary, self.owner.now(), everywhere=self.everywhere) for summary in shown]
        scope = "all projects" if self.everywhere else "this project"
        self._empty = "no session yet"
        self.replace(self._rows, f"sessions · {scope}")

    # ---- keys

    def perform(self, action: str, key: str) -> bool:
        verb = action.partition(".")[2]
        leaves = {"escape", "enter"} if self.typing == "rename" else {"escape", "enter", "up", "down"}
        if self.typing and key not in leaves:
            return False
        self._said = ""
        if verb != "remove":
            self._sure = ""
        if self.typing and verb in {"close", "resume"}:
            self._end_typing(keep=verb == "resume")
        elif verb in {"search", "scope", "rename", "remove", "export", "tree"}:
            {
                "search": self._search,
                "scope": self._scope,
                "rename": self._rename,
                "remove": self._remove,
                "export": self._export,
                "tree": self._tree,
            }[verb]()
        else:
            return super().perform(action, key)
        return True

    @property
    def takes_text(self) -> bool:
        """Only while a search or a title is typed."""
        return bool(self.typing)

    def search(self, query: str) -> None:
        """What is typed: a new title, or what is searched for."""
        if self.typing == "rename":
            self._new_title = query
            self.draw()
            return
        super().search(query)

    @property
    def typed_text(self) -> str:
        return self._new_title if self.typing == "rename" else super().typed_text

    def search_spans(self) -> list[Span]:
        return search_line("/", self.query_text) if self.typing == "search" else []

    def foot_lines(self) -> list[Line]:
        """A new title is typed below the list, where nobody takes it for a search."""
        if self.typing == "rename" and not self._said:
            return [
                (
                    search_line("new title:", self._new_title),
                    [("enter keeps it · esc leaves the old one", "dim")],
                )
            ]
        return super().foot_lines()

    def footer(self) -> str:
        if self.typing == "search":
            return "titles that fit · enter searches in what was said · esc ends"
        return "enter open · r replay · f fork · n rename · x export · d remove · t tree · tab scope · / search · esc"

    def is_same(self, one: SessionSummary, other: SessionSummary) -> bool:
        return one.id == other.id

    def _search(self) -> None:
        self.typing = "search"
        self.draw()

    def _scope(self) -> None:
        self.everywhere = not self.everywhere
        self.load()

    def _rename(self) -> None:
        if self.marked is not None:
            self.typing, self._new_title = "rename", self.marked.value.title
            self.draw()

    def _end_typing(self, *, keep: bool) -> None:
        text = self.typed_text.strip()
        typing, self.typing = self.typing, ""
        if typing == "rename":
            marked = self.marked
            if keep and marked is not None and text:
                self._try(lambda: self.owner.library.rename(marked.value.path, text))
                self.set_timer(0.2 if marked.value.live else 0.01, self.load)
        elif keep and text:
            self.run_worker(partial(self._find, text), group="load", exclusive=True)
        else:
            super().search("")
            self.replace(self._rows)
        self.draw()

    async def _find(self, text: str) -> None:
        """Search in what people and models said; the rows say where."""
        store, project = self.owner.library.store, None if self.everywhere else self.owner.cwd
        hits = await asyncio.to_thread(store.search, text, project)
        items: dict[str, Item[SessionSummary]] = {}
        for hit in hits:
            plain = " ".join(hit.snippet.replace("\x02", "").replace("\x03", "").split())
            mark, role = MARKS[hit.session.status]
            items.setdefault(
                hit.session.id,
                Item(hit.session.title, hit.session, what=words.first_line(plain, 70), mark=mark, role=role),
            )
        self.query_text = ""
        self._empty = f"nobody said {text}"
        self.replace(list(items.values()), f"“{text}”")

    def _remove(self) -> None:
        marked = self.marked
        if marked is None:
            return
        if self._sure != marked.value.id:
            self._sure = marked.value.id
            self.notify_off(f"press it again to remove “{marked.text}” for good")
            return
        self._try(lambda: self.owner.library.store.remove(marked.value.path))
        self.load()

    def _export(self) -> None:
        if self.marked is not None:
            self.notify_off(self.owner.library.export_of(self.marked.value.path, ""))

    def _tree(self) -> None:
        """Copies below what they were made from."""
        by_id = {item.value.id: item for item in self._rows}
        children: dict[str, list[Item[SessionSummary]]] = {}
        roots: list[Item[SessionSummary]] = []
        for item in self._rows:
            parent = item.value.parent
            (children.setdefault(parent, []) if parent in by_id else roots).append(item)
        ordered: list[Item[SessionSummary]] = []

        def walk(item: Item[SessionSummary], depth: int) -> None:
            indent = "  " * depth + ("└ " if depth else "")
            ordered.append(replace(item, text=indent + item.text))
            for child in children.get(item.value.id, []):
                walk(child, depth + 1)

        for item in roots:
            walk(item, 0)
        self.replace(ordered)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except AgentError as error:
            self.notify_off(str(error))

    # ---- preview

    def _look(self, summary: SessionSummary, _width: int, height: int) -> list[Line]:
        if summary.id not in self._previews:
            self._previews[summary.id] = [([("…", "dim")], [])]
            self.run_worker(partial(self._read_preview, summary), group="preview", exclusive=True)
        return self._previews[summary.id][:height]

    async def _read_preview(self, summary: SessionSummary) -> None:
        await asyncio.sleep(0.05)
        if summary.size > PREVIEW_BYTES:
            lines: list[Line] = [([(summary.asked, "text")], []), ([("a long session", "dim")], [])]
        else:
            lines = await asyncio.to_thread(self._preview_lines, summary)
        self._previews[summary.id] = lines
        self.draw()

    def _preview_lines(self, summary: SessionSummary) -> list[Line]:
        view = self.owner.new_view()
        view.fold(log.read(summary.path))
        lines: list[Line] = []
        for block in view.blocks[-40:]:
            if isinstance(block, UserBlock):
                lines += [([("▌ ", "user-mark"), (line, "text")], []) for line in block.text.splitlines()[:3]]
            elif isinstance(block, AssistantBlock):
                lines += [([("  ", "text"), (line, "text")], []) for line in block.text.splitlines()[:4]]
            elif isinstance(block, ToolBlock):
                lines.append(([("  ", "text"), (f"{block.name} {block.summary}", "dim")], []))
            elif isinstance(block, CardBlock):
                lines.append(([(f"{block.mark} ", "accent"), (block.title, "text")], []))
        return lines[-30:]
