"""A program's output as a terminal would have left it: colours kept, progress lines in their last state.

Only colours and the handful of sequences that progress bars need are obeyed; every other control or escape sequence
is shown, never sent on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rich.color import Color
from rich.style import Style

from tui_agent.ui.render.lines import PLAIN, Prefix, Role, Span, TextLine
from tui_agent.ui.render.plain import visible

TAB = 8
"""Cells between tab stops, as programs expect of a terminal."""
_SPECIAL = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]*)m"
    r"|\x1b\[(?P<erase>[012]?)K"
    r"|(?P<silent>\x1b\[\?(?:25|7|2004|1)[hl]|\x1b\(B|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\))"
    r"|(?P<move>[\r\b])"
)


class Look(NamedTuple):
    """What SGR sequences have set so far. Concealed and blinking text is not: nothing hides, nothing blinks."""

    colour: Color | None = None
    ground: Color | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False


PLAIN_LOOK = Look()
_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


@lru_cache(maxsize=1024)
def style_of(look: Look) -> Style:
    """The style of a look; text in the colour of its ground, which would not be seen, loses both."""
    seen = look.colour is None or look.colour != look.ground
    return Style(
        color=look.colour if seen else None,
        bgcolor=look.ground if seen else None,
        bold=look.bold or None,
        dim=look.dim or None,
        italic=look.italic or None,
        underline=look.underline or None,
        reverse=look.reverse or None,
        strike=look.strike or None,
    )


@lru_cache(maxsize=1024)
def after_sgr(look: Look, parameters: str) -> Look:
    """The look after ``ESC [ parameters m``."""
    codes = [
        int(code[:4]) if code else 0 for code in parameters.replace("::", ":").replace(":", ";").split(";")
    ]
    while codes:
        code = codes.pop(0)
        if code == 0:
            look = PLAIN_LOOK
        elif code in _ON:
            look = look._replace(**{_ON[code]: True})
        elif code in _OFF:
            look = look._replace(**dict.fromkeys(_OFF[code], False))
        elif code in (38, 48):
            if (colour := _extended(codes)) is not None:
                look = look._replace(**{"colour" if code == 38 else "ground": colour})
        elif code in (39, 49):
            look = look._replace(**{"colour" if code == 39 else "ground": None})
        elif 30 <= code <= 37 or 90 <= code <= 97:
            look = look._replace(colour=Color.from_ansi(code - 30 if code < 90 else code - 82))
        elif 40 <= code <= 47 or 100 <= code <= 107:
            look = look._replace(ground=Color.from_ansi(code - 40 if code < 100 else code - 92))
    return look


def _extended(codes: list[int]) -> Color | None:
    """Take ``5;n`` or ``2;r;g;b`` off the codes."""
    kind = codes.pop(0) if codes else 0
    if kind == 5 and codes:
        return Color.from_ansi(min(codes.pop(0), 255))
    if kind == 2 and len(codes) >= 3:
        red, green, blue = (min(codes.pop(0), 255) for _ in range(3))
        return Color.from_rgb(red, green, blue)
    return None


def read_line(raw: str, look: Look = PLAIN_LOOK) -> tuple[str, list[Span], Look]:
    """One line as (what is shown, its colours, the look at its end)."""
    raw = raw.removesuffix("\r")
    if _SPECIAL.search(raw) is None:
        text = visible(raw, TAB)
        return text, [(0, len(text), style_of(look))] if text and look != PLAIN_LOOK else [], look
    shown: list[str] = []
    looks: list[Look] = []
    cursor = at = 0

    def write(text: str) -> None:
        nonlocal cursor
        text = visible(" " * (cursor % TAB) + text, TAB)[cursor % TAB :] if "\t" in text else visible(text)
        shown[cursor : cursor + len(text)] = text
        looks[cursor : cursor + len(text)] = [look] * len(text)
        cursor += len(text)

    for match in _SPECIAL.finditer(raw):
        if match.start() > at:
            write(raw[at : match.start()])
        at = match.end()
        kind = match.lastgroup
        if kind == "sgr":
            look = after_sgr(look, match.group("sgr"))
        elif kind == "move":
            cursor = 0 if match.group() == "\r" else max(cursor - 1, 0)
        elif kind == "erase":
            where = match.group("erase")
            if where == "2":
                shown[:], looks[:] = [" "] * cursor, [PLAIN_LOOK] * cursor
            elif where == "1":
                shown[:cursor], looks[:cursor] = [" "] * cursor, [PLAIN_LOOK] * cursor
            else:
                del shown[cursor:], looks[cursor:]
    if at < len(raw):
        write(raw[at:])
    return "".join(shown), _spans(looks), look


def _spans(looks: Sequence[Look]) -> list[Span]:
    spans: list[Span] = []
    start = 0
    for index in range(1, len(looks) + 1):
        if index == len(looks) or looks[index] != looks[start]:
            if looks[start] != PLAIN_LOOK:
                spans.append((start, index, style_of(looks[start])))
            start = index
    return spans


def look_after(lines: Sequence[str], look: Look) -> Look:
    """The look after some lines, without reading their text."""
    for line in lines:
        if "\x1b" in line:
            for match in _SPECIAL.finditer(line):
                if match.lastgroup == "sgr":
                    look = after_sgr(look, match.group("sgr"))
    return look


def output_lines(
    lines: Sequence[str], prefix: Prefix = PLAIN, base: tuple[Role, ...] = (), look: Look = PLAIN_LOOK
) -> list[TextLine]:
    """Lines of a program's output."""
    made: list[TextLine] = []
    for raw in lines:
        text, spans, look = read_line(raw, look)
        clean = raw if _SPECIAL.search(raw) is None else None
        made.append(TextLine(text, spans, first=prefix, wrap="hard", base=base, raw=clean, tab=TAB))
    return made


def plain_text(text: str) -> str:
    """Output without its colours, line by line as shown, for the clipboard."""
    if "\x1b" not in text and "\r" not in text and "\b" not in text:
        return text
    return "\n".join(read_line(line)[0] if _SPECIAL.search(line) else line for line in text.split("\n"))
