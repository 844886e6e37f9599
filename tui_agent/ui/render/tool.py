"""The panel of a tool call: its title, what it shows while it runs and after, and the hooks below it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial

from tui_agent.core.tool import Diff, Matches, Output, Plan
from tui_agent.ui import words
from tui_agent.ui.blocks import HookRow, ToolBlock
from tui_agent.ui.render.ansi import PLAIN_LOOK, Look, look_after, output_lines
from tui_agent.ui.render.code import START, code_lines, highlight, language_of
from tui_agent.ui.render.diff import diff_lines
from tui_agent.ui.render.lines import PLAIN, Line, Prefix, Role, TextLine, TitleLine
from tui_agent.ui.render.part import Part, fixed
from tui_agent.ui.render.partial import fields
from tui_agent.ui.render.plain import visible
from tui_agent.ui.render.sheet import PIECE, Level, Sheet, pieces, split_lines

BAR: Prefix = (*PLAIN, ("│ ", "tool-mark"))
MARKS: dict[str, tuple[str, Role]] = {
    "building": ("●", "running"),
    "queued": ("◌", "context"),
    "waiting": ("◌", "waiting"),
    "running": ("●", "running"),
    "ok": ("✓", "ok"),
    "error": ("✗", "error"),
    "denied": ("⊘", "denied"),
    "interrupted": ("⏸", "interrupted"),
    "not_started": ("⏸", "context"),
}
OUTCOMES = {
    "building": "being written",
    "queued": "waits its turn",
    "waiting": "waiting for you",
    "denied": "denied",
    "interrupted": "interrupted",
    "not_started": "not started",
}
VERB = 11
"""Cells that a tool's name is filled up to, so that targets stand in a column (``run_command`` is the longest)."""
TAIL = 8
"""Rows of a running command, or of text that is being written, that are seen."""
BRIEF_DIFF = 40
"""Rows of a diff that are seen before it is opened."""
HOOKS = {
    "running": ("●", "running", "running"),
    "ok": ("✓", "hook-ok", "clean"),
    "failed": ("⚠", "hook-fail", "failed"),
    "timeout": ("⚠", "hook-fail", "timed out"),
    "missing": ("⚠", "hook-fail", "not found"),
}
_PROBLEM = re.compile(r"^\S+?:\d+", re.MULTILINE)
_SEEN = re.compile(r"first (\d+), last (\d+) of ([\d,]+) lines")


def natural_level(block: ToolBlock) -> Level:
    """What is shown of a call as long as nobody folded or opened it."""
    if block.folded or block.status in {"waiting", "denied", "not_started"}:
        return "folded"
    if block.status == "ok" and not block.hooks and not isinstance(block.display, Diff | Plan):
        return "folded"
    return "brief"


class ToolSheet(Sheet[ToolBlock]):
    """One tool call: the title is a part of its own, because it changes each second while the call runs."""

    def __init__(self) -> None:
        super().__init__()
        self._title: tuple[object, ...] = ()
        self._body: tuple[object, ...] = ()

    def update(self, block: ToolBlock, level: Level) -> int:
        changed = len(self.parts)
        line = title(block, self.now, folded=level == "folded")
        if (line.text, line.right, line.head) != self._title:
            self._title = (line.text, line.right, line.head)
            self.dropped += self.parts[:1]
            self.parts[:1] = [fixed([line])]
            changed = 0
        body = block.version, level
        if body != self._body:
            self._body = body
            self.more = False
            self.put([] if level == "folded" else self._parts(block, level), 1)
            changed = min(changed, 1)
        return changed

    def _parts(self, block: ToolBlock, level: Level) -> list[Part]:
        parts = self._open(block) if level == "open" else self._brief(block)
        hooks = [line for row in block.hooks for line in hook_lines(row, whole=level == "open")]
        return [*parts, *([fixed(hooks)] if hooks else [])]

    # ---- what is seen of itself

    def _brief(self, block: ToolBlock) -> list[Part]:
        if block.status == "building":
            return self._arguments_being_written(block)
        if isinstance(block.display, Diff):
            lines, hidden = diff_lines(block.display, BAR, BRIEF_DIFF)
            self.more = hidden > 0
            return [fixed([*lines, *_note(f"{words.count(hidden, 'more line')}" if hidden else "")])]
        if isinstance(block.display, Plan):
            return [fixed(plan_lines(block.display))]
        if block.status in {"running", "error", "interrupted"}:
            return self._tail(block)
        self.more = bool(block.text or block.display)
        return []

    def _tail(self, block: ToolBlock) -> list[Part]:
        """The last rows of output; of a long one that failed with a count of what stands above."""
        text = block.text
        cut = len(text.rstrip("\n"))
        start = cut
        for _ in range(TAIL):
            start = text.rfind("\n", 0, start)
            if start < 0:
                break
        last = split_lines(text[start + 1 : cut])
        self.more = start >= 0
        lines: list[Line] = [*output_lines(last, BAR, ("tool-output",))]
        if start >= 0 and block.status != "running":
            lines = [*_note(f"{words.count(text.count(chr(10), 0, start) + 1, 'line')} above"), *lines]
        return [fixed([*lines, *_cut_note(block)])]

    def _arguments_being_written(self, block: ToolBlock, rows: int | None = TAIL) -> list[Part]:
        known = list(fields(block.arguments_text))
        if not known:
            return []
        name, value, _ = known[-1]
        if "\n" not in value and len(value) < 80:
            return []
        path = next((value for name, value, _ in known if name in {"path", "file_path", "file"}), "")
        last = split_lines(value)[-(rows or 0) :]
        language = language_of(path) if path and name != "command" else ""
        return [fixed(code_lines(highlight(last, language, START), BAR))]

    # ---- all there is

    def _open(self, block: ToolBlock) -> list[Part]:
        if block.status == "building":
            return self._arguments_being_written(block, rows=None)
        parts = [fixed(lines)] if (lines := argument_lines(block)) else []
        display = block.display
        if isinstance(display, Diff):
            lines, _ = diff_lines(display, BAR)
            parts += [fixed(lines[start : start + PIECE]) for start in range(0, len(lines), PIECE)]
        elif isinstance(display, Plan):
            parts.append(fixed(plan_lines(display)))
        elif isinstance(display, Matches):
            parts += match_parts(display)
        else:
            parts += output_parts(block)
        if block.full_output:
            parts.append(fixed(_note(f"whole output: {visible(block.full_output)}")))
        return parts


