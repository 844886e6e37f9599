"""apply_patch: both formats, badly written ones too, and nothing by halves."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.fakes.toolcontext import Context
from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Diff
from tui_agent.tools.apply import ApplyPatch
from tui_agent.tools.files import ReadFile

tool = ApplyPatch()
BODY = "".join(f"line {n}\n" for n in range(1, 31))


def put(context: Context, **files: str) -> None:
    for name, content in files.items():
        (context.workspace / f"{name}.txt").write_text(content)


def read(context: Context, name: str) -> str:
    return (context.workspace / name).read_bytes().decode()


def tree(context: Context) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(context.workspace.rglob("*")) if path.is_file()}


async def apply(context: Context, patch: str) -> str:
    return (await tool.run({"patch": patch}, context)).for_model


async def test_several_files_in_the_unified_format(context: Context) -> None:
    put(context, a=BODY, gone="x\n")
    patch = """\
Here is the change:

diff --git a/a.txt b/a.txt
index 83db48f..bf269f4 100644
--- a/a.txt\t2026-01-01
+++ b/a.txt\t2026-01-02
@@ -1,4 +1,5 @@ def head
 line 1
-line 2
+line two
+line two and a half
 line 3
 line 4
@@ -28,3 +29,2 @@
 line 28
-line 29
 line 30
--- /dev/null
+++ b/new/b.txt
@@ -0,0 +1,2 @@
+one
+two
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
"""
    intent = tool.intent({"patch": patch}, context)
    assert intent.paths == ("a.txt", "new/b.txt", "gone.txt")
    assert intent.destructive == "deletes gone.txt"
    assert tree(context)["gone.txt"] == "x\n"
    result = await tool.run({"patch": patch}, context)
    assert read(context, "a.txt") == BODY.replace("line 2\n", "line two\nline two and a half\n").replace(
        "line 29\n", ""
    )
    assert read(context, "new/b.txt") == "one\ntwo\n"
    assert not (context.workspace / "gone.txt").exists()
    assert result.changed == ("a.txt", "new/b.txt", "gone.txt")
    assert result.summary == "+4 −3"
    assert isinstance(result.display, Diff)
    assert (
        "diff --git a/new/b.txt b/new/b.txt\nnew file\n@@ -0,0 +1,2 @@ new/b.txt\n+one"
        in result.display.hunks
    )


async def test_the_envelope(context: Context) -> None:
    put(
        context,
        a="class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n",
        b="old\n",
        c="x\n",
    )
    patch = """\
