"""The hand-painted frame: where the real composer will be, and a terminal that is left as it was."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator

import pyte
import pytest

from tui_agent.ui.firstframe import ENDING, ENTER, LEAVE, FirstFrame, frame


@pytest.mark.parametrize(("size", "top"), [((80, 24), 20), ((120, 40), 37), ((40, 12), 9)])
def test_the_frame_stands_where_the_composer_will(size: tuple[int, int], top: int) -> None:
    screen = pyte.Screen(*size)
    pyte.Stream(screen).feed(frame(*size))
    rows = [number for number, line in enumerate(screen.display, 1) if line.strip()]
    assert rows == [top, top + 1, top + 2]
    assert screen.display[top - 1].startswith("╭─")
    assert screen.display[top][:7] == "│ ask f"
    assert screen.display[top + 1].endswith("─╯")


class Ends:
    """Standard input and output on a pseudo-terminal."""

    def __init__(self) -> None:
        self.outer, self.inner = os.openpty()
        fcntl.ioctl(self.inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.file = os.fdopen(self.inner, "w", closefd=False)

    def written(self) -> str:
        assert select.select([self.outer], [], [], 5)[0]
        return os.read(self.outer, 65536).decode()


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    ends = Ends()
    for name in ("__stdin__", "__stdout__"):
        monkeypatch.setattr(sys, name, ends.file)
    handlers = {number: signal.getsignal(number) for number in ENDING}
    yield ends
    for number, handler in handlers.items():
        signal.signal(number, handler)
    ends.file.close()
    os.close(ends.inner)
    os.close(ends.outer)


def test_keys_wait_untouched_until_it_is_closed(ends: Ends) -> None:
    before = termios.tcgetattr(ends.inner)
    first = FirstFrame(ask_background=False)
    assert ends.written().startswith(ENTER)
    os.write(ends.outer, b"hi\r\x03")
    assert select.select([ends.inner], [], [], 5)[0]
    assert os.read(ends.inner, 10) == b"hi\r\x03"
    first.close()
    assert ends.written() == LEAVE
    assert termios.tcgetattr(ends.inner) == before
    first.close()


def test_what_was_covered_is_not_left_twice(ends: Ends) -> None:
    first = FirstFrame(ask_background=False)
    ends.written()
    first.covered()
    first.close()
    os.write(ends.inner, b"!")
    assert ends.written() == "!"


def test_a_signal_that_comes_early_is_kept(ends: Ends) -> None:
    first = FirstFrame(ask_background=False)
    os.kill(os.getpid(), signal.SIGTERM)
    assert first.came_early == [signal.SIGTERM]
    first.close()


def test_without_a_terminal_nothing_happens(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "__stdin__", nothing)
        first = FirstFrame(ask_background=True)
        assert not first.painted
        first.close()


def test_it_imports_nothing_heavy() -> None:
    code = "import sys, tui_agent.ui.firstframe; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not re.search(r"'(textual|rich|msgspec|yaml|asyncio)'", loaded)
