"""What went wrong with a model call, from whatever litellm raised: by the exception chain first, then by words.

litellm's classes can't be dispatched on: the same reply is another class on every route (413 comes as ``RateLimitError 429``,
529 as ``InternalServerError 500``, a refused connection as either), ``Timeout`` is an ``APIConnectionError``, and
``MidStreamFallbackError`` wraps anything. The chain below them ends in the real HTTP status or socket error.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

import msgspec

from tui_agent.core.errors import ErrorClass, Failure
from tui_agent.llm.api import ModelSpec
from tui_agent.llm.credentials import redact
from tui_agent.llm.providers import provider

LONGEST_TEXT = 300
"""Characters of a provider's message that are shown."""


def failure_of(error: BaseException, spec: ModelSpec, *, now: float) -> Failure:
    """Classify a foreign error. ``now`` is Unix time in seconds (a Retry-After may be a date)."""
    chain = list(_chain(error))
    status, headers = _http(chain)
    said = _said(chain)
    words = _CLASSES.sub("", " ".join([said, *(str(link) for link in chain)])).lower()
    kind = _kind(chain, status, words)
    wait = _retry_after(headers, words, now)
    if kind == "billing" and status == 429 and wait is not None:
        kind = "rate_limit"  # Gemini calls its rate limit a quota, and says when to come back
    said = _broken_where(chain, words, spec) if kind == "network" else said
    return Failure(
        kind=kind,
        text=_line(f"{spec.provider}: {_headline(kind, status)}{': ' + said if said else ''}"),
        status=status,
        provider=spec.provider,
        hint=_hint(kind, spec),
        retry_after=wait,
        detail=redact("\n".join(f"{type(link).__name__}: {link}"[:2_000] for link in chain)),
        refreshable=kind == "auth" and bool(spec.key_command),
    )


def _line(text: str) -> str:
    """One printable line for a person, without keys."""
    flat = " ".join(redact(text).split())
    return "".join(c for c in flat if c.isprintable())[:LONGEST_TEXT]


