"""A model that follows a script, behind the same seam as a real one: the demo, the tests and the benchmarks use it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from typing import Any

import msgspec

from tui_agent.core.errors import Failure, ModelError
from tui_agent.core.messages import Call, FinishReason, Part, Reasoning, Text
from tui_agent.llm.api import (
    CallDelta,
    Delta,
    ModelSpec,
    ReasoningDelta,
    Reply,
    ReportedUsage,
    Request,
    TextDelta,
)

PIECE = re.compile(r"\s*\S+\s*?(?=\s|$)|\s+")
"""A piece of streamed text: a word with the blanks before it, about one token."""
ARGUMENT_PIECE = 12
"""Characters of a call's arguments that come at a time."""


class Turn(msgspec.Struct, frozen=True):
    """What the model says in one call. ``calls`` are (tool, arguments); a string of arguments is sent as it is, broken or not.

    ``failure`` is raised after ``fail_after`` pieces were sent (0: before anything). ``usage`` None: not reported.
    ``hang`` waits for ever after the pieces, until cancelled.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, dict[str, Any] | str], ...] = ()
    finish: FinishReason | None = None
    usage: ReportedUsage | None = None
    failure: Failure | None = None
    fail_after: int = 0
    hang: bool = False


Script = Callable[[Request], Turn]


class ScriptedModel:
    """Answers each request with the next turn of a list, or with what a function makes of the request.

    ``rate`` is pieces per second (0: as fast as it goes). ``requests`` keeps every request, for tests to look at.
    """

    def __init__(
        self,
        script: Script | Sequence[Turn],
        *,
        rate: float = 0.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._script = script
        self._rate, self._sleep = rate, sleep
        self._turns = 0
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        self.requests.append(request)
        turn = self._next(request)
        calls = [self._call(name, arguments) for name, arguments in turn.calls]
        began = time.monotonic()
        for sent, piece in enumerate(_pieces(turn, calls)):
            if turn.failure is not None and sent >= turn.fail_after:
                raise ModelError(turn.failure)
            yield piece
            if self._rate:
                await self._sleep(max(0.0, began + (sent + 1) / self._rate - time.monotonic()))
            elif sent % 50 == 0:
                await asyncio.sleep(0)
        if turn.failure is not None:
            raise ModelError(turn.failure)
        if turn.hang:
            await asyncio.Event().wait()
        yield Reply(_parts(turn, calls), _finish(turn, calls), turn.usage, request.model.name)

    async def ready(self, spec: ModelSpec) -> None:
        """Always ready."""

    def preload(self) -> None:
        """Nothing takes long here."""

    async def close(self) -> None:
        """Nothing to release."""

    def _next(self, request: Request) -> Turn:
        if callable(self._script):
            return self._script(request)
        if self._turns >= len(self._script):
            return Turn("(the script has ended)")
        self._turns += 1
        return self._script[self._turns - 1]

    def _call(self, name: str, arguments: dict[str, Any] | str) -> Call:
        id = f"scripted-{len(self.requests)}-{name}"
        if isinstance(arguments, dict):
            return Call(id, name, arguments)
        try:
            return Call(id, name, msgspec.json.decode(arguments, type=dict[str, Any]), raw=arguments)
        except msgspec.MsgspecError as error:
            return Call(id, name, raw=arguments, error=str(error))


def _pieces(turn: Turn, calls: list[Call]) -> Iterator[Delta]:
    for word in PIECE.findall(turn.reasoning):
        yield ReasoningDelta(word)
    for word in PIECE.findall(turn.text):
        yield TextDelta(word)
    for call in calls:
        text = call.raw or msgspec.json.encode(call.arguments).decode()
        for at in range(0, max(1, len(text)), ARGUMENT_PIECE):
            yield CallDelta(call.id, call.name, text[at : at + ARGUMENT_PIECE])


def _parts(turn: Turn, calls: list[Call]) -> tuple[Part, ...]:
    parts: list[Part] = []
    if turn.reasoning:
        parts.append(Reasoning(turn.reasoning))
    if turn.text:
        parts.append(Text(turn.text))
    return (*parts, *calls)


def _finish(turn: Turn, calls: list[Call]) -> FinishReason:
    return turn.finish or ("tool_calls" if calls else "stop")
