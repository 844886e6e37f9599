"""What each step does: every one ends in events, and no expected failure raises."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_agent.context import prompts
from tui_agent.core import events as ev
from tui_agent.core.errors import ConfigError
from tui_agent.core.messages import Message, user
from tui_agent.core.tool import Intent
from tui_agent.engine import compaction, ending, loop, recovery
from tui_agent.engine.advisors import consult
from tui_agent.engine.calls import Batch
from tui_agent.engine.evaluate import evaluate
from tui_agent.engine.guards import Trip
from tui_agent.engine.model_call import call_model
from tui_agent.engine.state import PLAN

if TYPE_CHECKING:
    from tui_agent.engine.agent import Agent

JITTER = 0.25
"""A wait is made longer by up to this share, so that many agents don't come back at once."""


async def perform(agent: Agent, step: loop.Step) -> None:
    """Do one step."""
    match step:
        case loop.CallModel(grace=grace, closing=closing):
            if not closing:
                await consult(agent)
            await call_model(agent, grace=grace, closing=closing)
            if closing:
                _closed(agent)
        case loop.RunTools():
            await _run_tools(agent)
        case loop.Deliver(queue):
            _deliver(agent, queue)
        case loop.Render():
            await _render(agent)
        case loop.Compact(how, why):
            if how == "summarise":
                await compaction.summarise(agent, why=why)
            else:
                compaction.drop_oldest(agent, why=why)
        case loop.Nudge(why, attempt, limit):
            message = _system_message(agent, prompts.NUDGES[why])
            agent.emit(ev.Nudge(why=why, attempt=attempt, limit=limit, message=message))
        case loop.Warn(repetition):
            message = _system_message(agent, prompts.stall_warning(repetition.what, repetition.count))
            agent.emit(
                ev.Stall(
                    kind=repetition.kind,
                    count=repetition.count,
                    action="warn",
                    what=repetition.what,
                    message=message,
                )
            )
        case loop.Evaluate(attempt, correct):
            await evaluate(agent, attempt, correct=correct)
        case loop.ApprovePlan():
            await _approve_plan(agent)
        case loop.Ask(trip):
            await _ask(agent, trip)
        case loop.Close(trip, call):
            _close(agent, trip, call=call)
        case loop.Finish(reason, failure):
            agent.answer_open_calls()
            run = agent.state.run
            assert run is not None
            agent.emit(ending.ending(agent.state, run, reason, failure=failure))
        case recovery.Again():
            await _wait(agent, step)
        case recovery.Switch():
            await _switch(agent, step)


async def _run_tools(agent: Agent) -> None:
    opened = agent.state.open_calls
    batch = Batch(agent, [entry.call for entry in opened.values() if entry.result is None])
    calls = len(opened)
    agent.batch = batch
    try:
        await batch.run()
    finally:
        agent.batch = None
        agent.answer_open_calls()
    agent.measure()
    agent.end_turn(calls)


def _deliver(agent: Agent, queue: str) -> None:
    """Take waiting messages out of a queue into the history, in one event."""
    state, run = agent.state, agent.state.run
    assert run is not None
    waiting = list((state.steering if queue == "steering" else state.follow_ups).items())
    mode = run.settings.steering if queue == "steering" else run.settings.follow_up
    taken = waiting if mode == "all" else waiting[:1]
    origin = "steering" if queue == "steering" else "follow_up"
    messages = tuple(agent.counted(user(id, text, origin=origin)) for id, text in taken)
    agent.emit(
        ev.SteeringDelivered(messages=messages)
        if queue == "steering"
        else ev.FollowUpDelivered(messages=messages)
    )
    agent.sync()


async def _render(agent: Agent) -> None:
    """Render the system prompt for the model that is in use now."""
    run = agent.state.run
    assert run is not None
    spec = agent.kit.resolve(run.model)
    prompt = await agent.render_system(spec, agent.phase_mode())
    agent.emit(
        ev.ModelChanged(
            model=run.model,
            window=agent.window(spec),
            prices=agent.prices(spec),
            system=prompt.text,
            by="engine",
        )
    )


async def _ask(agent: Agent, trip: Trip) -> None:
    """Show the limit to the person and wait for the choice."""
    if trip.reason == "stalled":
        agent.emit(ev.Stall(kind="same_call", count=int(trip.used), action="ask"))
    agent.emit(
        ev.GuardTripped(
            reason=trip.reason, used=trip.used, allowed=trip.allowed, needed=trip.needed, asks=True
        )
    )
    run = agent.state.run
    assert run is not None
    await agent.until(lambda: run.asking is None)


