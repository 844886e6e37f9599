"""Draws the pictures in ``screenshots/``: ``make screenshots``, or ``make screenshots ARGS='run approval'`` for some."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from tests.ui.scenes import SCENES
from tests.ui.stage import on_stage
from tui_agent.ui.settings import UiOptions

FOLDER = Path(__file__).resolve().parent.parent.parent / "screenshots"
SIZE = (120, 40)
SMALL = (80, 24)
THEMES = ("light", "ansi", "catppuccin-mocha", "colour-blind", "gruvbox-dark", "high-contrast")
"""Themes that the first scene is drawn in beside the dark one."""
FIRST = "run"


async def draw(name: str, theme: str, size: tuple[int, int]) -> Path:
    """One scene in one theme as an SVG file."""
    async with on_stage(size=size, options=UiOptions(theme=theme)) as stage:
        await SCENES[name](stage)
        await stage.settle()
        picture = stage.app.export_screenshot(title="tui-agent")
    path = FOLDER / f"{name.replace('_', '-')}-{theme}-{size[0]}x{size[1]}.svg"
    path.write_text(re.sub(r"terminal-\d+", "terminal", picture), encoding="utf-8")
    return path


def main() -> None:
    """Draw what the command line names, or everything."""
    wanted = sys.argv[1:] or list(SCENES)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(
            HOME=home,
            TUI_AGENT_HOME=home,
            TZ="UTC",
            TERM="xterm-256color",
            COLORTERM="truecolor",
            LANG="C.UTF-8",
        )
        os.environ.pop("NO_COLOR", None)
        time.tzset()
        os.chdir(home)
        for name in wanted:
            looks = [("dark", SIZE)]
            if name == FIRST:
                looks += [("dark", SMALL), *((theme, SIZE) for theme in THEMES)]
            for theme, size in looks:
                print(asyncio.run(draw(name, theme, size)).relative_to(FOLDER.parent))


if __name__ == "__main__":
    main()
