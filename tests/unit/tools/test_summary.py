"""The titles of panels, with whole, partial and hopeless arguments."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tui_agent.tools.summary import partial_object, summarise, summarise_partial

PATCH = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n+w\n"
ENVELOPE = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n*** Add File: b.py\n+y\n+z\n*** Delete File: c.py\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "arguments", "summary"),
    [
        ("read_file", {"path": "src/main.py"}, "src/main.py"),
        ("read_file", {"path": "src/main.py", "start": 1, "end": 88}, "src/main.py 1–88"),
        ("read_file", {"path": "src/main.py", "start": 5}, "src/main.py 5–"),
        ("read_file", {"path": "src/main.py", "end": "7"}, "src/main.py 1–7"),
        ("write_file", {"path": "src/main.py", "content": "a\nb\n"}, "src/main.py (2 lines)"),
        ("write_file", {"path": "src/main.py", "content": "a"}, "src/main.py (1 line)"),
        ("write_file", {"path": "src/main.py", "content": ""}, "src/main.py (0 lines)"),
        (
            "edit_file",
            {"path": "src/main.py", "old": "a\nb\nc", "new": "1\n2\n3\n4\n5\n"},
            "src/main.py (3→5 lines)",
        ),
        ("edit_file", {"path": "src/main.py", "old": "a", "new": ""}, "src/main.py (1→0 lines)"),
        ("apply_patch", {"patch": PATCH}, "src/a.py (+2 −1)"),
        ("apply_patch", {"patch": ENVELOPE}, "a.py and 2 more (+2 −1)"),
        ("apply_patch", {"patch": "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"}, "x (+0 −1)"),
        ("search_code", {"pattern": "retry", "path": "src"}, '"retry" in src/'),
        ("search_code", {"pattern": "retry", "path": ["src/", "tests"]}, '"retry" in src/, tests/'),
        ("grep", {"pattern": "import jwt", "path": "src/a.py"}, '"import jwt" in src/a.py'),
        ("grep", {"pattern": "x"}, '"x" in ./'),
        ("find_files", {"pattern": "*.py", "path": ".github"}, '"*.py" in .github/'),
        ("list_files", {}, "./"),
        ("list_files", {"path": "src"}, "src/"),
        ("run_command", {"command": "pytest tests/ -x"}, "pytest tests/ -x"),
        ("run_command", {"command": "cd x\nls\n"}, "cd x ↵ ls ↵"),
        ("todo", {"items": [{"text": "a", "state": "done"}, {"text": "b"}]}, "1 of 2 done"),
        ("ask_user", {"question": "Which?"}, "Which?"),
        ("request_more_iterations", {"reason": "tests left"}, "tests left"),
        ("mcp__git__log", {"repo": "r" * 80, "n": 5}, "r" * 59 + "…"),
        ("mcp__git__log", {"n": 5, "repo": "x"}, "5"),
        ("mcp__git__log", {}, ""),
    ],
)
def test_summaries(name: str, arguments: dict[str, Any], summary: str) -> None:
    assert summarise(name, arguments) == summary
    assert summarise_partial(name, json.dumps(arguments)) == summary


@pytest.mark.parametrize(
    "name",
    ["read_file", "write_file", "edit_file", "apply_patch", "grep", "list_files", "todo", "run_command", "x"],
)
@pytest.mark.parametrize("value", [None, 5, [], {}, [None, {}], "\ud800", True, {"a": object()}])
def test_any_argument_is_survived(name: str, value: object) -> None:
    keys = ("path", "start", "end", "content", "old", "new", "patch", "pattern", "items", "command")
    assert isinstance(summarise(name, dict.fromkeys(keys, value)), str)


@pytest.mark.parametrize(
    ("name", "raw", "summary"),
    [
        ("read_file", "", ""),
        ("read_file", '{"path": "src/ma', "src/ma"),
        ("read_file", '{"path": "src/main.py", "start": 1', "src/main.py 1–"),
        ("write_file", '{"path": "a.py", "content": "one\\ntwo\\nthr', "a.py (3 lines)"),
        ("write_file", '{"path": "a.py", "content": "one\\', "a.py (1 line)"),
        ("write_file", '{"path": "a.py", "content": "gr\\u00f', "a.py (1 line)"),
        ("edit_file", '{"path": "a.py", "old": "one\\ntwo"', "a.py (2→… lines)"),
        ("edit_file", '{"path": "a.py", "old": "one\\ntwo", "new": "x', "a.py (2→1 lines)"),
        ("run_command", '{"command": "echo \\"hi', 'echo "hi'),
        ("todo", '{"items": [{"text": "a", "state": "done"}, {"te', "1 of 2 done"),
        ("grep", '{"pattern": "x", "path": ["src", "te', '"x" in src/, te/'),
        ("grep", "[1, 2", '"" in ./'),
        ("grep", "hello", '"" in ./'),
    ],
)
def test_arguments_that_still_stream(name: str, raw: str, summary: str) -> None:
    assert summarise_partial(name, raw) == summary


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"a": "x\\', "x"),
        ('{"a": "x\\u00f', "x"),
        ('{"a": "x\\ud83d', "x"),
        ('{"a": "x\\ud83d\\ude00', "x😀"),
        ('{"a": "x\\n', "x\n"),
        ('{"a": "x\ty', "x\ty"),
    ],
)
def test_a_string_is_cut_before_half_a_character(raw: str, value: str) -> None:
    assert partial_object(raw) == {"a": value}


def test_a_title_is_one_bounded_line() -> None:
    assert len(summarise("run_command", {"command": "x" * 10_000})) <= 400
    assert "\n" not in summarise("ask_user", {"question": "a\nb"})


def test_a_long_partial_argument_takes_no_time() -> None:
    raw = json.dumps({"path": "a", "content": 'x = "1"\n' * 50_000})[:-10]
    began = time.process_time()
    summarise_partial("write_file", raw)
    assert time.process_time() - began < 0.1