# ---- the chain


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and everything it was made from, outermost first, each once."""
    queue, seen = [error], set[int]()
    while queue:
        link = queue.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        below = (getattr(link, "original_exception", None), link.__cause__, link.__context__)
        queue.extend(inner for inner in below if isinstance(inner, BaseException))


def _http(chain: list[BaseException]) -> tuple[int, Mapping[str, str]]:
    """The status that the server really sent and its headers; 0 if it sent none."""
    headers: Mapping[str, str] = {}
    for link in chain:
        given = getattr(link, "litellm_response_headers", None)
        if isinstance(given, Mapping) and not headers:
            headers = cast("Mapping[str, str]", given)
    for link in reversed(chain):
        if type(link).__name__ == "HTTPStatusError":  # httpx's: the only one that is never made up
            response = getattr(link, "response", None)
            code = getattr(response, "status_code", None)
            if isinstance(code, int):
                return code, headers or cast("Mapping[str, str]", getattr(response, "headers", {}))
    return 0, headers


def _kind(chain: list[BaseException], status: int, words: str) -> ErrorClass:
    if status:
        return _by_status(status, words)
    names = {type(link).__name__ for link in chain}
    if any(isinstance(link, ssl.SSLError) for link in chain):
        return "network"
    if any(isinstance(link, TimeoutError) for link in chain) or names & TIMEOUTS:
        return "timeout"
    if any(isinstance(link, ConnectionError | socket.gaierror) for link in chain) or names & BROKEN:
        return "network"
    if "JSONDecodeError" in names:
        return "malformed"
    found = _by_words(words)
    if found:
        return found
    # Within a stream there is no status of its own, only the code that the client read out of the event.
    codes = [code for link in chain if isinstance(code := getattr(link, "status_code", None), int)]
    code = next((code for code in reversed(codes) if code != 500), 500 if codes else 0)
    return _by_status(code, words) if code else "unknown"


TIMEOUTS = frozenset(
    {"ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout", "APITimeoutError", "ServerTimeoutError"}
)
BROKEN = frozenset({
    "ConnectError", "ReadError", "WriteError", "CloseError", "RemoteProtocolError", "LocalProtocolError", "ProxyError",
    "ClientOSError", "ClientPayloadError", "ServerDisconnectedError", "TransferEncodingError", "IncompleteRead",
    "ConnectionError", "EndpointConnectionError", "ChunkedEncodingError",
})  # fmt: skip
"""Classes of httpx, aiohttp, requests and botocore by name: none of them is imported for it."""


def _by_status(status: int, words: str) -> ErrorClass:
    spoken = _by_words(words)
    match status:
        case 401:
            return "auth"
        case 402:
            return "billing"
        case 403:
            return spoken if spoken in ("billing", "content_policy", "not_found") else "auth"
        case 404 | 405 | 410:
            return spoken if spoken in ("auth", "billing") else "not_found"
        case 408 | 504 | 524:
            return "timeout"
        case 413:
            return "context_overflow"
        case 429:
            return spoken if spoken in ("context_overflow", "billing", "server") else "rate_limit"
        case 409 | 425:
            return "server"
        case _ if status >= 500:
            return spoken if spoken in ("context_overflow", "content_policy", "billing") else "server"
        case _:
            return spoken if spoken and spoken != "server" else "bad_request"


WORDS: tuple[tuple[ErrorClass, re.Pattern[str]], ...] = (
    ("context_overflow", re.compile(
        r"context.?length|context.?window|context.?size|maximum context|exceed(?:s|ed)? (?:the )?context|prompt is too long"
        r"|prompt too long|input is too long|too many (?:input )?tokens|reduce the length|request too large|request_too_large"
        r"|input token count.{0,40}exceeds|exceed context limit|maximum (?:allowed )?(?:input )?(?:number of )?tokens"
        r"|larger than the (?:model|context)|n_ctx"
    )),
    ("billing", re.compile(
        r"insufficient.?quota|exceeded your current quota|credit balance|insufficient (?:credits|balance|funds)"
        r"|billing|payment required|out of credits|spending limit|hard limit"
    )),
    ("auth", re.compile(
        r"api key not valid|invalid.{0,20}api.?key|incorrect api key|invalid x-api-key|missing.{0,40}api.?key|unauthorized"
        r"|authentication.?error|api_key client option must be set|no auth credentials|permission.?denied|token (?:has )?expired"
        r"|unable to locate credentials|could not (?:load|resolve).{0,30}credentials|default credentials"
    )),
    ("content_policy", re.compile(
        r"content.?policy|content management policy|content.?filter|responsibleai|flagged|safety (?:system|reasons|filters)"
        r"|usage polic"
    )),
    ("not_found", re.compile(
        r"model.?not.?found|does not exist|no such model|unknown model|try pulling it first|model .{0,80} not found"
        r"|llm provider not provided|invalid model"
    )),
    ("rate_limit", re.compile(r"rate.?limit|too many requests|resource.?exhausted|throttl")),
    ("server", re.compile(r"overloaded|over capacity|temporarily unavailable|loading model|internal server error|try again later")),
    ("timeout", re.compile(r"timed? ?out")),
    ("network", re.compile(r"stream ended before|before any terminal event|connection error|connection (?:reset|refused|aborted)|incomplete chunked read")),
    ("bad_request", re.compile(r"unsupported.?param|does not support|invalid.?request|validation error|bad request")),
)  # fmt: skip
"""Words of providers' messages, the telling ones first (their documentation, and issues of litellm)."""


_CLASSES = re.compile(
    r"\b(?:litellm\.)?(?:RateLimit|BadRequest|Authentication|NotFound|InternalServer|ServiceUnavailable|APIConnection|API"
    r"|BadGateway|PermissionDenied|PaymentRequired|MidStreamFallback|UnprocessableEntity|Timeout|APITimeout)(?:Error)?:"
)
"""litellm's names for what happened, as they stand in its texts: no words of the provider's."""


def _by_words(words: str) -> ErrorClass | None:
    return next((kind for kind, pattern in WORDS if pattern.search(words)), None)


# ---- what to say

HINTS: dict[ErrorClass, str] = {
    "auth": "Check {key}, and whether it may use {model}.",
    "billing": "Add credit at the provider, or choose another model.",
    "not_found": "Check the model's name and its api_base; `tui-agent models` lists the known ones.",
    "context_overflow": "Compact the conversation (/compact) or choose a model with a larger window.",
    "network": "Check the connection, the proxy and the server's address.",
    "content_policy": "The provider refuses this content; put it differently or choose another model.",
}

_HEADLINES: dict[ErrorClass, str] = {
    "auth": "the key was refused",
    "billing": "no credit left",
    "rate_limit": "too many requests",
    "timeout": "no answer in time",
    "network": "the connection failed",
    "server": "the server failed",
    "not_found": "no such model or address",
    "context_overflow": "the conversation is too long for the model",
    "bad_request": "the request was refused",
    "content_policy": "refused by the content policy",
    "malformed": "the answer can't be read",
    "unknown": "the call failed",
}


