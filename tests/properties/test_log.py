"""A log cut at any byte is a prefix of itself, and goes on with the right number."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.errors import SessionError
from tui_agent.core.events import (
    FORMAT_VERSION,
    AnyEvent,
    MessageUpdate,
    Notice,
    SessionStart,
    ToolExecutionEnd,
    Usage,
)
from tui_agent.sessions.log import Log, read

START = SessionStart(version=FORMAT_VERSION, id="s", kind="interactive", cwd="/", model="m", ts=1.5)

ts = st.just(2.5)  # a time of its own, or the length of a line would differ from run to run
texts = st.text(st.characters(codec="utf-8"), max_size=40)
events = st.one_of(
    st.builds(Notice, ts=ts, level=st.just("info"), text=texts),
    st.builds(MessageUpdate, ts=ts, id=st.just("m"), delta=st.just("text"), text=texts),
    st.builds(
        ToolExecutionEnd, ts=ts, call_id=texts, name=texts, status=st.just("ok"), text=st.text(max_size=200)
    ),
    st.builds(Usage, ts=ts, purpose=st.just("turn"), model=texts, input=st.integers(0, 2**40)),
)


@given(st.lists(events, max_size=8), st.data())
def test_a_log_cut_at_any_byte_is_a_prefix_and_goes_on(recorded: list[AnyEvent], data: st.DataObject):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        with Log.create(path, START) as log:
            for event in recorded:
                log.append(event)
        whole = list(read(path))
        content = path.read_bytes()
        cut = data.draw(st.integers(0, len(content)), "cut")
        path.write_bytes(content[:cut])

        kept = list(read(path))
        complete = content[:cut].count(b"\n")
        assert kept == whole[: len(kept)]
        assert complete <= len(kept) <= complete + 1

        if not kept:
            try:
                Log.open(path).close()
            except SessionError:
                return
            raise AssertionError("a log without its first line was opened")
        with Log.open(path) as log:
            assert log.next_seq == len(kept) + 1
            assert log.torn == (not content[:cut].endswith(b"\n") and len(kept) == complete)
            added = log.append(Notice(level="info", text="on it goes"))
        assert list(read(path)) == [*kept, added]


@given(st.lists(events, min_size=1, max_size=5), st.binary(max_size=60), st.data())
def test_garbage_in_the_middle_hides_no_line_beside_it(
    recorded: list[AnyEvent], garbage: bytes, data: st.DataObject
):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        with Log.create(path, START) as log:
            for event in recorded:
                log.append(event)
        whole = list(read(path))
        lines = path.read_bytes().splitlines(keepends=True)
        at = data.draw(st.integers(1, len(lines)), "at")
        path.write_bytes(b"".join([*lines[:at], garbage.replace(b"{", b"") + b"\n", *lines[at:]]))
        assert [event for event in read(path) if event in whole] == whole
        with Log.open(path) as log:
            assert log.next_seq == len(whole) + 1
