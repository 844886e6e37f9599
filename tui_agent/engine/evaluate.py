"""Self-evaluation: the model judges its own result, and in full mode gets it back to correct."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from tui_agent.context import prompts
from tui_agent.core import events as ev
from tui_agent.core.errors import ModelError
from tui_agent.core.messages import Message, user
from tui_agent.engine.model_call import ask_model

if TYPE_CHECKING:
    from tui_agent.engine.agent import Agent

PASS_CONFIDENCE = 0.8
"""A result passes if it is completed with at least this confidence."""


class Judgement(msgspec.Struct, frozen=True):
    """What the model says of its result; ``confidence`` from 0 to 1."""

    completed: bool
    confidence: float = 0.0
    issues: tuple[str, ...] = ()
    suggestion: str = ""

    @property
    def passed(self) -> bool:
        return self.completed and self.confidence >= PASS_CONFIDENCE


_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


def parse(text: str) -> Judgement | None:
    """Read a judgement: the whole text, a fenced block, or the first balanced object; None if there is none."""
    for candidate in _candidates(text):
        try:
            return msgspec.json.decode(candidate, type=Judgement, strict=False)
        except (msgspec.MsgspecError, UnicodeError):
            continue
    return None


def _candidates(text: str) -> Iterator[str]:
    yield text.strip()
    yield from (match.group(1) for match in _FENCE.finditer(text))
    yield from _balanced_objects(text)


def _balanced_objects(text: str) -> Iterator[str]:
    """Every ``{…}`` with balanced braces, braces inside strings not counted."""
    start = text.find("{")
    while start >= 0:
        depth, quoted, escaped = 0, False, False
        for at in range(start, len(text)):
            char = text[at]
            if escaped:
                escaped = False
            elif quoted:
                escaped, quoted = char == "\\", char != '"'
            elif char == '"':
                quoted = True
            elif char in "{}":
                depth += 1 if char == "{" else -1
                if depth == 0:
                    yield text[start : at + 1]
                    break
        start = text.find("{", start + 1)


async def evaluate(agent: Agent, attempt: int, *, correct: bool) -> None:
    """Judge the run's result once and emit it; with ``correct`` a result that does not pass goes back to the model.

    A failed evaluation call is a note and no failure of the work.
    """
    run = agent.state.run
    assert run is not None
    reply_id = agent.state.messages[-1].id
    request: list[Message] = [
        *agent.api_messages(),
        user(agent.kit.world.new_id(), prompts.EVALUATION, origin="system", synthetic=True),
    ]
    try:
        reply = await ask_model(agent, "evaluation", agent.state.system, request, json_object=True)
    except ModelError as error:
        agent.emit(ev.Evaluation(attempt=attempt, passed=False, error=error.failure.text))
        return
    judgement = parse(Message(id="", role="assistant", parts=reply.parts).text)
    if judgement is None:
        agent.emit(ev.Evaluation(attempt=attempt, passed=False, error="the evaluation was no JSON object"))
        return
    message = None
    if correct and not judgement.passed:
        text = prompts.correction(judgement.issues, judgement.suggestion)
        message = agent.counted(user(agent.kit.world.new_id(), text, origin="system", synthetic=True))
    agent.emit(
        ev.Evaluation(
            attempt=attempt, passed=judgement.passed, completed=judgement.completed, confidence=judgement.confidence,
            issues=judgement.issues, suggestion=judgement.suggestion, message=message, best=reply_id,
        )
    )  # fmt: skip
