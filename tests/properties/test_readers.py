"""Readers take any events in any order, and every run in order gives whole, clean lines and one result."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.strategies import any_events, sessions
from tui_agent.core import events as ev
from tui_agent.readers.result import ResultReader, exit_code
from tui_agent.readers.trace import HumanTrace
from tui_agent.readers.trace_words import Language

languages = st.sampled_from(get_args(Language))


@given(any_events(), languages)
def test_any_events_give_clean_lines(events: list[ev.AnyEvent], language: Language) -> None:
    trace = HumanTrace(language)
    for event in events:
        for line in trace.feed(event):
            assert all(char.isprintable() or char == "\u200d" for char in line)
            assert line == line.rstrip()


@given(any_events())
def test_any_events_give_a_result(events: list[ev.AnyEvent]) -> None:
    reader = ResultReader()
    for event in events:
        reader.feed(event)
        assert exit_code(reader.end) in {0, 1, 2, 4, 5, 130}
    result = reader.result()
    assert json.loads(json.dumps(result)) == result
    assert set(result["tokens"]) == {"input", "cached", "output", "reasoning"}


@given(sessions(), languages)
def test_every_call_has_its_line_directly_above_its_outcome(
    events: list[ev.AnyEvent], language: Language
) -> None:
    trace = HumanTrace(language)
    lines = [line for event in events for line in trace.feed(event)]
    calls = [event for event in events if isinstance(event, ev.ToolExecutionStart)]
    heads = [at for at, line in enumerate(lines) if line.startswith("   🔧 ")]
    assert len(heads) == len(calls)
    marks = {"ok": "✓", "error": "✗", "denied": "⊘", "interrupted": "⏸", "not_started": "⊘"}
    for event in events:
        if isinstance(event, ev.ToolExecutionEnd):
            at = lines.index(f"   🔧 {event.name} → {event.call_id}.py")
            assert lines[at + 1].startswith(f"      {marks[event.status]}")
    assert "" not in (lines[0], lines[-1])
    assert not any(one == two == "" for one, two in pairwise(lines))


@given(sessions(max_runs=1))
def test_the_fold_agrees_with_the_end(events: list[ev.AnyEvent]) -> None:
    """Cut before its end, a run's result has the same counts, but failed."""
    whole, cut = ResultReader(), ResultReader()
    for event in events:
        whole.feed(event)
        if not isinstance(event, ev.AgentEnd):
            cut.feed(event)
    expected, result = whole.result(), cut.result()
    assert (result["status"], expected["status"] in ("success", "partial")) == ("failed", True)
    for key in ("steps", "tool_calls", "tokens", "session_id", "model"):
        assert result[key] == expected[key]
