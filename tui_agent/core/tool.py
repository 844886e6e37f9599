"""What a tool is: a schema, an intent that policy judges, and two answers (for the model, for the person)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

Effect = Literal["read", "write", "execute", "network", "ask"]
"""What a call may do to the world; ``ask`` only talks to the person or to the loop itself."""


class Diff(msgspec.Struct, frozen=True, tag_field="kind", tag="diff", omit_defaults=True):
    """A change of one file as unified hunks (without the ---/+++ header), with its counts."""

    path: str
    hunks: str
    added: int = 0
    removed: int = 0
    created: bool = False
    deleted: bool = False


class Output(msgspec.Struct, frozen=True, tag_field="kind", tag="output", omit_defaults=True):
    """Text as a program or file gave it; ``language`` is a pygments name or empty."""

    text: str
    language: str = ""
    first_line: int = 0
    """Number of the first line when the text is part of a file (0 = no line numbers)."""


class Matches(msgspec.Struct, frozen=True, tag_field="kind", tag="matches", omit_defaults=True):
    """Search hits as (path, line, text); line 0 for a bare path."""

    rows: tuple[tuple[str, int, str], ...]
    total: int = 0
    files: int = 0


class Plan(msgspec.Struct, frozen=True, tag_field="kind", tag="plan"):
    """A todo list as (state, text); state is ``open``, ``active`` or ``done``."""

    items: tuple[tuple[str, str], ...]


Display = Diff | Output | Matches | Plan


class Intent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call wants to do, said before it is done; policy and the approval card read it.

    ``paths`` are workspace-relative POSIX paths, or absolute ones when outside; ``outside`` lists those that leave
    the workspace (symlinks resolved). ``command`` is the shell line of an ``execute`` intent. ``preview`` is what
    the card shows. ``destructive`` gives the reason when the default answer must be no.
    """

    tool: str
    effect: Effect
    paths: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    command: str = ""
    preview: Display | None = None
    destructive: str = ""


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer for the model, one for the person.

    ``summary`` is the short outcome on the panel's title (``132 lines``, ``14 matches in 5 files``, ``exit 1``).
    ``changed`` are workspace-relative paths that the call wrote. ``full_output`` names a file in the session's
    folder that keeps what was cut. ``terminate`` ends the run after the batch if every result says so.
    """

    for_model: str
    ok: bool = True
    summary: str = ""
    display: Display | None = None
    changed: tuple[str, ...] = ()
    full_output: str = ""
    terminate: bool = False
    untrusted: bool = False


class ToolContext(Protocol):
    """What a running tool may use; passed out of band, never as arguments that the model could set."""

    workspace: Path
    """Root that paths are confined to, resolved."""
    session_id: str
    session_dir: Path
    """Folder for whole outputs; made on first use by whoever writes."""
    untrusted_source: bool
    seen: dict[str, str]
    """Fingerprint of each file (by resolved path) as the session last read or wrote it; edits refuse when it differs."""

    def output(self, text: str) -> None:
        """Live output for the panel (already decoded, may hold control characters)."""
        ...

    async def ask(self, question: str, options: tuple[str, ...] = ()) -> str | None:
        """Ask the person; None when nobody is there."""
        ...

    def request_steps(self, reason: str) -> str:
        """Ask for more steps; the text is the answer for the model."""
        ...


class Tool(Protocol):
    """A tool of the registry.

    ``run`` raises ``ToolError`` for expected failures. Cancellation of ``run`` must end whatever it started.
    """

    name: str
    description: str
    schema: dict[str, Any]
    """JSON schema of the arguments object."""
    effect: Effect
    parallel: bool
    """May run beside other calls (reads); False makes it a barrier."""

    def summarise(self, arguments: dict[str, Any]) -> str:
        """The argument summary of the panel title."""
        ...

    def intent(self, arguments: dict[str, Any], context: ToolContext) -> Intent:
        """What the call would do; raises ToolError when the arguments can't work."""
        ...

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult: ...
