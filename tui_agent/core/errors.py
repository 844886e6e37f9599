"""The error tree. Inside the program only these are raised on purpose; foreign errors are turned into them at the door.

AgentError
├── ConfigError     a file, flag or variable that a person must mend (exit 3)
├── SessionError    a session that can't be found, read or locked
├── ModelError      a failed model call, classified (``ErrorClass``)
├── ToolError       a tool call that failed in an expected way; the text goes to the model
└── EngineGone      the engine process ended
"""

from __future__ import annotations

from typing import Literal

import msgspec

ErrorClass = Literal[
    "auth", "billing", "rate_limit", "timeout", "network", "server", "not_found",
    "context_overflow", "bad_request", "content_policy", "malformed", "unknown",
]  # fmt: skip
"""Classes of model failure; recovery.py says what each one leads to."""

TRANSIENT: frozenset[ErrorClass] = frozenset({"rate_limit", "timeout", "network", "server"})


class AgentError(Exception):
    """Base of every expected error; ``str(error)`` is one line for a person."""


class ConfigError(AgentError):
    """A mistake in what a person wrote; renders as ``FILE:LINE: where: what``."""

    def __init__(self, what: str, *, file: str = "", line: int = 0, where: str = "") -> None:
        self.what, self.file, self.line, self.where = what, file, line, where
        place = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(f"{place}{where + ': ' if where else ''}{what}")


class SessionError(AgentError):
    """A session that can't be found, read, locked or written."""


class ToolError(AgentError):
    """An expected failure of a tool; the message is what the model reads."""


class EngineGone(AgentError):
    """The engine process ended or its pipe broke."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong with a model call, as data.

    ``text`` is one line for a person, ``hint`` says what to do (names the variable or the config line),
    ``retry_after`` is the provider's own wait in seconds, ``detail`` is for the log only. ``step`` marks the step
    timeout (a limit, not the provider's fault); ``refreshable`` says that looking up the key again may give a new one.
    """

    kind: ErrorClass
    text: str
    status: int = 0
    provider: str = ""
    hint: str = ""
    retry_after: float | None = None
    detail: str = ""
    step: bool = False
    refreshable: bool = False

    @property
    def transient(self) -> bool:
        """True if the same request may work when sent again."""
        return self.kind in TRANSIENT


class ModelError(AgentError):
    """A failed model call; carries the classified ``failure``."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.text)
