"""Message repair: whatever the log holds, the copy that is sent satisfies every provider.

The rules are the strictest of Anthropic, OpenAI and Gemini: the first message is the user's, roles alternate, a tool
message stands right after the assistant message whose calls it answers, each call once and in order, call ids are
unique, tool names match ``[A-Za-z0-9_-]{1,64}``, and no message is empty.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence

import msgspec

from tui_agent.core.messages import Call, Image, Message, Part, Reasoning, Result, Role, Text, user

UNKNOWN_OUTCOME = "Interrupted, outcome unknown: check the state before you run it again."
"""Answers a call that may have started."""

OPENING = "[SYSTEM] The beginning of this conversation is not shown."
"""Stands in front of a history that would begin with the assistant."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BELONGS: dict[Role, tuple[type[Part], ...]] = {
    "user": (Text, Image),
    "assistant": (Text, Reasoning, Call),
    "tool": (Result,),
}


class Repairs(msgspec.Struct, frozen=True):
    """What was mended: messages merged; calls, results and messages dropped; calls answered; messages put in front."""

    merged: int = 0
    dropped: int = 0
    answered: int = 0
    added: int = 0

    def __bool__(self) -> bool:
        return bool(self.merged or self.dropped or self.answered or self.added)


def repair(messages: Sequence[Message], *, model: str = "") -> tuple[list[Message], Repairs]:
    """A provider-valid copy of a history, and what had to be mended; repairing that again changes nothing.

    With ``model`` given, opaque data of other models (signatures) is left out, as no other model accepts it.
    A history may end with an assistant message and stays so: whether it can be sent as it is says ``sendable``.
    """
    tally: Counter[str] = Counter()
    tidy = _settle(_sort_parts(messages, model, tally))
    history = _merge(tidy, tally)
    history = _answer(history, tally)
    history = _merge(history, tally)
    if history and history[0].role != "user":
        history.insert(0, user("repair-opening", OPENING, origin="system", synthetic=True))
        tally["added"] += 1
    return history, Repairs(**tally)


def sendable(messages: Sequence[Message]) -> bool:
    """True if a repaired history waits for a reply, so that it can be sent (or continued, row 17) as it is."""
    return bool(messages) and messages[-1].role in ("user", "tool")


def violations(messages: Sequence[Message]) -> list[str]:
    """Every rule of the providers that a history breaks, one line each; empty means that it can be sent."""
    found: list[str] = []
    seen: set[str] = set()
    if messages and messages[0].role != "user":
        found.append(f"0: begins with {messages[0].role}")
    for at, message in enumerate(messages):
        before = messages[at - 1] if at else None
        after = messages[at + 1] if at + 1 < len(messages) else None
        found += [f"{at}: {what}" for what in _faults(message, before, after)]
        for call in message.calls:
            if not call.id or call.id in seen:
                found.append(f"{at}: call id {call.id!r} is empty or used twice")
            seen.add(call.id)
    return found


def _faults(message: Message, before: Message | None, after: Message | None) -> Iterable[str]:
    """What is wrong with one message between its neighbours."""
    allowed = _BELONGS.get(message.role)
    if allowed is None:
        yield "a system message inside the history"
    elif not all(isinstance(part, allowed) for part in message.parts):
        yield f"a part that no {message.role} message may hold"
    if not _has_content(message):
        yield "nothing in it that a provider accepts"
    if any(isinstance(part, Text) and not part.text.strip() for part in message.parts):
        yield "a blank text part"
    if before is not None and before.role == message.role:
        yield f"two {message.role} messages in a row"
    if message.role == "tool" and not (before is not None and before.calls):
        yield "results without calls before them"
    for call in message.calls:
        if not _NAME.fullmatch(call.name):
            yield f"tool name {call.name!r}"
    if message.calls:
        wanted = [(call.id, call.name) for call in message.calls]
        given = [(result.call_id, result.name) for result in after.results] if after is not None else []
        if wanted != given:
            yield f"calls {wanted} answered by {given}"
    if message.interrupted and any(isinstance(part, Reasoning) and part.opaque for part in message.parts):
        yield "opaque reasoning of an interrupted reply"


