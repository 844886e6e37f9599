"""The store: what lists and searches say, what may be done with a session, and that the index can be lost at any time."""

import os
import re
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from tui_agent.core import events as ev
from tui_agent.core.errors import SessionError
from tui_agent.core.events import SessionKind, SessionStart
from tui_agent.core.messages import Call, Message, Text, user
from tui_agent.core.tool import Diff
from tui_agent.sessions.log import Log, read
from tui_agent.sessions.store import Store

PROJECT = Path("/work/Mailer Two")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "data" / "sessions")


def assistant(id: str, text: str) -> Message:
    return Message(id=id, role="assistant", parts=(Text(text),))


def run(
    ts: float, question: str = "fix the flaky retry test", answer: str = "It was the clock."
) -> list[ev.Event]:
    """One whole run of two steps."""
    return [
        ev.MessageEnd(message=user("u", question), ts=ts),
        ev.AgentStart(run="r", model="smart", limits=ev.RunLimits(), ts=ts),
        ev.TurnStart(step=1, ts=ts),
        ev.MessageUpdate(id="a", delta="text", text=answer, ts=ts),
        ev.MessageEnd(message=assistant("a", answer), ts=ts),
        ev.ToolExecutionStart(call=Call(id="c", name="edit_file"), summary="retry.py", ts=ts),
        ev.ToolExecutionEnd(
            call_id="c",
            name="edit_file",
            status="ok",
            text="done",
            display=Diff("retry.py", "", 3, 1),
            changed=("retry.py",),
            ts=ts,
        ),
        ev.Usage(purpose="turn", model="smart", cost_usd=0.25, ts=ts),
        ev.TurnStart(step=2, ts=ts),
        ev.Usage(purpose="turn", model="smart", cost_usd=0.5, ts=ts),
        ev.AgentEnd(
            run="r", stop_reason="llm_done", status="success", steps=2, files_changed=("retry.py",), ts=ts + 1
        ),
    ]


def session(
    store: Store,
    events: list[ev.Event] | None = None,
    *,
    id: str = "",
    project: Path = PROJECT,
    kind: SessionKind = "interactive",
    ts: float = 1000.0,
) -> Path:
    """A session on disk."""
    id = id or store.new_id()
    path = store.path(project, id)
    start = SessionStart(version=1, id=id, kind=kind, cwd=str(project), model="m", branch="main", ts=ts)
    with Log.create(path, start) as log:
        for event in run(ts) if events is None else events:
            log.append(event)
    return path


# ---- names


def test_ids_sort_by_time_and_can_be_typed(store: Store):
    id = store.new_id()
    assert re.fullmatch(r"\d{8}-\d{6}-[a-z2-9]{4}", id)
    assert not set(id[-4:]) & set("il1o0")
    assert store.new_id()[:15] >= id[:15]


def test_a_project_has_a_readable_folder_of_its_own(store: Store, tmp_path: Path):
    path = store.path(PROJECT, "x")
    assert re.fullmatch(r"mailer-two-[0-9a-f]{8}", path.parent.name)
    assert path.name == "x.jsonl"
    assert store.folder(PROJECT, "x") == path.with_suffix("")
    assert store.path(Path("/elsewhere/Mailer Two"), "x") != path
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    assert store.path(tmp_path / "link", "x") == store.path(tmp_path / "real", "x")
    assert store.path(Path("/"), "x").parent.name.startswith("root-")
    assert re.fullmatch(r"root-[0-9a-f]{8}", store.path(Path("/日本"), "x").parent.name)


# ---- lists


def test_a_row_says_what_happened(store: Store):
    path = session(store)
    (row,) = store.list()
    assert (row.id, row.path, row.title, row.asked) == (
        path.stem,
        path,
        "fix the flaky retry test",
        "fix the flaky retry test",
    )
    assert (row.started, row.updated) == (1000.0, 1001.0)
    assert (row.status, row.stop_reason, row.steps, row.cost) == ("success", "llm_done", 2, 0.75)
    assert (row.added, row.removed, row.files) == (3, 1, ("retry.py",))
    assert (row.model, row.kind, row.parent, row.cwd, row.branch) == (
        "smart",
        "interactive",
        "",
        str(PROJECT),
        "main",
    )
    assert (row.size, row.live, row.cut) == (path.stat().st_size, False, False)


