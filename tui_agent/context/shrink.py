"""The three levels that keep a history inside the model's window: results cut, old steps summarised, a window.

All of it is pure and deterministic, so a provider's prompt cache sees the same bytes at every call. Sizes are tokens
unless they say characters; counting is passed in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec

from tui_agent.context.prompts import SUMMARY_PROMPT, tagged
from tui_agent.context.repair import repair
from tui_agent.core.messages import Call, Image, Message, Result, Text, exchanges, user

CountText = Callable[[str], int]
CountMessage = Callable[[Message], int]
Truncations = dict[tuple[int, str], tuple[str, str]]
"""What ``truncate`` gave, by limit and whole text; kept by the caller as long as it likes."""

HEAD_LINES, TAIL_LINES = 40, 20
"""How much of a long result the model sees."""

SMALLEST_RESULT = 24
"""Below this many tokens a result says nothing any more."""

LAST_REQUEST = "The person's last request before this point, word for word:"
"""Heads the part of a summary that later summaries carry on unchanged."""

_KEPT_PEOPLE = ("person", "follow_up")


# ---- level 1: single results


def truncate(text: str, max_tokens: int, count: CountText) -> tuple[str, str]:
    """The text as the model sees it, at most about ``max_tokens`` (0 = off), and what was kept ("" = all of it).

    The first 40 and last 20 lines stay, fewer where they are long; text of few long lines is cut by characters.
    """
    if max_tokens <= 0 or _surely_fits(text, max_tokens):
        return text, ""
    huge = len(text) > 64 * max_tokens
    total = len(text) // 4 if huge else count(text)
    if total <= max_tokens:
        return text, ""
    lines = text.split("\n")
    for share in (1.0, 0.7, 0.5, 0.35):
        head, tail = int(HEAD_LINES * share), int(TAIL_LINES * share)
        if len(lines) <= HEAD_LINES + TAIL_LINES:
            break
        marker = f"[… {len(lines) - head - tail} lines omitted …]"
        cut = "\n".join([*lines[:head], marker, *lines[-tail:]])
        if _surely_fits(cut, max_tokens) or count(cut) <= max_tokens:
            return cut, f"first {head}, last {tail} of {len(lines):,} lines"
    return _truncate_characters(text, max_tokens, total, count)


def _truncate_characters(text: str, max_tokens: int, total: int, count: CountText) -> tuple[str, str]:
    """Two thirds of what fits from the beginning, one third from the end."""
    keep = min(len(text) - 1, int(len(text) * max(0, max_tokens - 12) / total))
    for _ in range(12):
        head, tail = keep - keep // 3, keep // 3
        cut = f"{text[:head]}\n[… {len(text) - keep:,} characters omitted …]\n{text[len(text) - tail :]}"
        size = count(cut)
        if size <= max_tokens:
            return cut, f"first {head:,}, last {tail:,} of {len(text):,} characters"
        keep = int(keep * min(0.9, max_tokens / size))
        if not keep:
            break
    return f"[… {len(text):,} characters omitted …]", f"none of {len(text):,} characters"


def _surely_fits(text: str, max_tokens: int) -> bool:
    """True without counting, as no tokenizer makes more tokens than bytes."""
    size = len(text)
    return size <= max_tokens and (text.isascii() or len(text.encode("utf-8", "replace")) <= max_tokens)


def cap_results(
    messages: Sequence[Message], max_tokens: int, count: CountText, cache: Truncations | None = None
) -> list[Message]:
    """The history with every tool result truncated; what needs no cut stays the same object.

    With a ``cache`` a result is counted once only, not at every call. A capped message has ``tokens`` 0.
    """
    if max_tokens <= 0:
        return list(messages)
    known = {} if cache is None else cache
    capped: list[Message] = []
    for message in messages:
        if message.role == "tool" and not all(
            _surely_fits(each.text, max_tokens) for each in message.results
        ):
            message = _cap(message, max_tokens, count, known)
        capped.append(message)
    return capped


def _cap(message: Message, max_tokens: int, count: CountText, known: Truncations) -> Message:
    parts = list(message.parts)
    changed = False
    for at, part in enumerate(parts):
        if not isinstance(part, Result):
            continue
        key = max_tokens, part.text
        if key not in known:
            known[key] = truncate(part.text, max_tokens, count)
        text, note = known[key]
        if note:
            parts[at] = msgspec.structs.replace(part, text=text)
            changed = True
    return msgspec.structs.replace(message, parts=tuple(parts), tokens=0) if changed else message


# ---- level 2: a summary of old exchanges


class Cut(msgspec.Struct, frozen=True):
    """What a compaction replaces: the ``old`` messages, up to the one with id ``kept_from``.

    ``first`` is the first user message, which stays in front and is no part of ``old``; a summary of an earlier
    compaction is one.
    """

    old: tuple[Message, ...]
    kept_from: str
    first: Message | None = None

    @property
    def request(self) -> str:
        """The last thing the person asked for among the old messages: its words must outlive every cut."""
        for message in reversed(self.old):
            if _is_request(message):
                return message.text
            if message.synthetic and LAST_REQUEST in message.text:
                return message.text.partition(LAST_REQUEST)[2].strip()
        return ""


def plan_cut(messages: Sequence[Message], keep_recent: int) -> Cut | None:
    """Where to cut so that the last ``keep_recent`` (at least 1) exchanges stay whole; None if nothing would be gained.

    A prompt that waits for its reply is kept besides.
    """
    groups = list(exchanges(list(messages)))
    pending = 1 if groups and all(message.role == "user" for message in groups[-1]) else 0
    keep = max(1, keep_recent) + pending
    if len(groups) <= keep:
        return None
    old = [message for group in groups[:-keep] for message in group]
    first = next((message for message in old if message.role == "user"), None)
    old = [message for message in old if message is not first]
    if all(message.role == "user" and message.synthetic for message in old):
        return None
    return Cut(old=tuple(old), kept_from=groups[-keep][0].id, first=first)


def summary_request(cut: Cut, keep: str = "", *, max_chars: int = 200_000) -> list[Message]:
    """The request for a summary of a cut: one message, the old ones in it as text, so that no tool schema is needed.

    ``keep`` is what the person asked to keep. The transcript takes at most ``max_chars`` characters; of longer ones
    every message is shortened alike.
    """
    shown = [*([cut.first] if cut.first else []), *cut.old]
    transcript = tagged("transcript", _render(shown, max_chars))
    wish = f"The person asked to keep above all: {keep.strip()}\n\n" if keep.strip() else ""
    text = f"{SUMMARY_PROMPT}\n\n{wish}{transcript}\n"
    return [user("summary-request", text, origin="system", synthetic=True)]


def summary_message(message_id: str, text: str, cut: Cut) -> Message:
    """The message that stands for the old ones: the summary, and the person's last request word for word.

    It is a user message: next to the assistant's it would be merged with a reply that may carry signed reasoning.
    """
    words = f"\n\n{LAST_REQUEST}\n{_middle(cut.request, 8000)}" if cut.request else ""
    return user(
        message_id,
        f"[SYSTEM] Summary of earlier steps\n\n{text.strip()}{words}",
        origin="system",
        synthetic=True,
    )


def mechanical_summary(cut: Cut) -> str:
    """A summary without a model: what was asked, which tools ran on which files, and the last words."""
    tools: dict[str, int] = {}
    files: dict[str, None] = {}
    commands: dict[str, None] = {}
    failed = 0
    for message in cut.old:
        failed += sum(not result.ok for result in message.results)
        for call in message.calls:
            tools[call.name] = tools.get(call.name, 0) + 1
            for key, value in call.arguments.items():
                if isinstance(value, str) and value:
                    if key in ("path", "file", "file_path"):
                        files[_line(value, 200)] = None
                    elif key == "command":
                        commands[_line(value, 200)] = None
    earlier = [m.text for m in cut.old if m.role == "user" and m.synthetic and m.origin == "system"]
    asked = [m.text for m in cut.old if m.role == "user" and not m.synthetic and m.text.strip()]
    said = [m.text for m in cut.old if m.role == "assistant" and m.text.strip()]
    parts = [
        *(_middle(text.partition(LAST_REQUEST)[0].strip(), 4000) for text in earlier[-1:]),
        _listed("The person asked", [_line(text, 500) for text in asked[-10:]]),
        _listed("Tools used", [f"{name} × {number}" for name, number in tools.items()]),
        f"{failed} of these calls failed." if failed else "",
        _listed("Files", list(files)[-60:]),
        _listed("Commands", list(commands)[-20:]),
        _listed("Last replies", [_middle(text, 1500) for text in said[-3:]]),
    ]
    return "\n\n".join(part for part in parts if part)


def _is_request(message: Message) -> bool:
    return message.role == "user" and message.origin in _KEPT_PEOPLE and not message.synthetic


def _listed(title: str, items: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {item}" for item in items)]) if items else ""


def _line(text: str, most: int) -> str:
    return _middle(" ".join(text.split()), most)


def _middle(text: str, most: int) -> str:
    """At most about ``most`` characters: two thirds from the beginning, one third from the end."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail]} […] {text[len(text) - tail :]}"


