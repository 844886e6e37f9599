"""What the transcript costs: streaming 20,000 tokens, opening 20,000 blocks, paging, resizing, finding.

``python -m tests.benchmarks.transcript`` prints it all. Streaming runs in a pseudo-terminal of its own, so the way to
the terminal is part of it; figures are CPU seconds, so that a busy machine changes little.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import random
import resource
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

CHARACTERS_A_TOKEN = 3.6
WORDS = [
    "the",
    "retry",
    "delay",
    "is",
    "computed",
    "from",
    "a",
    "lock",
    "that",
    "workers",
    "share",
    "when",
    "`cache`",
    "misses",
    "and",
    "**two**",
    "slots",
    "collide",
    "so",
    "the",
    "queue",
    "drains",
]


def markdown(tokens: int, seed: int = 1) -> str:
    """A text like those of models: paragraphs, lists, tables, and a third of it code."""
    rng = random.Random(seed)

    def some(count: int) -> str:
        return " ".join(rng.choices(WORDS, k=count))

    parts: list[str] = []
    size = 0
    while size < tokens * CHARACTERS_A_TOKEN:
        kind = rng.random()
        if kind < 0.12:
            part = f"\n## {some(4)}\n\n"
        elif kind < 0.30:
            part = "".join(f"- {some(14)}\n" for _ in range(rng.randint(3, 9))) + "\n"
        elif kind < 0.36:
            rows = "".join(f"| {some(2)} | {rng.randint(1, 99)} | x |\n" for _ in range(6))
            part = f"| a | b | c |\n|---|---|---|\n{rows}\n"
        elif kind < 0.60:
            body = "".join(
                f"    def f{index}(self, x: int = {index}) -> str:  # {some(3)}\n        return f'{{x}} {some(2)}'\n"
                for index in range(rng.randint(4, 30))
            )
            part = f"```python\n{body}```\n\n"
        else:
            part = f"{some(60)}.\n\n"
        parts.append(part)
        size += len(part)
    return "".join(parts)


@dataclass
class Cost:
    """Times in seconds, memory in MB; ``stall`` is how late a heartbeat of 5 ms came."""

    cpu: float = 0.0
    wall: float = 0.0
    stall_p99: float = 0.0
    stall_max: float = 0.0
    echo_p50: float = 0.0
    echo_p99: float = 0.0
    memory: float = 0.0
    written: float = 0.0
    """MB sent to the terminal."""


def streaming(
    tokens: int = 20_000, per_second: int = 2_000, width: int = 120, height: int = 40, before: int = 0
) -> Cost:
    """Stream a reply into a transcript of ``before`` blocks, in a real pseudo-terminal that is read at once."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "cost.json"
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(
                sys.executable,
                [
                    sys.executable,
                    "-m",
                    __spec__.name if __spec__ else __name__,
                    "child",
                    str(result),
                    str(tokens),
                    str(per_second),
                    str(before),
                ],
            )
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        written, echoes = _talk(terminal)
        os.waitpid(pid, 0)
        os.close(terminal)
        cost = Cost(**json.loads(result.read_text()))
    cost.written = written / 1e6
    if echoes:
        cost.echo_p50, cost.echo_p99 = _quantile(echoes, 0.5), _quantile(echoes, 0.99)
    return cost


def _talk(terminal: int) -> tuple[int, list[float]]:
    """Read all that comes; press a key four times a second and wait for its answer."""
    written, echoes = 0, []
    pressed, sent, number = 0.0, time.perf_counter(), 0
    tail = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.01)
        now = time.perf_counter()
        if ready:
            try:
                data = os.read(terminal, 1 << 16)
            except OSError:
                return written, echoes
            if not data:
                return written, echoes
            written += len(data)
            tail = (tail + data)[-(1 << 17) :]
            if pressed and f"key{number:04d}".encode() in tail:
                echoes.append(now - pressed)
                pressed = 0.0
        if not pressed and now - sent > 0.25 and b"key0000" in tail + b"key0000" * (number > 0):
            number += 1
            pressed = sent = time.perf_counter()
            os.write(terminal, b"x")


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def some_blocks(count: int):
    """A session of a given length: prompts, replies, calls."""
    from tui_agent.ui.blocks import AssistantBlock, Block, ToolBlock, UserBlock

    reply = markdown(300)
    blocks: list[Block] = []
    for index in range(count):
        if index % 10 == 0:
            blocks.append(UserBlock(f"u{index}", f"please fix number {index} of the retry tests"))
        elif index % 3 == 0:
            blocks.append(AssistantBlock(f"a{index}", reply))
        else:
            block = ToolBlock(
                f"t{index}", "a line of output\n" * 30, name="run_command", summary=f"pytest -k {index}"
            )
            block.status, block.outcome, block.duration = "ok", "30 lines", 0.3
            blocks.append(block)
    return blocks


