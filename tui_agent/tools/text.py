"""Text files as they are on disk: encoding, byte-order mark and line ends are kept, writes are atomic."""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from tui_agent.core.errors import ToolError
from tui_agent.tools.paths import reason

P = ParamSpec("P")
R = TypeVar("R")

MAX_BYTES = 10_000_000
"""Files beyond this can be searched, not read or edited: splitting 10 MB holds the interpreter for 15 ms, 60 MB for 90."""

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SURROGATE = re.compile("[\ud800-\udfff]")
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF8", "GIF"), (b"BM", "BMP"), (b"RIFF", "WebP"),
)  # fmt: skip


class Found(msgspec.Struct, frozen=True):
    """A file's bytes, fingerprint and permissions; ``stamp`` (mtime in ns, size) says by one ``stat`` if it changed since."""

    data: bytes
    fingerprint: str
    stamp: tuple[int, int]
    mode: int


class TextFile(msgspec.Struct, frozen=True):
    """Decoded text with its line ends as they are; ``encoded`` gives back the very bytes.

    ``damaged``: mostly UTF-8, its invalid bytes ride along as lone surrogates. ``newline`` is the usual line end.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    damaged: bool = False
    newline: str = "\n"

    def encoded(self, text: str) -> bytes:
        """Bytes of a new text for this file; raises ``ToolError`` for characters its encoding lacks."""
        try:
            return self.mark + text.encode(self.encoding, "surrogateescape" if self.damaged else "strict")
        except UnicodeEncodeError as error:
            lacks = error.object[error.start : error.start + 1]
            raise ToolError(
                f"the file is {self.encoding}, which can't hold {lacks!r} (U+{ord(lacks):04X})"
            ) from None  # fmt: skip


def decode(data: bytes, name: str) -> TextFile:
    """Text of a file; raises ``ToolError`` if it is binary.

    Without a mark: UTF-8; else, when no valid multi-byte character is in it, Windows-1252 or Latin-1; else damaged UTF-8.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                text = data[len(mark) :].decode(encoding)
            except UnicodeDecodeError:
                if encoding == "utf-8":
                    text = data[len(mark) :].decode(encoding, "surrogateescape")
                    return TextFile(text, encoding, mark, damaged=True, newline=_newline(text))
                raise ToolError(_binary(data, name)) from None
            return TextFile(text, encoding, mark, newline=_newline(text))
    if b"\0" in data:
        raise ToolError(_binary(data, name))
    try:
        text = data.decode()
        return TextFile(text, newline=_newline(text))
    except UnicodeDecodeError:
        pass
    text = data.decode("utf-8", "surrogateescape")
    if any("\x7f" < character < "\udc80" or character > "\udcff" for character in text):
        return TextFile(text, damaged=True, newline=_newline(text))
    try:
        return TextFile(data.decode("cp1252"), "cp1252", newline=_newline(text))
    except UnicodeDecodeError:
        return TextFile(data.decode("latin-1"), "latin-1", newline=_newline(text))


def clean(text: str) -> str:
    """Text that can be shown and sent: lone surrogates (undecodable bytes) become U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def lines(text: str) -> list[str]:
    """Lines without their ends (``\\n`` or ``\\r\\n`` only, as editors and ripgrep count them)."""
    found = text.replace("\r\n", "\n").split("\n")
    if not found[-1]:
        found.pop()
    return found


def valid(field: str, text: str) -> str:
    """A model's text, refused when it holds half a surrogate pair (``\\ud83d`` alone), which no file can."""
    if _SURROGATE.search(text):
        raise ToolError(f"{field}: holds half a character (a lone surrogate escape)")
    return text


def size(count: int) -> str:
    """Bytes for people: ``512 B``, ``34 kB``, ``1.2 MB``."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def fingerprint(path: Path) -> str:
    """``mtime_ns:size:hash`` of a file, empty if it can't be read."""
    try:
        return load(path, str(path)).fingerprint
    except ToolError:
        return ""


def same(one: str, other: str) -> bool:
    """Two fingerprints of the same content; a touched but equal file has not changed."""
    return one.rpartition(":")[2] == other.rpartition(":")[2]


def load(path: Path, name: str) -> Found:
    """A regular file's bytes; raises ``ToolError`` when it is missing, too large or not allowed."""
    try:
        # Non-blocking, so that a pipe put there after the check can't hang the open.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                raise ToolError(f"{name}: not a regular file")
            if info.st_size > MAX_BYTES:
                raise ToolError(
                    f"{name}: too large ({size(info.st_size)}, the limit is {size(MAX_BYTES)}); "
                    "search it with grep, or look at a part of it with run_command and sed -n"
                )
            data = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise ToolError(f"{name}: is a directory; use list_files") from None
    except OSError as error:
        raise ToolError(f"{name}: {reason(error)}") from None
    return Found(data, _fingerprint(info, data), (info.st_mtime_ns, info.st_size), stat.S_IMODE(info.st_mode))


def write(path: Path, name: str, data: bytes, *, over: Found | None) -> str:
    """Write a file atomically and return its fingerprint; ``over`` is what it replaces (None: a new file).

    Mode and owner stay. Where no temporary file can be made beside it, or other names (hard links) lead to it,
    or it belongs to someone else, it is rewritten in place. No fsync: the session's checkpoint keeps the old state.
    """
    try:
        if over is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            _create(path, data)
        else:
            _replace(path, name, data, over)
        return _fingerprint(path.stat(), data)
    except FileExistsError:
        raise ToolError(f"{name}: came into being meanwhile; nothing was written, read it first") from None
    except OSError as error:
        raise ToolError(f"{name}: {reason(error)}") from None


async def in_thread(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run in a thread; a cancellation waits for its end, so that nothing is written after the call was answered."""
    task = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
        raise


def _replace(path: Path, name: str, data: bytes, over: Found) -> None:
    info = path.stat()
    if (info.st_mtime_ns, info.st_size) != over.stamp:
        raise ToolError(f"{name}: changed on disk meanwhile; nothing was written, read it again")
    if (
        info.st_nlink > 1
        or (info.st_uid != os.geteuid() and os.geteuid() != 0)
        or not os.access(path, os.W_OK)
    ):
        _overwrite(path, data)
        return
    temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        _overwrite(path, data)
        return
    try:
        with open(handle, "wb") as file:
            file.write(data)
            if (info.st_uid, info.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(OSError):
                    os.fchown(handle, info.st_uid, info.st_gid)
            os.fchmod(handle, stat.S_IMODE(info.st_mode))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _create(path: Path, data: bytes) -> None:
    """A new file, whole or not at all, with the mode that the umask gives; never over one that exists."""
    temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        if path.exists():
            raise FileExistsError(path)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _overwrite(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def _fingerprint(info: os.stat_result, data: bytes) -> str:
    return f"{info.st_mtime_ns}:{info.st_size}:{hashlib.blake2b(data, digest_size=16).hexdigest()}"


def _newline(text: str) -> str:
    windows = text.count("\r\n")
    return "\r\n" if windows * 2 > text.count("\n") else "\n"


def _binary(data: bytes, name: str) -> str:
    kind = next((label for magic, label in _IMAGES if data.startswith(magic)), "")
    if kind:
        return f"{name}: a {kind} image ({size(len(data))}); its picture can't be shown here, only text can be read"
    return f"{name}: a binary file ({size(len(data))}), not text"