def _has_content(message: Message) -> bool:
    """Reasoning alone is no content: Anthropic and OpenAI refuse a reply of only that."""
    return any(
        part.text.strip() if isinstance(part, Text) else not isinstance(part, Reasoning)
        for part in message.parts
    )


# ---- before the passes: every part where its role allows it


def _sort_parts(messages: Iterable[Message], model: str, tally: Counter[str]) -> list[Message]:
    """Split messages whose parts belong to different roles, drop what no role may hold, and make names legal."""
    sorted_out: list[Message] = []
    for message in messages:
        if message.role == "system":
            message = msgspec.structs.replace(message, role="user", origin="system")
        foreign = bool(model and message.model and message.model != model)
        pieces = [
            _with_parts(message, role, parts)
            for role, mixed in _by_role(message)
            if (parts := _clean(mixed, role, foreign))
        ]
        if not pieces:
            tally["dropped"] += 1
        sorted_out += pieces
    return sorted_out


def _by_role(message: Message) -> Iterable[tuple[Role, tuple[Part, ...]]]:
    """The parts of one message by the role that may hold them; results stay next to the calls that they answer."""
    results = message.results
    others = tuple(part for part in message.parts if not isinstance(part, Result))
    if message.role == "assistant":
        yield "assistant", others
        yield "tool", results
    else:
        yield "tool", results
        yield "user", others


def _clean(parts: tuple[Part, ...], role: Role, foreign: bool) -> tuple[Part, ...]:
    """The parts that ``role`` may hold, without blanks, names made legal, foreign signatures left out."""
    kept: list[Part] = []
    for part in parts:
        if not isinstance(part, _BELONGS[role]) or (isinstance(part, Text) and not part.text.strip()):
            continue
        if isinstance(part, Reasoning):
            if foreign and part.opaque:
                part = Reasoning(part.text)
            if not part.text.strip() and not part.opaque:
                continue
        elif isinstance(part, Call):
            if not _NAME.fullmatch(part.name):
                part = msgspec.structs.replace(part, name=_legal_name(part.name))
            if foreign and part.opaque:
                part = msgspec.structs.replace(part, opaque={})
        kept.append(part)
    return tuple(kept)


