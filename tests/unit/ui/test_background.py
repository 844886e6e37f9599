"""Asking a terminal for its background: the answer, silence, typed keys, and answers that come too late."""

import os
import sys
import termios
from collections.abc import Iterator

import pytest

from tui_agent.ui import background
from tui_agent.ui.background import Background, Decoder, needs_asking

ANSWER = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
KIND = b"\x1b[?62;22c"


class Pty:
    """A pseudo-terminal as standard input and output of the program."""

    def __init__(self) -> None:
        self.outer, self.inner = os.openpty()
        self.file = os.fdopen(self.inner, "r+b", 0)

    def fileno(self) -> int:
        return self.inner


@pytest.fixture
def pty(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pty]:
    pty = Pty()
    monkeypatch.setattr(sys, "__stdin__", pty)
    monkeypatch.setattr(sys, "__stdout__", pty)
    monkeypatch.setattr(background, "PATIENCE", 5.0)
    yield pty
    pty.file.close()
    os.close(pty.outer)


def test_the_answer_is_read_and_what_was_typed_is_kept(pty: Pty) -> None:
    before = termios.tcgetattr(pty.inner)
    asked = Background()
    assert os.read(pty.outer, 100) == background.QUESTION
    os.write(pty.outer, b"he" + ANSWER + b"ll" + KIND + b"o")
    assert asked.read() == ("rgb:ffff/ffff/ffff", "hello")
    assert termios.tcgetattr(pty.inner) == before


def test_a_terminal_that_knows_no_colours_costs_no_waiting(pty: Pty) -> None:
    asked = Background()
    os.write(pty.outer, KIND)
    assert asked.read() == (None, "")


def test_a_silent_terminal_is_left_alone(pty: Pty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PATIENCE", 0.0)
    asked = Background()
    os.write(pty.outer, b"typed")
    assert asked.read() == (None, "typed")


def test_without_a_terminal_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "__stdin__", None)
    assert Background().read() == (None, "")


@pytest.mark.parametrize(
    ("wish", "environ", "asks"),
    [
        ("auto", {}, True),
        ("dark", {}, False),
        ("auto", {"COLORFGBG": "0;15"}, False),
        ("auto", {"NO_COLOR": ""}, False),
    ],
)
def test_only_auto_needs_to_know(wish: str, environ: dict[str, str], asks: bool) -> None:
    assert needs_asking(wish, environ) is asks


LATE = b"ab" + ANSWER + KIND + b"cd"


CUTS = [
    at for at in range(len(LATE) + 1) if LATE[at:][:1] == b"\\" or not LATE[:at].endswith((b"\x1b", b"\x1b["))
]


@pytest.mark.parametrize("cut", CUTS)
def test_late_answers_are_no_keys_wherever_they_are_cut(cut: int) -> None:
    """But right after the escape character and its bracket, which are keys and can't wait."""
    decoder = Decoder("utf-8")
    assert decoder.decode(LATE[:cut]) + decoder.decode(LATE[cut:]) == "abcd"


def test_keys_pass_at_once() -> None:
    decoder = Decoder("utf-8")
    for data in (b"\x1b", b"\x1b[A", b"\x1bOP", b"\x1b[?2026;2$y", "é".encode()):
        assert decoder.decode(data) == data.decode()
    assert decoder.decode(b"\xff") == "�"