def title(block: ToolBlock, now: float, *, folded: bool) -> TitleLine:
    """``✓ read_file  src/x.py          88 lines · 0.1 s``."""
    written = block.status == "building" and block.call is not None
    status = "queued" if written else block.status
    mark, role = MARKS.get(status, MARKS["running"])
    right: list[tuple[str, Role]] = []
    if block.untrusted:
        right.append(("UNTRUSTED", "untrusted"))
    if folded:
        right += [
            (f"⚠ {visible(row.name)}", "hook-fail")
            for row in block.hooks
            if row.status in {"failed", "timeout", "missing"}
        ]
    outcome = visible(words.first_line(block.outcome, 80)) or OUTCOMES.get(status, "")
    if block.status == "error" and not outcome:
        outcome = visible(words.first_line(block.text, 60)) or "failed"
    right.append((outcome, "tool-error" if block.status == "error" else "context"))
    if block.status == "running" and block.started:
        right.append((words.whole_seconds(now - block.started), "context"))
    elif block.status in {"ok", "error", "interrupted"}:
        right.append((words.seconds(block.duration), "context"))
    name = visible(block.name or "tool")
    target = " ↵ ".join(visible(line) for line in split_lines(block.summary or _first_argument(block)))
    return TitleLine((mark, role), (name.ljust(VERB), "tool-name"), (target, "tool-target"), right)


def _first_argument(block: ToolBlock) -> str:
    """What a call without a summary seems to be about."""
    if block.call is not None:
        texts = [value for value in block.call.arguments.values() if isinstance(value, str)]
        return words.first_line(texts[0], 60) if texts else ""
    found = next(fields(block.arguments_text), None)
    return words.first_line(found[1], 60) if found and "\n" not in found[1] else ""


def hook_lines(row: HookRow, *, whole: bool) -> list[Line]:
    """``⚠ ruff  1 problem (+1)  first line      model saw this · 0.3 s``; opened, with all its output."""
    mark, role, outcome = HOOKS.get(row.status, HOOKS["failed"])
    problems = len(_PROBLEM.findall(row.output)) if row.status == "failed" else 0
    outcome = words.count(problems, "problem") if problems else outcome
    change = f" ({row.change})" if row.change else ""
    target = f"{outcome}{change}"
    if row.status in {"failed", "timeout", "missing"} and (first := words.first_line(row.output, 200)):
        target += f"   {visible(first)}"
    right: list[tuple[str, Role]] = [("rewrote the file", "warn")] if row.rewrote else []
    if row.status in {"failed", "timeout", "missing"}:
        right.append(("model saw this", "context"))
    if row.status != "running":
        right.append((words.seconds(row.duration), "context"))
    name = visible(row.name)
    name = name.ljust(VERB - 2)  # behind the bar, so that all targets stand in one column
    line = TitleLine((mark, role), (name, "tool-name"), (target, "hook"), right, first=BAR)
    if not whole:
        return [line]
    return [line, *output_lines(split_lines(row.output), (*BAR, ("  ", "content")), ("tool-output",))]


