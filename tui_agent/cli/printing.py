"""What ``run`` prints: text as it comes, one JSON object, or the events themselves; the trace goes to standard error."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any, Literal, Protocol, TextIO

import msgspec

from tui_agent.core import events as ev
from tui_agent.core.events import Event, encode
from tui_agent.readers.result import ResultReader
from tui_agent.readers.trace import HumanTrace

_VISIBLE = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"},
    0x7F: "␡",
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
}


def plain(text: str) -> str:
    """Text with control characters made visible: no model, tool or file can command the terminal."""
    return text.translate(_VISIBLE)


class Printer(Protocol):
    """A reader of events that owns standard output."""

    def feed(self, event: Event) -> None: ...
    def finish(self, result: ResultReader) -> None: ...


def printer(values: dict[str, Any], language: Literal["en", "es"]) -> Printer:
    """The printer that the options ask for."""
    trace = None if values["quiet"] else Trace(language)
    if values["stream_json"]:
        return EventPrinter(trace)
    if values["as_json"]:
        return ResultPrinter(trace)
    return TextPrinter(trace, stream=not (values["quiet"] or values["no_stream"]))


class WhileRead:
    """A printer for as long as somebody reads: then ``gone`` is called, once, and ``finish`` raises ``BrokenPipeError``."""

    def __init__(self, printer: Printer, gone: Callable[[], None]) -> None:
        self._printer, self._gone = printer, gone
        self._lost = False

    def feed(self, event: Event) -> None:
        if self._lost:
            return
        try:
            self._printer.feed(event)
        except BrokenPipeError:
            self._lost = True
            # Not now, in the middle of telling others of this event.
            asyncio.get_running_loop().call_soon(self._gone)

    def finish(self, result: ResultReader) -> None:
        if self._lost:
            raise BrokenPipeError
        self._printer.finish(result)


class Trace:
    """The human trace on standard error."""

    def __init__(self, language: Literal["en", "es"]) -> None:
        self._trace = HumanTrace(language)

    def feed(self, event: Event) -> None:
        for line in self._trace.feed(event):
            _write(sys.stderr, plain(line) + "\n")


class EventPrinter:
    """Every logged event, one a line; streamed pieces as the log has them."""

    def __init__(self, trace: Trace | None) -> None:
        self._trace = trace

    def feed(self, event: Event) -> None:
        if event.seq:
            _write(sys.stdout, encode(event).decode() + "\n")
        if self._trace is not None:
            self._trace.feed(event)

    def finish(self, result: ResultReader) -> None:
        """Nothing more: the events were the result."""


class ResultPrinter:
    """One object at the end and nothing else."""

    def __init__(self, trace: Trace | None) -> None:
        self._trace = trace

    def feed(self, event: Event) -> None:
        if self._trace is not None:
            self._trace.feed(event)

    def finish(self, result: ResultReader) -> None:
        _write(sys.stdout, msgspec.json.encode(result.result()).decode() + "\n")


class TextPrinter:
    """The model's words: as they come, or only the final answer."""

    def __init__(self, trace: Trace | None, *, stream: bool) -> None:
        self._trace, self._stream = trace, stream
        self._open = False
        self._streamed = ""

    def feed(self, event: Event) -> None:
        match event:
            case ev.MessageUpdate(delta="text", seq=0) if self._stream:
                _write(sys.stdout, plain(event.text))
                self._streamed = (self._streamed + event.text)[-200_000:]
                self._open = True
            case ev.MessageEnd() if self._open:
                self._end_line()
            case _:
                if self._trace is not None and not isinstance(event, ev.MessageUpdate):
                    self._end_line()
        if self._trace is not None:
            self._trace.feed(event)

    def finish(self, result: ResultReader) -> None:
        final = str(result.result()["final_output"])
        if not self._streamed.rstrip().endswith(final.strip()) or not final.strip():
            _write(sys.stdout, plain(final).rstrip("\n") + "\n")

    def _end_line(self) -> None:
        if self._open:
            _write(sys.stdout, "" if self._streamed.endswith("\n") else "\n")
            self._open = False


def _write(stream: TextIO, text: str) -> None:
    """Write and flush; characters that the stream's encoding lacks are replaced."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "replace").decode(encoding))
    stream.flush()
