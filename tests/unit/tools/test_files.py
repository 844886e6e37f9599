"""read_file, write_file and edit_file on what files really look like."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from tests.fakes.toolcontext import Context
from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Diff, Output
from tui_agent.tools import text
from tui_agent.tools.edit import EditFile
from tui_agent.tools.files import MAX_LINES, ReadFile, WriteFile

read, write, edit = ReadFile(), WriteFile(), EditFile()


def put(context: Context, name: str, data: bytes) -> Path:
    path = context.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


# ---- reading


async def test_lines_have_numbers_and_the_display_has_none(context: Context) -> None:
    put(context, "src/a.py", b"x = 1\n\ny = 2\n")
    result = await read.run({"path": "src/a.py"}, context)
    assert result.for_model == "1\tx = 1\n2\t\n3\ty = 2"
    assert result.display == Output("x = 1\n\ny = 2", "python", 1)
    assert result.summary == "3 lines"


async def test_a_range_says_what_it_is_part_of(context: Context) -> None:
    put(context, "a.txt", "".join(f"line {n}\n" for n in range(1, 21)).encode())
    result = await read.run({"path": "a.txt", "start": "9", "end": 10}, context)
    assert result.for_model == " 9\tline 9\n10\tline 10\n[lines 9–10 of 20]"
    assert isinstance(result.display, Output)
    assert result.display.first_line == 9
    with pytest.raises(ToolError, match="has 20 lines"):
        await read.run({"path": "a.txt", "start": 21}, context)
    with pytest.raises(ToolError, match="comes before start"):
        await read.run({"path": "a.txt", "start": 5, "end": 4}, context)


async def test_a_long_file_comes_in_parts_that_say_how_to_go_on(context: Context) -> None:
    put(context, "a.txt", b"x\n" * (MAX_LINES + 5))
    result = await read.run({"path": "a.txt"}, context)
    assert result.for_model.endswith(f"[lines 1–2,000 of 2,005; go on with start={MAX_LINES + 1}]")
    rest = await read.run({"path": "a.txt", "start": MAX_LINES + 1}, context)
    assert rest.summary == "5 lines"


async def test_a_very_long_line_is_cut(context: Context) -> None:
    put(context, "min.js", b"a" * 100_000)
    result = await read.run({"path": "min.js"}, context)
    assert len(result.for_model) < 3_000
    assert "98,000 more characters" in result.for_model


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG image (10 B)"),
        (b"\x7fELF\0\0\0", "a binary file (7 B)"),
        (b"ab\0cd", "a binary file"),
    ],
)
async def test_what_is_not_text_is_named(context: Context, data: bytes, said: str) -> None:
    put(context, "f", data)
    with pytest.raises(ToolError, match=said.replace("(", r"\(").replace(")", r"\)")):
        await read.run({"path": "f"}, context)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("\ufeffgrün\r\nzwei\r\n".encode(), "1\tgrün\n2\tzwei"),
        (b"\xff\xfe" + "grün\n".encode("utf-16-le"), "1\tgrün"),
        ("größe\n".encode("latin-1"), "1\tgröße"),
        ("preis: 5 €\n".encode("cp1252"), "1\tpreis: 5 €"),
        ("日本 ".encode() + b"\xff\n", "1\t日本 �"),
        (b"", "(the file is empty)"),
        (b"\n", "1\t"),
        (b"no end", "1\tno end"),
        (b"a\x0cb\x0b\xe2\x80\xa8c\n", "1\ta\x0cb\x0b\u2028c"),
    ],
)
async def test_encodings_and_line_ends(context: Context, data: bytes, shown: str) -> None:
    put(context, "f.txt", data)
    assert (await read.run({"path": "f.txt"}, context)).for_model == shown


async def test_a_missing_file_names_what_is_near(context: Context) -> None:
    put(context, "src/retry.py", b"")
    with pytest.raises(ToolError, match=r"src/rety.py: no such file; near it: src/retry.py"):
        await read.run({"path": "src/rety.py"}, context)
    with pytest.raises(ToolError, match="nor its folder"):
        await read.run({"path": "nowhere/x"}, context)
    with pytest.raises(ToolError, match="is a directory; use list_files"):
        await read.run({"path": "src"}, context)


async def test_a_file_too_large_is_refused_without_reading_it(context: Context) -> None:
    with put(context, "big", b"").open("wb") as file:
        file.truncate(text.MAX_BYTES + 1)
    with pytest.raises(ToolError, match="too large"):
        await read.run({"path": "big"}, context)


# ---- where paths lead


async def test_a_symlink_that_leads_outside_is_said_and_not_refused(context: Context, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("s\n")
    (context.workspace / "link").symlink_to(tmp_path)
    outside = str((tmp_path / "secret.txt").resolve())
    for path in ("link/secret.txt", "../secret.txt", str(tmp_path / "secret.txt")):
        intent = read.intent({"path": path}, context)
        assert intent.paths == intent.outside == (outside,)
        assert write.intent({"path": path, "content": ""}, context).outside == (outside,)
    assert (await read.run({"path": "link/secret.txt"}, context)).ok


def test_a_symlink_within_is_called_by_what_it_leads_to(context: Context) -> None:
    put(context, "real/f", b"")
    (context.workspace / "link").symlink_to("real")
    intent = read.intent({"path": "link/f"}, context)
    assert (intent.paths, intent.outside) == (("real/f",), ())


async def test_writing_through_a_symlink_keeps_the_link(context: Context) -> None:
    real = put(context, "real.txt", b"one\n")
    (context.workspace / "link.txt").symlink_to("real.txt")
    result = await edit.run({"path": "link.txt", "old": "one", "new": "two"}, context)
    assert result.changed == ("real.txt",)
    assert (context.workspace / "link.txt").is_symlink()
    assert real.read_text() == "two\n"


@pytest.mark.parametrize(
    "path",
    [
        "/dev/zero",
        "/proc/self/mem",
        "/proc/self/environ",
        "/sys/kernel/x",
        "/dev/shm/../sda",
    ],
)
async def test_devices_and_kernel_files_are_refused(context: Context, path: str) -> None:
    for call in (
        lambda: read.intent({"path": path}, context),
        lambda: write.intent({"path": path, "content": "x"}, context),
        lambda: edit.intent({"path": path, "old": "a", "new": "b"}, context),
    ):
        with pytest.raises(ToolError, match="refused"):
            call()
    with pytest.raises(ToolError, match="refused"):
        await read.run({"path": path}, context)


async def test_pipes_sockets_and_links_to_devices_are_refused(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(context.workspace)
    os.mkfifo("pipe")
    (context.workspace / "null").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        for path in ("pipe", "null", "socket"):
            with pytest.raises(ToolError, match="refused"):
                await read.run({"path": path}, context)


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "a" * 5000, "loop/x"])
async def test_paths_that_are_none(context: Context, path: str) -> None:
    (context.workspace / "loop").symlink_to("loop")
    with pytest.raises(ToolError):
        await read.run({"path": path}, context)


# ---- writing


async def test_a_new_file_comes_with_its_folders_and_the_usual_mode(context: Context) -> None:
    intent = write.intent({"path": "a/b.py", "content": "x\ny\n"}, context)
    assert isinstance(intent.preview, Diff)
    assert (intent.preview.created, intent.preview.added, intent.paths) == (True, 2, ("a/b.py",))
    assert not (context.workspace / "a").exists()
    result = await write.run({"path": "a/b.py", "content": "x\ny\n"}, context)
    path = context.workspace / "a/b.py"
    assert path.read_text() == "x\ny\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert result.changed == ("a/b.py",)
    assert result.display == intent.preview
    assert [entry.name for entry in path.parent.iterdir()] == ["b.py"]


async def test_replacing_keeps_mode_mark_and_line_ends(context: Context) -> None:
    path = put(context, "run.bat", "\ufeffone\r\ntwo\r\n".encode())
    path.chmod(0o755)
    result = await write.run({"path": "run.bat", "content": "one\n2\n"}, context)
    assert path.read_bytes() == "\ufeffone\r\n2\r\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert isinstance(result.display, Diff)
    assert (result.display.added, result.display.removed) == (1, 1)
    assert "CRLF" in result.for_model


async def test_an_encoding_that_lacks_a_character_becomes_utf8_when_all_is_replaced(context: Context) -> None:
    path = put(context, "f.txt", "größe\n".encode("latin-1"))
    await write.run({"path": "f.txt", "content": "größer\n"}, context)
    assert path.read_bytes() == "größer\n".encode("latin-1")
    result = await write.run({"path": "f.txt", "content": "größe → 日\n"}, context)
    assert path.read_bytes() == "größe → 日\n".encode()
    assert "UTF-8" in result.for_model


async def test_a_changed_file_is_not_overwritten(context: Context) -> None:
    path = put(context, "f.txt", b"one\n")
    await read.run({"path": "f.txt"}, context)
    path.write_bytes(b"person was here\n")
    for tool, arguments in (
        (write, {"path": "f.txt", "content": "x"}),
        (edit, {"path": "f.txt", "old": "here", "new": "x"}),
    ):
        with pytest.raises(ToolError, match="changed on disk"):
            tool.intent(arguments, context)
        with pytest.raises(ToolError, match="changed on disk"):
            await tool.run(arguments, context)
    assert path.read_bytes() == b"person was here\n"
    await read.run({"path": "f.txt"}, context)
    await edit.run({"path": "f.txt", "old": "here", "new": "there"}, context)
    await edit.run({"path": "f.txt", "old": "there", "new": "gone"}, context)
    assert path.read_bytes() == b"person was gone\n"


async def test_a_file_that_was_only_touched_has_not_changed(context: Context) -> None:
    path = put(context, "f.txt", b"one\n")
    await read.run({"path": "f.txt"}, context)
    os.utime(path, ns=(1, 1))
    assert (await edit.run({"path": "f.txt", "old": "one", "new": "two"}, context)).ok


def test_a_change_between_reading_and_writing_is_noticed(context: Context) -> None:
    path = put(context, "f.txt", b"one\n")
    found = text.load(path, "f.txt")
    path.write_bytes(b"other\n")
    with pytest.raises(ToolError, match="changed on disk meanwhile"):
        text.write(path, "f.txt", b"mine\n", over=found)
    assert path.read_bytes() == b"other\n"
    with pytest.raises(ToolError, match="came into being"):
        text.write(path, "f.txt", b"mine\n", over=None)


def test_other_names_of_a_file_stay_names_of_it(context: Context) -> None:
    path = put(context, "f.txt", b"a longer text\n")
    (context.workspace / "g.txt").hardlink_to(path)
    text.write(path, "f.txt", b"short\n", over=text.load(path, "f.txt"))
    assert (context.workspace / "g.txt").read_bytes() == b"short\n"


def test_where_no_file_can_be_made_beside_it_the_file_is_rewritten_in_place(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(context, "f.txt", b"a longer text\n")
    found = text.load(path, "f.txt")
    before = path.stat().st_ino
    monkeypatch.setattr(text.os, "open", _refuse)
    text.write(path, "f.txt", b"short\n", over=found)
    assert (path.read_bytes(), path.stat().st_ino) == (b"short\n", before)


def _refuse(*_: object, **__: object) -> int:
    raise PermissionError(13, "Permission denied")


async def test_half_a_character_is_refused(context: Context) -> None:
    put(context, "f.txt", b"one\n")
    with pytest.raises(ToolError, match="half a character"):
        await write.run({"path": "f.txt", "content": "\ud83d"}, context)
    with pytest.raises(ToolError, match="half a character"):
        await edit.run({"path": "f.txt", "old": "one", "new": "\udc80"}, context)


# ---- editing


async def test_an_edit_says_where_and_shows_the_change(context: Context) -> None:
    put(context, "a.py", b"a\nb\nc\nd\ne\nf\ng\nh\n")
    result = await edit.run({"path": "a.py", "old": "d", "new": "D\nD"}, context)
    assert result.for_model == "Edited a.py (+2 −1 lines).\nReplaced at line 4."
    assert result.display == Diff(
        "a.py", "@@ -1,7 +1,8 @@\n a\n b\n c\n-d\n+D\n+D\n e\n f\n g", added=2, removed=1
    )


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x", b"x\r\n"),
        (b"a\nb\r\nc\nd\n", "c", "x\ny", b"a\nb\r\nx\ny\nd\n"),
        (b"a\nb\r\nc\r\nd\r\n", "\nc\n", "\nx\n", b"a\nb\r\nx\r\nd\r\n"),
        (b"a\nlast", "last", "end", b"a\nend"),
        (b"a\nlast\n", "last\n", "end", b"a\nend"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        ("größe\n".encode("latin-1"), "größe", "Größe", "Größe\n".encode("latin-1")),
        ("日 ".encode() + b"\xff a\n", " a", " b", "日 ".encode() + b"\xff b\n"),
        (
            b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le"),
            "a\nb",
            "ä\nb",
            b"\xff\xfe" + "ä\r\nb\r\n".encode("utf-16-le"),
        ),
        (b"x = '\\r\\n'\n", "'\\r\\n'", "'\\n'", b"x = '\\n'\n"),
    ],
)
async def test_bytes_outside_of_an_edit_stay(
    context: Context, before: bytes, old: str, new: str, after: bytes
) -> None:
    path = put(context, "f", before)
    await edit.run({"path": "f", "old": old, "new": new}, context)
    assert path.read_bytes() == after


async def test_an_encoding_that_lacks_a_character_refuses_the_edit(context: Context) -> None:
    path = put(context, "f", "größe\n".encode("latin-1"))
    with pytest.raises(ToolError, match=r"cp1252, which can't hold '日' \(U\+65E5\)"):
        await edit.run({"path": "f", "old": "größe", "new": "日"}, context)
    assert path.read_bytes() == "größe\n".encode("latin-1")


async def test_text_that_is_not_unique_lists_its_lines(context: Context) -> None:
    path = put(context, "f", b"x\ny\nx\ny\nx\n")
    with pytest.raises(ToolError, match="3 times, at lines 1, 3, 5; add lines"):
        await edit.run({"path": "f", "old": "x", "new": "z"}, context)
    with pytest.raises(ToolError, match="was not read"):
        await edit.run({"path": "f", "old": "x", "new": "z", "replace_all": True}, context)
    await read.run({"path": "f"}, context)
    result = await edit.run({"path": "f", "old": "x", "new": "z", "replace_all": "true"}, context)
    assert path.read_bytes() == b"z\ny\nz\ny\nz\n"
    assert "lines 1, 3, 5" in result.for_model


async def test_overlapping_places_are_not_unique(context: Context) -> None:
    put(context, "f", b"aaa\n")
    with pytest.raises(ToolError, match="2 times"):
        await edit.run({"path": "f", "old": "aa", "new": "b"}, context)


async def test_a_missing_text_shows_the_most_similar_lines(context: Context) -> None:
    body = "".join(f"def other_{n}():\n    pass\n\n" for n in range(20))
    put(context, "f.py", (body + "def delay(self, attempt):\n    return base * 2 ** attempt\n").encode())
    with pytest.raises(ToolError) as caught:
        await edit.run(
            {"path": "f.py", "old": "def delay(self, attempts):\n    return base * 2 ** attempts", "new": ""},
            context,
        )
    assert "61\tdef delay(self, attempt):\n62\t    return base * 2 ** attempt" in str(caught.value)
    assert "other_0" not in str(caught.value)


async def test_a_text_that_differs_in_white_space_says_so(context: Context) -> None:
    put(context, "f.py", b"def f():\n\treturn 1\n")
    with pytest.raises(ToolError, match=r"other white space.*\n1\tdef f"):
        await edit.run({"path": "f.py", "old": "def f():\n    return 1", "new": ""}, context)


async def test_line_numbers_in_old_are_recognised(context: Context) -> None:
    put(context, "f.py", b"a\nb\n")
    with pytest.raises(ToolError, match="line numbers of read_file"):
        await edit.run({"path": "f.py", "old": "1\ta\n2\tb", "new": ""}, context)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"old": "", "new": "x"}, "old: empty"),
        ({"old": "a", "new": "a"}, "the same"),
        ({"old": "zzz", "new": "a"}, "Nothing in the file looks like it"),
        ({"old": "\n\n\n", "new": "a"}, "Nothing in the file looks like it"),
    ],
)
async def test_edits_that_can_not_work(context: Context, arguments: dict[str, str], said: str) -> None:
    put(context, "f.py", b"a\nb\n")
    with pytest.raises(ToolError, match=said):
        await edit.run({"path": "f.py", **arguments}, context)
