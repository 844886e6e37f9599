"""The system prompt: made once a run out of named parts, the same bytes for the same inputs, so that caches hit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from tui_agent.context.prompts import BASE_PROMPT, mode_text
from tui_agent.core.events import Mode

SKIPPED = frozenset({
    ".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".hypothesis", ".idea", ".DS_Store",
})  # fmt: skip
"""Never part of the tree, ignored by git or not: big, generated, and of no use to a model."""

MOST_READ = 10_000
"""A folder with more entries than this is not listed."""


class SystemPrompt(msgspec.Struct, frozen=True):
    """The whole text, and the parts that it was joined from as (name, text) for the context inspector."""

    text: str
    parts: tuple[tuple[str, str], ...]


def build_system(
    base: str = BASE_PROMPT,
    *,
    tree: str = "",
    instructions: Sequence[tuple[str, str]] = (),
    skills: Sequence[tuple[str, str]] = (),
    facts: Sequence[str] = (),
    model: str = "",
    cwd: str = "",
    date: str = "",
    system: str = "",
    mode: Mode = "build",
) -> SystemPrompt:
    """Join the parts of the system prompt; empty ones are left out.

    ``instructions`` are AGENTS.md files and ``skills`` the matching ones, both as (name, text), general ones first.
    ``date`` is a day, not a time, and ``system`` the operating system's name; both are passed in, as nothing is read here.
    What changes least stands first, so that a provider's cache keeps the beginning even when the model changes.
    """
    parts: list[tuple[str, str]] = [("base", base.strip()), ("mode", mode_text(mode))]
    for name, text in instructions:
        if text.strip():
            parts.append((name, f"# Instructions from {name}\n{text.strip()}"))
    for name, text in skills:
        if text.strip():
            parts.append((f"skill: {name}", f"# Skill: {name}\n{text.strip()}"))
    if facts:
        listed = "\n".join(f"- {' '.join(fact.split())}" for fact in facts)
        parts.append(
            ("memory", f"# Known facts\nRemembered from earlier sessions; they may be out of date.\n{listed}")
        )
    if tree:
        parts.append(("project tree", f"# Project tree\nAs it was when this run began.\n{tree}"))
    around = (("Model", model), ("Folder", cwd), ("Date", date), ("System", system))
    known = "\n".join(f"{name}: {value}" for name, value in around if value)
    if known:
        parts.append(("environment", f"# Environment\n{known}"))
    return SystemPrompt(text="\n\n".join(text for _, text in parts), parts=tuple(parts))


def project_tree(root: Path, *, max_entries: int = 200, depth: int = 3) -> str:
    """The files and folders of a project, level by level up to ``depth``, without what git ignores.

    At most about ``max_entries`` lines, however large the project: only folders that are shown are read. Touches the
    disk and runs git once a level, so it belongs in a thread; a folder that can't be read is empty.
    """
    shown: dict[str, list[str]] = {}
    more: dict[str, int] = {}
    level, left = [""], max_entries
    for number in range(depth):
        listed = {folder: _entries(root, folder) for folder in level}
        ignored = _ignored(root, [path for entries in listed.values() for path in entries])
        wanted = {
            folder: [path for path in entries if path.rstrip("/") not in ignored]
            for folder, entries in listed.items()
        }
        room = left if number else left // 2
        for rank, folder in enumerate(sorted(wanted, key=lambda folder: len(wanted[folder]))):
            share = 0 if len(wanted[folder]) > MOST_READ else room // (len(wanted) - rank)
            shown[folder] = wanted[folder][:share]
            more[folder] = len(wanted[folder]) - len(shown[folder])
            room -= len(shown[folder])
            left -= len(shown[folder])
        level = [path for folder in level for path in shown[folder] if path.endswith("/")]
    return "\n".join(_lines("", shown, more, 0))


def _lines(folder: str, shown: dict[str, list[str]], more: dict[str, int], indent: int) -> list[str]:
    lines: list[str] = []
    for path in shown.get(folder, ()):
        end = "/" if path.endswith("/") else ""
        lines.append("  " * indent + visible(PurePosixPath(path).name) + end)
        if end:
            lines += _lines(path, shown, more, indent + 1)
    if more.get(folder, 0) > MOST_READ:
        lines.append("  " * indent + f"… more than {MOST_READ:,} entries")
    elif more.get(folder):
        lines.append("  " * indent + f"… {more[folder]:,} more")
    return lines


def _entries(root: Path, folder: str) -> list[str]:
    """What is in a folder, as paths below ``root``, sorted; folders end in a slash, links to folders don't."""
    found: list[str] = []
    try:
        with os.scandir(root / folder) as entries:
            for entry in entries:
                if entry.name not in SKIPPED:
                    found.append(folder + entry.name + ("/" if entry.is_dir(follow_symlinks=False) else ""))
                if len(found) > MOST_READ:
                    break
    except OSError:
        return []
    return sorted(found)


def _ignored(root: Path, paths: Sequence[str]) -> frozenset[str]:
    """Which of the paths git ignores; none where there is no repository or no git.

    ``--no-index`` spares reading the index, which is what takes long in a large repository.
    """
    if not paths:
        return frozenset()
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "check-ignore", "--no-index", "--stdin", "-z"],
            input=b"".join(os.fsencode(path.rstrip("/")) + b"\0" for path in paths),
            capture_output=True,
            cwd=root,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(os.fsdecode(path) for path in done.stdout.split(b"\0") if path)


def visible(name: str) -> str:
    """A name with control characters, line ends and undecodable bytes spelt out."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)