def _close(agent: Agent, trip: Trip, *, call: bool) -> None:
    """Begin the graceful close: the instruction for one last call, or, where none is made, the mechanical summary."""
    run = agent.state.run
    assert run is not None
    if trip.reason == "stalled":
        agent.emit(ev.Stall(kind="same_call", count=int(trip.used), action="stop"))
    if run.choice is None:
        agent.emit(
            ev.GuardTripped(reason=trip.reason, used=trip.used, allowed=trip.allowed, needed=trip.needed)
        )
    message = (
        _system_message(agent, prompts.close_instruction(trip.reason, agent.kit.config.ui.language))
        if call
        else None
    )
    agent.emit(ev.Closing(reason=trip.reason, message=message))
    if not call:
        _canned(agent)


def _closed(agent: Agent) -> None:
    """A closing call that failed or brought no words is replaced by a canned summary."""
    tail = agent.state.tail
    if tail is None or tail.role != "assistant" or tail.interrupted or not tail.text.strip():
        _canned(agent)


def _canned(agent: Agent) -> None:
    run = agent.state.run
    assert run is not None
    text = ending.mechanical_close(agent.state, run)
    id = agent.kit.world.new_id()
    message = Message(
        id=id, role="assistant", parts=user(id, text).parts, origin="system", synthetic=True, model=run.model
    )
    agent.emit(ev.MessageEnd(message=agent.counted(message), purpose="close"))


async def _approve_plan(agent: Agent) -> None:
    """Show the plan of a mixed run; once approved, build with the plan in context."""
    state, kit = agent.state, agent.kit
    note = ""
    if kit.interactive:
        id = kit.world.new_id()
        agent.emit(
            ev.ApprovalRequested(
                id=id, call_id="", intent=Intent(tool=PLAN, effect="ask"), why="the plan is ready"
            )
        )
        await agent.until(lambda: id in state.resolved)
        answer = state.resolved[id]
        note = answer.note
        if answer.decision == "deny":
            if note:
                agent.emit(ev.SteeringDelivered(messages=(agent.counted(user(kit.world.new_id(), note)),)))
            return
    await agent.begin_build(_system_message(agent, prompts.plan_approved(note)))


async def _wait(agent: Agent, step: recovery.Again) -> None:
    """Wait before the next attempt; the wait is an event, so it can be seen and cut short."""
    run, world = agent.state.run, agent.kit.world
    assert run is not None
    wait = step.wait * (1 + JITTER * world.chance()) if step.failure.retry_after is None else step.wait
    agent.emit(
        ev.Retry(
            failure=step.failure, attempt=step.attempt, limit=step.limit, until=world.now() + wait, action=step.action,
            fallback=recovery.next_fallback(run),
        )
    )  # fmt: skip
    if wait <= 0:
        return
    pause = asyncio.ensure_future(world.sleep(wait))
    cut = asyncio.ensure_future(agent.until(lambda: bool(run.retry_cut)))
    try:
        await asyncio.wait({pause, cut}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        pause.cancel()
        cut.cancel()


async def _switch(agent: Agent, step: recovery.Switch) -> None:
    """Go on with the next model of the chain; one that can't be used is skipped with a note."""
    kit, run = agent.kit, agent.state.run
    assert run is not None
    try:
        spec = kit.resolve(step.target)
    except ConfigError as error:
        agent.emit(
            ev.Notice(level="warning", text=f"fallback {step.target} can't be used", detail=str(error))
        )
        agent.emit(ev.Fallback(source=run.model, target=step.target, why=step.failure.text))
        return
    prompt = await agent.render_system(spec, agent.phase_mode())
    until = kit.world.now() + step.failure.retry_after if step.failure.retry_after else 0.0
    agent.emit(
        ev.Fallback(
            source=run.model, target=step.target, why=step.failure.text, system=prompt.text, window=agent.window(spec),
            prices=agent.prices(spec), until=until,
        )
    )  # fmt: skip
    agent.measure()


def _system_message(agent: Agent, text: str) -> Message:
    return agent.counted(user(agent.kit.world.new_id(), text, origin="system", synthetic=True))
