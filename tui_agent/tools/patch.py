"""Patches as models write them: unified diffs and the ``*** Begin Patch`` envelope, parsed and applied in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from tui_agent.core.errors import ToolError

_HUNK = re.compile(r"@@+ -(?P<start>\d+)(?:,(?P<count>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_OLD = "--- "
_NEW = "+++ "
_ENVELOPE = re.compile(r"\*\*\* (?P<verb>Add|Update|Delete) File: (?P<path>.+)")
_MOVE = "*** Move to: "
_GIT = ("diff --git ", "index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ",
        "dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to ")  # fmt: skip


class Hunk(msgspec.Struct, frozen=True):
    """Lines in order, each with its mark (space, ``-`` or ``+``).

    ``start`` is the line of the old file that the head names (None: it names none), ``anchors`` are lines that come somewhere before
    (``@@ def f``). ``old_ends`` and ``new_ends`` are False where the last line is said to have no newline, None where
    nothing is said. ``at_end``: it belongs to the end of the file.
    """

    lines: tuple[tuple[str, str], ...]
    start: int | None = None
    anchors: tuple[str, ...] = ()
    old_ends: bool | None = None
    new_ends: bool | None = None
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        return [text for mark, text in self.lines if mark != "+"]


class FilePatch(msgspec.Struct, frozen=True):
    """What happens to one file; ``move`` is its new path if it gets one."""

    verb: Literal["add", "update", "delete"]
    path: str
    hunks: tuple[Hunk, ...] = ()
    move: str = ""


def parse(text: str) -> list[FilePatch]:
    """Read a patch of either format; raises ``ToolError`` that says which line is wrong."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if any(_ENVELOPE.match(line) for line in lines):
        found = _Envelope(lines).read()
    else:
        found = _Unified(lines).read()
    if not found:
        raise ToolError(
            "patch: no file in it; begin each with '--- a/path' and '+++ b/path', or '*** Update File: path'"
        )
    return found


