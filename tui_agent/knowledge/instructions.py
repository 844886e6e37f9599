"""AGENTS.md: what people want every agent in their project to know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

NAME = "AGENTS.md"

MOST_PER_FILE = 32_768
"""Bytes of one file that reach the model; what is longer is cut at a line end and says so."""

MOST_ALTOGETHER = 65_536
"""Bytes of all files together; the ones nearest to the work are kept."""


class Instruction(msgspec.Struct, frozen=True):
    """One file: its ``name`` as shown to model and person, its text, where it lies."""

    name: str
    text: str
    path: Path


class Instructions(msgspec.Struct, frozen=True):
    """The files found, general ones first, and what was left out as (path, why)."""

    found: tuple[Instruction, ...]
    skipped: tuple[tuple[Path, str], ...] = ()

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The files as (name, text), as the system prompt wants them."""
        return tuple((each.name, each.text) for each in self.found)


def repository_root(folder: Path) -> Path:
    """The nearest folder upwards that git calls its own (a worktree's too), or the folder itself."""
    folder = folder.resolve()
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def instructions(folder: Path, user_dir: Path | None = None) -> Instructions:
    """The user's own file, then the project's from the repository root down to ``folder``.

    A project's file that is a link out of the repository is refused: a stranger's checkout could send any file of the
    person's to a model with it.
    """
    root = repository_root(folder)
    found: list[Instruction] = []
    skipped: list[tuple[Path, str]] = []
    for path, name, home in _candidates(folder.resolve(), root, user_dir):
        try:
            if not path.is_file():
                continue
            if home is not None and not path.resolve().is_relative_to(home):
                skipped.append((path, f"it is a link to {path.resolve()}, outside {home}"))
                continue
            text = _read(path)
        except OSError as error:
            skipped.append((path, error.strerror or str(error)))
            continue
        if text.strip():
            found.append(Instruction(name, text, path))
    room = MOST_ALTOGETHER
    for each in reversed(found):
        room -= len(each.text.encode())
        if room < 0:
            skipped.append((each.path, f"more than {MOST_ALTOGETHER // 1024} KB of instructions altogether"))
    left_out = {path for path, _ in skipped}
    return Instructions(tuple(each for each in found if each.path not in left_out), tuple(skipped))


def _candidates(folder: Path, root: Path, user_dir: Path | None) -> Iterator[tuple[Path, str, Path | None]]:
    """Every place to look: path, shown name, and the folder it must not lead out of."""
    if user_dir is not None:
        yield user_dir / NAME, f"{NAME} (user)", None
    for each in (*reversed(folder.parents), folder):
        if each.is_relative_to(root):
            yield each / NAME, (each / NAME).relative_to(root).as_posix(), root


def _read(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(MOST_PER_FILE + 1)
    text = data[:MOST_PER_FILE].decode("utf-8", "replace")
    if len(data) > MOST_PER_FILE:
        whole_lines = text.rpartition("\n")[0] or text
        text = f"{whole_lines}\n[… cut after {MOST_PER_FILE // 1024} KB …]\n"
    return text.removeprefix("\ufeff")
