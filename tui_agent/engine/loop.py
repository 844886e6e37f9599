"""The loop: ``decide`` says what comes next, ``run`` does it until nothing does.

The model ends the run by asking for no more tools. Everything that limits it (guards), mends it (recovery) or makes room
(compaction) is a step like any other, decided here and nowhere else. ``decide`` is pure: the same state gives the same step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from tui_agent.core.errors import Failure
from tui_agent.core.events import StopReason
from tui_agent.core.messages import Message, exchanges
from tui_agent.engine import guards, recovery
from tui_agent.engine.guards import Trip
from tui_agent.engine.stall import STOP_AT, WARN_AT, Repetition
from tui_agent.engine.state import Run, State

if TYPE_CHECKING:
    from tui_agent.engine.agent import Agent

NUDGES: dict[Literal["length", "empty", "malformed", "partial"], int] = {
    "length": 4, "empty": 3, "malformed": 3, "partial": 3,
}  # fmt: skip
"""How often in a row the model is asked to go on, by why."""
MAX_COMPACTIONS = 3
MAX_FUTILE = 2
MAX_CORRECTIONS = 2


class CallModel(msgspec.Struct, frozen=True):
    """One model call; ``grace``: the last one beyond the budget; ``closing``: without tools, for the summary."""

    grace: bool = False
    closing: bool = False


class RunTools(msgspec.Struct, frozen=True):
    """Answer every open call."""


class Deliver(msgspec.Struct, frozen=True):
    """Put waiting messages into the history."""

    queue: Literal["steering", "follow_up"]


class Render(msgspec.Struct, frozen=True):
    """The model was switched: make the system prompt anew."""


class Compact(msgspec.Struct, frozen=True):
    """Make room: ``summarise`` old exchanges, or (``drop``) leave out the oldest whole ones."""

    how: Literal["summarise", "drop"]
    why: str = ""


class Nudge(msgspec.Struct, frozen=True):
    why: Literal["length", "empty", "malformed", "partial"]
    attempt: int
    limit: int


class Warn(msgspec.Struct, frozen=True):
    """Tell the model that it repeats itself."""

    repetition: Repetition


class Evaluate(msgspec.Struct, frozen=True):
    attempt: int
    correct: bool
    """Ask for a correction if it does not pass."""


class ApprovePlan(msgspec.Struct, frozen=True):
    """A mixed run's plan is written: show it, then build."""


class Ask(msgspec.Struct, frozen=True):
    """A limit tripped and a person is there: continue, summarise or stop?"""

    trip: Trip


class Close(msgspec.Struct, frozen=True):
    """The graceful close; ``call``: one last model call without tools, otherwise a mechanical summary."""

    trip: Trip
    call: bool = True


class Finish(msgspec.Struct, frozen=True):
    """End the run."""

    reason: StopReason
    failure: Failure | None = None


Step = (
    CallModel | RunTools | Deliver | Render | Compact | Nudge | Warn | Evaluate | ApprovePlan | Ask | Close | Finish
    | recovery.Again | recovery.Switch
)  # fmt: skip

_ASKS_THE_MODEL = CallModel | Deliver | Nudge | Compact | Warn
"""Steps that lead to a model call: the guards are asked before them."""


async def run(agent: Agent) -> None:
    """Drive one run to its end; whatever happens, open calls are answered and exactly one ``agent_end`` is emitted."""
    try:
        while (step := decide(agent.state)) is not None:
            await agent.perform(step)
    except Exception as error:  # noqa: BLE001 - a bug ends the run, never the program
        agent.fail(error)
    finally:
        agent.settle()


def decide(state: State) -> Step | None:
    """The next step for this state; None when no run is going on. First match wins."""
    run = state.run
    if run is None:
        return None
    if run.cut is not None:
        return Finish("user_interrupt")
    if state.open_calls:
        return RunTools()
    if run.closing is not None:
        return Finish(run.closing.reason) if run.closed else CallModel(closing=True)
    if run.terminate:
        return Finish("llm_done")
    if run.stale_system:
        return Render()
    step = _work(state, run)
    if isinstance(step, _ASKS_THE_MODEL):
        if run.stop_after and run.calls_made:
            return Finish("user_interrupt")
        if trip := guards.first(state):
            return _tripped(state, run, step, trip)
    return step


