import json

import pytest
import tiktoken

from tui_agent.core.messages import Call, Image, Message, Reasoning, Result, Text
from tui_agent.llm import tokens
from tui_agent.llm.api import ToolSchema
from tui_agent.llm.tokens import Calibration


def test_known_counts() -> None:
    assert tokens.count_text("") == 0
    assert tokens.count_text("hello world") == 2
    assert tokens.count_text("<|endoftext|>") > 1, "a special token in a text is only text"


@pytest.mark.parametrize("character", [" ", "\t", "\n", "a", "=", "漢", "\0", "é"])
def test_a_million_of_one_character(character: str, capfd: pytest.CaptureFixture[str]) -> None:
    count = tokens.count_text(character * 1_000_000)
    assert count == 50 * tokens.count_text(character * 20_000) > 1_000, "encoded, not estimated"
    assert capfd.readouterr() == ("", ""), "the encoder's panics write a backtrace"


@pytest.mark.parametrize(
    "text", ["\ud800", "abc\udfff", "\ud83d\ud83d" * 1000, "x" * 19_999 + "\ud800" + "y" * 20_000]
)
def test_lone_surrogates_are_counted(text: str) -> None:
    assert tokens.count_text(text) > 0


def test_slices_cost_hardly_anything() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 3_000
    whole = len(tiktoken.get_encoding("o200k_base").encode(text)) if tokens._encoding() else 0
    assert tokens.count_text(text) == pytest.approx(whole, abs=2 * (len(text) // tokens.SLICE + 1))


def test_an_encoder_that_refuses_a_slice_is_replaced_by_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def encode(self, text: str, **options: object) -> list[int]:
            raise ValueError(text)

    monkeypatch.setattr(tokens, "_encoding", Refusing)
    assert tokens.count_text("ñ" * 30) == 20


def test_without_encodings_four_characters_are_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_encoding", lambda: None)
    assert tokens.count_text("x" * 400) == 100
    assert tokens.count_text("x") == 1


def test_loading_leaves_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens._encoding.cache_clear()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/somewhere/else")
    tokens.preload()
    import os

    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/somewhere/else"
    assert tokens._encoding() is not None


def message(*parts: Text | Reasoning | Image | Call | Result) -> Message:
    return Message(id="m", role="assistant", parts=parts)


def test_everything_that_is_sent_of_a_message_counts() -> None:
    empty = tokens.count_message(message())
    text = "Some words of no great weight. " * 20
    for part in (
        Text(text),
        Reasoning(text),
        Call("c", "read_file", {"path": text}),
        Result("c", "read_file", text),
    ):
        assert tokens.count_message(message(part)) >= empty + tokens.count_text(text)
    broken = Call("c", "read_file", {}, raw=text, error="not JSON")
    assert tokens.count_message(message(broken)) >= tokens.count_text(text)
    pixel = Image("image/png", "A" * 100_000)
    assert tokens.count_message(message(pixel)) < 3_000, "an image costs by its pixels, not by its bytes"
    assert tokens.count_message(message(Result("c", "x", "", images=(pixel,)))) > 1_000


def test_tools_cost_what_their_schemas_cost() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "words " * 50}}}
    tool = ToolSchema("read_file", "Read a file", schema)
    assert tokens.count_tools((tool, tool)) == 2 * tokens.count_tools((tool,))
    assert tokens.count_tools((tool,)) > tokens.count_text(json.dumps(schema)) // 2
    assert tokens.count_tools(()) == 0


def test_a_factor_is_learnt_from_reports() -> None:
    before = Calibration()
    after = before.learn("m", 1000, 1200)
    assert before.factor("m") == 1.0, "a value: the old one stays"
    assert not before.calibrated("m")
    assert after.calibrated("m")
    assert after.factor("m") == pytest.approx(1.2)
    assert after.estimate("m", 500) == 600
    for _ in range(40):
        after = after.learn("m", 1000, 800)
    assert after.factor("m") == pytest.approx(0.8, abs=0.001)
    assert after.factor("other") == 1.0


@pytest.mark.parametrize(("counted", "reported"), [(1000, None), (1000, 0), (0, 1000), (-5, 100)])
def test_unreported_usage_teaches_nothing(counted: int, reported: int | None) -> None:
    assert Calibration().learn("m", counted, reported) == Calibration()


def test_a_wild_report_is_clamped() -> None:
    assert Calibration().learn("m", 10, 100_000).factor("m") == tokens.HIGHEST
    assert Calibration().learn("m", 100_000, 10).factor("m") == tokens.LOWEST


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        ("anthropic/claude-opus-4-7", 1.35),
        ("openrouter/anthropic/claude-opus-4.8", 1.35),
        ("anthropic/claude-sonnet-5", 1.35),
        ("bedrock/us.anthropic.claude-haiku-5-5-v1:0", 1.35),
        ("anthropic/claude-opus-4-6", 1.0),
        ("anthropic/claude-opus-4-20250514", 1.0),
        ("anthropic/claude-sonnet-4-5", 1.0),
        ("anthropic/claude-3-7-sonnet-20250219", 1.0),
        ("openai/gpt-5", 1.0),
    ],
)
def test_new_claude_models_start_higher(model: str, factor: float) -> None:
    assert Calibration().factor(model) == factor
