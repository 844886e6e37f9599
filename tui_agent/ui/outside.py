"""What reaches past the screen: the clipboard, the person's editor."""

from __future__ import annotations

import base64
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

COPY_LIMIT = 1_000_000
"""Characters that are copied at most; terminals drop longer OSC 52 sequences."""


PNG = b"\x89PNG"
IMAGE_COMMANDS = (
    ["wl-paste", "--no-newline", "--type", "image/png"],
    ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    ["pngpaste", "-"],
)
"""Programs that give the image on the clipboard: Wayland, X11, macOS."""


class Outside:
    """Each method says on the screen what went wrong, and changes nothing then."""

    def __init__(self, app: TuiAgentApp) -> None:
        self.app = app

    def copy(self, text: str) -> None:
        """To the clipboard, by OSC 52."""
        self.app.copy_to_clipboard(text[:COPY_LIMIT])
        if len(text) > COPY_LIMIT:
            self.app.main.say(f"copied the first {COPY_LIMIT:,} characters")

    def clipboard_image(self) -> tuple[str, str] | None:
        """The image on the clipboard as (media type, base64); None if there is none, or no program to ask."""
        for command in IMAGE_COMMANDS:
            try:
                done = subprocess.run(
                    command, capture_output=True, timeout=3, stdin=subprocess.DEVNULL, check=False
                )
            except (OSError, subprocess.TimeoutExpired):
                continue
            if done.returncode == 0 and done.stdout.startswith(PNG):
                return "image/png", base64.b64encode(done.stdout).decode()
        return None

    def edit_text(self, text: str) -> str | None:
        """Let the person edit a text in $VISUAL or $EDITOR; None if it was left or failed."""
        with tempfile.TemporaryDirectory(prefix="tui-agent-") as folder:
            file = Path(folder) / "prompt.md"
            file.write_text(text, encoding="utf-8", errors="surrogatepass")
            if not self._run(file):
                return None
            changed = file.read_text(encoding="utf-8", errors="replace")
        return changed[:-1] if changed.endswith("\n") and not text.endswith("\n") else changed

    def edit_file(self, path: str) -> None:
        """Open a file of the workspace in the editor."""
        file = self.app.cwd / path
        if file.is_file():
            self._run(file)
        else:
            self.app.main.say(f"{path} is not there")

    def _run(self, file: Path) -> bool:
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        try:
            with self.app.suspend():
                done = subprocess.run(
                    [*shlex.split(editor), str(file)], cwd=self.app.cwd, check=False,
                    stdout=sys.__stdout__, stderr=sys.__stderr__,
                )  # fmt: skip  # descriptors 1 and 2 lead to the log while the screen is up
        except SuspendNotSupported:
            self.app.main.say("this terminal cannot show an editor from here")
            return False
        except (OSError, ValueError) as error:
            self.app.main.say(f"{editor} could not be started: {error} · set VISUAL or EDITOR")
            return False
        if done.returncode:
            self.app.main.say(f"{editor} ended with code {done.returncode}; the text is as it was")
        return done.returncode == 0
