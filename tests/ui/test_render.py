"""Blocks on the screen: the form of ``screen.md``, every state, and hostile text made harmless."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.style import Style

from tests.ui.painting import NOW, page, painted, roll, style_at
from tui_agent.core.messages import Call
from tui_agent.core.tool import Diff, Display, Matches, Output, Plan
from tui_agent.ui.blocks import (
    AssistantBlock,
    Block,
    CardBlock,
    HookRow,
    NoticeBlock,
    ReasoningBlock,
    ToolBlock,
    UserBlock,
)  # fmt: skip
from tui_agent.ui.render.ansi import plain_text, read_line
from tui_agent.ui.render.diff import diff_lines, read
from tui_agent.ui.render.lines import Ink, layout
from tui_agent.ui.render.sheets import guess, level_of, searched, source_of
from tui_agent.ui.roles import GROUPS, ROLES

HUNKS = """@@ -41,3 +41,4 @@ class Retry
   def next_delay(self, attempt: int) -> float:
-      now = time.time()
+      with self._lock:
+          now = self._clock()
       return now"""
CHANGE = Diff("src/mailer/retry.py", HUNKS, 2, 1)


def tool(
    name: str = "run_command",
    summary: str = "pytest -q",
    status: str = "ok",
    text: str = "",
    display: Display | None = None,
    *,
    outcome: str = "",
    hooks: Sequence[HookRow] = (),
    id: str = "t",
    cut: str = "",
    started: float = 0.0,
    untrusted: bool = False,
    arguments: str = "",
    call: Call | None = None,
) -> ToolBlock:
    block = ToolBlock(id, text, name=name, summary=summary, status=status, display=display, outcome=outcome)
    block.hooks, block.cut, block.started, block.duration = list(hooks), cut, started, 0.3
    block.untrusted, block.arguments_text, block.call = untrusted, arguments, call
    block.live = status in {"building", "running"}
    return block


# ---- titles


def test_a_call_is_one_line_with_mark_verb_target_outcome_and_duration() -> None:
    (row,) = painted(tool("read_file", "src/x.py  1–88", outcome="88 lines"))
    assert row == "   ✓ read_file    src/x.py  1–88" + " " * 31 + "88 lines · 0.3 s"
    assert len(row) == 79


@pytest.mark.parametrize(
    ("status", "mark", "right"),
    [
        ("building", "●", "being written"),
        ("waiting", "◌", "waiting for you"),
        ("running", "●", "14 s"),
        ("ok", "✓", "0.3 s"),
        ("error", "✗", "failed · 0.3 s"),
        ("denied", "⊘", "denied"),
        ("interrupted", "⏸", "interrupted · 0.3 s"),
        ("not_started", "⏸", "not started"),
    ],
)
def test_every_state_has_a_mark_and_words(status: str, mark: str, right: str) -> None:
    row = painted(tool(status=status, started=NOW - 14))[0]
    assert row.startswith(f"   {mark} run_command  pytest -q ")
    assert row.endswith(f" {right}")


def test_a_long_target_gives_way_to_the_outcome() -> None:
    row = painted(tool(summary="x" * 200, outcome="exit 1 after a long time"), cells=60)[0]
    assert row == "   ✓ run_command  xxxxxxxxxxx…  exit 1 after a lon… · 0.3 s"


@pytest.mark.parametrize("cells", [28, 30, 40, 50])
def test_the_duration_stands_however_narrow_it_is(cells: int) -> None:
    row = painted(tool(summary="make all", outcome="exit 2 and more words"), cells=cells)[0]
    assert row.endswith(" 0.3 s")
    assert row.startswith("   ✓ run_command")


def test_a_command_of_several_lines_is_one_line() -> None:
    assert "make ↵ make test" in painted(tool(summary="make\nmake test"))[0]


def test_what_came_from_outside_is_marked_in_words() -> None:
    assert painted(tool(untrusted=True, outcome="12 lines"))[0].endswith("UNTRUSTED · 12 lines · 0.3 s")


def test_a_title_names_the_hook_that_failed_when_it_is_folded() -> None:
    block = tool(
        "edit_file", "x.py", display=CHANGE, hooks=[HookRow("ruff", "x.py", "failed", "x.py:1 F401")]
    )
    assert "⚠ ruff" in painted(block, t="folded")[0]
    assert len(painted(block, t="folded")) == 1


def test_a_failure_without_a_summary_says_its_first_line() -> None:
    assert "no such file: x.py" in painted(tool("read_file", "x.py", "error", "no such file: x.py\n"))[0]


# ---- neighbours


def test_folded_calls_stand_together_and_all_else_apart() -> None:
    rows = painted(
        UserBlock("u", "go"),
        tool(id="1", text="out"),
        tool(id="2"),
        AssistantBlock("a", "done"),
        NoticeBlock("n1", "one"),
        NoticeBlock("n2", "two"),
        tool(id="3", status="error", text="x"),
    )
    assert [row[:5].rstrip(" x").strip() for row in rows] == [
        "▌ go",
        "",
        "✓",
        "✓",
        "",
        "do",
        "",
        "◆",
        "◆",
        "",
        "✗",
        "│",
    ]


def test_an_empty_block_takes_no_room() -> None:
    assert painted(AssistantBlock("a", "", live=True), UserBlock("u", "x")) == [" ▌ x"]


# ---- output


def test_a_running_command_shows_its_last_rows() -> None:
    rows = painted(tool(status="running", text="".join(f"line {n}\n" for n in range(20)), started=NOW - 3))
    assert rows[0].endswith("3 s")
    assert rows[1:] == [f"   │ line {n}" for n in range(12, 20)]


def test_a_finished_command_folds_and_a_failed_one_shows_its_end() -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    assert len(painted(tool(text=text))) == 1
    rows = painted(tool(status="error", text=text, outcome="exit 1", cut="first 40, last 20 of 812 lines"))
    assert rows[1:3] == ["   │ 12 lines above", "   │ line 12"]
    assert rows[-2:] == ["   │ line 19", "   │ model saw first 40, last 20 of 812 lines"]


def test_opened_it_shows_all_and_where_the_model_could_not_see() -> None:
    text = "".join(f"line {n}\n" for n in range(100))
    rows = painted(tool(text=text, cut="first 40, last 20 of 100 lines"), t="open")
    assert rows[40:43] == ["   │ line 39", "   │ ┄ the model did not see the next 40 lines", "   │ line 40"]
    assert rows[82:84] == ["   │ ┄ the model saw the rest", "   │ line 80"]
    assert rows[-1] == "   │ line 99"


def test_a_file_is_shown_with_its_numbers() -> None:
    block = tool("read_file", "x.py", display=Output("import os\n\nx = 1\n", "python", 8))
    assert painted(block, t="open")[1:] == ["   │  8 import os", "   │  9", "   │ 10 x = 1"]


def test_arguments_that_the_title_does_not_show_are_seen_when_opened() -> None:
    call = Call("1", "mcp__x__y", {"path": "a.py", "count": 3, "note": "one\ntwo"})
    rows = painted(tool("mcp__x__y", "a.py", call=call, text="out"), t="open")
    assert rows[1:] == ["   │ count 3", "   │ note one", "   │   two", "   │ out"]


def test_arguments_that_could_not_be_read_are_shown_as_they_came() -> None:
    call = Call("1", "edit_file", raw='{"path": ', error="unexpected end")
    rows = painted(tool("edit_file", "", "error", call=call), t="open")
    assert rows[1:3] == ['   │ {"path":', "   │ unexpected end"]


def test_a_file_that_is_being_written_is_seen_while_its_arguments_stream() -> None:
    arguments = '{"path": "a.py", "content": "' + "".join(f"x{n} = {n}\\n" for n in range(20)) + "last"
    rows = painted(tool("write_file", "", "building", arguments=arguments))
    assert rows[0].startswith("   ● write_file   a.py")
    assert rows[1:] == [f"   │   x{n} = {n}" for n in range(13, 20)] + ["   │   last"]
    assert len(painted(tool("write_file", "", "building", arguments='{"path": "a.py", "cont'))) == 1


def test_matches_name_each_file_once() -> None:
    block = tool(
        "grep", "x", display=Matches((("a.py", 3, "x = 1"), ("a.py", 9, "x"), ("b.py", 0, "")), 5, 2)
    )
    assert painted(block, t="open")[1:] == [
        "   │ a.py",
        "   │      3 x = 1",
        "   │      9 x",
        "   │ b.py",
        "   │ 2 more",
    ]


def test_a_plan_has_marks_that_need_no_colour() -> None:
    block = tool("todo", "", display=Plan((("done", "look"), ("active", "mend"), ("open", "test"))))
    assert painted(block)[1:] == ["   │ ☑ look", "   │ ▸ mend", "   │ ☐ test"]


# ---- colours and control characters of programs


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("10 %\r20 %\r100 %", "100 %"),
        ("abc\rX", "Xbc"),
        ("abc\r\x1b[Kd", "d"),
        ("ab\bc", "ac"),
        ("a\tb", "a       b"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[8mconcealed", "concealed"),
        ("\x1b]0;title\x07x", "␛]0;title␇x"),
        ("\x1b[2Jx", "␛[2Jx"),
        ("\x9b31mx", "‹U+009B›31mx"),
        ("\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"),
        ("\x1b[?25lx\x1b[?25h", "x"),
        ("\u202egnp.exe", "‹U+202E›gnp.exe"),
        ("done\r", "done"),
    ],
)
def test_output_is_what_a_terminal_would_have_left(raw: str, text: str) -> None:
    assert read_line(raw)[0] == text


def test_colours_of_a_program_are_kept_over_lines_and_windows() -> None:
    block = tool(text="\x1b[1;32mgreen\n" + "still\n" * 300 + "\x1b[0mplain\n")
    made = roll(block, t="open")
    made.settle_end(400)
    rows = [place.row for place in made.window(0, 400) if place.row]
    for row, text in ((rows[1], "green"), (rows[250], "still")):
        style = style_at(row, text)
        assert style.bold
        assert style.color is not None
        assert style.color.number == 2
    assert not style_at(rows[302], "plain").bold


def test_text_in_the_colour_of_its_ground_is_seen() -> None:
    _, ((_, _, style),), _ = read_line("\x1b[31;41mhidden")
    assert style == Style()


@pytest.mark.parametrize(
    "sgr", ["38;5;9", "38;2;1;2;3", "38:2::1:2:3", "38", "38;5", "999", ";;;", "38;2;999;0;0", "4;9;7;2;3"]
)
def test_no_colour_code_is_too_strange(sgr: str) -> None:
    assert read_line(f"\x1b[{sgr}mx")[0] == "x"


def test_nothing_hostile_comes_through_any_block() -> None:
    evil = "a\x1b]0;pwned\x07b\x1b[2J\u202e\x9b31m\ud800[bold]x[/bold]"
    hooks = [HookRow(evil, evil, "failed", f"{evil}:1 {evil}", 0.1)]
    call = Call("1", evil, {evil: evil})
    card = CardBlock("c", title=evil, right=evil, rows=[(evil, evil)])
    blocks: list[Block] = [
        UserBlock("u", evil),
        UserBlock("s", evil, origin="steering"),
        AssistantBlock("m", f"{evil} `{evil}` [{evil}]({evil})\n\n```{evil}\n{evil}\n```"),
        ReasoningBlock("r", evil),
        tool(evil, evil, "error", evil, hooks=hooks, outcome=evil, call=call, cut=evil, id="t1"),
        tool(evil, evil, "building", arguments=f'{{"x": "{evil}\\n{evil}"', id="t2"),
        tool(evil, evil, display=Diff(evil, f"@@ -1 +1 @@ {evil}\n-{evil}\n+{evil}x", 1, 1), id="t3"),
        tool(evil, evil, display=Matches(((evil, 1, evil),)), id="t4"),
        tool(evil, evil, display=Plan((("open", evil),)), id="t5"),
        tool(evil, evil, display=Output(evil, evil, 1), id="t6"),
        NoticeBlock("n", evil, right=evil, body=evil, hint=evil),
        card,
    ]
    for levels in ({}, {block.id: "open" for block in blocks}, {block.id: "folded" for block in blocks}):
        text = "\n".join(painted(*blocks, **levels))  # type: ignore[arg-type]
        assert text.replace("\n", "").isprintable()
        assert "[bold]x[/bold]" in text
        text.encode()


# ---- changes


def test_a_diff_has_numbers_signs_and_its_hooks_below() -> None:
    hooks = [
        HookRow("ruff", "x", "failed", "src/mailer/retry.py:43 F821 undefined", 0.3, change="+1"),
        HookRow("mypy", "x", "ok", "", 0.9, change="−1", rewrote=True),
        HookRow("fmt", "x", "running"),
        HookRow("gone", "x", "missing", "gone: not found", 0.0),
        HookRow("slow", "x", "timeout", "", 10),
    ]
    rows = painted(
        tool("edit_file", "src/mailer/retry.py  (3→5 lines)", display=CHANGE, hooks=hooks), cells=110
    )
    assert rows[1:6] == [
        "   │ 41     def next_delay(self, attempt: int) -> float:",
        "   │ 42 −       now = time.time()",
        "   │ 42 +       with self._lock:",
        "   │ 43 +           now = self._clock()",
        "   │ 44         return now",
    ]
    assert rows[6].startswith("   │ ⚠ ruff       1 problem (+1)   src/mailer/retry.py:43 F821 undefined ")
    assert rows[6].endswith("  model saw this · 0.3 s")
    assert rows[7].startswith("   │ ✓ mypy       clean (−1)")
    assert rows[7].endswith("  rewrote the file · 0.9 s")
    assert rows[8] == "   │ ● fmt        running"
    assert rows[9].startswith("   │ ⚠ gone       not found   gone: not found")
    assert rows[10].startswith("   │ ⚠ slow       timed out")


def test_a_hook_shows_all_its_output_when_opened() -> None:
    block = tool("edit_file", "x", display=CHANGE, hooks=[HookRow("ruff", "x", "failed", "a:1 x\na:2 y")])
    assert painted(block, t="open")[-2:] == ["   │   a:1 x", "   │   a:2 y"]
    assert "2 problems" in painted(block)[-1]


def test_a_long_diff_is_cut_until_it_is_opened() -> None:
    hunks = "@@ -0,0 +1,100 @@\n" + "".join(f"+line {n}\n" for n in range(100))
    block = tool("write_file", "x", display=Diff("x", hunks, 100))
    assert painted(block)[-1] == "   │ 60 more lines"
    assert painted(block, t="open")[-1] == "   │ 100 + line 99"


def test_words_that_differ_stand_out_in_their_line() -> None:
    lines, _ = diff_lines(Diff("x.txt", "@@ -1 +1 @@\n-the old word\n+the new word", 1, 1))
    assert [(line.text[start:end], role) for line in lines for start, end, role in line.spans] == [
        ("old", "diff-del-word"),
        ("new", "diff-add-word"),
    ]


def test_the_ground_of_a_change_reaches_the_edge_and_leaves_the_bar_alone() -> None:
    lines, _ = diff_lines(CHANGE)
    (row,) = layout(lines[1:2], page(60))
    grounds = [segment.style.bgcolor for segment in row.strip if segment.style for _ in segment.text]
    assert grounds[0] == grounds[2] != grounds[6]
    assert grounds[6:59] == [grounds[6]] * 53


def test_what_is_no_line_of_a_diff_is_left_out() -> None:
    assert [change.text for change in read("--- a\n+++ b\n@@ -1 +1 @@\n x\n\\ No newline at end of file")][
        -1
    ] == "x"


# ---- people and models


def test_a_prompt_stands_behind_its_bar_as_it_was_typed() -> None:
    assert painted(UserBlock("u", "fix *this*\n\n  now")) == [" ▌ fix *this*", " ▌", " ▌   now"]


def test_steering_says_so() -> None:
    row = painted(UserBlock("u", "also test it", origin="steering"))[0]
    assert row.startswith(" ▌ also test it ")
    assert row.endswith(" steering")


def test_a_pasted_prompt_is_cut_until_it_is_opened() -> None:
    block = UserBlock("u", "\n".join(f"line {n}" for n in range(60)))
    assert painted(block)[-1] == " ▌ … 48 more lines"
    assert len(painted(block, u="open")) == 60


def test_an_answer_that_was_cut_off_says_so() -> None:
    assert painted(AssistantBlock("a", "half", interrupted=True)) == ["   half", "   ⏸ interrupted"]
    assert painted(AssistantBlock("a", "half", interrupted=True, broken=True))[-1] == "   ⏸ broke off"


def test_reasoning_is_one_line_until_it_is_opened() -> None:
    block = ReasoningBlock("r", "Let me *think*.\n\nYes.", duration=4.0, folded=True)
    assert painted(block) == ["   ∴ thought for 4.0 s · 4 words"]
    assert painted(block, r="open")[1:] == ["   │ Let me think.", "", "   │ Yes."]
    live = ReasoningBlock("r", "Let me", live=True, folded=True)
    assert painted(live) == ["   ● thinking · 2 words"]


# ---- the program itself


def test_notices_wrap_instead_of_losing_words() -> None:
    rows = painted(NoticeBlock("n", "word " * 30, level="warning", right="12 s", hint="do this"), cells=60)
    assert rows[0].startswith("   ⚠ word word")
    assert rows[0].endswith("  12 s")
    assert " ".join(rows).count("word") == 30
    assert rows[-1] == "     do this"


def test_a_notice_with_more_to_say_opens() -> None:
    block = NoticeBlock("n", "context 41 → 15 messages", body="# Summary\n- one", folded=True)
    assert painted(block) == ["   ◆ context 41 → 15 messages ▸"]
    assert painted(block, n="open") == ["   ◆ context 41 → 15 messages ▾", "     Summary", "     • one"]


def test_the_marks_of_tools_notices_and_cards_stand_in_one_column() -> None:
    notice = NoticeBlock("n", "step limit raised to 12")
    rows = painted(tool(), notice, CardBlock("c", title="done"))
    assert [row.find(mark) for row, mark in zip([row for row in rows if row], "✓◆◆", strict=True)] == [
        3,
        3,
        3,
    ]


def test_a_call_that_is_written_but_has_not_begun_waits() -> None:
    block = tool(status="building")
    block.call = Call(id="c", name="run_command", arguments={"command": "ls"})
    (row,) = painted(block)
    assert row.startswith("   ◌ run_command")
    assert row.endswith("waits its turn")


def test_an_end_card_is_as_designed() -> None:
    block = CardBlock(
        "c",
        title="done · success",
        right="9 steps · 11 calls · $0.09",
        rows=[("changed", "a.py  +9 −3"), ("next", "enter: go on")],
    )
    rows = painted(block)
    assert rows[0].startswith("   ◆ done · success    ")
    assert rows[0].endswith("  9 steps · 11 calls · $0.09")
    assert rows[1:] == ["     changed  a.py  +9 −3", "     next     enter: go on"]


def test_a_narrow_end_card_keeps_its_figures_below_the_title() -> None:
    block = CardBlock("c", title="stopped by you · partial", right="9 steps · 11 calls · 2 m 41 s · $0.09")
    rows = painted(block, cells=44)
    assert rows[0] == "   ◆ stopped by you · partial"
    assert " ".join(row.strip() for row in rows[1:]) == "9 steps · 11 calls · 2 m 41 s · $0.09"


def test_every_role_that_is_drawn_is_one_that_themes_have(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    monkeypatch.setattr(Ink, "overlay", lambda _self, role: (asked.add(role), Style())[1])
    hooks = [HookRow("a", "x", status) for status in ("running", "ok", "failed", "timeout", "missing")]
    states = ("building", "waiting", "running", "ok", "error", "denied", "interrupted", "not_started")
    blocks: list[Block] = [
        *(
            UserBlock(origin, "x\ny", origin=origin)
            for origin in ("person", "steering", "follow_up", "system")
        ),
        AssistantBlock("a", MANY_FORMS, interrupted=True),
        ReasoningBlock("r", "x"),
        ReasoningBlock("l", "x", live=True),
        *(tool(status=status, id=status, hooks=hooks, text="x\n" * 40, untrusted=True) for status in states),
        tool(display=CHANGE, id="d"),
        tool(display=Matches((("a", 1, "x"),), 5), id="m"),
        tool(display=Plan((("open", "x"), ("active", "x"), ("done", "x"))), id="p"),
        tool(display=Output("x = 1", "python", 1), id="o", cut="first 40, last 20 of 812 lines"),
        *(
            NoticeBlock(level, "x", level=level, right="r", hint="h")
            for level in ("info", "warning", "error")
        ),
        *(
            CardBlock(tone, tone=tone, title="x", right="r", rows=[("a", "b")])
            for tone in ("ok", "warn", "error")
        ),
    ]
    for levels in ({}, {block.id: "open" for block in blocks}):
        painted(*blocks, **levels)  # type: ignore[arg-type]
    roles = {role for role in asked if not role.startswith("syntax.")}
    assert roles <= set(ROLES)
    assert {role[7:] for role in asked - roles} <= set(GROUPS)
    assert len(roles) > 30


MANY_FORMS = """# h
*e* **s** ~~x~~ `c` [l](http://x) <http://y>

- [ ] a
- [x] b

> q

| a |
|---|
| b |

---

```python
def f(): return "x" + 1  # c
```
"""


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, tui_agent.ui.widgets.transcript, tui_agent.ui.terminal;"
        "print(*{'pygments', 'markdown_it', 'litellm'} & set(sys.modules))"
    )
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), root])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == ""


# ---- sources


def test_what_is_copied_of_a_block() -> None:
    assert source_of(AssistantBlock("a", "**md**")) == "**md**"
    assert source_of(tool(text="\x1b[31mred\x1b[0m\n10 %\r100 %")) == "red\n100 %"
    assert source_of(tool(display=CHANGE)) == HUNKS
    assert source_of(NoticeBlock("n", "text", body="body")) == "text\nbody"
    assert plain_text("a\tb") == "a\tb"


def test_what_is_searched_of_a_block() -> None:
    found = searched(tool(text="out", hooks=[HookRow("ruff", "x", "failed", "F821")]))
    assert all(word in found for word in ("run_command", "pytest -q", "out", "ruff", "F821"))
    assert "why" in searched(CardBlock("c", title="t", rows=[("why", "because")]))


@pytest.mark.parametrize(
    "block",
    [
        UserBlock("u", "one\ntwo"),
        AssistantBlock("a", "text"),
        ReasoningBlock("r", "x", folded=True),
        tool(),
        tool(status="running", text="a\nb\n"),
        tool(display=CHANGE),
        NoticeBlock("n", "x", hint="y"),
        CardBlock("c", title="x", rows=[("a", "b")]),
    ],
)
def test_guessed_heights_are_near(block: Block) -> None:
    assert abs(guess(block, level_of(block), 75) - len(painted(block))) <= 1
