"""A session as a list of plain entries, for documents: what was said and done, in order, without anything live."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from tui_agent.core import events as ev
from tui_agent.core.events import AnyEvent
from tui_agent.core.messages import Image, Message
from tui_agent.core.tool import Diff, Display, Matches, Output, Plan

BODY_CHARS = 100_000
"""What is kept of one output; a document of many megabytes opens nowhere."""

Speaker = Literal["person", "agent", "tool", "system"]
Form = Literal["markdown", "text", "code", "diff"]

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_MARKS = {"ok": "✓", "error": "✗", "denied": "⊘", "interrupted": "⏸", "not_started": "⏸"}
_STATUS = {"success": "✓", "partial": "⏸", "failed": "✗", "running": "●"}


@dataclass(slots=True)
class Body:
    """A text below an entry's line; ``label`` is what a folded one says. Foreign text is made visible here."""

    form: Form
    text: str
    label: str = ""
    folded: bool = False
    language: str = ""

    def __post_init__(self) -> None:
        self.text, self.label = visible(self.text), visible(self.label.replace("\n", " "))


@dataclass(slots=True)
class Entry:
    """One line of a document with what belongs to it: mark, what it was about, and (dim) how it went."""

    speaker: Speaker
    seq: int
    ts: float
    mark: str = ""
    title: str = ""
    meta: str = ""
    bodies: list[Body] = field(default_factory=list[Body])
    images: list[Image] = field(default_factory=list[Image])

    def __post_init__(self) -> None:
        self.title, self.meta = visible(self.title), visible(self.meta)


@dataclass(slots=True)
class Transcript:
    """A whole session; ``facts`` are (name, value) pairs for the head of the document."""

    title: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    entries: list[Entry] = field(default_factory=list[Entry])


def transcript(events: Iterable[AnyEvent]) -> Transcript:
    """Fold a session's events; unknown ones are left out."""
    gather = _Gather()
    for event in events:
        gather.entries.extend(gather.apply(event))
    for start in gather.open.values():
        gather.entries.append(_tool_entry(start, "⏸", "no end was recorded"))
    return gather.finished()


def visible(text: str) -> str:
    """Text whose control and direction characters are shown, as no document should hide or reorder what was said."""
    return _UNSAFE.sub(lambda match: _shown(match[0]), text.replace("\r\n", "\n"))


def seconds(value: float) -> str:
    """``0.4 s``, ``14 s``, ``2 m 03 s``."""
    if value < 9.95:
        return f"{max(value, 0.0):.1f} s"
    whole = round(value)
    return f"{whole} s" if whole < 60 else f"{whole // 60} m {whole % 60:02d} s"


def dollars(usd: float | None) -> str:
    """``$0.04``, ``$0.0042``; ``$?`` for an unknown price."""
    if usd is None:
        return "$?"
    return f"${usd:.2f}" if usd >= 0.01 or not usd else f"${usd:.2g}"


