"""Commands become events: the person's side of the agent. Nothing here decides what the run does next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.commands import Command
from tui_agent.core.errors import AgentError, ConfigError
from tui_agent.core.messages import Call, Image, Message, Text, user
from tui_agent.engine import compaction, loop
from tui_agent.engine.agent import Agent
from tui_agent.engine.calls import CallContext
from tui_agent.engine.routing import route
from tui_agent.engine.state import Run, State
from tui_agent.llm.api import ModelSpec

BUDGET_EXTENSION = 1.5
"""A tripped budget or timeout is raised to this multiple."""


class Mailbox:
    """Takes the commands of one session. ``handle`` never blocks and never raises."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._task: asyncio.Task[None] | None = None
        self._side_work = False
        self._early_cut: ev.InterruptRequested | None = None
        self.closed = asyncio.Event()

    @property
    def busy(self) -> bool:
        """True from the moment a prompt is taken until its run has ended."""
        return self._task is not None and not self._task.done()

    def handle(self, command: Command) -> None:
        """Do what a command asks, or say why not."""
        handler = _HANDLERS.get(type(command))
        if handler is None:
            self._say("warning", f"{type(command).__name__} is not something this engine does")
            return
        try:
            handler(self, command)
        except AgentError as error:
            self._say("error", str(error))

    async def idle(self) -> None:
        """Wait until no run is going on."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    async def shutdown(self) -> None:
        """Cut what runs, save, and close the log; once."""
        if self.closed.is_set():
            return
        self.interrupt(now=True, by="engine")
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=5)
        agent = self.agent
        agent.settle()
        agent.emit(ev.SessionEnd())
        agent.sync()
        agent.log.close()
        await agent.kit.model.close()
        self.closed.set()

    # ---- runs

    def prompt(self, text: str, images: tuple[tuple[str, str], ...] = ()) -> None:
        """Start a run with a message; while one goes on, steer it."""
        if self.busy:
            self.steer(text)
            return
        if not self.agent.state.model:
            self._say("error", "No model is chosen.", "Choose one with f3 or /model, or start with --demo.")
            return
        parts = (Text(text), *(Image(kind, data) for kind, data in images))
        message = Message(id=self.agent.kit.world.new_id(), role="user", parts=parts, origin="person")
        self._start(message)

    def steer(self, text: str) -> None:
        if not self.busy:
            self.prompt(text)
            return
        self.agent.emit(ev.SteeringQueued(id=self.agent.kit.world.new_id(), text=text))
        self.agent.sync()

    def queue(self, text: str) -> None:
        if not self.busy:
            self.prompt(text)
            return
        self.agent.emit(ev.FollowUpQueued(id=self.agent.kit.world.new_id(), text=text))
        self.agent.sync()

    def resume_run(self) -> None:
        """Continue from the stored context without a new prompt (``/continue``)."""
        why = "the agent is running" if self.busy else self.agent.state.can_continue
        if why:
            self._say("warning", f"Can't continue: {why}.")
            return
        self._start(None)

    def interrupt(self, *, now: bool, by: Any = "person") -> None:
        """Graceful at first, at once when asked again; nothing while idle."""
        run = self.agent.state.run
        grace = self.agent.kit.config.limits.interrupt_grace
        at_once = now or (run is not None and run.cut is not None) or self._early_cut is not None
        event = ev.InterruptRequested(
            how="now" if at_once else "graceful", grace=0.0 if at_once else grace, by=by
        )
        if run is None:
            if self._side_work and self._task is not None:
                self._task.cancel()
            elif self.busy:
                self._early_cut = event
            return
        if run.cut is not None and run.cut.how == "now":
            return
        self.agent.emit(event)
        self.agent.interrupt(event.grace)

    def stop_after_step(self) -> None:
        if self.agent.state.run is not None:
            self.agent.emit(ev.InterruptRequested(how="after_step"))

    def _start(self, message: Message | None) -> None:
        self.agent.kit.resolve(self.agent.state.model)
        self._early_cut, self._side_work = None, False
        self._task = asyncio.create_task(self._guarded("The run", self._run(message)))

    async def _run(self, message: Message | None) -> None:
        agent = self.agent
        spec, why = self._choose(message.text if message else "")
        agent.emit(await self._agent_start(spec, why, message))
        if message is not None:
            agent.emit(ev.MessageStart(id=message.id, role="user", origin="person"))
            agent.emit(ev.MessageEnd(message=agent.counted(message)))
        agent.sync()
        agent.measure()
        if self._early_cut is not None:
            agent.emit(self._early_cut)
        await loop.run(agent)

    async def _agent_start(self, spec: ModelSpec, why: str, message: Message | None) -> ev.AgentStart:
        agent, kit, state = self.agent, self.agent.kit, self.agent.state
        phased = state.mode == "mixed"
        first = "plan" if state.mode in ("plan", "mixed") else "build"
        prompt = await agent.render_system(spec, first, message.text if message else "")
        config = kit.config
        tools = agent.tool_schemas(first)
        settings = ev.RunSettings(
            fallbacks=config.fallbacks, self_eval=config.self_eval, extend_by=config.limits.extend_by,
            summarize_after_steps=config.context.summarize_after_steps, keep_recent=config.context.keep_recent,
            compact_at=config.context.compact_at, critical_at=config.context.critical_at,
            max_tool_result_tokens=config.context.max_tool_result_tokens, steering=config.queues.steering,
            follow_up=config.queues.follow_up, interrupt_grace=config.limits.interrupt_grace,
            interactive=kit.interactive, phased=phased,
        )  # fmt: skip
        return ev.AgentStart(
            run=kit.world.new_id(), model=spec.alias or spec.name, limits=agent.limits(), settings=settings,
            prices=agent.prices(spec), window=agent.window(spec), system=prompt.text, parts=prompt.parts,
            tools=agent.tool_names(first), tools_tokens=kit.count_tools(tools), continued=message is None, why=why,
        )  # fmt: skip

    def _choose(self, text: str) -> tuple[ModelSpec, str]:
        """The model of the next run: the chosen one, what routing says, or a fallback while the chosen one cools down."""
        agent, kit = self.agent, self.agent.kit
        name, why = ("", "") if agent.state.hand_picked or not text else route(kit.config.routing, text)
        spec = kit.resolve(name or agent.state.model)
        now = kit.world.now()
        if until := kit.rate_limits.until(kit.account(spec), now):
            for fallback in kit.config.fallbacks:
                other = kit.resolve(fallback)
                if not kit.rate_limits.until(kit.account(other), now):
                    return other, f"{spec.label} is rate limited for another {until - now:.0f} s"
        return spec, why

    # ---- other commands

    def answer(self, id: str, text: str) -> None:
        state, kit = self.agent.state, self.agent.kit
        if id == "retry":
            if state.run is not None and state.run.retry is not None and text in ("now", "fallback", "stop"):
                if text == "now":
                    kit.rate_limits.clear(kit.account(kit.resolve(state.run.model)), kit.world.now())
                self.agent.emit(ev.RetryCut(choice=text))  # pyright: ignore[reportArgumentType]
        elif id in state.questions:
            self.agent.emit(ev.QuestionAnswered(id=id, text=text))

    def extend(self, choice: ev.Choice, amount: float | None) -> None:
        """The person's choice on a tripped limit."""
        run = self.agent.state.run
        if run is None or run.asking is None:
            return
        limit = _LIMIT_OF.get(run.asking.reason, "stall")
        value = self._extended(run, limit, amount) if choice == "continue" else 0.0
        self.agent.emit(ev.LimitExtended(limit=limit, choice=choice, value=value))

    def _extended(self, run: Run, limit: ev.Limit, amount: float | None) -> float:
        match limit:
            case "max_steps":
                return run.iterations.limit + (amount or run.settings.extend_by)
            case "budget_usd":
                budget = run.budget_usd or run.cost
                needed = run.cost + (run.asking.needed if run.asking else 0.0)
                return budget + amount if amount else max(budget, run.cost, needed) * BUDGET_EXTENSION
            case "timeout" if run.failure is not None and run.failure.step:
                base = run.limits.step_timeout
                return base + amount if amount else base * BUDGET_EXTENSION
            case "timeout":
                base = max(run.timeout or 0.0, self.agent.state.elapsed)
                return base + amount if amount else base * BUDGET_EXTENSION
            case "stall":
                return 0.0

    def set_model(self, name: str) -> None:
        """Change the model from the next call on."""
        agent = self.agent
        spec = agent.kit.resolve(name)
        agent.emit(
            ev.ModelChanged(
                model=spec.alias or spec.name, window=agent.window(spec), prices=agent.prices(spec)
            )
        )

    def set_mode(self, mode: ev.Mode | None, confirm: ev.ConfirmMode | None) -> None:
        self.agent.emit(ev.ModeChanged(mode=mode, confirm=confirm))
        if mode is not None and self.busy:
            self._say("info", f"Mode {mode} counts from the next message on.")

    def set_limit(self, limit: ev.Limit, value: float | None) -> None:
        self.agent.emit(ev.LimitChanged(limit=limit, value=value))

    def edit_queued(self, id: str, text: str | None) -> None:
        state = self.agent.state
        if id in state.steering or id in state.follow_ups:
            self.agent.emit(ev.SteeringEdited(id=id, text=text))
        else:
            self._say("info", "That message has already been delivered.")

    def approve(self, command: cmd.Approve) -> None:
        if command.id not in self.agent.state.approvals:
            return
        self.agent.emit(
            ev.ApprovalResolved(
                id=command.id, decision=command.decision, arguments=command.arguments, note=command.note
            )
        )

    def compact(self, keep: str) -> None:
        if self.busy:
            self._say("info", "The agent is running; it makes room by itself when it has to.")
            return
        self._begin_side_work("Compaction", compaction.summarise(self.agent, keep=keep))

    def rewind(self, command: cmd.RewindTo) -> None:
        """Take the conversation back to where it was after an event; the files stay as they are."""
        read_log = self.agent.kit.read_log
        if self.busy:
            self._say("info", "The agent is running; interrupt it first.")
        elif read_log is None:
            self._say("warning", "This session is not saved, so there is nothing to go back to.")
        elif not command.conversation:
            self._say("warning", "Files can't be taken back in this version; nothing was changed.")
        else:
            self._begin_side_work("Going back", self._rewind(command, read_log))

    async def _rewind(self, command: cmd.RewindTo, read_log: Callable[[], Iterable[ev.Event]]) -> None:
        earlier = await asyncio.to_thread(_folded, read_log, command.to_seq)
        held = {message.id for message in self.agent.state.messages}
        self.agent.emit(
            ev.Rewind(
                to_seq=command.to_seq,
                history=tuple(message.id for message in earlier.messages),
                restored=tuple(message for message in earlier.messages if message.id not in held),
            )
        )
        self.agent.sync()
        self.agent.measure()
        if command.files:
            self._say("warning", "The conversation went back; files can't be taken back in this version.")

    def shell(self, line: str, *, hidden: bool) -> None:
        if self.busy:
            self._say("info", "Shell lines run when the agent is idle; this one was not run.")
            return
        self._begin_side_work("The shell line", self._shell(line, hidden=hidden))

    async def _shell(self, line: str, *, hidden: bool) -> None:
        """Run a person's own shell line with the agent's tool; the model sees it with the next prompt unless hidden."""
        agent, kit = self.agent, self.agent.kit
        tool = kit.registry.get("run_command")
        if tool is None:
            raise ConfigError("there is no run_command tool here")
        call = Call(id=f"shell-{kit.world.new_id()}", name="run_command", arguments={"command": line})
        context = CallContext(agent, call.id, kit.workspace, agent.state.id, kit.session_dir, False, kit.seen)
        agent.emit(ev.ToolExecutionStart(call=call, summary=line, effect="execute"))
        agent.sync()
        began = kit.world.now()
        status: ev.ToolStatus = "interrupted"
        text = summary = ""
        display = None
        try:
            result = await tool.run(call.arguments, context)
            status, text, summary = "ok" if result.ok else "error", result.for_model, result.summary
            display = result.display
        except AgentError as error:
            status, text = "error", str(error)
        finally:
            agent.emit(
                ev.ToolExecutionEnd(
                    call_id=call.id, name=call.name, status=status, text=text, summary=summary, display=display,
                    duration=round(kit.world.now() - began, 3),
                )
            )  # fmt: skip
        if not hidden:
            said = user(kit.world.new_id(), f"I ran a command myself:\n$ {line}\n{text}", synthetic=True)
            agent.emit(ev.MessageEnd(message=agent.counted(said)))

    def _begin_side_work(self, what: str, work: Coroutine[Any, Any, None]) -> None:
        self._side_work = True
        self._task = asyncio.create_task(self._guarded(what, work))

    async def _guarded(self, what: str, work: Coroutine[Any, Any, None]) -> None:
        """Whatever fails outside the loop becomes a notice; the session goes on."""
        try:
            await work
        except (AgentError, OSError) as error:
            self._say("error", f"{what} failed: {error}", "What you typed is on ↑ in the composer.")
        except Exception as error:  # noqa: BLE001 - a bug must not end the session
            self.agent.log_error(what, error)
            self._say("error", f"{what} failed: {type(error).__name__}: {error}")

    def _say(self, level: Any, text: str, hint: str = "") -> None:
        self.agent.emit(ev.Notice(level=level, text=text, hint=hint))


