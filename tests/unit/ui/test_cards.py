"""What cards say of limits, failures and ends: true, with the digits that are needed, and with advice that works."""

from pathlib import Path

import pytest

from tests.unit.ui.test_view import Story
from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.core.messages import Message, Text, user
from tui_agent.ui import keys
from tui_agent.ui.fold.run import LimitCard
from tui_agent.ui.widgets.gauge import gauge_line
from tui_agent.ui.widgets.limitcard import limit_lines

SIZES = {"before_messages": 2, "after_messages": 2, "before_tokens": 9, "after_tokens": 9}
KEYS = {"continue": "c", "amount": "a", "summarise": "s", "stop": "x"}


def card_text(card: LimitCard) -> str:
    return "\n".join(
        "".join(text for text, _ in (*left, *right)) for left, right in limit_lines(card, KEYS, 5, "")
    )


def rows(story: Story, reason: str, status: str = "partial", **fields: object) -> dict[str, str]:
    return dict(story.end(reason, status, **fields).rows)


@pytest.fixture
def story() -> Story:
    story = Story()
    story.begin(max_steps=1, step_timeout=3.0, budget_usd=0.0005)
    return story


# ---- ends


def test_the_step_limit_counts_the_extra_step_apart_and_claims_no_summary(story: Story) -> None:
    told = rows(story, "max_steps", steps=2)
    assert told["why"] == "1 of 1 step and one more to read the last results are used"
    assert "/steps N" in told["next"]
    story.run(max_steps=1)
    story.tell(ev.Closing, reason="max_steps", message=user("c1", "Sum up.", synthetic=True))
    assert rows(story, "max_steps", steps=2)["why"].endswith("what is done so far is summed up above")
    story.run(max_steps=1)
    assert "summed up" not in rows(story, "max_steps", steps=2)["why"]


def test_a_failed_run_says_what_is_kept_and_no_reason_that_is_none(story: Story) -> None:
    told = rows(story, "llm_error", "failed", failure=Failure("rate_limit", "rate limit (429)", status=429))
    assert "why" not in told
    assert told["kept"] == "everything so far"
    assert told["next"].startswith("/retry or /continue")


@pytest.mark.parametrize("kind", ["auth", "billing", "not_found", "bad_request"])
def test_asking_again_is_no_advice_where_it_fails_again(story: Story, kind: str) -> None:
    told = rows(story, "llm_error", "failed", failure=Failure(kind, "refused"))  # type: ignore[arg-type]
    assert told["next"].startswith("choose another model (f3)")
    assert "/continue" not in told["next"]


def test_an_unreadable_reply_says_where_to_look(story: Story) -> None:
    told = rows(story, "llm_error", "failed", failure=Failure("malformed", "an HTML page", status=200))
    assert "api_base" in told["do"]


def test_a_step_timeout_is_no_timeout_of_the_run(story: Story) -> None:
    failure = Failure("timeout", "no complete reply within 3 s", step=True)
    assert (
        rows(story, "timeout", failure=failure)["why"]
        == "a model call took longer than its 3.0 s (step timeout)"
    )


def test_a_run_that_a_person_stopped_is_still_said_to_be(story: Story) -> None:
    assert story.end("user_interrupt", "partial").title == "stopped by you · partial"


# ---- on the way


@pytest.mark.parametrize(
    ("failure", "attempt", "limit", "wait", "text", "right"),
    [
        (Failure("network", "x", provider="openai"), 1, 3, 2.0, "connection to openai lost · attempt 1 of 3", "waits 2.0 s"),
        (Failure("malformed", "x", status=200, provider="openai"), 1, 1, 0.0, "unreadable reply from openai", "at once"),
        (Failure("rate_limit", "x", status=429, provider="openai"), 2, 3, 0.0, "rate limit (429) from openai · attempt 2 of 3", "at once"),
    ],
)  # fmt: skip
def test_a_retry_in_plain_words(
    story: Story, failure: Failure, attempt: int, limit: int, wait: float, text: str, right: str
) -> None:
    until = story.ts + 1.0 + wait
    story.tell(ev.Retry, failure=failure, attempt=attempt, limit=limit, until=until, action="wait")
    assert (story.last.text, story.last.right) == (text, right)


def test_the_same_vain_attempt_to_compact_is_told_once(story: Story) -> None:
    before = len(story.view.blocks)
    for _ in range(3):
        story.tell(ev.Compaction, method="none", why="the last exchange alone fills the window", **SIZES)
    assert len(story.view.blocks) == before + 1


@pytest.mark.parametrize("failure", [Failure("network", "gone"), None])
def test_an_answer_that_broke_off_was_not_stopped(story: Story, failure: Failure | None) -> None:
    message = Message(id="a1", role="assistant", parts=(Text("These words"),), interrupted=True)
    story.tell(ev.MessageEnd, message=message, failure=failure)
    assert (story.last.interrupted, story.last.broken) == (True, failure is not None)


# ---- limits


def test_a_budget_that_is_not_spent_says_what_going_on_needs(story: Story) -> None:
    story.tell(ev.GuardTripped, reason="budget_exceeded", used=0.0, allowed=0.0005, needed=0.003, asks=True)
    assert story.view.run.limit is not None
    text = card_text(story.view.run.limit)
    assert "going on may cost about $0.0030, and $0.00050 of the budget is left" in text
    assert "the budget is used up" not in text
    assert "(budget $0.0045)" in text


def test_a_spent_budget_is_used_up() -> None:
    assert "the budget is used up" in card_text(LimitCard("budget_exceeded", 0.6, 0.5))


def test_a_small_budget_keeps_its_digits_in_the_gauge(story: Story) -> None:
    left, _ = gauge_line(story.view.gauges, [], 120)
    assert "/ 0.00050" in "".join(text for text, _ in left)


def test_the_card_says_which_time_is_over(story: Story) -> None:
    story.tell(ev.GuardTripped, reason="timeout", used=3.0, allowed=3.0, asks=True)
    assert story.view.run.limit is not None
    assert "this model call took its 3.0 s (step timeout)" in card_text(story.view.run.limit)
    story.tell(ev.GuardTripped, reason="timeout", used=61.2, allowed=60.0, asks=True)
    assert "the time is used up" in card_text(story.view.run.limit)


# ---- keys


def test_a_short_name_of_an_action_is_answered_with_its_whole_name(tmp_path: Path) -> None:
    file = tmp_path / "keys.yaml"
    file.write_text("send: ctrl+b\n")
    (error,) = keys.check(file)
    assert error.endswith('there is no such action; did you mean "composer.send"?')
