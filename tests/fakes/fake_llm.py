"""A loopback server that plays a language model: OpenAI chat completions and responses, Anthropic
messages, Gemini (streams only), model lists.

    with FakeLLM([say("hello"), call("read_file", path="a.py"), status(429, retry_after="2")]) as fake:
        ...  # base of an OpenAI client: fake.openai_base, of an Anthropic client: fake.anthropic_base

* ``async with`` works too; either way the server lives in a thread and a loop of its own, so it never competes with
  the loop under test, and a terminal test can use it as it is.
* The script is a sequence of ``Answer`` (see ``tests/fakes/answers.py``; ``say``, ``call``, ``calls``, ``status`` and
  ``fault`` make them), one a request, or a function ``(Received) -> Answer``. ``fake.add(...)`` appends. When it is at
  its end, ``default`` is answered; without one, status 400 with a text that says so.
* ``fake.requests`` are the model calls so far, as ``Received``: path, headers (lower case), JSON body, and events that
  a test waits on instead of sleeping: ``held`` (a ``hang_*`` fault or pings reached its place), ``closed`` (the client hung up;
  ``closed_at`` is when, in ``time.monotonic()``), ``done`` (the whole answer was sent). ``wait(event)`` and
  ``await until(event)`` wait at most 10 s. ``received.release()`` lets a held answer go on.
* ``fake.request(n)`` / ``await fake.arrived(n)`` wait for the n-th request (from 0).
* ``fake.pages["/props"] = {...}`` answers other GET (or POST) requests; ``fake.models`` is what ``/v1/models`` lists.

By hand: ``python -m tests.fakes.fake_llm --port 8123 --script file.json``, where the file is a list of answers such as
``[{"text": "hi", "pace": 40}, {"calls": [{"name": "list_files", "arguments": {"path": "."}}]}, {"fault": {"kind": "cut"}}]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from tests.fakes.answers import (
    STATUSES,
    Answer,
    Fault,
    FaultKind,
    Quirk,
    ToolCall,
    Usage,
    call,
    calls,
    fault,
    say,
    status,
)
from tests.fakes.dialects import Dialect, error_body, error_event, frames, ping, whole

__all__ = [
    "STATUSES", "Answer", "FakeLLM", "Fault", "FaultKind", "Quirk", "Received", "ToolCall", "Usage",
    "call", "calls", "fault", "say", "status", "until", "wait",
]  # fmt: skip

LONGEST_WAIT = 10.0
"""Seconds that a test waits for an event before it fails."""

ENDINGS: dict[str, Dialect] = {
    "/chat/completions": "openai",
    "/responses": "responses",
    "/messages": "anthropic",
    ":streamGenerateContent": "gemini",
}

LOGIN_PAGE = (
    b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><form>Please sign in</form></body></html>"
)


def wait(event: threading.Event) -> None:
    """Block until ``event``; a test that waits in vain fails."""
    assert event.wait(LONGEST_WAIT), "the fake model waited in vain"


async def until(event: threading.Event) -> None:
    """The same without blocking the loop."""
    await asyncio.to_thread(wait, event)


class Received:
    """One model call as it arrived, and what became of its connection."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes, dialect: Dialect) -> None:
        self.path, self.headers, self.body = path, headers, body
        self.dialect: Dialect = dialect
        self.at = time.monotonic()
        self.json: dict[str, Any] = json.loads(body) if body else {}
        self.held = threading.Event()
        self.closed = threading.Event()
        self.closed_at = 0.0
        self.done = threading.Event()
        self._released = threading.Event()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the request (the items of ``input`` in the responses dialect)."""
        return self.json.get("messages") or self.json.get("input") or self.json.get("contents") or []

    def release(self) -> None:
        """Let an answer that is held go on."""
        self._released.set()

    @property
    def released(self) -> bool:
        return self._released.is_set()


Script = Iterable[Answer] | Callable[[Received], Answer]


class FakeLLM:
    """The server; see the module's docstring."""

    def __init__(self, script: Script = (), *, default: Answer | None = None, port: int = 0) -> None:
        self._choose = script if callable(script) else None
        self.queue: list[Answer] = [] if callable(script) else list(script)
        self.default = default
        self.requests: list[Received] = []
        self.hits: list[str] = []
        """Method and path of everything that was asked, model calls included."""
        self.models: list[dict[str, Any]] = [{"id": "fake", "object": "model"}]
        self.pages: dict[str, Any] = {}
        self.port = port
        self._news = threading.Condition()
        self._ready = threading.Event()
        self._broken: OSError | None = None
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="fake-llm", daemon=True
        )

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_base(self) -> str:
        """``api_base`` for ``openai/…``."""
        return f"{self.origin}/v1"

    @property
    def anthropic_base(self) -> str:
        """``api_base`` for ``anthropic/…`` and ``gemini/…``."""
        return self.origin

    def add(self, *answers: Answer) -> None:
        """Append to the script."""
        self.queue.extend(answers)

    def request(self, number: int = 0) -> Received:
        """The n-th model call; waits for it."""
        with self._news:
            came = self._news.wait_for(lambda: len(self.requests) > number, LONGEST_WAIT)
            assert came, f"request {number} never came; {len(self.requests)} did"
            return self.requests[number]

    async def arrived(self, number: int = 0) -> Received:
        """The same without blocking the loop."""
        return await asyncio.to_thread(self.request, number)

    # ---- life

    def start(self) -> Self:
        self._thread.start()
        self._ready.wait(LONGEST_WAIT)
        if self._broken:
            raise self._broken
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(LONGEST_WAIT)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        try:
            server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        except OSError as error:
            self._broken = error
            self._ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open.add(task)
        try:
            await self._connection(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    # ---- one connection, one request

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        body = await _read_body(reader, headers)
        self.hits.append(f"{method} {path}")
        wire = Connection(writer)
        dialect = _dialect(path)
        if method != "POST" or dialect is None:
            await self._page(wire, path)
            return
        received = Received(path, headers, body, dialect)
        with self._news:
            self.requests.append(received)
            self._news.notify_all()
        answer = self._answer(received)
        talk = asyncio.ensure_future(_reply(wire, received, answer))
        hung_up = asyncio.ensure_future(reader.read())
        try:
            await asyncio.wait({talk, hung_up}, return_when=asyncio.FIRST_COMPLETED)
            if hung_up.done():
                received.closed_at = time.monotonic()
                received.closed.set()
            elif talk.exception() is None:
                await wire.finish()
        finally:
            talk.cancel()
            hung_up.cancel()
            await asyncio.gather(talk, hung_up, return_exceptions=True)

    def _answer(self, received: Received) -> Answer:
        if self._choose:
            return self._choose(received)
        if self.queue:
            return self.queue.pop(0)
        return self.default or status(
            400, {"error": {"message": "FakeLLM: the script is at its end", "type": "fake"}}
        )

    async def _page(self, wire: Connection, path: str) -> None:
        bare = path.partition("?")[0]
        if bare in self.pages:
            page = self.pages[bare]
        elif bare.endswith("/models"):
            page = {"object": "list", "data": self.models}
        else:
            await wire.whole(404, b'{"error": "no such page"}', "application/json")
            return
        await wire.whole(200, json.dumps(page).encode(), "application/json")


class Connection:
    """The writing half of one HTTP exchange; the body is chunked, so that a cut differs from an end."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.chunked = False

    async def head(self, code: int, headers: dict[str, str]) -> None:
        lines = [
            f"HTTP/1.1 {code} Status",
            *(f"{name}: {value}" for name, value in headers.items()),
            "Connection: close",
        ]
        self.writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        await self.writer.drain()

    async def whole(self, code: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        await self.head(code, {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})})
        self.writer.write(body)
        await self.writer.drain()

    async def begin(self) -> None:
        self.chunked = True
        await self.head(
            200,
            {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", "X-Request-Id": "req_fake"},
        )

    async def send(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self.writer.drain()

    async def finish(self) -> None:
        """End the body properly and hang up."""
        if self.chunked:
            self.writer.write(b"0\r\n\r\n")
            await self.writer.drain()

    def reset(self) -> None:
        """Hang up with a TCP reset."""
        plug = self.writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class DroppedError(ConnectionError):
    """The fake cut the connection on purpose."""


async def _reply(wire: Connection, received: Received, answer: Answer) -> None:
    wrong = answer.fault or Fault("repeat") if answer.fault else None
    if wrong and await _instead(wire, received, wrong):
        received.done.set()
        return
    if not received.json.get("stream") and received.dialect != "gemini":
        body = json.dumps(whole(received.dialect, answer, received.json)).encode()
        await wire.whole(200, body, "application/json")
        received.done.set()
        return
    await wire.begin()
    if wrong and wrong.kind == "hang_first":
        await _hold(wire, received)
    await _stream(wire, received, answer, wrong)
    received.done.set()


async def _instead(wire: Connection, received: Received, wrong: Fault) -> bool:
    """Faults that replace the stream; True if one did."""
    match wrong.kind:
        case "status":
            body, kind = error_body(received.dialect, wrong)
            extra = {"Retry-After": wrong.retry_after} if wrong.retry_after else {}
            await wire.whole(wrong.status, body, kind, {**wrong.headers, **extra})
        case "refuse":
            wire.reset()
            raise DroppedError
        case "hang_headers":
            await _hold(wire, received)
            return False
        case "empty":
            await wire.whole(200, b"", "text/event-stream")
        case "html":
            await wire.whole(200, LOGIN_PAGE, "text/html")
        case "json_error":
            body, _ = error_body(received.dialect, Fault("status", status=wrong.status, body=wrong.body))
            await wire.whole(200, body, "application/json")
        case _:
            return False
    return True


async def _stream(wire: Connection, received: Received, answer: Answer, wrong: Fault | None) -> None:
    start, told, sent = time.monotonic(), 0.0, 0
    for frame in frames(received.dialect, answer, received.json):
        if frame.content:
            if wrong and sent == wrong.after and await _midway(wire, received, wrong):
                return
            sent += 1
            if answer.pace:
                told += frame.tokens
                await asyncio.sleep(max(0.0, start + told / answer.pace - time.monotonic()))
        await wire.send(frame.data)
    if wrong and sent <= wrong.after:
        await _midway(wire, received, wrong)


async def _midway(wire: Connection, received: Received, wrong: Fault) -> bool:
    """Faults within the stream; True if it ends here."""
    match wrong.kind:
        case "hang_middle":
            await _hold(wire, received)
            return False
        case "pings":
            await _hold(wire, received, pings=True)
            return False
        case "cut":
            wire.writer.close()
            raise DroppedError
        case "reset":
            wire.reset()
            raise DroppedError
        case "cut_json":
            await wire.send(b'data: {"id": "chatcmpl-fake", "type": "content_block_delta", "choices": [{"del')
        case "error_event":
            await wire.send(error_event(received.dialect, wrong))
        case "end_early":
            pass
        case _:
            return False
    return True


async def _hold(wire: Connection, received: Received, pings: bool = False) -> None:
    """Say nothing (or only pings) until the test releases the answer or the client hangs up."""
    received.held.set()
    while not received.released:
        await asyncio.sleep(0.05 if pings else 0.005)
        if pings:
            await wire.send(ping(received.dialect))


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int((await reader.readline()).strip() or b"0", 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readline()
        return body
    return await reader.readexactly(int(headers.get("content-length", 0)))


def _dialect(path: str) -> Dialect | None:
    bare = path.partition("?")[0]
    for ending, dialect in ENDINGS.items():
        if bare.endswith(ending):
            return dialect
    return None


def main() -> None:
    """Serve a script until Ctrl+C, saying on stdout what is asked."""
    options = argparse.ArgumentParser(
        prog="python -m tests.fakes.fake_llm", description="Play a language model on loopback."
    )
    options.add_argument("--port", type=int, default=8123)
    options.add_argument(
        "--script", type=Path, help="a JSON list of answers; without it every answer is one sentence"
    )
    options.add_argument("--repeat", action="store_true", help="start again at the script's end")
    asked = options.parse_args()
    script = msgspec.json.decode(asked.script.read_bytes(), type=list[Answer]) if asked.script else []
    number = 0

    def choose(received: Received) -> Answer:
        nonlocal number
        number += 1
        print(
            f"{received.path}: {len(received.messages)} messages, {len(received.json.get('tools') or ())} tools",
            flush=True,
        )
        if script and (asked.repeat or number <= len(script)):
            return script[(number - 1) % len(script)]
        return Answer(text="This is the fake model. It has nothing more to say.", pace=40)

    with FakeLLM(choose, port=asked.port) as fake:
        print(f"openai: {fake.openai_base}   anthropic: {fake.anthropic_base}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("bye")


if __name__ == "__main__":
    main()
