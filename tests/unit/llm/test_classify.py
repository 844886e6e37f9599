import socket
import ssl
from typing import Any

import pytest

from tui_agent.core.errors import Failure
from tui_agent.llm.api import ModelSpec
from tui_agent.llm.classify import failure_of, without_stream

NOW = 1_800_000_000.0
SPEC = ModelSpec(name="openai/fake", api_base="http://gpu.example/v1", alias="mine")


class Wrapped(Exception):
    """As litellm wraps: a class and a status that say little, a cause that says all."""

    def __init__(
        self,
        text: str,
        inner: BaseException | None = None,
        *,
        status: int = 500,
        headers: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(text)
        self.body = body
        self.original_exception = inner
        self.status_code = status
        if headers is not None:
            self.litellm_response_headers = headers


class HTTPStatusError(Exception):
    """As httpx's, which is known by its name: the package is not imported for it."""

    def __init__(self, code: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"Client error '{code}' for url 'http://gpu.example/v1'")
        self.response = type("Response", (), {"status_code": code, "headers": headers or {}})()


class ReadTimeout(Exception):
    """httpx's."""


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def classified(error: BaseException, spec: ModelSpec = SPEC) -> Failure:
    return failure_of(error, spec, now=NOW)


@pytest.mark.parametrize(
    ("cause", "kind", "says"),
    [
        (
            ConnectionRefusedError(111, "Connect call failed"),
            "network",
            "nothing answers at http://gpu.example/v1",
        ),
        (socket.gaierror(-2, "Name or service not known"), "network", "can't be found"),
        (ConnectionResetError(104, "reset"), "network", "broke off"),
        (ssl.SSLCertVerificationError("certificate verify failed"), "network", "no secure connection"),
        (TimeoutError(), "timeout", "no answer in time"),
        (ReadTimeout(), "timeout", "no answer in time"),
    ],
)
def test_the_innermost_cause_counts_whatever_wraps_it(cause: BaseException, kind: str, says: str) -> None:
    error = Wrapped(
        "litellm.InternalServerError: OpenAIException - Connection error.", caused(Wrapped("x"), cause)
    )
    failure = classified(error)
    assert failure.kind == kind
    assert says in failure.text
    assert failure.status == 0


@pytest.mark.parametrize(
    ("wrapped", "real", "kind"), [(429, 413, "context_overflow"), (500, 529, "server"), (400, 403, "auth")]
)
def test_the_real_status_counts_and_not_the_one_litellm_shows(wrapped: int, real: int, kind: str) -> None:
    failure = classified(
        Wrapped("x", caused(Wrapped("y", status=wrapped), HTTPStatusError(real)), status=wrapped)
    )
    assert (failure.kind, failure.status) == (kind, real)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("OpenAIException - Overloaded", "server"),
        ("AnthropicException - Stream ended before a finish_reason was received", "network"),
        ("UnsupportedParamsError: openai does not support parameters: ['x']", "bad_request"),
        ("LLM Provider NOT provided. You passed model=foo", "not_found"),
        ("This model's maximum context length is 8192 tokens", "context_overflow"),
        ("the request exceeds the available context size, try increasing it", "context_overflow"),
        ("Your credit balance is too low", "billing"),
        ("The api_key client option must be set", "auth"),
        ("Unable to locate credentials", "auth"),
        ("blocked by the content filter", "content_policy"),
        ("something nobody has seen before", "server"),
    ],
)
def test_without_a_status_words_decide(text: str, kind: str) -> None:
    assert classified(Wrapped(text)).kind == kind


