"""The page that a human trace is written on: sentences, empty lines, and calls that run at once kept apart."""

from __future__ import annotations

import re

from tui_agent.readers.trace_words import WORDS, Language

_JOINER = "\u200d"
"""Joins emoji; the one invisible character that does no harm."""


def clean(text: str, most: int = 200) -> str:
    """Foreign text on one line: line ends and control characters made visible, cut to ``most`` characters."""
    line = " ↵ ".join(text.strip().splitlines())
    shown = "".join(
        char if char.isprintable() or char == _JOINER else ascii(char)[1:-1] for char in line[:most]
    )
    return shown if len(line) <= most else f"{shown}…"


class _OpenCall:
    """A call between its start and its end; what it has to say waits while another call is being written."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.hooks: list[str] = []
        self.outcome: str | None = None


class Page:
    """Collects the lines of one event after the other, and counts what the sentences need."""

    def __init__(self, language: Language) -> None:
        self.words = WORDS[language]
        self.messages = 0
        """Messages in the model's history."""
        self.system = 0
        """1 if a system prompt goes with them."""
        self.asked: dict[str, str] = {}
        """What calls of the last answer are about, by id: calls that never start have no summary of their own."""
        self.steps = 0
        """Model calls of this run."""
        self.unasked = 0
        """Calls of this run that a person would have had to approve, with nobody there."""
        self.step_timeout = 0.0
        self._spanish = language == "es"
        self._lines: list[str] = []
        self._last = ""
        self._gap = False
        self._calls: dict[str, _OpenCall] = {}
        self._current: str | None = None

    def take(self) -> list[str]:
        """The lines since the last time."""
        lines, self._lines = self._lines, []
        return lines

    def say(self, key: str, *, gap: bool = False, **values: object) -> None:
        """One sentence; ``gap`` puts an empty line before it. Text among the values may be foreign."""
        foreign = {name: clean(value) if isinstance(value, str) else value for name, value in values.items()}
        self.put(self.words[key].format(**foreign), gap=gap)

    def put(self, line: str, *, gap: bool = False) -> None:
        """One line as it is."""
        line = line.rstrip()
        if (gap or self._gap) and self._last:
            self._lines.append("")
        self._gap = False
        self._lines.append(line)
        self._last = line

    def leave_gap(self) -> None:
        """Whatever comes next has an empty line before it."""
        self._gap = True

    def number(self, one: str, many: str, n: int) -> str:
        """A number with its noun."""
        return self.words[one if n == 1 else many].format(n=n)

    # ---- calls

    def open_call(self, call_id: str, name: str, summary: str) -> None:
        """A call starts; its line appears now, or when the call before it has ended."""
        self._calls[call_id] = _OpenCall(self._call_line(name, summary))
        if self._current is None:
            self._current = call_id
            self.put(self._calls[call_id].line)

    def is_open(self, call_id: str) -> bool:
        return call_id in self._calls

    def hook_lines(self, call_id: str, lines: list[str]) -> None:
        """What a hook said; it stands below the call's outcome, which comes later."""
        call = self._calls.get(call_id)
        if call is not None:
            call.hooks += lines
        else:
            for line in lines:
                self.put(line)

    def settle(self, call_id: str, outcome: str) -> None:
        """A call has ended: write what is complete by now, then begin the next one that still runs."""
        self._calls[call_id].outcome = outcome
        if call_id != self._current:
            return
        self._finish(self._calls.pop(call_id))
        self._current = None
        for held_id, held in list(self._calls.items()):
            if held.outcome is not None:
                del self._calls[held_id]
                self.put(held.line)
                self._finish(held)
        for held_id, held in self._calls.items():
            self._current = held_id
            self.put(held.line)
            break

    def settle_all(self, outcome: str) -> None:
        """Whatever still runs ends with the run."""
        for call_id, call in list(self._calls.items()):
            if call.outcome is None and call_id in self._calls:
                self.settle(call_id, outcome)

    def _finish(self, call: _OpenCall) -> None:
        self.put(call.outcome or "")
        for line in call.hooks:
            self.put(line)

    def _call_line(self, name: str, summary: str) -> str:
        values = {"tool": clean(name, 80), "summary": self._summary(clean(summary)) or "…"}
        if name.startswith("mcp__"):
            server = clean(name.split("__")[1], 40)
            return self.words["mcp_call"].format(**values, server=server)
        return self.words["call" if summary else "bare_call"].format(**values)

    def _summary(self, text: str) -> str:
        """The argument summary in the specified spelling: a plain minus, and Spanish where that is the language."""
        text = re.sub(r"\(\+(\d+) −(\d+)\)$", r"(+\1 -\2)", text)
        if self._spanish:
            text = re.sub(r"\(1 line\)$", "(1 línea)", text)
            text = re.sub(r"\((\d+(?:→[\d…]+)?) lines\)$", r"(\1 líneas)", text)
            text = re.sub(r'^(".*") in ', r"\1 en ", text)
        return text
