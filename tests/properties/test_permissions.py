"""Laws of permissions: deny always wins, allowing never loosens a denial, an allowed line is allowed part by part."""

import contextlib
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_agent.config.sections import Permissions
from tui_agent.core.tool import Intent
from tui_agent.policy.permissions import Rules
from tui_agent.policy.shell import parse

programs = st.sampled_from(["aa", "bb", "cc", "rm", "git"])
words = st.sampled_from(["", " -x", " -rf", " 'q r'", ' "$V"', " push", " f.txt", " $(bb)", " \\\n -y"])
simple = st.builds(lambda *bits: "".join(bits), programs, words, words)
joints = st.sampled_from([" && ", " || ", "; ", " | ", " & ", "\n"])
frames = st.sampled_from(
    ["{}", "({})", "sudo {}", "env A=1 {}", "time {}", "if true; then {}; fi", "echo $({})", "f() {{ {}; }}"]
)
commands = st.builds(
    lambda frame, first, rest: frame.format(first + "".join(joint + part for joint, part in rest)),
    frames,
    simple,
    st.lists(st.tuples(joints, simple), max_size=3),
)
patterns = st.one_of(
    st.just("*"),
    st.builds(lambda name, end: name + end, programs, st.sampled_from(["", " *", " -x *", " push *"])),
)
rule = st.one_of(
    st.just("run_command"), st.just("execute"), st.builds(lambda pattern: f"run_command({pattern})", patterns)
)
rulesets = st.lists(rule, max_size=4).map(tuple)
modes = st.sampled_from(["yolo", "confirm-sensitive", "confirm-all"])


def run(command: str) -> Intent:
    return Intent("run_command", "execute", command=command)


@given(commands, rulesets, rulesets, rulesets, modes, st.booleans())
def test_deny_wins_over_whatever_else_is_said(command, allow, ask, deny, mode, untrusted):
    alone = Rules(Permissions(deny=deny)).judge(run(command), mode, untrusted)
    everything = Rules(Permissions(allow=allow, ask=ask, deny=deny)).judge(run(command), mode, untrusted)
    assert (alone.action == "deny") == (everything.action == "deny")


@given(commands, rulesets, rulesets, rule, modes)
def test_one_more_allow_never_loosens_a_denial_or_a_question_of_a_rule(command, ask, deny, more, mode):
    rules = Rules(Permissions(ask=ask, deny=deny))
    before, after = rules.judge(run(command), mode), rules.with_rule(more).judge(run(command), mode)
    if before.action == "deny":
        assert after.action == "deny"
    if before.action == "ask" and before.why.startswith("your rule"):
        assert after.action == "ask"


@given(commands, rulesets, rulesets)
def test_of_an_allowed_line_every_part_is_allowed(command, allow, deny):
    rules = Rules(Permissions(allow=allow, deny=deny))
    if rules.judge(run(command), "confirm-sensitive").action == "allow":
        for part in parse(command).parts:
            assert rules.judge(run(part.raw), "confirm-sensitive").action == "allow"


@given(simple, simple, joints, rulesets)
def test_what_is_denied_alone_is_denied_in_company(one, other, joint, deny):
    rules = Rules(Permissions(allow=("run_command",), deny=deny))
    if rules.judge(run(one), "yolo").action == "deny":
        assert rules.judge(run(one + joint + other), "yolo").action == "deny"
        assert rules.judge(run(other + joint + one), "yolo").action == "deny"


@given(commands)
def test_what_is_suggested_can_be_read_and_never_covers_what_it_was_not_made_for(command):
    suggestion = Rules().suggest(run(command))
    if suggestion:
        rules = Rules().with_rule(suggestion)
        for danger in ("rm -rf x", "sudo aa", "bash -c dd", "curl x | sh"):
            assert rules.judge(run(danger), "confirm-sensitive").action == "ask"


@given(st.text(max_size=60))
def test_no_text_makes_the_parser_fail(text):
    assert parse(text).text == text.strip()


BASH = Path("/bin/bash")
pieces = st.sampled_from(
    [
        "aa",
        "bb",
        "cc",
        " ",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "(",
        ")",
        "{ ",
        " ;}",
        "$(",
        "`",
        '"',
        "'",
        "\\",
        "<<E\n",
        "\nE\n",
        "<<'E'\n",
        ">f",
        "2>&1",
        "$X",
        "${x:-",
        "}",
        "if ",
        "then ",
        "fi",
        "for i in a; do ",
        "done",
        "!",
        "[[ ",
        "]]",
        "#",
        "\t",
        "\\\n",
        "X=1 ",
        "<(",
        "aa(){ ",
        "$'",
        "eval ",
        "bash -c ",
        "env ",
        "xargs ",
        "nohup ",
        "exec ",
        "command ",
        "a{b;*",
        "<",
        "<<-E\n",
        "trap ",
        "coproc ",
        "&>",
        "<<<",
        '\\"',
        "=",
        "[",
    ]
)
HANDLER = """
command_not_found_handle() { printf '%s\\0' "$1" >> "$RAN"; return 0; }
export -f command_not_found_handle
eval "$1"
"""


@pytest.mark.skipif(not BASH.exists(), reason="needs bash, whose own reading is the yardstick")
@settings(max_examples=150)
@given(st.lists(pieces, min_size=1, max_size=10).map("".join))
def test_a_shell_runs_nothing_that_was_not_seen(script):
    read = parse(script)
    if read.unclear or any(part.dynamic or part.hides for part in read.walk()):
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tools, ran = Path(folder, "tools"), Path(folder, "ran")
        tools.mkdir()
        ran.touch()
        for tool in ("bash", "env", "xargs", "nohup"):
            Path(tools, tool).symlink_to(
                f"/usr/bin/{tool}" if Path(f"/usr/bin/{tool}").exists() else f"/bin/{tool}"
            )
        environment = {"PATH": str(tools), "RAN": str(ran)}
        with subprocess.Popen(
            [BASH, "--norc", "-c", HANDLER, "x", script],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            process.wait(10)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # what it left in the background
        seen = {part.words[0] for part in read.walk()}
        assert {name for name in ran.read_text().split("\0") if name} <= seen
        made = {path.name for path in Path(folder).iterdir()} - {"tools", "ran"}
        assert None in read.writes or made <= set(read.writes)
