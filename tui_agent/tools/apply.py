"""apply_patch: a patch over several files, all of it or nothing."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated

import msgspec

from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Diff, Effect, Intent, ToolContext, ToolResult
from tui_agent.tools.builtin import Arguments, BuiltIn
from tui_agent.tools.diff import MAX_SHOWN, diff
from tui_agent.tools.files import missing, refuse_stale
from tui_agent.tools.patch import FilePatch, Hunk, parse
from tui_agent.tools.paths import Place, locate, outside, reason
from tui_agent.tools.similar import report
from tui_agent.tools.text import Found, TextFile, clean, decode, in_thread, load, valid, write

MAX_PLACES = 10
"""Line numbers listed for a hunk that fits in several places."""


class PatchArguments(Arguments, frozen=True):
    patch: Annotated[
        str,
        msgspec.Meta(
            description="A unified diff (--- a/path, +++ b/path, @@ hunks; /dev/null for new and deleted files), "
            "or the envelope *** Begin Patch … *** End Patch."
        ),
    ]


class ApplyPatch(BuiltIn[PatchArguments]):
    name = "apply_patch"
    effect: Effect = "write"
    takes = PatchArguments
    description = (
        "Change, create, move or delete several files in one go; if any hunk doesn't fit, nothing is changed. Every hunk needs "
        "about three unchanged lines before and after, exactly as in the file. Line numbers may be off; a hunk that fits in "
        "more than one place is refused. For a single replacement edit_file is simpler."
    )

    def propose(self, arguments: PatchArguments, context: ToolContext) -> Intent:
        changes = _plan(arguments, context)
        places = [change.place for change in changes]
        return Intent(
            self.name,
            self.effect,
            paths=tuple(place.name for place in places),
            outside=outside(places),
            preview=_joined([change.diff for change in changes]),
            destructive=_deletes(changes),
        )

    async def perform(self, arguments: PatchArguments, context: ToolContext) -> ToolResult:
        changes = await asyncio.to_thread(_plan, arguments, context)
        written = await in_thread(_carry_out, changes)
        for change, print_ in zip(changes, written, strict=True):
            if print_:
                context.seen[str(change.place.path)] = print_
            else:
                context.seen.pop(str(change.place.path), None)
        shown = _joined([change.diff for change in changes])
        return ToolResult(
            "\n".join(_said(change) for change in changes),
            summary=f"+{shown.added} −{shown.removed}",
            display=shown,
            changed=tuple(change.place.name for change in changes),
        )


class _Change(msgspec.Struct, frozen=True):
    """What becomes of one file; ``data`` None: it is deleted, ``found`` None: it is new.

    ``moved``: what is deleted here lives on at another path; ``mode``: permissions it brings along from there.
    """

    place: Place
    found: Found | None
    data: bytes | None
    diff: Diff
    moved: bool = False
    mode: int | None = None


class _Draft:
    """One file while a patch is worked out; ``text`` None: it doesn't exist (yet, or any more)."""

    def __init__(self, place: Place, context: ToolContext) -> None:
        self.place = place
        self.found: Found | None = None
        self.file = TextFile("")
        self.text: str | None = None
        self.moved = False
        self.mode: int | None = None
        if place.path.exists():
            self.found = load(place.path, place.name)
            refuse_stale(place, self.found, context)
            self.file = decode(self.found.data, place.name)
            self.text = self.file.text
        self.before = self.text

    def change(self) -> _Change | None:
        """The change that came out; None if there is none."""
        if self.text is None:
            shown = diff(self.place.name, self.before, None)
            return _Change(self.place, self.found, None, shown, self.moved) if self.found else None
        data = self.file.encoded(self.text)
        if self.found and data == self.found.data:
            return None
        return _Change(
            self.place, self.found, data, diff(self.place.name, self.before, self.text), mode=self.mode
        )


def _plan(arguments: PatchArguments, context: ToolContext) -> list[_Change]:
    """Work the whole patch out in memory; raises ``ToolError`` if any part of it doesn't fit."""
    drafts: dict[str, _Draft] = {}

    def draft(path: str) -> _Draft:
        place = locate(path, context.workspace)
        return drafts.setdefault(str(place.path), drafts.get(str(place.path)) or _Draft(place, context))

    for part in parse(valid("patch", arguments.patch)):
        _work(part, draft(part.path), draft(part.move) if part.move else None)
    changes = [change for each in drafts.values() if (change := each.change())]
    if not changes:
        raise ToolError("the patch changes nothing")
    return changes


def _work(part: FilePatch, source: _Draft, target: _Draft | None) -> None:
    name = source.place.name
    if part.verb == "add":
        if source.text is not None and (source.text or source.found):
            raise ToolError(f"{name} is there already; change it with an update, nothing was changed")
        source.text = applied("", part.hunks, name, "\n")
        return
    if source.text is None:
        raise ToolError(f"{missing(source.place)}; nothing was changed")
    if part.verb == "delete":
        if part.hunks and applied(source.text, part.hunks, name, source.file.newline):
            raise ToolError(
                f"{name}: the patch deletes it, but has not all of its lines; nothing was changed"
            )
        source.text = None
        return
    text = applied(source.text, part.hunks, name, source.file.newline)
    if target is None or target is source:
        source.text = text
        return
    if target.text is not None:
        raise ToolError(f"{target.place.name} is there already; nothing was moved or changed")
    target.file, target.text = source.file, text
    target.mode = source.found.mode if source.found else source.mode
    source.text, source.moved = None, True


