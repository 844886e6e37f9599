"""Repair, case by case: what comes out, and what is said to have been mended."""

from __future__ import annotations

import pytest

from tui_agent.context.repair import OPENING, UNKNOWN_OUTCOME, Repairs, repair, sendable, violations
from tui_agent.core.messages import Call, Image, Message, Part, Reasoning, Result, Role, Text, user

SIGNED = Reasoning("hm", ({"type": "thinking", "signature": "s"},))
PICTURE = Image("image/png", "aGk=")


def say(id: str, *parts: Part | str, role: Role = "assistant", **more: object) -> Message:
    whole = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Message(id, role, whole, **more)  # pyright: ignore[reportArgumentType]


def tool(id: str, *results: Result) -> Message:
    return say(id, *results, role="tool", origin="tool")


def call(id: str, name: str = "read_file") -> Call:
    return Call(id, name)


def result(id: str, text: str = "found", name: str = "read_file", **more: object) -> Result:
    return Result(id, name, text, **more)  # pyright: ignore[reportArgumentType]


U = user("u", "task")


def shape(messages: list[Message]) -> list[str]:
    """Roles, and the ids of calls and results."""
    return [
        " ".join([m.role, *(c.id for c in m.calls), *(f"{r.call_id}={r.text}" for r in m.results)])
        for m in messages
    ]


@pytest.mark.parametrize(
    ("history", "expected", "repairs"),
    [
        pytest.param([], [], Repairs(), id="nothing"),
        pytest.param([U, say("a", "ok")], ["user", "assistant"], Repairs(), id="valid"),
        pytest.param([U, user("v", "and"), user("w", "more")], ["user"], Repairs(merged=2), id="user neighbours"),
        pytest.param(
            [U, say("a", call("c1")), say("b", call("c2")), tool("t", result("c1"), result("c2"))],
            ["user", "assistant c1 c2", "tool c1=found c2=found"],
            Repairs(merged=1),
            id="two replies with calls merge their calls",
        ),
        pytest.param(
            [U, say("a", call("c1"), call("c2")), tool("t", result("c2")), tool("s", result("c1"))],
            ["user", "assistant c1 c2", "tool c1=found c2=found"],
            Repairs(),
            id="results of one batch in call order",
        ),
        pytest.param(
            [U, say("a", call("c1")), user("v", "wait"), tool("t", result("c1")), say("b", "ok")],
            ["user", "assistant c1", "tool c1=found", "user", "assistant"],
            Repairs(),
            id="a result moves up to its call",
        ),
        pytest.param(
            [U, tool("t", result("c9")), say("a", "ok")], ["user", "assistant"], Repairs(dropped=1), id="orphan result"
        ),
        pytest.param(
            [U, tool("t", result("c1")), say("a", call("c1"))],
            ["user", "assistant c1", f"tool c1={UNKNOWN_OUTCOME}"],
            Repairs(dropped=1, answered=1),
            id="a result before its call is none",
        ),
        pytest.param(
            [U, say("a", call("c1"), call("c2")), tool("t", result("c1")), user("v", "go on")],
            ["user", "assistant c1 c2", f"tool c1=found c2={UNKNOWN_OUTCOME}", "user"],
            Repairs(answered=1),
            id="orphan call",
        ),
        pytest.param(
            [U, say("a", call("c1")), tool("t", result("c1"), result("c1", "again"))],
            ["user", "assistant c1", "tool c1=found"],
            Repairs(dropped=1),
            id="duplicate result",
        ),
        pytest.param(
            [U, say("a", "x"), tool("t", result("c9")), say("b", "y")],
            ["user", "assistant"],
            Repairs(merged=1, dropped=1),
            id="neighbours that an orphan kept apart",
        ),
        pytest.param(
            [U, say("a", call("c")), tool("t", result("c", "1")), say("b", call("c")), tool("s", result("c", "2"))],
            ["user", "assistant c", "tool c=1", "assistant c-2", "tool c-2=2"],
            Repairs(),
            id="an id used twice",
        ),
        pytest.param(
            [U, say("a", call("c"), call("c"), call("c-2")), tool("t", *(result(i, i) for i in ("c", "c", "c-2")))],
            ["user", "assistant c c-2 c-2-2", "tool c=c c-2=c c-2-2=c-2"],
            Repairs(),
            id="the new id is taken as well",
        ),
        pytest.param(
            [U, say("a", call("")), tool("t", result(""))], ["user", "assistant call", "tool call=found"], Repairs(),
            id="no id at all",
        ),
        pytest.param(
            [say("a", "hello"), U], ["user", "assistant", "user"], Repairs(added=1), id="begins with the assistant"
        ),
        pytest.param(
            [U, say("a"), say("b", " \n"), say("c", Reasoning("hm"))], ["user"], Repairs(dropped=3), id="nothing said"
        ),
        pytest.param(
            [U, say("a", "I will", call("c1"), interrupted=True), user("v", "no")],
            ["user", "assistant", "user"],
            Repairs(),
            id="a cut reply's calls never ran",
        ),
        pytest.param(
            [U, say("a", "I will", call("c1"), interrupted=True), tool("t", result("c1", "not started", ok=False))],
            ["user", "assistant"],
            Repairs(),
            id="nor do their answers stay",
        ),
        pytest.param(
            [U, say("a", call("c1"), interrupted=True), tool("t", result("c1"))],
            ["user", "assistant c1", "tool c1=found"],
            Repairs(),
            id="but what ran is kept",
        ),
    ],
)  # fmt: skip
def test_cases(history: list[Message], expected: list[str], repairs: Repairs) -> None:
    mended, found = repair(history)
    assert shape(mended) == expected
    assert found == repairs
    assert bool(found) == (found != Repairs())
    assert violations(mended) == []


