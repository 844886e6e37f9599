"""read_file and write_file."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import msgspec

from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Effect, Intent, Output, ToolContext, ToolResult
from tui_agent.tools.builtin import Arguments, BuiltIn, nearest
from tui_agent.tools.diff import diff
from tui_agent.tools.languages import language_of
from tui_agent.tools.paths import Place, locate, outside
from tui_agent.tools.similar import numbered
from tui_agent.tools.text import Found, TextFile, clean, decode, in_thread, lines, load, same, valid, write

MAX_LINES = 2_000
"""Lines that one read gives; more are asked for by range."""
MAX_CHARACTERS = 200_000
"""Characters that one read gives."""
MAX_WIDTH = 2_000
"""Characters of one line; longer ones are cut (minified files)."""


class ReadArguments(Arguments, frozen=True):
    path: Annotated[str, msgspec.Meta(description="File to read, relative to the workspace.")]
    start: Annotated[
        int, msgspec.Meta(description="First line to read, counted from 1. Default: the first.")
    ] = 0
    end: Annotated[int, msgspec.Meta(description="Last line to read, included. Default: the last.")] = 0


class ReadFile(BuiltIn[ReadArguments]):
    name = "read_file"
    effect: Effect = "read"
    parallel = True
    takes = ReadArguments
    description = (
        "Read a text file. Every line comes as its number, a tab and its text; the number and the tab are not part of the "
        f"file. At most {MAX_LINES:,} lines a call: read a long file in ranges with start and end, and prefer search_code to "
        "find the place first. Read a file before you edit it. Not for folders (list_files), images or binary files."
    )

    def propose(self, arguments: ReadArguments, context: ToolContext) -> Intent:
        place = locate(arguments.path, context.workspace, readable=context.session_dir)
        return Intent(self.name, self.effect, paths=(place.name,), outside=outside([place]))

    async def perform(self, arguments: ReadArguments, context: ToolContext) -> ToolResult:
        place = locate(arguments.path, context.workspace, readable=context.session_dir)
        if not place.path.exists():
            raise ToolError(missing(place))
        found, rows = await asyncio.to_thread(_load_lines, place)
        context.seen[str(place.path)] = found.fingerprint
        if not rows:
            return ToolResult("(the file is empty)", summary="empty")
        return _window(arguments, place, rows)


class WriteArguments(Arguments, frozen=True):
    path: Annotated[
        str, msgspec.Meta(description="File to write, relative to the workspace; folders are made.")
    ]
    content: Annotated[str, msgspec.Meta(description="The whole new text of the file.")]


class WriteFile(BuiltIn[WriteArguments]):
    name = "write_file"
    effect: Effect = "write"
    takes = WriteArguments
    description = (
        "Create a file, or replace all of its text. Give the whole text, never a part or a placeholder. To change some "
        "lines of an existing file use edit_file: it is shorter and safer."
    )

    def propose(self, arguments: WriteArguments, context: ToolContext) -> Intent:
        return _plan_write(arguments, context).intent(self.name, self.effect)

    async def perform(self, arguments: WriteArguments, context: ToolContext) -> ToolResult:
        change = await asyncio.to_thread(_plan_write, arguments, context)
        return await carry_out(change, context, "Wrote" if change.found else "Created")


class Change(msgspec.Struct, frozen=True):
    """A change of one file that was worked out and not yet made; ``before`` None: the file is new."""

    place: Place
    found: Found | None
    before: str | None
    after: str
    data: bytes
    note: str = ""

    def intent(self, tool: str, effect: Effect) -> Intent:
        """The change as something that is still to be allowed."""
        return Intent(
            tool,
            effect,
            paths=(self.place.name,),
            outside=outside([self.place]),
            preview=diff(self.place.name, self.before, self.after),
        )


async def carry_out(change: Change, context: ToolContext, verb: str) -> ToolResult:
    """Make a change: write it, remember its fingerprint, answer with the diff."""
    place = change.place
    shown = await asyncio.to_thread(diff, place.name, change.before, change.after)
    written = await in_thread(write, place.path, place.name, change.data, over=change.found)
    context.seen[str(place.path)] = written
    note = f"\n{change.note}" if change.note else ""
    return ToolResult(
        f"{verb} {place.name} (+{shown.added} −{shown.removed} lines).{note}",
        summary=f"+{shown.added} −{shown.removed}", display=shown, changed=(place.name,),
    )  # fmt: skip


def open_text(place: Place, context: ToolContext) -> tuple[Found, TextFile]:
    """An existing file to be changed; refuses one that changed on disk since the session last saw it."""
    if not place.path.exists():
        raise ToolError(missing(place))
    found = load(place.path, place.name)
    refuse_stale(place, found, context)
    return found, decode(found.data, place.name)


def refuse_stale(place: Place, found: Found, context: ToolContext) -> None:
    """Raise if the file is not what the session last read or wrote; a file never read passes."""
    known = context.seen.get(str(place.path))
    if known and not same(known, found.fingerprint):
        raise ToolError(
            f"{place.name} changed on disk since it was last read; read it again, then redo the change"
        )


def missing(place: Place) -> str:
    """That a file is not there, and what there is instead."""
    folder = place.path.parent
    try:
        names = [entry.name for entry in os.scandir(folder)][:5_000]
    except OSError:
        return f"{place.name}: no such file (nor its folder); find_files and list_files show what there is"
    near = nearest(place.path.name, names)
    parent = Path(place.name).parent
    hint = f"; near it: {', '.join((parent / name).as_posix() for name in near)}" if near else ""
    return f"{place.name}: no such file{hint}"


def _load_lines(place: Place) -> tuple[Found, list[str]]:
    found = load(place.path, place.name)
    return found, lines(clean(decode(found.data, place.name).text))


def _window(arguments: ReadArguments, place: Place, rows: list[str]) -> ToolResult:
    """The wanted range, as far as the limits let it."""
    first = max(arguments.start, 1)
    last = min(arguments.end, len(rows)) if arguments.end > 0 else len(rows)
    if first > len(rows):
        raise ToolError(f"start: {place.name} has {len(rows):,} lines, there is no line {first:,}")
    if last < first:
        raise ToolError(f"end: line {arguments.end} comes before start, line {first}")
    shown: list[str] = []
    room = MAX_CHARACTERS
    for row in rows[first - 1 : min(last, first - 1 + MAX_LINES)]:
        room -= min(len(row), MAX_WIDTH)
        if room < 0:
            break
        shown.append(row)
    text = numbered(shown, first, MAX_WIDTH)
    reached = first + len(shown) - 1
    if reached < last:
        text += f"\n[lines {first:,}–{reached:,} of {len(rows):,}; go on with start={reached + 1}]"
    elif first > 1 or last < len(rows):
        text += f"\n[lines {first:,}–{reached:,} of {len(rows):,}]"
    display = Output("\n".join(shown), language_of(place.path.name), first)
    return ToolResult(text, summary=f"{len(shown):,} line{'s' if len(shown) != 1 else ''}", display=display)


def _plan_write(arguments: WriteArguments, context: ToolContext) -> Change:
    """The new text as bytes. A file that is there keeps its encoding, mark and Windows line ends where the text allows."""
    content = valid("content", arguments.content)
    place = locate(arguments.path, context.workspace)
    if not place.path.exists():
        return Change(place, None, None, content, content.encode())
    found = load(place.path, place.name)
    refuse_stale(place, found, context)
    try:
        file = decode(found.data, place.name)
    except ToolError:
        return Change(place, found, "", content, content.encode(), "It was a binary file before.")
    notes: list[str] = []
    if file.newline == "\r\n" and "\r" not in content and "\n" in content:
        content = content.replace("\n", "\r\n")
        notes.append("Its Windows line ends (CRLF) were kept.")
    try:
        data = file.encoded(content)
    except ToolError:
        data = content.encode()
        notes.append(f"It was {file.encoding} before and is UTF-8 now.")
    return Change(place, found, file.text, content, data, " ".join(notes))