def test_an_error_of_no_known_kind_is_unknown() -> None:
    assert classified(KeyError("choices")).kind == "unknown"


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"llm_provider-Retry-After": "2.5"}, "", 2.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({"Retry-After": "Fri, 15 Jan 2027 08:01:00 GMT"}, "", 60.0),
        ({"retry-after": "soon"}, "", None),
        ({}, "Please try again in 1m3.5s.", 63.5),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please retry in 34.07s.", 34.07),
        ({}, 'details: [{"retryDelay": "34s"}]', 34.0),
        ({}, "Try again later", None),
    ],
)
def test_the_wait_comes_from_the_header_or_the_words(
    headers: dict[str, str], text: str, seconds: float | None
) -> None:
    failure = classified(
        Wrapped(f"Rate limit. {text}", caused(Wrapped("x"), HTTPStatusError(429)), headers=headers)
    )
    assert failure.kind == "rate_limit"
    assert failure.retry_after == (pytest.approx(seconds) if seconds is not None else None)


def test_a_quota_that_says_when_to_come_back_is_a_rate_limit() -> None:
    text = "You exceeded your current quota, please check your plan and billing details."
    inner = caused(Wrapped("x"), HTTPStatusError(429))
    assert classified(Wrapped(text, inner)).kind == "billing"
    assert classified(Wrapped(text + " Please retry in 12s.", inner)).kind == "rate_limit"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'litellm.BadRequestError: AnthropicException - b\'{"type":"error","error":{"message":"Be brief."}}\'',
            "Be brief.",
        ),
        ('litellm.APIError: {"error": "no \\"x\\" here"}', 'no "x" here'),
        ("litellm.RateLimitError: RateLimitError: OpenAIException - Slow down", "Slow down"),
        ("litellm.BadGatewayError: BadGatewayError - b'<html><body>nginx</body></html>'", ""),
        ('{"detail": [{"msg": "x"}]}', '{"detail": [{"msg": "x"}]}'),
    ],
)
def test_the_providers_own_sentence_is_shown(text: str, said: str) -> None:
    failure = classified(Wrapped(text, caused(Wrapped(text), HTTPStatusError(400))))
    assert failure.text == "openai: the request was refused (400)" + (f": {said}" if said else "")


def test_texts_are_one_short_printable_line_without_keys() -> None:
    failure = classified(
        Wrapped("\x1b[31mno\r\n\tkey sk-0123456789abcdef0123 " + "x" * 1000, HTTPStatusError(401))
    )
    assert failure.text.isprintable()
    assert len(failure.text) <= 300
    assert "0123456789" not in failure.text + failure.detail


def test_hints_say_what_to_do() -> None:
    refused = Wrapped("no", HTTPStatusError(401))
    assert "models.mine.api_key_env" in classified(refused).hint
    assert "OPENAI_API_KEY" in classified(refused, ModelSpec(name="openai/gpt-5")).hint
    assert "MY_KEY" in classified(refused, ModelSpec(name="openai/gpt-5", api_key_env="MY_KEY")).hint
    command = classified(refused, ModelSpec(name="openai/gpt-5", key_command="pass show openai"))
    assert "key_command" in command.hint
    assert command.refreshable
    assert "/compact" in classified(Wrapped("prompt is too long", HTTPStatusError(400))).hint


def test_a_chain_in_a_circle_ends() -> None:
    first, second = Wrapped("a"), Wrapped("b")
    first.original_exception, second.original_exception = second, first
    assert classified(first).kind == "server"


@pytest.mark.parametrize(
    "body",
    [{"error": {"message": "From the body"}}, {"message": "From the body"}, {"error": "From the body"}],
)
def test_a_clients_parsed_body_is_read(body: dict[str, Any]) -> None:
    inner = Wrapped("Error code: 400", body=body)
    assert classified(Wrapped("x", caused(inner, HTTPStatusError(400)))).text.endswith("From the body")


@pytest.mark.parametrize(
    ("kind", "says"),
    [("text/html; charset=utf-8", "web page"), ("application/json", "instead of a stream"), ("", "empty")],
)
def test_an_answer_without_a_stream_says_what_came(kind: str, says: str) -> None:
    failure = without_stream({"llm_provider-Content-Type": kind} if kind else {}, SPEC)
    assert says in failure.text
    assert SPEC.api_base in failure.hint
