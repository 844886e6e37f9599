"""The way to the terminal: only changes are sent, and no terminal stops or garbles the program."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pyte
import pyte.modes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from tui_agent.ui.terminal import Canvas, PatientWriter, TerminalApp, sequences

WIDTH, HEIGHT = 12, 3
CONSOLE = Console(force_terminal=True, color_system="truecolor")
STYLES = [
    Style.parse(text)
    for text in ("red on black", "bold blue on black", "red on white", "underline red on black")
]

cells = st.lists(st.tuples(st.sampled_from("abc  .中─"), st.integers(0, 3)), max_size=WIDTH)


def strip(row: list[tuple[str, int]]) -> Strip:
    """A row of characters, each in a style, filled up to the width."""
    segments: list[Segment] = []
    used = 0
    for character, style in row:
        size = 2 if character == "中" else 1
        if used + size > WIDTH:
            break
        used += size
        if segments and segments[-1].style is STYLES[style]:
            segments[-1] = Segment(segments[-1].text + character, STYLES[style])
        else:
            segments.append(Segment(character, STYLES[style]))
    segments.append(Segment(" " * (WIDTH - used), STYLES[0]))
    return Strip(segments, WIDTH)


def whole(rows: list[Strip]) -> LayoutUpdate:
    return LayoutUpdate([[row] for row in rows], Region(0, 0, WIDTH, HEIGHT))


def painted(screen: pyte.Screen) -> list[list[tuple[str, str, str, bool, bool]]]:
    return [
        [
            (cell.data, cell.fg, cell.bg, cell.bold, cell.underscore)
            for cell in (screen.buffer[y][x] for x in range(WIDTH))
        ]
        for y in range(HEIGHT)
    ]


def terminal() -> tuple[pyte.Screen, pyte.Stream]:
    screen = pyte.Screen(WIDTH, HEIGHT)
    screen.reset_mode(pyte.modes.DECAWM)
    return screen, pyte.Stream(screen)


@given(st.lists(st.lists(cells, min_size=HEIGHT, max_size=HEIGHT), min_size=1, max_size=5))
def test_changes_alone_paint_what_whole_frames_paint(frames: list[list[list[tuple[str, int]]]]) -> None:
    canvas = Canvas()
    screen, stream = terminal()
    for frame in frames:
        rows = [strip(row) for row in frame]
        stream.feed(canvas.render(whole(rows), CONSOLE) or "")
        expected, expected_stream = terminal()
        expected_stream.feed(Canvas().render(whole(rows), CONSOLE) or "")
        assert painted(screen) == painted(expected)


def rendered(canvas: Canvas, *rows: str) -> str:
    strips = [Strip([Segment(text.ljust(WIDTH), STYLES[0])], WIDTH) for text in rows]
    return canvas.render(whole(strips), CONSOLE) or ""


def test_what_did_not_change_is_not_sent() -> None:
    canvas = Canvas()
    assert "hello" in rendered(canvas, "hello", "x", "y")
    assert rendered(canvas, "hello", "x", "y") == ""
    assert rendered(canvas, "hello", "x", "z") == "\x1b[3;1H\x1b[0;31;40mz\x1b[0m"


def test_only_what_was_added_to_a_row_is_sent() -> None:
    canvas = Canvas()
    rendered(canvas, "one", "", "")
    assert rendered(canvas, "one two", "", "") == "\x1b[1;5H\x1b[0;31;40mtwo\x1b[0m"


def test_a_row_with_joined_characters_is_sent_whole() -> None:
    canvas = Canvas()
    rendered(canvas, "👩‍👩‍👧 a", "", "")
    assert "👩‍👩‍👧 ab" in rendered(canvas, "👩‍👩‍👧 ab", "", "")


def test_everything_is_sent_again_after_a_resize_and_on_demand() -> None:
    canvas = Canvas()
    rendered(canvas, "hello", "", "")
    canvas.forget()
    assert "hello" in rendered(canvas, "hello", "", "")
    other = LayoutUpdate([[Strip([Segment("hello", STYLES[0])], 5)]], Region(0, 0, 5, 1))
    assert "hello" in (canvas.render(other, CONSOLE) or "")


def test_a_part_of_a_row_can_change_alone() -> None:
    canvas = Canvas()
    screen, stream = terminal()
    stream.feed(rendered(canvas, "abcdefghijkl", "", ""))
    left, right = (Strip([Segment(text, STYLES[0])], 6) for text in ("ABCDEF", "GHIJKL"))
    update = ChopsUpdate([{0: left, 6: right}], [(0, 6, 12)], [[6, 12]])
    stream.feed(canvas.render(update, CONSOLE) or "")
    assert screen.display[0] == "abcdefGHIJKL"
    stream.feed(rendered(canvas, "abcdefghijkl", "", ""))
    assert screen.display[0] == "abcdefghijkl"


def test_one_style_code_a_change() -> None:
    red, blue = STYLES[:2]
    out = sequences([Segment("a", red), Segment("b", red), Segment("c", blue)], CONSOLE._color_system)  # type: ignore[arg-type]
    assert out == "\x1b[0;31;40mab\x1b[0;1;34;40mc\x1b[0m"


def test_a_terminal_that_is_gone_stops_nobody() -> None:
    read, write = os.pipe()
    os.close(read)
    file = os.fdopen(write, "w")
    writer = PatientWriter(file)
    writer.start()
    for _ in range(200):
        writer.write("x" * 1000)
    writer.stop()
    assert writer.gone
    assert not writer.is_alive()
    with suppress(BrokenPipeError):
        file.close()


def test_a_terminal_that_does_not_read_stops_nobody() -> None:
    read, write = os.pipe()
    file = os.fdopen(write, "w")
    writer = PatientWriter(file)
    writer.start()
    for _ in range(200):
        writer.write("x" * 100_000)
    assert writer.waiting > 20
    writer.stop()  # comes back, though the last word could not be queued
    assert writer.is_alive()
    os.close(read)
    writer.join(10)
    assert writer.gone
    with suppress(BrokenPipeError):
        file.close()


# ---- the real thing, in a pseudo-terminal

PROGRAM = """
import asyncio, os, sys, time
from pathlib import Path
from textual.app import App
from textual.widgets import Static
from tui_agent.ui.terminal import TerminalApp, own_terminal

