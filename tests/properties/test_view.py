"""The fold for the screen: total, deterministic, the same in pieces, and its changes tell all of it."""

from dataclasses import asdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.strategies import any_events, numbered, sessions
from tui_agent.core import events as ev
from tui_agent.core.events import AnyEvent, Event
from tui_agent.core.messages import Message, Text
from tui_agent.ui.blocks import Block
from tui_agent.ui.view import View


def picture(view: View) -> dict[str, Any]:
    """Everything that the screen shows."""
    return {
        "blocks": [asdict(block) for block in view.blocks],
        "gauges": view.gauges,
        "activity": view.activity,
        "queue": view.run.queue,
        "approvals": view.run.approvals,
        "questions": view.run.questions,
        "waits": (view.run.limit, view.run.retry, view.run.veto, view.run.stopping),
        "title": (view.title, view.model_label, view.meters.mode, view.meters.confirm),
        "changes": view.tools.totals(),
    }


def folded(events: list[Event]) -> View:
    view = View()
    view.fold(events)
    return view


@given(any_events(max_size=40), st.data())
def test_a_prefix_folded_first_changes_nothing(events: list[AnyEvent], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(events)))
    view = View()
    view.fold(events[:cut])
    picture(view)
    view.fold(events[cut:])
    assert picture(view) == picture(folded([*events]))


@given(st.one_of(any_events(max_size=40), sessions().map(numbered)))
def test_changes_tell_everything(events: list[AnyEvent]) -> None:
    view = View()
    mirror: list[Block] = []
    versions: dict[int, int] = {}
    for event in events:
        for change in view.apply(event):
            if change.block is None:
                continue
            if change.what == "added":
                mirror.append(change.block)
            elif change.what == "removed":
                mirror.remove(change.block)
            versions[id(change.block)] = change.block.version
        assert mirror == view.blocks
        assert all(versions[id(block)] == block.version for block in view.blocks)
    assert len({block.id for block in view.blocks}) == len(view.blocks)


@given(sessions())
def test_the_log_read_again_gives_the_same_page(events: list[AnyEvent]) -> None:
    again = [ev.decode(ev.encode(event)) for event in events]
    assert picture(folded([*events])) == picture(folded([*again]))


pieces = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1, max_size=8)


@given(pieces, pieces, st.booleans())
def test_however_a_stream_was_cut_the_final_message_counts(
    thought: list[str], said: list[str], logged: bool
) -> None:
    view = View()
    start = ev.MessageStart(seq=1, ts=1.0, id="m", role="assistant")
    deltas = [("reasoning", piece) for piece in thought] + [("text", piece) for piece in said]
    stream = [
        ev.MessageUpdate(seq=index if logged else 0, ts=2.0, id="m", delta=delta, text=text)  # type: ignore[arg-type]
        for index, (delta, text) in enumerate(deltas, 2)
    ]
    end = ev.MessageEnd(
        seq=90, ts=3.0, message=Message(id="m", role="assistant", parts=(Text("".join(said)),))
    )
    view.fold([start, *stream, end])
    plain = folded([start, end])
    assert [block.text for block in view.blocks] == [block.text for block in plain.blocks]
    assert not any(block.live for block in view.blocks)
