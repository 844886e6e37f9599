"""ripgrep as a child process: found, run without anyone's configuration, ended when the call is."""

from __future__ import annotations

import asyncio
import shutil
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from tui_agent.core.errors import ToolError
from tui_agent.tools.globs import matches

TIMEOUT = 30.0
"""Seconds after which a search gives what it has."""
MAX_FILES = 200_000
"""Paths collected from one listing."""
MAX_MATCHES = 20_000
"""Matches counted; then the search is ended."""
MAX_KEPT = 5_000
"""Matches kept for sorting; more are only counted."""
MAX_COLUMNS = 300
"""Bytes of one line; ripgrep cuts longer ones."""
MAX_LINE = 1_000_000
"""Bytes of a line of ripgrep's own output that are still looked at."""
CHUNK = 65_536

_COMMON = (
    "--no-config", "--color=never", "--no-messages", "--hidden", "--no-require-git", "--glob=!.git", "--null",
)  # fmt: skip
"""Hidden files belong to a project (.github, .env.example), the git folder doesn't; .gitignore counts without git too."""


class Hit(msgspec.Struct, frozen=True, order=True):
    """A line that was found; ``match`` False: it is context."""

    path: str
    line: int
    text: str = ""
    match: bool = True


class Found(msgspec.Struct, frozen=True):
    """Hits by path and line; ``total`` matches and ``files`` also count what was not kept. ``note`` says what is lacking."""

    hits: tuple[Hit, ...]
    total: int
    files: int
    note: str = ""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A search: ``targets`` are absolute paths or ``./``-relative ones, ``pattern`` a regex unless ``literal``."""

    pattern: str
    targets: tuple[str, ...]
    literal: bool = False
    glob: str = ""
    ignore_case: bool = False
    context: int = 0


@lru_cache(1)
def program() -> str | None:
    """Where ripgrep is: in the environment that this program runs in (its wheel), else on PATH."""
    folders = (sysconfig.get_path("scripts"), str(Path(sys.executable).parent), str(Path(sys.prefix) / "bin"))
    return next(
        (found for folder in folders if (found := shutil.which("rg", path=folder))), None
    ) or shutil.which("rg")


async def search(rg: str, query: Query, cwd: Path) -> Found:
    """Lines that match; a glob narrows the files and never brings ignored ones back."""
    argv = [rg, *_COMMON, "--line-number", "--with-filename", "--no-heading", f"--max-columns={MAX_COLUMNS}",
            "--max-columns-preview", f"--context={query.context}"]  # fmt: skip
    if query.literal:
        argv.append("--fixed-strings")
    if query.ignore_case:
        argv.append("--ignore-case")
    argv += _narrowed(query.glob)
    argv += ["--regexp", query.pattern, "--", *query.targets]
    wanted = path_filter(query.glob)
    hits: list[Hit] = []
    named: set[str] = set()
    total = 0

    def take(line: bytes) -> bool:
        nonlocal total
        hit = _hit(line)
        if hit and wanted(hit.path):
            total += hit.match
            named.add(hit.path)
            if total <= MAX_KEPT:
                hits.append(hit)
        return total < MAX_MATCHES

    note = await _read(argv, cwd, b"\n", take)
    return Found(tuple(sorted(hits)), total, len(named), note and f"{note} at {total:,} matches")


async def files(rg: str, targets: Sequence[str], cwd: Path) -> tuple[list[str], str]:
    """Paths of all files that are not ignored, in order, and what is lacking."""
    found: list[str] = []

    def take(record: bytes) -> bool:
        found.append(_name(record))
        return len(found) < MAX_FILES

    note = await _read([rg, *_COMMON, "--files", "--sort=path", "--", *targets], cwd, b"\0", take)
    return found, note and f"{note} at {len(found):,} files"


def path_filter(glob: str) -> Callable[[str], bool]:
    """Whether a path is wanted by a glob; one with a slash may begin at the workspace or at any folder below it."""
    if not glob or glob.startswith("!") or "/" not in glob:
        return lambda path: not glob or glob.startswith("!") or matches(glob, path)
    anywhere = glob if glob.startswith(("/", "./", "**/")) else f"**/{glob}"
    return lambda path: matches(anywhere, path)


def _narrowed(glob: str) -> list[str]:
    """Options for a glob. Not ``--glob`` itself: that would bring ignored files back; a type of our own doesn't."""
    if glob.startswith("!"):
        return [f"--glob={glob}"]
    name = glob.rpartition("/")[2]
    if not name.strip("*") or (glob.count("{") != name.count("{")):
        return []
    return [f"--type-add=wanted:{name}", "--type=wanted"]


def _hit(line: bytes) -> Hit | None:
    """``path NUL number : text``, or ``-`` for context; None for separators and remarks."""
    path, zero, rest = line.partition(b"\0")
    digits = len(rest) - len(rest.lstrip(b"0123456789"))
    if not zero or not digits:
        return None
    text = rest[digits + 1 :].decode("utf-8", "replace").removesuffix("\r")
    return Hit(_name(path), int(rest[:digits]), text, rest[digits : digits + 1] == b":")


def _name(path: bytes) -> str:
    return path.decode("utf-8", "replace").removeprefix("./")


async def _read(argv: Sequence[str], cwd: Path, end: bytes, take: Callable[[bytes], bool]) -> str:
    """Feed ripgrep's records to ``take`` until it has enough; returns why it was stopped early, if it was."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=cwd, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise ToolError(f"the search could not be started: {error}") from None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(TIMEOUT):
            if not await _records(process.stdout, end, take):
                return "stopped"
            complaint = await process.stderr.read(CHUNK)
            code = await process.wait()
    except TimeoutError:
        return f"stopped after {TIMEOUT:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    # 0: found, 1: nothing found; 2 comes with words when the pattern or a glob is wrong.
    words = complaint.decode("utf-8", "replace").strip()
    if code > 1 and words:
        raise ToolError(words.removeprefix("rg: "))
    return ""


async def _records(stream: asyncio.StreamReader, end: bytes, take: Callable[[bytes], bool]) -> bool:
    """Split a stream into records; False if ``take`` had enough. Records beyond ``MAX_LINE`` are dropped."""
    rest = b""
    while data := await stream.read(CHUNK):
        *records, rest = (rest + data).split(end)
        rest = rest if len(rest) <= MAX_LINE else b""
        if not all(take(record) for record in records):
            return False
    return True
