"""The agent: one session's state, its event bus, and what the steps need from it.

``emit`` is the only way anything happens: log, then state, then readers, in that order.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from tui_agent.context.repair import Repairs
from tui_agent.context.shrink import truncate
from tui_agent.core import events as ev
from tui_agent.core.errors import SessionError
from tui_agent.core.events import Event, Mode, RunLimits
from tui_agent.core.messages import Call, Message
from tui_agent.core.tool import Intent, Output
from tui_agent.engine import advisors, ending, steps
from tui_agent.engine.calls import INTERRUPTED, NOT_STARTED, Batch
from tui_agent.engine.deltas import Deltas, Piece
from tui_agent.engine.history import ApiCopy
from tui_agent.engine.kit import Kit, SystemPrompt
from tui_agent.engine.loop import Step
from tui_agent.engine.state import State
from tui_agent.llm.api import ModelSpec, ToolSchema
from tui_agent.policy.permissions import Verdict

logger = logging.getLogger(__name__)

E = TypeVar("E", bound=Event)
Reader = Callable[[Event], None]
LIVE_CHARS = 65_536
"""Tail of a running call's output that is kept, to answer the call if it is interrupted."""
BUDGET_WARNING = 0.8
"""Share of the budget at which the person is warned, once a run."""


class EventLog(Protocol):
    """Where events are kept; ``append`` stamps and returns the event."""

    def append(self, event: E) -> E: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