def _hint(kind: ErrorClass, spec: ModelSpec) -> str:
    if kind == "auth" and spec.api_base and not spec.api_key_env and not spec.key_command:
        return f"The server at {spec.api_base} wants a key: set models.{spec.alias or 'NAME'}.api_key_env in config.yaml."
    variable = spec.api_key_env or (provider(spec.provider).keys or ("the provider's variable",))[0]
    place = "what key_command answers" if spec.key_command else f"the key in {variable}"
    return HINTS.get(kind, "").format(key=place, model=spec.name)


def _broken_where(chain: list[BaseException], words: str, spec: ModelSpec) -> str:
    """What happened to a connection, in place of a client library's inner words."""
    there = spec.api_base or "the provider's address"
    if any(isinstance(link, ConnectionRefusedError) for link in chain):
        return f"nothing answers at {there}"
    if any(isinstance(link, socket.gaierror) for link in chain):
        return f"the name in {there} can't be found"
    if any(isinstance(link, ssl.SSLError) for link in chain):
        return f"no secure connection to {there}"
    if re.search(
        r"stream ended before|before any terminal event|payload is not completed|incomplete chunked", words
    ):
        return "the reply broke off before its end"
    return "the connection broke off"


def _headline(kind: ErrorClass, status: int) -> str:
    return f"{_HEADLINES[kind]} ({status})" if status else _HEADLINES[kind]


_PREFIX = re.compile(r"^(?:litellm\.\w+: *|\w+(?:Error|Exception|Timeout) ?[:-]+ *|Error code: \d+ *-? *)+")
_TAIL = re.compile(
    r"(?: Original exception: | ?\. Handle with `litellm|\n\s*Traceback |\nFor more information check:).*",
    re.DOTALL,
)


def _said(chain: list[BaseException]) -> str:
    """The provider's own sentence: from the innermost JSON body there is, else from litellm's text without its wrapping."""
    for link in reversed(chain):
        body = getattr(link, "body", None)
        text = _message_in(body) or _message_in(_json_in(str(link)))
        if text:
            return text
    text = _PREFIX.sub("", _TAIL.sub("", str(chain[0])))
    return (
        ""
        if re.match(r"\s*(?:b['\"])?<(?:!doctype|html)", text, re.IGNORECASE) or text.isdigit()
        else text.strip()
    )


def _json_in(text: str) -> Any:
    """The JSON object within a text such as ``AnthropicException - b'{…}'``."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    inner = text[start : end + 1]
    for candidate in (inner, inner.replace("\\'", "'").replace('\\\\"', '\\"')):
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _message_in(body: Any) -> str:
    """The ``message`` of the shapes that providers write: ``{"error": {"message": …}}``, ``{"error": "…"}``, ``{"message": …}``."""
    if not isinstance(body, dict):
        return ""
    inner = cast("dict[str, Any]", body)
    for name in ("error", "message", "detail"):
        value = inner.get(name)
        if isinstance(value, dict):
            return _message_in(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


# ---- when to come back

_WAIT = re.compile(
    r"(?:retry|try again) (?:in|after) (?:about )?((?:\d+(?:\.\d+)?(?:ms|h|m|s|seconds?|minutes?) ?)+)"
)
_RETRY_DELAY = re.compile(r"retrydelay[\"']?: ?[\"']?(\d+(?:\.\d+)?)s")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _retry_after(headers: Mapping[str, str], words: str, now: float) -> float | None:
    """Seconds that the provider asks to wait: its header (seconds, milliseconds or a date), else its words."""
    named = {name.lower().removeprefix("llm_provider-"): value for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = str(named.get(name, "")).strip()
        if re.fullmatch(r"\d+(?:\.\d+)?", value):
            return float(value) * unit
    if named.get("retry-after"):
        try:
            return max(0.0, parsedate_to_datetime(str(named["retry-after"])).timestamp() - now)
        except (ValueError, TypeError):
            pass
    if match := _RETRY_DELAY.search(words):
        return float(match[1])
    if match := _WAIT.search(words):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(match[1]))
    return None


def without_stream(headers: Mapping[str, Any], spec: ModelSpec) -> Failure:
    """The failure of a 200 answer that held no stream: litellm ends it with ``stop`` as if all were well."""
    kinds = [str(value) for name, value in headers.items() if name.lower().endswith("content-type")]
    kind = kinds[0].partition(";")[0].strip().lower() if kinds else ""
    what = {
        "text/html": "a web page instead of a reply (a login page or a proxy)",
        "application/json": "an error or a whole object instead of a stream",
    }.get(kind, "an empty reply")
    return Failure(
        kind="malformed" if kind != "application/json" else "server",
        text=f"{spec.provider}: the server sent {what}",
        status=200,
        provider=spec.provider,
        hint=f"Check that {spec.api_base} is the address of a model server." if spec.api_base else "",
        detail=str(msgspec.to_builtins(kinds)),
    )
