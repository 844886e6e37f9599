"""The index of sessions: one SQLite file that can be thrown away, as all of it comes from the logs."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from tui_agent.sessions.log import make_folder
from tui_agent.sessions.summary import Fold, Found

T = TypeVar("T")

VERSION = 1
"""Of the tables below and of what ``Fold`` gathers; another one in the file means that it is made anew."""
BUSY = 5.0
"""Seconds to wait for another process that writes the index."""

_SESSIONS = "CREATE TABLE sessions (path TEXT PRIMARY KEY, inode INTEGER, size INTEGER, mtime INTEGER, fold BLOB) WITHOUT ROWID"
_TEXTS = (
    "CREATE VIRTUAL TABLE texts USING fts5(path UNINDEXED, seq UNINDEXED, who UNINDEXED, text, "
    "tokenize = 'unicode61 remove_diacritics 2')"
)
_decoder = msgspec.json.Decoder(Fold)


class Hit(msgspec.Struct, frozen=True):
    """A place in a session that was found; ``snippet`` is its text with the words found between \\x02 and \\x03."""

    path: Path
    seq: int
    who: str
    snippet: str


class Entry(msgspec.Struct, frozen=True):
    """One log as the index knows it."""

    path: Path
    size: int
    fold: Fold


class Index:
    """Reads logs as far as it has not read them yet. Every call opens the file anew, so any thread or process may call."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def entries(self, logs: Iterable[Path], folders: Iterable[Path]) -> list[Entry]:
        """The entries of these logs, brought up to date; what the index knows in ``folders`` beyond them is forgotten."""
        logs, folders = list(logs), list(folders)
        return self._with(lambda database: _refresh(database, logs, folders))

    def search(self, text: str, folders: Iterable[Path], limit: int) -> list[Hit]:
        """Where all the words are (the last one may be a beginning), best first; where no word fits, the text as it stands."""
        prefixes = [f"{folder}{os.sep}" for folder in folders]
        return self._with(lambda database: _search(database, text, prefixes, limit))

    def forget(self, path: Path) -> None:
        """Drop one log."""
        self._with(lambda database: _forget(database, [str(path)]))

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the file; a damaged one is made anew, and without a usable one the work is done in memory."""
        for _ in range(2):
            try:
                with self._open(str(self._file)) as database:
                    return work(database)
            except (sqlite3.DatabaseError, msgspec.MsgspecError) as error:
                if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                    break  # locked for too long, read-only, full disk: nothing is wrong with the file
                for suffix in ("", "-wal", "-shm"):
                    with contextlib.suppress(OSError):
                        self._file.with_name(self._file.name + suffix).unlink()
            except OSError:
                break
        with self._open(":memory:") as database:
            return work(database)

    @contextmanager
    def _open(self, file: str) -> Generator[sqlite3.Connection]:
        if file != ":memory:":
            make_folder(self._file.parent)
            os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        database = sqlite3.connect(file, timeout=BUSY, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("BEGIN IMMEDIATE")
            _prepare(database)
            yield database
            database.execute("COMMIT")
        finally:
            database.close()


def _prepare(database: sqlite3.Connection) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version == VERSION:
        return
    for (name,) in database.execute(
        "SELECT name FROM sqlite_master WHERE name IN ('sessions', 'texts')"
    ).fetchall():
        database.execute(f"DROP TABLE {name}")
    database.execute(_SESSIONS)
    try:
        database.execute(_TEXTS)
    except sqlite3.OperationalError:  # a Python whose SQLite has no full-text search
        database.execute("CREATE TABLE texts (path TEXT, seq INTEGER, who TEXT, text TEXT)")
    database.execute(f"PRAGMA user_version = {VERSION}")


def _refresh(database: sqlite3.Connection, logs: list[Path], folders: list[Path]) -> list[Entry]:
    known: dict[str, tuple[int, int, int, bytes]] = {}
    for folder in folders:
        low, high = f"{folder}{os.sep}", f"{folder}{chr(ord(os.sep) + 1)}"
        rows = database.execute(
            "SELECT path, inode, size, mtime, fold FROM sessions WHERE path >= ? AND path < ?", (low, high)
        )
        known.update((path, (inode, size, mtime, fold)) for path, inode, size, mtime, fold in rows)
    entries: list[Entry] = []
    for path in logs:
        try:
            entries.append(_entry(database, path, known.pop(str(path), None)))
        except OSError:  # removed or unreadable since it was listed
            continue
    _forget(database, known)
    return entries


def _entry(database: sqlite3.Connection, path: Path, row: tuple[int, int, int, bytes] | None) -> Entry:
    stat = path.stat()
    if row and row[:3] == (stat.st_ino, stat.st_size, stat.st_mtime_ns):
        return Entry(path, stat.st_size, _decoder.decode(row[3]))
    if row and row[0] == stat.st_ino and stat.st_size > row[1]:
        fold = _decoder.decode(row[3])
    else:
        fold = Fold()
        if row:
            _forget(database, [str(path)])
    found = fold.go_on(path)
    _keep(database, path, found)
    database.execute(
        "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)",
        (str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns, msgspec.json.encode(fold)),
    )
    return Entry(path, stat.st_size, fold)


def _keep(database: sqlite3.Connection, path: Path, found: list[Found]) -> None:
    database.executemany(
        "INSERT INTO texts VALUES (?, ?, ?, ?)",
        [(str(path), item.seq, item.who, item.text) for item in found],
    )


def _forget(database: sqlite3.Connection, paths: Iterable[str]) -> None:
    rows = [(path,) for path in paths]
    if rows:
        database.executemany("DELETE FROM sessions WHERE path = ?", rows)
        database.executemany("DELETE FROM texts WHERE path = ?", rows)


def _search(database: sqlite3.Connection, text: str, prefixes: list[str], limit: int) -> list[Hit]:
    words = text.split()
    if not words:
        return []
    query = " ".join('"' + word.replace('"', '""') + '"' for word in words) + "*"
    places = " OR ".join("substr(path, 1, ?) = ?" for _ in prefixes) or "0"
    values = [value for prefix in prefixes for value in (len(prefix), prefix)]
    try:
        rows = database.execute(
            "SELECT path, seq, who, snippet(texts, 3, char(2), char(3), '…', 16) FROM texts "
            f"WHERE texts MATCH ? AND ({places}) ORDER BY rank, rowid DESC LIMIT ?",
            ("text : " + query, *values, limit),
        ).fetchall()
    except sqlite3.OperationalError:  # no full-text search
        rows = []
    if not rows:
        rows = [
            (path, seq, who, _cut_out(whole, text))
            for path, seq, who, whole in database.execute(
                f"SELECT path, seq, who, text FROM texts WHERE instr(lower(text), lower(?)) > 0 AND ({places}) ORDER BY rowid DESC LIMIT ?",
                (text, *values, limit),
            )
        ]
    return [Hit(Path(path), seq, who, snippet) for path, seq, who, snippet in rows]


def _cut_out(whole: str, text: str) -> str:
    at = max(whole.lower().find(text.lower()), 0)
    end = at + len(text)
    before, after = whole[max(at - 40, 0) : at], whole[end : end + 60]
    return f"{'…' if at > 40 else ''}{before}\x02{whole[at:end]}\x03{after}{'…' if end + 60 < len(whole) else ''}"