*** Begin Patch
*** Update File: a.txt
@@ class A:
@@     def g(self):
-        return 1
+        return 2
*** Update File: b.txt
*** Move to: sub/d.txt
@@
-old
+new
*** Add File: e.txt
+first
+
+third
*** Delete File: c.txt
*** End Patch
"""
    said = await apply(context, patch)
    assert read(context, "a.txt").endswith("def g(self):\n        return 2\n")
    assert "def f(self):\n        return 1" in read(context, "a.txt")
    assert read(context, "sub/d.txt") == "new\n"
    assert read(context, "e.txt") == "first\n\nthird\n"
    assert {path.name for path in context.workspace.iterdir()} == {"a.txt", "sub", "e.txt"}
    assert "Deleted c.txt" in said
    assert "Moved away b.txt" in said


async def test_a_hunk_that_fits_nowhere_leaves_all_files_alone(context: Context) -> None:
    put(context, a="one\ntwo\n", b="eins\nzwei\n")
    before = tree(context)
    patch = (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-einz\n+1\n"
    )
    with pytest.raises(ToolError) as caught:
        await apply(context, patch)
    assert "hunk 1 of b.txt doesn't fit; nothing was changed" in str(caught.value)
    assert "1\teins" in str(caught.value)
    assert tree(context) == before


async def test_a_write_that_fails_undoes_those_before(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(context, a="one\n", b="two\n")
    (context.workspace / "file").write_text("")
    before = tree(context)
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** Delete File: b.txt\n*** Add File: n.txt\n+n\n"
        "*** Update File: file\n+x\n*** End Patch\n"
    )
    real = Path.replace

    def fail(path: Path, target: Path) -> Path:
        if target.name == "file":
            raise OSError(28, "No space left on device")
        return real(path, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(ToolError, match="no space left on device; nothing was changed"):
        await apply(context, patch)
    assert tree(context) == before


async def test_wrong_counts_and_line_numbers_are_forgiven(context: Context) -> None:
    put(context, a=BODY)
    await apply(
        context, "--- a/a.txt\n+++ b/a.txt\n@@ -3,9 +3,2 @@\n line 10\n-line 11\n+LINE 11\n line 12\n"
    )
    assert "line 10\nLINE 11\nline 12" in read(context, "a.txt")
    await apply(context, "--- a.txt\n+++ a.txt\n@@\n line 20\n-line 21\n+LINE 21\n\n")
    assert "line 20\nLINE 21\nline 22" in read(context, "a.txt")


async def test_counts_that_are_too_small_lose_no_line(context: Context) -> None:
    put(context, a=BODY)
    await apply(
        context, "--- a/a.txt\n+++ b/a.txt\n@@ -10,1 +10,1 @@\n line 10\n-line 11\n+LINE 11\n line 12\n"
    )
    assert "line 10\nLINE 11\nline 12" in read(context, "a.txt")


async def test_a_shifted_hunk_is_found(context: Context) -> None:
    put(context, a="new head\n" * 5 + BODY)
    await apply(context, "--- a/a.txt\n+++ b/a.txt\n@@ -9,3 +9,3 @@\n line 9\n-line 10\n+ten\n line 11\n")
    assert "line 9\nten\nline 11" in read(context, "a.txt")


async def test_a_hunk_that_fits_twice_is_refused(context: Context) -> None:
    put(context, a="x\ny\nx\ny\n")
    with pytest.raises(ToolError, match="fits at lines 1, 3; nothing was changed"):
        await apply(context, "*** Begin Patch\n*** Update File: a.txt\n-x\n+z\n*** End Patch")
    await apply(context, "--- a/a.txt\n+++ b/a.txt\n@@ -3 +3 @@\n-x\n+z\n")
    assert read(context, "a.txt") == "x\ny\nz\ny\n"


@pytest.mark.parametrize(
    ("before", "hunk", "after"),
    [
        ("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n", "a\r\nc\r\nd\r\n"),
        ("a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", "a\nc"),
        ("a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("a\nb\n", "@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n", "a\nb"),
        ("a\nb", "@@ -1 +1 @@\n-a\n+x\n", "x\nb"),
        ("a  \nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a  \nc\n"),
        ("a\nc\n", "@@ -1,0 +2 @@\n+b\n", "a\nb\nc\n"),
        ("b\n", "@@ -0,0 +1 @@\n+a\n", "a\nb\n"),
        ("", "@@ -0,0 +1 @@\n+a\n", "a\n"),
        ("-- x\n++ y\n", "@@ -1,2 +1,2 @@\n--- x\n-++ y\n+++ z\n+-- w\n", "++ z\n-- w\n"),
        ("a\n", "@@ -1 +1 @@\n-a\n+b\n-- \n2.39.2\n", "b\n"),
    ],
)
async def test_line_ends_and_odd_lines(context: Context, before: str, hunk: str, after: str) -> None:
    (context.workspace / "f").write_bytes(before.encode())
    await apply(context, f"--- a/f\n+++ b/f\n{hunk}")
    assert read(context, "f") == after


async def test_a_git_rename_keeps_the_mode(context: Context) -> None:
    put(context, a="x\n")
    (context.workspace / "a.txt").chmod(0o755)
    await apply(
        context, "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n"
    )
    assert tree(context) == {"b.txt": "x\n"}
    assert stat.S_IMODE((context.workspace / "b.txt").stat().st_mode) == 0o755


async def test_a_quoted_path(context: Context) -> None:
    (context.workspace / "grün.txt").write_text("x\n")
    await apply(context, '--- "a/gr\\303\\274n.txt"\n+++ "b/gr\\303\\274n.txt"\n@@ -1 +1 @@\n-x\n+y\n')
    assert read(context, "grün.txt") == "y\n"


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("", "no file in it"),
        ("hello", "no file in it"),
        ("@@ -1 +1 @@\n-a\n+b\n", "line 1: a hunk before"),
        (
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,9 +1 @@\n-one\nwhat?\n",
            "line 5: expected a line that begins with",
        ),
        ("*** Begin Patch\n*** Update File: a.txt\n@@\nxx\n", "line 4: expected a line that begins with"),
        ("*** Begin Patch\nhm\n*** Update File: a.txt\n", "line 2: expected"),
        ("*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch", "there already"),
        ("*** Begin Patch\n*** Add File: n.txt\nx\n*** End Patch", "begins with +"),
        ("*** Begin Patch\n*** Update File: n.txt\n-x\n*** End Patch", "no such file"),
        ("*** Begin Patch\n*** Update File: a.txt\n@@ class B\n-x\n*** End Patch", "no line 'class B'"),
        ("*** Begin Patch\n*** Update File: a.txt\n one\n*** End Patch", "changes nothing"),
        (
            "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n*** End Patch",
            "b.txt is there already",
        ),
        ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "has not all of its lines"),
        ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary patches"),
        ("--- a/../../etc/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "no such file"),
        ("--- /dev/null\n+++ b//dev/sda\n@@ -0,0 +1 @@\n+one\n", "refused"),
    ],
)
async def test_patches_that_can_not_work(context: Context, patch: str, said: str) -> None:
    put(context, a="one\ntwo\n", b="b\n")
    before = tree(context)
    with pytest.raises(ToolError) as caught:
        await apply(context, patch)
    assert said in str(caught.value)
    assert tree(context) == before


async def test_a_file_changed_on_disk_is_not_patched(context: Context) -> None:
    put(context, a="one\n")
    await ReadFile().run({"path": "a.txt"}, context)
    put(context, a="one\nmore\n")
    with pytest.raises(ToolError, match="changed on disk"):
        await apply(context, "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n")


async def test_after_a_patch_the_files_can_be_edited_on(context: Context) -> None:
    put(context, a="one\n")
    await ReadFile().run({"path": "a.txt"}, context)
    for old, new in (("one", "two"), ("two", "three")):
        await apply(context, f"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{old}\n+{new}\n")
    await apply(context, "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n")
    assert context.seen == {}


async def test_two_sections_of_one_file_build_on_each_other(context: Context) -> None:
    put(context, a="one\n")
    section = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{}\n+{}\n"
    result = await tool.run({"patch": section.format("one", "two") + section.format("two", "three")}, context)
    assert read(context, "a.txt") == "three\n"
    assert result.changed == ("a.txt",)
