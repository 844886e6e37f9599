"""``tui-agent sessions``: every command by its words, its exit code, and what it leaves on the disk."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from tui_agent.cli import main
from tui_agent.cli.sessions import cost, fit, listing, when
from tui_agent.config.paths import Paths
from tui_agent.core import events as ev
from tui_agent.core.messages import Message, Text, user
from tui_agent.sessions.log import Log, read
from tui_agent.sessions.store import Store


@dataclass
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run ``tui-agent sessions …``."""

    def run(*words: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(["sessions", *words])
        out, err = capsys.readouterr()
        return Said(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def store() -> Store:
    return Store(Paths.from_environ().sessions_dir)


def saved(
    store: Store,
    id: str = "20261130-140211-k3f9",
    *,
    text: str = "fix the retry test",
    project: Path | None = None,
    **start: str,
) -> Path:
    """A session of one run."""
    project = project or Path.cwd()
    path = store.path(project, id)
    kind = start.get("kind", "interactive")
    first = ev.SessionStart(version=1, id=id, kind=kind, cwd=str(project), model="smart", ts=1000.0)  # pyright: ignore[reportArgumentType]
    with Log.create(path, first) as log:
        log.append(ev.MessageEnd(message=user("u", text), ts=1001.0))
        log.append(ev.AgentStart(run="r", model="smart", limits=ev.RunLimits(), ts=1002.0))
        log.append(
            ev.MessageEnd(
                message=Message(id="a", role="assistant", parts=(Text("It was the clock."),)), ts=1003.0
            )
        )
        log.append(ev.Usage(purpose="turn", model="smart", cost_usd=0.09, ts=1003.0))
        log.append(
            ev.AgentEnd(
                run="r",
                stop_reason="llm_done",
                status="success",
                steps=9,
                final_output="It was the clock.",
                files_changed=("a.py",),
                ts=1004.0,
            )
        )
    return path


def test_list_shows_this_folder_and_is_what_happens_without_a_command(call: Call, store: Store):
    saved(store)
    saved(store, "20261130-150000-abcd", project=Path("/other"))
    saved(store, "20261130-160000-wxyz", kind="sub_agent")
    said = call()
    assert said.code == 0
    assert said.out.startswith("✓ 20261130-140211-k3f9 ")
    assert "9 steps" in said.out
    assert "$0.09" in said.out
    assert "fix the retry test" in said.out
    assert said.out.count("\n") == 1
    assert call("list").out == said.out
    assert call("list", "--all").out.count("\n") == 3
    assert "[sub-agent] " in call("list", "--all").out


def test_list_as_json(call: Call, store: Store):
    path = saved(store)
    row = json.loads(call("list", "--json").out)
    assert (row["id"], row["path"], row["status"], row["steps"]) == (path.stem, str(path), "success", 9)


def test_an_empty_list_says_where_to_look(call: Call):
    assert "--all" in call().out
    assert call("list", "--all").out == "no session was saved yet\n"


def test_show_tells_the_question_the_answer_and_how_to_go_on(call: Call, store: Store):
    saved(store)
    said = call("show", "k3f9")
    assert said.code == 0
    for part in (
        "fix the retry test",
        "It was the clock.",
        "success · llm done",
        "a.py (+0 −0)",
        "$0.09",
        "tui-agent -r 20261130-140211-k3f9",
    ):
        assert part in said.out, part
    assert json.loads(call("show", "k3f9", "--json").out)["stop_reason"] == "llm_done"


def test_a_wrong_id_names_the_nearest(call: Call, store: Store):
    saved(store)
    said = call("show", "20261130-140211-k3g9")
    assert said.code == 3
    assert (
        said.err
        == 'tui-agent sessions: there is no session "20261130-140211-k3g9"; nearest: 20261130-140211-k3f9\n'
    )


def test_search(call: Call, store: Store):
    saved(store)
    saved(store, "20261130-150000-abcd", text="elsewhere", project=Path("/other"))
    said = call("search", "retry", "te")
    assert said.code == 0
    assert "you: fix the «retry» «test»" in said.out
    assert call("search", "clock").out.count("model: It was the «clock».") == 1
    assert call("search", "elsewhere").code == 1
    assert "«elsewhere»" in call("search", "--all", "elsewhere").out


def test_export(call: Call, store: Store, tmp_path: Path):
    path = saved(store)
    assert "# fix the retry test" in call("export", "k3f9").out
    assert call("export", "k3f9", "--format", "html").out.startswith("<!doctype html>")
    assert call("export", "k3f9", "--format", "jsonl").out == path.read_text()
    said = call("export", "k3f9", "-o", str(tmp_path / "x.md"))
    assert (said.out, said.err) == ("", f"written: {tmp_path / 'x.md'}\n")
    assert "It was the clock." in (tmp_path / "x.md").read_text()
    assert call("export", "k3f9", "-o", "/no/where/x.md").code == 3
    assert call("export", "k3f9", "--format", "pdf").code == 3


def test_fork_prints_the_new_id(call: Call, store: Store):
    saved(store)
    said = call("fork", "k3f9", "--at", "3")
    assert said.code == 0
    new = store.find(said.out.strip())
    assert len(list(read(new))) == 3
    assert said.out.strip() in said.err
    assert call("fork", "k3f9", "--at", "99").code == 3


def test_verify_fails_only_for_faults(call: Call, store: Store):
    path = saved(store)
    assert (call("verify").code, call("verify", "k3f9").code) == (0, 0)
    assert "✓ 20261130-140211-k3f9\n1 looked over, none with faults" in call("verify").out
    path.write_bytes(path.read_bytes()[:-5])
    said = call("verify")
    assert said.code == 1
    assert "✗ 20261130-140211-k3f9\n    line 6: unfinished" in said.out


def test_rm_deletes_what_was_named(call: Call, store: Store):
    path, other = saved(store), saved(store, "20261130-150000-abcd")
    said = call("rm", "k3f9")
    assert (said.code, said.out) == (0, "deleted 20261130-140211-k3f9\n")
    assert not path.exists()
    assert other.exists()
    assert call("rm").code == 3
    with Log.open(other):
        assert f"open in another process ({os.getpid()})" in call("rm", "abcd").err
    assert other.exists()


def test_hostile_text_commands_no_terminal(call: Call, store: Store):
    saved(store, text="\x1b]0;pwned\x07 first\x9b31m\nsecond \u202eevil retry")
    for words in (
        (),
        ("show", "k3f9"),
        ("search", "evil"),
        ("export", "k3f9"),
        ("export", "k3f9", "--format", "jsonl"),
        ("list", "--json"),
    ):
        out = call(*words).out
        assert not any(char in out for char in "\x1b\x07\x9b"), words


# ---- words


def test_when_is_told_from_near_to_far():
    now = 1_796_047_200.0  # Monday 2026-11-30 14:00 UTC
    assert when(now - 60, now) == "today 13:59"
    assert when(now - 86_400, now) == "Sun 14:00"
    assert when(now - 86_400 * 30, now) == "2026-10-31 14:00"
    assert when(0, now) == ""


def test_cost_and_width():
    assert [cost(usd) for usd in (None, 0.0, 0.0042, 3.1)] == ["$?", "$0.00", "$0.0042", "$3.10"]
    assert fit("short", 10) == "short"
    assert fit("a longer one", 6) == "a lon…"
    assert fit("日本語テキスト", 7) == "日本…"


def test_a_row_fits_the_screen(store: Store):
    saved(store, text="a very long question " * 20)
    (line,) = listing(store.list(), now=2000.0, width=100).splitlines()
    assert len(line) == 100


def test_a_list_that_is_piped_keeps_titles_whole_and_counts_one_step_as_one(call: Call, store: Store):
    question = "why does the retry test fail on every other machine, and only there?"
    saved(store, text=question)
    assert call("list").out.endswith(f"  {question}\n")
    one = msgspec.structs.replace(store.list()[0], steps=1)
    lines = listing([one, msgspec.structs.replace(one, steps=12)], now=2000.0, width=100).splitlines()
    assert "  1 step   " in lines[0]
    assert " 12 steps  " in lines[1]
    assert {line.index("why does") for line in lines} == {lines[0].index("why does")}
