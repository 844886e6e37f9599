"""A session on a screen, without an engine: events are fed by the test, commands are kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot

from tui_agent.core import events as ev
from tui_agent.core import messages as msg
from tui_agent.core.commands import Command
from tui_agent.core.events import Event
from tui_agent.core.messages import Call, Message, Text
from tui_agent.core.tool import Intent
from tui_agent.engine.launch import Launch
from tui_agent.ui.app import TuiAgentApp
from tui_agent.ui.screens.session import SessionScreen
from tui_agent.ui.settings import Settings, UiOptions
from tui_agent.ui.source import ScriptedSource

MODEL = "anthropic/claude-sonnet-4-5"
PATIENCE = 20.0
"""Seconds that a test waits in vain, on a machine that is busy with other things."""
START = 1_767_225_600.0
"""1 January 2026, 00:00 UTC: when everything in these tests happens."""


class Stage:
    """What a test holds: the app, its screen, and the two ends of the pipe."""

    def __init__(self, app: TuiAgentApp, pilot: Pilot[int], sources: list[ScriptedSource]) -> None:
        self.app = app
        self.pilot = pilot
        self.sources = sources
        self.seq = 0
        self.ts = START

    @property
    def source(self) -> ScriptedSource:
        """The engine of now: the last one that was started."""
        return self.sources[-1]

    @property
    def screen(self) -> SessionScreen:
        return self.app.main

    @property
    def composer(self) -> Any:
        return self.app.main.composer

    @property
    def sent(self) -> list[Command]:
        """Commands since the last look."""
        sent, self.source.sent = self.source.sent, []
        return sent

    async def tell(self, *told: tuple[type[Event], dict[str, Any]] | Event) -> None:
        """These happen now, one second apart; returns when the screen shows them."""
        for item in told:
            self.seq += 1
            self.ts += 1.0
            if isinstance(item, tuple):
                kind, fields = item
                self.source.feed(kind(seq=self.seq, ts=self.ts, **fields))
            else:
                self.source.feed(item)
        await self.settle()

    async def begin(self, prompt: str = "fix the retry test", **limits: Any) -> None:
        """A session whose first run has begun."""
        await self.tell(
            (ev.SessionStart, {"version": 1, "id": "20260101-000000-k3j9", "kind": "interactive", "cwd": "/src/mailer", "model": MODEL, "branch": "main"}),
            (ev.AgentStart, {"run": "r1", "model": MODEL, "limits": ev.RunLimits(**limits), "window": 200_000}),
            (ev.MessageEnd, {"message": msg.user("u1", prompt)}),
            (ev.TurnStart, {"step": 1}),
        )  # fmt: skip

    async def call(
        self, name: str = "run_command", summary: str = "pytest -q", id: str = "c1", **arguments: Any
    ) -> Call:
        """The model asks for a call, and it runs."""
        call = Call(id=id, name=name, arguments=arguments or {"command": summary})
        message = Message(
            id=f"m{id}", role="assistant", parts=(Text("Let me see."), call), origin="model", model=MODEL
        )
        await self.tell(
            (ev.MessageEnd, {"message": message}), (ev.ToolExecutionStart, {"call": call, "summary": summary})
        )
        return call

    async def ask(self, command: str = "rm -rf build", id: str = "p1", **fields: Any) -> None:
        """A command waits for approval."""
        call = Call(id=f"c-{id}", name="run_command", arguments={"command": command})
        message = Message(id=f"m-{id}", role="assistant", parts=(call,), origin="model", model=MODEL)
        intent = Intent(
            tool="run_command", effect="execute", command=command, destructive=fields.pop("destructive", "")
        )
        await self.tell(
            (ev.MessageEnd, {"message": message}),
            (ev.ApprovalRequested, {"id": id, "call_id": call.id, "intent": intent, "rule": "run_command(rm *)", **fields}),
        )  # fmt: skip

    async def end(self, reason: str = "llm_done", status: str = "success", **fields: Any) -> None:
        await self.tell(
            (ev.AgentEnd, {"run": "r1", "stop_reason": reason, "status": status, "steps": 1, **fields})
        )

    async def settle(self) -> None:
        """Wait until everything that was fed or pressed is on the screen."""
        async with asyncio.timeout(PATIENCE):
            await self.source.drained()
        await self.pilot.pause()
        for screen in self.app.screen_stack:
            if isinstance(screen, SessionScreen):
                screen.transcript.flush()
                screen.refresh_rows()
        await self.pilot.pause()

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for something that a thread or a timer brings."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await self.pilot.pause(0.01)
        await self.settle()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str) -> None:
        """Text as keys, without waiting between them, as a fast person or a terminal sends it."""
        for character in text:
            self.app.post_message(
                events.Key({" ": "space", "\n": "enter"}.get(character, character), character)
            )
        await self.settle()

    async def paste(self, text: str) -> None:
        self.app.post_message(events.Paste(text))
        await self.settle()

    def rows(self, name: str) -> str:
        """The text of a row or card."""
        return "\n".join(getattr(self.screen, name).plain)

    @property
    def card(self) -> str:
        return self.rows("card")

    @property
    def said(self) -> str:
        """The line that tells what a key just did."""
        return self.screen.message


@asynccontextmanager
async def on_stage(
    *,
    size: tuple[int, int] = (80, 24),
    past: Sequence[Event] = (),
    options: UiOptions | None = None,
    launch: Launch | None = None,
    begin: bool = True,
) -> AsyncGenerator[Stage]:
    """Run the app with a scripted source; the clock stands still."""
    cwd = Path.cwd()
    launch = launch or Launch(cwd=str(cwd), overrides={"model": MODEL})
    options = options or UiOptions(theme="dark")
    sources: list[ScriptedSource] = []

    def make(_launch: Launch) -> ScriptedSource:
        sources.append(ScriptedSource(past))
        return sources[-1]

    app = TuiAgentApp(launch, Settings(cwd, options), options, source=make, now=lambda: START + 60)
    async with app.run_test(size=size) as pilot:
        if begin:
            while not (sources and sources[-1].started):
                await pilot.pause()
            await pilot.pause()
        stage = Stage(app, pilot, sources or [ScriptedSource()])
        yield stage
        app.leave()
