"""The time line of a replay: gaps, speed, steps, jumps, the scrubber."""

import pytest

from tui_agent.core import events as ev
from tui_agent.core import messages as msg
from tui_agent.core.events import Event
from tui_agent.core.messages import Call
from tui_agent.ui.replay import IDLE, SPEEDS, Timeline

START = 1_767_225_600.0


def recording() -> list[Event]:
    call = Call(id="c", name="edit_file")
    told: list[tuple[float, Event]] = [
        (0.0, ev.SessionStart(version=1, id="s", kind="interactive", cwd="/", model="m")),
        (1.0, ev.MessageEnd(message=msg.user("u", "mend it"))),
        (61.0, ev.ToolExecutionStart(call=call, summary="a.py")),
        (62.0, ev.ToolExecutionEnd(call_id="c", name="edit_file", status="ok", text="", changed=("a.py",))),
        (63.0, ev.ToolExecutionEnd(call_id="d", name="run_command", status="error", text="")),
        (64.0, ev.AgentEnd(run="r", stop_reason="llm_done", status="success")),
    ]
    return [ev.msgspec.structs.replace(event, seq=n, ts=START + at) for n, (at, event) in enumerate(told, 1)]


@pytest.fixture
def line() -> Timeline:
    return Timeline(recording())


def test_idle_gaps_are_cut(line: Timeline) -> None:
    assert line.length == 1 + IDLE + 1 + 1 + 1
    assert line.idle == 60 - IDLE


def test_playing_goes_with_the_clock_and_the_speed(line: Timeline) -> None:
    line.advance(0.5)
    assert line.index == 1
    assert line.now == START + 0.5
    line.speed = 2.0
    line.advance(0.25)
    assert line.index == 2
    line.advance(100.0)
    assert (line.index, line.playing) == (6, False)


def test_paused_it_stands(line: Timeline) -> None:
    line.playing = False
    line.advance(10.0)
    assert line.position == 0.0


def test_stepping_pauses_and_stops_at_the_ends(line: Timeline) -> None:
    line.step(1)
    assert (line.index, line.playing) == (1, False)
    line.step(-5)
    assert line.index == 0
    line.step(100)
    assert line.index == 6


@pytest.mark.parametrize(
    ("by", "kinds", "start", "index"),
    [
        (1, ("person",), 0, 2),
        (1, ("edit",), 0, 4),
        (1, ("error",), 0, 5),
        (1, ("tool",), 0, 3),
        (1, ("end",), 0, 6),
        (-1, ("error",), 6, 5),
        (-1, ("person", "edit"), 6, 4),
        (-1, ("person", "edit"), 4, 2),
    ],
)
def test_jumps(line: Timeline, by: int, kinds: tuple[str, ...], start: int, index: int) -> None:
    line.go_to(start)
    assert line.jump(by, *kinds)  # type: ignore[arg-type]
    assert line.index == index


def test_a_jump_that_finds_nothing_stays(line: Timeline) -> None:
    line.go_to(6)
    assert not line.jump(1, "person")
    assert line.index == 6


def test_seeking_in_seconds(line: Timeline) -> None:
    line.seek(3.0)
    assert line.index == 3
    line.seek(-1.0)
    assert line.position == 0.0
    line.seek(1000.0)
    assert line.index == 6


def test_from_an_event_number(line: Timeline) -> None:
    assert line.index_of_seq(4) == 4
    assert line.index_of_seq(0) == 0


def test_the_scrubber_has_marks_and_a_place(line: Timeline) -> None:
    line.go_to(4)
    bar = line.bar(42)
    assert len(bar) == 42
    assert bar.startswith("├")
    assert bar.endswith("◆┤")
    assert "p" in bar
    assert bar.count("●") == 1
    assert "✗" in bar


def test_an_empty_recording(line: Timeline) -> None:
    empty = Timeline([])
    empty.advance(1.0)
    assert (empty.length, empty.index, empty.now) == (0.0, 0, 0.0)
    assert len(empty.bar(20)) == 20


def test_speeds_of_the_keys() -> None:
    assert SPEEDS[0] == 0.25
    assert SPEEDS[2] == 1.0
    assert SPEEDS[8] == 16.0