class _Reader:
    """A cursor over a patch's lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.at = 0

    @property
    def line(self) -> str:
        return self.lines[self.at] if self.at < len(self.lines) else ""

    @property
    def more(self) -> bool:
        return self.at < len(self.lines)

    def wrong(self, what: str) -> ToolError:
        return ToolError(f"patch line {self.at + 1}: {what}: {self.line[:80]!r}")


class _Unified(_Reader):
    """Unified diffs, with or without git's extended heads."""

    def read(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        rename = ""
        while self.more:
            line = self.line
            if line.startswith("rename from "):
                rename = line.removeprefix("rename from ")
            elif line.startswith("rename to ") and rename:
                if not self._head_follows():
                    found.append(FilePatch("update", rename, move=line.removeprefix("rename to ")))
                    rename = ""
            elif line.startswith(_OLD) and self._next().startswith(_NEW):
                found.append(self._file())
                rename = ""
                continue
            elif line.startswith("Binary files ") or line == "GIT binary patch":
                raise self.wrong("binary patches can't be applied")
            elif line.startswith("@@"):
                raise self.wrong("a hunk before any '--- a/path' and '+++ b/path'")
            self.at += 1
        return found

    def _next(self) -> str:
        return self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""

    def _head_follows(self) -> bool:
        """Whether this file's section goes on to hunks."""
        for line in self.lines[self.at + 1 :]:
            if line.startswith(_OLD):
                return True
            if line.startswith("diff --git "):
                return False
        return False

    def _file(self) -> FilePatch:
        old, new = _path(self.line, "a/"), _path(self._next(), "b/")
        self.at += 2
        hunks: list[Hunk] = []
        while self.more and self.line.startswith("@@"):
            hunks.append(self._hunk())
            while self.more and not self.line.strip() and not self._ends_section():
                self.at += 1
        if old == "/dev/null":
            return FilePatch("add", new, tuple(hunks))
        if new == "/dev/null":
            return FilePatch("delete", old, tuple(hunks))
        return FilePatch("update", old, tuple(hunks), move=new if new != old else "")

    def _ends_section(self) -> bool:
        return self.line.startswith((_OLD, "diff --git "))

    def _hunk(self) -> Hunk:
        head = _HUNK.match(self.line)
        start = self.at + 1
        if head:
            self.at = start
            hunk = self._counted(int(head["start"]), int(head["count"] or 1), int(head["new"] or 1))
            if hunk:
                return hunk
        # Models count badly, and some write a bare @@: then the lines' marks say where the hunk ends.
        self.at = start
        return self._by_marks(int(head["start"]) if head else None)

    def _counted(self, start: int, old: int, new: int) -> Hunk | None:
        """The hunk that its head describes; None if the counts don't fit the lines."""
        taken: list[tuple[str, str]] = []
        old_ends = new_ends = None
        while (old > 0 or new > 0) and self.more:
            mark, text = (self.line[:1] or " "), self.line[1:]
            if mark == "\\":
                old_ends, new_ends = _ends(taken, old_ends, new_ends)
            elif mark in " -+":
                taken.append((mark, text))
                old -= mark != "+"
                new -= mark != "-"
            else:
                return None
            self.at += 1
        if self.line.startswith("\\"):
            old_ends, new_ends = _ends(taken, old_ends, new_ends)
            self.at += 1
        # After a hunk of the right length comes no further line of one; "-- " begins the signature of git format-patch.
        goes_on = self.line[:1] in {" ", "+", "-"} and self.line != "-- " and not self._ends_section()
        if old or new or goes_on:
            return None
        return Hunk(tuple(taken), start, old_ends=old_ends, new_ends=new_ends)

    def _by_marks(self, start: int | None) -> Hunk:
        taken: list[tuple[str, str]] = []
        old_ends = new_ends = None
        while self.more and not self.line.startswith("@@") and not self._at_next_file():
            mark, text = (self.line[:1] or " "), self.line[1:]
            if mark == "\\":
                old_ends, new_ends = _ends(taken, old_ends, new_ends)
            elif mark in " -+":
                taken.append((mark, text))
            else:
                raise self.wrong("expected a line that begins with a space, - or +")
            self.at += 1
        while taken and taken[-1] == (" ", ""):
            taken.pop()
        return Hunk(tuple(taken), start, old_ends=old_ends, new_ends=new_ends)

    def _at_next_file(self) -> bool:
        return self.line.startswith(_GIT) or (self.line.startswith(_OLD) and self._next().startswith(_NEW))


class _Envelope(_Reader):
    """``*** Begin Patch`` … ``*** End Patch``, as OpenAI's models are trained to write."""

    def read(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        while self.more:
            head = _ENVELOPE.match(self.line)
            if head:
                self.at += 1
                found.append(self._section(head["verb"], head["path"].strip()))
                continue
            if self.line.strip() and not self.line.startswith(("*** Begin Patch", "*** End Patch")):
                raise self.wrong("expected '*** Add File: ', '*** Update File: ' or '*** Delete File: '")
            self.at += 1
        return found

    def _section(self, verb: str, path: str) -> FilePatch:
        if verb == "Delete":
            return FilePatch("delete", path)
        if verb == "Add":
            return FilePatch("add", path, (self._added(),))
        move = ""
        if self.line.startswith(_MOVE):
            move = self.line.removeprefix(_MOVE).strip()
            self.at += 1
        hunks: list[Hunk] = []
        while self.more and not self._ends():
            hunk = self._hunk()
            if hunk.lines:
                hunks.append(hunk)
        return FilePatch("update", path, tuple(hunks), move)

    def _ends(self) -> bool:
        return bool(_ENVELOPE.match(self.line)) or self.line.startswith("*** End Patch")

    def _added(self) -> Hunk:
        taken: list[tuple[str, str]] = []
        while self.more and not self._ends():
            if not self.line.startswith("+") and self.line.strip():
                raise self.wrong("every line of a new file begins with +")
            if self.line:
                taken.append(("+", self.line[1:]))
            self.at += 1
        return Hunk(tuple(taken))

    def _hunk(self) -> Hunk:
        anchors: list[str] = []
        start: int | None = None
        while self.line.startswith("@@"):
            head = _HUNK.match(self.line)
            text = self.line.removeprefix("@@").removesuffix("@@").strip()
            if head:
                start = int(head["start"])
            elif text:
                anchors.append(text)
            self.at += 1
        taken: list[tuple[str, str]] = []
        at_end = False
        while self.more and not self._ends() and not self.line.startswith("@@"):
            if self.line.startswith("*** End of File"):
                at_end = True
                self.at += 1
                break
            mark = self.line[:1] or " "
            if mark not in " -+":
                raise self.wrong("expected a line that begins with a space, - or +")
            taken.append((mark, self.line[1:]))
            self.at += 1
        while taken and taken[-1] == (" ", "") and (self._ends() or not self.more):
            taken.pop()
        return Hunk(tuple(taken), start, tuple(anchors), at_end=at_end)


def _path(line: str, prefix: str) -> str:
    """The path of a ``---`` or ``+++`` line, without git's prefix, date and quotes."""
    path = line[4:].partition("\t")[0].strip()
    if len(path) > 1 and path.startswith('"') and path.endswith('"'):
        octal = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path[1:-1])
        path = re.sub(r'\\(["\\])', r"\1", octal).encode("latin-1", "replace").decode("utf-8", "replace")
    return path.removeprefix(prefix)


def _ends(
    taken: Sequence[tuple[str, str]], old_ends: bool | None, new_ends: bool | None
) -> tuple[bool | None, bool | None]:
    """What ``\\ No newline at end of file`` says of the line before it."""
    mark = taken[-1][0] if taken else " "
    return (False if mark != "+" else old_ends), (False if mark != "-" else new_ends)