def plan_lines(plan: Plan) -> list[Line]:
    """A todo list; what is done is struck out."""
    marks: dict[str, tuple[str, Role, tuple[Role, ...]]] = {
        "open": ("☐ ", "context", ()),
        "active": ("▸ ", "accent", ()),
        "done": ("☑ ", "ok", ("context",)),
    }
    lines: list[Line] = []
    for state, text in plan.items:
        mark, role, base = marks.get(state, marks["open"])
        lines.append(
            TextLine(
                visible(text.replace("\n", " ")),
                first=(*BAR, (mark, role)),
                rest=(*BAR, ("  ", role)),
                base=base,
            )
        )
    return lines


def match_parts(matches: Matches) -> list[Part]:
    """Search hits, each file's path once."""
    lines: list[Line] = []
    path_before = ""
    for path, number, text in matches.rows:
        if path != path_before or not number:
            lines.append(TextLine(visible(path), first=BAR, wrap="hard", base=("tool-name",)))
            path_before = path
        if number:
            shown = visible(text)
            lines.append(
                TextLine(
                    shown,
                    first=(*BAR, (f"{number:>6} ", "diff-number")),
                    rest=(*BAR, (" " * 7, "context")),
                    wrap="hard",
                    base=("tool-output",),
                    raw=text,
                )
            )
    if matches.total > len(matches.rows):
        lines += _note(f"{matches.total - len(matches.rows):,} more")
    return [fixed(lines[start : start + PIECE]) for start in range(0, len(lines), PIECE)]


def argument_lines(block: ToolBlock) -> list[Line]:
    """Arguments that the title does not show whole; a diff says more than its own arguments."""
    if block.call is None or isinstance(block.display, Diff):
        return []
    if block.call.error:
        return [*output_lines(split_lines(block.call.raw), BAR, ("tool-output",)), *_note(block.call.error)]
    lines: list[Line] = []
    for name, value in block.call.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if text in block.summary:
            continue
        label: Prefix = (*BAR, (f"{visible(name)} ", "context"))
        rows = split_lines(text) or [""]
        first = output_lines(rows[:1], label, ("tool-output",))
        lines += [*first, *output_lines(rows[1:], (*BAR, ("  ", "context")), ("tool-output",))]
    return lines


def output_parts(block: ToolBlock) -> list[Part]:
    """The whole output; where the model saw only its ends, marks say so."""
    display = block.display
    text = display.text if isinstance(display, Output) and not block.live else block.text
    lines = split_lines(text)
    number = display.first_line if isinstance(display, Output) else 0
    language = display.language if isinstance(display, Output) else ""
    seen = _SEEN.search(block.cut)
    if seen is None:
        return [
            *_piece_parts(lines, number, language),
            *([fixed(note)] if (note := _cut_note(block)) else []),
        ]
    head, tail = int(seen.group(1)), int(seen.group(2))
    hidden = max(len(lines) - head - tail, 0)
    parts = _piece_parts(lines[:head], number, language)
    parts.append(fixed(_note(f"┄ the model did not see the next {words.count(hidden, 'line')}")))
    parts += _piece_parts(lines[head : len(lines) - tail], number and number + head, language)
    parts.append(fixed(_note("┄ the model saw the rest")))
    return [
        *parts,
        *_piece_parts(lines[len(lines) - tail :], number and number + len(lines) - tail, language),
    ]


def _piece_parts(lines: Sequence[str], number: int, language: str) -> list[Part]:
    if number or language:
        return pieces(lines, partial(_numbered, number=number, language=language, last=number + len(lines)))
    looks: list[Look] = [PLAIN_LOOK]
    for start in range(0, len(lines), PIECE):
        looks.append(look_after(lines[start : start + PIECE], looks[-1]))

    def make(piece: Sequence[str], start: int) -> Sequence[Line]:
        return output_lines(piece, BAR, ("tool-output",), looks[start // PIECE])

    return pieces(lines, make)


def _numbered(lines: Sequence[str], start: int, *, number: int, language: str, last: int) -> list[Line]:
    """Lines of a file with their numbers; each piece is coloured for itself."""
    digits = len(str(last)) if number else 0
    made: list[Line] = []
    for index, line in enumerate(code_lines(highlight(lines, language, START), BAR)):
        label = f"{number + start + index:>{digits}} " if number else ""
        line.first = (*BAR, (label, "context"))
        line.rest = (*BAR, (" " * len(label), "context"))
        line.base, line.fill = (), False
        made.append(line)
    return made


def _note(text: str) -> list[TextLine]:
    return [TextLine(text, first=BAR, base=("context",))] if text else []


def _cut_note(block: ToolBlock) -> list[TextLine]:
    return _note(f"model saw {visible(block.cut)}" if block.cut else "")