def _legal_name(name: str) -> str:
    """A name that providers accept, for what a model invented."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def _with_parts(message: Message, role: Role, parts: tuple[Part, ...]) -> Message:
    """The same message if nothing changed, so that its counted size stays."""
    if message.role == role and message.parts == parts:
        return message
    return msgspec.structs.replace(message, role=role, parts=parts, tokens=0)


def _settle(messages: list[Message]) -> list[Message]:
    """Make interrupted replies plain.

    Their opaque reasoning goes, as a signature over half a thought is refused, and with it every call that did not
    run: a cut reply's calls are never started, and Claude refuses a call whose signed thought is missing. That is the
    ordinary end of an interrupted reply, so it is not counted as a repair.
    """
    if not any(message.interrupted for message in messages):
        return messages
    answers, _ = _match(messages)
    gone: set[_Place] = set()
    settled: list[Message] = []
    for at, message in enumerate(messages):
        parts: list[Part] = []
        for place, part in enumerate(message.parts):
            if (at, place) in gone:
                continue
            if message.interrupted and isinstance(part, Reasoning):
                part = Reasoning(part.text)
                if not part.text.strip():
                    continue
            elif message.interrupted and isinstance(part, Call):
                answer = answers.get((at, place))
                if answer is None or not _result_at(messages, answer).ok:
                    gone |= {answer} if answer else set()
                    continue
            parts.append(part)
        if parts:
            settled.append(_with_parts(message, message.role, tuple(parts)))
    return settled


# ---- the passes


def _merge(messages: Iterable[Message], tally: Counter[str]) -> list[Message]:
    """Join neighbours of one role, and leave out messages without content."""
    merged: list[Message] = []
    run: list[Message] = []
    for message in messages:
        if not _has_content(message):
            tally["dropped"] += 1
            continue
        if run and run[0].role != message.role:
            merged.append(_join(run))
            run = []
        elif run and message.role != "tool":
            tally["merged"] += 1
        run.append(message)
    if run:
        merged.append(_join(run))
    return merged


def _join(run: list[Message]) -> Message:
    """One message with all parts of a run of neighbours: texts that meet become one, calls go last."""
    if len(run) == 1:
        return run[0]
    last = run[-1]
    parts: list[Part] = []
    calls: list[Part] = []
    for message in run:
        foreign = message.model != last.model
        for place, part in enumerate(_clean(message.parts, message.role, foreign)):
            if isinstance(part, Call):
                calls.append(part)
            elif place == 0 and parts and isinstance(part, Text) and isinstance(parts[-1], Text):
                parts[-1] = Text(f"{parts[-1].text}\n\n{part.text}")
            else:
                parts.append(part)
    person = next((message for message in run if message.origin == "person"), run[0])
    return msgspec.structs.replace(
        run[0],
        parts=(*parts, *calls),
        origin=person.origin,
        model=last.model,
        interrupted=False,
        synthetic=all(message.synthetic for message in run),
        untrusted=any(message.untrusted for message in run),
        finish=last.finish,
        tokens=0,
    )


_Place = tuple[int, int]
"""A part: the index of its message, its index in there."""


def _match(messages: Sequence[Message]) -> tuple[dict[_Place, _Place], int]:
    """Which call is answered by which result, and how many results answer none.

    A result belongs to the nearest message before it that has a call of its id; several calls of one id in a message
    are answered in turn. What is left over is an orphan or a duplicate.
    """
    answers: dict[_Place, _Place] = {}
    orphans = 0
    waiting: dict[str, deque[_Place]] = {}
    for at, message in enumerate(messages):
        own: set[str] = set()
        for place, part in enumerate(message.parts):
            if isinstance(part, Call):
                if part.id not in own:
                    waiting[part.id] = deque()
                    own.add(part.id)
                waiting[part.id].append((at, place))
            elif isinstance(part, Result):
                if queue := waiting.get(part.call_id):
                    answers[queue.popleft()] = at, place
                else:
                    orphans += 1
    return answers, orphans


def _result_at(messages: Sequence[Message], place: _Place) -> Result:
    part = messages[place[0]].parts[place[1]]
    assert isinstance(part, Result)
    return part


def _answer(messages: Sequence[Message], tally: Counter[str]) -> list[Message]:
    """Put every result right after its call, answer calls that have none, make ids unique, drop orphans."""
    answers, orphans = _match(messages)
    tally["dropped"] += orphans
    used: dict[str, int] = {}
    history: list[Message] = []
    for at, message in enumerate(messages):
        if message.role == "tool":
            continue
        parts = list(message.parts)
        results: list[Result] = []
        sources: list[Message] = []
        for place, part in enumerate(message.parts):
            if not isinstance(part, Call):
                continue
            parts[place] = call = _unique(part, used)
            answer = answers.get((at, place))
            if answer is None:
                tally["answered"] += 1
                result = Result(call.id, call.name, UNKNOWN_OUTCOME, ok=False)
            else:
                result = _result_at(messages, answer)
                sources.append(messages[answer[0]])
            if (result.call_id, result.name) != (call.id, call.name):
                result = msgspec.structs.replace(result, call_id=call.id, name=call.name)
            results.append(result)
        history.append(_with_parts(message, message.role, tuple(parts)))
        if results:
            history.append(_tool_message(message, tuple(results), sources))
    return history


def _unique(call: Call, used: dict[str, int]) -> Call:
    """The call, with another id if an earlier one has it.

    The choice never depends on what comes later, so that the beginning of a growing history stays the same for the
    provider's cache. ``used`` holds the last number tried for every id so far.
    """
    base = call.id or "call"
    fresh, number = base, used.get(base, 0)
    while fresh in used:
        number += 1
        fresh = f"{base}-{number + 1}"
    used[base] = number
    used.setdefault(fresh, 0)
    return call if fresh == call.id else msgspec.structs.replace(call, id=fresh)


def _tool_message(asked: Message, results: tuple[Result, ...], sources: Sequence[Message]) -> Message:
    """The one message with all answers to ``asked``."""
    if not sources:
        return Message(id=f"{asked.id}-results", role="tool", parts=results, origin="tool", synthetic=True)
    first = sources[0]
    if all(source is first for source in sources):
        return _with_parts(first, "tool", results)
    return msgspec.structs.replace(
        first, parts=results, untrusted=any(source.untrusted for source in sources), tokens=0
    )
