"""search_code, grep, list_files and find_files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Generic, TypeVar

import msgspec
from rapidfuzz import fuzz, process

from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Effect, Intent, Matches, Output, ToolContext, ToolResult
from tui_agent.tools import plainsearch, ripgrep
from tui_agent.tools.builtin import Arguments, BuiltIn
from tui_agent.tools.files import missing
from tui_agent.tools.globs import is_glob
from tui_agent.tools.paths import Place, locate, outside
from tui_agent.tools.ripgrep import Found, Hit, Query, path_filter
from tui_agent.tools.text import valid

MAX_SHOWN = 200
"""Matches that the model gets."""
MAX_CHARACTERS = 40_000
"""Characters of all of them."""
MAX_ROWS = 1_000
"""Matches that a person can look through."""
MAX_CONTEXT = 20
"""Lines around a match."""
MAX_PATHS = 200
"""Paths that find_files gives."""
MAX_TREE = 300
"""Lines of a tree."""
MAX_DEPTH = 20
FUZZY = 60.0
"""Least likeness of names (rapidfuzz, 0–100) when nothing holds the text itself."""
MAX_FUZZY = 20_000
"""Names compared for likeness (1 µs each, on the interpreter's lock)."""

Paths = Annotated[
    str | tuple[str, ...],
    msgspec.Meta(description="Folder or file to search, or a list of them. Default: the workspace."),
]
Glob = Annotated[
    str,
    msgspec.Meta(
        description="Only files like this: *.py, src/**/*.{ts,tsx}, or !tests/** to leave some out."
    ),
]
Case = Annotated[bool, msgspec.Meta(description="Take upper and lower case as the same.")]
Around = Annotated[int, msgspec.Meta(description="Lines to show before and after each match. Default: 0.")]


class SearchArguments(Arguments, frozen=True):
    pattern: Annotated[
        str, msgspec.Meta(description="Regular expression (Rust syntax, no look-around), within one line.")
    ]
    path: Paths = "."
    glob: Glob = ""
    ignore_case: Case = False
    context: Around = 0


class GrepArguments(Arguments, frozen=True):
    pattern: Annotated[str, msgspec.Meta(description="Text to find, taken literally.")]
    path: Paths = "."
    glob: Glob = ""
    ignore_case: Case = False
    context: Around = 0


S = TypeVar("S", SearchArguments, GrepArguments)


class _Search(BuiltIn[S], Generic[S]):
    """What the two searches share."""

    effect: Effect = "read"
    parallel = True
    literal = False

    def propose(self, arguments: S, context: ToolContext) -> Intent:
        places = _places(arguments.path, context)
        return Intent(
            self.name, self.effect, paths=tuple(place.name for place in places), outside=outside(places)
        )

    async def perform(self, arguments: S, context: ToolContext) -> ToolResult:
        pattern = valid("pattern", arguments.pattern)
        if not pattern:
            raise ToolError("pattern: empty")
        if self.literal and "\n" in pattern:
            raise ToolError("pattern: has a line break; lines are searched one by one, give one line of it")
        places = _existing(_places(arguments.path, context))
        query = Query(
            pattern=pattern,
            targets=tuple(map(_target, places)),
            literal=self.literal,
            glob=arguments.glob,
            ignore_case=arguments.ignore_case,
            context=max(0, min(arguments.context, MAX_CONTEXT)),
        )
        rg = ripgrep.program()
        if rg:
            found = await ripgrep.search(rg, query, context.workspace)
        else:
            found = await asyncio.to_thread(plainsearch.search, query, context.workspace)
        return _answer(found, pattern, places, arguments.glob)


class SearchCode(_Search[SearchArguments]):
    name = "search_code"
    takes = SearchArguments
    description = (
        "Search the files' lines for a regular expression; gives path, line number and line. Files that .gitignore names are "
        "left out. Use it to find where something is defined or used before reading files. For text with many special "
        "characters use grep, for file names find_files."
    )


class Grep(_Search[GrepArguments]):
    name = "grep"
    literal = True
    takes = GrepArguments
    description = "Search the files' lines for a literal text (no regular expression, nothing to escape); otherwise like search_code."


class ListArguments(Arguments, frozen=True):
    path: Annotated[str, msgspec.Meta(description="Folder to list. Default: the workspace.")] = "."
    depth: Annotated[int, msgspec.Meta(description="Levels to show. Default: 2.")] = 2


class ListFiles(BuiltIn[ListArguments]):
    name = "list_files"
    effect: Effect = "read"
    parallel = True
    takes = ListArguments
    description = (
        "Show a folder as a tree, with the number of files in folders that are not opened. Files that .gitignore names and "
        "empty folders are left out. Use it once to get to know a project; to find a file by name use find_files."
    )

    def propose(self, arguments: ListArguments, context: ToolContext) -> Intent:
        place = locate(arguments.path or ".", context.workspace, readable=context.session_dir)
        return Intent(self.name, self.effect, paths=(place.name,), outside=outside([place]))

    async def perform(self, arguments: ListArguments, context: ToolContext) -> ToolResult:
        place = _existing([locate(arguments.path or ".", context.workspace, readable=context.session_dir)])[0]
        if not place.path.is_dir():
            raise ToolError(f"{place.name}: is a file; use read_file")
        paths, note = await _files([place], context)
        below = 0 if place.name == "." else len(place.name.rstrip("/")) + 1
        tree = await asyncio.to_thread(_tree, paths, below, max(1, min(arguments.depth, MAX_DEPTH)))
        count = f"{len(paths):,} file{'s' if len(paths) != 1 else ''}"
        text = "\n".join(filter(None, (*tree, f"[{note}]" if note else "")))
        return ToolResult(text or "(no files; ignored ones don't count)", summary=count, display=Output(text))


class FindArguments(Arguments, frozen=True):
    pattern: Annotated[
        str,
        msgspec.Meta(description="Glob (*.py, src/**/test_*.ts) or a part of the name, spelled about right."),
    ]
    path: Annotated[str, msgspec.Meta(description="Folder to look in. Default: the workspace.")] = "."


class FindFiles(BuiltIn[FindArguments]):
    name = "find_files"
    effect: Effect = "read"
    parallel = True
    takes = FindArguments
    description = (
        "Find files by name: with a glob, or with a part of the name or path; if nothing has it, the names most like it. Files "
        "that .gitignore names are left out. To search inside files use search_code or grep."
    )

    def propose(self, arguments: FindArguments, context: ToolContext) -> Intent:
        place = locate(arguments.path or ".", context.workspace, readable=context.session_dir)
        return Intent(self.name, self.effect, paths=(place.name,), outside=outside([place]))

    async def perform(self, arguments: FindArguments, context: ToolContext) -> ToolResult:
        pattern = valid("pattern", arguments.pattern).strip()
        if not pattern:
            raise ToolError("pattern: empty")
        place = _existing([locate(arguments.path or ".", context.workspace, readable=context.session_dir)])[0]
        paths, note = await _files([place], context)
        found, how = await asyncio.to_thread(_named, paths, pattern)
        shown = found[:MAX_PATHS]
        more = f"[{len(found) - MAX_PATHS:,} more; narrow the pattern]" if len(found) > MAX_PATHS else ""
        text = "\n".join(filter(None, (how, *shown, more, f"[{note}]" if note else "")))
        rows = tuple((path, 0, "") for path in found[:MAX_ROWS])
        return ToolResult(
            text if found else f"No file is named like {pattern!r}.{f' [{note}]' if note else ''}",
            summary=f"{len(found):,} file{'s' if len(found) != 1 else ''}",
            display=Matches(rows, len(found), len(found)),
        )


def _places(given: str | tuple[str, ...], context: ToolContext) -> list[Place]:
    paths = (given,) if isinstance(given, str) else given
    return [locate(path or ".", context.workspace, readable=context.session_dir) for path in paths or (".",)]


def _existing(places: Sequence[Place]) -> Sequence[Place]:
    for place in places:
        if not place.path.exists():
            raise ToolError(missing(place))
    return places


def _target(place: Place) -> str:
    """A place as ripgrep gets it: never mistaken for an option, and echoed as we call it."""
    if place.name == ".":
        return "./"
    return place.name if place.name.startswith("/") else f"./{place.name}"


async def _files(places: Sequence[Place], context: ToolContext) -> tuple[list[str], str]:
    rg = ripgrep.program()
    targets = [_target(place) for place in places]
    if rg:
        return await ripgrep.files(rg, targets, context.workspace)
    return await asyncio.to_thread(plainsearch.files, targets, context.workspace)


def _answer(found: Found, pattern: str, places: Sequence[Place], glob: str) -> ToolResult:
    if not found.total:
        where = ", ".join(place.name for place in places) + (f" ({glob})" if glob else "")
        note = f" [{found.note}]" if found.note else ""
        return ToolResult(
            f"No match for {pattern!r} in {where}; ignored files were not searched.{note}",
            summary="no matches",
        )
    many = "more than " if found.note else ""
    count = f"{found.total:,} match{'es' if found.total != 1 else ''} in {found.files:,} file{'s' if found.files != 1 else ''}"
    rows = [(hit.path, hit.line, hit.text) for hit in found.hits if hit.match]
    shown, text = _grouped(found.hits)
    more = f"[{found.total - shown:,} more; narrow the pattern, path or glob]" if shown < found.total else ""
    return ToolResult(
        "\n".join(filter(None, (f"{many}{count}", text, more, f"[{found.note}]" if found.note else ""))),
        summary=f"{many}{count}",
        display=Matches(tuple(rows[:MAX_ROWS]), found.total, found.files),
    )


def _grouped(hits: Sequence[Hit]) -> tuple[int, str]:
    """Matches under their file's name, as many as fit; a match is ``12: text``, a line around it ``13- text``."""
    lines: list[str] = []
    room = MAX_CHARACTERS
    shown = 0
    for path, group in groupby(hits, lambda hit: hit.path):
        lines.append(path)
        before = 0
        for hit in group:
            room -= len(hit.text) + 10
            if (hit.match and shown >= MAX_SHOWN) or room < 0:
                return shown, "\n".join(lines)
            shown += hit.match
            if not hit.match and before and hit.line > before + 1:
                lines.append("  …")
            before = hit.line
            lines.append(f"  {hit.line}{':' if hit.match else '-'} {hit.text}")
    return shown, "\n".join(lines)


def _tree(paths: Sequence[str], below: int, depth: int) -> list[str]:
    """The paths, their first ``below`` characters left out, as an indented tree; opened less deep if it would not fit."""
    names = [path[below:] for path in paths]
    while True:
        lines = _branches(names, depth)
        if len(lines) <= MAX_TREE:
            return lines
        if depth == 1:
            return [*lines[:MAX_TREE], f"[{len(lines) - MAX_TREE:,} more entries]"]
        depth -= 1


def _branches(paths: Sequence[str], depth: int, indent: str = "") -> list[str]:
    """Folders first, then files; a folder that is not opened has its number of files."""
    lines: list[str] = []
    inside = sorted((path for path in paths if "/" in path), key=lambda path: path.partition("/")[0])
    for folder, group in groupby(inside, lambda path: path.partition("/")[0]):
        below = [path.partition("/")[2] for path in group]
        if depth > 1:
            lines.append(f"{indent}{folder}/")
            lines += _branches(below, depth - 1, f"{indent}  ")
        else:
            lines.append(f"{indent}{folder}/ ({len(below):,} file{'s' if len(below) != 1 else ''})")
    return lines + [f"{indent}{path}" for path in paths if "/" not in path]


def _named(paths: Sequence[str], pattern: str) -> tuple[list[str], str]:
    """Paths that a pattern means, best first, and a remark if it was only by likeness."""
    if is_glob(pattern):
        wanted = path_filter(pattern)
        return [path for path in paths if wanted(path)], ""
    text = pattern.lower()
    holding = [path for path in paths if text in path.lower()]
    if holding:
        return sorted(holding, key=lambda path: (*_rank(path.lower(), text), path)), ""
    names = [path.rpartition("/")[2].lower() for path in paths[:MAX_FUZZY]]
    alike = process.extract(text.rpartition("/")[2], names, scorer=fuzz.ratio, limit=10, score_cutoff=FUZZY)
    return [paths[index] for _, _, index in alike], f"Nothing has {pattern!r} in its name; most like it:"


def _rank(path: str, text: str) -> tuple[bool, bool, int]:
    """The very name first, then names that hold the text, then paths that do; shorter before longer."""
    name = path.rpartition("/")[2]
    return name != text, text not in name, len(path)
