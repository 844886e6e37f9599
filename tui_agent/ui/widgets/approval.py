"""The card above the composer that asks whether a call may run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tui_agent.core.events import ApprovalRequested
from tui_agent.core.tool import Diff, Display, Matches, Output, Plan
from tui_agent.ui import words
from tui_agent.ui.render import cells
from tui_agent.ui.render.plain import visible
from tui_agent.ui.widgets.row import Line, Span
from tui_agent.ui.widgets.wrapped import Reading, wrapped

ANSWERS: tuple[tuple[str, str], ...] = (
    ("once", "yes, once"),
    ("session", "for this session"),
    ("always", "always"),
    ("deny", "no"),
    ("explain", "no, because…"),
    ("edit", "edit"),
)
BAR: Span = ("   │ ", "tool-mark")
INDENT = 5
"""Cells of ``BAR``, before each row of what a call would do."""
LONGEST = 2_000
"""Characters after which ``tools.diff`` cuts a line; the card says so."""
LEAST = 2
"""Rows of it that are shown at once, however low the terminal is."""


class Card(msgspec.Struct):
    """What the card needs besides the call: the keys, the room, and how far it was read."""

    reading: Reading
    keys: Mapping[str, str]
    width: int
    rows: int
    """Rows that the card should take at most."""
    top: int = 0
    """First row of the text that is shown."""
    waiting: int = 1
    """Calls that wait for an answer, this one among them."""
    held: str = ""
    """Why keys don't answer it yet."""

    @property
    def across(self) -> int:
        """Cells of a row of the text."""
        return max(self.width - INDENT - 1, 8)


def approval_lines(event: ApprovalRequested, card: Card) -> tuple[list[Line], int, int]:
    """The card, and which rows of the text stand on it. Nothing of the call is cut: what has no room is counted."""
    head, more = _head(event, card)
    text = card.reading.rows(card.across)
    warning = event.intent.destructive
    below = [
        *more,
        *(wrapped([(f"{warning} · default is no", "warn")], card.across) if warning else []),
    ]
    room = max(card.rows - 2 - len(below), LEAST)
    fits = len(text) <= room
    count = len(text) if fits else max(room - 1, LEAST)
    top = min(max(card.top, 0), len(text) - count)
    shown = text[top : top + count]
    lines: list[Line] = [head, *(([BAR, *spans], []) for spans in shown)]
    if not fits:
        lines.append(([BAR, *_hidden(card, top, len(text) - top - count)], []))
    lines += [([BAR, *spans], []) for spans in below]
    lines += [(spans, []) for spans in _answers(event, card)]
    return lines, top, top + count


def _head(event: ApprovalRequested, card: Card) -> tuple[Line, list[list[Span]]]:
    """The first row, and in rows of their own the places that have no room there."""
    intent = event.intent
    left: list[Span] = [(" ◌ ", "accent"), (intent.tool, "tool-name"), (f" {_wish(event)}", "text")]
    if card.waiting > 1:
        left.append((f" · {card.waiting - 1} more after it", "dim"))
    place = f"outside the workspace: {', '.join(intent.outside)}" if intent.outside else ""
    why = place or event.why
    room = card.width - sum(cells.width(visible(text)) for text, _ in left) - 3
    more: list[list[Span]] = []
    if cells.width(visible(why)) > room:
        more = wrapped([(place, "warn")], card.across) if place else []
        why = ""
    return (left, [(why, "warn" if place else "dim"), (" ", "text")] if why else []), more


def _hidden(card: Card, above: int, below: int) -> list[Span]:
    """How much of the text is not on the card, and how to see it."""
    parts = [f"{words.count(above, 'row')} above"] if above else []
    parts += [f"{words.count(below, 'row')} below"] if below else []
    spans: list[Span] = [("… " + ", ".join(parts), "warn")]
    for name, what in (("page_down", "on") if below else ("page_up", "back"), ("view", "all of it")):
        if key := card.keys.get(name):
            spans += [(" · ", "dim"), (key, "key"), (f" {what}", "dim")]
    if not card.reading.whole:
        spans.append((" · default is no until all was shown", "warn"))
    return spans


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
    paths = intent.paths[0] if len(intent.paths) == 1 else words.count(len(intent.paths), "file")
    if intent.effect == "write":
        return f"wants to change {paths if intent.paths else 'files'}"
    if intent.effect == "network":
        return "wants to reach the network"
    if intent.effect == "read":
        return f"wants to read {paths if intent.paths else ''}".rstrip()
    return "wants to run"


def text_of(event: ApprovalRequested, width: int) -> list[list[Span]]:
    """What a call would do, line by line, with the paths that the card's first row of ``width`` cells can't hold."""
    intent = event.intent
    size = cells.width(visible(f"{intent.tool} {_wish(event)}"))
    paths = intent.paths if len(intent.paths) > 1 or size > width // 2 else ()
    return [*([(path, "text")] for path in paths), *body_spans(intent.command, intent.preview)]


def body_spans(command: str, preview: Display | None) -> list[list[Span]]:
    """A command or a preview, line by line. Only ``\\n`` ends a line: what else might is a character that must be seen."""
    if command:
        return [[(line, "code")] for line in command.split("\n")]
    if isinstance(preview, Diff):
        return diff_spans(preview)
    if isinstance(preview, Output):
        return [[(line, "text")] for line in preview.text.split("\n")]
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
    for line in diff.hunks.removesuffix("\n").split("\n"):
        role = {"+": "diff-add", "-": "diff-del", "@": "dim", "\\": "warn"}.get(line[:1], "text")
        lines.append([(line, role)])
        if len(line) > LONGEST and line.endswith("…"):
            lines.append(
                [("cut here: the rest of this line is not in the preview, only in the call", "warn")]
            )
    return lines


def _answers(event: ApprovalRequested, card: Card) -> list[list[Span]]:
    """The keys, in as many rows as they need: the rule that a key would add is never cut."""
    if card.held:
        return [[("   ", "text"), (card.held, "dim")]]
    default = event.default if card.reading.whole else "deny"
    order: Sequence[tuple[str, str]] = ANSWERS
    if default == "deny":
        order = (*ANSWERS[3:], *ANSWERS[:3])
    rows: list[list[Span]] = []
    used = card.width
    for decision, what in order:
        key = card.keys.get(decision, "")
        if not key or (decision in {"session", "always"} and not event.rule):
            continue
        label = f" {what}: {event.rule}" if decision == "always" else f" {what}"
        spans: list[Span] = [(key, "key"), (label, "text" if decision == default else "dim")]
        size = sum(cells.width(visible(text)) for text, _ in spans) + 4
        if used + size > card.width:
            parts = wrapped(spans, max(card.width - 4, 8))
            rows += [[("   ", "text"), *part] for part in parts]
            used = 3 + size
        else:
            rows[-1] += [("    ", "text"), *spans]
            used += size
    return rows
