"""edit_file: one exact replacement, and messages that help when it doesn't fit."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from typing import Annotated

import msgspec

from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Effect, Intent, ToolContext, ToolResult
from tui_agent.tools.builtin import Arguments, BuiltIn
from tui_agent.tools.files import Change, carry_out, open_text
from tui_agent.tools.paths import locate
from tui_agent.tools.similar import report
from tui_agent.tools.text import TextFile, clean, lines, valid

SHOWN_PLACES = 10
"""Line numbers listed when the text is not unique."""
MANY = 1_000
"""Occurrences after which nobody counts on."""
_NUMBERED = re.compile(r"^\s*\d+\t")


class EditArguments(Arguments, frozen=True):
    path: Annotated[str, msgspec.Meta(description="File to change, relative to the workspace.")]
    old: Annotated[
        str,
        msgspec.Meta(
            description="Text to replace, exactly as in the file (indentation too), without read_file's line numbers. "
            "Long enough to be in the file only once."
        ),
    ]
    new: Annotated[str, msgspec.Meta(description="Text to put in its place; empty to delete it.")]
    replace_all: Annotated[bool, msgspec.Meta(description="Replace every occurrence.")] = False


class EditFile(BuiltIn[EditArguments]):
    name = "edit_file"
    effect: Effect = "write"
    takes = EditArguments
    description = (
        "Replace a piece of text in a file. `old` has to match the file exactly and only once: take whole lines, and as many "
        "as make it unique; or set replace_all to rename something everywhere. Read the file first. For several places in one "
        "go use apply_patch, for a new file write_file."
    )

    def propose(self, arguments: EditArguments, context: ToolContext) -> Intent:
        return _plan(arguments, context).intent(self.name, self.effect)

    async def perform(self, arguments: EditArguments, context: ToolContext) -> ToolResult:
        change = await asyncio.to_thread(_plan, arguments, context)
        return await carry_out(change, context, "Edited")


def _plan(arguments: EditArguments, context: ToolContext) -> Change:
    """Work the replacement out without making it."""
    old, new = valid("old", arguments.old), valid("new", arguments.new)
    if not old:
        raise ToolError("old: empty; to write a whole file use write_file")
    if old == new:
        raise ToolError("old and new are the same, nothing to change")
    place = locate(arguments.path, context.workspace)
    found, file = open_text(place, context)
    text = file.text.replace("\r\n", "\n")
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    starts = _occurrences(text, old, every=arguments.replace_all)
    if not starts:
        raise ToolError(_not_found(place.name, text, old))
    if len(starts) > 1:
        if not arguments.replace_all:
            raise ToolError(_not_unique(place.name, text, starts))
        if str(place.path) not in context.seen:
            raise ToolError(
                f"{place.name} was not read in this session; read it before replacing in several places"
            )
    after = _replaced(file, starts, len(old), new)
    note = f"Replaced at {_lines_of(text, starts)}."
    return Change(place, found, file.text, after, file.encoded(after), note)


def _occurrences(text: str, old: str, *, every: bool) -> list[int]:
    """Where ``old`` is. Unless every one is wanted, overlapping ones count too: they make it just as unclear which is meant."""
    step = len(old) if every else 1
    starts: list[int] = []
    at = text.find(old)
    while at >= 0 and (every or len(starts) < MANY):
        starts.append(at)
        at = text.find(old, at + step)
    return starts


def _replaced(file: TextFile, starts: list[int], length: int, new: str) -> str:
    """The file's text with the replacements in its own line ends; every character outside of them stays as it was.

    ``starts`` and ``length`` count in the text with ``\\n`` only: a position moves right by the ``\\r`` dropped before it.
    """
    dropped: list[int] = []
    at = file.text.find("\r\n")
    while at >= 0:
        dropped.append(at - len(dropped))
        at = file.text.find("\r\n", at + 2)
    if file.newline == "\r\n":
        new = new.replace("\n", "\r\n")
    pieces: list[str] = []
    end = 0
    for start in starts:
        pieces += (file.text[end : start + bisect_left(dropped, start)], new)
        end = start + length + bisect_left(dropped, start + length)
    return "".join([*pieces, file.text[end:]])


def _lines_of(text: str, starts: list[int]) -> str:
    """``line 12`` or ``lines 3, 9, 40 and 7 more``."""
    numbers = [text.count("\n", 0, start) + 1 for start in starts[:SHOWN_PLACES]]
    more = f" and {len(starts) - SHOWN_PLACES} more" if len(starts) > SHOWN_PLACES else ""
    return f"line{'s' if len(starts) > 1 else ''} {', '.join(map(str, numbers))}{more}"


def _not_unique(name: str, text: str, starts: list[int]) -> str:
    return (
        f"old is in {name} {len(starts)} times{' or more' if len(starts) == MANY else ''}, at {_lines_of(text, starts)}; "
        "add lines around the one you mean, or set replace_all"
    )


def _not_found(name: str, text: str, old: str) -> str:
    """Why it may not be there, and the places that look most like it."""
    message = f"old is not in {name}; nothing was changed."
    wanted = old.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted):
        return f"{message} It begins with the line numbers of read_file: leave number and tab out."
    return f"{message} {report(lines(clean(text)), wanted)}"
