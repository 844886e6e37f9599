"""The one door to litellm: our requests go in, neutral deltas and one classified failure or reply come out.

Everything that litellm 1.110.2 does unasked is switched off before it is imported: reading the ``.env`` of whatever folder it
finds, fetching price lists and tokenizers, printing, retrying silently. Its import takes 2–3 s, so it happens in a thread,
at ``preload`` or at the first call.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
import time
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, MutableMapping
from contextlib import aclosing, contextmanager
from typing import Any

from tui_agent.core.errors import Failure, ModelError
from tui_agent.llm import catalog, credentials
from tui_agent.llm.api import Delta, ModelSpec, Reply, Request
from tui_agent.llm.assembler import Assembler, reported_usage
from tui_agent.llm.classify import failure_of, without_stream
from tui_agent.llm.providers import READ_BY_LITELLM
from tui_agent.llm.route import Route, check, options, route
from tui_agent.llm.wire_messages import wire_messages, wire_tools

CONNECT_TIMEOUT = 15.0
"""Seconds to reach a server."""

READ_MARGIN = 5.0
"""Seconds that the socket's own timeout lies beyond ours, which counts only content and can tell what happened."""

BREATH = 0.02
"""Seconds after which a stream lets the event loop run: chunks that are buffered never suspend by themselves."""

PASSES = 3
"""Rounds of the loop in a breath: a timer or a readable pipe needs that many until the task that waits for it has run
(measured: 60 ms of delay with one, 20 ms with three)."""

CLOSING_TIME = 2.0
"""Seconds that closing a connection may take before it is left to itself."""

LOOPBACK = "127.0.0.1,localhost,::1"


class LitellmModel:
    """The ``Model`` for every provider that litellm reaches."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """One call; see ``Model``. The key and the address are checked before anything is sent."""
        spec = request.model
        way = route(spec)
        if failure := check(spec, way):
            raise ModelError(failure)
        key = (
            await asyncio.to_thread(credentials.look_up, spec)
            if spec.key_command
            else credentials.look_up(spec)
        )
        if isinstance(key, Failure):
            raise ModelError(key)
        litellm = await load()
        arguments = {
            **options(request, way),
            "model": way.model,
            "messages": wire_messages(request, way),
            "stream": True,
            "timeout": _timeout(request, way),
            "num_retries": 0,  # litellm's own,
            "max_retries": 0,  # and the OpenAI client's, which would be two silent ones
        }
        if request.tools:
            arguments["tools"] = wire_tools(request.tools)
        if way.api_base:
            arguments["api_base"] = way.api_base
        if key.value and key.source not in READ_BY_LITELLM:
            arguments["api_key"] = key.value
        call = _Call(request, way)
        try:
            async with aclosing(call.pieces(litellm, arguments)) as pieces:
                async for piece in pieces:
                    yield piece
        except ModelError as error:
            if error.failure.kind == "auth":
                credentials.forget(spec)
            raise
        finally:
            await call.close()

    async def ready(self, spec: ModelSpec) -> None:
        """Import litellm, unless it is plain that no call can be made."""
        if check(spec, route(spec)) is None and await asyncio.to_thread(credentials.missing, spec) is None:
            await load()

    def preload(self) -> None:
        """Begin to import litellm in a background thread; returns at once."""
        _import.begin()

    async def close(self) -> None:
        """Close pooled connections and litellm's background worker; nothing if litellm was never imported."""
        if _import.litellm is not None:
            await _close_litellm(_import.litellm)


