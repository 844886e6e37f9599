"""What the loop itself costs: per tool step by length of the log, and counting and shrinking a long history."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
import time
from pathlib import Path

from tests.fakes.agents import START, FakeTool, bench
from tui_agent.config.sections import Limits
from tui_agent.context.shrink import cap_results, mechanical_summary, plan_cut, window
from tui_agent.core import events as ev
from tui_agent.core.messages import Call, Message, Result, Text, user
from tui_agent.engine.state import State
from tui_agent.llm import tokens
from tui_agent.llm.api import Request
from tui_agent.llm.scripted import Turn
from tui_agent.sessions.log import Log

STEPS = 60


def history(count: int, chars: int = 80) -> list[Message]:
    """A regular history of about ``count`` messages."""
    messages = [user("u", "begin")]
    for n in range(max(0, count - 1) // 2):
        call = Call(f"old{n}", "look", {"path": f"f{n}"})
        messages.append(Message(f"a{n}", "assistant", (Text("x"), call), origin="model", tokens=20))
        messages.append(
            Message(
                f"t{n}",
                "tool",
                (Result(call.id, "look", f"line {n} of text\n" * (chars // 16)),),
                origin="tool",
                tokens=20,
            )
        )
    messages.append(Message("last", "assistant", (Text("so far"),), origin="model", tokens=3))
    return messages


async def per_step(count: int) -> float:
    """Median milliseconds from one request to the next, with a tool call between and ``count`` messages before; real log and fsync."""
    marks: list[float] = []

    def script(request: Request) -> Turn:
        marks.append(time.perf_counter())
        if len(marks) > STEPS:
            return Turn("end")
        return Turn("next", calls=(("look", {"path": f"n{len(marks)}"}),))

    with tempfile.TemporaryDirectory() as folder:
        state = State()
        start = ev.SessionStart(
            seq=1, ts=START, version=1, id="s1", kind="headless", cwd=folder, model="test/one"
        )
        state.apply(start)
        state.messages = history(count)
        state.counted = sum(message.tokens for message in state.messages)
        log = Log.create(Path(folder, "s.jsonl"), start)
        b = bench(
            Path(folder),
            script,
            log=log,
            state=state,
            limits=Limits(max_steps=500),
            registry=[FakeTool("look", lambda *_: "text")],
        )
        await b.run()
        log.close()
    gaps = [(later - earlier) * 1000 for earlier, later in itertools.pairwise(marks)]
    return statistics.median(gaps)


def megabyte() -> list[tuple[str, float]]:
    """Milliseconds to count, cap, plan and cut a history of 1 MB with the real tokenizer."""
    messages = history(800, 2600)
    tokens.preload()
    rows: list[tuple[str, float]] = []

    def timed(name: str, began: float) -> None:
        rows.append((name, (time.perf_counter() - began) * 1000))

    began = time.perf_counter()
    sizes = [tokens.count_message(message) for message in messages]
    timed("count all of it", began)
    began = time.perf_counter()
    cap_results(messages, 200, tokens.count_text)
    timed("cap every result", began)
    began = time.perf_counter()
    cut = plan_cut(messages, 4)
    if cut is not None:
        mechanical_summary(cut)
    timed("plan a cut, mechanical summary", began)
    by_id = dict(zip((message.id for message in messages), sizes, strict=True))
    began = time.perf_counter()
    window(messages, sum(sizes) // 3, lambda message: by_id.get(message.id, 50))
    timed("drop the oldest exchanges", began)
    return rows


def rows() -> list[tuple[str, str]]:
    """The section's table."""
    table = [
        (f"loop, one tool step, {count:>6,} messages before", f"{asyncio.run(per_step(count)):.2f} ms")
        for count in (10, 1_000, 10_000)
    ]
    return table + [(f"1 MB history: {name}", f"{ms:.0f} ms") for name, ms in megabyte()]
