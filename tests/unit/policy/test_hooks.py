"""Hooks after an edit: which run, how each way of ending is told, and that nothing of them is left behind."""

import asyncio
import os
import shlex
import signal
from pathlib import Path

import pytest

from tui_agent.config.sections import Hook
from tui_agent.policy.hooks import (
    OUTPUT_CHARS,
    HookOutcome,
    command_line,
    joined,
    matching,
    plain_text,
    problem_count,
    run,
    shortened,
)


def hook(command: str, *, timeout: float = 20, name: str = "lint") -> Hook:
    return Hook(name=name, command=command, timeout=timeout)


def alive(pid: int) -> bool:
    """True while a process runs (one that has ended but was not collected yet does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


async def gone(pid: int) -> bool:
    """Wait until a process that was killed is gone."""
    async with asyncio.timeout(5):
        while alive(pid):  # noqa: ASYNC110 - a process that is not our child
            await asyncio.sleep(0.01)
    return True


def line_of(path: Path) -> str:
    """The line another process has written; empty until it is whole."""
    text = path.read_text() if path.exists() else ""
    return text.strip() if text.endswith("\n") else ""


async def content(path: Path) -> str:
    """Wait until another process has written a line."""
    async with asyncio.timeout(5):
        while not line_of(path):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
    return line_of(path)


# ---- which


@pytest.mark.parametrize(
    ("pattern", "path", "applies"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyi", False),
        ("src/*.py", "src/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/b/c/a.py", True),
        ("src/**/*.py", "lib/a.py", False),
        ("**/*.ts", "a.ts", True),
        ("Makefile", "sub/Makefile", True),
        ("*.[ch]", "x.h", True),
        ("*.PY", "a.py", False),
    ],
)
def test_a_pattern_is_for_the_name_or_for_the_path(pattern: str, path: str, applies: bool):
    assert bool(matching([Hook(name="h", command="true", file_patterns=(pattern,))], path)) is applies


def test_disabled_hooks_do_not_run_and_the_order_is_the_persons():
    one, two = hook("1", name="one"), hook("2", name="two")
    off = Hook(name="off", command="3", enabled=False)
    assert matching([two, off, one], "x.py") == [two, one]


# ---- one run


async def test_success_is_ok_with_its_output(tmp_path: Path):
    outcome = await run(hook("echo fine; echo and err >&2"), "a.py", tmp_path)
    assert (outcome.status, outcome.output, outcome.exit_code) == ("ok", "fine\nand err", 0)
    assert (outcome.name, outcome.path, outcome.rewrote) == ("lint", "a.py", False)
    assert outcome.duration > 0


async def test_failure_has_its_exit_code(tmp_path: Path):
    outcome = await run(hook("echo 'a.py:3: bad'; exit 3"), "a.py", tmp_path)
    assert (outcome.status, outcome.output, outcome.exit_code) == ("failed", "a.py:3: bad", 3)


async def test_a_missing_command_says_what_to_do(tmp_path: Path):
    outcome = await run(hook("no-such-linter {file}"), "a.py", tmp_path)
    assert (outcome.status, outcome.exit_code) == ("missing", 127)
    assert "no-such-linter" in outcome.output
    assert "hint: install what lint runs" in outcome.output


async def test_a_missing_workspace_is_an_outcome(tmp_path: Path):
    outcome = await run(hook("true"), "a.py", tmp_path / "nowhere")
    assert (outcome.status, outcome.exit_code) == ("failed", None)
    assert "could not be started" in outcome.output


@pytest.mark.parametrize(
    "name",
    [
        "plain.py",
        "with space.py",
        "$(touch pwned).py",
        "`touch pwned`.py",
        "a';touch pwned;'.py",
        "-rf.py",
        'q".py',
    ],
)
async def test_a_hostile_file_name_is_one_argument(tmp_path: Path, name: str):
    (tmp_path / name).write_text("content")
    outcome = await run(hook("cat {file}"), name, tmp_path)
    assert (outcome.status, outcome.output) == ("ok", "content")
    assert not (tmp_path / "pwned").exists()


async def test_without_the_placeholder_nothing_is_appended_and_the_environment_tells(tmp_path: Path):
    line = 'echo "$TUI_AGENT_EDITED_FILE|$ARCHITECT_EDITED_FILE|$KEPT|$#"; pwd -P'
    outcome = await run(hook(line), "src/a b.py", tmp_path, {"KEPT": "yes", "PATH": os.environ["PATH"]})
    assert outcome.output == f"src/a b.py|src/a b.py|yes|0\n{tmp_path}"
    assert command_line(hook("ruff check . {file} {file}"), "a b") == "ruff check . 'a b' 'a b'"


async def test_a_hook_has_nothing_to_read(tmp_path: Path):
    outcome = await run(hook("cat; echo done"), "a.py", tmp_path)
    assert outcome.output == "done"


async def test_a_rewritten_file_is_noticed_a_touched_one_is_not(tmp_path: Path):
    (tmp_path / "a.py").write_text("x=1\n")
    assert not (await run(hook("touch {file}"), "a.py", tmp_path)).rewrote
    assert (await run(hook("echo 'x = 1' > {file}"), "a.py", tmp_path)).rewrote
    assert (await run(hook("rm {file}"), "a.py", tmp_path)).rewrote


async def test_a_timeout_ends_the_whole_group_and_keeps_the_output(tmp_path: Path):
    line = "echo before; (trap '' TERM; echo $$ > child; exec sleep 600) & echo $! > pid; wait"
    outcome = await run(hook(line, timeout=0.3), "a.py", tmp_path)
    assert (outcome.status, outcome.exit_code) == ("timeout", None)
    assert outcome.output == "before\nended after 0.3 s (hooks.post_edit: lint: timeout)"
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_cancelling_ends_the_whole_group(tmp_path: Path):
    task = asyncio.create_task(run(hook("sleep 600 & echo $! > pid; wait"), "a.py", tmp_path))
    pid = int(await content(tmp_path / "pid"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(pid)


async def test_what_a_hook_leaves_running_is_ended_with_it(tmp_path: Path):
    outcome = await run(hook("sleep 600 & echo $! > pid; echo done"), "a.py", tmp_path)
    assert (outcome.status, outcome.output) == ("ok", "done")
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_a_hook_killed_by_a_signal_failed(tmp_path: Path):
    outcome = await run(hook("kill -KILL $$"), "a.py", tmp_path)
    assert (outcome.status, outcome.exit_code) == ("failed", -signal.SIGKILL)


async def test_a_flood_of_output_is_kept_at_both_ends(tmp_path: Path):
    program = "for i in range(200_000): print('line', i)"
    outcome = await run(hook(f"python3 -c {shlex.quote(program)}"), "a.py", tmp_path)
    assert outcome.status == "ok"
    assert outcome.output.startswith("line 0\nline 1\n")
    assert outcome.output.endswith("\nline 199999")
    assert "characters left out" in outcome.output
    assert len(outcome.output) < OUTPUT_CHARS + 100


# ---- what is read of it


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1bPq#0;2\x1b\\after", "after"),
        (b"10%\r50%\r100%\nnext\r\n", "100%\nnext"),
        (b"a\x08b\x00c\x7f\tend", "abc\tend"),
        (b"caf\xc3\xa9 \xff", "café �"),
        ("\x9b31mC1".encode(), "C1"),
        ("\u200bzw".encode(), "\u200bzw"),
        (b"\x1b", ""),
        (b"\n\nkept\n\n", "kept"),
    ],
)
def test_no_escape_sequence_survives(raw: bytes, text: str):
    assert plain_text(raw) == text


def test_long_output_is_cut_between_lines():
    text = "\n".join(f"line {number}" for number in range(2000))
    short = shortened(text, 400)
    head, _, tail = short.partition("\n… ")
    assert text.startswith(head + "\n")
    assert text.endswith("\n" + tail.partition("…\n")[2])
    assert len(short) <= 460
    assert shortened("short", 400) == "short"


def test_the_model_reads_every_outcome():
    text = joined(
        [
            HookOutcome("failed", "src/a.py:45: E302", 1, 0.3, name="ruff", path="src/a.py"),
            HookOutcome("ok", "", 0, 0.1, rewrote=True, name="format", path="src/a.py"),
            HookOutcome("timeout", "ended after 10 s", name="mypy", path="src/a.py"),
            HookOutcome("missing", "sh: x: not found", 127, name="x", path="src/a.py"),
        ]
    )
    assert text == (
        "Hook ruff on src/a.py: failed (exit 1)\nsrc/a.py:45: E302\n\n"
        "Hook format on src/a.py: ok\nIt changed src/a.py: read the file again before you edit it.\n\n"
        "Hook mypy on src/a.py: timed out\nended after 10 s\n\n"
        "Hook x on src/a.py: its command was not found\nsh: x: not found"
    )
    assert joined([]) == ""


@pytest.mark.parametrize(
    ("output", "problems"),
    [
        ("All checks passed!", 0),
        ("a.py:1:1: F401 unused\nb.py:2:5: E501 long\nFound 2 errors.", 2),
        ("F821 Undefined name `x`\n --> src/a.py:43:5\n  |\n43 | x\n\nFound 1 error.", 1),
        ("src/a.py:3: error: Bad  [arg-type]\nsrc/a.py:3: note: See docs\nFound 1 error in 1 file", 1),
        ("/w/a.py\n  /w/a.py:3:5 - error: Nope\n  /w/a.py:4:5 - error: Nope\n2 errors, 0 warnings", 2),
        ("/w/x.js\n  10:5  error  'a' is not defined  no-undef\n  12:1  warning  y\n\n✖ 2 problems", 2),
        ("src/a.ts(3,5): error TS2304: Cannot find name", 1),
        ("tests/a.py:10: AssertionError\n1 failed in 0.1s", 1),
        ("12:30:45 starting\n12:30:46 done", 0),
        ("http://127.0.0.1:80/x", 0),
        ("5 failed, 2 passed", 5),
        ("0 errors, 0 warnings", 0),
        ("a.py:1: same\na.py:1: same", 1),
        ("", 0),
    ],
)
def test_problems_are_counted_as_tools_print_them(output: str, problems: int):
    assert problem_count(output) == problems
