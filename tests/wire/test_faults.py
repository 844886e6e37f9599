"""What providers answer when something is wrong: every status and every broken stream, one request each."""

import socket
from pathlib import Path

import pytest

from tests.fakes.fake_llm import STATUSES, FakeLLM, FaultKind, fault, say, status
from tests.wire.conftest import GEMINI, RESPONSES, ROUTES, ask, failure_of, listen, reply_of
from tui_agent.core.errors import Failure
from tui_agent.core.messages import Text
from tui_agent.llm.api import TextDelta
from tui_agent.llm.litellm_model import LitellmModel

KINDS = {
    400: "bad_request", 401: "auth", 402: "billing", 403: "auth", 404: "not_found", 408: "timeout", 413: "context_overflow",
    422: "bad_request", 429: "rate_limit", 500: "server", 502: "server", 503: "server", 529: "server",
}  # fmt: skip


@pytest.mark.parametrize("name", [*ROUTES, GEMINI, RESPONSES])
@pytest.mark.parametrize("code", STATUSES)
async def test_every_status_is_one_request_and_one_class(
    model: LitellmModel, fake: FakeLLM, name: str, code: int
) -> None:
    fake.add(status(code, retry_after="7"))
    failure = await failure_of(model, ask(fake, name))
    assert (failure.kind, failure.status, failure.retry_after) == (KINDS[code], code, 7.0)
    assert failure.provider == name.partition("/")[0]
    assert len(fake.hits) == 1


OPENAI_BODIES = [
    (
        400,
        {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"},
        "context_overflow",
    ),
    (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, "billing"),
    (
        429,
        {"message": "Request too large for gpt-4 on tokens per min (TPM): Limit 10000"},
        "context_overflow",
    ),
    (400, {"message": "Your request was flagged", "code": "content_policy_violation"}, "content_policy"),
    (400, {"message": "The model `x` does not exist", "code": "model_not_found"}, "not_found"),
    (400, {"message": "API key not valid. Please pass a valid API key."}, "auth"),
    (503, {"message": "Loading model"}, "server"),
]


@pytest.mark.parametrize(("code", "error", "kind"), OPENAI_BODIES)
async def test_words_decide_where_a_status_is_ambiguous(
    model: LitellmModel, fake: FakeLLM, code: int, error: dict[str, str], kind: str
) -> None:
    fake.add(status(code, {"error": {"type": "x", "param": None, **error}}))
    failure = await failure_of(model, ask(fake, "openai/fake"))
    assert failure.kind == kind
    assert error["message"] in failure.text


async def test_anthropic_says_too_long_in_its_own_words(model: LitellmModel, fake: FakeLLM) -> None:
    body = {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000"},
    }
    fake.add(status(400, body))
    failure = await failure_of(model, ask(fake, ROUTES[1]))
    assert failure.kind == "context_overflow"
    assert failure.text.endswith("prompt is too long: 210000 tokens > 200000")


BROKEN: dict[FaultKind, str] = {
    "refuse": "network", "cut": "network", "reset": "network", "cut_json": "network", "end_early": "network",
    "empty": "malformed", "html": "malformed", "json_error": "server", "error_event": "server",
}  # fmt: skip


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("kind", list(BROKEN))
async def test_every_broken_stream_is_one_request_and_one_failure(
    model: LitellmModel, fake: FakeLLM, name: str, kind: FaultKind
) -> None:
    fake.add(fault(kind))
    heard = await listen(model, ask(fake, name))
    failure = heard[-1]
    assert isinstance(failure, Failure)
    assert failure.kind == BROKEN[kind], failure
    assert len(fake.hits) == 1
    said = "".join(piece.text for piece in heard[:-1] if isinstance(piece, TextDelta))
    assert "one two three four five six seven eight".startswith(said)
    if kind in ("cut", "cut_json", "end_early", "error_event"):
        assert said, "what came before the fault is passed on"


@pytest.mark.parametrize("name", [*ROUTES, GEMINI, RESPONSES])
async def test_equal_pieces_are_no_fault(model: LitellmModel, fake: FakeLLM, name: str) -> None:
    fake.add(fault("repeat", text="| --- "))
    reply = await reply_of(model, ask(fake, name))
    assert reply.parts == (Text("| --- " * 200),)


@pytest.mark.parametrize("name", [*ROUTES, GEMINI])
async def test_a_silent_port_is_named(model: LitellmModel, fake: FakeLLM, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as plug:
        base = f"http://127.0.0.1:{plug.getsockname()[1]}"
    failure = await failure_of(model, ask(fake, name, spec={"api_base": base}))
    assert failure.kind == "network"
    assert f"nothing answers at {base}" in failure.text


async def test_a_wrong_address_is_found_before_anything_is_sent(model: LitellmModel, fake: FakeLLM) -> None:
    failure = await failure_of(
        model, ask(fake, "openai/fake", spec={"api_base": "localhost:8080", "alias": "mine"})
    )
    assert failure.kind == "not_found"
    assert "models.mine.api_base" in failure.hint
    failure = await failure_of(model, ask(fake, "hosted_vllm/fake", spec={"api_base": ""}))
    assert "HOSTED_VLLM_API_BASE" in failure.hint


async def test_a_missing_key_is_found_before_anything_is_sent(model: LitellmModel, fake: FakeLLM) -> None:
    failure = await failure_of(
        model, ask(fake, "openai/fake", spec={"api_base": "", "api_key_env": "NO_SUCH_KEY"})
    )
    assert failure.kind == "auth"
    assert "NO_SUCH_KEY" in failure.text + failure.hint
    assert fake.hits == []


async def test_a_refused_key_is_asked_for_again(model: LitellmModel, fake: FakeLLM, tmp_path: Path) -> None:
    line = (
        f"echo x >> {tmp_path}/asked; echo sk-key-number-$(wc -l < {tmp_path}/asked | tr -d ' ')-0123456789"
    )
    secret = "sk-" + "x" * 20
    fake.add(
        status(401, {"error": {"message": f"Incorrect API key provided: {secret}"}}), say("ok"), say("ok")
    )
    failure = await failure_of(model, ask(fake, "openai/fake", spec={"key_command": line}))
    assert failure.kind == "auth"
    assert failure.refreshable
    assert secret not in repr(failure)
    for _ in range(2):
        await reply_of(model, ask(fake, "openai/fake", spec={"key_command": line}))
    used = [
        received.headers["authorization"].removeprefix("Bearer sk-key-number-")[0]
        for received in fake.requests
    ]
    assert used == ["1", "2", "2"], "a new one after the refusal, and only then"
