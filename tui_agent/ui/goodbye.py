"""The last words: what a person needs on the terminal after the screen has gone."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tui_agent.ui.render.plain import visible


def say_goodbye(words: Sequence[str], fault: Exception | None, stray: Path) -> None:
    """Print how to go on, and first what ended the program if it was a fault of its own."""
    if fault is not None:
        what = visible(f"{type(fault).__name__}: {fault}")
        sys.stderr.write(
            f"tui-agent: a fault of its own ended it: {what}{os.linesep}The traceback is in {stray}{os.linesep}"
        )
    for line in words:
        sys.stdout.write(line + os.linesep)