def _shown(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class _Gather:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.open: dict[str, ev.ToolExecutionStart] = {}
        self._hooks: dict[str, list[ev.HookEnd]] = {}
        self._start: ev.SessionStart | None = None
        self._title = ""
        self._asked = ""
        self._cost = 0.0
        self._unpriced = False
        self._steps = 0
        self._model = ""

    def finished(self) -> Transcript:
        """The document's head, once all is known."""
        start = self._start
        title = self._title or (start.title if start else "") or _line(self._asked) or "session"
        facts: list[tuple[str, str]] = []
        if start:
            facts = [
                ("session", start.id),
                ("folder", start.cwd),
                ("branch", start.branch),
                ("started", _when(start.ts)),
            ]
            if start.parent:
                facts.append(("forked from", f"{start.parent}, event {start.parent_seq}"))
            if start.untrusted:
                facts.append(("trust", "UNTRUSTED: started by content from outside"))
        cost = dollars(None if self._unpriced and not self._cost else self._cost) + (
            " + $?" if self._unpriced and self._cost else ""
        )
        facts += [("model", self._model), ("steps", str(self._steps)), ("cost", cost)]
        return Transcript(
            visible(title), [(name, visible(value)) for name, value in facts if value], self.entries
        )

    def apply(self, event: AnyEvent) -> Iterator[Entry]:
        match event:
            case ev.SessionStart():
                self._start, self._model = event, event.model
            case ev.SessionRenamed():
                self._title = event.title
            case ev.MessageEnd(purpose="turn" | "close"):
                yield from self._message(event.message, event)
                if event.failure:
                    bodies = [Body("text", event.failure.hint)] if event.failure.hint else []
                    yield _entry("system", event, "✗", event.failure.text, event.failure.kind, bodies)
            case ev.SteeringDelivered() | ev.FollowUpDelivered():
                for message in event.messages:
                    yield from self._message(message, event)
            case ev.AgentStart():
                self._model = event.model
            case ev.TurnStart():
                self._steps += 1
            case ev.Usage():
                self._cost += event.cost_usd or 0.0
                self._unpriced = self._unpriced or event.cost_usd is None
            case ev.ToolExecutionStart():
                self.open[event.call.id] = event
            case ev.HookEnd():
                self._hooks.setdefault(event.call_id, []).append(event)
            case ev.ToolExecutionEnd():
                yield self._tool(event)
            case ev.AgentEnd():
                for start in self.open.values():
                    yield _tool_entry(start, "⏸", "no end was recorded")
                self.open.clear()
                yield _ending(event)
            case _:
                yield from _remark(event)

    def _message(self, message: Message, event: AnyEvent) -> Iterator[Entry]:
        bodies: list[Body] = []
        if message.reasoning.strip():
            words = len(message.reasoning.split())
            bodies.append(
                Body("text", _capped(message.reasoning), f"reasoning, {words:,} words", folded=True)
            )
        if message.text.strip():
            bodies.append(Body("markdown" if message.role == "assistant" else "text", _capped(message.text)))
        images = [part for part in message.parts if isinstance(part, Image)]
        if not bodies and not images:
            return
        if message.role == "user" and not message.synthetic:
            self._asked = self._asked or message.text
            title = {"steering": "steered", "follow_up": "followed up"}.get(message.origin, "")
            yield _entry("person", event, "▌", title, "", bodies, images)
        elif message.role == "assistant":
            yield _entry("agent", event, "", "", "interrupted" if message.interrupted else "", bodies, images)
        elif message.role == "user":
            bodies[-1].folded, bodies[-1].label = True, "what the program told the model"
            yield _entry("system", event, "◆", "", "", bodies, images)

    def _tool(self, event: ev.ToolExecutionEnd) -> Entry:
        start = self.open.pop(event.call_id, None)
        outcome = event.summary or {"ok": "done", "not_started": "not started"}.get(
            event.status, event.status
        )
        meta = f"{outcome} · {seconds(event.duration)}{' · UNTRUSTED' if event.untrusted else ''}"
        title = f"{event.name}  {start.summary}" if start else event.name
        bodies = [_display(event.display)] if event.display and event.status == "ok" else []
        if not bodies and event.text.strip():
            bodies = [Body("code", _capped(event.text), "answer", folded=event.status == "ok")]
        for hook in self._hooks.pop(event.call_id, []):
            mark = "✓" if hook.status == "ok" else "⚠"
            label = f"{mark} hook {hook.name}: {hook.status}{', rewrote the file' if hook.rewrote else ''}"
            bodies.append(Body("code", _capped(hook.output), f"{label} · {seconds(hook.duration)}"))
        return Entry("tool", event.seq, event.ts, _MARKS[event.status], title, meta, bodies)


def _entry(
    speaker: Speaker,
    event: AnyEvent,
    mark: str,
    title: str,
    meta: str = "",
    bodies: list[Body] | None = None,
    images: list[Image] | None = None,
) -> Entry:
    return Entry(speaker, event.seq, event.ts, mark, title, meta, bodies or [], images or [])


def _tool_entry(start: ev.ToolExecutionStart, mark: str, meta: str) -> Entry:
    bodies = [_display(start.preview)] if start.preview else []
    return _entry("tool", start, mark, f"{start.call.name}  {start.summary}", meta, bodies)


def _ending(event: ev.AgentEnd) -> Entry:
    reason = event.stop_reason.replace("_", " ")
    meta = f"{event.steps} steps · {event.tool_calls} calls · {seconds(event.duration)} · {dollars(event.cost_usd)}"
    lines = [event.failure.text, event.failure.hint] if event.failure else []
    if event.files_changed:
        lines.append("changed " + ", ".join(event.files_changed))
    bodies = [Body("text", "\n".join(line for line in lines if line))] if any(lines) else []
    return _entry("system", event, _STATUS[event.status], f"{event.status} · {reason}", meta, bodies)


def _display(display: Display) -> Body:
    match display:
        case Diff():
            return Body(
                "diff", _capped(display.hunks), f"{display.path}  +{display.added} −{display.removed}"
            )
        case Output():
            return Body(
                "code",
                _capped(display.text),
                "output",
                folded=display.text.count("\n") > 30,
                language=display.language,
            )
        case Matches():
            rows = "\n".join(f"{path}:{line}: {text}" if line else path for path, line, text in display.rows)
            return Body("code", _capped(rows), "matches", folded=True)
        case Plan():
            marks = {"done": "✓", "active": "●"}
            return Body(
                "text",
                _capped("\n".join(f"{marks.get(state, '○')} {text}" for state, text in display.items)),
                "plan",
            )


def _remark(event: AnyEvent) -> Iterator[Entry]:
    """What the program itself had to say, one line each."""
    match event:
        case ev.Notice():
            bodies = [Body("text", event.hint)] if event.hint else []
            yield _entry("system", event, "◆", event.text, event.level, bodies)
        case ev.Compaction() if event.method != "none":
            bodies = (
                [Body("text", _capped(event.summary.text), "summary", folded=True)] if event.summary else []
            )
            change = f"context: {event.before_messages} → {event.after_messages} messages"
            yield _entry(
                "system",
                event,
                "◆",
                change,
                f"{event.before_tokens:,} → {event.after_tokens:,} tokens",
                bodies,
            )
        case ev.Retry():
            yield _entry(
                "system",
                event,
                "◆",
                f"trying again: {event.failure.text}",
                f"attempt {event.attempt} of {event.limit}",
            )
        case ev.Fallback():
            yield _entry(
                "system", event, "◆", f"going on with {event.target} instead of {event.source}", event.why
            )
        case ev.ModelChanged():
            yield _entry("system", event, "◆", f"model: {event.model}", event.why)
        case ev.ModeChanged():
            change = ", ".join(str(value) for value in (event.mode, event.confirm) if value)
            yield _entry("system", event, "◆", f"mode: {change}")
        case _:
            yield from _remark_on_work(event)


def _remark_on_work(event: AnyEvent) -> Iterator[Entry]:
    """What was decided, asked, or noticed about the work, one line each."""
    match event:
        case ev.ApprovalResolved() if event.decision == "deny":
            yield _entry(
                "system",
                event,
                "⊘",
                "denied",
                event.by,
                [Body("text", event.note)] if event.note else [],
            )
        case ev.QuestionAsked():
            options = "\n".join(f"- {option}" for option in event.options)
            yield _entry("agent", event, "◌", event.question, "", [Body("text", options)] if options else [])
        case ev.QuestionAnswered():
            yield _entry("person", event, "▌", "answered", "", [Body("text", event.text or "(no answer)")])
        case ev.Closing():
            yield _entry("system", event, "◆", f"closing: {event.reason.replace('_', ' ')}")
        case ev.LimitExtended():
            yield _entry("system", event, "◆", f"{event.limit}: {event.choice} {event.value:g}", event.why)
        case ev.Stall():
            yield _entry(
                "system",
                event,
                "◆",
                f"looping? {event.what}",
                f"{event.kind.replace('_', ' ')} × {event.count}",
            )
        case ev.Rewind():
            yield _entry(
                "system",
                event,
                "◆",
                f"went back to event {event.to_seq}",
                "and the files" if event.files else "",
            )
        case ev.Evaluation():
            text = (
                event.error
                or f"review: {'passed' if event.passed else 'not passed'}, {event.confidence:.0%} sure"
            )
            issues = [Body("text", "\n".join(event.issues))] if event.issues else []
            yield _entry("system", event, "◆", text, event.suggestion, issues)
        case _:
            pass


def _capped(text: str) -> str:
    if len(text) > BODY_CHARS:
        text = f"{text[: BODY_CHARS // 2]}\n… {len(text) - BODY_CHARS:,} characters left out …\n{text[-BODY_CHARS // 2 :]}"
    return text.strip("\n")


def _line(text: str) -> str:
    line = " ".join(text.strip().split("\n", 1)[0].split())
    return line if len(line) <= 80 else line[:79] + "…"


def _when(ts: float) -> str:
    return datetime.datetime.fromtimestamp(ts, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC") if ts else ""