report = int(sys.argv[1])

class Program(TerminalApp):
    keys = []
    frames = 0
    late = 0.0

    def compose(self):
        yield Static("ready", id="text")

    def on_mount(self):
        os.write(1, b"STRAY ONE")
        os.write(2, b"STRAY TWO")
        self.query_one(Static).update(f"size {self.size.width}x{self.size.height}")

    def on_key(self, event):
        self.keys.append(event.character or event.key)
        if event.character == "q":
            self.exit()
        if event.character == "f":
            self.run_worker(self.flood())

    async def flood(self):
        for frame in range(120):
            self.query_one(Static).update("\\n".join(f"{frame} {line} {frame * line}" for line in range(30)))
            due = time.perf_counter() + 0.005
            await asyncio.sleep(0.005)
            self.late = max(self.late, time.perf_counter() - due)
        self.query_one(Static).update("after the flood")
        os.write(report, f"late {self.late:.3f}\\n".encode())

with own_terminal(Path(sys.argv[2])):
    app = Program()
    app.run()
os.write(report, f"keys {''.join(app.keys)!a}\\n".encode())
"""


class Running:
    """The program in a pseudo-terminal, with an emulator and a pipe on which it reports."""

    def __init__(self, folder: Path) -> None:
        self.stray = folder / "stray.log"
        self.report, report = os.pipe()
        script = folder / "program.py"
        script.write_text(PROGRAM)
        self.screen = pyte.Screen(90, 33)
        self.stream = pyte.ByteStream(self.screen)
        pid, self.terminal = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 90, 0, 0))
            os.set_inheritable(report, True)
            command = [sys.executable, str(script), str(report), str(self.stray)]
            os.execve(
                sys.executable, command, dict(os.environ)
            )  # without what readline sets behind Python's back
        os.close(report)
        self.pid = pid

    def read_until(self, text: str) -> None:
        """Feed the emulator until it shows a text."""
        while text not in "\n".join(self.screen.display):
            shown = "\n".join(row for row in self.screen.display if row.strip())
            assert select.select([self.terminal], [], [], 20)[0], f"{text!r} never came, but:\n{shown}"
            self.stream.feed(os.read(self.terminal, 1 << 16))

    def told(self) -> str:
        """The next report."""
        assert select.select([self.report], [], [], 20)[0], "no report came"
        return os.read(self.report, 1000).decode()

    def drain(self) -> None:
        while select.select([self.terminal], [], [], 20)[0]:
            try:
                if not os.read(self.terminal, 1 << 16):
                    return
            except OSError:
                return

    def close(self) -> int:
        """How the program ended."""
        self.drain()
        os.close(self.terminal)
        os.close(self.report)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Running:
    root = str(Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ.get("PYTHONPATH", ""), root]))
    return Running(tmp_path)


@pytest.mark.terminal
def test_stray_output_lands_in_a_file_and_the_size_is_known(running: Running) -> None:
    running.read_until("size 90x33")
    os.write(running.terminal, b"q")
    assert running.told() == "keys 'q'\n"
    assert running.close() == 0
    assert not any("STRAY" in row for row in running.screen.display)
    assert running.stray.read_text() == "STRAY ONESTRAY TWO"


@pytest.mark.terminal
def test_bytes_that_are_not_text_do_not_end_the_program(running: Running) -> None:
    running.read_until("size 90x33")
    os.write(running.terminal, b"a\xff\xfe\xc3")
    os.write(running.terminal, b"b\xe4")
    os.write(running.terminal, b"q")
    keys = running.told()
    assert keys.startswith("keys 'a")
    assert "b" in keys
    assert keys.endswith("q'\n")
    assert running.close() == 0


@pytest.mark.terminal
def test_a_terminal_that_stops_reading_does_not_stop_the_program(running: Running) -> None:
    running.read_until("size 90x33")
    os.write(running.terminal, b"f")
    late = running.told()  # nothing was read from the terminal meanwhile
    assert late.startswith("late ")
    assert float(late.split()[1]) < 1.0
    running.read_until("after the flood")
    os.write(running.terminal, b"q")
    assert running.told() == "keys 'fq'\n"
    assert running.close() == 0


async def test_a_key_waits_for_no_slow_clock() -> None:
    """Textual looks for changes 60 times a second; while text streams, a key would wait for the next look."""
    app: TerminalApp[None] = TerminalApp()
    async with app.run_test():
        timer = app.screen._update_timer  # pyright: ignore[reportPrivateUsage]
        assert timer._interval == pytest.approx(1 / 240)  # pyright: ignore[reportPrivateUsage]