def _render(messages: Sequence[Message], max_chars: int) -> str:
    """The messages as text for a reader; limits a message are halved until all of it fits."""
    whole = [_entries(message) for message in messages]
    limit = 16_000
    while True:
        lines = [f"{label}{_middle(text, limit)}" for entries in whole for label, text in entries]
        if limit <= 60 or sum(map(len, lines)) + len(lines) <= max_chars:
            break
        limit //= 2
    return _middle("\n".join(lines), max_chars)


def _entries(message: Message) -> list[tuple[str, str]]:
    """What one message says as (label, text)."""
    entries: list[tuple[str, str]] = []
    who = message.role if message.origin not in ("steering", "hook", "sub_agent") else message.origin
    for part in message.parts:
        if isinstance(part, Text):
            entries.append((f"[{who}] ", part.text))
        elif isinstance(part, Call):
            entries.append((f"[call] {part.name} ", part.raw or _arguments(part)))
        elif isinstance(part, Result):
            entries.append((f"[result of {part.name}, {'ok' if part.ok else 'failed'}] ", part.text))
        elif isinstance(part, Image):
            entries.append((f"[{who}] ", "(an image)"))
    return entries


def _arguments(call: Call) -> str:
    return json.dumps(call.arguments, ensure_ascii=False, default=str)


