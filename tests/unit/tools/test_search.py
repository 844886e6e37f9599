"""The searching tools on a small project, with ripgrep and without."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.toolcontext import Context
from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Matches, Output
from tui_agent.tools import globs, plainsearch, ripgrep
from tui_agent.tools.search import FindFiles, Grep, ListFiles, SearchCode

search, grep, list_files, find_files = SearchCode(), Grep(), ListFiles(), FindFiles()

FILES = {
    "src/app/retry.py": "import time\n\n\ndef retry(n):\n    return n\n\n\ndef other():\n    return retry(3)\n",
    "src/app/main.py": "from app.retry import retry\n",
    "src/web/page.ts": "export function retry() {}\n",
    "tests/test_retry.py": "def test_retry():\n    assert retry(1)\n",
    "README.md": "# retry(\n",
    ".github/ci.yaml": "run: retry\n",
    ".gitignore": "*.log\nbuild/\n",
    "debug.log": "retry\n",
    "build/out.py": "retry = 1\n",
    ".git/config": "retry\n",
}


@pytest.fixture
def project(context: Context) -> Context:
    for name, content in FILES.items():
        path = context.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return context


@pytest.fixture(params=["ripgrep", "plain"])
def either(request: pytest.FixtureRequest, project: Context, monkeypatch: pytest.MonkeyPatch) -> Context:
    if request.param == "plain":
        monkeypatch.setattr(ripgrep, "program", lambda: None)
        (project.workspace / "build/out.py").unlink()  # without git and ripgrep nobody reads .gitignore
        (project.workspace / "debug.log").unlink()
    return project


def paths(display: object) -> list[str]:
    assert isinstance(display, Matches)
    return [path for path, _, _ in display.rows]


async def test_matches_are_grouped_by_file(either: Context) -> None:
    result = await search.run({"pattern": r"def \w*retry", "path": ["src/", "tests"]}, either)
    text = "2 matches in 2 files\nsrc/app/retry.py\n  4: def retry(n):\ntests/test_retry.py\n  1: def test_retry():"
    assert result.for_model.removesuffix(f"\n[{plainsearch.NOTE}]").removeprefix("more than ") == text
    assert result.display == Matches(
        (("src/app/retry.py", 4, "def retry(n):"), ("tests/test_retry.py", 1, "def test_retry():")), 2, 2
    )


async def test_context_lines_are_marked_and_gaps_shown(either: Context) -> None:
    result = await search.run({"pattern": "return", "path": "src/app/retry.py", "context": 1}, either)
    assert (
        "src/app/retry.py\n  4- def retry(n):\n  5:     return n\n  6- \n  …\n  8- def other():\n  9:     return retry(3)"
        in result.for_model
    )
    assert isinstance(result.display, Matches)
    assert len(result.display.rows) == 2


async def test_ignored_files_and_git_itself_are_left_out_and_hidden_ones_are_not(either: Context) -> None:
    result = await grep.run({"pattern": "retry"}, either)
    found = set(paths(result.display))
    assert found == {
        "src/app/retry.py", "src/app/main.py", "src/web/page.ts", "tests/test_retry.py", "README.md", ".github/ci.yaml",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", {"src/app/retry.py", "src/app/main.py", "tests/test_retry.py"}),
        ("*.{ts,md}", {"src/web/page.ts", "README.md"}),
        ("src/**/*.py", {"src/app/retry.py", "src/app/main.py"}),
        ("app/*.py", {"src/app/retry.py", "src/app/main.py"}),
        ("src/**", {"src/app/retry.py", "src/app/main.py", "src/web/page.ts"}),
        ("**/test_*", {"tests/test_retry.py"}),
    ],
)
async def test_a_glob_narrows_and_brings_no_ignored_file_back(
    either: Context, glob: str, expected: set[str]
) -> None:
    result = await grep.run({"pattern": "retry", "glob": glob}, either)
    assert set(paths(result.display)) == expected


async def test_a_glob_can_leave_out(project: Context) -> None:
    result = await grep.run({"pattern": "retry", "glob": "!src/**"}, project)
    assert set(paths(result.display)) == {"tests/test_retry.py", "README.md", ".github/ci.yaml"}


async def test_grep_takes_everything_literally(either: Context) -> None:
    assert paths((await grep.run({"pattern": "retry("}, either)).display).count("README.md") == 1
    with pytest.raises(ToolError, match=r"unclosed group|unterminated subpattern"):
        await search.run({"pattern": "retry("}, either)
    with pytest.raises(ToolError, match="line break"):
        await grep.run({"pattern": "a\nb"}, either)


async def test_options_of_ripgrep_can_not_be_slipped_in(project: Context, tmp_path: Path) -> None:
    (project.workspace / "--files").write_text("retry\n")
    assert paths((await grep.run({"pattern": "--pre=touch"}, project)).display or Matches(())) == []
    assert paths((await grep.run({"pattern": "retry", "path": "--files"}, project)).display) == ["--files"]


async def test_nobodys_configuration_counts(
    project: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rc").write_text("--glob=!README.md\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    assert "README.md" in paths((await grep.run({"pattern": "retry"}, project)).display)


async def test_nothing_found_is_not_an_error(either: Context) -> None:
    result = await search.run({"pattern": "nowhere", "glob": "*.py"}, either)
    assert (result.ok, result.summary) == (True, "no matches")
    assert "No match for 'nowhere' in . (*.py)" in result.for_model


async def test_many_matches_are_counted_and_cut(project: Context) -> None:
    (project.workspace / "big.txt").write_text("needle\n" * 1_234)
    result = await grep.run({"pattern": "needle"}, project)
    assert result.for_model.endswith("[1,034 more; narrow the pattern, path or glob]")
    assert result.summary == "1,234 matches in 1 file"
    assert isinstance(result.display, Matches)
    assert (len(result.display.rows), result.display.total) == (1_000, 1_234)


async def test_far_too_many_matches_end_the_search(project: Context) -> None:
    (project.workspace / "big.txt").write_text("x\n" * 300_000)
    result = await grep.run({"pattern": "x", "path": "big.txt"}, project)
    assert result.summary == "more than 20,000 matches in 1 file"
    assert "[stopped at 20,000 matches]" in result.for_model


async def test_long_lines_and_odd_bytes(project: Context) -> None:
    (project.workspace / "a.min.js").write_bytes(b"needle" + b"x" * 2_000_000 + b"\n\xff\xfe needle \xe9\n")
    result = await grep.run({"pattern": "needle", "path": "a.min.js"}, project)
    assert len(result.for_model) < 1_000
    assert "  2: \ufffd\ufffd needle \ufffd" in result.for_model


async def test_a_cancelled_search_leaves_no_process(
    project: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, told = tmp_path / "rg", tmp_path / "told"
    os.mkfifo(told)
    slow.write_text(f"#!/bin/sh\necho $$ > {told}\nexec sleep 100\n")
    slow.chmod(0o755)
    monkeypatch.setattr(ripgrep, "program", lambda: str(slow))
    call = asyncio.ensure_future(grep.run({"pattern": "x"}, project))
    pid = int(await asyncio.to_thread(told.read_text))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("call", [search.intent, grep.intent, list_files.intent, find_files.intent])
def test_paths_outside_are_said(project: Context, call: Callable[..., object], tmp_path: Path) -> None:
    arguments: dict[str, object] = {"path": ".."}
    if call != list_files.intent:
        arguments["pattern"] = "x"
    intent = call(arguments, project)
    assert getattr(intent, "outside", None) == (str(tmp_path.resolve()),)


async def test_a_search_outside_names_whole_paths(project: Context, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("needle\n")
    result = await grep.run({"pattern": "needle", "path": "../other.txt"}, project)
    assert paths(result.display) == [str((tmp_path / "other.txt").resolve())]


async def test_a_missing_folder_is_named(either: Context) -> None:
    for tool, more in ((grep, {"pattern": "x"}), (list_files, {}), (find_files, {"pattern": "x"})):
        with pytest.raises(ToolError, match="scr: no such file; near it: src"):
            await tool.run({"path": "scr", **more}, either)


async def test_a_tree(project: Context) -> None:
    result = await list_files.run({}, project)
    assert result.for_model == (
        ".github/\n  ci.yaml\nsrc/\n  app/ (2 files)\n  web/ (1 file)\ntests/\n  test_retry.py\n.gitignore\nREADME.md"
    )
    assert result.summary == "7 files"
    assert result.display == Output(result.for_model)
    assert (await list_files.run({"path": "src/app"}, project)).for_model == "main.py\nretry.py"
    assert (
        await list_files.run({"path": "src", "depth": 1}, project)
    ).for_model == "app/ (2 files)\nweb/ (1 file)"


async def test_a_tree_that_would_be_too_long_is_opened_less(project: Context) -> None:
    for n in range(400):
        (project.workspace / f"src/app/f{n}.txt").write_text("")
    assert "app/ (402 files)" in (await list_files.run({"depth": 9}, project)).for_model
    assert "more entries]" in (await list_files.run({"path": "src/app"}, project)).for_model


async def test_an_empty_folder_is_no_error(project: Context) -> None:
    (project.workspace / "empty").mkdir()
    assert "no files" in (await list_files.run({"path": "empty"}, project)).for_model
    with pytest.raises(ToolError, match="use read_file"):
        await list_files.run({"path": "README.md"}, project)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["src/app/main.py", "src/app/retry.py", "tests/test_retry.py"]),
        ("src/**/*.ts", ["src/web/page.ts"]),
        ("retry.py", ["src/app/retry.py", "tests/test_retry.py"]),
        ("RETRY", ["src/app/retry.py", "tests/test_retry.py"]),
        ("app/m", ["src/app/main.py"]),
        ("retyr.py", ["src/app/retry.py"]),
        ("*.log", []),
        ("zzzzzz", []),
    ],
)
async def test_finding_by_name(project: Context, pattern: str, expected: list[str]) -> None:
    result = await find_files.run({"pattern": pattern}, project)
    assert paths(result.display)[: len(expected) or None] == expected


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a/b.py", True),
        ("*.py", "a/b.pyc", False),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/c.py", "a/c.py", True),
        ("a/**/c.py", "a/x/y/c.py", True),
        ("**/c", "c", True),
        ("a/**", "a/b/c", True),
        ("x?.[ch]", "x1.c", True),
        ("x.[!ch]", "x.c", False),
        ("{a,b*}.{py,ts}", "bee.ts", True),
        ("a{b", "a{b", True),
        ("a[b", "a[b", True),
        ("a.b", "axb", False),
    ],
)
def test_globs(pattern: str, path: str, matches: bool) -> None:
    assert globs.matches(pattern, path) is matches


def test_ripgrep_is_found_beside_the_interpreter() -> None:
    assert ripgrep.program()