def _work(state: State, run: Run) -> Step:
    """What the conversation itself needs, limits aside."""
    if run.failure is not None and not run.failure.step:
        return _recover(run, run.failure)
    tail = state.tail
    if state.steering and run.calls_made:
        return Deliver("steering")
    if run.empty_reply or (tail is not None and tail.role == "assistant"):
        return _after_reply(state, run, tail)
    if run.bad_batches > NUDGES["malformed"]:
        return Close(Trip("incomplete", run.bad_batches, NUDGES["malformed"]))
    if (found := _repetition_to_warn_of(run)) is not None:
        return Warn(found)
    return _make_room(state, run) or CallModel()


def _after_reply(state: State, run: Run, reply: Message | None) -> Step:
    """The model asked for no tools: is it really done, and is anything else waiting?"""
    why = _unfinished(run, reply)
    if why is not None:
        attempt, limit = run.nudges.get(why, 0) + 1, NUDGES[why]
        if attempt > limit:
            return Close(Trip("incomplete", attempt - 1, limit))
        return Nudge(why, attempt, limit)
    if run.phase == "plan":
        return ApprovePlan()
    if (step := _evaluation_due(state, run)) is not None:
        return step
    if state.follow_ups and not run.stop_after:
        return Deliver("follow_up")
    return Finish("llm_done")


def _unfinished(run: Run, reply: Message | None) -> Literal["length", "empty", "partial"] | None:
    if run.broken_stream:
        return "partial"
    if run.empty_reply:
        return "empty"
    return "length" if reply is not None and reply.finish == "length" and not reply.interrupted else None


def _recover(run: Run, failure: Failure) -> Step:
    """Map the recovery table onto steps; a reply with neither text nor calls is nudged before it is retried."""
    move = recovery.plan(run, failure)
    match move:
        case recovery.Shrink():
            return Compact(
                "summarise" if run.overflows == 0 else "drop", "the provider found the prompt too long"
            )
        case recovery.GiveUp():
            reason: StopReason = "context_full" if failure.kind == "context_overflow" else "llm_error"
            return Finish(reason, failure)
        case _:
            return move


def _repetition_to_warn_of(run: Run) -> Repetition | None:
    found = run.repetitions.find()
    if found is None or not WARN_AT <= found.count < STOP_AT or run.warned_at >= WARN_AT:
        return None
    return found


def _make_room(state: State, run: Run) -> Compact | None:
    """Level 2 above ``compact_at`` when enough exchanges are there, level 3 when the window is nearly full all the same."""
    share, settings = state.context_share, run.settings
    if share <= settings.compact_at:
        return None
    enough = sum(1 for _ in exchanges(state.messages)) > settings.summarize_after_steps
    if enough and run.compactions < MAX_COMPACTIONS and run.futile < MAX_FUTILE:
        return Compact("summarise")
    if share > settings.critical_at and run.futile < MAX_FUTILE:
        return Compact("drop")
    return None


def _evaluation_due(state: State, run: Run) -> Evaluate | None:
    """Only a success is evaluated, each answer once, and only while the budget allows."""
    mode, done = run.settings.self_eval, run.evaluations
    if mode == "off" or guards.budget(state) is not None:
        return None
    if done and (done[-1].passed or done[-1].error or done[-1].message is None):
        return None
    corrections = len(done)
    return Evaluate(corrections + 1, correct=mode == "full" and corrections < MAX_CORRECTIONS)


def _tripped(state: State, run: Run, step: Step, trip: Trip) -> Step:
    """A limit stands in the way of ``step``: compaction may still help, then one grace call, the person, or the close."""
    if isinstance(step, Compact) and trip.reason == "context_full":
        return step
    if trip.reason == "max_steps" and not run.grace_used and _unseen_results(state):
        return step if isinstance(step, Deliver | Compact) else CallModel(grace=True)
    if run.choice == "stop":
        return Finish(trip.reason)
    if run.choice is None and run.settings.interactive and trip.extends is not None:
        return Ask(trip)
    return Close(trip, call=trip.reason != "budget_exceeded" or state.closing_affordable())


def _unseen_results(state: State) -> bool:
    """True if tool results stand after the model's last message."""
    for message in reversed(state.messages):
        if message.role == "assistant":
            return False
        if message.role == "tool":
            return True
    return False
