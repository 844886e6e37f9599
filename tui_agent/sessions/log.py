"""The session log: one append-only file of JSON lines, which is the state."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from tui_agent.core.errors import SessionError
from tui_agent.core.events import FORMAT_VERSION, AnyEvent, Event, Notice, SessionStart, decode, encode

E = TypeVar("E", bound=Event)

READ_AHEAD = 1 << 20
"""Bytes read at once; one call a megabyte keeps 100,000 events under a third of a second."""

_WHAT_TO_DO = {
    errno.ENOSPC: "free some space, then go on: nothing that was shown is lost",
    errno.EDQUOT: "free some of your quota, then go on: nothing that was shown is lost",
    errno.EROFS: "the file system became read-only: check the disk, then resume the session",
    errno.EIO: "check the disk, then resume the session",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), then go on",
}


class _Line(msgspec.Struct):
    """The only part of a line that recovery needs; all else is skipped unparsed."""

    seq: int = 0


_lines = msgspec.json.Decoder(_Line)


class Log:
    """A log that this process writes; the kernel drops the lock when the process ends, however it ends.

    ``torn`` says that ``torn_bytes`` of an unfinished last line were dropped at opening; ``warning`` is a line for the
    person when the file comes from a newer version.
    """

    def __init__(self, path: Path, descriptor: int, *, size: int, next_seq: int) -> None:
        """For ``create`` and ``open``; the descriptor is locked, and ``size`` bytes of the file are whole lines."""
        self.path = path
        self.next_seq = next_seq
        self.torn = False
        self.torn_bytes = 0
        self.warning = ""
        self._descriptor = descriptor
        self._size = size
        self._unsure = False
        self._unsynced = False

    @classmethod
    def create(cls, path: Path, start: SessionStart) -> Log:
        """Start a new file (mode 0600, its new folders 0700) whose first line is ``start``, and make it durable."""
        try:
            make_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise SessionError(
                f"the session file {path} exists already: resume it, or choose another id"
            ) from None
        except OSError as error:
            raise _failed("can't start the session file", path, error) from error
        log = cls(path, descriptor, size=0, next_seq=1)
        try:
            log._lock()
            log.append(start)
            log.sync()
            sync_folder(path.parent)
        except BaseException:
            log.close()
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return log

    @classmethod
    def open(cls, path: Path) -> Log:
        """Go on with an existing log: lock it, drop what a crash left of an unfinished line, find the next number.

        Raises ``SessionError`` if another process has it, or if it is no session log.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            raise SessionError(f"there is no session file {path}") from None
        except OSError as error:
            raise _failed("can't open the session file", path, error) from error
        log = cls(path, descriptor, size=0, next_seq=1)
        try:
            log._lock()
            log._recover()
        except OSError as error:
            log.close()
            raise _failed("can't recover the session file", path, error) from error
        except BaseException:
            log.close()
            raise
        return log

    def append(self, event: E) -> E:
        """Write one event and return it as written: with its number, and with the time if it had none.

        When it can't be written the file and ``next_seq`` are as before, and ``SessionError`` says what to do.
        """
        stamped = msgspec.structs.replace(event, seq=self.next_seq, ts=event.ts or time.time())
        try:
            line = encode(stamped) + b"\n"
        except UnicodeEncodeError:
            stamped = _without_surrogates(stamped)
            line = encode(stamped) + b"\n"
        try:
            if self._unsure:
                os.ftruncate(self._descriptor, self._size)
            self._unsure = True
            written = os.write(self._descriptor, line)
            while written < len(line):  # a full disk takes what fits; asking again yields the reason
                written += os.write(self._descriptor, line[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
                self._unsure = False
            raise _failed("can't write to the session file", self.path, error) from error
        self._size += len(line)
        self.next_seq += 1
        self._unsure = False
        self._unsynced = True
        return stamped

    def sync(self) -> None:
        """Make all that was appended survive a power cut; free when nothing was appended since the last time."""
        if not self._unsynced:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise _failed("can't be sure that the session is on the disk", self.path, error) from error
        self._unsynced = False

    def close(self) -> None:
        """Give the lock back; what was appended stays. May be called twice."""
        if self._descriptor < 0:
            return
        if _holder(self.path) == os.getpid():
            with contextlib.suppress(OSError):
                _holder_file(self.path).unlink()
        os.close(self._descriptor)
        self._descriptor = -1

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lock(self) -> None:
        """Take the file for this process alone; a file system without locks (some network ones) is taken as it is."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _holder(self.path)
            os.close(self._descriptor)
            self._descriptor = -1
            raise SessionError(
                f"session {self.path.stem} is open in another process{f' ({pid})' if pid else ''}: "
                "close it there, or fork the session"
            ) from None
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
        if os.fstat(self._descriptor).st_nlink == 0:
            raise SessionError(f"session {self.path.stem} was removed")
        with contextlib.suppress(OSError):
            _holder_file(self.path).write_text(f"{os.getpid()}\n", "ascii")

    def _recover(self) -> None:
        """Set ``next_seq`` from the numbers in the file, and cut off an unfinished last line."""
        highest, line, first = 0, b"", True
        with os.fdopen(os.dup(self._descriptor), "rb", READ_AHEAD) as file:
            for line in file:
                if first:
                    self._check_start(line)
                    first = False
                with contextlib.suppress(msgspec.MsgspecError, RecursionError):
                    highest = max(highest, _lines.decode(line).seq)
                self._size += len(line)
        if first:
            raise SessionError(f"{self.path} is empty: nothing to resume")
        self.next_seq = highest + 1
        if line.endswith(b"\n"):
            return
        if _whole(line):  # only its newline is missing, so all of the event is here
            os.write(self._descriptor, b"\n")
            self._size += 1
        else:
            self._size -= len(line)
            self.torn, self.torn_bytes = True, len(line)
            os.ftruncate(self._descriptor, self._size)
        os.fsync(self._descriptor)

    def _check_start(self, line: bytes) -> None:
        """The first line must say what the file is; a newer version is opened with a warning, as it may know more."""
        try:
            data = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            data = {}
        version = data.get("version")
        if data.get("type") != "session_start" or not isinstance(version, int):
            raise SessionError(f"{self.path} is not a session log: its first line is no session_start")
        if version > FORMAT_VERSION:
            self.warning = (
                f"session {self.path.stem} has format {version}, this program knows {FORMAT_VERSION}: "
                "what it does not know is kept but not shown"
            )


def read(path: Path, after: int = 0) -> Iterator[AnyEvent]:
    """The events of a log in the file's order, those numbered up to ``after`` left out; works beside a writer.

    A last line that is unfinished or garbled is left out; a garbled one in the middle becomes a ``Notice`` with the number of the event before it.
    """
    if not path.is_file():
        raise SessionError(f"there is no session file {path}")
    return _read(path, after)


def _read(path: Path, after: int) -> Iterator[AnyEvent]:
    seq, ts = 0, 0.0
    garbled: list[Notice] = []
    try:
        with path.open("rb", READ_AHEAD) as file:
            for number, line in enumerate(file, 1):
                try:
                    event = decode(line)
                except (ValueError, RecursionError):
                    if not line.isspace():
                        garbled.append(_garbled(number, line, seq, ts))
                    continue
                if garbled:
                    yield from garbled
                    garbled.clear()
                seq, ts = event.seq, event.ts
                if seq > after or not after:
                    yield event
    except OSError as error:
        raise _failed("can't read the session file", path, error) from error


def is_open(path: Path) -> bool:
    """True while a process has the log open for writing.

    The lock is tried only when somebody has left its process id, so that looking never gets in the way of opening.
    """
    if not _holder(path):
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, each readable by its owner only."""
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a power cut, where the file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _garbled(number: int, line: bytes, seq: int, ts: float) -> Notice:
    detail = line[:200].decode("utf-8", "replace")
    return Notice(
        seq=seq,
        ts=ts,
        level="warning",
        text=f"line {number} of the session log can't be read ({len(line)} bytes)",
        hint="tui-agent sessions verify checks the rest",
        detail=detail,
    )


def _whole(line: bytes) -> bool:
    try:
        decode(line)
    except (ValueError, RecursionError):
        return False
    return True


def _holder_file(path: Path) -> Path:
    """Where the writer of a log leaves its process id; only a hint for messages, the lock is what counts."""
    return path.with_suffix(".lock")


def _holder(path: Path) -> int:
    """Process id of the writer as it was left; 0 if there is none."""
    try:
        return int(_holder_file(path).read_text("ascii"))
    except (OSError, ValueError):
        return 0


def _without_surrogates(event: E) -> E:
    """The event with lone surrogates replaced: they come from bytes that are no text, and JSON can't hold them."""
    return msgspec.convert(_clean(msgspec.to_builtins(event)), type(event))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_clean(item) for item in cast("list[Any]", value)]
    return value


def _failed(what: str, path: Path, error: OSError) -> SessionError:
    reason = error.strerror or str(error)
    todo = _WHAT_TO_DO.get(error.errno or 0, "")
    return SessionError(f"{what} {path}: {reason}{': ' + todo if todo else ''}")