# ---- level 3: a window over the newest exchanges


class Window(msgspec.Struct, frozen=True):
    """A history cut to a budget: how many messages went, its size, and False in ``fits`` if even the smallest legal
    form is larger than the budget."""

    messages: list[Message]
    dropped: int
    tokens: int
    fits: bool


def fit(messages: Sequence[Message], budget_tokens: int, count_message: CountMessage) -> list[Message]:
    """The history cut to a budget, or its smallest legal form; ``window`` tells which."""
    return window(messages, budget_tokens, count_message).messages


def window(messages: Sequence[Message], budget_tokens: int, count_message: CountMessage) -> Window:
    """Drop whole exchanges, oldest first, until the history fits.

    The first user message, the person's last request and the last exchange stay. If they alone are too large, the
    results in the last exchange are truncated, to half as much each round, and at last their images go. What then
    still doesn't fit is returned all the same, with ``fits`` False.
    """
    sizes = [count_message(message) for message in messages]
    total = sum(sizes)
    if total <= budget_tokens:
        return Window(list(messages), 0, total, fits=True)
    groups = list(exchanges(list(messages)))
    first = next((m for m in messages if m.role == "user"), None)
    request = next((m for m in reversed(messages) if _is_request(m)), None)
    pinned: list[Message] = []
    at = 0
    smallest = Window(list(messages), 0, total, fits=False)
    for number, group in enumerate(groups[:-1], start=1):
        for message in group:
            if message is first or message is request:
                pinned.append(message)
            else:
                total -= sizes[at]
            at += 1
        if total <= budget_tokens or number == len(groups) - 1:
            rest = [message for later in groups[number:] for message in later]
            legal, _ = repair([*pinned, *rest])
            dropped = len(messages) - len(pinned) - len(rest)
            smallest = _measured(legal, dropped, budget_tokens, count_message)
            if smallest.fits:
                return smallest
    return _squeeze(smallest, budget_tokens, count_message)


def _measured(messages: list[Message], dropped: int, budget: int, count_message: CountMessage) -> Window:
    size = sum(map(count_message, messages))
    return Window(messages, dropped, size, fits=size <= budget)


def _squeeze(large: Window, budget: int, count_message: CountMessage) -> Window:
    """The same messages with smaller and smaller results, and at last without the results' images."""

    def count(text: str) -> int:
        return count_message(user("", text))

    texts = [result.text for message in large.messages for result in message.results]
    limit = max(map(count, texts), default=0) // 2
    smallest = large
    while limit >= SMALLEST_RESULT:
        smallest = _measured(cap_results(large.messages, limit, count), large.dropped, budget, count_message)
        if smallest.fits:
            return smallest
        limit //= 2
    blind = [_without_images(message) for message in smallest.messages]
    return _measured(blind, large.dropped, budget, count_message)


def _without_images(message: Message) -> Message:
    if not any(result.images for result in message.results):
        return message
    parts = tuple(
        msgspec.structs.replace(part, text=f"{part.text}\n[image omitted]", images=())
        if isinstance(part, Result) and part.images
        else part
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts, tokens=0)
