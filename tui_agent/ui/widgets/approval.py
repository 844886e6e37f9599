"""The card above the composer that asks whether a call may run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui_agent.core.events import ApprovalRequested, Decision
from tui_agent.core.tool import Diff, Display, Matches, Output, Plan
from tui_agent.ui import words
from tui_agent.ui.widgets.row import Line, Span

ANSWERS: tuple[tuple[Decision, str], ...] = (
    ("once", "yes, once"),
    ("session", "for this session"),
    ("always", "always"),
    ("deny", "no"),
    ("edit", "edit"),
)


def approval_lines(
    event: ApprovalRequested, keys: Mapping[str, str], rows: int, waiting: int, held: str
) -> list[Line]:
    """The card in at most ``rows`` rows. ``held`` says why keys don't answer it yet."""
    intent = event.intent
    right: list[Span] = (
        [(_place(event), "warn")] if intent.outside else [(event.why, "dim")] if event.why else []
    )
    left: list[Span] = [(" ◌ ", "accent"), (intent.tool, "tool-name"), (f" {_wish(event)}", "text")]
    if waiting > 1:
        left.append((f" · {waiting - 1} more after it", "dim"))
    lines: list[Line] = [(left, [*right, (" ", "text")])]
    body = body_spans(intent.command, intent.preview)
    room = max(rows - 3, 1)
    shown = (
        body if len(body) <= room else [*body[: room - 1], [(f"… {len(body) - room + 1} more lines", "dim")]]
    )
    lines += [([("   │ ", "tool-mark"), *spans], []) for spans in shown]
    if intent.destructive:
        lines.append(([("   │ ", "tool-mark"), (f"{intent.destructive} · default is no", "warn")], []))
    lines.append((_answers(event, keys, held), []))
    return lines


def plan_lines(keys: Mapping[str, str], held: str) -> list[Line]:
    """The card of a plan that waits; the plan itself is the last answer above."""
    spans: list[Span] = [("   ", "text")]
    for name, what in (
        ("accept", "build it"),
        ("edit", "change it first"),
        ("reject", "plan something else"),
    ):
        if key := keys.get(name):
            spans += [(key, "key"), (f" {what}    ", "text")]
    head: list[Span] = [(" ◌ ", "accent"), ("the plan is ready", "card-title"), (": it stands above", "text")]
    return [(head, []), ([("   ", "text"), (held, "dim")] if held else spans, [])]


def _wish(event: ApprovalRequested) -> str:
    intent = event.intent
    if intent.effect == "write":
        return f"wants to change {', '.join(intent.paths[:2]) or 'files'}"
    if intent.effect == "network":
        return "wants to reach the network"
    if intent.effect == "read":
        return f"wants to read {', '.join(intent.paths[:2])}"
    return "wants to run"


def _place(event: ApprovalRequested) -> str:
    return f"outside the workspace: {', '.join(event.intent.outside[:2])}"


def body_spans(command: str, preview: Display | None) -> list[list[Span]]:
    """What a call would do, line by line."""
    if command:
        return [[(line, "code")] for line in command.splitlines() or [""]]
    if isinstance(preview, Diff):
        return diff_spans(preview)
    if isinstance(preview, Output):
        return [[(line, "text")] for line in preview.text.splitlines()]
    if isinstance(preview, Matches):
        return [[(path, "text")] for path, _, _ in preview.rows]
    if isinstance(preview, Plan):
        return [[(text, "text")] for _, text in preview.items]
    return []


def diff_spans(diff: Diff) -> list[list[Span]]:
    """A diff's lines with their roles, file name and counts first."""
    what = " (new)" if diff.created else " (deleted)" if diff.deleted else ""
    lines: list[list[Span]] = [
        [(f"{diff.path}{what}  ", "text"), (words.diff(diff.added, diff.removed), "dim")]
    ]
    for line in diff.hunks.splitlines():
        role = {"+": "diff-add", "-": "diff-del", "@": "dim"}.get(line[:1], "text")
        lines.append([(line, role)])
    return lines


def _answers(event: ApprovalRequested, keys: Mapping[str, str], held: str) -> list[Span]:
    if held:
        return [("   ", "text"), (held, "dim")]
    order: Sequence[tuple[Decision, str]] = ANSWERS
    if event.default == "deny":
        order = (*(answer for answer in ANSWERS if answer[0] in {"deny", "edit"}), *ANSWERS[:3])
    spans: list[Span] = [("   ", "text")]
    for decision, what in order:
        key = keys.get(decision, "")
        if not key or (decision == "always" and not event.rule):
            continue
        label = f"{what}: {event.rule}" if decision == "always" else what
        spans += [(key, "key"), (f" {label}    ", "text" if decision == event.default else "dim")]
    return spans
