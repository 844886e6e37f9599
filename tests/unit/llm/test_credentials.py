import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from tui_agent.core.errors import Failure
from tui_agent.llm import credentials
from tui_agent.llm.api import ModelSpec
from tui_agent.llm.credentials import Key

SECRET = "sk-proj-0123456789abcdef"


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_commands", {})
    monkeypatch.setattr(credentials, "_seen", set())


def spec(name: str = "openai/gpt-5-mini", **more: str) -> ModelSpec:
    return msgspec.structs.replace(ModelSpec(name=name), **more)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/x", "OPENAI_API_KEY"), ("anthropic/x", "ANTHROPIC_API_KEY"), ("gemini/x", "GEMINI_API_KEY"),
        ("gemini/x", "GOOGLE_API_KEY"), ("openrouter/a/b", "OPENROUTER_API_KEY"), ("together_ai/x", "TOGETHERAI_API_KEY"),
        ("some_new_one/x", "SOME_NEW_ONE_API_KEY"),
    ],
)  # fmt: skip
def test_the_providers_variable_is_read_at_every_call(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    assert credentials.key_for(spec(name)) is None
    monkeypatch.setenv(variable, f" {SECRET}\n")
    assert credentials.key_for(spec(name)) == SECRET
    assert credentials.missing(spec(name)) is None
    monkeypatch.delenv(variable)
    assert credentials.key_for(spec(name)) is None


def test_what_is_missing_is_named() -> None:
    failure = credentials.missing(spec("anthropic/x", alias="smart"))
    assert failure is not None
    assert failure.kind == "auth"
    assert "ANTHROPIC_API_KEY" in failure.hint
    assert "models.smart.api_key_env" in failure.hint
    failure = credentials.missing(spec(api_key_env="MY_KEY"))
    assert failure is not None
    assert "MY_KEY" in failure.hint


def test_the_configured_variable_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-provider")
    monkeypatch.setenv("MY_KEY", SECRET)
    assert credentials.key_for(spec(api_key_env="MY_KEY")) == SECRET
    monkeypatch.delenv("MY_KEY")
    assert credentials.key_for(spec(api_key_env="MY_KEY")) is None, "no silent change to another key"


@pytest.mark.parametrize(
    "base", ["http://127.0.0.1:8080/v1", "http://localhost:1234", "http://[::1]:8000/v1"]
)
def test_a_server_on_this_machine_gets_no_real_key(monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert credentials.key_for(spec(api_base=base)) == credentials.DUMMY_KEY


@pytest.mark.parametrize(
    "base", ["http://192.168.1.5:8000/v1", "http://gpu-box:8000/v1", "http://gpu.local/v1"]
)
def test_a_server_of_the_same_network_may_want_none(monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    assert credentials.key_for(spec(api_base=base)) == credentials.DUMMY_KEY
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert credentials.key_for(spec(api_base=base)) == SECRET


def test_a_server_far_away_wants_one() -> None:
    assert credentials.missing(spec(api_base="https://models.example/v1")) is not None


def test_clouds_have_credentials_of_their_own() -> None:
    assert credentials.look_up(spec("bedrock/x")) == Key("", "the credentials of bedrock")
    failure = credentials.missing(spec("github_copilot/gpt-5"))
    assert failure is not None
    assert "browser" in failure.text


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "ключ", "tab\there"])
def test_a_key_that_can_be_none_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    failure = credentials.missing(spec())
    assert failure is not None
    assert "OPENAI_API_KEY" in failure.text
    assert value not in repr(failure)


def test_a_command_is_the_persons_own_shell_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PART", "0123456789")
    line = "printf '%s\\n' \"sk-$PART\" | tr 0 9; true && echo"
    assert credentials.key_for(spec(key_command=line)) == "sk-9123456789"


def test_a_commands_answer_is_kept_until_it_is_refused(tmp_path: Path) -> None:
    line = f"echo x >> {tmp_path}/asked; echo key-$(wc -l < {tmp_path}/asked | tr -d ' ')-0123456789"
    first = spec(key_command=line)
    assert credentials.key_for(first) == "key-1-0123456789"
    assert credentials.key_for(first) == "key-1-0123456789"
    credentials.forget(first)
    assert credentials.key_for(first) == "key-2-0123456789"


def test_a_commands_answer_gets_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = spec(key_command=f"echo x >> {tmp_path}/asked; wc -l < {tmp_path}/asked | tr -d ' '")
    assert credentials.key_for(first) == "1"
    later = time.monotonic() + credentials.COMMAND_TTL + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert credentials.key_for(first) == "2"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("exit 3", "code 3"),
        (f"echo refused {SECRET} >&2; exit 1", "refused"),
        ("true", "wrote nothing"),
        ("no-such-command-at-all", "code 127"),
        ("echo one; echo two", "line break"),
    ],
)
def test_a_command_that_fails_says_why_and_shows_no_key(line: str, says: str) -> None:
    failure = credentials.missing(spec(key_command=line, alias="mine"))
    assert failure is not None
    assert says in failure.text
    assert SECRET not in repr(failure)
    assert "models.mine.key_command" in failure.hint


def test_a_command_that_hangs_is_killed_with_its_children(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(credentials, "COMMAND_TIMEOUT", 0.3)
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(alive.read_bytes)  # ends when the last process that holds the other end is gone
        failure = credentials.missing(spec(key_command=f"sleep 60 > {alive} & wait"))
        assert reading.result(timeout=10) == b""
    assert failure is not None
    assert "no answer" in failure.text


def test_keys_hide_in_reprs_and_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "an-unusual-key-of-no-known-shape")
    found = credentials.look_up(spec())
    assert not isinstance(found, Failure)
    assert "unusual" not in repr(found)
    assert credentials.redact("it said an-unusual-key-of-no-known-shape!") == "it said [key]!"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "unusual" not in credentials.redact("an-unusual-key-of-no-known-shape"), (
        "once looked up, always masked"
    )


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"key {SECRET} refused", "key [key] refused"),
        ("Authorization: Bearer abcdef0123456789.xyz", "Authorization: Bearer [key]"),
        ("https://x.example/v1?key=AbCdEf&alt=sse", "https://x.example/v1?key=[key]&alt=sse"),
        ("AIzaSyA0123456789abcdefghijklmnop", "[key]"),
        ("Incorrect API key provided: sk-abcd****************wxyz", "Incorrect API key provided: [key]"),
        ("see key-bindings.yaml and sk-learn", "see key-bindings.yaml and sk-learn"),
    ],
)
def test_what_looks_like_a_key_is_masked(text: str, masked: str) -> None:
    assert credentials.redact(text) == masked


def test_present_lists_variables_not_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", SECRET)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    assert credentials.present() == [("gemini", "GOOGLE_API_KEY")]
