"""The first thing a person sees: the frame of the composer, painted by hand while Textual is still being imported.

Keys that are pressed meanwhile stay in the terminal's queue, exactly as the real screen wants them. Imports nothing heavy.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
from typing import Any

from tui_agent.ui.background import Background

PLACEHOLDER = "ask for something · / commands · @ files · ! shell"
"""What the empty composer says, here and on the real screen."""
HINT_COLUMNS = 60
"""Columns from which the row of hints is shown."""
HINTS_IN_GAUGE = 118
"""Columns from which the hints fit into the gauge row, so that they need no row of their own."""
ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask to save and leave. From before the terminal is touched, or one that comes early would leave it raw."""
LEAST = (24, 8)
"""Columns and rows below which nothing is painted."""

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[2J", "\x1b[?25h\x1b[?1049l"
RAW_INPUT = termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR
RAW_LOCAL = termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG
"""The flags that Textual's driver clears as well, so that keys pressed before it mean the same."""


def frame(columns: int, rows: int) -> str:
    """The sequences that paint the composer where the real one will be."""
    below = 1 + (HINT_COLUMNS <= columns < HINTS_IN_GAUGE)
    top = rows - below - 2
    text = PLACEHOLDER[: columns - 4].ljust(columns - 4)
    lines = ("╭" + "─" * (columns - 2) + "╮", f"│ \x1b[2m{text}\x1b[22m │", "╰" + "─" * (columns - 2) + "╯")
    return "".join(f"\x1b[{top + number};1H{line}" for number, line in enumerate(lines))


class FirstFrame:
    """Painted when made, unless only early signals are to be kept. ``settings`` are those of the line before it, which whoever ends last has to put back."""

    def __init__(self, *, ask_background: bool, paint: bool = True) -> None:
        self.settings: list[Any] | None = None
        self.background: Background | None = None
        self.painted = False
        """The picture is on the terminal's other screen."""
        self.came_early: list[int] = []
        """Signals that came before there was anything to end in order."""
        self._fd = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
        self._out = sys.__stdout__.fileno() if sys.__stdout__ is not None else -1
        for number in ENDING:
            signal.signal(number, lambda number, _: self.came_early.append(number))
        if not paint:
            return
        try:
            columns, rows = os.get_terminal_size(self._out)
            if columns < LEAST[0] or rows < LEAST[1]:
                return
            before = termios.tcgetattr(self._fd)
            raw = [*before]
            raw[0] &= ~RAW_INPUT
            raw[3] &= ~RAW_LOCAL
            termios.tcsetattr(self._fd, termios.TCSANOW, raw)
            self.settings, self.painted = before, True
            os.write(self._out, (ENTER + frame(columns, rows)).encode())
        except (OSError, ValueError, termios.error):
            self.close()
            return
        if ask_background:
            self.background = Background()

    def covered(self) -> None:
        """The real screen is there, and leaves by itself."""
        self.painted = False

    def close(self) -> None:
        """The end, however it came: the line as it was, and the picture gone unless the real screen has covered it."""
        if self.background is not None:
            self.background.close()
            if self.painted:
                self.background.drain()
        if self.painted:
            self.painted = False
            os.write(self._out, LEAVE.encode())
        if self.settings is not None:
            termios.tcsetattr(self._fd, termios.TCSANOW, self.settings)
            self.settings = None
