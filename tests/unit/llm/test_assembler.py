from types import SimpleNamespace as Made
from typing import Any

import pytest

from tui_agent.core.messages import Call, Reasoning, Text
from tui_agent.llm.api import ReasoningDelta, ReportedUsage, TextDelta
from tui_agent.llm.assembler import Assembler, parse_arguments, reported_usage


def chunk(finish: str | None = None, **delta: Any) -> Made:
    return Made(choices=[Made(delta=Made(**delta), finish_reason=finish)])


def piece(
    name: str | None = None, arguments: Any = None, id: str | None = None, index: int | None = 0
) -> Made:
    return chunk(tool_calls=[Made(id=id, index=index, function=Made(name=name, arguments=arguments))])


def calls_of(*chunks: Any, tools: tuple[str, ...] = ("a", "b")) -> list[tuple[str, dict[str, Any]]]:
    assembler = Assembler(tools)
    for one in chunks:
        assembler.feed(one)
    calls = [part for part in assembler.parts() if isinstance(part, Call)]
    assert all(call.id for call in calls)
    assert len({call.id for call in calls}) == len(calls)
    return [(call.name, call.arguments) for call in calls]


ONE, TWO = ("a", {"x": 1}), ("b", {"y": 2})


@pytest.mark.parametrize(
    "chunks",
    [
        [piece("a", '{"x":', "1"), piece(None, "1}"), piece("b", '{"y":2}', "2", 1)],
        [piece("a", '{"x":1}', "1"), piece("b", '{"y":2}', "2")],
        [piece("a", '{"x":1}'), piece("b", '{"y":2}')],
        [piece("a", ""), piece(None, '{"x":1}'), piece("b", ""), piece(None, '{"y":2}')],
        [piece("a", {"x": 1}, "1"), piece("b", {"y": 2}, "2")],
        [piece("a", '{"x":', "1"), piece("b", '{"y":', "2"), piece(None, "1}", "1"), piece(None, "2}", "2")],
        [
            piece("a", '{"x":', "1", 0),
            piece("b", '{"y":', "2", 1),
            piece(None, "1}", None, 0),
            piece(None, "2}", None, 1),
        ],
        [piece("a", None, "1", None), piece(None, '{"x":1}', None, None), piece("b", '{"y":2}', "2", None)],
        [piece("a", "", "1"), piece("a", '{"x":', "1"), piece("a", "1}", "1"), piece("b", '{"y":2}', "2")],
        [piece("a", "", "1"), piece("", '{"x":1}', "other-id-same-call"), piece("b", '{"y":2}', "2")],
        [piece("a", "{}", "1"), piece(None, '{"x":1}'), piece("b", '{"y":2}', "2")],
    ],
)
def test_calls_are_told_apart_however_they_come(chunks: list[Any]) -> None:
    assert calls_of(*chunks) == [ONE, TWO]


def test_split_names_are_joined_unless_the_first_half_is_a_tool() -> None:
    split = [piece("read_", "", "1"), piece("file", ""), piece(None, '{"x":1}')]
    assert calls_of(*split, tools=("read_file",)) == [("read_file", {"x": 1})]
    assert calls_of(piece("a", ""), piece("b", ""), tools=("a", "b")) == [("a", {}), ("b", {})]


def test_the_same_call_twice_without_ids_is_two_calls() -> None:
    assert calls_of(piece("a", '{"x":1}'), piece("a", '{"x":1}')) == [ONE, ONE]


def test_arguments_before_any_name_are_dropped_without_a_fault() -> None:
    assert calls_of(piece(None, '{"x":1}')) == []


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}), ("  ", {}), ("null", {}), ("{}", {}), ('{"a": 1}', {"a": 1}), ('{}{"a": 1}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}), ('{"a": "line\nbreak"}', {"a": "line\nbreak"}), ('{"a": "\\ud800"}', {"a": "\ud800"}),
    ],
)  # fmt: skip
def test_arguments_are_read_as_servers_write_them(text: str, arguments: dict[str, Any]) -> None:
    assert parse_arguments(text) == (arguments, "")


@pytest.mark.parametrize("text", ['{"a": 1', "[1]", "7", "hello", '{"a": 1} {"b": 2}', "[" * 100_000, '"x"'])
def test_what_is_no_object_is_an_error(text: str) -> None:
    arguments, error = parse_arguments(text)
    assert arguments == {}
    assert error


