"""One model call: the request from the state, the stream into deltas, and one ``message_end`` whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from tui_agent.core import events as ev
from tui_agent.core.errors import Failure, ModelError
from tui_agent.core.messages import Call, Message
from tui_agent.engine import guards
from tui_agent.engine.state import Partial
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

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tui_agent.engine.agent import Agent


async def call_model(agent: Agent, *, grace: bool = False, closing: bool = False) -> None:
    """Make the run's next call and put the reply into the history.

    A failure becomes a ``message_end`` that carries it; text that was already shown is kept and marked interrupted.
    """
    state, run = agent.state, agent.state.run
    assert run is not None
    purpose: ev.Purpose = "close" if closing else "turn"
    spec = agent.kit.resolve(run.model)
    if not closing:
        agent.emit(ev.TurnStart(step=run.iterations.used + 1, grace=grace))
    messages = agent.api_messages()
    request = Request(
        model=spec,
        system=state.system,
        messages=tuple(messages),
        tools=() if closing else agent.tool_schemas(),
        max_output=guards.output_cap(state),
        step_timeout=run.limits.step_timeout if closing else agent.time_for_a_call(),
        stall_timeout=run.limits.stall_timeout,
        plain=run.plain,
        session_id=state.id,
    )
    counted = state.fixed_tokens + state.counted
    partial = Partial(agent.kit.world.new_id(), spec.name, purpose)
    try:
        reply = await _stream(agent, request, partial)
    except ModelError as error:
        _note_rate_limit(agent, spec, error.failure)
        _fail(agent, partial, error.failure, purpose)
        return
    except asyncio.CancelledError:
        _cut(agent, partial, spec, counted)
        raise
    message = _message(agent, partial, spec, reply, closing=closing)
    agent.emit(ev.MessageEnd(message=message, purpose=purpose))
    agent.emit(_usage(agent, spec, purpose, reply, counted, message))
    agent.kit.rate_limits.clear(agent.kit.account(spec), agent.kit.world.now())
    agent.measure()
    if not closing and not message.calls:
        agent.end_turn(0)


async def ask_model(
    agent: Agent,
    purpose: ev.Purpose,
    system: str,
    messages: Sequence[Message],
    *,
    model: str = "",
    max_output: int = 0,
    json_object: bool = False,
) -> Reply:
    """A call beside the conversation (summary, evaluation, routing, advisor): no deltas, no tools, but counted and paid.

    Raises ``ModelError``.
    """
    run, kit = agent.state.run, agent.kit
    spec = kit.resolve(model or (run.model if run else agent.state.model))
    limits = run.limits if run else agent.limits()
    request = Request(
        model=spec, system=system, messages=tuple(messages), max_output=max_output, json_object=json_object,
        step_timeout=limits.step_timeout, stall_timeout=limits.stall_timeout, session_id=agent.state.id,
    )  # fmt: skip
    counted = kit.count(system) + sum(kit.count_message(message) for message in messages)
    reply: Reply | None = None
    async for piece in _pieces(agent, request):
        if isinstance(piece, Reply):
            reply = piece
    if reply is None:
        raise ModelError(Failure("malformed", "the reply ended without a result", provider=spec.provider))
    agent.emit(_usage(agent, spec, purpose, reply, counted, None))
    return reply


async def _stream(agent: Agent, request: Request, partial: Partial) -> Reply:
    """Feed deltas to the screen and the log; returns the reply, raises ``ModelError``."""
    reply: Reply | None = None
    started = False
    async for piece in _pieces(agent, request):
        if not started:
            started = True
            agent.emit(
                ev.MessageStart(
                    id=partial.id, role="assistant", model=request.model.name, purpose=partial.purpose
                )
            )
        if isinstance(piece, Reply):
            reply = piece
            continue
        update = _update(partial, piece)
        if update is not None:
            agent.deltas.push(update)
    if reply is None:
        raise ModelError(
            Failure("malformed", "the reply ended without a result", provider=request.model.provider)
        )
    return reply


async def _pieces(agent: Agent, request: Request) -> AsyncGenerator[Delta | Reply, None]:
    """The model's stream under the step timeout, refused at once while the provider is known to refuse."""
    provider, now = request.model.provider, agent.kit.world.now()
    if until := agent.kit.rate_limits.until(agent.kit.account(request.model), now):
        text = f"{provider} refuses requests for another {until - now:.0f} s (rate limit seen before)"
        raise ModelError(Failure("rate_limit", text, provider=provider, retry_after=until - now))
    await agent.kit.model.ready(request.model)
    try:
        async with asyncio.timeout(request.step_timeout or None):
            async with aclosing(agent.kit.model.stream(request)) as pieces:
                async for piece in pieces:
                    yield piece
    except TimeoutError:
        text = f"no complete reply within {request.step_timeout:g} s"
        raise ModelError(Failure("timeout", text, provider=provider, step=True)) from None


