"""Where files live: platformdirs' folders, or all under ``TUI_AGENT_HOME``; and which folder is the project's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

APP = "tui-agent"
PROJECT_DIR = ".tui-agent"
CONFIG_NAME = "config.yaml"
KEYBINDINGS_NAME = "keybindings.yaml"


@dataclass(frozen=True, slots=True)
class Paths:
    """Folders of this user; none is made by asking for it."""

    config_dir: Path
    data_dir: Path
    state_dir: Path

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Paths:
        """``TUI_AGENT_HOME`` puts all three into one folder; otherwise they are where the platform keeps such files."""
        environ = os.environ if environ is None else environ
        home = environ.get("TUI_AGENT_HOME", "").strip()
        if home:
            folder = Path(os.path.abspath(Path(home).expanduser()))  # noqa: PTH100  # links stay as they were written
            return cls(folder, folder, folder)
        found = platformdirs.PlatformDirs(APP, appauthor=False)
        return cls(
            _xdg(environ, "XDG_CONFIG_HOME") or Path(found.user_config_dir),
            _xdg(environ, "XDG_DATA_HOME") or Path(found.user_data_dir),
            _xdg(environ, "XDG_STATE_HOME") or Path(found.user_state_dir),
        )

    @property
    def config_file(self) -> Path:
        """The user's settings."""
        return self.config_dir / CONFIG_NAME

    @property
    def keybindings_file(self) -> Path:
        """The user's own keys."""
        return self.config_dir / KEYBINDINGS_NAME

    @property
    def themes_dir(self) -> Path:
        """The user's own themes, one YAML file each."""
        return self.config_dir / "themes"

    @property
    def commands_dir(self) -> Path:
        """The user's own slash commands, one Markdown file each."""
        return self.config_dir / "commands"

    @property
    def skills_dir(self) -> Path:
        """The user's own skills, ``NAME/SKILL.md``."""
        return self.config_dir / "skills"

    @property
    def instructions_file(self) -> Path:
        """The user's own AGENTS.md, which goes before every project's."""
        return self.config_dir / "AGENTS.md"

    @property
    def sessions_dir(self) -> Path:
        """``<project>/<id>.jsonl`` below it."""
        return self.data_dir / "sessions"

    @property
    def checkpoints_dir(self) -> Path:
        """Git folders of the snapshots, one a project; never inside the project."""
        return self.data_dir / "checkpoints"

    @property
    def memory_file(self) -> Path:
        """SQLite: facts and the index of past sessions."""
        return self.data_dir / "memory.sqlite3"

    @property
    def log_file(self) -> Path:
        """The program's own log, JSON lines, rotated."""
        return self.state_dir / "log.jsonl"

    @property
    def drafts_dir(self) -> Path:
        """Unsent text of the composer, one file a project."""
        return self.state_dir / "drafts"

    @property
    def history_file(self) -> Path:
        """What was sent before, for ↑ and ctrl+r."""
        return self.state_dir / "history.jsonl"

    @property
    def trust_file(self) -> Path:
        """Which project folders are trusted, mode 0600."""
        return self.state_dir / "trust.json"

    @property
    def rates_file(self) -> Path:
        """Rate limits that providers reported, shared by every running instance."""
        return self.state_dir / "rates.json"


def project_root(cwd: Path) -> Path:
    """The nearest folder upwards that holds ``.git``, else ``cwd`` itself; the user's home never counts."""
    cwd = Path(os.path.abspath(cwd))  # noqa: PTH100
    home = Path.home()
    for folder in (cwd, *cwd.parents):
        if folder == home and folder != cwd:
            break
        if (folder / ".git").exists():
            return folder
    return cwd


def project_folder(cwd: Path, paths: Paths | None = None) -> Path | None:
    """The nearest ``.tui-agent`` from ``cwd`` up to the project's root, or None; never the user's own config folder."""
    cwd = Path(os.path.abspath(cwd))  # noqa: PTH100
    root = project_root(cwd)
    for folder in (cwd, *cwd.parents):
        found = folder / PROJECT_DIR
        if found.is_dir() and (paths is None or found != paths.config_dir):
            return found
        if folder == root:
            break
    return None


def _xdg(environ: Mapping[str, str], name: str) -> Path | None:
    """The folder under an XDG base folder that the caller's environment names; relative ones are ignored (the standard)."""
    base = environ.get(name, "").strip()
    return Path(base) / APP if base and Path(base).is_absolute() else None