def _folded(read_log: Callable[[], Iterable[ev.Event]], to_seq: int) -> State:
    """The state after event ``to_seq``; called in a thread."""
    state = State()
    for event in read_log():
        if event.seq > to_seq:
            break
        state.apply(event)
    return state


_LIMIT_OF: dict[ev.StopReason, ev.Limit] = {
    "max_steps": "max_steps", "budget_exceeded": "budget_usd", "timeout": "timeout", "stalled": "stall",
}  # fmt: skip

_HANDLERS: dict[type[Command], Callable[[Mailbox, Any], object]] = {
    cmd.Prompt: lambda box, c: box.prompt(c.text, c.images),
    cmd.Steer: lambda box, c: box.steer(c.text),
    cmd.Queue: lambda box, c: box.queue(c.text),
    cmd.EditQueued: lambda box, c: box.edit_queued(c.id, c.text),
    cmd.DropQueued: lambda box, c: box.edit_queued(c.id, None),
    cmd.Interrupt: lambda box, c: box.interrupt(now=c.now, by=c.by),
    cmd.StopAfterStep: lambda box, _: box.stop_after_step(),
    cmd.Approve: lambda box, c: box.approve(c),
    cmd.Answer: lambda box, c: box.answer(c.id, c.text),
    cmd.Extend: lambda box, c: box.extend(c.choice, c.amount),
    cmd.SetModel: lambda box, c: box.set_model(c.model),
    cmd.SetMode: lambda box, c: box.set_mode(c.mode, c.confirm),
    cmd.SetLimit: lambda box, c: box.set_limit(c.limit, c.value),
    cmd.Compact: lambda box, c: box.compact(c.keep),
    cmd.Continue: lambda box, _: box.resume_run(),
    cmd.RewindTo: lambda box, c: box.rewind(c),
    cmd.Rename: lambda box, c: box.agent.emit(ev.SessionRenamed(title=c.title)),
    cmd.RunShell: lambda box, c: box.shell(c.line, hidden=c.hidden),
}
