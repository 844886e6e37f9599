"""run_command: what it says, what it keeps, and that nothing outlives it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.toolcontext import Context
from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Output
from tui_agent.tools import process
from tui_agent.tools.files import ReadFile, WriteFile
from tui_agent.tools.process import HEAD_BYTES, LIVE_BURST, TAIL_BYTES, Capture
from tui_agent.tools.search import Grep
from tui_agent.tools.shell import RunCommand, plain

tool = RunCommand()


class Listening(Context):
    """A context that knows when a text was said."""

    def output(self, text: str) -> None:
        super().output(text)
        self.heard().set()

    def heard(self) -> asyncio.Event:
        event: asyncio.Event = self.__dict__.setdefault("event", asyncio.Event())
        return event

    async def hear(self, wanted: str) -> str:
        while wanted not in (text := "".join(self.said)):
            self.heard().clear()
            await self.heard().wait()
        return text


@pytest.fixture
def listening(context: Context) -> Listening:
    return Listening(context.workspace, context.session_dir)


@pytest.fixture
def leftovers() -> Iterator[list[int]]:
    """Process groups that the test leaves running; ended after it."""
    groups: list[int] = []
    yield groups
    for group in groups:
        process.signal_group(group, signal.SIGKILL)


async def run(context: Context, command: str, **more: object) -> tuple[str, str, bool]:
    result = await tool.run({"command": command, **more}, context)
    return result.for_model, result.summary, result.ok


def kept(name: str) -> tuple[bytes, int, int]:
    """A file's bytes, its mode and its folder's."""
    path = Path(name)
    return path.read_bytes(), stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)


# ---- what it says


@pytest.mark.parametrize(
    ("command", "text", "summary", "ok"),
    [
        ("echo hi", "hi", "exit 0", True),
        ("true", "(no output)", "exit 0", True),
        ("echo out; echo err >&2; exit 3", "out\nerr\n[exit code 3]", "exit 3", False),
        ("kill -SEGV $$", "(no output)\n[ended by SIGSEGV]", "SIGSEGV", False),
        ("pwd -P | xargs basename", "work", "exit 0", True),
        ("cat; echo $?", "0", "exit 0", True),
        ("[ -t 0 ] || [ -t 1 ] || echo no terminal", "no terminal", "exit 0", True),
        ("(: </dev/tty) 2>/dev/null || echo no terminal", "no terminal", "exit 0", True),
        ("echo $TERM $PAGER $GIT_PAGER", "dumb cat cat", "exit 0", True),
        ("ls /proc/self/fd 2>/dev/null | wc -l | tr -d ' '", "4", "exit 0", True),
        ("printf '\\033[31mred\\033[0m \\033]0;title\\007x'", "red x", "exit 0", True),
        ("printf '10%%\\r50%%\\r100%%\\ndone\\n'", "100%\ndone", "exit 0", True),
        ("printf 'a\\0b\\n'", "a␀b", "exit 0", True),
        ("printf 'gr\\303\\274n \\377'", "grün �", "exit 0", True),
    ],
)
async def test_output_and_ending(context: Context, command: str, text: str, summary: str, ok: bool) -> None:
    assert await run(context, command) == (text, summary, ok)


async def test_output_comes_live_and_as_it_is(listening: Listening) -> None:
    call = asyncio.ensure_future(run(listening, "printf 'one\\r'; read -r line < go; echo $line"))
    os.mkfifo(listening.workspace / "go")
    assert await listening.hear("one") == "one\r"
    assert not call.done()
    await asyncio.to_thread((listening.workspace / "go").write_text, "two\n")
    await call
    assert "".join(listening.said) == "one\rtwo\n"


async def test_a_character_cut_in_two_by_a_read_is_one_character(context: Context) -> None:
    await run(context, "printf '\\303'; sync; printf '\\274'")
    assert "".join(context.said) == "ü"


async def test_keys_of_model_providers_are_kept_from_commands(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "MY_API_KEY", "HF_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.setenv(name, "sk-secret")
    monkeypatch.setenv("MY_SETTING", "seen")
    text, _, _ = await run(context, "env; cat /proc/self/environ 2>/dev/null")
    assert "sk-secret" not in text
    assert "MY_SETTING=seen" in text
    own = RunCommand(lambda name: name == "MY_SETTING")
    assert "MY_SETTING" not in (await own.run({"command": "env"}, context)).for_model


async def test_binary_output_is_named_and_not_shown(context: Context) -> None:
    result = await tool.run({"command": "head -c 3000 /dev/zero"}, context)
    assert result.for_model == "[binary output, 3 kB]"
    assert result.display == Output("[binary output, 3 kB]")


# ---- what it keeps


async def test_ten_megabytes_are_kept_in_a_private_file(context: Context) -> None:
    result = await tool.run(
        {"command": "echo first; yes 0123456789abcde | head -n 655360; echo last"}, context
    )
    path = Path(result.full_output)
    assert path.is_relative_to(context.session_dir / "outputs")
    data, mode, folder = kept(result.full_output)
    assert (mode, folder) == (0o600, 0o700)
    assert len(data) == 16 * 655_360 + len("first\nlast\n")
    assert data.startswith(b"first\n0123")
    assert data.endswith(b"abcde\nlast\n")
    assert result.for_model.startswith("first\n0123")
    assert result.for_model.endswith("abcde\nlast")
    assert f"[10.4 MB left out here; the whole output is in {path}]" in result.for_model
    assert len(result.for_model) < HEAD_BYTES + TAIL_BYTES + 1000
    assert len("".join(context.said)) < 2 * LIVE_BURST


async def test_the_whole_output_can_be_read_and_searched_and_not_written(context: Context) -> None:
    path = (await tool.run({"command": "seq 100000"}, context)).full_output
    assert ReadFile().intent({"path": path}, context).outside == ()
    assert Grep().intent({"path": path, "pattern": "x"}, context).outside == ()
    assert WriteFile().intent({"path": path, "content": ""}, context).outside == (path,)
    assert (await Grep().run({"path": path, "pattern": "77777"}, context)).summary == "1 match in 1 file"


async def test_a_short_output_leaves_no_file(context: Context) -> None:
    result = await tool.run({"command": f"head -c {HEAD_BYTES + TAIL_BYTES} /dev/zero | tr '\\0' x"}, context)
    assert result.full_output == ""
    assert not context.session_dir.exists()
    assert len(result.for_model) == HEAD_BYTES + TAIL_BYTES


async def test_where_no_file_can_be_kept_the_ends_still_come(context: Context) -> None:
    context.session_dir.write_text("in the way")
    result = await tool.run({"command": "yes | head -c 1000000; echo last"}, context)
    assert "the whole output could not be kept" in result.for_model
    assert result.for_model.endswith("last")
    assert result.ok


def test_the_file_of_a_flood_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_FILE_BYTES", 300_000)
    capture = Capture(lambda _: None, tmp_path)
    for _ in range(10):
        capture.feed(b"x" * 65_536)
    capture.close()
    assert capture.path
    assert capture.path.stat().st_size <= 300_000
    assert "the file ends at" in capture.trouble
    head, cut, tail = capture.parts
    assert len(head) + cut + len(tail) == capture.total == 655_360


def test_a_flood_is_shown_in_samples(tmp_path: Path) -> None:
    now = 0.0
    said: list[str] = []
    capture = Capture(said.append, tmp_path, lambda: now)
    for _ in range(100):
        capture.feed(b"x" * 65_536)
    assert len("".join(said)) == LIVE_BURST
    now = 2.0
    capture.feed(b"end")
    capture.close()
    assert said[-1] == "\n[6.3 MB not shown]\nend"


# ---- how it ends


async def test_a_timeout_ends_the_whole_group_and_keeps_the_output(context: Context) -> None:
    text, summary, ok = await run(context, "echo before; sleep 100 | sleep 100", timeout=0.2)
    assert (text, summary, ok) == ("before\n[stopped after 0.2 s: timeout]", "timeout, 0.2 s", False)


async def test_printing_for_ever_ends_by_the_timeout(context: Context) -> None:
    began = time.monotonic()
    text, summary, _ = await run(context, "yes", timeout="0.3")
    assert time.monotonic() - began < 2.5
    assert summary == "timeout, 0.3 s"
    assert len(text) < HEAD_BYTES + TAIL_BYTES + 1000


@pytest.mark.parametrize(
    "command",
    [
        "echo $$; sleep 100",
        "echo $$; (sleep 100 & sleep 100) & wait",
        "echo $$; sleep 100 | sleep 100 | sleep 100",
        "trap '' INT; echo $$; sleep 100",
        "trap '' INT TERM; echo $$; while :; do sleep 1; done",
        "echo $$; kill -STOP $$",
        "echo $$; exec sh -c 'nohup sleep 100 & sleep 100'",
    ],
)
async def test_a_cancelled_command_is_gone_with_all_its_children(listening: Listening, command: str) -> None:
    call = asyncio.ensure_future(run(listening, command))
    group = int(re.sub(r"\D", "", await listening.hear("\n")))
    assert process.is_alive(group)
    began = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 2
    assert not process.is_alive(group)


async def test_a_second_cancellation_kills_at_once(listening: Listening) -> None:
    call = asyncio.ensure_future(
        run(listening, "trap 'echo got it' INT; trap '' TERM; echo $$; while :; do sleep 0.05; done")
    )
    group = int((await listening.hear("\n")).strip())
    call.cancel()
    await listening.hear("got it")
    began = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 0.45
    assert await process._gone(group, 1)


async def test_a_program_may_end_well_when_interrupted(listening: Listening) -> None:
    call = asyncio.ensure_future(
        run(listening, "trap 'echo saved; exit' INT; echo ready; while :; do sleep 0.05; done")
    )
    await listening.hear("ready")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert "saved" in "".join(listening.said)


async def test_a_background_child_that_keeps_the_output_open_holds_nothing_up(
    context: Context, leftovers: list[int]
) -> None:
    began = time.monotonic()
    text, summary, ok = await run(context, "sleep 100 & echo started $$")
    assert time.monotonic() - began < 1.5
    group = int(text.split()[1])
    leftovers.append(group)
    assert ok
    assert summary == "exit 0, left one running"
    assert f"kill -- -{group}" in text
    assert process.is_alive(group)


async def test_a_daemon_in_a_session_of_its_own_holds_nothing_up(
    context: Context, leftovers: list[int]
) -> None:
    text, summary, _ = await run(context, "setsid sleep 100 & echo $!")
    leftovers.append(int(text.split()[0]))
    assert summary == "exit 0, left one running"
    assert "still runs in the background" in text


async def test_a_child_left_behind_may_go_on_printing(context: Context, leftovers: list[int]) -> None:
    os.mkfifo(context.workspace / "go")
    os.mkfifo(context.workspace / "done")
    text, _, _ = await run(context, "(read -r x < go; echo more; echo $? > done) & echo $$")
    leftovers.append(int(text.split()[0]))
    await asyncio.to_thread((context.workspace / "go").write_text, "x\n")
    assert await asyncio.to_thread((context.workspace / "done").read_text) == "0\n"
    assert "more" not in "".join(context.said)


async def test_a_background_child_with_its_output_elsewhere_is_told_of(
    context: Context, leftovers: list[int]
) -> None:
    began = time.monotonic()
    text, _, _ = await run(context, "sleep 100 >/dev/null 2>&1 & echo $$")
    leftovers.append(int(text.split()[0]))
    assert time.monotonic() - began < 0.25
    assert "kill -- -" in text


async def test_the_loop_stays_free_while_a_command_floods(context: Context) -> None:
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - began - 0.001)

    watching = asyncio.ensure_future(watch())
    await run(context, "yes", timeout=0.5)
    watching.cancel()
    assert longest < 0.2  # 20 ms is the aim (benchmarks); this only catches a loop that blocks


# ---- what it refuses, and the intent


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("echo \0", "NUL"),
        ("echo \ud800", "half a character"),
        ("x" * 3_000_000, "could not be started"),
    ],
)
async def test_commands_that_can_not_be(context: Context, command: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        await run(context, command)


async def test_a_workspace_that_is_gone(context: Context) -> None:
    context.workspace.rmdir()
    with pytest.raises(ToolError, match="could not be started: no such file"):
        await run(context, "true")


def test_the_intent_shows_the_command(context: Context) -> None:
    intent = tool.intent({"command": "rm -rf /etc/x"}, context)
    assert (intent.effect, intent.command, intent.outside) == ("execute", "rm -rf /etc/x", ("/etc/x",))
    assert intent.destructive == "rm -rf … deletes"
    assert intent.preview == Output("rm -rf /etc/x", "bash")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\r\nb\r\n", "a\nb\n"),
        ("b\bbold\b\b", "bo"),
        ("\b\bx", "x"),
        ("\x1b[1;31;48;5;9mx\x1b[K\x1b(B\x1b[m", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\y", "y"),
        ("\x07\x9b31mz\x1b", "z"),
    ],
)
def test_plain(raw: str, shown: str) -> None:
    assert plain(raw) == shown
