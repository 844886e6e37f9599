"""``tui-agent run`` as scripts use it: a process with pipes, one result, and an exit code that says how it went."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_llm import FakeLLM, ToolCall, call, calls, fault, say, status
from tests.fakes.processes import running
from tui_agent.config.paths import Paths
from tui_agent.core import events as ev
from tui_agent.sessions.log import read

PATIENCE = 60.0
"""Seconds that a program may take on a busy machine."""
PROGRAM = (sys.executable, "-m", "tui_agent")


def start(
    *arguments: str, env: Mapping[str, str] | None = None, given: str | None = None
) -> subprocess.Popen[str]:
    """The program with pipes for its output; ``given`` is its standard input."""
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": os.environ["HOME"], **(env or {})},
        process_group=0,
    )  # fmt: skip
    if given is not None:
        assert process.stdin
        process.stdin.write(given)
        process.stdin.close()
        process.stdin = None
    return process


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Wait for its end; a program that does not end is killed and fails the test."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"it never ended; so far:\n{out}\n{err}")
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run(
    *arguments: str, env: Mapping[str, str] | None = None, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    return finish(start("run", *arguments, env=env, given=given))


def with_model(fake: FakeLLM) -> dict[str, str]:
    return {"OPENAI_API_BASE": fake.openai_base, "OPENAI_API_KEY": "sk-test"}


DEMO = {"TUI_AGENT_DEMO_SPEED": "0"}
RESULT = {
    "status", "stop_reason", "final_output", "steps", "tool_calls", "cost_usd", "tokens", "duration_seconds",
    "session_id", "model", "files_changed",
}  # fmt: skip
EVIL = "\x1b]0;EVIL\x07 \x9b5mEVIL"


CONFIG = """\
model: mine
models:
  mine: {{name: openai/fake, api_base: "{base}", api_key_env: MY_KEY, price: {{input: 1, output: 2}}}}