def test_a_new_title_moves_no_session_up(store: Store):
    path = session(store)
    before = store.list()[0].updated
    store.rename(path, "another title")
    (row,) = store.list()
    assert (row.title, row.updated) == ("another title", before)


def test_runs_add_up(store: Store):
    session(store, [*run(1.0), *run(5.0, "and now the docs")])
    (row,) = store.list()
    assert (row.title, row.steps, row.cost, row.added, row.updated) == (
        "fix the flaky retry test",
        4,
        1.5,
        6,
        6.0,
    )


def test_an_unknown_price_makes_the_cost_unknown(store: Store):
    session(store, [*run(1.0), ev.Usage(purpose="turn", model="x", cost_usd=None)])
    assert store.list()[0].cost is None


def test_a_title_is_one_short_line_unless_it_was_given(store: Store):
    path = session(store, run(1.0, "  line one\x1b  is " + "long " * 40 + "\nline two"))
    title = store.list()[0].title
    assert len(title) <= 80
    assert title.startswith("line one")
    assert title.endswith("…")
    assert "\n" not in title
    store.rename(path, "  my\n name ")
    assert store.list()[0].title == "my name"


def test_a_session_that_asked_nothing_is_new(store: Store):
    session(store, [])
    assert store.list()[0].status == "new"


def test_a_run_without_an_end_is_running_while_someone_writes_it_and_cut_after(store: Store):
    path = session(store, run(1.0)[:-1])
    row = store.list()[0]
    assert (row.status, row.live, row.cut, row.steps) == ("partial", False, True, 2)
    with Log.open(path):
        row = store.list()[0]
        assert (row.status, row.live, row.cut) == ("running", True, False)


def test_what_the_program_says_itself_is_no_title(store: Store):
    nudge = user("n", "You stopped early", synthetic=True)
    session(store, [ev.MessageEnd(message=nudge), *run(1.0)])
    assert store.list()[0].title == "fix the flaky retry test"
    assert store.search("stopped early") == []


def test_the_list_is_by_last_change_and_by_project(store: Store):
    old, new = session(store, ts=10.0), session(store, ts=20.0)
    other = session(store, ts=30.0, project=Path("/other"))
    assert [row.path for row in store.list()] == [other, new, old]
    assert [row.path for row in store.list(PROJECT)] == [new, old]
    assert store.list(Path("/nothing/there")) == []
    with Log.open(old) as log:
        log.append(ev.Usage(purpose="turn", model="m", cost_usd=1.0, ts=40.0))
    assert [row.path for row in store.list(PROJECT)] == [old, new]
    assert store.list(PROJECT)[0].cost == 1.75


def test_the_last_session_is_none_of_a_sub_agent_or_a_replay(store: Store):
    assert store.last(PROJECT) is None
    mine = session(store, ts=1.0, kind="headless")
    session(store, ts=2.0, kind="sub_agent")
    session(store, ts=3.0, kind="replay")
    last = store.last(PROJECT)
    assert last is not None
    assert last.path == mine


def test_files_that_are_no_sessions_do_no_harm(store: Store):
    path = session(store)
    (path.parent / "notes.txt").write_text("x")
    (path.parent / "broken.jsonl").write_bytes(b"\x00\xff\n{}\n")
    (path.parent / "empty.jsonl").write_bytes(b"")
    (path.parent / "dir.jsonl").mkdir()
    (path.parent / "dangling.jsonl").symlink_to("/nowhere/at/all")
    assert {row.id for row in store.list()} == {path.stem, "broken", "empty"}


# ---- the index


def test_the_index_reads_on_where_it_stopped(store: Store):
    path = session(store)
    assert store.list()[0].steps == 2
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"fix the flaky", b"FIX THE FLAKY"))
    with Log.open(path) as log:
        for event in run(9.0, "more"):
            log.append(event)
    row = store.list()[0]
    assert row.steps == 4
    assert row.title == "fix the flaky retry test", "the first part was read again"


