"""The log: what is written is there again, whatever happened to the process, the disk or the file."""

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tui_agent.core.errors import SessionError
from tui_agent.core.events import (
    FORMAT_VERSION,
    AnyEvent,
    MessageEnd,
    Notice,
    SessionStart,
    ToolExecutionEnd,
    TurnStart,
    Unknown,
    decode,
)
from tui_agent.core.messages import user
from tui_agent.sessions.log import Log, is_open, read

START = SessionStart(version=FORMAT_VERSION, id="s1", kind="headless", cwd="/work", model="m", ts=1.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a session that does not exist yet will be."""
    return tmp_path / "sessions" / "project" / "s1.jsonl"


def written(path: Path, *texts: str) -> list[AnyEvent]:
    """Make a log with a notice a text, and return what it holds."""
    with Log.create(path, START) as log:
        for number, text in enumerate(texts, 2):
            log.append(Notice(level="info", text=text, ts=float(number)))
    return list(read(path))


@contextmanager
def disk_full_at(size: int) -> Generator[None]:
    """No file of this process may grow beyond ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_only_the_owner_can_read_a_session(path: Path):
    written(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


def test_events_come_back_numbered_and_timed_as_they_were_returned(path: Path):
    with Log.create(path, START) as log:
        first = log.append(TurnStart(step=1))
        second = log.append(MessageEnd(message=user("m1", "ñandú 🦤 \x1b[31m"), ts=7.5))
    assert (first.seq, second.seq) == (2, 3)
    assert first.ts > 1_700_000_000
    assert second.ts == 7.5
    assert list(read(path)) == [decode(path.read_bytes().splitlines()[0]), first, second]


def test_an_event_is_in_the_file_before_append_returns(path: Path):
    with Log.create(path, START) as log:
        event = log.append(TurnStart(step=1))
        assert list(read(path))[-1] == event


def test_reading_after_a_number_leaves_out_what_was_seen(path: Path):
    events = written(path, "a", "b", "c")
    assert list(read(path, after=2)) == events[2:]
    assert list(read(path, after=99)) == []


def test_going_on_numbers_from_the_last_event(path: Path):
    written(path, "a", "b")
    with Log.open(path) as log:
        assert (log.next_seq, log.torn, log.warning) == (4, False, "")
        assert log.append(TurnStart(step=1)).seq == 4


def test_a_torn_last_line_is_dropped_and_counted(path: Path):
    events = written(path, "a", "b")
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert list(read(path)) == events[:-1]
    with Log.open(path) as log:
        assert log.torn
        assert log.torn_bytes == len(whole.splitlines()[-1]) + 1 - 10
        assert log.append(TurnStart(step=1)).seq == 3
    assert [event.seq for event in read(path)] == [1, 2, 3]


def test_a_last_event_that_lost_only_its_newline_is_kept(path: Path):
    events = written(path, "a")
    path.write_bytes(path.read_bytes()[:-1])
    assert list(read(path)) == events
    with Log.open(path) as log:
        assert not log.torn
        log.append(TurnStart(step=1))
    assert [event.seq for event in read(path)] == [1, 2, 3]


def test_a_garbled_line_becomes_a_notice_that_names_it(path: Path):
    written(path, "a", "b")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = b"\x00\xff garbage \x1b[2J\n"
    path.write_bytes(b"".join(lines))
    first, notice, last = read(path)
    assert isinstance(notice, Notice)
    assert "line 2" in notice.text
    assert notice.level == "warning"
    assert (first.seq, notice.seq, last.seq) == (1, 1, 3)


def test_a_garbled_last_line_is_left_out_and_its_number_is_used_again(path: Path):
    events = written(path, "a")
    path.write_bytes(path.read_bytes() + b"}{\n")
    assert list(read(path)) == events
    with Log.open(path) as log:
        assert log.next_seq == 3


def test_a_line_nested_too_deep_to_parse_is_garbage_like_any_other(path: Path):
    written(path, "a")
    deep = b'{"seq":3,"type":"x","v":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    path.write_bytes(path.read_bytes() + deep)
    with Log.open(path) as log:
        log.append(TurnStart(step=1))
    kinds = [type(event).__name__ for event in read(path)]
    assert kinds == ["SessionStart", "Notice", "Notice", "TurnStart"]


def test_events_of_a_newer_version_are_kept(path: Path):
    written(path)
    path.write_bytes(path.read_bytes() + b'{"seq":2,"ts":3.5,"type":"hologram","depth":3}\n')
    with Log.open(path) as log:
        assert log.next_seq == 3
    assert list(read(path))[-1] == Unknown(
        seq=2, ts=3.5, name="hologram", raw={"seq": 2, "ts": 3.5, "type": "hologram", "depth": 3}
    )


def test_a_newer_format_opens_with_a_warning(path: Path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"type":"session_start","seq":1,"version":99,"id":7,"colour":"blue"}\n')
    with Log.open(path) as log:
        assert "99" in log.warning
        assert log.next_seq == 2


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b'{"type":"turn_start","seq":1,"step":1}\n', b"[1]\n", b'{"ty']
)
def test_a_file_that_is_no_session_is_refused_and_left_alone(path: Path, content: bytes):
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(SessionError, match=str(path)):
        Log.open(path)
    assert path.read_bytes() == content


