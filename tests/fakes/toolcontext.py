"""A tool context without an engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Context:
    """A ``core.tool.ToolContext`` without an engine; ``answers`` are given to questions, then nobody is there."""

    workspace: Path
    session_dir: Path
    session_id: str = "s1"
    untrusted_source: bool = False
    seen: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def output(self, text: str) -> None:
        self.said.append(text)

    async def ask(self, question: str, options: tuple[str, ...] = ()) -> str | None:
        self.asked.append((question, options))
        return self.answers.pop(0) if self.answers else None

    def request_steps(self, reason: str) -> str:
        self.reasons.append(reason)
        return "10 more steps"
