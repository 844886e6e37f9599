"""Agents for tests: the real loop, log and tools' seam with a scripted model, a virtual clock and small tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tui_agent.config.sections import Config
from tui_agent.core import events as ev
from tui_agent.core.errors import ToolError
from tui_agent.core.messages import Message
from tui_agent.core.tool import Effect, Intent, ToolContext, ToolResult
from tui_agent.engine.agent import Agent, EventLog, MemoryLog
from tui_agent.engine.kit import Kit, SystemPrompt
from tui_agent.engine.mailbox import Mailbox
from tui_agent.engine.ratelimits import RateLimits
from tui_agent.engine.state import State
from tui_agent.engine.world import World
from tui_agent.llm.api import Model, ModelSpec, ReportedUsage
from tui_agent.llm.scripted import Script, ScriptedModel, Turn
from tui_agent.policy.permissions import Rules
from tui_agent.tools.registry import Registry

START = 1_767_225_600.0
"""2026-01-01, the virtual clock's beginning."""


class Clock:
    """A virtual clock: sleeping only moves it on."""

    def __init__(self) -> None:
        self.time = START
        self.slept: list[float] = []

    def now(self) -> float:
        self.time += 0.001
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def world(tmp_path: Path, clock: Clock | None = None) -> World:
    """A world without chance: ids are numbered."""
    clock = clock or Clock()
    numbers = iter(range(1, 10**9))
    return World(tmp_path, clock.now, clock.sleep, lambda: f"id{next(numbers)}", lambda: 0.0)


Run = Callable[[dict[str, Any], ToolContext], Any]


@dataclass
class FakeTool:
    """A tool whose ``does`` is a function of the arguments; it may be a coroutine function."""

    name: str
    does: Run = lambda arguments, context: "done"
    effect: Effect = "read"
    parallel: bool = True
    description: str = "a tool of the tests"
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    ran: list[dict[str, Any]] = field(default_factory=list)

    def summarise(self, arguments: dict[str, Any]) -> str:
        return " ".join(str(value) for value in arguments.values())

    def intent(self, arguments: dict[str, Any], context: ToolContext) -> Intent:
        return Intent(
            self.name, self.effect, paths=tuple(str(v) for k, v in arguments.items() if k == "path")
        )

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        self.ran.append(arguments)
        answer = self.does(arguments, context)
        if asyncio.iscoroutine(answer):
            answer = await answer
        if isinstance(answer, ToolResult):
            return answer
        if isinstance(answer, Exception):
            raise ToolError(str(answer))
        return ToolResult(str(answer), summary="ok")


def tools() -> list[FakeTool]:
    """look (read), edit (write, changes ``path``), shell (execute), more (asks for steps)."""
    return [
        FakeTool("look", lambda a, c: f"looked at {a}"),
        FakeTool(
            "edit",
            lambda a, c: ToolResult("edited", changed=(a.get("path", "a.py"),)),
            "write",
            parallel=False,
        ),
        FakeTool("shell", lambda a, c: f"ran {a}", "execute", parallel=False),
        FakeTool("more", lambda a, c: c.request_steps(a.get("reason", "")), "ask", parallel=False),
    ]


@dataclass
class Bench:
    """An agent under test and everything it emitted."""

    agent: Agent
    mailbox: Mailbox
    model: ScriptedModel
    clock: Clock
    events: list[ev.Event]

    @property
    def state(self) -> State:
        return self.agent.state

    @property
    def requests(self) -> list[Any]:
        return self.model.requests

    def of(self, *kinds: type[ev.Event]) -> list[Any]:
        """The logged events of some kinds."""
        return [event for event in self.events if isinstance(event, kinds) and event.seq]

    def types(self) -> list[str]:
        """The types of the logged events, deltas left out."""
        return [
            str(type(event).__struct_config__.tag)
            for event in self.events
            if event.seq and not isinstance(event, ev.MessageUpdate | ev.ToolExecutionUpdate | ev.Context)
        ]

    @property
    def end(self) -> ev.AgentEnd:
        ends = self.of(ev.AgentEnd)
        assert ends, self.types()
        return ends[-1]

    async def run(self, text: str = "do it") -> ev.AgentEnd:
        """Send a prompt and wait for the end of the run."""
        self.mailbox.prompt(text)
        await asyncio.wait_for(self.mailbox.idle(), 20)
        return self.end

    async def until(self, kind: type[ev.Event], count: int = 1) -> Any:
        """Wait for the n-th event of a kind."""
        await asyncio.wait_for(self.agent.until(lambda: len(self._any(kind)) >= count), 10)
        return self._any(kind)[count - 1]

    def _any(self, kind: type[ev.Event]) -> list[ev.Event]:
        return [event for event in self.events if isinstance(event, kind)]


def bench(
    tmp_path: Path,
    script: Script | Sequence[Turn],
    *,
    config: Config | None = None,
    registry: Sequence[Any] | None = None,
    interactive: bool = False,
    window: int = 0,
    prices: tuple[float, float] | None = (0.0, 0.0),
    rate: float = 0.0,
    log: EventLog | None = None,
    model: Model | None = None,
    state: State | None = None,
    **config_changes: Any,
) -> Bench:
    """An agent on a scripted model; ``config_changes`` replace sections or fields of the configuration."""
    config = config or Config(model="test/one")
    if config_changes:
        config = msgspec.structs.replace(config, **config_changes)
    clock = Clock()
    scripted = ScriptedModel(script, rate=rate)

    def resolve(name: str) -> ModelSpec:
        return ModelSpec(
            name=name,
            window=window,
            input_price=prices[0] if prices else None,
            output_price=prices[1] if prices else None,
        )

    def cost(spec: ModelSpec, usage: ReportedUsage) -> float | None:
        if spec.input_price is None or spec.output_price is None:
            return None
        return usage.input * spec.input_price + usage.output * spec.output_price

    place = world(tmp_path, clock)
    kit = Kit(
        world=place, config=config, workspace=tmp_path, session_dir=tmp_path / "session", model=model or scripted,
        registry=Registry(registry if registry is not None else tools()), rules=Rules(config.permissions), resolve=resolve,
        render_system=lambda spec, mode, _: SystemPrompt(f"You are {spec.name} in {mode} mode.", (("base", 10),)),
        cost=cost, count=lambda text: len(text) // 4 + 1, count_message=_count, count_tools=lambda schemas: 5 * len(schemas),
        rate_limits=RateLimits(), account=lambda spec: spec.name, interactive=interactive,
    )  # fmt: skip
    state = state or State()
    if not state.id:
        state.apply(
            ev.SessionStart(
                seq=1, ts=START, version=1, id="s1", kind="interactive" if interactive else "headless", cwd=str(tmp_path),
                model=config.model or "", mode=config.mode, confirm="yolo" if config.permissions.mode == "yolo" else config.permissions.mode,
            )
        )  # fmt: skip
    agent = Agent(kit, log or MemoryLog(place.now, state.seq + 1), state)
    events: list[ev.Event] = []
    agent.readers.append(events.append)
    return Bench(agent, Mailbox(agent), scripted, clock, events)


def _count(message: Message) -> int:
    size = len(message.text) + sum(len(result.text) for result in message.results)
    return size // 4 + sum(len(str(call.arguments)) // 4 + 4 for call in message.calls) + 4


__all__ = ["Bench", "Clock", "FakeTool", "Turn", "bench", "tools", "world"]