async def _child(result: Path, tokens: int, per_second: int, before: int) -> None:
    from rich.text import Text
    from textual.app import ComposeResult
    from textual.widgets import Static

    from tui_agent.ui.blocks import AssistantBlock
    from tui_agent.ui.render.warm import warm_up
    from tui_agent.ui.terminal import TerminalApp
    from tui_agent.ui.themes import load
    from tui_agent.ui.widgets.transcript import Transcript

    theme = load("dark")[0]
    assert theme is not None
    late: list[float] = []
    cost = Cost()

    class Bench(TerminalApp[None]):
        keys = 0

        def compose(self) -> ComposeResult:
            self.transcript = Transcript(theme)
            self.echo = Static(Text("key0000"))
            yield self.transcript
            yield self.echo

        def on_key(self) -> None:
            self.keys += 1
            self.echo.update(Text(f"key{self.keys:04d}", style="red" if self.keys % 2 else "green"))

        def on_mount(self) -> None:
            self.transcript.set_blocks(some_blocks(before))
            self.run_worker(self.stream())
            self.run_worker(self.heartbeat())

        async def heartbeat(self) -> None:
            while True:
                due = time.perf_counter() + 0.005
                await asyncio.sleep(0.005)
                late.append(time.perf_counter() - due)

        async def stream(self) -> None:
            warm_up()
            await asyncio.sleep(0.3)
            text = markdown(tokens)
            block = AssistantBlock("reply", live=True)
            self.transcript.add(block)
            late.clear()
            cpu, started = time.process_time(), time.perf_counter()
            step = int(per_second * CHARACTERS_A_TOKEN / 60)
            for index, at in enumerate(range(0, len(text), step)):
                block.text += text[at : at + step]
                block.version += 1
                self.transcript.changed(block)
                await asyncio.sleep(max(started + (index + 1) / 60 - time.perf_counter(), 0))
            block.live = False
            self.transcript.changed(block)
            self.transcript.flush()
            cost.cpu, cost.wall = time.process_time() - cpu, time.perf_counter() - started
            cost.stall_p99, cost.stall_max = _quantile(late, 0.99), max(late)
            self.exit()

    await Bench().run_async()
    cost.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result.write_text(json.dumps(asdict(cost)))  # noqa: ASYNC240 - the measurement is over


@dataclass
class Handling:
    """Seconds that it takes a person to wait, in a transcript of many blocks."""

    load: float
    page: float
    resize: float
    find: float
    toggle_all: float
    memory: float


async def handling(count: int = 20_000) -> Handling:
    """Open a session, page through it, resize it, search it, open all calls."""
    from textual.app import App, ComposeResult

    from tui_agent.ui.render.warm import warm_up
    from tui_agent.ui.themes import load
    from tui_agent.ui.widgets.transcript import Transcript

    warm_up()
    theme = load("dark")[0]
    assert theme is not None
    blocks = some_blocks(count)

    class Bench(App[None]):
        def compose(self) -> ComposeResult:
            self.transcript = Transcript(theme)
            yield self.transcript

    app = Bench()
    async with app.run_test(size=(120, 40)) as pilot:
        view = app.transcript

        async def timed(action, *arguments: object) -> float:
            started = time.perf_counter()
            action(*arguments)
            view.render_lines(view.size.region)
            spent = time.perf_counter() - started
            await pilot.pause()
            return spent

        load_time = await timed(view.set_blocks, blocks)
        pages = [await timed(view.scroll_page, -1) for _ in range(50)]
        started = time.perf_counter()
        await pilot.resize_terminal(100, 40)
        view.render_lines(view.size.region)
        resize = time.perf_counter() - started
        found = await timed(view.find, "number 19990")
        toggled = await timed(view.toggle_all)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Handling(load_time, _quantile(pages, 0.99), resize, found, toggled, memory)


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["child"]:
        path, *numbers = sys.argv[2:]
        asyncio.run(_child(Path(path), *map(int, numbers)))
        return
    print("streaming          CPU s   wall  stall p99/max ms  echo p50/p99 ms    MB sent   RSS MB")
    for tokens, rate, before in (
        (1_000, 500, 0),
        (5_000, 2_000, 0),
        (20_000, 2_000, 0),
        (20_000, 2_000, 20_000),
    ):
        cost = streaming(tokens, rate, before=before)
        print(
            f"{tokens:>6} at {rate:>5}/s{'+' if before else ' '} {cost.cpu:6.2f} {cost.wall:6.1f}"
            f" {cost.stall_p99 * 1e3:9.1f}/{cost.stall_max * 1e3:<7.1f} {cost.echo_p50 * 1e3:8.1f}/{cost.echo_p99 * 1e3:<7.1f}"
            f" {cost.written:8.2f} {cost.memory:8.0f}"
        )
    print("blocks   load ms   page p99 ms   resize ms   find ms   toggle all ms   RSS MB")
    for count in (200, 2_000, 20_000):
        code = f"import asyncio; from {__spec__.name if __spec__ else __name__} import *; print(list(asdict(asyncio.run(handling({count}))).values()))"
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        load, page, resize, find, toggle, memory = json.loads(out)
        print(
            f"{count:>6} {load * 1e3:9.1f} {page * 1e3:13.1f} {resize * 1e3:11.1f} {find * 1e3:9.1f} {toggle * 1e3:15.1f} {memory:8.0f}"
        )


if __name__ == "__main__":
    main()
