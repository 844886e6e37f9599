"""What a person set: theme, keys, config; read once, and again when a file changes. A broken edit keeps what was there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_agent.config import assets
from tui_agent.config.load import Loaded, load
from tui_agent.core.errors import ConfigError
from tui_agent.ui import keys, themes
from tui_agent.ui.keys import Keymap
from tui_agent.ui.themes import Theme

FALLBACK_THEME = "dark"


@dataclass(slots=True, frozen=True)
class UiOptions:
    """Flags that concern the screen only. ``background`` is the terminal's answer to OSC 11, if it was asked."""

    prompt: str = ""
    theme: str = ""
    keybindings: Path | None = None
    config_file: Path | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pick_session: bool = False
    replay: Path | None = None
    speed: float = 1.0
    from_seq: int = 0
    background: str | None = None


class Settings:
    """The theme, the keymap and the configuration that hold now; ``errors`` is what is wrong with their files."""

    def __init__(self, cwd: Path, options: UiOptions, loaded: Loaded | None = None) -> None:
        self.cwd = cwd
        self.options = options
        self.errors: list[str] = []
        self._background = options.background
        self.loaded = loaded or load(cwd, config_file=options.config_file, overrides=options.overrides)
        self.theme = self._first_theme()
        self._keymap: Keymap | None = None
        self._stamps = self._look()

    # ---- themes

    @property
    def theme_folders(self) -> Sequence[Path]:
        """Where themes are beside the shipped ones."""
        folders = [self.loaded.paths.themes_dir]
        if self.loaded.project is not None and not self.loaded.untrusted_project:
            folders.append(self.loaded.project / "themes")
        return folders

    def theme_names(self) -> list[str]:
        """Every theme that can be chosen."""
        return sorted(themes.names(self.theme_folders))

    def load_theme(self, name: str) -> Theme | None:
        """A theme by name; None, and an error noted, if it can't be read."""
        theme, errors = themes.load(themes.suited(name, os.environ, self._background), self.theme_folders)
        self.errors += [str(error) for error in errors]
        if theme is not None:
            self.theme = theme
        return theme

    def read_theme(self, name: str) -> Theme | None:
        """A theme as it is, without taking it; None if it can't be read."""
        return themes.load(name, self.theme_folders)[0]

    def suit(self, background: str) -> bool:
        """Take the theme that suits the terminal's background; True if it is another one."""
        self._background = background
        before = self.theme.name
        theme = self.load_theme(self.options.theme or self.loaded.config.ui.theme)
        return theme is not None and theme.name != before

    def _first_theme(self) -> Theme:
        theme = self.load_theme(self.options.theme or self.loaded.config.ui.theme)
        theme = theme or self.load_theme(FALLBACK_THEME)
        if theme is None:
            raise ConfigError(
                "the theme that comes with the program can't be read", file=str(assets.themes_dir())
            )
        return theme

    # ---- keys

    @property
    def keybindings_file(self) -> Path:
        """The person's own keys."""
        return self.options.keybindings or self.loaded.paths.keybindings_file

    @property
    def keymap(self) -> Keymap:
        """The keys that hold now; read when the first key or hint asks, which is after the first paint."""
        if self._keymap is None:
            self._keymap, errors = keys.load(self.keybindings_file)
            self.errors += [str(error) for error in errors]
        return self._keymap

    # ---- changes

    def changed(self) -> set[str]:
        """Which of ``theme``, ``keys`` and ``config`` have other files now; looks at their times only."""
        old, self._stamps = self._stamps, self._look()
        return {name for name, stamps in self._stamps.items() if stamps != old[name]}

    def reload(self, what: set[str]) -> list[str]:
        """Read again what changed; returns what is wrong, in which case the old state holds."""
        self.errors = []
        if "keys" in what:
            keymap, errors = keys.load(self.keybindings_file)
            self.errors += [str(error) for error in errors]
            if not errors:
                self._keymap = keymap
        if "config" in what:
            try:
                self.loaded = load(
                    self.cwd, config_file=self.options.config_file, overrides=self.options.overrides
                )
            except ConfigError as error:
                self.errors.append(str(error))
        if "theme" in what:
            self.load_theme(self.theme.name)
        return self.errors

    def _look(self) -> dict[str, tuple[tuple[str, int], ...]]:
        themes_seen = [
            path for folder in (assets.themes_dir(), *self.theme_folders) for path in _files(folder)
        ]
        return {
            "theme": _stamps(themes_seen),
            "keys": _stamps([assets.keybindings_file(), self.keybindings_file]),
            "config": _stamps(self.loaded.files),
        }


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.yaml"))
    except OSError:
        return []


def _stamps(files: Sequence[Path]) -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    for path in files:
        try:
            found.append((str(path), path.stat().st_mtime_ns))
        except OSError:
            found.append((str(path), 0))
    return tuple(found)
