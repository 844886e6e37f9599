"""Unsent text and what was sent before, on disk: a draft survives ``kill -9``, and ↑ finds yesterday's prompt."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HISTORY_ENTRIES = 1000
"""How many sent texts are kept."""
HISTORY_CHARACTERS = 100_000
"""Longer texts are not kept for ↑; they are in their session."""


@dataclass(slots=True)
class Draft:
    """What stands in the composer; ``pastes`` are the folded ones by number."""

    text: str = ""
    pastes: dict[str, str] = field(default_factory=dict[str, str])


class DraftFile:
    """One project's unsent text. A fault of the disk never gets in a person's way."""

    def __init__(self, folder: Path, project: Path) -> None:
        name = hashlib.sha256(str(project).encode(errors="surrogateescape")).hexdigest()[:16]
        self.path = folder / f"{name}.json"
        self._last: Draft | None = None

    def load(self) -> Draft:
        """The draft as it was last saved, empty if there is none or it cannot be read."""
        try:
            data: Any = json.loads(self.path.read_text(encoding="utf-8"))
            text, pastes = data["text"], data.get("pastes", {})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return Draft()
        if not isinstance(text, str) or not isinstance(pastes, dict):
            return Draft()
        return Draft(text, {str(key): str(value) for key, value in pastes.items()})  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

    def save(self, draft: Draft) -> None:
        """Replace the file in one step, mode 0600; an empty draft removes it."""
        if draft == self._last:
            return
        self._last = draft
        try:
            if not draft.text:
                self.path.unlink(missing_ok=True)
                return
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = self.path.with_suffix(f".{os.getpid()}.tmp")
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:
                json.dump({"text": draft.text, "pastes": draft.pastes}, file)
            fresh.replace(self.path)
        except OSError:
            return


class History:
    """Texts that were sent, oldest first; appended to one file that every session of the user shares."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.items: list[str] = []

    def load(self) -> None:
        """Read the file; lines that cannot be read are left out."""
        if self.path is None:
            return
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return
        found: list[str] = []
        for line in lines[-HISTORY_ENTRIES:]:
            try:
                text: Any = json.loads(line)
            except ValueError:
                continue
            if isinstance(text, str) and text.strip():
                found.append(text)
        self.items = found

    def add(self, text: str) -> None:
        """Remember a text, unless it is the one before it again."""
        if not text.strip() or len(text) > HISTORY_CHARACTERS or (self.items and self.items[-1] == text):
            return
        self.items.append(text)
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with open(descriptor, "a", encoding="utf-8", errors="surrogatepass") as file:
                file.write(json.dumps(text) + "\n")
        except OSError:
            return

    def search(self, needle: str) -> list[str]:
        """Texts that hold every word of ``needle``, newest first, each once."""
        parts = needle.casefold().split()
        found: dict[str, None] = {}
        for text in reversed(self.items):
            folded = text.casefold()
            if all(part in folded for part in parts):
                found.setdefault(text)
        return list(found)