permissions: {{mode: yolo}}
"""


# ---- results on standard output


def test_json_prints_one_object_of_a_run_with_tools_read_from_standard_input() -> None:
    Path("a.txt").write_text("one\n")
    script = [
        calls(
            ToolCall("read_file", {"path": "a.txt"}),
            ToolCall("list_files", {"path": "."}),
            ToolCall("grep", {"pattern": "one", "path": "."}),
        ),
        call("edit_file", path="a.txt", old="one", new="two"),
        say("Both done."),
    ]
    with FakeLLM(script) as fake:
        Paths.from_environ().config_file.parent.mkdir(parents=True)
        Paths.from_environ().config_file.write_text(CONFIG.format(base=fake.openai_base))
        done = run("-", "--json", env={"MY_KEY": "sk-mine"}, given="mend a.txt\n")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result) == RESULT
    assert (result["status"], result["stop_reason"], result["final_output"]) == (
        "success",
        "llm_done",
        "Both done.",
    )
    assert (result["steps"], result["tool_calls"], result["files_changed"]) == (3, 4, ["a.txt"])
    assert set(result["tokens"]) == {"input", "cached", "output", "reasoning"}
    assert result["tokens"]["input"] > 0
    assert result["model"] == "mine"
    assert result["cost_usd"] > 0
    assert Path("a.txt").read_text() == "two\n"
    assert "edit_file" in done.stderr, "the trace goes to standard error"
    assert [message["role"] for message in fake.requests[1].messages] == [
        "system", "user", "assistant", "tool", "tool", "tool",
    ]  # fmt: skip
    assert fake.requests[0].messages[1]["content"].strip() == "mend a.txt"
    assert fake.requests[0].headers["authorization"] == "Bearer sk-mine"


def test_words_come_while_the_rest_is_still_to_be_written() -> None:
    with FakeLLM([fault("hang_middle", after=3, text=f"First words. {EVIL} last words.")]) as fake:
        process = start("run", "-m", "openai/fake", "hello", env=with_model(fake))
        assert process.stdout
        first = process.stdout.read(len("First words."))
        assert first == "First words."
        assert not fake.request(0).done.is_set()
        fake.request(0).release()
        done = finish(process)
    assert done.returncode == 0
    assert done.stdout.rstrip().endswith("last words.")
    for text in (done.stdout, done.stderr):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), repr(text)
    assert "EVIL" in done.stdout


def test_stream_json_prints_the_log_itself() -> None:
    done = run("--demo", "--stream-json", "fix it", env=DEMO)
    assert done.returncode == 0, done.stderr
    events = [ev.decode(line) for line in done.stdout.splitlines()]
    assert not [event for event in events if isinstance(event, ev.Unknown)]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert isinstance(events[0], ev.SessionStart)
    assert events[0].kind == "headless"
    assert isinstance(events[-1], ev.SessionEnd)
    (log,) = Paths.from_environ().sessions_dir.rglob("*.jsonl")
    assert events == list(read(log))
    ends = [event for event in events if isinstance(event, ev.AgentEnd)]
    assert [(end.stop_reason, end.status) for end in ends] == [("llm_done", "success")]


def test_quiet_prints_the_answer_and_nothing_else() -> None:
    done = run("--demo", "--quiet", "fix it", env=DEMO)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("**All tests pass.**")


def test_a_dry_run_changes_nothing() -> None:
    done = run("--demo", "--dry-run", "--stream-json", "--quiet", "fix it", env=DEMO)
    events = [ev.decode(line) for line in done.stdout.splitlines()]
    folder = Path(next(event.cwd for event in events if isinstance(event, ev.SessionStart)))
    assert "sorted(" not in (folder / "wordstats" / "stats.py").read_text()
    first = next(
        event for event in events if isinstance(event, ev.ToolExecutionEnd) and event.name == "edit_file"
    )
    assert (first.status, first.summary) == ("ok", "would do")


# ---- mistakes of the person: exit 3


def test_a_misspelt_key_names_file_line_and_the_nearest_key() -> None:
    file = Path("mine.yaml")
    file.write_text("model: openai/fake\n\nlimits:\n  max_stepz: 3\n")
    done = run("--config", str(file), "hello")
    assert done.returncode == 3
    assert done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert re.search(r"mine\.yaml:4: .*max_stepz.*max_steps", line), line


def test_no_model_says_what_to_do() -> None:
    done = run("hello")
    assert done.returncode == 3
    assert done.stdout == ""
    for way in ("-m ", "config.yaml", "--demo"):
        assert way in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--json", "--stream-json", "--demo", "x"], "exclude each other"),
        (["--demo", " "], "empty"),
        (["--demo", "-C", "no-such-folder", "x"], "no-such-folder"),
        (["--demo", "--max-steps", "many", "x"], "max"),
        (["--demo", "--confirm", "yollo", "x"], "yolo"),
        (["--demo", "--no-such-option", "x"], "no-such-option"),
        (["-m", "openai/fake", "-c", "x"], "no session"),
    ],
)
def test_mistakes_on_the_command_line_exit_3(arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    assert words in done.stderr
    assert "Traceback" not in done.stderr


# ---- how it ended: exit codes


def ended(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one object on standard output."""
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("flag", "code"), [("--exit-code-on-partial", 2), ("--no-exit-code-on-partial", 0)])
def test_partial_work_exits_2_unless_told_otherwise(flag: str, code: int) -> None:
    done = run("--demo", "--json", "--max-steps", "2", flag, "fix it", env=DEMO)
    result = ended(done)
    assert (result["status"], result["stop_reason"]) == ("partial", "max_steps")
    assert done.returncode == code


def test_a_refused_key_exits_4_and_says_so() -> None:
    with FakeLLM(default=status(401)) as fake:
        done = run("-m", "openai/fake", "--json", "hello", env=with_model(fake))
    result = ended(done)
    assert (done.returncode, result["status"], result["stop_reason"]) == (4, "failed", "llm_error")
    assert "OPENAI_API_KEY" in done.stderr
    assert "sk-test" not in done.stdout + done.stderr