class _Call:
    """One request on its way, with the watch on silence."""

    def __init__(self, request: Request, way: Route) -> None:
        self._request, self._way = request, way
        self._assembler = Assembler((tool.name for tool in request.tools), inline_think=way.inline_think)
        self._stream: Any = None
        self._patience = _patience(request, way)
        self._left = self._patience
        self._begun = False
        self._last_breath = 0.0

    async def pieces(self, litellm: Any, arguments: dict[str, Any]) -> AsyncGenerator[Delta | Reply, None]:
        self._stream = await self._watched(litellm.acompletion(**arguments))
        _leave_out_summing_up(self._stream)
        chunks = aiter(self._stream)
        self._last_breath = time.monotonic()
        while (chunk := await self._watched(anext(chunks, None))) is not None:
            for delta in self._read(chunk):
                self._left = _stall(self._request)
                self._begun = True
                yield delta
            await self._breathe()
            if self._assembler.ended and _has_usage(self._stream.chunks):
                break
        for delta in self._assembler.close():
            yield delta
        yield self._reply()

    def _read(self, chunk: Any) -> list[Delta]:
        """The deltas of a chunk; what no server should send is the server's fault, not ours."""
        try:
            return self._assembler.feed(chunk)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            provider = self._request.model.provider
            text = f"{provider}: the server sent a piece that can't be read"
            detail = f"{type(error).__name__}: {error}"
            raise ModelError(Failure("malformed", text, provider=provider, detail=detail)) from error

    async def _watched(self, step: Awaitable[Any]) -> Any:
        """Await one step of the stream. Silence becomes a failure (only content ends it, pings don't), as does what litellm raises."""
        started = time.monotonic()
        guard = asyncio.timeout(self._left)
        try:
            async with guard:
                return await step
        except Exception as error:
            if guard.expired():
                raise ModelError(self._silence()) from None
            raise ModelError(failure_of(error, self._request.model, now=time.time())) from error
        finally:
            self._left = max(0.001, self._left - (time.monotonic() - started))

    def _silence(self) -> Failure:
        waited = _stall(self._request) if self._begun else self._patience
        provider = self._request.model.provider
        hint = "limits.stall_timeout in config.yaml says how long to wait."
        return Failure("timeout", f"{provider}: no data for {waited:g} s", provider=provider, hint=hint)

    async def _breathe(self) -> None:
        now = time.monotonic()
        if now - self._last_breath >= BREATH:
            for _ in range(PASSES):
                await asyncio.sleep(0)
            self._last_breath = time.monotonic()

    def _reply(self) -> Reply:
        spec, parts = self._request.model, self._assembler.parts()
        chunks = self._stream.chunks
        if not parts and not chunks:
            raise ModelError(without_stream(getattr(self._stream, "_response_headers", None) or {}, spec))
        if not parts and self._assembler.finish == "content_filter":
            raise ModelError(
                Failure("content_policy", f"{spec.provider}: the reply was withheld", provider=spec.provider)
            )
        return Reply(
            parts=parts,
            finish=self._assembler.finish,
            usage=reported_usage(chunks, self._assembler),
            model=spec.name,
        )

    async def close(self) -> None:
        """Close the connection now, also when the task is being cancelled: left alone it would stay open until collected."""
        if self._stream is not None:
            closing: asyncio.Future[None] = asyncio.ensure_future(self._stream.aclose())
            closing.add_done_callback(_ignore)
            await asyncio.wait(
                {closing}, timeout=CLOSING_TIME
            )  # cancelling the wait does not cancel the closing


def _ignore(closing: asyncio.Future[None]) -> None:
    """Take note of a close that failed: the connection is gone either way."""
    if not closing.cancelled():
        closing.exception()


def _stall(request: Request) -> float:
    """Seconds between pieces of content; 0 in the configuration means that nobody minds (a day)."""
    return request.stall_timeout or 86_400.0


def _patience(request: Request, way: Route) -> float:
    """Seconds to wait for the first content: models that think in silence, or send nothing but the end, get more."""
    if catalog.supports(request.model).streams is False:
        return max(_stall(request), request.step_timeout)
    return _stall(request) * way.slow_start


def _timeout(request: Request, way: Route) -> Any:
    import httpx

    longest = max(_stall(request), _patience(request, way)) + READ_MARGIN
    return httpx.Timeout(longest, connect=min(CONNECT_TIMEOUT, longest))


def _leave_out_summing_up(stream: Any) -> None:
    """Spare the loop litellm's own assembly of the whole reply at the end (0.5 s for 10,000 chunks), which nobody reads."""

    async def nothing() -> None:
        return None

    if hasattr(stream, "_async_build_complete_streaming_response"):
        stream._async_build_complete_streaming_response = nothing