def test_texts_that_meet_become_one_and_pictures_stay_between_them() -> None:
    merged, _ = repair([user("u", "look"), say("v", PICTURE, "here", role="user"), user("w", "and there")])
    assert merged[0].parts == (Text("look"), PICTURE, Text("here\n\nand there"))
    assert merged[0].id == "u"


def test_system_messages_join_the_user() -> None:
    merged, _ = repair([U, say("s", "be brief", role="system")])
    assert merged == [user("u", "task\n\nbe brief")]


def test_an_answer_that_was_made_up_is_an_error_that_says_so() -> None:
    mended, _ = repair([U, say("a", call("c1"))])
    assert mended[2].results == (Result("c1", "read_file", UNKNOWN_OUTCOME, ok=False),)
    assert mended[2].synthetic


def test_a_history_without_its_beginning_gets_one() -> None:
    mended, _ = repair([say("a", "hello")])
    assert mended[0].text == OPENING
    assert mended[0].synthetic


def test_signed_reasoning_survives_but_not_when_it_was_cut() -> None:
    assert repair([U, say("a", SIGNED, "so")])[0][1].parts == (SIGNED, Text("so"))
    assert repair([U, say("a", SIGNED, "so", interrupted=True)])[0][1].parts == (Reasoning("hm"), Text("so"))


def test_signatures_of_another_model_are_left_out() -> None:
    theirs = Call("c1", "read_file", opaque={"thought_signature": "s"})
    history = [U, say("a", SIGNED, theirs, model="a/one"), tool("t", result("c1"))]
    assert repair(history, model="a/one")[0] == history
    assert repair(history, model="b/two")[0][1].parts == (Reasoning("hm"), call("c1"))


def test_merging_replies_of_two_models_keeps_only_the_last_ones_signatures() -> None:
    merged, _ = repair([U, say("a", SIGNED, "x", model="a/one"), say("b", SIGNED, "y", model="b/two")])
    assert merged[1].parts == (Reasoning("hm"), Text("x"), SIGNED, Text("y"))


def test_invented_tool_names_become_legal_on_both_sides() -> None:
    mended, _ = repair([U, say("a", call("c1", "functions.read file")), tool("t", result("c1", name="?"))])
    assert mended[1].calls[0].name == mended[2].results[0].name == "functions_read_file"


def test_texts_of_a_tool_message_become_the_users() -> None:
    mended, _ = repair(
        [U, say("a", call("c1")), say("t", result("c1"), "by the way", role="tool", origin="tool")]
    )
    assert [m.role for m in mended] == ["user", "assistant", "tool", "user"]
    assert mended[3].text == "by the way"


def test_calls_of_one_id_are_answered_in_turn() -> None:
    mended, _ = repair([U, say("a", call("c"), call("c")), tool("t", result("c", "1"), result("c", "2"))])
    assert shape(mended)[2] == "tool c=1 c-2=2"


def test_what_came_from_outside_stays_marked_when_merged() -> None:
    outside = say("v", "from the web", role="user", untrusted=True)
    assert repair([U, outside])[0][0].untrusted
    answers = tool("t", result("c1")), say("s", result("c2"), role="tool", untrusted=True)
    mended, _ = repair([U, say("a", call("c1"), call("c2")), *answers])
    assert mended[2].untrusted
    assert not mended[1].untrusted


def test_what_is_not_touched_keeps_its_size() -> None:
    sized = Message("a", "assistant", (Text("x"),), tokens=7)
    assert repair([U, sized])[0][1] is sized
    assert repair([U, sized, sized])[0][1].tokens == 0


def test_what_waits_for_a_reply_can_be_sent() -> None:
    assert sendable([U])
    assert sendable([U, say("a", call("c")), tool("t", result("c"))])
    assert not sendable([U, say("a", "ok")])
    assert not sendable([])


@pytest.mark.parametrize(
    ("history", "fault"),
    [
        ([say("a", "x")], "begins with assistant"),
        ([U, U], "two user messages in a row"),
        ([U, say("a", call("c"))], "answered by []"),
        ([U, say("a", call("c"), call("d")), tool("t", result("d"), result("c"))], "answered by"),
        ([U, say("a", "x"), tool("t", result("c"))], "results without calls"),
        ([U, say("a", call("c"), call("c")), tool("t", result("c"), result("c"))], "used twice"),
        ([U, say("a", call("")), tool("t", result(""))], "is empty"),
        ([U, say("a", call("c", "no way")), tool("t", result("c", name="no way"))], "tool name"),
        ([U, say("a", Reasoning("hm"))], "nothing in it"),
        ([say("u", "x", " ", role="user")], "a blank text"),
        ([say("u", "x", call("c"), role="user")], "a part that no user message may hold"),
        ([U, say("s", "x", role="system")], "a system message"),
        ([U, say("a", SIGNED, "x", interrupted=True)], "opaque reasoning"),
    ],
)
def test_every_rule_is_seen(history: list[Message], fault: str) -> None:
    assert any(fault in found for found in violations(history))
