"""Scenes of a session, for the pictures of tests and of the README: each is told to a stage, event by event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.ui.stage import MODEL, Stage
from tui_agent.core import events as ev
from tui_agent.core import messages as msg
from tui_agent.core.errors import Failure
from tui_agent.core.messages import Call, Message, Reasoning, Text
from tui_agent.core.tool import Diff, Intent, Output

Scene = Callable[[Stage], Awaitable[None]]

HUNKS = """@@ -41,3 +41,4 @@
 def next_delay(self, attempt: int) -> float:
-    now = time.time()
+    with self._lock:
+        now = self._clock()
     return self._base * 2 ** attempt + jitter(now)
"""


def answer(id: str, *parts: Any) -> tuple[type[ev.Event], dict[str, Any]]:
    """A finished message of the model."""
    message = Message(id=id, role="assistant", parts=parts, origin="model", model=MODEL)
    return ev.MessageEnd, {"message": message}


def ran(call: Call, summary: str, outcome: str, text: str = "", **fields: Any) -> list[Any]:
    """A call that ran and ended well."""
    end = {
        "call_id": call.id,
        "name": call.name,
        "status": "ok",
        "text": text,
        "summary": outcome,
        "duration": 0.1,
    }
    return [
        (ev.ToolExecutionStart, {"call": call, "summary": summary}),
        (ev.ToolExecutionEnd, {**end, **fields}),
    ]


async def run(stage: Stage) -> None:
    """A run in the middle: reads, an edit with a hook that complains, a command that runs."""
    search = Call(id="c1", name="search_code", arguments={"pattern": "retry"})
    read = Call(id="c2", name="read_file", arguments={"path": "tests/test_retry.py"})
    edit = Call(id="c3", name="edit_file", arguments={"path": "src/mailer/retry.py"})
    command = Call(
        id="c4", name="run_command", arguments={"command": "pytest tests/test_retry.py -q --count 50"}
    )
    diff = Diff(path="src/mailer/retry.py", hunks=HUNKS, added=2, removed=1)
    await stage.begin("the retry test fails one time in ten. find out why and fix it", budget_usd=5.0)
    await stage.tell(
        (ev.SessionRenamed, {"title": "fix the flaky retry test"}),
        answer("a1", Reasoning("Look at the test first."), Text("I'll look at the test and at what it exercises."), search, read),
        *ran(search, '"retry" in src/, tests/', "14 matches in 5 files"),
        *ran(read, "tests/test_retry.py  1–88", "88 lines"),
        (ev.Usage, {"purpose": "turn", "model": MODEL, "input": 86_000, "cached": 61_060, "output": 300, "cost_usd": 0.27}),
        (ev.Context, {"used": 86_214, "window": 200_000, "exact": True}),
        (ev.TurnStart, {"step": 7}),
        answer("a2", Text("The delay is computed from `time.time()` **before** the lock is taken, so two workers can pick the same slot."), edit),
        (ev.ToolExecutionStart, {"call": edit, "summary": "src/mailer/retry.py  (3→5 lines)"}),
        (ev.HookStart, {"call_id": "c3", "name": "ruff", "path": "src/mailer/retry.py"}),
        (ev.HookEnd, {
            "call_id": "c3", "name": "ruff", "path": "src/mailer/retry.py", "status": "failed",
            "output": "src/mailer/retry.py:43: F821 undefined name `jitter`", "duration": 0.3,
        }),
        (ev.ToolExecutionEnd, {
            "call_id": "c3", "name": "edit_file", "status": "ok", "text": "edited", "display": diff,
            "changed": ("src/mailer/retry.py",),
        }),
        (ev.Usage, {"purpose": "turn", "model": MODEL, "input": 86_000, "cached": 61_060, "output": 300, "cost_usd": 0.04}),
        answer("a3", command),
        (ev.ToolExecutionStart, {"call": command, "summary": "pytest tests/test_retry.py -q --count 50"}),
        (ev.ToolExecutionUpdate, {"call_id": "c4", "text": "..................................\n"}),
        (ev.SteeringQueued, {"id": "s1", "text": "also add a test for two workers"}),
    )  # fmt: skip


async def approval(stage: Stage) -> None:
    """A destructive command waits for an answer."""
    await run(stage)
    command = "rm -rf ~/.cache/mailer && pytest -q"
    intent = Intent(
        tool="run_command",
        effect="execute",
        command=command,
        outside=("~/.cache",),
        destructive="rm -rf deletes",
    )
    await stage.tell(
        answer("a4", Call(id="c5", name="run_command", arguments={"command": command})),
        (
            ev.ApprovalRequested,
            {
                "id": "p1",
                "call_id": "c5",
                "intent": intent,
                "rule": "run_command(pytest *)",
                "default": "deny",
            },
        ),
    )


async def done(stage: Stage) -> None:
    """A run that ended well."""
    await run(stage)
    await stage.tell(
        (ev.ToolExecutionEnd, {
            "call_id": "c4", "name": "run_command", "status": "ok", "text": "50 passed", "summary": "exit 0",
            "display": Output("..................................................\n50 passed in 13.97s"), "duration": 14.2,
        }),
        (ev.SteeringDelivered, {"messages": (msg.user("s1", "also add a test for two workers", origin="steering"),)}),
        answer("a5", Text("Done: the slot is now picked **under the lock**.\n\n| run | before | after |\n|-|-|-|\n| 50 × | 5 failed | 0 failed |")),
        (ev.Evaluation, {"attempt": 1, "passed": True, "completed": True, "confidence": 0.92}),
        (ev.AgentEnd, {
            "run": "r1", "stop_reason": "llm_done", "status": "success", "steps": 9, "tool_calls": 11, "cost_usd": 0.31,
            "duration": 161.0,
        }),
    )  # fmt: skip


async def stopped(stage: Stage) -> None:
    """Stopped by the person in the middle of a command."""
    await run(stage)
    await stage.tell(
        (ev.InterruptRequested, {"how": "graceful", "grace": 5.0}),
        (ev.ToolExecutionEnd, {"call_id": "c4", "name": "run_command", "status": "interrupted", "text": "", "duration": 5.0}),
        (ev.AgentEnd, {
            "run": "r1", "stop_reason": "user_interrupt", "status": "partial", "steps": 7, "tool_calls": 4, "cost_usd": 0.31,
            "duration": 40.0, "returned": ("also add a test for two workers",),
        }),
    )  # fmt: skip


async def refused(stage: Stage) -> None:
    """The provider refused the key."""
    await stage.begin("upgrade to python 3.13")
    failure = Failure(
        "auth", "anthropic refused the key (401)", status=401, provider="anthropic",
        hint="ANTHROPIC_API_KEY is set but was refused: set another one",
    )  # fmt: skip
    await stage.tell(
        (ev.AgentEnd, {
            "run": "r1", "stop_reason": "llm_error", "status": "failed", "steps": 1, "duration": 0.4, "failure": failure,
        }),
    )  # fmt: skip


async def waiting(stage: Stage) -> None:
    """A wait for the provider, with a compaction before it."""
    await run(stage)
    summary = msg.user("sum", "The lock was missing.", synthetic=True)
    failure = Failure("rate_limit", "slow down", status=429, provider="anthropic")
    await stage.tell(
        (ev.ToolExecutionEnd, {"call_id": "c4", "name": "run_command", "status": "error", "text": "1 failed", "summary": "exit 1"}),
        (ev.Compaction, {
            "method": "model", "before_messages": 41, "after_messages": 15, "before_tokens": 86_000, "after_tokens": 20_000,
            "summary": summary, "duration": 4.2,
        }),
        (ev.Retry, {
            "failure": failure, "attempt": 2, "limit": 3, "until": stage.app.now() + 12, "fallback": "openai/gpt-5-mini",
        }),
    )  # fmt: skip


async def limit(stage: Stage) -> None:
    """The steps are used up, and a question is on the card."""
    await run(stage)
    await stage.tell((ev.GuardTripped, {"reason": "max_steps", "used": 50, "allowed": 50, "asks": True}))


async def sidebar(stage: Stage) -> None:
    """The changes beside the transcript."""
    await done(stage)
    await stage.press("ctrl+x", "2")


async def help_page(stage: Stage) -> None:
    """All keys."""
    await run(stage)
    await stage.press("f1")


async def palette(stage: Stage) -> None:
    """All commands, with a search."""
    await run(stage)
    await stage.press("ctrl+p", *"se")


async def empty(stage: Stage) -> None:
    """Nothing was asked yet."""
    await stage.settle()


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (empty, run, approval, done, stopped, refused, waiting, limit, sidebar, help_page, palette)
}
