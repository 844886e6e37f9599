"""Repair: any history at all becomes one that every provider takes, and nothing a person said is lost."""

from __future__ import annotations

from hypothesis import given

from tests.properties.strategies import any_history, valid_history
from tui_agent.context.repair import Repairs, repair, sendable, violations
from tui_agent.core.messages import Image, Message, Text


@given(any_history())
def test_any_history_becomes_valid(history: list[Message]) -> None:
    assert violations(repair(history)[0]) == []


@given(any_history())
def test_repair_is_idempotent(history: list[Message]) -> None:
    once, _ = repair(history)
    twice, again = repair(once)
    assert twice == once
    assert again == Repairs()


@given(any_history())
def test_what_people_said_survives_in_order(history: list[Message]) -> None:
    sent = "\0".join(message.text for message in repair(history)[0] if message.role == "user")
    at = 0
    for message in history:
        if message.role not in ("user", "system"):
            continue
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                at = sent.index(part.text, at) + len(part.text)


@given(any_history())
def test_images_of_people_survive(history: list[Message]) -> None:
    def shown(messages: list[Message]) -> int:
        return sum(isinstance(part, Image) for m in messages if m.role != "assistant" for part in m.parts)

    assert shown(repair(history)[0]) == shown(history)


@given(any_history())
def test_the_input_is_left_alone_and_the_answer_is_the_same_each_time(history: list[Message]) -> None:
    before = list(history)
    first = repair(history)
    assert history == before
    assert repair(history) == first


@given(valid_history())
def test_a_valid_history_is_not_touched(history: list[Message]) -> None:
    assert violations(history) == []
    mended, repairs = repair(history)
    assert all(new is old for new, old in zip(mended, history, strict=True))
    assert not repairs


@given(valid_history(), valid_history(max_exchanges=2))
def test_a_growing_history_keeps_its_beginning(history: list[Message], more: list[Message]) -> None:
    """Ids clash in the second half, yet the first half is sent as before: provider caches hit."""
    if not sendable(history):
        longer, _ = repair([*history, *more])
        assert longer[: len(history)] == history
        assert violations(longer) == []
