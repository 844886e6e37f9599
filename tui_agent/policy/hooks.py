"""The person's own commands after an edit: which ones apply, one run of one, and what the model reads of it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shlex
import signal
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec

from tui_agent.config.sections import Hook

Status = Literal["ok", "failed", "timeout", "missing"]

SHELL = "/bin/sh"
OUTPUT_CHARS = 8_000
"""What is kept of an output, about 2,000 tokens: the first and the last lines, as linters begin and test runs end with what counts."""
RAW_BYTES = 128 * 1024
"""What is kept in memory of each end while a hook runs."""
PATIENCE = 0.3
"""Seconds between asking a process group to end and killing it: a formatter may be writing the file."""
LINGER = 0.5
"""Seconds to wait for more output when the command has ended but something it started holds the pipe."""

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS and the like up to their end
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PROGRESS = re.compile(r"[^\n]*\r(?=[^\n])")

_DIAGNOSTIC = re.compile(
    r"""^\s*(?:-->\s*)?(?:
        (?!\w+://)[^\s:()]+:\d+(?::\d+)?(?=[\s:,]|$)   # path:3:5: as most print it
        | [^\s:()]+\(\d+(?:,\d+)?\):                            # path(3,5): as tsc does
        | \d+:\d+\s+(?:error|warning)\b                                 # 3:5 error, below a path, as eslint does
    )""",
    re.VERBOSE | re.MULTILINE,
)
_CLOCK = re.compile(r"\s*\d+:\d+(?::\d+)?\b(?!\s+(?:error|warning))")
_NOTE = re.compile(r":\s*(?:note|info|help):|\s-\s(?:note|info|help):")
_TOTAL = re.compile(r"\b(\d+) (?:errors?|problems?|failed|issues?)\b")


class HookOutcome(msgspec.Struct, frozen=True):
    """How one hook went. ``output`` is plain text without escape sequences, cut in the middle when long; ``exit_code`` is None
    when it was killed or never started, ``duration`` seconds; ``rewrote``: the edited file is not what it was before.
    """

    status: Status
    output: str = ""
    exit_code: int | None = None
    duration: float = 0.0
    rewrote: bool = False
    name: str = ""
    path: str = ""


def matching(hooks: Sequence[Hook], path: str) -> list[Hook]:
    """The enabled hooks for an edited file (workspace-relative), in the order of the configuration."""
    return [
        hook
        for hook in hooks
        if hook.enabled and any(_matches(pattern, path) for pattern in hook.file_patterns)
    ]


def command_line(hook: Hook, path: str) -> str:
    """The shell line of a hook: ``{file}`` is the quoted path; a hook without it gets the path from the environment only."""
    file = f"./{path}" if path.startswith("-") else path
    return hook.command.replace("{file}", shlex.quote(file))


async def run(hook: Hook, path: str, cwd: Path, environ: Mapping[str, str] | None = None) -> HookOutcome:
    """Run one hook in the workspace, with nothing to read, in a process group of its own that ends with it.

    Its failure, its time-out and a command that does not exist are outcomes. Cancelling kills the group.
    """
    before = await asyncio.to_thread(_fingerprint, cwd / path)
    started = time.monotonic()
    environment = {
        **(os.environ if environ is None else environ),
        "TUI_AGENT_EDITED_FILE": path,
        "ARCHITECT_EDITED_FILE": path,
    }
    try:
        status, output, exit_code = await _execute(command_line(hook, path), cwd, environment, hook.timeout)
    except OSError as error:
        status, output, exit_code = (
            "failed",
            f"the hook could not be started: {error.strerror or error}",
            None,
        )
    duration = time.monotonic() - started
    if status == "timeout":
        output = f"{output}\nended after {hook.timeout:g} s (hooks.post_edit: {hook.name}: timeout)".lstrip()
    elif status == "missing":
        output = f"{output}\nhint: install what {hook.name} runs, or set enabled: false for it in hooks.post_edit".lstrip()
    rewrote = await asyncio.to_thread(_fingerprint, cwd / path) != before
    return HookOutcome(status, output, exit_code, duration, rewrote, hook.name, path)


def joined(outcomes: Sequence[HookOutcome]) -> str:
    """What joins the tool result for the model; empty if no hook ran."""
    return "\n\n".join(_for_model(outcome) for outcome in outcomes)


def problem_count(output: str) -> int:
    """About how many problems a linter, type checker or test run reports: lines that point at a place, notes left out."""
    places = {
        line.strip()
        for line in output.splitlines()
        if _DIAGNOSTIC.match(line) and not _CLOCK.match(line) and not _NOTE.search(line)
    }
    if places:
        return len(places)
    return max((int(number) for number in _TOTAL.findall(output)), default=0)


def plain_text(raw: bytes) -> str:
    """Output as text: no escape sequences or control characters, and of a line drawn again and again only its last state."""
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    text = _PROGRESS.sub("", _ESCAPES.sub("", text))
    return _CONTROLS.sub("", text).strip("\n")


def shortened(text: str, limit: int = OUTPUT_CHARS) -> str:
    """The first and the last lines of a long text, with what is left out counted between them."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 2], text[-limit // 2 :]
    head = head[: head.rfind("\n")] if "\n" in head else head
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail else tail
    left = len(text) - len(head) - len(tail)
    return f"{head}\n… {left:,} characters left out …\n{tail}"


def _matches(pattern: str, path: str) -> bool:
    if fnmatchcase(path.rpartition("/")[2], pattern) or fnmatchcase(path, pattern):
        return True
    return "**/" in pattern and fnmatchcase(path, pattern.replace("**/", ""))


def _for_model(outcome: HookOutcome) -> str:
    how = {
        "ok": "ok",
        "failed": "could not be started"
        if outcome.exit_code is None
        else f"failed (exit {outcome.exit_code})",
        "timeout": "timed out",
        "missing": "its command was not found",
    }[outcome.status]
    rewrote = (
        f"\nIt changed {outcome.path}: read the file again before you edit it." if outcome.rewrote else ""
    )
    body = f"\n{outcome.output}" if outcome.output else ""
    return f"Hook {outcome.name} on {outcome.path}: {how}{rewrote}{body}"


class _Ends:
    """The first and the last bytes of a stream of any length."""

    def __init__(self) -> None:
        self.head, self.tail, self.cut = bytearray(), bytearray(), False

    def feed(self, data: bytes) -> None:
        room = max(RAW_BYTES - len(self.head), 0)
        self.head += data[:room]
        self.tail += data[room:]
        if len(self.tail) > 2 * RAW_BYTES:
            self.cut = True
            del self.tail[:-RAW_BYTES]

    def text(self) -> str:
        return plain_text(bytes(self.head) + (b"\n\n" if self.cut else b"") + bytes(self.tail))


async def _execute(
    line: str, cwd: Path, environment: Mapping[str, str], limit: float
) -> tuple[Status, str, int | None]:
    """One shell line to its end, its time limit or its cancellation; in each case nothing of its group is left."""
    kept = _Ends()
    loop = asyncio.get_running_loop()
    inward, outward = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(inward, "rb", buffering=0)
    )
    try:
        try:
            process = await asyncio.create_subprocess_exec(
                SHELL, "-c", line,
                cwd=cwd, env=dict(environment), start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL, stdout=outward, stderr=outward,
            )  # fmt: skip
        finally:
            os.close(outward)
        reading = asyncio.create_task(_keep(reader, kept))
        status: Status = "ok"
        try:
            async with asyncio.timeout(limit):
                await process.wait()
                await asyncio.wait([reading], timeout=LINGER)
        except TimeoutError:
            status = "timeout"
        finally:
            await _end_group(process)
            await asyncio.wait([reading], timeout=LINGER)
            reading.cancel()
    finally:
        transport.close()
    code = process.returncode
    if status == "ok" and code:
        status = "missing" if code == 127 else "failed"
    return status, shortened(kept.text()), None if status == "timeout" else code


async def _keep(reader: asyncio.StreamReader, kept: _Ends) -> None:
    while data := await reader.read(65_536):
        kept.feed(data)


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """End what is left of a process group: ask, wait a moment, kill."""
    try:
        if process.returncode is None and _signal(process.pid, signal.SIGTERM):
            async with asyncio.timeout(PATIENCE):
                await process.wait()
                while _signal(process.pid, 0):  # noqa: ASYNC110 - nothing tells when a group is empty
                    await asyncio.sleep(0.01)
    except TimeoutError:
        pass
    finally:
        _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: int) -> bool:
    """Signal a group (0: only look); False if it is gone."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS says the latter of a group that has only zombies
        return False
    return True


def _fingerprint(path: Path) -> bytes | None:
    """Digest of a file's content; None if it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").digest()
    except OSError:
        return None
