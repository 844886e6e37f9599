"""The small parts of the engine, each by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tui_agent.config.sections import Routing
from tui_agent.context.repair import violations
from tui_agent.core.events import MessageUpdate, ToolExecutionUpdate
from tui_agent.core.messages import Call, Message, Result, Text, user
from tui_agent.engine import deltas
from tui_agent.engine.deltas import Deltas, Piece
from tui_agent.engine.evaluate import parse
from tui_agent.engine.history import ApiCopy
from tui_agent.engine.ratelimits import RateLimits
from tui_agent.engine.routing import route
from tui_agent.engine.stall import Repetitions

# ---- judgements


@pytest.mark.parametrize(
    "text",
    [
        '{"completed": true, "confidence": 0.92, "issues": [], "suggestion": ""}',
        'Here it is:\n```json\n{"completed": true, "confidence": 0.92}\n```\nDone.',
        'I think {"completed": true, "confidence": "0.92", "suggestion": "a } in a string"} is right.',
        'First {not json} then {"completed": true, "confidence": 0.92}',
    ],
)
def test_a_judgement_is_found(text: str) -> None:
    judgement = parse(text)
    assert judgement is not None
    assert judgement.passed


@pytest.mark.parametrize(
    "text", ["", "no object", "{", '{"completed": ', '["completed"]', "```json\n{}\n```"]
)
def test_no_judgement(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("completed", "confidence", "passed"), [(True, 0.8, True), (True, 0.79, False), (False, 1.0, False)]
)
def test_passing_takes_completion_and_confidence(completed: bool, confidence: float, passed: bool) -> None:
    judgement = parse(f'{{"completed": {str(completed).lower()}, "confidence": {confidence}}}')
    assert judgement is not None
    assert judgement.passed is passed


# ---- repetition


def calls(record: Repetitions, *names: str, result: str = "same") -> None:
    for name in names:
        record.call(name, {"path": "x"}, result, edited=False)


@pytest.mark.parametrize("period", [1, 2, 3, 4, 5])
def test_cycles_of_any_length_up_to_five(period: int) -> None:
    record = Repetitions()
    names = "abcde"[:period]
    calls(record, *(names * 2))
    assert record.find() is None
    calls(record, *names)
    found = record.find()
    assert found is not None
    assert (found.kind, found.count) == ("same_call" if period == 1 else "cycle", 3)
    calls(record, *(names * 2))
    found = record.find()
    assert found is not None
    assert found.count == 5


def test_similar_arguments_count_as_the_same() -> None:
    record = Repetitions()
    for path in ("./src/a.py", "src/a.py ", "src/a.py"):
        record.call("read", {"path": path, "n": 1}, "text", edited=False)
    assert record.find() is not None


def test_times_and_addresses_do_not_hide_a_repetition() -> None:
    record = Repetitions()
    for n in range(3):
        record.call(
            "test", {}, f"2026-01-0{n + 1} 10:00:0{n} <obj at 0x7f{n}> 3 failed in 0.{n} s", edited=False
        )
    assert record.find() is not None


def test_other_results_other_arguments_and_edits_are_no_repetition() -> None:
    record = Repetitions()
    for n in range(9):
        record.call("poll", {}, f"line {n}", edited=False)
        record.call("read", {"path": f"f{n}"}, "text", edited=False)
    assert record.find() is None
    for _ in range(9):
        record.call("test", {}, "1 failed", edited=False)
        record.call("edit", {}, "ok", edited=True)
    assert record.find() is None


# ---- routing


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("fix the typo in README", "fast"), ("rename x to y", "fast"), ("refactor the session store", "smart"),
        ("why does the test fail?", "smart"), ("x " * 900, "smart"), ("add a flag to the command line", ""),
    ],
)  # fmt: skip
def test_routing(text: str, model: str) -> None:
    chosen, why = route(Routing(enabled=True, fast="fast", smart="smart"), text)
    assert chosen == model
    assert bool(why) is bool(model)
    assert route(Routing(enabled=False, fast="fast", smart="smart"), text) == ("", "")


# ---- rate limits


def test_rate_limits_are_shared_through_the_file(tmp_path: Path) -> None:
    file = tmp_path / "state" / "rates.json"
    RateLimits(file).note("anthropic", 150.0, 100.0)
    other = RateLimits(file)
    assert other.until("anthropic", 100.0) == 150.0
    assert other.until("anthropic", 151.0) == 0.0
    assert other.until("openai", 100.0) == 0.0
    other.clear("anthropic", 110.0)
    assert RateLimits(file).until("anthropic", 110.0) == 0.0


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"a": "b"}', b"\xff\xfe"])
def test_no_fault_of_the_file_disturbs(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "rates.json"
    file.write_bytes(content)
    limits = RateLimits(file)
    assert limits.until("anthropic", 1.0) == 0.0
    limits.note("anthropic", 60.0, 1.0)
    assert limits.until("anthropic", 1.0) == 60.0


def test_a_folder_in_the_files_place_is_no_fault_either(tmp_path: Path) -> None:
    limits = RateLimits(tmp_path)
    limits.note("anthropic", 60.0, 1.0)
    assert limits.until("anthropic", 1.0) == 60.0, "kept in memory"


# ---- deltas


async def test_pieces_keep_their_order_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "SCREEN_EVERY", 0.001)
    monkeypatch.setattr(deltas, "LOG_EVERY", 0.002)
    shown: list[Piece] = []
    written: list[Piece] = []
    merging = Deltas(shown.append, written.append)
    sent: list[Piece] = []
    for n in range(500):
        sent.append(MessageUpdate(id="a", delta="text" if n % 50 else "reasoning", text=f"{n} "))
        merging.push(sent[-1])
        if n % 10 == 0:
            await asyncio.sleep(0.0005)
    merging.flush()
    whole = "".join(piece.text for piece in sent)
    assert "".join(piece.text for piece in shown) == whole
    assert "".join(piece.text for piece in written) == whole
    assert len(written) <= len(shown) < len(sent)


async def test_the_first_piece_goes_out_at_once() -> None:
    shown: list[Piece] = []
    merging = Deltas(shown.append, lambda _: None)
    merging.push(MessageUpdate(id="a", delta="text", text="x"))
    assert len(shown) == 1
    merging.push(MessageUpdate(id="a", delta="text", text="y"))
    assert len(shown) == 1, "the next one waits for its frame"
    merging.flush()
    assert len(shown) == 2


async def test_a_flood_of_output_reaches_the_screen_by_its_tail_and_the_log_in_part() -> None:
    shown: list[Piece] = []
    written: list[Piece] = []
    merging = Deltas(shown.append, written.append)
    for _ in range(400):
        merging.push(ToolExecutionUpdate(call_id="c", text="y\n" * 512))
    merging.flush()
    assert max(len(piece.text) for piece in shown) <= deltas.LIVE_OUTPUT_BYTES + 2
    assert sum(len(piece.text) for piece in written) <= deltas.LOGGED_OUTPUT_CHARS + 1024


# ---- the API copy


def step(n: int, *, text: str = "ok") -> list[Message]:
    return [
        Message(id=f"a{n}", role="assistant", parts=(Text("x"), Call(f"c{n}", "look")), origin="model"),
        Message(id=f"t{n}", role="tool", parts=(Result(f"c{n}", "look", text),), origin="tool"),
    ]


def copy() -> ApiCopy:
    return ApiCopy(lambda text: len(text) // 4)


def test_a_regular_history_is_sent_as_it_is_and_only_its_growth_is_looked_at() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text) // 4

    preparing = ApiCopy(count)
    history = [user("u", "go")]
    ready: list[Message] = []
    for n in range(50):
        history += step(n, text=f"result {n} " * 100)
        counted.clear()
        prepared, repairs = preparing.prepare(history, 50)
        ready = list(prepared)
        assert not repairs
        assert len(counted) < 40, "only the newest result is counted"
    assert [message.id for message in ready] == [message.id for message in history]
    assert "omitted" in ready[2].results[0].text


def test_a_truncated_result_has_the_same_bytes_at_every_call() -> None:
    preparing = copy()
    history = [user("u", "go"), *step(0, text="line of text\n" * 500)]
    first = preparing.prepare(history, 50)[0][2]
    history += step(1)
    assert preparing.prepare(history, 50)[0][2] is first


@pytest.mark.parametrize(
    "irregular",
    [
        [user("u1", "go"), user("u2", "and")],
        [user("u", "go"), step(0)[0]],
        [step(0)[1], user("u", "go")],
        [user("u", "go"), *step(0), *step(0)],
        [user("u", "go"), Message(id="e", role="assistant", parts=()), user("v", "x")],
    ],
)
def test_anything_irregular_is_repaired(irregular: list[Message]) -> None:
    assert violations(irregular)
    ready, _ = copy().prepare(irregular, 0)
    assert violations(ready) == []


def test_a_replaced_history_starts_anew() -> None:
    preparing = copy()
    preparing.prepare([user("u", "go"), *step(0)], 0)
    ready, _ = preparing.prepare([user("v", "other")], 0)
    assert [message.id for message in ready] == ["v"]
