"""All sessions of a person: where they are, which there are, and what can be done with one that nobody writes."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rapidfuzz import process

from tui_agent.core.errors import SessionError
from tui_agent.core.events import FORMAT_VERSION, SessionRenamed, SessionStart, decode, encode
from tui_agent.sessions.check import check
from tui_agent.sessions.index import Entry, Hit, Index
from tui_agent.sessions.log import READ_AHEAD, Log, is_open, make_folder
from tui_agent.sessions.summary import SessionSummary

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Letters and digits that nobody confuses when typing them."""
SUFFIX = ".jsonl"
DAY = 86_400.0


class SearchHit(msgspec.Struct, frozen=True):
    """A text found in a session: its event's ``seq``, who said it, and a snippet with the words between \\x02 and \\x03."""

    session: SessionSummary
    seq: int
    who: str
    snippet: str


class Store:
    """The folder ``sessions/<project>/<id>.jsonl``, with an index beside the projects."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._index = Index(root / "index.sqlite3")

    # ---- names and places

    def new_id(self) -> str:
        """An id that sorts by time (UTC) and that a person can type, such as ``20261130-140211-k3f9``."""
        now = datetime.datetime.now(datetime.UTC)
        return f"{now:%Y%m%d-%H%M%S}-{''.join(secrets.choice(ALPHABET) for _ in range(4))}"

    def project_folder(self, project: Path) -> Path:
        """The folder of a project's sessions: its readable name, and a hash that tells same-named ones apart."""
        resolved = str(project.resolve())
        name = re.sub(r"[^a-z0-9]+", "-", project.resolve().name.lower()).strip("-")[:40].strip("-") or "root"
        return (
            self.root
            / f"{name}-{hashlib.sha256(resolved.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
        )

    def path(self, project: Path, id: str) -> Path:
        """Where the log of a session is or will be."""
        return self.project_folder(project) / f"{id}{SUFFIX}"

    def folder(self, project: Path, id: str) -> Path:
        """The session's own folder, for whole outputs; made by whoever writes first."""
        return self.path(project, id).with_suffix("")

    # ---- finding

    def list(self, project: Path | None = None) -> list[SessionSummary]:
        """Every session (of one project), the one that changed last first."""
        rows = [_row(entry) for entry in self._entries(project)]
        return sorted(rows, key=lambda row: (row.updated, row.id), reverse=True)

    def last(self, project: Path) -> SessionSummary | None:
        """The session of a project that a person would go on with; not one of a sub-agent, nor a replay."""
        return next((row for row in self.list(project) if row.kind not in ("sub_agent", "replay")), None)

    def summary(self, path: Path) -> SessionSummary:
        """The row of one session."""
        entries = self._index.entries([path], [])
        if not entries:
            raise SessionError(f"there is no session file {path}")
        return _row(entries[0])

    def find(self, wanted: str, project: Path | None = None) -> Path:
        """The log that a path, an id, or the beginning or end of an id means; those of ``project`` are asked first.

        ``SessionError`` names what fits if several do, and the nearest if none does.
        """
        wanted = wanted.strip()
        if wanted.endswith(SUFFIX) or os.sep in wanted:
            path = Path(wanted).expanduser().absolute()
            if path.is_file():
                return path
            raise SessionError(f"there is no session file {path}")
        everywhere = list(self._logs(None))
        for logs in (list(self._logs(project)) if project else [], everywhere):
            fitting = [path for path in logs if path.stem == wanted] or [
                path
                for path in logs
                if wanted and (path.stem.startswith(wanted) or path.stem.endswith(f"-{wanted}"))
            ]
            if len(fitting) == 1:
                return fitting[0]
            if fitting:
                names = ", ".join(sorted((path.stem for path in fitting), reverse=True)[:5])
                more = f" and {len(fitting) - 5} more" if len(fitting) > 5 else ""
                raise SessionError(f'"{wanted}" is the beginning of {len(fitting)} sessions: {names}{more}')
        if not everywhere:
            raise SessionError(f'there is no session "{wanted}": none was saved yet')
        ids = sorted({path.stem for path in everywhere}, reverse=True)
        near = [found[0] for found in process.extract(wanted, ids, limit=3)]
        raise SessionError(f'there is no session "{wanted}"; nearest: {", ".join(near)}')

    def search(self, text: str, project: Path | None = None, limit: int = 50) -> list[SearchHit]:
        """Where in what people and models said all these words are, best first."""
        rows = {entry.path: _row(entry) for entry in self._entries(project)}
        folders = self._folders(project)
        hits = self._index.search(text, folders, limit) if folders else []
        return [_hit(rows[hit.path], hit) for hit in hits if hit.path in rows]

    # ---- changing

    def fork(self, path: Path, at_seq: int) -> Path:
        """A new session that has the events of this one up to ``at_seq`` (0: all); any point will do, as a resume answers open calls."""
        lines, start, last = _lines_up_to(path, at_seq)
        at_seq = at_seq or last
        if not 1 <= at_seq <= last:
            raise SessionError(f"session {path.stem} has events 1 to {last}: it can't be forked at {at_seq}")
        kind = "interactive" if start.kind in ("sub_agent", "replay") else start.kind
        new = (
            path.with_name(f"{self.new_id()}{SUFFIX}")
            if self._inside(path)
            else self.path(Path(start.cwd), self.new_id())
        )
        opening = msgspec.structs.replace(
            start,
            id=new.stem,
            seq=1,
            ts=time.time(),
            version=FORMAT_VERSION,
            kind=kind,
            parent=start.id,
            parent_seq=at_seq,
        )
        make_folder(new.parent)
        partial = new.with_suffix(".partial")
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb", READ_AHEAD) as file:
                file.write(encode(opening) + b"\n")
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            partial.rename(new)
        except OSError as error:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise SessionError(f"can't write the fork {new}: {error.strerror or error}") from error
        return new

    def rename(self, path: Path, title: str) -> None:
        """Give a session that nobody writes a title."""
        with Log.open(path) as log:
            log.append(SessionRenamed(title=" ".join(title.split())))
            log.sync()

    def verify(self, path: Path) -> list[str]:
        """What is wrong with a log, a line each; empty if nothing is."""
        return check(path, live=is_open(path))

    def remove(self, path: Path) -> None:
        """Delete a session and its folder; refused while a process writes it, and for a file that is not in this store."""
        if not self._inside(path):
            raise SessionError(f"{path} is not in {self.root}: delete it by hand")
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size:
                _check_free(path)
        folder = path.with_suffix("")
        try:
            path.unlink(missing_ok=True)
            path.with_suffix(".lock").unlink(missing_ok=True)
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
        except OSError as error:
            raise SessionError(f"can't delete session {path.stem}: {error.strerror or error}") from error
        with contextlib.suppress(OSError):
            path.parent.rmdir()
        self._index.forget(path)

    def expire(self, keep_days: int, now: float | None = None) -> list[str]:
        """Delete sessions that nothing was added to for so many days (0: none); returns their ids."""
        if keep_days <= 0:
            return []
        oldest = (time.time() if now is None else now) - keep_days * DAY
        removed: list[str] = []
        for path in list(self._logs(None)):
            with contextlib.suppress(OSError, SessionError):
                if path.stat().st_mtime < oldest and not is_open(path):
                    self.remove(path)
                    removed.append(path.stem)
        return removed

    # ---- inside

    def _folders(self, project: Path | None) -> list[Path]:
        if project is not None:
            folder = self.project_folder(project)
            return [folder] if folder.is_dir() else []
        try:
            return [
                Path(entry.path) for entry in os.scandir(self.root) if entry.is_dir(follow_symlinks=False)
            ]
        except OSError:
            return []

    def _logs(self, project: Path | None) -> Iterator[Path]:
        for folder in self._folders(project):
            with contextlib.suppress(OSError), os.scandir(folder) as names:
                yield from (
                    Path(name.path) for name in names if name.name.endswith(SUFFIX) and name.is_file()
                )

    def _entries(self, project: Path | None) -> list[Entry]:
        logs, folders = list(self._logs(project)), self._folders(project)
        return self._index.entries(logs, folders) if folders else []

    def _inside(self, path: Path) -> bool:
        return path.suffix == SUFFIX and path.absolute().parent.parent == self.root.absolute()


