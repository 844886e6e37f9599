"""Where log records go: everything into a JSON file, the human trace to one stream, the rest to a console.

None of the three ever raises or prints when it can't write: the terminal may belong to the full-screen interface.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

from tui_agent.readers.trace import HUMAN
from tui_agent.readers.trace_page import clean

Redact = Callable[[str], str]

MOST_BYTES, BACKUPS = 5_000_000, 3
"""Size at which the file is rotated, and how many old ones stay."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object a record: time (Unix, seconds), level, logger, process, text, whatever ``extra`` gave, traceback.

    Every string passes ``redact`` first, so that no credential gets into the file.
    """

    def __init__(self, redact: Redact = str) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The line without its end; control characters are escaped."""
        entry: dict[str, object] = {
            "ts": round(record.created, 3),
            "level": record.levelname,
            "logger": record.name,
            "pid": record.process,
            "text": self._redact(record.getMessage()),
        }
        for name, value in vars(record).items():
            if name not in _STANDARD:
                plain = value is None or isinstance(value, bool | int | float)
                entry[name] = value if plain else self._redact(str(value))
        if record.exc_info:
            entry["traceback"] = self._redact(self.formatException(record.exc_info))
        if record.stack_info:
            entry["stack"] = self._redact(record.stack_info)
        return json.dumps(entry, separators=(",", ":"))


class JsonFile(RotatingFileHandler):
    """The JSON log, readable by its owner alone.

    Several instances write to one file: each notices when another one has rotated it, and goes on in the new file.
    """

    def __init__(
        self, path: Path, redact: Redact = str, *, most_bytes: int = MOST_BYTES, backups: int = BACKUPS
    ) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(path, maxBytes=most_bytes, backupCount=backups, encoding="utf-8", delay=True)
        self.setFormatter(JsonFormatter(redact))

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.fchmod(descriptor, 0o600)
        return open(descriptor, "a", encoding="utf-8")

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, into the file that now has the name."""
        if self.stream is not None and self._was_moved(self.stream.fileno()):
            self.stream.close()
            self.stream = None
        super().emit(record)

    def _was_moved(self, descriptor: int) -> bool:
        try:
            named = Path(self.baseFilename).stat()
        except OSError:
            return True
        ours = os.fstat(descriptor)
        return (named.st_dev, named.st_ino) != (ours.st_dev, ours.st_ino)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 -- logging's name
        """A log that can't be written (disk full, folder gone) disturbs nobody."""


class StreamPipeline(logging.StreamHandler[TextIO]):
    """Writes records to a stream as lines of text; a stream that has gone away is ignored."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 -- logging's name
        """A closed pipe ends no run."""


def human_handler(stream: TextIO) -> logging.Handler:
    """The human trace: HUMAN records alone, as they are."""
    handler = StreamPipeline(stream)
    handler.addFilter(lambda record: record.levelno == HUMAN)
    handler.setFormatter(logging.Formatter("%(message)s"))
    return handler


class _ConsoleFormatter(logging.Formatter):
    """One line a record, whatever a library put into it, and no traceback: that is in the file."""

    def __init__(self, redact: Redact) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname.lower()} {record.name}: {clean(self._redact(record.getMessage()), 1000)}"


def console_handler(stream: TextIO, verbosity: int = 0, redact: Redact = str) -> logging.Handler:
    """The technical console: warnings; with 1 also information, with 2 everything; never HUMAN records.

    Not for a terminal that the full-screen interface owns.
    """
    handler = StreamPipeline(stream)
    handler.setLevel([logging.WARNING, logging.INFO, logging.DEBUG][max(0, min(verbosity, 2))])
    handler.addFilter(lambda record: record.levelno != HUMAN)
    handler.setFormatter(_ConsoleFormatter(redact))
    return handler


def write_trace(logger: logging.Logger, lines: Iterable[str]) -> None:
    """Log the lines of a human trace."""
    for line in lines:
        logger.log(HUMAN, "%s", line)


@contextmanager
def pipelines(handlers: Sequence[logging.Handler], level: int = logging.INFO) -> Generator[None]:
    """Send every record of this process to ``handlers``, and to nothing else, for a while."""
    root = logging.getLogger()
    before, level_before = list(root.handlers), root.level
    root.handlers[:] = handlers
    root.setLevel(level)
    try:
        yield
    finally:
        root.handlers[:] = before
        root.setLevel(level_before)
        for handler in handlers:
            handler.close()