def _update(partial: Partial, piece: Delta) -> ev.MessageUpdate | None:
    match piece:
        case TextDelta(text):
            partial.text.append(text)
            return ev.MessageUpdate(id=partial.id, delta="text", text=text) if text else None
        case ReasoningDelta(text):
            partial.reasoning.append(text)
            return ev.MessageUpdate(id=partial.id, delta="reasoning", text=text) if text else None
        case CallDelta(id, name, text):
            return ev.MessageUpdate(id=partial.id, delta="arguments", text=text, call=id, name=name)


def _message(agent: Agent, partial: Partial, spec: ModelSpec, reply: Reply, *, closing: bool) -> Message:
    """The final message; call ids are made unique within the session, calls in a closing reply are ignored."""
    parts = [part for part in reply.parts if not (closing and isinstance(part, Call))]
    parts = [agent.unique_call(part) if isinstance(part, Call) else part for part in parts]
    message = Message(
        id=partial.id,
        role="assistant",
        parts=tuple(parts),
        origin="model",
        model=spec.name,
        finish=reply.finish,
    )
    return msgspec.structs.replace(message, tokens=agent.kit.count_message(message))


def _fail(agent: Agent, partial: Partial, failure: Failure, purpose: ev.Purpose) -> None:
    kept = partial.message()
    if kept is not None:
        kept = msgspec.structs.replace(kept, tokens=agent.kit.count_message(kept))
    message = kept or Message(id=partial.id, role="assistant", parts=(), origin="model", model=partial.model)
    agent.emit(ev.MessageEnd(message=message, failure=failure, purpose=purpose))
    if purpose == "turn":
        agent.end_turn(0)


def _cut(agent: Agent, partial: Partial, spec: ModelSpec, counted: int) -> None:
    """Keep what was shown, and count what it will be billed: an interrupted call reports no usage."""
    kept = partial.message()
    if kept is None:
        return
    message = msgspec.structs.replace(kept, tokens=agent.kit.count_message(kept))
    agent.emit(ev.MessageEnd(message=message, purpose=partial.purpose))
    used = ReportedUsage(input=int(counted * agent.state.factor), output=message.tokens)
    agent.emit(
        _usage_event(agent, spec, partial.purpose, used, counted, reported=False, message_id=message.id)
    )


def _usage(
    agent: Agent, spec: ModelSpec, purpose: ev.Purpose, reply: Reply, counted: int, message: Message | None
) -> ev.Usage:
    if reply.usage is not None:
        return _usage_event(
            agent,
            spec,
            purpose,
            reply.usage,
            counted,
            reported=True,
            message_id=message.id if message else "",
        )
    text = Message(id="", role="assistant", parts=reply.parts)
    used = ReportedUsage(input=int(counted * agent.state.factor), output=agent.kit.count_message(text))
    return _usage_event(
        agent, spec, purpose, used, counted, reported=False, message_id=message.id if message else ""
    )


def _usage_event(
    agent: Agent,
    spec: ModelSpec,
    purpose: ev.Purpose,
    used: ReportedUsage,
    counted: int,
    *,
    reported: bool,
    message_id: str,
) -> ev.Usage:
    return ev.Usage(
        purpose=purpose, model=spec.alias or spec.name, input=used.input, cached=used.cached,
        cache_write=used.cache_write, output=used.output, reasoning=used.reasoning,
        cost_usd=agent.kit.cost(spec, used), reported=reported, counted=counted, message_id=message_id,
    )  # fmt: skip


def _note_rate_limit(agent: Agent, spec: ModelSpec, failure: Failure) -> None:
    """Share a provider's own reset time with every running instance."""
    if failure.kind == "rate_limit" and failure.status == 429 and failure.retry_after:
        now = agent.kit.world.now()
        agent.kit.rate_limits.note(agent.kit.account(spec), now + failure.retry_after, now)
