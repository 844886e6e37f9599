"""An ``Answer`` as the bytes of each provider's stream: OpenAI chat completions, OpenAI responses, Anthropic messages, Gemini."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from tests.fakes.answers import Answer, Fault, ToolCall, Usage

Dialect = Literal["openai", "responses", "anthropic", "gemini"]


class Frame(msgspec.Struct, frozen=True):
    """One SSE event as bytes. ``content``: it is a piece of the answer (pace and faults count only these)."""

    data: bytes
    content: bool = False
    tokens: float = 0.0


def frames(dialect: Dialect, answer: Answer, asked: dict[str, Any]) -> Iterator[Frame]:
    """The whole stream of ``answer`` to the request body ``asked``, faults not included (but ``repeat``)."""
    make = {"anthropic": _anthropic, "responses": _responses, "openai": _openai, "gemini": _gemini}[dialect]
    return make(_with_ids(dialect, answer, asked), asked)


def ping(dialect: Dialect) -> bytes:
    """What keeps a connection alive without content."""
    return b'event: ping\ndata: {"type": "ping"}\n\n' if dialect == "anthropic" else b": keep-alive\n\n"


def error_event(dialect: Dialect, wrong: Fault) -> bytes:
    """An error inside a running stream."""
    kind, text = "overloaded_error", "Overloaded"
    if isinstance(wrong.body, dict):
        body = wrong.body
    elif dialect == "anthropic":
        body = {"type": "error", "error": {"type": kind, "message": text}}
    else:
        body = {"error": {"message": text, "type": kind, "code": None}}
    return _event(body, "error" if dialect == "anthropic" else "")


ERRORS: dict[int, tuple[str, str]] = {
    400: ("invalid_request_error", "Invalid value for 'temperature'"),
    401: ("authentication_error", "Incorrect API key provided"),
    402: ("billing_error", "Insufficient credits"),
    403: ("permission_error", "Your key has no access to this model"),
    404: ("not_found_error", "The model does not exist"),
    408: ("timeout_error", "Request timed out"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    422: ("invalid_request_error", "Unprocessable entity"),
    429: ("rate_limit_error", "Rate limit reached, try again later"),
    500: ("api_error", "Internal server error"),
    502: ("api_error", "Bad gateway"),
    503: ("api_error", "Service unavailable"),
    504: ("timeout_error", "Gateway timeout"),
    529: ("overloaded_error", "Overloaded"),
}


def error_body(dialect: Dialect, wrong: Fault) -> tuple[bytes, str]:
    """Body and content type of an error status; 502 without a body of its own is a proxy's HTML page."""
    if isinstance(wrong.body, str):
        return wrong.body.encode(), "text/html" if wrong.body.lstrip().startswith("<") else "text/plain"
    if isinstance(wrong.body, dict):
        return json.dumps(wrong.body).encode(), "application/json"
    if wrong.status == 502:
        return b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", "text/html"
    kind, text = ERRORS.get(wrong.status, ("api_error", f"status {wrong.status}"))
    error: dict[str, Any] = {"type": kind, "message": text}
    body = (
        {"type": "error", "error": error}
        if dialect == "anthropic"
        else {"error": {**error, "param": None, "code": None}}
    )
    return json.dumps(body).encode(), "application/json"


