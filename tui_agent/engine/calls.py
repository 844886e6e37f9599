"""Tool calls: check, judge, approve, run, hooks — then one answer each, whatever happens.

Several reads run at once (up to ``AT_ONCE``); anything that changes something is a barrier. Answers go out as calls finish;
the history takes them in the model's order (``state.py``).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tui_agent.core import events as ev
from tui_agent.core.errors import ToolError
from tui_agent.core.messages import Call
from tui_agent.core.tool import Intent, Tool, ToolResult
from tui_agent.policy import hooks as hook_policy
from tui_agent.policy.permissions import Verdict

if TYPE_CHECKING:
    from tui_agent.engine.agent import Agent

AT_ONCE = 4
"""Calls that may run at once."""


@dataclass(slots=True)
class CallContext:
    """What one running call may use (``core.tool.ToolContext``)."""

    agent: Agent
    call_id: str
    workspace: Path
    session_id: str
    session_dir: Path
    untrusted_source: bool
    seen: dict[str, str]

    def output(self, text: str) -> None:
        self.agent.live_output(self.call_id, text)

    async def ask(self, question: str, options: tuple[str, ...] = ()) -> str | None:
        return await self.agent.ask_person(self.call_id, question, options)

    def request_steps(self, reason: str) -> str:
        return self.agent.request_steps(reason)


class Refused(Exception):
    """A call that will not run; says with which status and text it is answered."""

    def __init__(self, status: ev.ToolStatus, text: str, summary: str = "") -> None:
        super().__init__(text)
        self.status: ev.ToolStatus = status
        self.text, self.summary = text, summary


class Batch:
    """The calls of one assistant message."""

    def __init__(self, agent: Agent, calls: Iterable[Call]) -> None:
        self._agent = agent
        self._calls = list(calls)
        self._running: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._stopping = False
        self._began: dict[str, float] = {}
        self._grace_timer: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._why, self._why_not_started = INTERRUPTED, NOT_STARTED

    async def run(self) -> None:
        """Answer every call, in groups that may overlap; what was not started when a cut came is answered as such."""
        left = self._agent.time_left()
        if left is not None:
            self._deadline = asyncio.get_running_loop().call_later(left, self._out_of_time)
        try:
            for group in self._groups():
                if self._stopping:
                    break
                self._running = {asyncio.create_task(self._answer(call)) for call in group}
                await asyncio.gather(*self._running)
        finally:
            for timer in (self._grace_timer, self._deadline):
                if timer is not None:
                    timer.cancel()

    def _out_of_time(self) -> None:
        """The run's time is over while calls run, and nobody is there to be asked."""
        self._why, self._why_not_started = OUT_OF_TIME, NOT_STARTED_IN_TIME
        self._stopping = True
        self._kill()

    def interrupt(self, grace: float) -> None:
        """Start nothing new; end what runs after ``grace`` seconds (0: at once). A later call can only shorten it."""
        self._stopping = True
        if self._grace_timer is not None:
            self._grace_timer.cancel()
            self._grace_timer = None
        waiting_for_person = bool(self._agent.state.approvals or self._agent.state.questions)
        if grace <= 0 or waiting_for_person:
            self._kill()
        else:
            self._grace_timer = asyncio.get_running_loop().call_later(grace, self._kill)

    def _kill(self) -> None:
        for task in self._running:
            task.cancel()

    def _groups(self) -> Iterable[list[Call]]:
        """Neighbouring calls that may run together; every other call is a group of its own."""
        for overlap, calls in itertools.groupby(self._calls, self._may_overlap):
            if overlap:
                yield list(calls)
            else:
                yield from ([call] for call in calls)

    def _may_overlap(self, call: Call) -> bool:
        if not self._agent.kit.config.context.parallel_tools or self._agent.state.confirm == "confirm-all":
            return False
        tool = self._agent.kit.registry.get(call.name)
        return tool is not None and tool.parallel and not call.error

    async def _answer(self, call: Call) -> None:
        """One call from check to answer; a cut while it runs is an answer too."""
        agent = self._agent
        self._began[call.id] = agent.kit.world.now()
        try:
            async with self._slots:
                self._began[call.id] = agent.kit.world.now()
                end = await self._run_one(call)
        except Refused as refused:
            end = self._ended(call, refused.status, refused.text, summary=refused.summary)
        except asyncio.CancelledError:
            end = self._cut(call)
            agent.withdraw_questions(call.id)
            self._stopping = True
        except Exception as error:  # noqa: BLE001 - a foreign tool may raise anything: the model reads it, the log has it
            agent.log_error(f"tool {call.name}", error)
            end = self._ended(call, "error", f"{type(error).__name__}: {error}", summary=type(error).__name__)
        took = max(0.0, agent.kit.world.now() - self._began[call.id])
        agent.emit(msgspec.structs.replace(end, duration=round(took, 3)))

    async def _run_one(self, call: Call) -> ev.ToolExecutionEnd:
        agent, kit = self._agent, self._agent.kit
        tool = self._checked(call)
        context = CallContext(
            agent, call.id, kit.workspace, agent.state.id, kit.session_dir, agent.state.untrusted, kit.seen
        )
        intent = await self._intent(tool, call.arguments, context)
        note = ""
        verdict = agent.judge(intent)
        if verdict.action == "deny":
            raise Refused("denied", f"Not allowed: {verdict.why}", "denied")
        if verdict.action == "ask":
            call, intent, note = await self._approved(tool, call, intent, verdict, context)
            self._began[call.id] = kit.world.now()  # a person's thinking is no time that the tool took
        agent.emit(
            ev.ToolExecutionStart(
                call=call,
                summary=tool.summarise(call.arguments),
                effect=intent.effect,
                preview=intent.preview,
            )
        )
        if kit.dry_run and intent.effect in ("write", "execute", "network"):
            return self._ended(call, "ok", f"Dry run: this would {_words(intent)}.", summary="would do")
        if intent.effect not in ("read", "ask"):
            agent.sync()
        try:
            result = await tool.run(call.arguments, context)
        except ToolError as error:
            raise Refused("error", str(error) + note, "failed") from error
        text = result.for_model + note
        if result.ok and result.changed:
            try:
                text += await self._hooks(call.id, result.changed)
            except asyncio.CancelledError:  # the edit itself is done, and is answered as such
                self._stopping = True
                text += "\n\n[The hooks after this edit were interrupted.]"
        return self._ended(call, "ok" if result.ok else "error", text, result=result)

    def _checked(self, call: Call) -> Tool:
        """The tool, if the call can be understood at all."""
        registry = self._agent.kit.registry
        tool = registry.get(call.name)
        if tool is None or call.name not in self._agent.tool_names():
            near = registry.nearest(call.name)
            hint = (
                f" Did you mean {near}?"
                if near
                else f" Tools: {', '.join(sorted(self._agent.tool_names()))}."
            )
            raise Refused("error", f"There is no tool named {call.name!r} here.{hint}", "unknown tool")
        if call.error:
            raise Refused(
                "error",
                f"The arguments could not be read: {call.error}. Send the call again.",
                "bad arguments",
            )
        if problem := registry.validate(call.name, call.arguments):
            raise Refused("error", f"Wrong arguments: {problem}", "bad arguments")
        return tool

    async def _intent(self, tool: Tool, arguments: dict[str, Any], context: CallContext) -> Intent:
        try:
            return await asyncio.to_thread(tool.intent, arguments, context)
        except ToolError as error:
            raise Refused("error", str(error), "failed") from error

    async def _approved(
        self, tool: Tool, call: Call, intent: Intent, verdict: Verdict, context: CallContext
    ) -> tuple[Call, Intent, str]:
        """Ask the person; returns the call to run, which may have been edited, and a note for the model."""
        agent = self._agent
        if not agent.kit.interactive:
            raise Refused(
                "denied",
                f"Needs a person's approval ({verdict.why}), and nobody is here. Try another way.",
                "needs approval",
            )
        id = agent.kit.world.new_id()
        asked = ev.ApprovalRequested(
            id=id, call_id=call.id, intent=intent, why=verdict.why, rule=verdict.rule, default=verdict.default
        )
        agent.emit(asked)
        await agent.until(lambda: id in agent.state.resolved)
        answer = agent.state.resolved[id]
        match answer.decision:
            case "deny":
                said = f" They said: {answer.note}" if answer.note else ""
                raise Refused("denied", f"The person refused this call.{said}", "denied")
            case "edit" if answer.arguments is not None:
                if problem := agent.kit.registry.validate(call.name, answer.arguments):
                    raise Refused("error", f"The person's edit is not valid: {problem}", "bad arguments")
                call = msgspec.structs.replace(call, arguments=answer.arguments, raw="")
                intent = await self._intent(tool, call.arguments, context)
                shown = msgspec.json.encode(call.arguments).decode()
                return call, intent, f"\n\n[The person edited the call before it ran: {shown}]"
            case "session" | "always":
                agent.add_rule(verdict.rule, always=answer.decision == "always")
            case _:
                pass
        return call, intent, ""

    async def _hooks(self, call_id: str, changed: tuple[str, ...]) -> str:
        """Run the post-edit hooks of every changed file, one after another; returns what joins the tool's result."""
        agent, kit = self._agent, self._agent.kit
        outcomes: list[hook_policy.HookOutcome] = []
        for path in changed:
            for hook in hook_policy.matching(kit.config.hooks.post_edit, path):
                agent.emit(ev.HookStart(call_id=call_id, name=hook.name, path=path, command=hook.command))
                try:
                    outcome = await hook_policy.run(hook, path, kit.workspace, kit.hook_environ)
                except asyncio.CancelledError:
                    agent.emit(
                        ev.HookEnd(
                            call_id=call_id, name=hook.name, path=path, status="failed", output="interrupted"
                        )
                    )
                    raise
                agent.emit(
                    ev.HookEnd(
                        call_id=call_id, name=hook.name, path=path, status=outcome.status, output=outcome.output,
                        exit_code=outcome.exit_code, duration=round(outcome.duration, 3), rewrote=outcome.rewrote,
                    )
                )  # fmt: skip
                outcomes.append(outcome)
        text = hook_policy.joined(outcomes)
        return f"\n\n{text}" if text else ""

    def _cut(self, call: Call) -> ev.ToolExecutionEnd:
        opened = self._agent.state.open_calls.get(call.id)
        if opened is None or not opened.started:
            return self._ended(call, "not_started", self._why_not_started, summary="not started")
        output = self._agent.take_live_output(call.id)
        text = f"{self._why}\nOutput until then:\n{output}" if output.strip() else self._why
        return self._ended(call, "interrupted", text, summary="interrupted", output=output)

    def _ended(
        self,
        call: Call,
        status: ev.ToolStatus,
        text: str,
        *,
        summary: str = "",
        result: ToolResult | None = None,
        output: str = "",
    ) -> ev.ToolExecutionEnd:
        agent = self._agent
        if result is None:
            result = ToolResult(text, summary=summary, display=agent.as_output(output))
        return ev.ToolExecutionEnd(
            call_id=call.id, name=call.name, status=status, text=text, summary=result.summary, display=result.display,
            changed=result.changed, full_output=result.full_output, terminate=result.terminate,
            untrusted=result.untrusted, tokens=agent.result_tokens(text),
        )  # fmt: skip


INTERRUPTED = "[Interrupted by the person before it finished; it may have had effects.]"
OUT_OF_TIME = "[Ended before it finished: the time for this run is over; it may have had effects.]"
NOT_STARTED_IN_TIME = "[Not started: the time for this run is over.]"
NOT_STARTED = "[Not started: the person interrupted the run.]"


def _words(intent: Intent) -> str:
    """What an intent does, in a few words."""
    if intent.command:
        return f"run: {intent.command}"
    return f"{intent.effect} {', '.join(intent.paths) or 'something'}"
