"""The tools over any text: an edit can be taken back to the very bytes, a patch gives exactly its target."""

from __future__ import annotations

import asyncio
import difflib
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.fakes.toolcontext import Context
from tui_agent.core.tool import ToolContext
from tui_agent.tools.apply import ApplyPatch
from tui_agent.tools.diff import diff
from tui_agent.tools.edit import EditFile
from tui_agent.tools.summary import partial_object, summarise_partial

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0")
LINES = st.one_of(
    st.text(CHARACTERS, max_size=12),
    st.sampled_from(
        [
            "",
            " ",
            "a",
            "b",
            "\tx",
            "--",
            "++ b",
            "-- a",
            "@@ -1 +1 @@",
            "\\ No newline",
            "*** End Patch",
            "diff --git a b",
        ]
    ),
)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A text with LF throughout, with or without a last newline."""
    lines = draw(st.lists(LINES, max_size=30))
    return "\n".join(lines) + ("\n" if draw(st.booleans()) else "")


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, str]:
    """A text and one that was made from it by a few edits of lines."""
    before = draw(texts())
    lines = before.split("\n")
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(lines)))
        gone = draw(st.integers(0, 3))
        lines[at : at + gone] = draw(st.lists(LINES, max_size=3))
    return before, "\n".join(lines)


def unified(before: str, after: str, path: str = "f.txt") -> str:
    """What ``diff -u`` writes; difflib alone leaves out the marker of a missing last newline."""
    rows = difflib.unified_diff(keep(before), keep(after), f"a/{path}", f"b/{path}")
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def keep(text: str) -> list[str]:
    """Lines with their ends, split at ``\\n`` only."""
    rows = [f"{row}\n" for row in text.split("\n")]
    last = rows.pop()[:-1]
    return [*rows, last] if last else rows


def with_file(data: bytes, folder: str) -> tuple[ToolContext, Path]:
    context = Context(Path(folder).resolve(), Path(folder) / "session")
    path = context.workspace / "f.txt"
    path.write_bytes(data)
    return context, path


@given(texts(), ENDS, st.data())
def test_an_edit_and_its_reverse_give_the_very_bytes(text: str, end: str, data: st.DataObject) -> None:
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start + 1, len(text)))
    old, new = text[start:stop], data.draw(texts())
    assume(old != new and _occurrences(text, old) == [start])
    after = text[:start] + new + text[stop:]
    assume(new and _occurrences(after, new) == [start])
    raw = text.replace("\n", end).encode()
    assume(end == "\n" or text.count("\n"))
    with TemporaryDirectory() as folder:
        context, path = with_file(raw, folder)
        asyncio.run(EditFile().run({"path": "f.txt", "old": old, "new": new}, context))
        assert path.read_bytes() == after.replace("\n", end).encode()
        if end == "\r\n" and "\n" not in after:
            return  # the only line end is gone, nothing says any more which kind it was
        asyncio.run(EditFile().run({"path": "f.txt", "old": new, "new": old}, context))
        assert path.read_bytes() == raw


def _occurrences(text: str, part: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(part, at)]


@given(changed(), ENDS)
@example(("-- a\n", "++ b\n"), "\n")
@example(("a", "a\n"), "\n")
@example(("a\nb", "a"), "\n")
def test_a_patch_made_by_difflib_gives_its_target(pair: tuple[str, str], end: str) -> None:
    before, after = pair
    assume(before != after)
    with TemporaryDirectory() as folder:
        context, path = with_file(before.replace("\n", end).encode(), folder)
        asyncio.run(ApplyPatch().run({"patch": unified(before, after)}, context))
        if "\n" in before:
            assert path.read_bytes() == after.replace("\n", end).encode()
        else:
            assert path.read_bytes() == after.encode()


@given(changed())
def test_our_own_diff_is_a_patch_that_gives_the_target(pair: tuple[str, str]) -> None:
    before, after = pair
    assume(before != after)
    shown = diff("f.txt", before, after)
    patch = f"--- a/f.txt\n+++ b/f.txt\n{shown.hunks}\n"
    with TemporaryDirectory() as folder:
        context, path = with_file(before.encode(), folder)
        asyncio.run(ApplyPatch().run({"patch": patch}, context))
        assert path.read_bytes() == after.encode()
    assert shown.added - shown.removed == len(keep(after)) - len(keep(before))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["path", "old", "new", "items", "patch", "x"]), VALUES, max_size=4),
    st.booleans(),
    st.data(),
)
def test_partial_json_never_fails_and_is_whole_at_the_end(
    value: dict[str, object], ascii: bool, data: st.DataObject
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii)
    assert partial_object(raw) == value
    cut = raw[: data.draw(st.integers(0, len(raw)))]
    for name in (
        "read_file",
        "write_file",
        "edit_file",
        "apply_patch",
        "grep",
        "todo",
        "run_command",
        "mcp__a__b",
    ):
        assert "\n" not in summarise_partial(name, cut)
    known = partial_object(cut)
    assert list(known) == list(value)[: len(known)]


@given(st.text(max_size=200))
def test_partial_json_survives_anything(raw: str) -> None:
    partial_object(raw)