def whole(dialect: Dialect, answer: Answer, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request without ``stream``."""
    answer = _with_ids(dialect, answer, asked)
    usage, model = _usage(answer, asked), str(asked.get("model", "fake"))
    if dialect == "anthropic":
        content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
            for call in answer.calls
        ]
        return {
            "id": "msg_fake", "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": _anthropic_finish(answer), "stop_sequence": None, "usage": _anthropic_usage(usage or Usage()),
        }  # fmt: skip
    if dialect == "responses":
        return _response_object(answer, asked, "incomplete" if answer.finish == "length" else "completed")
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _text(call)}}
            for call in answer.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _openai_finish(answer)}
    body: dict[str, Any] = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
    }
    return {**body, "usage": _openai_usage(usage)} if usage else body


# ---- OpenAI chat completions


def _openai(answer: Answer, asked: dict[str, Any]) -> Iterator[Frame]:
    model = str(asked.get("model", "fake"))

    def chunk(delta: dict[str, Any] | None, finish: str | None = None, usage: Usage | None = None) -> bytes:
        body: dict[str, Any] = {
            "id": "chatcmpl-fake",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": model,
        }
        body["choices"] = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        if usage:
            body["usage"] = _openai_usage(usage)
        return _event(body)

    yield Frame(chunk({"role": "assistant", "content": ""}))
    for piece in _pieces(answer.reasoning, answer.chunk):
        yield Frame(chunk({"reasoning_content": piece}), content=True, tokens=len(piece) / 4)
    for piece in _text_pieces(answer):
        yield Frame(chunk({"content": piece}), content=True, tokens=len(piece) / 4)
    for at, call in enumerate(answer.calls):
        for delta in _openai_call(call, at, answer):
            yield Frame(chunk({"tool_calls": [delta]}), content=True, tokens=3)
    yield Frame(chunk({}, _openai_finish(answer)))
    usage = _usage(answer, asked)
    if usage and (asked.get("stream_options") or {}).get("include_usage"):
        yield Frame(chunk(None, usage=usage))
    yield Frame(b"data: [DONE]\n\n")


def _openai_call(call: ToolCall, at: int, answer: Answer) -> Iterator[dict[str, Any]]:
    quirks = answer.quirks
    index = 0 if "index_zero" in quirks else at
    head: dict[str, Any] = {"index": index, "type": "function"}
    if "no_ids" not in quirks:
        head["id"] = call.id
    if "dict_arguments" in quirks:
        yield {**head, "function": {"name": call.name, "arguments": call.arguments}}
        return
    text = _text(call)
    if "whole_calls" in quirks:
        yield {**head, "function": {"name": call.name, "arguments": text}}
        return
    if "split_names" in quirks:
        half = len(call.name) // 2
        yield {**head, "function": {"name": call.name[:half], "arguments": ""}}
        yield {"index": index, "function": {"name": call.name[half:]}}
    else:
        yield {**head, "function": {"name": call.name, "arguments": ""}}
    for piece in _pieces(text, max(1, -(-len(text) // max(1, call.pieces)))):
        delta: dict[str, Any] = {"index": index, "function": {"arguments": piece}}
        if "index_zero" in quirks and "ids_once" not in quirks:
            delta["id"] = head.get("id")
        yield delta


def _openai_finish(answer: Answer) -> str:
    return answer.finish or ("tool_calls" if answer.calls else "stop")


def _openai_usage(usage: Usage) -> dict[str, Any]:
    body: dict[str, Any] = {
        "prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }  # fmt: skip
    if usage.cost is not None:
        body["cost"] = usage.cost
    return body


# ---- Anthropic messages


def _anthropic(answer: Answer, asked: dict[str, Any]) -> Iterator[Frame]:
    usage = _usage(answer, asked) or Usage()
    head = {
        "id": "msg_fake", "type": "message", "role": "assistant", "model": str(asked.get("model", "fake")), "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {**_anthropic_usage(usage), "output_tokens": 1},
    }  # fmt: skip
    yield Frame(_event({"type": "message_start", "message": head}, "message_start"))
    yield Frame(ping("anthropic"))
    for index, (block, deltas) in enumerate(_anthropic_blocks(answer)):
        start = {"type": "content_block_start", "index": index, "content_block": block}
        yield Frame(_event(start, "content_block_start"), content=block["type"] == "tool_use")
        for delta in deltas:
            body = {"type": "content_block_delta", "index": index, "delta": delta}
            yield Frame(_event(body, "content_block_delta"), content=True, tokens=len(str(delta)) / 8)
        yield Frame(_event({"type": "content_block_stop", "index": index}, "content_block_stop"))
    delta = {"stop_reason": _anthropic_finish(answer), "stop_sequence": None}
    ending = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage.output}}
    yield Frame(_event(ending, "message_delta"))
    yield Frame(_event({"type": "message_stop"}, "message_stop"))


def _anthropic_blocks(answer: Answer) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if answer.reasoning:
        thoughts: list[dict[str, Any]] = [
            {"type": "thinking_delta", "thinking": piece} for piece in _pieces(answer.reasoning, answer.chunk)
        ]
        signed = (
            [*thoughts, {"type": "signature_delta", "signature": answer.signature}]
            if answer.signature
            else thoughts
        )
        yield {"type": "thinking", "thinking": "", "signature": ""}, signed
    if answer.redacted:
        yield {"type": "redacted_thinking", "data": answer.redacted}, []
    if answer.text or (answer.fault and answer.fault.kind == "repeat"):
        yield (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": piece} for piece in _text_pieces(answer)],
        )
    for call in answer.calls:
        text = "" if call.arguments == {} else _text(call)
        size = max(1, -(-len(text) // max(1, call.pieces)))
        deltas: list[dict[str, Any]] = [
            {"type": "input_json_delta", "partial_json": piece} for piece in ["", *_pieces(text, size)]
        ]
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, deltas


def _anthropic_finish(answer: Answer) -> str:
    return answer.finish or ("tool_use" if answer.calls else "end_turn")


def _anthropic_usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input - usage.cached - usage.cache_write, "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": usage.cache_write,
    }  # fmt: skip


# ---- OpenAI responses


def _responses(answer: Answer, asked: dict[str, Any]) -> Iterator[Frame]:
    def event(kind: str, /, **body: Any) -> Frame:
        piece = kind.endswith(".delta")
        return Frame(
            _event({"type": kind, **body}, kind),
            content=piece,
            tokens=len(body["delta"]) / 4 if piece else 0.0,
        )

    yield event("response.created", response=_response_object(Answer(), asked, "in_progress"))
    for index, item in enumerate(_response_items(answer)):
        at = {"output_index": index, "item_id": item["id"]}
        opened = {
            "reasoning": {"summary": []},
            "message": {"content": []},
            "function_call": {"arguments": ""},
        }
        yield event("response.output_item.added", output_index=index, item={**item, **opened[item["type"]]})
        if item["type"] == "reasoning":
            for piece in _pieces(answer.reasoning, answer.chunk):
                yield event("response.reasoning_summary_text.delta", **at, summary_index=0, delta=piece)
        elif item["type"] == "message":
            for piece in _text_pieces(answer):
                yield event("response.output_text.delta", **at, content_index=0, delta=piece)
        else:
            text = item["arguments"]
            for piece in _pieces(text, max(1, len(text) // 3)):
                yield event("response.function_call_arguments.delta", **at, delta=piece)
            yield event("response.function_call_arguments.done", **at, arguments=text)
        yield event("response.output_item.done", output_index=index, item=item)
    state = "incomplete" if answer.finish == "length" else "completed"
    yield event(f"response.{state}", response=_response_object(answer, asked, state))


def _response_items(answer: Answer) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        items.append(
            {
                "id": "rs_fake",
                "type": "reasoning",
                "summary": summary,
                "encrypted_content": "sealed-by-the-fake",
            }
        )
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append(
            {
                "id": "msg_fake",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    for at, call in enumerate(answer.calls):
        items.append({
            "id": f"fc_fake_{at}", "type": "function_call", "status": "completed",
            "call_id": call.id, "name": call.name, "arguments": _text(call),
        })  # fmt: skip
    return items


def _response_object(answer: Answer, asked: dict[str, Any], state: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": "resp_fake", "object": "response", "created_at": 1, "status": state, "model": str(asked.get("model", "fake")),
        "output": _response_items(answer), "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "temperature": 1.0, "top_p": 1.0, "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
    }  # fmt: skip
    usage = _usage(answer, asked)
    if state == "incomplete":
        body["incomplete_details"] = {"reason": "max_output_tokens"}
    if usage and state != "in_progress":
        body["usage"] = {
            "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.input + usage.output,
        }  # fmt: skip
    return body


# ---- Gemini


def _gemini(answer: Answer, asked: dict[str, Any]) -> Iterator[Frame]:
    usage = _usage(answer, asked)

    def event(part: dict[str, Any], tokens: float, finish: str = "") -> Frame:
        candidate: dict[str, Any] = {"content": {"parts": [part], "role": "model"}, "index": 0}
        body: dict[str, Any] = {"candidates": [candidate], "modelVersion": "fake", "responseId": "resp_fake"}
        if finish:
            candidate["finishReason"] = finish
        if usage:
            body["usageMetadata"] = {
                "promptTokenCount": usage.input, "cachedContentTokenCount": usage.cached,
                "candidatesTokenCount": usage.output - usage.reasoning, "thoughtsTokenCount": usage.reasoning,
                "totalTokenCount": usage.input + usage.output,
            }  # fmt: skip
        return Frame(_event(body), content=tokens > 0, tokens=tokens)

    for piece in _pieces(answer.reasoning, answer.chunk):
        yield event({"text": piece, "thought": True}, len(piece) / 4)
    for piece in _text_pieces(answer):
        yield event({"text": piece}, len(piece) / 4)
    for call in answer.calls:
        part: dict[str, Any] = {"functionCall": {"name": call.name, "args": call.arguments}}
        yield event({**part, "thoughtSignature": "c2lnbmF0dXJl"} if answer.reasoning else part, 3)
    yield event({"text": ""}, 0, answer.finish or "STOP")


# ---- shared


def _event(body: dict[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(body)}\n\n".encode()


def _pieces(text: str, size: int) -> Sequence[str]:
    return [text[at : at + size] for at in range(0, len(text), max(1, size))]


def _text_pieces(answer: Answer) -> Sequence[str]:
    if answer.fault and answer.fault.kind == "repeat":
        return [answer.text or "---- "] * 200
    return _pieces(answer.text, answer.chunk)


def _text(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def _with_ids(dialect: Dialect, answer: Answer, asked: dict[str, Any]) -> Answer:
    """Give each call without an id one that no earlier turn of the same conversation has."""
    turn = len(asked.get("messages") or asked.get("input") or ())
    prefix = "toolu" if dialect == "anthropic" else "call"
    named = (
        call if call.id else msgspec.structs.replace(call, id=f"{prefix}_{turn}_{at}")
        for at, call in enumerate(answer.calls)
    )
    return msgspec.structs.replace(answer, calls=tuple(named))


def _usage(answer: Answer, asked: dict[str, Any]) -> Usage | None:
    if answer.usage != "auto":
        return answer.usage
    said = (
        len(answer.text)
        + len(answer.reasoning)
        + sum(len(_text(call)) + len(call.name) for call in answer.calls)
    )
    return Usage(
        input=len(json.dumps(asked)) // 4, output=max(1, said // 4), reasoning=len(answer.reasoning) // 4
    )
