"""Search without ripgrep: slower, single-threaded, with git's list of files where there is git."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_agent.core.errors import ToolError
from tui_agent.tools.ripgrep import MAX_COLUMNS, MAX_FILES, MAX_KEPT, Found, Hit, Query, path_filter

NOTE = "ripgrep is missing, this was a slow search; install it: pip install ripgrep"
TIMEOUT = 30.0
"""Seconds."""
MAX_BYTES = 10_000_000
"""Larger files are left out."""
SKIPPED = frozenset(
    {".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache", "target"}
)
"""Folders left out where there is no git to say what is ignored."""


def files(targets: Sequence[str], cwd: Path) -> tuple[list[str], str]:
    """Sorted paths below the targets."""
    found: list[str] = []
    for target in targets:
        for path in _below(target, cwd):
            found.append(path.removeprefix("./"))
            if len(found) >= MAX_FILES:
                return sorted(found), f"only the first {MAX_FILES:,} files were looked at; {NOTE}"
    return sorted(found), NOTE


def search(query: Query, cwd: Path) -> Found:
    """Lines that match, by Python's regular expressions."""
    try:
        source = re.escape(query.pattern) if query.literal else query.pattern
        regex = re.compile(source, re.IGNORECASE if query.ignore_case else 0)
    except re.error as error:
        raise ToolError(f"pattern: {error}") from None
    deadline = time.monotonic() + TIMEOUT
    wanted = path_filter(query.glob)
    hits: list[Hit] = []
    total = count = 0
    for path in files(query.targets, cwd)[0]:
        if time.monotonic() > deadline or total >= MAX_KEPT:
            break
        if wanted(path):
            found = _in_file(cwd / path, path, regex, query.context)
            matches = sum(hit.match for hit in found)
            total += matches
            count += matches > 0
            hits += found
    return Found(tuple(hits), total, count, NOTE)


def _in_file(file: Path, name: str, regex: re.Pattern[str], context: int) -> list[Hit]:
    try:
        data = file.read_bytes() if file.stat().st_size <= MAX_BYTES else b"\0"
    except OSError:
        return []
    if b"\0" in data:
        return []
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    matched = {index for index, line in enumerate(lines) if regex.search(line)}
    near = {
        at for index in matched for at in range(max(0, index - context), min(len(lines), index + context + 1))
    }
    return [Hit(name, at + 1, lines[at][:MAX_COLUMNS], at in matched) for at in sorted(near)]


def _below(target: str, cwd: Path) -> Iterator[str]:
    """Files below a folder that are not ignored, as far as that can be known."""
    top = cwd / target
    if top.is_file():
        yield target
        return
    command = ("git", "-C", str(top), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    try:
        listed = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(set(folders) - SKIPPED)
            yield from (os.path.relpath(os.path.join(folder, name), cwd) for name in names)  # noqa: PTH118
        return
    for name in dict.fromkeys(listed.split(b"\0")):
        path = top / os.fsdecode(name)
        if name and path.is_file():
            yield os.path.relpath(path, cwd) if path.is_relative_to(cwd) else str(path)