def split(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


THINKING = [
    ("<think>hm</think>answer", "hm", "answer"),
    ("\n<think>\nhm\n</think>\n\nanswer", "hm\n", "answer"),
    ("<think></think>answer", "", "answer"),
    ("answer with <think> inside </think>", "", "answer with <think> inside </think>"),
    ("<think>a < b </thin k></think>x</think>", "a < b </thin k>", "x</think>"),
    ("<think>never closed", "never closed", ""),
    ("<thin", "", "<thin"),
    ("<thing>", "", "<thing>"),
    ("  ", "", "  "),
]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(("text", "thought", "said"), THINKING)
def test_inline_thinking_is_split_off_at_any_cut(size: int, text: str, thought: str, said: str) -> None:
    assembler = Assembler(inline_think=True)
    deltas = [delta for part in split(text, size) for delta in assembler.feed(chunk(content=part))]
    deltas += assembler.close()
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == thought
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == said
    parts = assembler.parts()
    assert "".join(part.text for part in parts if isinstance(part, Text)) == said
    assert "".join(part.text for part in parts if isinstance(part, Reasoning)) == thought


def test_content_as_a_list_and_refusals_are_text() -> None:
    assembler = Assembler()
    assembler.feed(chunk(content=[{"type": "text", "text": "a"}, "b", {"type": "other"}]))
    assembler.feed(chunk(refusal="I won't."))
    assert assembler.parts() == (Text("abI won't."),)


def test_chunks_without_choices_are_nothing() -> None:
    assembler = Assembler()
    assert assembler.feed(Made(choices=[])) == []
    assert assembler.feed(Made()) == []
    assert (assembler.parts(), assembler.ended) == ((), False)


def test_signatures_join_the_thinking_of_their_index() -> None:
    assembler = Assembler()
    for block in (
        {"type": "thinking", "thinking": "a", "index": 0},
        {"type": "thinking", "thinking": "b", "index": 0},
        {"type": "thinking", "thinking": "", "signature": "S", "index": 0},
        {"type": "redacted_thinking", "data": "Z", "index": 1},
        {"type": "thinking", "thinking": "unsigned", "index": 2},
    ):
        assembler.feed(chunk(thinking_blocks=[block], reasoning_content=block.get("thinking", "")))
    (reasoning,) = assembler.parts()
    assert reasoning == Reasoning(
        "abunsigned",
        (
            {"type": "thinking", "thinking": "ab", "signature": "S"},
            {"type": "redacted_thinking", "data": "Z"},
        ),
    )


def test_geminis_signatures_are_kept_on_the_call() -> None:
    assembler = Assembler(("a",))
    call = Made(
        id="call_1__thought__x", index=0, function=Made(name="a", arguments="{}"),
        provider_specific_fields={"thought_signature": "x"},
    )  # fmt: skip
    assembler.feed(chunk(tool_calls=[call]))
    (found,) = assembler.parts()
    assert isinstance(found, Call)
    assert (found.id, found.opaque) == ("call_1__thought__x", {"thought_signature": "x"})


@pytest.mark.parametrize(
    ("theirs", "ours"), [("stop", "stop"), ("length", "length"), ("eos", "unknown"), (None, "unknown")]
)
def test_finish_reasons(theirs: str | None, ours: str) -> None:
    assembler = Assembler()
    assembler.feed(chunk(theirs, content="x"))
    assert assembler.finish == ours


def test_usage_is_the_last_report_and_never_more_cached_than_sent() -> None:
    chunks = [
        Made(usage=Made(prompt_tokens=10, completion_tokens=1)),
        Made(),
        Made(
            usage=Made(
                prompt_tokens=10, completion_tokens=7, prompt_tokens_details=Made(cached_tokens=99), cost=0.1
            )
        ),
        Made(usage=None),
    ]
    assert reported_usage(chunks, Assembler()) == ReportedUsage(input=10, cached=10, output=7, cost_usd=0.1)
    assert reported_usage([Made(), Made(usage=None)], Assembler()) is None
    assert reported_usage([Made(usage=Made(prompt_tokens=None, completion_tokens=None))], Assembler()) is None
