"""Shrink: the history fits whenever it can, keeps what was asked, and is only ever cut between exchanges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.strategies import valid_history
from tui_agent.context.repair import repair, violations
from tui_agent.context.shrink import (
    Truncations,
    cap_results,
    mechanical_summary,
    plan_cut,
    summary_message,
    summary_request,
    truncate,
    window,
)
from tui_agent.core.messages import Image, Message, Reasoning, Result, Text, exchanges


def count(text: str) -> int:
    """Words and line ends: as uneven against characters as a real tokenizer."""
    return len(text.split()) + text.count("\n") + len(text) // 50


def count_message(message: Message) -> int:
    def size(part: object) -> int:
        match part:
            case Text(text=text) | Result(text=text) | Reasoning(text=text):
                return count(text)
            case Image():
                return 100
            case _:
                return 5

    return 4 + sum(map(size, message.parts))


long_texts = st.one_of(
    st.lists(st.text(max_size=30), max_size=200).map("\n".join),
    st.lists(st.sampled_from(["word", "x" * 500, "日本語 " * 40]), max_size=40).map(" ".join),
    st.text(max_size=400),
)


@given(long_texts, st.integers(20, 300))
def test_a_truncated_text_fits_and_keeps_both_ends(text: str, limit: int) -> None:
    seen, note = truncate(text, limit, count)
    if count(text) <= limit:
        assert (seen, note) == (text, "")
    else:
        assert count(seen) <= limit
        assert note
        head, marker, tail = seen.partition("[… ")
        assert marker
        assert text.startswith(head.rstrip("\n"))
        assert text.endswith(tail.partition("omitted …]")[2].removeprefix("\n"))


@given(valid_history(long_texts=True), st.integers(20, 400))
def test_capping_is_stable(history: list[Message], limit: int) -> None:
    """The same bytes with and without a cache, for a growing history, and when it is done twice."""
    cache: Truncations = {}
    capped = cap_results(history, limit, count, cache)
    assert capped == cap_results(history, limit, count, cache) == cap_results(history, limit, count)
    assert cap_results(capped, limit, count) == capped
    assert cap_results(history[:-1], limit, count) == capped[:-1]
    assert all(count(result.text) <= limit for message in capped for result in message.results)
    assert violations(capped) == []


@given(valid_history(long_texts=True), st.integers(0, 4000))
def test_a_window_is_whole_ordered_and_fits(history: list[Message], budget: int) -> None:
    cut = window(history, budget, count_message)
    assert violations(cut.messages) == []
    assert cut.tokens == sum(map(count_message, cut.messages))
    assert cut.fits == (cut.tokens <= budget)
    texts = "\0".join(message.text for message in cut.messages)
    assert history[0].text in texts
    requests = [m.text for m in history if m.role == "user" and m.origin == "person"]
    assert requests[-1] in texts
    order = [message.id for message in history]
    places = [order.index(message.id) for message in cut.messages]
    assert places == sorted(places)
    replies = [message.id for message in cut.messages if message.role != "user"]
    last = [message.id for message in list(exchanges(history))[-1] if message.role != "user"]
    assert replies[len(replies) - len(last) :] == last


@given(valid_history(long_texts=True), st.integers(0, 4000))
def test_a_window_is_never_smaller_than_it_need_be(history: list[Message], budget: int) -> None:
    """It gives up only when the first message, the last request and the last exchange without its results are too much."""
    cut = window(history, budget, count_message)
    if sum(map(count_message, history)) <= budget:
        assert cut.messages == history
    if not cut.fits:
        assert all(count(result.text) < 60 for message in cut.messages for result in message.results)
        assert len(list(exchanges(cut.messages))) == 1


@given(valid_history(), st.integers(0, 6))
def test_a_cut_is_between_exchanges(history: list[Message], keep: int) -> None:
    cut = plan_cut(history, keep)
    if cut is None:
        return
    at = next(n for n, message in enumerate(history) if message.id == cut.kept_from)
    assert history[at].role != "tool"
    assert [*([cut.first] if cut.first else []), *cut.old] == history[:at]
    answered = [group for group in exchanges(history[at:]) if any(m.role == "assistant" for m in group)]
    assert len(answered) == max(1, keep)
    summary = summary_message("s", mechanical_summary(cut), cut)
    after = [*([cut.first] if cut.first else []), summary, *history[at:]]
    assert violations(repair(after)[0]) == []
    assert cut.request in summary.text
    assert violations(summary_request(cut)) == []
    assert plan_cut(after, keep) is None


@given(valid_history(long_texts=True), st.integers(2000, 20_000))
def test_the_request_for_a_summary_is_bounded(history: list[Message], most: int) -> None:
    cut = plan_cut(history, 1)
    if cut is not None:
        assert len(summary_request(cut, max_chars=most)[0].text) <= most + 3000
