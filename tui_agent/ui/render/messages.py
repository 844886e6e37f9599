"""What people, models and the program itself say: user, assistant, reasoning, notice and card blocks."""

from __future__ import annotations

from collections.abc import Sequence

from tui_agent.ui import words
from tui_agent.ui.blocks import AssistantBlock, CardBlock, NoticeBlock, ReasoningBlock, UserBlock
from tui_agent.ui.render.lines import PLAIN, BlankLine, Line, Prefix, Role, TextLine, TitleLine
from tui_agent.ui.render.markdown import markdown_lines
from tui_agent.ui.render.part import Part, fixed
from tui_agent.ui.render.plain import visible
from tui_agent.ui.render.sheet import Growing, Level, Sheet, pieces, split_lines

LONG_PROMPT = 24
"""Lines of a prompt that are seen before it is opened (a paste would push everything else away)."""
SHORT_PROMPT = 12
"""Lines that are left when a prompt is longer than that."""
TONES: dict[str, Role] = {"ok": "ok", "warn": "warn", "error": "error"}
LEVELS: dict[str, tuple[str, Role, Role]] = {
    "info": ("◆", "system-mark", "notice"),
    "warning": ("⚠", "warn", "notice"),
    "error": ("✗", "error", "notice"),
}


def gutter(mark: str, role: Role) -> Prefix:
    """The gutter with a mark in it."""
    return ((" ", "content"), (f"{mark} ", role))


class UserSheet(Sheet[UserBlock]):
    """A prompt as it was typed, not as markdown."""

    def update(self, block: UserBlock, level: Level) -> int:
        lines = split_lines(block.text) or [""]
        self.more = level != "open" and len(lines) > LONG_PROMPT
        shown = lines[: SHORT_PROMPT if level == "brief" else 1] if self.more or level == "folded" else lines
        steering = block.origin in {"steering", "follow_up"}
        role: Role = {"steering": "steer", "follow_up": "follow-up"}.get(block.origin, "user-mark")
        bar = gutter("▌" if block.origin != "system" else "◆", role)
        parts: list[Part] = []
        if steering:
            label = "steering" if block.origin == "steering" else "queued"
            first = shown[0]
            parts.append(
                fixed(
                    [
                        TitleLine(
                            ("", role),
                            ("", role),
                            (visible(first), "user"),
                            [(label, role)],
                            first=bar,
                            overflow="wrap",
                            source=first,
                        )
                    ]
                )
            )
            shown = shown[1:]

        def make(piece: Sequence[str], _start: int) -> Sequence[Line]:
            return [TextLine(visible(line), first=bar, base=("user",), raw=line) for line in piece]

        parts += pieces(shown, make)
        if hidden := len(lines) - len(shown) - steering:
            parts.append(
                fixed([TextLine(f"… {words.count(hidden, 'more line')}", first=bar, base=("context",))])
            )
        return self.put(parts)


class AssistantSheet(Sheet[AssistantBlock]):
    """A reply in markdown, read as it grows."""

    def __init__(self) -> None:
        super().__init__()
        self._text = Growing(PLAIN, ("assistant",))

    def update(self, block: AssistantBlock, level: Level) -> int:
        if level == "folded":
            self._text = Growing(PLAIN, ("assistant",))
            count = words.count(len(block.text.split()), "word")
            return self.put_lines(
                [
                    TitleLine(
                        ("", "context"),
                        ("", "context"),
                        (visible(words.first_line(block.text, 200)), "assistant"),
                        [(count, "context")],
                    )
                ]
            )
        start, parts = self._text.update(block.text, live=block.live)
        if block.interrupted:
            how = "⏸ broke off" if block.broken else "⏸ interrupted"
            parts = [*parts, fixed([TextLine(how, base=("interrupted",))])]
        return self.put(parts, start)


class ReasoningSheet(Sheet[ReasoningBlock]):
    """A model's reasoning: one line, or that line and its text."""

    def __init__(self) -> None:
        super().__init__()
        self._text: Growing | None = None

    def update(self, block: ReasoningBlock, level: Level) -> int:
        count = words.count(len(block.text.split()), "word")
        said = "thinking" if block.live else f"thought for {words.seconds(block.duration)}"
        mark: tuple[str, Role] = ("●", "running") if block.live else ("∴", "reasoning")
        self.more = level != "open"
        self.dropped += self.parts[:1]
        self.parts[:1] = [fixed([TitleLine(mark, ("", "reasoning"), (f"{said} · {count}", "reasoning"))])]
        if level == "folded":
            self._text = None
            self.put([], 1)
            return 0
        if self._text is None:
            self._text = Growing((*PLAIN, ("│ ", "tool-mark")), ("reasoning",))
        start, parts = self._text.update(block.text, live=block.live)
        self.put(parts, start + 1)
        return 0


class NoticeSheet(Sheet[NoticeBlock]):
    """A line of the program itself, with more below it when opened."""

    def update(self, block: NoticeBlock, level: Level) -> int:
        mark, role, said = LEVELS[block.level]
        text = visible(block.text.replace("\n", " "))
        if block.body:
            text += " ▸" if level == "folded" else " ▾"
        right: list[tuple[str, Role]] = [(visible(block.right), "context")]
        lines: list[Line] = [
            TitleLine((mark, role), ("", role), (text, said), right, overflow="wrap", source=block.text)
        ]
        below: Prefix = (*PLAIN, ("  ", "content"))
        if block.hint:
            hint = visible(block.hint.replace("\n", " "))
            lines.append(TextLine(hint, first=below, rest=below, base=("context",)))
        if block.body and level != "folded":
            lines += markdown_lines(block.body, below, ("context",))
        return self.put_lines(lines)


class CardSheet(Sheet[CardBlock]):
    """The end of a run."""

    def update(self, block: CardBlock, level: Level) -> int:
        tone = TONES[block.tone]
        right: list[tuple[str, Role]] = [(visible(piece), "context") for piece in block.right.split(" · ")]
        lines: list[Line] = [
            TitleLine((block.mark, tone), ("", tone), (visible(block.title), tone), right, overflow="below")
        ]
        if level == "folded":
            return self.put_lines(lines)
        labels = [visible(label) for label, _ in block.rows]
        column = max((len(label) for label in labels), default=0)
        for label, (_, text) in zip(labels, block.rows, strict=True):
            indent: Prefix = (*PLAIN, ("  ", "content"))
            named: Prefix = (*indent, (f"{label:<{column}}  ", "context")) if column else indent
            rest: Prefix = (*indent, (" " * (column + 2), "context")) if column else indent
            for number, line in enumerate(split_lines(text) or [""]):
                lines.append(TextLine(visible(line), first=rest if number else named, rest=rest))
        return self.put_lines(lines or [BlankLine()])
