"""The API copy of the history: repaired, results capped, byte-stable from call to call.

Preparing is incremental: as long as the history only grows and is in order, a step costs what the step added, not what the
session holds. Anything irregular (an orphan, two user messages in a row) sends the whole history through ``repair``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui_agent.context.repair import Repairs, repair
from tui_agent.context.shrink import cap_results
from tui_agent.core.messages import Message, Reasoning, Text


class ApiCopy:
    """Keeps the prepared form of a history that it saw before."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._forget()

    def prepare(self, messages: list[Message], max_result_tokens: int) -> tuple[tuple[Message, ...], Repairs]:
        """The messages for the next request, and what had to be mended (nothing, as a rule)."""
        if not self._continues(messages, max_result_tokens):
            self._forget()
            self._source, self._cap = messages, max_result_tokens
        fresh = messages[self._taken :]
        if self._regular and all(self._fits(message) for message in fresh) and not self._open:
            self._ready.extend(cap_results(fresh, max_result_tokens, self._count))
            self._taken = len(messages)
            return tuple(self._ready), Repairs(0, 0, 0)
        self._regular = False
        self._taken = len(messages)
        repaired, repairs = repair(messages)
        return tuple(cap_results(repaired, max_result_tokens, self._count)), repairs

    def _forget(self) -> None:
        self._source: Sequence[Message] = ()
        self._cap = 0
        self._ready: list[Message] = []
        self._taken = 0
        self._regular = True
        self._role = ""
        self._open: list[str] = []
        self._ids: set[str] = set()

    def _continues(self, messages: list[Message], cap: int) -> bool:
        return messages is self._source and cap == self._cap and len(messages) >= self._taken

    def _fits(self, message: Message) -> bool:
        """True if ``message`` may follow what came before as it is; notes what it opens and answers."""
        last, self._role = self._role, message.role
        if message.interrupted or not _has_content(message):
            return False
        if message.role == "tool":
            answers_all = [result.call_id for result in message.results] == self._open
            self._open = []
            return answers_all
        if self._open or message.role == last or (not last and message.role != "user"):
            return False
        self._open = [call.id for call in message.calls]
        is_new = self._ids.isdisjoint(self._open) and len(set(self._open)) == len(self._open)
        self._ids.update(self._open)
        return is_new and not any(call.error for call in message.calls)


def _has_content(message: Message) -> bool:
    """True if no part would have to be dropped: no blank text, and not reasoning alone."""
    texts = [part for part in message.parts if isinstance(part, Text)]
    others = [part for part in message.parts if not isinstance(part, Text | Reasoning)]
    return all(part.text.strip() for part in texts) and bool(texts or others)