def _has_usage(chunks: list[Any]) -> bool:
    return any(getattr(chunk, "usage", None) is not None for chunk in chunks[-3:])


# ---- bringing litellm in


class _Import:
    """The one import of this process: done once, in a thread of its own, by whoever asks first."""

    def __init__(self) -> None:
        self.litellm: Any = None
        self.error: BaseException | None = None
        self._lock = threading.Lock()
        self.started = False
        self._done = False
        self._waiting: list[Callable[[], object]] = []

    def begin(self) -> None:
        """Start it unless somebody did."""
        with self._lock:
            if self.started:
                return
            self.started = True
        threading.Thread(target=_import_litellm, name="import-litellm", daemon=True).start()

    def when_done(self, tell: Callable[[], object]) -> None:
        """Call ``tell`` when it is done, or now."""
        with self._lock:
            if not self._done:
                self._waiting.append(tell)
                return
        tell()

    def finish(self) -> None:
        with self._lock:
            self._done = True
            waiting, self._waiting = self._waiting, []
        for tell in waiting:
            try:
                tell()
            except RuntimeError:  # the loop that waited has been closed meanwhile
                continue


_import = _Import()


DURING_IMPORT = {
    "LITELLM_MODE": "PRODUCTION",  # its only effect: no .env file is loaded
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # what older releases ask instead of the offline mode
    "REPEATED_STREAMING_CHUNK_LIMIT": "100000",  # 100 equal chunks are a table, not a fault
}
"""What litellm reads once. Afterwards the variables are as before: commands that tools start inherit the environment."""

FOR_GOOD = {
    "LITELLM_OFFLINE_MODE": "true",  # no price list, beta headers or tokenizers from the network
    "OR_APP_NAME": "tui-agent",  # OpenRouter would be told litellm's name and site
    "OR_SITE_URL": "http://localhost",
}
"""What litellm reads at each call."""


def prepare(environ: MutableMapping[str, str]) -> None:
    """Set what litellm reads at each call; a person's own values for OpenRouter stay, a proxy is not asked for loopback."""
    for name, value in FOR_GOOD.items():
        environ[name] = environ.get(name, value) if name.startswith("OR_") else value
    for name in {"NO_PROXY", *({"no_proxy"} & environ.keys())}:
        if LOOPBACK not in environ.get(name, ""):
            environ[name] = f"{environ.get(name, '')},{LOOPBACK}".lstrip(",")


@contextmanager
def during_import(environ: MutableMapping[str, str]) -> Generator[None, None, None]:
    """Set what litellm reads while it is imported, and put back what was there."""
    before = {name: environ.get(name) for name in DURING_IMPORT}
    environ.update(DURING_IMPORT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                environ.pop(name, None)
            else:
                environ[name] = value


def _import_litellm() -> None:
    prepare(os.environ)
    collecting = gc.isenabled()
    gc.disable()  # an import makes no garbage; collecting would take a fifth of the time
    try:
        with during_import(os.environ):
            import litellm

        litellm.suppress_debug_info = True
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).handlers[:] = [
                logging.NullHandler()
            ]  # its own write to stderr; root's remain
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
        _import.litellm = litellm
    except BaseException as error:  # noqa: BLE001 - reported to every caller that waits for the import
        _import.error = error
    finally:
        gc.freeze()  # 200 MB that never go away: a full collection over them would stop the loop for 0.4 s
        if collecting:
            gc.enable()
        _import.finish()


def begun() -> bool:
    """Whether litellm is or has been on its way in: from then on an orderly end of the interpreter may never come to its end."""
    return _import.started


async def load() -> Any:
    """litellm, imported; raises ``ModelError`` if it can't be."""
    _import.begin()
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    _import.when_done(lambda: loop.call_soon_threadsafe(ready.set))
    await ready.wait()
    if _import.litellm is None:
        text = "litellm can't be imported: is the installation complete?"
        raise ModelError(Failure("unknown", text, detail=repr(_import.error)))
    return _import.litellm


async def _close_litellm(litellm: Any) -> None:
    from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER

    await GLOBAL_LOGGING_WORKER.stop()
    await litellm.close_litellm_async_clients()
