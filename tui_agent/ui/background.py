"""Whether the terminal is light or dark: its own answer, asked for while the program is still being put together.

The question is followed by one that every terminal answers, so that one which knows no colours costs no waiting.
What a person typed meanwhile comes back to the caller and is not lost.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Mapping
from typing import Any

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
"""OSC 11 asks for the background, DA1 for the terminal's kind."""
ANSWER = re.compile(rb"\x1b\]11;([^\x07\x1b]*)(?:\x07|\x1b\\)")
KIND = re.compile(rb"\x1b\[\?[0-9;]*c")
LATE = re.compile(r"\x1b\](?:10|11);[^\x07\x1b]{0,64}(?:\x07|\x1b\\)|\x1b\[\?[0-9;]{1,64}c")
BEGUN = re.compile(r"\x1b\](?:1(?:[01](?:;[^\x07\x1b]{0,64}\x1b?)?)?)?$|\x1b\[\?[0-9;]{0,64}$")
PATIENCE = 0.05
"""Seconds from the question on after which a terminal that answers nothing is left alone."""
LAST_PATIENCE = 0.3
"""Seconds that an answer on its way is waited for when the start has failed; the shell would take it for typed."""


def needs_asking(wish: str, environ: Mapping[str, str]) -> bool:
    """Only ``auto`` looks at the background, and ``COLORFGBG`` tells it without a question."""
    return wish == "auto" and not environ.get("COLORFGBG") and "NO_COLOR" not in environ


class Background:
    """Ask at once, read later; ``close`` puts the line's settings back."""

    def __init__(self) -> None:
        self._until = time.monotonic() + PATIENCE
        self._fd = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
        self._before: list[Any] | None = None
        self._unread = True
        self._answered = False
        try:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd, termios.TCSANOW)
            os.write(sys.__stdout__.fileno() if sys.__stdout__ is not None else 1, QUESTION)
        except (OSError, ValueError, termios.error):
            self.close()

    def read(self) -> tuple[str | None, str]:
        """The answer if there was one, and what was typed while it was waited for."""
        data = b""
        while self._before is not None and not KIND.search(data):
            left = self._until - time.monotonic()
            if not select.select([self._fd], [], [], max(left, 0))[0]:
                break
            try:
                data += os.read(self._fd, 4096)
            except OSError:
                break
        self._unread = False
        self._answered = KIND.search(data) is not None
        self.close()
        found = ANSWER.search(data)
        typed = KIND.sub(b"", ANSWER.sub(b"", data)).decode("utf-8", "replace")
        return (found[1].decode("ascii", "replace") if found else None), typed

    def drain(self) -> None:
        """The start has failed: take what the terminal still answers, while the line is as it was for the question."""
        data, until = b"", time.monotonic() + LAST_PATIENCE
        while not self._answered:
            try:
                if not select.select([self._fd], [], [], max(until - time.monotonic(), 0))[0]:
                    break
                data += (piece := os.read(self._fd, 4096))
            except (OSError, ValueError):
                break
            self._answered = not piece or KIND.search(data) is not None

    def close(self) -> None:
        """Put the line's settings back; safe to call twice. An answer that nobody read must not reach the shell."""
        if self._before is not None:
            if self._unread:
                self.drain()
            termios.tcsetattr(self._fd, termios.TCSAFLUSH if self._unread else termios.TCSANOW, self._before)
            self._before = None


class Decoder:
    """Bytes of the terminal as text: what is no UTF-8 is replaced, and answers that come too late are left out,
    because Textual would take them for typed keys. Has the one method that Textual's driver uses."""

    def __init__(self, encoding: str) -> None:
        self._inner = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._held = ""

    def decode(self, data: bytes, final: bool = False) -> str:
        """The text of some more bytes; the beginning of an answer waits for its end."""
        text = self._held + self._inner.decode(data, final)
        self._held = ""
        if "\x1b" not in text:
            return text
        text = LATE.sub("", text)
        begun = BEGUN.search(text)
        if begun is not None and not final:
            text, self._held = text[: begun.start()], begun[0]
        return text
