"""The sessions on disk: find, open, fork, replay, export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.core.commands import Rename
from tui_agent.core.errors import AgentError
from tui_agent.readers.export import Format, export
from tui_agent.sessions import log
from tui_agent.sessions.store import Store
from tui_agent.sessions.summary import SessionSummary

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp
    from tui_agent.ui.screens.picker import Choice


FORMATS: dict[str, Format] = {".md": "md", ".html": "html", ".jsonl": "jsonl"}


class Library:
    """What a person does with whole sessions; what goes wrong is said on the screen."""

    def __init__(self, app: TuiAgentApp) -> None:
        self.app = app
        self.store = Store(app.settings.loaded.paths.sessions_dir)

    @property
    def here(self) -> Path | None:
        """The log of the session on the screen."""
        path = self.app.session_path or self.app.launch.resume
        return Path(path) if path else None

    def chosen(self, choice: Choice[SessionSummary] | None) -> None:
        """What the list of sessions answered."""
        self.app.main.overlay_gone()
        if choice is None:
            return
        match choice.action:
            case "sessions.replay":
                self.replay(choice.value.path)
            case "sessions.fork":
                self.fork_of(choice.value.path, 0)
            case _:
                self.app.open_session(choice.value.path)

    def open_named(self, name: str) -> str:
        """Open a session by id, the beginning of one, or a path; why not, if it can't be found."""
        try:
            path = self.store.find(name, self.app.cwd)
        except AgentError as error:
            return str(error)
        self.app.open_session(path)
        return ""

    def fork(self, at_seq: int) -> bool:
        """Go on in a copy of this session up to an event."""
        if self.here is None:
            self.app.main.say("there is no session yet to copy")
            return True
        return self.fork_of(self.here, at_seq)

    def fork_of(self, path: Path, at_seq: int) -> bool:
        """Go on in a copy of a session up to an event (0: all of it)."""
        try:
            copy = self.store.fork(path, at_seq or max(event.seq for event in log.read(path)))
        except AgentError as error:
            self.app.main.say(str(error))
            return True
        self.app.open_session(copy, f"this is a copy; the original stays as it is: {path.stem}")
        return True

    def rename(self, path: Path, title: str) -> None:
        """Give a session a title; the one on the screen is written by its engine, which is asked."""
        if path == self.here:
            self.app.main.send(Rename(title=title))
        else:
            self.store.rename(path, title)

    def replay_this(self) -> str:
        """Watch this session from its start; why not, if there is nothing to watch."""
        if self.here is None or not self.here.exists():
            return "there is nothing to watch yet"
        self.replay(self.here)
        return ""

    def replay(self, path: Path) -> None:
        """Watch a session."""
        self.app.open_replay(path)

    def export(self, words: str) -> str:
        """Write this session to a file; says where, or why not."""
        return (
            self.export_of(self.here, words)
            if self.here and self.here.exists()
            else "there is nothing to write yet"
        )

    def export_of(self, path: Path, words: str) -> str:
        """Write a session to a file named by the person, or beside where the agent works; the ending says the format."""
        target = Path(words).expanduser() if words else Path(f"{path.stem}.md")
        format = FORMATS.get(target.suffix.lower())
        if format is None:
            return f"{target.name}: the ending says the format, one of {' '.join(FORMATS)}"
        target = self.app.cwd / target
        try:
            text = export(log.read(path), format)
            with target.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            return f"{target} is there already: /export OTHER-NAME"
        except (OSError, AgentError) as error:
            why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            return f"{target} could not be written: {why}"
        return f"written to {target}"
