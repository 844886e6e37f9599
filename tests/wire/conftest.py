"""One import of litellm (3 s) and one event loop for all wire tests; a fresh fake server each."""

import asyncio
import inspect
import warnings
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from tests.fakes.fake_llm import FakeLLM
from tui_agent.core.errors import Failure, ModelError
from tui_agent.core.messages import Call, user
from tui_agent.llm.api import ModelSpec, Reply, Request, ToolSchema
from tui_agent.llm.litellm_model import LitellmModel, load

READ = ToolSchema("read_file", "Read a file", {"type": "object", "properties": {"path": {"type": "string"}}})
LIST = ToolSchema("list_files", "List files", {"type": "object", "properties": {"path": {"type": "string"}}})

ROUTES = ["openai/fake", "anthropic/claude-sonnet-4-5"]
"""The two protocols that nearly every provider speaks."""

GEMINI = "gemini/gemini-2.5-pro"
RESPONSES = "openai/gpt-5.1-codex"


FILTERS = [
    "ignore:.*conflict with protected namespace",
    "ignore:.*attribute on the instance is deprecated",
    "ignore:.*`ReadOnly` qualifier",
    "ignore:Pydantic serializer warnings",
]
"""What litellm and our door to it silence at import; pytest resets the filters for each test."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them run in the session's loop: litellm's connection pools belong to the loop that made them."""
    for item in items:
        if "tests/wire" in item.path.as_posix() and isinstance(item, pytest.Function):
            if inspect.iscoroutinefunction(item.obj):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            for rule in FILTERS:
                item.add_marker(pytest.mark.filterwarnings(rule))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def model() -> AsyncIterator[LitellmModel]:
    model = LitellmModel()
    with (
        warnings.catch_warnings()
    ):  # what litellm's own modules warn of while they are imported is not ours to mend
        warnings.simplefilter("ignore")
        await load()
    yield model
    await model.close()


@pytest_asyncio.fixture(loop_scope="session")
async def fake() -> AsyncIterator[FakeLLM]:
    async with FakeLLM() as fake:
        yield fake


def spec_of(fake: FakeLLM, name: str, **more: Any) -> ModelSpec:
    """The fake, as the model ``name`` would be reached."""
    base = fake.anthropic_base if name.startswith(("anthropic/", "gemini/")) else fake.openai_base
    return msgspec.structs.replace(ModelSpec(name=name, api_base=base), **more)


def ask(fake: FakeLLM, name: str, *, spec: dict[str, Any] | None = None, **more: Any) -> Request:
    """A request of one user message and two tools."""
    model = spec_of(fake, name, **(spec or {}))
    request = Request(model=model, system="You are a fake.", messages=(user("u1", "hi"),), tools=(READ, LIST))
    return msgspec.structs.replace(request, **more)


async def listen(model: LitellmModel, request: Request) -> list[Any]:
    """Everything that a call yields; a failure comes as the last item."""
    heard: list[Any] = []
    try:
        async with aclosing(model.stream(request)) as pieces:
            async for piece in pieces:
                heard.append(piece)  # noqa: PERF401 - what came before a failure counts
    except ModelError as error:
        heard.append(error.failure)
    return heard


async def reply_of(model: LitellmModel, request: Request) -> Reply:
    """The reply of a call that must succeed, and comes exactly once, at the end."""
    heard = await listen(model, request)
    assert [type(piece) for piece in heard].count(Reply) == 1, heard
    assert isinstance(heard[-1], Reply)
    return heard[-1]


def calls_in(reply: Reply) -> list[Call]:
    """The calls of a reply."""
    return [part for part in reply.parts if isinstance(part, Call)]


async def failure_of(model: LitellmModel, request: Request) -> Failure:
    """The failure of a call that must fail."""
    heard = await listen(model, request)
    assert isinstance(heard[-1], Failure), heard
    assert not any(isinstance(piece, Reply) for piece in heard)
    return heard[-1]


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it is gone."""
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