def test_a_missing_file_is_a_session_error_at_once(path: Path):
    with pytest.raises(SessionError, match="no session file"):
        read(path)
    with pytest.raises(SessionError, match="no session file"):
        Log.open(path)


def test_an_existing_session_is_never_overwritten(path: Path):
    written(path, "a")
    before = path.read_bytes()
    with pytest.raises(SessionError, match="exists already"):
        Log.create(path, START)
    assert path.read_bytes() == before


def test_a_folder_that_cant_be_made_is_said(tmp_path: Path):
    (tmp_path / "sessions").write_text("a file is in the way")
    with pytest.raises(SessionError, match="can't start the session file"):
        Log.create(tmp_path / "sessions" / "p" / "s.jsonl", START)


def test_a_second_writer_is_refused_and_told_who_has_it(path: Path):
    with Log.create(path, START) as log:
        assert is_open(path)
        with pytest.raises(SessionError, match=rf"open in another process \({os.getpid()}\)"):
            Log.open(path)
        log.append(TurnStart(step=1))
    assert not is_open(path)
    with Log.open(path) as log:
        assert log.next_seq == 3


def test_closing_twice_does_no_harm_and_leaves_only_the_log(path: Path):
    log = Log.create(path, START)
    log.close()
    log.close()
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(SessionError):
        log.append(TurnStart(step=1))


def test_a_full_disk_loses_nothing_and_says_what_to_do(path: Path):
    with Log.create(path, START) as log:
        log.append(TurnStart(step=1))
        before = path.read_bytes()
        with (
            disk_full_at(len(before) + 30),
            pytest.raises(SessionError, match=r"File too large: raise the limit"),
        ):
            log.append(Notice(level="info", text="x" * 100))
        assert path.read_bytes() == before
        assert log.next_seq == 3
        assert log.append(TurnStart(step=2)).seq == 3
    assert [event.seq for event in read(path)] == [1, 2, 3]


def test_text_that_is_no_unicode_is_replaced_not_lost(path: Path):
    with Log.create(path, START) as log:
        event = log.append(
            ToolExecutionEnd(call_id="c", name="run_command", status="ok", text="caf\udce9 \ud83d\ude00")
        )
    assert event.text == "caf� 😀"
    assert list(read(path))[-1] == event


WRITER = """
import sys
from pathlib import Path
from tui_agent.core.events import Notice, SessionStart
from tui_agent.sessions.log import Log
log = Log.create(Path(sys.argv[1]), SessionStart(version=1, id="s1", kind="headless", cwd="/", model="m"))
for number in range(2, 10_000_000):
    event = log.append(Notice(level="info", text="x" * (number % 5000)))
    print(event.seq, flush=True)
"""


def test_after_kill_9_every_acknowledged_event_is_there_and_the_lock_is_free(path: Path):
    root = Path(__file__).resolve().parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
        text=True,
    )
    assert process.stdout is not None
    with process:
        seen = ""
        while seen != "200\n":
            seen = process.stdout.readline()
            assert seen, "the writer ended by itself"
        with pytest.raises(SessionError, match=rf"\({process.pid}\)"):
            Log.open(path)
        process.kill()
        acknowledged = [seen, *process.stdout]
    last = int([line for line in acknowledged if line.endswith("\n")][-1])
    assert not is_open(path)
    with Log.open(path) as log:
        assert log.next_seq > last
        log.append(TurnStart(step=1))
    assert [event.seq for event in read(path)] == list(range(1, log.next_seq))
