"""Large pastes as short tokens: the composer stays fast, the request gets every byte."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tui_agent.ui import words
from tui_agent.ui.render.plain import visible

FOLD_CHARACTERS = 2000
FOLD_LINES = 12
"""Pastes longer than either are folded (a line of 100 kB costs a text area 99 ms a key, measured)."""

IMAGE = re.compile(r"\[image #(\d+)\]")
TOKEN = re.compile(r"\[pasted #(\d+): [^\[\]\n]*\]")


def normalise(text: str) -> str:
    """Line ends as the program knows them; terminals send a carriage return for each."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def must_fold(text: str) -> bool:
    """Whether a paste is too large for the text area, or holds what must not reach a terminal as it is."""
    if len(text) > FOLD_CHARACTERS or text.count("\n") >= FOLD_LINES:
        return True
    bare = text.replace("\n", " ").replace("\t", " ")
    return visible(bare) != bare


class Pastes:
    """Folded pastes by number."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._images: dict[int, tuple[str, str]] = {}
        self._next = 1

    def fold(self, text: str) -> str:
        """Keep the text; what stands for it in the composer."""
        number = self._next
        self._next += 1
        self._texts[number] = text
        lines = text.count("\n") + 1
        size = words.count(lines, "line") if lines > 1 else words.count(len(text), "character")
        return f"[pasted #{number}: {size}, {len(text.encode(errors='surrogatepass')) / 1000:,.1f} kB]"

    def keep_image(self, media_type: str, data: str) -> str:
        """Keep an image (base64); what stands for it in the composer and in the message."""
        number = len(self._images) + 1
        self._images[number] = (media_type, data)
        return f"[image #{number}]"

    def images(self, text: str) -> tuple[tuple[str, str], ...]:
        """The images that a text still names, in their order."""
        named = [int(match[1]) for match in IMAGE.finditer(text)]
        return tuple(self._images[number] for number in named if number in self._images)

    def expand(self, text: str) -> str:
        """The text with every token replaced by what was pasted."""
        return TOKEN.sub(lambda match: self._texts.get(int(match[1]), match[0]), text)

    def tokens(self, line: str) -> list[tuple[int, int, str]]:
        """(start, end, text) of each token of a line that stands for a paste."""
        if "[pasted #" not in line:
            return []
        return [
            (match.start(), match.end(), self._texts[int(match[1])])
            for match in TOKEN.finditer(line)
            if int(match[1]) in self._texts
        ]

    def used(self, text: str) -> dict[str, str]:
        """The pastes that a text still refers to, by number, for the drafts file."""
        numbers = {int(match[1]) for match in TOKEN.finditer(text)}
        return {str(number): self._texts[number] for number in sorted(numbers & self._texts.keys())}

    def restore(self, texts: Mapping[str, str]) -> None:
        """Take back pastes of a drafts file."""
        for number, text in texts.items():
            if number.isdigit():
                self._texts[int(number)] = text
                self._next = max(self._next, int(number) + 1)