def test_a_log_that_shrank_is_read_anew(store: Store):
    path = session(store)
    store.list()
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    row = store.list()[0]
    assert (row.steps, row.status) == (0, "new")
    assert store.search("clock") == []
    assert len(store.search("flaky")) == 1


def test_an_unfinished_line_is_counted_when_it_is_whole(store: Store):
    path = session(store)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert store.list()[0].status == "partial"
    path.write_bytes(whole)
    assert store.list()[0].status == "success"


@pytest.mark.parametrize("damage", [b"", b"this is no database" * 500, None])
def test_a_damaged_index_is_made_anew(store: Store, damage: bytes | None):
    session(store)
    store.list()
    index = store.root / "index.sqlite3"
    content = index.read_bytes()
    for suffix in ("-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    index.write_bytes(content[:5000] + os.urandom(len(content) - 5000) if damage is None else damage)
    assert [row.title for row in store.list()] == ["fix the flaky retry test"]
    assert len(store.search("flaky")) == 1
    assert len(store.search("flaky")) == 1


def test_an_index_of_another_version_is_made_anew(store: Store):
    session(store)
    store.list()
    database = sqlite3.connect(store.root / "index.sqlite3")
    database.execute("DROP TABLE sessions")
    database.execute("CREATE TABLE sessions (other TEXT)")
    database.execute("PRAGMA user_version = 99")
    database.commit()
    database.close()
    assert len(store.list()) == 1


def test_without_a_usable_index_lists_are_still_right(store: Store):
    session(store)
    (store.root / "index.sqlite3").mkdir()
    assert [row.steps for row in store.list()] == [2]
    assert store.summary(store.list()[0].path).steps == 2


def test_only_the_owner_can_read_the_index(store: Store):
    session(store)
    store.list()
    assert stat.S_IMODE((store.root / "index.sqlite3").stat().st_mode) == 0o600


def test_several_at_once_get_the_same(store: Store):
    for number in range(20):
        session(store, id=f"s{number:02}", ts=float(number))
    lists: list[list[str]] = []

    def look() -> None:
        lists.append([row.id for row in Store(store.root).list()])

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lists == [[f"s{number:02}" for number in reversed(range(20))]] * 6
    assert len(store.search("flaky", limit=100)) == 20, "a text is in the index once"


# ---- search


def test_search_finds_words_and_beginnings_of_both_speakers(store: Store):
    path = session(store, run(1.0, "¿Dónde está el camión?", "The lock's slot — jitter(now)"))
    other = session(store, run(2.0, "unrelated"), project=Path("/other"))
    for text in ("camion", "donde CAMION", "jitter", "jit", 'slot "jitter', "jitter(now)"):
        assert [hit.session.path for hit in store.search(text)] == [path], text
    hit = store.search("jitter")[0]
    assert (hit.who, hit.seq) == ("assistant", 6)
    assert "\x02jitter\x03" in hit.snippet
    assert store.search("camion jitter") == [], "all words in one text"
    assert [hit.session.path for hit in store.search("unrelated", Path("/other"))] == [other]
    assert store.search("unrelated", PROJECT) == []
    assert store.search("") == store.search("  ") == store.search("nowhere") == []


def test_search_finds_signs_that_are_no_words(store: Store):
    session(store, run(1.0, "why does x -> y fail?", "把它改成 异步函数 吧"))
    (hit,) = store.search("->")
    assert hit.snippet == "why does x \x02->\x03 y fail?"
    assert len(store.search("异步")) == 1
    assert len(store.search("步函")) == 1


@pytest.mark.parametrize(
    "text", ['"', "*", "a AND", "NEAR(", "who:user", "-x", "(", "'; DROP TABLE texts", "\x00", "^a"]
)
def test_no_search_text_is_a_query(store: Store, text: str):
    session(store)
    store.search(text)
    assert len(store.search("flaky")) == 1


# ---- find


def test_find_by_path_id_beginning_and_end(store: Store, monkeypatch: pytest.MonkeyPatch):
    one = session(store, id="20261130-140211-k3f9")
    two = session(store, id="20261130-150000-abcd", project=Path("/other"))
    assert store.find("20261130-140211-k3f9") == one
    assert store.find("20261130-14") == one
    assert store.find("k3f9") == one
    assert store.find(" abcd ", PROJECT) == two
    assert store.find(str(two)) == two
    monkeypatch.chdir(two.parent)
    assert store.find("./" + two.name) == two
    assert store.find(two.name) == two


def test_a_beginning_that_fits_several_is_the_projects_own_if_that_is_one(store: Store):
    mine = session(store, id="20261130-140211-k3f9")
    session(store, id="20261130-150000-abcd", project=Path("/other"))
    assert store.find("2026", PROJECT) == mine
    with pytest.raises(SessionError, match="2 sessions: 20261130-150000-abcd, 20261130-140211-k3f9"):
        store.find("2026")


def test_a_wrong_id_names_the_nearest(store: Store):
    with pytest.raises(SessionError, match="none was saved yet"):
        store.find("x")
    session(store, id="20261130-140211-k3f9")
    with pytest.raises(
        SessionError, match=r'no session "20261130-140211-k3g9"; nearest: 20261130-140211-k3f9'
    ):
        store.find("20261130-140211-k3g9")
    with pytest.raises(SessionError, match=r"no session file /no/where\.jsonl"):
        store.find("/no/where.jsonl")
    with pytest.raises(SessionError, match='no session ""'):
        store.find("")


# ---- fork


def test_a_fork_is_the_beginning_of_its_parent(store: Store):
    path = session(store)
    fork = store.fork(path, 7)
    events = list(read(fork))
    start = events[0]
    assert isinstance(start, SessionStart)
    assert (start.id, start.parent, start.parent_seq, start.cwd) == (fork.stem, path.stem, 7, str(PROJECT))
    assert events[1:] == list(read(path))[1:7]
    assert fork.parent == path.parent
    assert stat.S_IMODE(fork.stat().st_mode) == 0o600
    with Log.open(fork) as log:
        assert log.next_seq == 8
    row = store.summary(fork)
    assert (row.parent, row.parent_seq, row.title) == (path.stem, 7, "fix the flaky retry test")


def test_a_fork_at_any_point_opens_and_leaves_its_parent_alone(store: Store):
    path = session(store)
    before = path.read_bytes()
    count = len(list(read(path)))
    with Log.open(path):  # even while its parent is being written
        for at in range(1, count + 1):
            fork = store.fork(path, at)
            assert [event.seq for event in read(fork)] == list(range(1, at + 1))
    assert path.read_bytes() == before
    assert {item.suffix for item in path.parent.iterdir()} == {".jsonl"}


def test_a_fork_at_zero_is_a_whole_copy(store: Store):
    path = session(store)
    fork = store.fork(path, 0)
    assert list(read(fork))[1:] == list(read(path))[1:]
    assert store.summary(fork).parent_seq == 12


def test_a_fork_keeps_events_it_does_not_know(store: Store):
    path = session(store, [])
    line = b'{"type":"hologram","seq":2,"ts":3.0,"depth":{"z":1}}\n'
    path.write_bytes(path.read_bytes() + line)
    assert store.fork(path, 2).read_bytes().splitlines(keepends=True)[1] == line


@pytest.mark.parametrize("at", [-1, 13])
def test_a_fork_at_no_event_is_refused(store: Store, at: int):
    path = session(store)
    with pytest.raises(SessionError, match="has events 1 to 12"):
        store.fork(path, at)
    assert len(store.list()) == 1


def test_a_fork_of_a_file_elsewhere_goes_to_its_project(store: Store, tmp_path: Path):
    path = session(store)
    moved = tmp_path / "sent-by-a-friend.jsonl"
    path.rename(moved)
    assert store.fork(moved, 3).parent == store.project_folder(PROJECT)
    (tmp_path / "text.jsonl").write_text("hello\n")
    with pytest.raises(SessionError, match="not a session log"):
        store.fork(tmp_path / "text.jsonl", 1)


# ---- verify


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_a_good_log_has_no_faults(store: Store):
    assert store.verify(session(store)) == []


def test_every_fault_is_named_with_its_place(store: Store):
    path = session(store)
    good = lines(path)
    path.write_bytes(
        b"".join([*good[:3], b"garbage\n", *good[4:6], good[5], *good[9:12], good[7]]) + b'{"half'
    )
    path.chmod(0o644)
    assert store.verify(path) == [
        "line 4: can't be read (8 bytes)",
        "line 5: event 4 is missing before it",
        "line 7: event 6 is there twice",
        "line 8: events 7 to 9 are missing before it",
        "line 11: event 8 comes after event 12",
        "line 12: unfinished (6 bytes); opening the session drops it",
        "others can read it: its mode is 0644, not 0600",
    ]


def test_open_ends_are_faults_unless_someone_is_writing(store: Store):
    path = session(store, run(1.0)[:6])
    assert store.verify(path) == [
        "event 7: the call edit_file (c) has no end; a resume marks it interrupted",
        "event 3: the run r has no agent_end",
    ]
    with Log.open(path):
        assert store.verify(path) == []


def test_two_ends_and_a_missing_end_are_faults(store: Store):
    end = run(1.0)[-1]
    path = session(store, [*run(1.0), end, run(1.0)[1], *run(1.0)])
    assert store.verify(path) == ["event 13: agent_end without a run", "event 14: the run r has no agent_end"]


def test_a_wrong_beginning_is_a_fault(store: Store):
    path = session(store)
    path.write_bytes(b"")
    assert store.verify(path) == ["it is empty"]
    path.write_bytes(b'{"type":"turn_start","seq":1,"ts":1.0,"step":1}\n')
    assert store.verify(path) == ["line 1: is no session_start"]
    path.write_bytes(
        b'{"type":"session_start","seq":1,"ts":1.0,"version":7,"id":"x","kind":"headless","cwd":"/","model":""}\n'
    )
    assert store.verify(path) == ["line 1: format 7 is newer than this program's 1"]
    path.unlink()
    with pytest.raises(SessionError, match="can't read"):
        store.verify(path)


def test_thousands_of_faults_are_told_in_short(store: Store):
    path = session(store, [])
    path.write_bytes(path.read_bytes() + b"x\n" * 1000)
    faults = store.verify(path)
    assert len(faults) == 51
    assert faults[-1] == "and 950 more"


# ---- remove


def test_remove_takes_the_folder_and_the_index_entry_along(store: Store):
    path, other = session(store), session(store)
    folder = store.folder(PROJECT, path.stem)
    folder.mkdir()
    (folder / "output.txt").write_text("x")
    store.list()
    store.remove(path)
    assert not path.exists()
    assert not folder.exists()
    assert [row.path for row in store.list()] == [other]
    assert {hit.session.path for hit in store.search("flaky")} == {other}
    store.remove(other)
    assert not other.parent.exists()


def test_a_session_that_is_being_written_is_not_removed(store: Store):
    path = session(store)
    with Log.open(path), pytest.raises(SessionError, match="open in another process"):
        store.remove(path)
    assert path.exists()


def test_a_broken_session_can_be_removed(store: Store):
    path = session(store)
    path.write_bytes(b"garbage")
    store.remove(path)
    assert not path.exists()


def test_nothing_outside_the_store_is_removed(store: Store, tmp_path: Path):
    mine = tmp_path / "notes.jsonl"
    mine.write_text("precious")
    (tmp_path / "notes").mkdir()
    with pytest.raises(SessionError, match="delete it by hand"):
        store.remove(mine)
    assert mine.exists()
    path = session(store)
    store.folder(PROJECT, path.stem).symlink_to(tmp_path / "notes")
    store.remove(path)
    assert (tmp_path / "notes").is_dir()


def test_old_sessions_expire_only_when_told_to(store: Store):
    old, used, young = session(store), session(store), session(store)
    for path in (old, used):
        os.utime(path, (1000.0, 1000.0))
    os.utime(young, (9 * 86400.0, 9 * 86400.0))
    assert store.expire(0, now=10 * 86400.0) == []
    with Log.open(used):
        os.utime(used, (1000.0, 1000.0))
        assert store.expire(5, now=10 * 86400.0) == [old.stem]
    assert {row.path for row in store.list()} == {used, young}
