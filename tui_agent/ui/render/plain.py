"""Hostile text made harmless: what would move the cursor, hide or reorder text is shown instead of done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_agent.ui.render.cells import width

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_RUN_OF_HIDDEN = re.compile("[\u200b-\u200f\u2060-\u206f\ufeff\U000e0000-\U000e0fff]+")
_JOINER, _NON_JOINER = "\u200d", "\u200c"
_BLACK_FLAG = "\U0001f3f4"
_TAG_TEXT = re.compile("[\U000e0020-\U000e007e]{1,8}\U000e007f")
"""The tail of a regional flag such as Scotland's (UTS 51, emoji tag sequences)."""


def is_plain(text: str) -> bool:
    """Whether a text can be printed as it is."""
    if text.isascii():
        return text.isprintable()
    return _UNSAFE.search(text) is None


def visible(line: str, tab: int = 4) -> str:
    """One line with tabs expanded and control, bidirectional and hidden characters shown."""
    if is_plain(line):
        return line
    return "".join(shown for shown, _ in _pieces(line, tab))


def source_index(line: str, shown_index: int, tab: int = 4) -> int:
    """The index in ``line`` of a character of ``visible(line)``, for copying what was selected."""
    if is_plain(line):
        return shown_index
    at = consumed = 0
    for shown, taken in _pieces(line, tab):
        if shown == line[consumed : consumed + taken]:  # shown as it is, so indices run in step
            if shown_index <= at + len(shown):
                return consumed + max(shown_index - at, 0)
        elif shown_index <= at:
            return consumed
        at += len(shown)
        consumed += taken
    return consumed


def _pieces(line: str, tab: int) -> Iterator[tuple[str, int]]:
    """(what is shown, how many characters of the line it stands for), in order."""
    column = index = 0
    while index < len(line):
        match = _UNSAFE.search(line, index)
        if match is None:
            yield line[index:], len(line) - index
            return
        if (start := match.start()) > index:
            text = line[index:start]
            yield text, start - index
            column += width(text)
        if line[start] == "\t":
            shown, taken = " " * (tab - column % tab), 1
        else:
            shown, taken = _shown(line, start)
        yield shown, taken
        column += width(shown)
        index = start + taken


def _shown(line: str, index: int) -> tuple[str, int]:
    character = line[index]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code), 1
    if code == 0x7F:
        return "␡", 1
    if 0xD800 <= code <= 0xDFFF:  # half a surrogate pair, from bytes that were not UTF-8
        return "\ufffd", 1
    if character in (_JOINER, _NON_JOINER) and (kept := _joins(line, index)) is not None:
        return kept, 1
    if index and line[index - 1] == _BLACK_FLAG and (tag := _TAG_TEXT.match(line, index)):
        return tag.group(), len(tag.group())
    run = _RUN_OF_HIDDEN.match(line, index)
    count = len(run.group()) if run else 1
    return f"‹U+{code:04X}{f'×{count}' if count > 1 else ''}›", count


def _joins(line: str, index: int) -> str | None:
    """What to show for a (non-)joiner that does its job; None where it hides (between Latin letters, say)."""
    before, after = line[index - 1 : index], line[index + 1 : index + 2]
    if not before or not after:
        return None
    if (
        line[index] == _JOINER
        and _pictographic(after)
        and (_pictographic(before) or before in "\ufe0f\u20e3")
    ):
        return _JOINER
    if 0x0600 <= ord(before) < 0x1100 or 0x1780 <= ord(before) < 0x1B80 or 0xA800 <= ord(before) < 0xAC00:
        return ""  # Arabic, Indic and South-East Asian scripts: it only shapes letters, widths are counted without it
    return None


def _pictographic(character: str) -> bool:
    code = ord(character)
    return 0x2190 <= code < 0x2C00 or 0x1F000 <= code < 0x1FB00
