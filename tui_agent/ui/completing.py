"""What may follow what is typed: commands after ``/``, paths after ``@``."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rapidfuzz import fuzz, process

from tui_agent.ui.commands import COMMANDS
from tui_agent.ui.widgets.completion import Completion

PATH = re.compile(r"(?:^|(?<=\s))@(\S*)$")
MOST_PATHS = 50_000
FRESH_SECONDS = 10.0
"""How long a list of paths is used before it is read again."""


@dataclass(slots=True, frozen=True)
class Wanted:
    """What is being completed: its kind and query, and the column where the replaced text begins."""

    kind: str
    query: str
    start: int


def wanted(line: str, column: int, *, first_row: bool) -> Wanted | None:
    """What the text before the caret asks for, None if nothing."""
    before = line[:column]
    if first_row and before.startswith("/") and "/" not in before[1:]:
        name, space, words = before[1:].partition(" ")
        if not space:
            return Wanted("command", name, 0)
        return Wanted(name, words, len(name) + 2)
    if found := PATH.search(before):
        return Wanted("path", found[1], found.start())
    return None


def commands(query: str) -> list[Completion]:
    """Commands that begin with the query, then those that hold it."""
    query = query.lower()
    begin = [command for command in COMMANDS if command.name.startswith(query)]
    hold = [command for command in COMMANDS if query in command.name and command not in begin]
    return [
        Completion(
            f"/{command.name} " if command.takes else f"/{command.name}",
            f"/{command.name} {command.takes}".rstrip(),
            command.what,
        )
        for command in [*begin, *hold]
    ]


def values(query: str, known: Sequence[tuple[str, str]]) -> list[Completion]:
    """Values of a command's argument, as (value, note)."""
    query = query.lower()
    return [
        Completion(value, value, note)
        for value, note in known
        if query in value.lower() and query != value.lower()
    ][:50]


@dataclass(slots=True)
class Paths:
    """The project's files, read by ripgrep in a thread; what git ignores comes last."""

    root: Path
    clock: Callable[[], float] = time.monotonic
    _read_at: float = -FRESH_SECONDS
    _kept: list[str] = field(default_factory=list[str])
    _ignored: list[str] = field(default_factory=list[str])

    def find(self, query: str, limit: int = 50) -> list[Completion]:
        """The best matches; blocks while files are listed, so it runs in a thread."""
        if self.clock() - self._read_at > FRESH_SECONDS:
            self._kept = self._list("--hidden", "--glob=!.git")
            known = set(self._kept)
            self._ignored = [
                path for path in self._list("--hidden", "--no-ignore", "--glob=!.git") if path not in known
            ]
            self._read_at = self.clock()
        found = [Completion(f"@{path} ", path) for path in best(query, self._kept, limit)]
        rest = limit - len(found)
        if rest > 0 and query:
            found += [
                Completion(f"@{path} ", path, "ignored by git", dim=True)
                for path in best(query, self._ignored, rest)
            ]
        return found

    def _list(self, *options: str) -> list[str]:
        beside = Path(sys.executable).parent / "rg"
        rg = str(beside) if beside.exists() else shutil.which("rg")
        if rg is None:
            return []
        try:
            done = subprocess.run(
                [rg, "--files", "--no-messages", "--sort=path", *options],
                cwd=self.root, capture_output=True, timeout=5, stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return []
        return done.stdout.decode("utf-8", "replace").splitlines()[:MOST_PATHS]


def best(query: str, paths: Sequence[str], limit: int) -> list[str]:
    """Paths that fit, the best first: the name counts more than the folders before it."""
    if not query:
        return sorted(paths, key=lambda path: (path.count("/"), path))[:limit]
    needle = query.lower()
    holds = [path for path in paths if needle in path.lower()]
    holds.sort(key=lambda path: (needle not in path.rpartition("/")[2].lower(), len(path)))
    if len(holds) >= limit:
        return holds[:limit]
    known = set(holds)
    fuzzy = process.extract(
        needle, paths, scorer=fuzz.partial_ratio, processor=str.lower, limit=limit, score_cutoff=75
    )
    return [*holds, *(path for path, _, _ in fuzzy if path not in known)][:limit]