class MemoryLog:
    """A log that keeps nothing: for ``auto_save: false``, and for what remains of a run after the disk failed."""

    def __init__(self, now: Callable[[], float], next_seq: int = 1) -> None:
        self._now, self._next = now, next_seq

    def append(self, event: E) -> E:
        stamped = msgspec.structs.replace(event, seq=self._next, ts=event.ts or self._now())
        self._next += 1
        return stamped

    def sync(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


class Agent:
    """Holds the state and does what the loop decides; commands reach it through ``Mailbox``."""

    def __init__(self, kit: Kit, log: EventLog, state: State) -> None:
        self.kit, self.log, self.state = kit, log, state
        self.readers: list[Reader] = []
        self.log_readers: list[Reader] = []
        """Who also wants streamed pieces as the log has them: merged, and stamped with a number of their own."""
        self.deltas = Deltas(self._show_piece, self._write_piece)
        self.batch: Batch | None = None
        self.drafts: list[tuple[str, str]] = []
        self._step: asyncio.Task[None] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._live: dict[str, str] = {}
        self._copy = ApiCopy(kit.count)
        self._call_ids = {call.id for message in state.messages for call in message.calls}
        self._crash = ""
        self._noted: set[str] = set()
        self._schemas: dict[tuple[str, ...], tuple[ToolSchema, ...]] = {}

    # ---- the bus

    def emit(self, event: E) -> E:
        """Log, fold, publish. A log that can't be written stops the run, with what to do; the session goes on in memory."""
        self.deltas.flush()
        if not event.ts:
            event = msgspec.structs.replace(event, ts=self.kit.world.now())
        try:
            event = self.log.append(event)
        except SessionError as error:
            event = self._without_disk(error).append(event)
        self.state.apply(event)
        self._publish(event)
        return event

    def publish(self, event: Event) -> None:
        """Tell the readers something that is no part of the session."""
        self._publish(event)

    def sync(self) -> None:
        """Make what was logged survive a power cut."""
        try:
            self.log.sync()
        except SessionError as error:
            self._without_disk(error)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for events until ``holds``."""
        while not holds():
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def _publish(self, event: Event) -> None:
        for reader in self.readers:
            reader(event)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _show_piece(self, piece: Piece) -> None:
        piece = msgspec.structs.replace(piece, ts=self.kit.world.now())
        self.state.apply(piece)
        for reader in self.readers:
            reader(piece)

    def _write_piece(self, piece: Piece) -> None:
        try:
            piece = self.log.append(msgspec.structs.replace(piece, ts=self.kit.world.now()))
        except SessionError as error:
            self._without_disk(error)
            return
        for reader in self.log_readers:
            reader(piece)

    def _without_disk(self, error: SessionError) -> MemoryLog:
        memory = MemoryLog(self.kit.world.now, self.state.seq + 1)
        self.log = memory
        self.publish(
            ev.Notice(
                level="error", text=f"The session can't be saved any more: {error}", ts=self.kit.world.now(),
                hint="The run stops here; what is on the screen is not lost until you leave.",
            )
        )  # fmt: skip
        if self.state.run is not None and self.state.run.cut is None:
            self.state.run.cut = ev.InterruptRequested(how="now", by="engine")
            self.interrupt(0.0)
        return memory

    # ---- steps

    async def perform(self, step: Step) -> None:
        """Do one step; a person's cut ends it and is no error."""
        self._step = asyncio.create_task(steps.perform(self, step))
        try:
            await self._step
        except asyncio.CancelledError:
            current = asyncio.current_task()
            run = self.state.run
            if (current is not None and current.cancelling()) or run is None or run.cut is None:
                raise
        finally:
            self._step = None

    def interrupt(self, grace: float) -> None:
        """End the step that runs: a stream at once, a tool after ``grace`` seconds."""
        if self.batch is not None:
            self.batch.interrupt(grace)
        elif self._step is not None:
            self._step.cancel()

    def fail(self, error: Exception) -> None:
        """A bug: it ends the run, and its traceback is in the log."""
        self._crash = "".join(traceback.format_exception(error))
        logger.error("internal error: %s", self._crash)

    def settle(self) -> None:
        """After a run, however it ended: every call answered, one ``agent_end``, everything on disk."""
        self.batch, self._step = None, None
        self.drafts.clear()
        self._live.clear()
        if self.state.run is not None:
            self.answer_open_calls()
            reason: ev.StopReason = "internal_error" if self._crash else "user_interrupt"
            self.emit(ending.ending(self.state, self.state.run, reason, detail=self._crash))
        self._crash = ""
        self.sync()

    def recover(self) -> None:
        """After a resume: what was under way when the engine was killed is closed, and nothing is run again by itself."""
        partial = self.state.partial
        if partial is not None and (message := partial.message()) is not None:
            self.emit(ev.MessageEnd(message=self.counted(message), purpose=partial.purpose))
        self.answer_open_calls(killed=True)
        run = self.state.run
        if run is not None:
            self.emit(
                ending.ending(self.state, run, "user_interrupt", detail="the engine ended while it worked")
            )
            self.sync()

    def answer_open_calls(self, *, killed: bool = False) -> None:
        """Answer what has no answer yet, so that the history stays valid."""
        for entry in list(self.state.open_calls.values()):
            if entry.result is not None:
                continue
            text = NOT_STARTED
            if entry.started:
                text = (
                    "[Interrupted: the program ended while this ran; outcome unknown.]"
                    if killed
                    else INTERRUPTED
                )
            self.emit(
                ev.ToolExecutionEnd(
                    call_id=entry.call.id, name=entry.call.name, text=text, tokens=self.result_tokens(text),
                    status="interrupted" if entry.started else "not_started",
                    summary="interrupted" if entry.started else "not started",
                )
            )  # fmt: skip

    def end_turn(self, tool_calls: int) -> None:
        run = self.state.run
        self.emit(ev.TurnEnd(step=run.iterations.used if run else 0, tool_calls=tool_calls))
        self.sync()

    def measure(self) -> None:
        """Say how full the window is, and warn once where a limit comes near."""
        state, run = self.state, self.state.run
        self.emit(ev.Context(used=state.context_used, window=state.window, exact=state.context_exact))
        if run is None:
            return
        budget = run.budget_usd
        if budget and run.cost >= BUDGET_WARNING * budget and "budget_usd" not in run.warned:
            self.emit(ev.LimitWarning(limit="budget_usd", used=run.cost, allowed=budget))
        if run.iterations.remaining == 1 and "max_steps" not in run.warned:
            self.emit(
                ev.LimitWarning(limit="max_steps", used=run.iterations.used, allowed=run.iterations.limit)
            )

    # ---- requests

    def api_messages(self) -> list[Message]:
        """The history as it is sent: repaired, results capped, advisors' drafts added."""
        run = self.state.run
        cap = run.settings.max_tool_result_tokens if run else self.kit.config.context.max_tool_result_tokens
        try:
            messages, repairs = self._copy.prepare(self.state.messages, cap)
        except Exception as error:  # noqa: BLE001 - preparing must not end a run: the untouched messages go out instead
            self.log_error("context", error)
            self._copy = ApiCopy(self.kit.count)
            messages, repairs = self.state.messages, Repairs()
            self.emit(
                ev.Notice(level="warning", text="The context could not be prepared; it is sent as it is.")
            )
        if repairs:
            self.emit(ev.Repair(merged=repairs.merged, dropped=repairs.dropped, answered=repairs.answered))
        return advisors.with_drafts(list(messages), self.drafts)

    def phase_mode(self) -> Mode:
        """The mode that counts now: a mixed run plans first, then builds."""
        run = self.state.run
        if run is not None and run.phase == "plan":
            return "plan"
        mode = run.mode if run is not None else self.state.mode
        return "build" if mode == "mixed" else mode

    def tool_names(self, mode: Mode | None = None) -> tuple[str, ...]:
        """The tools that the mode allows: all, or in plan mode those that change nothing."""
        registry = self.kit.registry
        if (mode or self.phase_mode()) != "plan":
            return tuple(registry.names)
        return tuple(tool.name for tool in registry if tool.effect in ("read", "ask"))

    def tool_schemas(self, mode: Mode | None = None) -> tuple[ToolSchema, ...]:
        """Their schemas, the same objects in the same order at every call, so that provider caches hit."""
        names = self.tool_names(mode)
        if names not in self._schemas:
            self._schemas[names] = tuple(ToolSchema(*row) for row in self.kit.registry.schemas(names))
        return self._schemas[names]

    async def render_system(self, spec: ModelSpec, mode: Mode, request: str = "") -> SystemPrompt:
        """The system prompt for ``request`` (default: the person's last one); what was left out is said once."""
        people = (m for m in reversed(self.state.messages) if m.role == "user" and not m.synthetic)
        asked = request or next((m.text for m in people), "")
        prompt = await asyncio.to_thread(self.kit.render_system, spec, mode, asked)
        for note in prompt.notes:
            if note not in self._noted:
                self._noted.add(note)
                self.emit(ev.Notice(level="warning", text=note))
        return prompt

    async def begin_build(self, message: Message) -> None:
        """The build phase of a mixed run: all tools, the build prompt, the plan in context."""
        run = self.state.run
        assert run is not None
        prompt = await self.render_system(self.kit.resolve(run.model), "build")
        tools = self.tool_schemas("build")
        self.emit(
            ev.PhaseChanged(
                system=prompt.text,
                tools=self.tool_names("build"),
                tools_tokens=self.kit.count_tools(tools),
                message=message,
            )
        )

    def counted(self, message: Message) -> Message:
        return msgspec.structs.replace(message, tokens=self.kit.count_message(message))

    def result_tokens(self, text: str) -> int:
        """Tokens of a tool's answer as the model will see it, after truncation."""
        cap = self.kit.config.context.max_tool_result_tokens
        return self.kit.count(truncate(text, cap, self.kit.count)[0])

    def unique_call(self, call: Call) -> Call:
        """The call with an id that no earlier call of the session has; some servers number from 0 in every reply."""
        id = call.id if call.id and call.id not in self._call_ids else f"call_{self.kit.world.new_id()}"
        self._call_ids.add(id)
        return call if id == call.id else msgspec.structs.replace(call, id=id)

    def window(self, spec: ModelSpec) -> int:
        """Tokens that a request may have; 0 = unknown."""
        own = self.kit.config.context.max_context_tokens or 0
        return min(own, spec.window) if own and spec.window else own or spec.window

    def prices(self, spec: ModelSpec) -> tuple[float, float] | None:
        if spec.input_price is None or spec.output_price is None:
            return None
        return (spec.input_price, spec.output_price)

    def limits(self) -> RunLimits:
        """The limits for a new run: the configuration's, changed by what the person set for this session."""
        section, changed = self.kit.config.limits, self.state.limit_changes
        steps_limit = changed.get("max_steps") or section.max_steps
        return RunLimits(
            max_steps=int(steps_limit), hard_max_steps=section.hard_max_steps,
            budget_usd=changed.get("budget_usd", section.budget_usd), timeout=changed.get("timeout", section.timeout),
            step_timeout=section.step_timeout, stall_timeout=section.stall_timeout,
        )  # fmt: skip

    def time_left(self) -> float | None:
        """Seconds until the run's timeout cuts what runs; None: nothing is cut (no timeout, or a person can be asked first)."""
        run = self.state.run
        if run is None or run.timeout is None or self.kit.interactive:
            return None
        return max(0.05, run.timeout - (self.kit.world.now() - run.started - run.waited))

    def time_for_a_call(self) -> float:
        """The step timeout of the next model call, shortened to what is left of the run's time. Seconds, 0 = none."""
        run = self.state.run
        limit, left = (run.limits.step_timeout if run else 0.0), self.time_left()
        return limit if left is None else min(limit, left) if limit else left

    # ---- what running calls need

    def live_output(self, call_id: str, text: str) -> None:
        if not text:
            return
        self._live[call_id] = (self._live.get(call_id, "") + text)[-LIVE_CHARS:]
        self.deltas.push(ev.ToolExecutionUpdate(call_id=call_id, text=text))

    def take_live_output(self, call_id: str) -> str:
        return self._live.pop(call_id, "")

    def as_output(self, text: str) -> Output | None:
        return Output(text) if text else None

    def judge(self, intent: Intent) -> Verdict:
        """What policy says of an intent, the mode included."""
        if self.phase_mode() == "plan" and intent.effect not in ("read", "ask"):
            return Verdict("deny", "plan mode only reads")
        return self.kit.rules.judge(intent, self.state.confirm, self.state.untrusted)

    def add_rule(self, rule: str, *, always: bool) -> None:
        """Allow what ``rule`` covers from now on, for the session or for good."""
        if not rule:
            return
        self.kit.rules = self.kit.rules.with_rule(rule)
        if always:
            self.kit.remember_rule(rule)

    async def ask_person(self, call_id: str, question: str, options: tuple[str, ...]) -> str | None:
        """Put a question of the model to the person; None when nobody is there or the run was cut."""
        if not self.kit.interactive:
            return None
        id = self.kit.world.new_id()
        self.emit(ev.QuestionAsked(id=id, call_id=call_id, question=question, options=options))
        await self.until(lambda: id in self.state.answers)
        return self.state.answers[id].text

    def withdraw_questions(self, call_id: str) -> None:
        """Close what a cut call was still asking."""
        for asked in [a for a in self.state.approvals.values() if a.call_id == call_id]:
            self.emit(ev.ApprovalResolved(id=asked.id, decision="deny", by="interrupt"))
        for question in [q for q in self.state.questions.values() if q.call_id == call_id]:
            self.emit(ev.QuestionAnswered(id=question.id, text=None))

    def request_steps(self, reason: str) -> str:
        """The model asks for more steps: ``extend_by`` more, up to the hard ceiling; the person can veto."""
        run = self.state.run
        if run is None:
            return "No run is going on."
        limit, ceiling = run.iterations.limit, run.limits.hard_max_steps
        if run.held:
            return f"Refused: the person wants you to finish within {limit} steps ({run.iterations.remaining} left)."
        more = min(limit + run.settings.extend_by, ceiling)
        if more <= limit:
            return f"Refused: the hard ceiling of {ceiling} steps is reached. Finish with the steps that are left."
        self.emit(ev.LimitExtended(limit="max_steps", value=more, by="model", why=reason))
        return f"Granted: the limit is now {more} steps ({run.iterations.remaining} left)."

    def log_error(self, where: str, error: Exception) -> None:
        logger.error("%s: %s", where, "".join(traceback.format_exception(error)))