def test_a_missing_key_exits_4_and_names_the_variable() -> None:
    done = run("-m", "anthropic/claude-sonnet-4-5", "--json", "hello")
    assert (done.returncode, ended(done)["stop_reason"]) == (4, "llm_error")
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_a_request_that_the_server_refuses_exits_1() -> None:
    with FakeLLM(default=status(400, {"error": {"message": f"no {EVIL}", "type": "x"}})) as fake:
        done = run("-m", "openai/fake", "--json", "hello", env=with_model(fake))
    result = ended(done)
    assert (done.returncode, result["status"], result["stop_reason"]) == (1, "failed", "llm_error")
    assert "\x1b" not in done.stderr


def test_a_step_that_takes_too_long_exits_5() -> None:
    with FakeLLM(default=fault("hang_middle", after=2)) as fake:
        done = run("-m", "openai/fake", "--json", "--step-timeout", "1", "hello", env=with_model(fake))
    result = ended(done)
    assert (done.returncode, result["stop_reason"], result["status"]) == (5, "timeout", "partial")
    assert "timeout" in result["final_output"]


# ---- signals


def test_sigint_lets_the_tool_end_and_exits_130() -> None:
    script = [call("run_command", command="echo begun > begun; sleep 0.5; echo ended > ended"), say("never")]
    with FakeLLM(script) as fake:
        process = start("run", "-m", "openai/fake", "--confirm", "yolo", "--json", "go", env=with_model(fake))
        until(lambda: Path("begun").exists(), process)
        process.send_signal(signal.SIGINT)
        done = finish(process)
    result = ended(done)
    assert (done.returncode, result["stop_reason"], result["status"]) == (130, "user_interrupt", "partial")
    assert Path("ended").exists()
    assert len(fake.requests) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_stop_save_and_exit_130(number: signal.Signals) -> None:
    process = start(
        "run", "--demo", "--stream-json", "--quiet", "fix it", env={"TUI_AGENT_DEMO_SPEED": "0.2"}
    )
    assert process.stdout
    lines: list[str] = []
    while not any('"message_start"' in line and '"assistant"' in line for line in lines):
        lines.append(process.stdout.readline())
    process.send_signal(number)
    done = finish(process)
    assert done.returncode == 130
    events = [ev.decode(line) for line in [*lines, *done.stdout.splitlines()]]
    assert [event.stop_reason for event in events if isinstance(event, ev.AgentEnd)] == ["user_interrupt"]
    assert isinstance(events[-1], ev.SessionEnd)


def test_a_second_sigint_leaves_at_once() -> None:
    stubborn = f"sleep 100.{os.getpid()}"
    command = f"trap '' INT TERM; echo begun > begun; {stubborn}"
    with FakeLLM([call("run_command", command=command)]) as fake:
        process = start("run", "-m", "openai/fake", "--confirm", "yolo", "go", env=with_model(fake))
        until(lambda: Path("begun").exists(), process)
        assert process.stderr
        process.send_signal(signal.SIGINT)
        seen = ""
        while "again" not in seen:
            seen += process.stderr.readline()
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.returncode == 130
    assert not running(stubborn), "it left, and what it had started went on"


def until(holds: Any, process: subprocess.Popen[str]) -> None:
    """Wait for something outside the program, as long as it runs."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.02)):
        if holds():
            return
        assert process.poll() is None, process.communicate()
        pause.wait(0.02)
    process.kill()
    pytest.fail("waited in vain")


def test_a_reader_that_goes_away_ends_it_without_a_traceback() -> None:
    process = start("run", "--demo", "--stream-json", "--quiet", "fix it", env={"TUI_AGENT_DEMO_SPEED": "1"})
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    done = finish(process)
    assert (done.stderr, done.returncode) == ("", 1)
