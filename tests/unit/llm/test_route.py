import pytest

from tui_agent.core.messages import Call, Message, user
from tui_agent.llm.api import ModelSpec, Request
from tui_agent.llm.providers import is_loopback, is_private
from tui_agent.llm.route import Route, check, options, route


@pytest.mark.parametrize(
    ("name", "base", "model", "address"),
    [
        ("openai/gpt-5", "", "openai/gpt-5", ""),
        ("ollama/qwen3:8b", "", "openai/qwen3:8b", "http://127.0.0.1:11434/v1"),
        ("ollama_chat/qwen3:8b", "http://box:11434/v1/", "openai/qwen3:8b", "http://box:11434/v1"),
        ("lm_studio/org/m", "", "openai/org/m", "http://127.0.0.1:1234/v1"),
        ("hosted_vllm/org/m", "http://127.0.0.1:8000/v1", "openai/org/m", "http://127.0.0.1:8000/v1"),
        ("openrouter/a/b", "", "openrouter/a/b", ""),
    ],
)
def test_servers_of_ones_own_go_by_openais_protocol(name: str, base: str, model: str, address: str) -> None:
    way = route(ModelSpec(name=name, api_base=base))
    assert (way.model, way.api_base) == (model, address)
    assert way.inline_think == (model != name)


def test_ollamas_own_protocol_is_for_setting_its_context() -> None:
    way = route(ModelSpec(name="ollama_chat/qwen3", window=32768))
    assert (way.model, way.api_base, way.num_ctx) == ("ollama_chat/qwen3", "http://127.0.0.1:11434", 32768)
    request = Request(model=ModelSpec(name="ollama_chat/qwen3", window=32768), system="", messages=())
    assert options(request, way)["num_ctx"] == 32768


def test_addresses_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "http://a/v1")
    assert route(ModelSpec(name="openai/x")).api_base == "http://a/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://b/v1/")
    assert route(ModelSpec(name="openai/x")).api_base == "http://b/v1", "in litellm's own order"
    assert route(ModelSpec(name="openai/x", api_base="http://c/v1")).api_base == "http://c/v1"
    monkeypatch.setenv("OLLAMA_API_BASE", "http://d:11434")
    assert route(ModelSpec(name="ollama/x")).api_base == "http://d:11434/v1"


@pytest.mark.parametrize(
    "base",
    [
        "localhost:8080",
        "ftp://x/v1",
        "http://",
        "http://x:99999999/v1",
        "http://x y/v1",
        "http://[::1/v1",
        "http://x/\nv1",
    ],
)
def test_what_is_no_address_is_named(base: str) -> None:
    spec = ModelSpec(name="openai/x", api_base=base, alias="mine")
    failure = check(spec, route(spec))
    assert failure is not None
    assert failure.kind == "not_found"
    assert "models.mine.api_base" in failure.hint
    assert not failure.transient


@pytest.mark.parametrize("name", ["hosted_vllm/x", "custom_openai/x", "azure/x"])
def test_a_missing_address_is_named(name: str) -> None:
    spec = ModelSpec(name=name)
    failure = check(spec, route(spec))
    assert failure is not None
    assert "api_base" in failure.hint
    assert check(ModelSpec(name="openai/x"), Route("openai/x")) is None


def test_thinking_in_silence_is_waited_for() -> None:
    assert route(ModelSpec(name="openai/gpt-5-mini")).slow_start > 1
    assert route(ModelSpec(name="openai/gpt-4o")).slow_start == 1
    assert route(ModelSpec(name="anthropic/claude-sonnet-4-5")).slow_start == 1


@pytest.mark.parametrize(
    ("asked", "known", "sent"), [(0, 64_000, 32_000), (0, 8_192, 8_192), (0, 0, 32_000), (500, 64_000, 500)]
)
def test_claude_is_asked_for_an_output_that_leaves_room(asked: int, known: int, sent: int) -> None:
    spec = ModelSpec(name="anthropic/claude-sonnet-4-5", max_output=known)
    request = Request(model=spec, system="", messages=(user("u", "hi"),), max_output=asked)
    assert options(request, route(spec))["max_tokens"] == sent


def test_others_decide_themselves_how_much_they_say() -> None:
    spec = ModelSpec(name="openai/gpt-5", max_output=128_000)
    assert "max_tokens" not in options(Request(model=spec, system="", messages=()), route(spec))


@pytest.mark.parametrize(
    ("url", "loopback", "private"),
    [
        ("http://localhost:1", True, True), ("http://127.9.9.9", True, True), ("http://[::1]:1/v1", True, True),
        ("http://10.0.0.1", False, True), ("http://box:8000", False, True), ("http://box.local", False, True),
        ("https://api.openai.com", False, False), ("http://8.8.8.8", False, False), ("http://127.0.0.1.evil.example", False, False),
        ("http://localhost.evil.example", False, False), ("", False, False), ("http://[", False, False),
    ],
)  # fmt: skip
def test_where_an_address_is(url: str, loopback: bool, private: bool) -> None:
    assert (is_loopback(url), is_private(url)) == (loopback, private)


@pytest.mark.parametrize(
    ("name", "choice"), [("anthropic/claude-sonnet-4-5", "none"), ("bedrock/anthropic.claude-x", None)]
)
def test_a_closing_call_to_claude_forbids_calls_where_that_can_be_said(name: str, choice: str | None) -> None:
    called = Message(id="a", role="assistant", parts=(Call("c", "read_file"),), model=name)
    request = Request(model=ModelSpec(name=name), system="", messages=(user("u", "hi"), called))
    assert options(request, route(request.model)).get("tool_choice") == choice