def _row(entry: Entry) -> SessionSummary:
    return entry.fold.summary(entry.path, entry.size, live=entry.fold.in_run and is_open(entry.path))


def _hit(row: SessionSummary, hit: Hit) -> SearchHit:
    return SearchHit(row, hit.seq, hit.who, hit.snippet)


def _check_free(path: Path) -> None:
    """Raise ``SessionError`` if a process has the log open for writing."""
    try:
        Log.open(path).close()
    except SessionError:
        if is_open(path):
            raise


def _lines_up_to(path: Path, at_seq: int) -> tuple[list[bytes], SessionStart, int]:
    """The lines after the first with numbers up to ``at_seq`` (0: all), as they are; the start; and the highest number there is."""
    lines: list[bytes] = []
    start: SessionStart | None = None
    last = 0
    try:
        with path.open("rb", READ_AHEAD) as file:
            for line in file:
                try:
                    event = decode(line)
                except (ValueError, RecursionError):
                    continue
                last = max(last, event.seq)
                if isinstance(event, SessionStart):
                    start = start or event
                elif (event.seq <= at_seq or not at_seq) and line.endswith(b"\n"):
                    lines.append(line)
    except OSError as error:
        raise SessionError(f"can't read the session file {path}: {error.strerror or error}") from error
    if start is None:
        raise SessionError(f"{path} is not a session log: it has no session_start")
    return lines, start, last