def applied(text: str, hunks: Sequence[Hunk], name: str, newline: str) -> str:
    """A file's text after the hunks; unchanged lines keep their bytes, new ones get ``newline``."""
    ends = text.endswith("\n") or not text
    rows = text.split("\n")
    if ends:
        rows.pop()
    bare = [row.removesuffix("\r") for row in rows]
    tail = newline.removesuffix("\n")
    result: list[str] = []
    done = 0
    shift = 0
    for number, hunk in enumerate(hunks, 1):
        at = _position(bare, hunk, done, shift, f"hunk {number} of {name}")
        shift = at - _expected(hunk, at)
        result += rows[done:at]
        done = at
        for mark, line in hunk.lines:
            if mark == "+":
                result.append(line + tail)
            else:
                result += rows[done : done + 1] if mark == " " else ()
                done += 1
        if done == len(rows):
            ends = hunk.new_ends if hunk.new_ends is not None else ends or hunk.old_ends is False
    result += rows[done:]
    if not result:
        return ""
    return "\n".join(result) + "\n" if ends else "\n".join(result).removesuffix("\r")


def _expected(hunk: Hunk, default: int) -> int:
    """The index that a hunk's head names; an empty old side names the line before it."""
    if hunk.start is None:
        return default
    return hunk.start - 1 if hunk.old else hunk.start


def _position(rows: Sequence[str], hunk: Hunk, done: int, shift: int, label: str) -> int:
    """Where a hunk fits, at or after ``done``; its own line number is trusted first, then the only place that fits."""
    for anchor in hunk.anchors:
        done = _after(rows, anchor, done, label)
    old = hunk.old
    if not old:
        if hunk.start is not None:
            return max(done, min(len(rows), hunk.start + shift))
        return done if hunk.anchors and not hunk.at_end else len(rows)
    for equal in (operator.eq, _same_but_end):
        expected = _expected(hunk, -1) + shift
        if expected >= done and _fits(rows, old, expected, equal):
            return expected
        last = len(rows) - len(old)
        if hunk.at_end and last >= done and _fits(rows, old, last, equal):
            return last
        places = [at for at in range(done, last + 1) if _fits(rows, old, at, equal)]
        if len(places) == 1 or (places and hunk.anchors):
            return places[0]
        if places:
            shown = ", ".join(str(at + 1) for at in places[:MAX_PLACES])
            raise ToolError(
                f"{label} fits at lines {shown}{' and more' if len(places) > MAX_PLACES else ''}; nothing was changed, "
                "give it more unchanged lines around the change"
            )
    wanted = "\n".join(old[:6]) + ("\n…" if len(old) > 6 else "")
    raise ToolError(
        f"{label} doesn't fit; nothing was changed. It wants:\n{wanted}\n{report([clean(row) for row in rows], old)}"
    )


def _after(rows: Sequence[str], anchor: str, done: int, label: str) -> int:
    """The line after the one that an anchor (``@@ def f``) names."""
    for at in range(done, len(rows)):
        if rows[at].strip() == anchor:
            return at + 1
    for at in range(done, len(rows)):
        if anchor in rows[at]:
            return at + 1
    raise ToolError(f"{label}: there is no line {anchor!r} after line {done}; nothing was changed")


def _fits(rows: Sequence[str], old: Sequence[str], at: int, equal: Callable[[str, str], bool]) -> bool:
    return at + len(old) <= len(rows) and all(equal(rows[at + index], line) for index, line in enumerate(old))


def _same_but_end(row: str, line: str) -> bool:
    return row.rstrip() == line.rstrip()


def _joined(diffs: Sequence[Diff]) -> Diff:
    """One diff for all files: git's ``diff --git a/path b/path`` before each file's hunks, its path behind each ``@@``."""
    if len(diffs) == 1:
        return diffs[0]
    rows: list[str] = []
    for each in diffs:
        rows.append(f"diff --git a/{each.path} b/{each.path}")
        rows += ["new file"] if each.created else ["deleted file"] if each.deleted else []
        hunks = each.hunks.split("\n") if each.hunks else []
        rows += [f"{row} {each.path}" if row.startswith("@@ ") else row for row in hunks]
    if len(rows) > MAX_SHOWN:
        rows[MAX_SHOWN:] = [f"\\ {len(rows) - MAX_SHOWN:,} more lines"]
    return Diff(
        ", ".join(each.path for each in diffs),
        "\n".join(rows),
        sum(each.added for each in diffs),
        sum(each.removed for each in diffs),
    )


def _deletes(changes: Sequence[_Change]) -> str:
    names = [change.place.name for change in changes if change.data is None and not change.moved]
    return f"deletes {', '.join(names)}" if names else ""


def _said(change: _Change) -> str:
    verb = (
        "Moved away"
        if change.moved
        else "Deleted"
        if change.data is None
        else "Changed"
        if change.found
        else "Created"
    )
    return f"{verb} {change.place.name} (+{change.diff.added} −{change.diff.removed} lines)."


def _carry_out(changes: Sequence[_Change]) -> list[str]:
    """Make all changes and return the new fingerprints (empty for a deleted file); if one fails, undo those made."""
    written: list[str] = []
    done: list[_Change] = []
    try:
        for change in changes:
            written.append(_make(change))
            done.append(change)
    except ToolError as error:
        for change in reversed(done):
            with suppress(ToolError, OSError):
                _undo(change)
        raise ToolError(f"{error}; nothing was changed") from error
    return written


def _make(change: _Change) -> str:
    place = change.place
    try:
        if change.data is None:
            place.path.unlink()
            return ""
        written = write(place.path, place.name, change.data, over=change.found)
        if change.mode is not None:
            place.path.chmod(change.mode)
        return written
    except OSError as error:
        raise ToolError(f"{place.name}: {reason(error)}") from None


def _undo(change: _Change) -> None:
    place = change.place
    if change.found is None:
        place.path.unlink()
    else:
        now = load(place.path, place.name) if place.path.exists() else None
        write(place.path, place.name, change.found.data, over=now)
