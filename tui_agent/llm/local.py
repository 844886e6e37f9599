"""Model servers on this machine: found by asking their ports, with the context length that they really run with.

Asked only on a person's request or at set-up. litellm would be asked in vain: the catalogue knows what a model could
take, a server what it was started with (Ollama cuts longer prompts silently).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

import msgspec

from tui_agent.config.sections import ModelEntry, Price

Kind = Literal["ollama", "lm_studio", "llama.cpp", "vllm", "openai"]

Windows = dict[str, tuple[int, bool]]
"""Context length in tokens and whether it is loaded, by model; ``*`` for every model."""

PORTS: tuple[tuple[int, Kind], ...] = (
    (11434, "ollama"),
    (1234, "lm_studio"),
    (8080, "llama.cpp"),
    (8000, "vllm"),
)
"""Default ports, from the servers' own documentation."""

TIMEOUT = 0.5
"""Seconds for each question; all ports are asked at once."""

OLLAMA_DEFAULT = 4096
"""Tokens that Ollama loads a model with unless told otherwise (its FAQ; under 24 GiB of video memory)."""

BIGGEST = 4_000_000
"""Bytes of an answer that are read."""


class LocalModel(msgspec.Struct, frozen=True):
    """A model that a local server offers; ``window`` in tokens, 0 = unknown. ``note`` warns of what surprises."""

    server: Kind
    id: str
    api_base: str
    window: int = 0
    loaded: bool = False
    note: str = ""

    @property
    def entry(self) -> ModelEntry:
        """The configuration that reaches it; it costs nothing."""
        return ModelEntry(
            name=f"openai/{self.id}",
            api_base=self.api_base,
            context_window=self.window or None,
            price=Price(input=0.0, output=0.0),
        )


async def discover(ports: Sequence[tuple[int, Kind]] = PORTS) -> list[LocalModel]:
    """Models of all local servers that answer, in the order of ``ports``; a port that is silent or talks nonsense has none."""
    found = await asyncio.gather(*(_server(port, kind) for port, kind in ports))
    return [model for models in found for model in models]


async def _server(port: int, kind: Kind) -> list[LocalModel]:
    listed = _objects(await _get(port, "/v1/models"), "data")
    named = [(row["id"], row) for row in listed if isinstance(row.get("id"), str)]
    ids = [(name, row) for name, row in named if name and "embed" not in name.lower()]
    if not ids:
        return []
    if any(row.get("owned_by") == "vllm" for _, row in ids):
        kind = "vllm"
    elif any(row.get("owned_by") == "llamacpp" for _, row in ids):
        kind = "llama.cpp"
    base = f"http://127.0.0.1:{port}/v1"
    ask = _WINDOWS.get(kind)
    known = await ask(port) if ask else {}
    models: list[LocalModel] = []
    for name, row in ids:
        window, loaded = known.get(name) or known.get("*") or (_size(row, "max_model_len"), False)
        note = ""
        if kind == "ollama" and not loaded:
            window = OLLAMA_DEFAULT
            note = "Ollama's default until it is loaded; longer prompts are cut silently. Set OLLAMA_CONTEXT_LENGTH for more."
        models.append(LocalModel(kind, name, base, window, loaded, note))
    return models


# ---- each server's own page


async def _ollama(port: int) -> Windows:
    rows = _objects(await _get(port, "/api/ps"), "models")
    return {str(row.get("name") or row.get("model")): (_size(row, "context_length"), True) for row in rows}


async def _lm_studio(port: int) -> Windows:
    rows = _objects(await _get(port, "/api/v0/models"), "data")
    loaded = [(row, row.get("state") == "loaded") for row in rows]
    return {
        str(row.get("id")): (_size(row, "loaded_context_length") or _size(row, "max_context_length"), here)
        for row, here in loaded
    }


async def _llama_cpp(port: int) -> Windows:
    page = await _get(port, "/props")
    settings = _objects({"one": [page.get("default_generation_settings")]}, "one")
    return {"*": (_size(settings[0], "n_ctx") if settings else 0, True)}


_WINDOWS: dict[Kind, Callable[[int], Awaitable[Windows]]] = {
    "ollama": _ollama,
    "lm_studio": _lm_studio,
    "llama.cpp": _llama_cpp,
}


# ---- asking


async def _get(port: int, path: str) -> dict[str, Any]:
    """The JSON object at a loopback address; empty on every fault."""
    try:
        async with asyncio.timeout(TIMEOUT):
            body = await _fetch(port, path)
        return msgspec.json.decode(body, type=dict[str, Any])
    except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, msgspec.MsgspecError):
        return {}


async def _fetch(port: int, path: str) -> bytes:
    """One GET over HTTP/1.0; raises ``ValueError`` unless the status is 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(
            f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n\r\n".encode()
        )
        await writer.drain()
        answer = b""
        while len(answer) < BIGGEST and (piece := await reader.read(65_536)):
            answer += piece
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise ValueError("not found")
    return _unchunked(body) if b"transfer-encoding: chunked" in head.lower() else body


def _unchunked(body: bytes) -> bytes:
    """The content of a chunked body (some servers chunk even for HTTP/1.0)."""
    whole = b""
    while body:
        line, _, body = body.partition(b"\r\n")
        size = int(line.split(b";")[0], 16)
        if size == 0:
            break
        whole, body = whole + body[:size], body[size + 2 :]
    return whole


def _objects(page: dict[str, Any], key: str) -> list[dict[str, Any]]:
    try:
        return msgspec.convert(page.get(key), list[dict[str, Any]])
    except msgspec.ValidationError:
        return []


def _size(row: dict[str, Any], key: str) -> int:
    value = row.get(key)
    return value if isinstance(value, int) and value > 0 else 0
