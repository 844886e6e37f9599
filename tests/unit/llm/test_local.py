import asyncio
import time
from collections.abc import Iterator

import pytest

from tests.fakes.fake_llm import FakeLLM
from tui_agent.config.sections import Config
from tui_agent.llm import catalog, local
from tui_agent.llm.local import Kind, LocalModel, discover


@pytest.fixture
def server() -> Iterator[FakeLLM]:
    with FakeLLM() as fake:
        yield fake


async def found(server: FakeLLM, kind: Kind) -> list[LocalModel]:
    return await discover([(server.port, kind)])


async def test_ollama_says_what_is_loaded_and_how_long(server: FakeLLM) -> None:
    server.models = [
        {"id": "qwen3:8b", "owned_by": "library"},
        {"id": "llama3:latest"},
        {"id": "nomic-embed-text"},
    ]
    server.pages["/api/ps"] = {"models": [{"name": "qwen3:8b", "context_length": 16384}]}
    loaded, idle = await found(server, "ollama")
    assert (loaded.id, loaded.window, loaded.loaded, loaded.note) == ("qwen3:8b", 16384, True, "")
    assert (idle.id, idle.window, idle.loaded) == ("llama3:latest", 4096, False)
    assert "OLLAMA_CONTEXT_LENGTH" in idle.note


async def test_lm_studio_says_loaded_and_possible_length(server: FakeLLM) -> None:
    server.models = [{"id": "a"}, {"id": "b"}]
    server.pages["/api/v0/models"] = {
        "data": [
            {"id": "a", "state": "loaded", "loaded_context_length": 8192, "max_context_length": 131072},
            {"id": "b", "state": "not-loaded", "max_context_length": 32768},
        ]
    }
    a, b = await found(server, "lm_studio")
    assert (a.window, a.loaded, b.window, b.loaded) == (8192, True, 32768, False)


async def test_llama_cpp_and_vllm_are_known_by_what_they_say(server: FakeLLM) -> None:
    server.models = [{"id": "m.gguf", "owned_by": "llamacpp"}]
    server.pages["/props"] = {"default_generation_settings": {"n_ctx": 4096}}
    (model,) = await found(server, "openai")
    assert (model.server, model.window) == ("llama.cpp", 4096)
    server.models = [{"id": "org/m", "owned_by": "vllm", "max_model_len": 40960}]
    (model,) = await found(server, "llama.cpp")
    assert (model.server, model.window) == ("vllm", 40960)


async def test_a_found_model_can_be_configured_as_it_is(server: FakeLLM) -> None:
    server.models = [{"id": "org/m", "owned_by": "vllm", "max_model_len": 40960}]
    (model,) = await found(server, "vllm")
    spec = catalog.resolve("mine", Config(models={"mine": model.entry}))
    assert (spec.name, spec.api_base, spec.window) == ("openai/org/m", server.openai_base, 40960)
    assert (spec.input_price, spec.local) == (0.0, True)


HOSTILE = [
    {"data": "no list"}, {"data": [1, None, "x"]}, {"data": [{"id": 7}, {"id": ""}, {}]}, {"models": []}, [], "text", None, {},
]  # fmt: skip


@pytest.mark.parametrize("page", HOSTILE)
async def test_a_server_that_talks_nonsense_has_no_models(server: FakeLLM, page: object) -> None:
    server.pages["/v1/models"] = page
    assert await found(server, "ollama") == []


async def test_nonsense_beside_the_list_leaves_the_length_unknown(server: FakeLLM) -> None:
    server.models = [{"id": "m", "max_model_len": "many"}]
    server.pages["/props"] = {"default_generation_settings": [1]}
    (model,) = await found(server, "llama.cpp")
    assert model.window == 0


async def test_all_ports_are_asked_at_once_and_a_silent_one_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "TIMEOUT", 0.2)
    asked = asyncio.Event()

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(never, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        with FakeLLM() as fake:
            started = time.monotonic()
            models = await discover([(port, "ollama"), (port, "vllm"), (1, "vllm"), (fake.port, "vllm")])
    assert [model.id for model in models] == ["fake"]
    assert asked.is_set()
    assert time.monotonic() - started < 1


async def test_chunked_answers_are_read() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"data":[{"id":"m"}]}'
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (body[:7], body[7:]):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        models = await discover([(server.sockets[0].getsockname()[1], "openai")])
    assert [model.id for model in models] == ["m"]
