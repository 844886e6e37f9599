from collections.abc import AsyncIterator
from types import SimpleNamespace as Made
from typing import Any

import pytest

from tui_agent.core.errors import ModelError
from tui_agent.core.messages import Text, user
from tui_agent.llm import litellm_model
from tui_agent.llm.api import ModelSpec, Reply, Request
from tui_agent.llm.litellm_model import during_import, prepare
from tui_agent.llm.route import Route


def test_the_environment_is_as_before_after_the_import() -> None:
    environ = {"LITELLM_MODE": "DEV", "PATH": "/bin"}
    with during_import(environ):
        assert environ["LITELLM_MODE"] == "PRODUCTION"
        assert int(environ["REPEATED_STREAMING_CHUNK_LIMIT"]) > 10_000
    assert environ == {"LITELLM_MODE": "DEV", "PATH": "/bin"}


def test_what_stays_in_the_environment() -> None:
    environ = {"OR_APP_NAME": "mine", "no_proxy": "corp.example", "LITELLM_OFFLINE_MODE": "false"}
    prepare(environ)
    prepare(environ)
    assert environ == {
        "LITELLM_OFFLINE_MODE": "true",
        "OR_APP_NAME": "mine",
        "OR_SITE_URL": "http://localhost",
        "no_proxy": "corp.example,127.0.0.1,localhost,::1",
        "NO_PROXY": "127.0.0.1,localhost,::1",
    }


class Stream:
    """A stream as litellm would hand it over."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks = list(chunks)
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[Any]:
        for chunk in self.chunks:
            yield chunk

    async def aclose(self) -> None:
        self.closed = True
        raise OSError("already gone")


def chunk(finish: str | None = None, usage: Any = None, **delta: Any) -> Made:
    return Made(choices=[Made(delta=Made(**delta), finish_reason=finish)], usage=usage)


async def heard(stream: Stream) -> list[Any]:
    async def acompletion(**arguments: Any) -> Stream:
        return stream

    request = Request(model=ModelSpec(name="openai/fake"), system="", messages=(user("u", "hi"),))
    call = litellm_model._Call(request, Route("openai/fake"))
    try:
        return [piece async for piece in call.pieces(Made(acompletion=acompletion), {})]
    finally:
        await call.close()


async def test_a_connection_that_fails_to_close_does_no_harm() -> None:
    stream = Stream(chunk(content="hi"), chunk("stop"))
    reply = (await heard(stream))[-1]
    assert isinstance(reply, Reply)
    assert (reply.parts, reply.usage) == ((Text("hi"),), None)
    assert stream.closed


@pytest.mark.parametrize(
    "delta", [{"thinking_blocks": ["text"]}, {"reasoning_items": [7]}, {"tool_calls": 7}]
)
async def test_a_piece_that_no_server_should_send_is_malformed(delta: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as caught:
        await heard(Stream(chunk(**delta)))
    assert caught.value.failure.kind == "malformed"


async def test_nothing_is_awaited_once_all_is_there() -> None:
    class Endless(Stream):
        async def __aiter__(self) -> AsyncIterator[Any]:
            for one in self.chunks:
                yield one
            raise AssertionError("asked for more than the end")

    done = chunk("stop", Made(prompt_tokens=5, completion_tokens=2))
    reply = (await heard(Endless(chunk(content="hi"), done)))[-1]
    assert reply.usage.input == 5
