"""Tool calls on the page, from the first piece of their arguments to the hooks after them."""

from __future__ import annotations

import re

import msgspec

from tui_agent.core.events import (
    AgentEnd,
    AgentStart,
    ApprovalRequested,
    ApprovalResolved,
    HookEnd,
    HookStart,
    MessageEnd,
    Rewind,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnStart,
)  # fmt: skip
from tui_agent.core.messages import Message
from tui_agent.core.tool import Diff, Display, Output, Plan
from tui_agent.ui.blocks import HookRow, ToolBlock
from tui_agent.ui.fold.page import Handlers, Page

PROBLEM = re.compile(r"^\S+?:\d+", re.MULTILINE)
"""A line of a linter's or compiler's output that names a place: ``path:line``."""
LIVE_CHARACTERS = 200_000
"""A running tool's output beyond this loses its head on the screen; the whole is in the session's folder."""


class FileChange(msgspec.Struct, frozen=True):
    """One change of one file. ``hunks`` is its diff, empty when the tool gave none."""

    seq: int
    path: str
    added: int = 0
    removed: int = 0
    hunks: str = ""


class Tools:
    """Folds calls and hooks, and counts what they changed."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.result_tokens = 2000
        """Size from which the model sees only a part of an answer (0: never), in tokens."""
        self.open: dict[str, ToolBlock] = {}
        """Calls without an answer by id, oldest first."""
        self.plan: Plan | None = None
        self.calls_in_run = 0
        self.ended_by_interrupt: list[str] = []
        self.changes: list[FileChange] = []
        self.run_changes = 0
        """How many of ``changes`` were made before this run."""
        self.hook_runs: list[HookRow] = []
        self._blocks: dict[str, ToolBlock] = {}
        self._approvals: dict[str, ToolBlock] = {}
        self._problems: dict[tuple[str, str], int] = {}
        self._live: set[str] = set()
        """Calls fed by transient pieces, so the log's own copies of them are skipped."""

    def handlers(self) -> Handlers:
        return {
            ToolExecutionStart: self.start,
            ToolExecutionUpdate: self.output,
            ToolExecutionEnd: self.end,
            HookStart: self.hook_start,
            HookEnd: self.hook_end,
            ApprovalRequested: self.asked,
            ApprovalResolved: self.resolved,
            MessageEnd: self.answered,
            TurnStart: self.settle_stale,
            AgentStart: self.run_starts,
            AgentEnd: self.settle,
            Rewind: self.rewound,
        }

    @property
    def running(self) -> list[ToolBlock]:
        """The calls that run now, oldest first."""
        return [block for block in self.open.values() if block.status == "running"]

    # ---- the model writes a call

    def building(self, message_id: str, call_id: str, name: str, text: str) -> None:
        """One more piece of a call's arguments."""
        block = self._of_message(message_id, call_id, name)
        block.name = block.name or name
        grown = block.arguments_text
        block.arguments_text = ""
        grown += text
        block.arguments_text = grown
        self.page.changed(block)

    def announced(self, message: Message) -> None:
        """The message is complete: its calls are final, and those that it does not hold after all are gone."""
        prefix = f"{message.id}/"
        wanted = {call.id for call in message.calls}
        strays = [
            key for key, block in self.open.items() if block.id.startswith(prefix) and key not in wanted
        ]
        for call in message.calls:
            if strays and call.id not in self._blocks:
                self._rename(strays.pop(0), call.id)
            block = self._of_message(message.id, call.id, call.name)
            block.call, block.name, block.seq = call, call.name, self.page.seq
            self.page.changed(block)
        for call_id in strays:
            self.page.remove(self.open.pop(call_id))
            del self._blocks[call_id]

    # ---- it runs

    def start(self, event: ToolExecutionStart) -> None:
        block = self._find(event.call.id, event.call.name)
        block.call, block.name = event.call, event.call.name
        block.summary, block.preview = event.summary, event.preview
        block.status, block.started, block.live, block.text = "running", event.ts, True, ""
        self.open[event.call.id] = block
        self.page.changed(block)

    def output(self, event: ToolExecutionUpdate) -> None:
        block = self.open.get(event.call_id)
        if event.seq == 0:
            self._live.add(event.call_id)
        elif event.call_id in self._live:
            return
        if block is None:
            return
        self.page.append(block, event.text)
        if len(block.text) > LIVE_CHARACTERS:
            block.text = block.text[-LIVE_CHARACTERS // 2 :]
            self.page.changed(block)

    def end(self, event: ToolExecutionEnd) -> None:
        block = self._find(event.call_id, event.name)
        self.open.pop(event.call_id, None)
        self._live.discard(event.call_id)
        block.status, block.outcome, block.duration = event.status, event.summary, event.duration
        block.display, block.full_output, block.untrusted = event.display, event.full_output, event.untrusted
        block.text = event.display.text if isinstance(event.display, Output) else event.text
        block.live, block.cut = False, self._cut(event)
        for row in block.hooks:
            row.status = "timeout" if row.status == "running" else row.status
        self.page.changed(block)
        self.calls_in_run += event.status != "not_started"
        if event.status == "interrupted":
            self.ended_by_interrupt.append(f"{block.name} {block.summary}".strip())
        if isinstance(event.display, Plan):
            self.plan = event.display
        self.changes.extend(_change(self.page.seq, path, event.display) for path in event.changed)

    def answered(self, event: MessageEnd) -> None:
        """A tool message answers calls that never ran (repaired histories, crashes)."""
        for result in event.message.results:
            block = self.open.pop(result.call_id, None)
            if block is not None:
                block.status, block.text = ("ok" if result.ok else "error"), result.text
                block.live = False
                self.page.changed(block)

    def asked(self, event: ApprovalRequested) -> None:
        """The call waits for a person; a plan that waits is no call."""
        if not event.call_id:
            return
        block = self._find(event.call_id, event.intent.tool)
        block.status, block.preview = "waiting", event.intent.preview
        self.open[event.call_id] = self._approvals[event.id] = block
        self.page.changed(block)

    def resolved(self, event: ApprovalResolved) -> None:
        block = self._approvals.pop(event.id, None)
        if block is not None and block.status == "waiting":
            block.status = "denied" if event.decision == "deny" else "building"
            self.page.changed(block)

    # ---- hooks

    def hook_start(self, event: HookStart) -> None:
        block = self._blocks.get(event.call_id)
        if block is not None:
            block.hooks.append(HookRow(event.name, event.path))
            self.page.changed(block)

    def hook_end(self, event: HookEnd) -> None:
        block = self._blocks.get(event.call_id)
        rows = block.hooks if block is not None else []
        key = (event.name, event.path, "running")
        row = next((row for row in rows if (row.name, row.path, row.status) == key), None)
        if row is None:
            row = HookRow(event.name, event.path)
            rows.append(row)
        row.status, row.output = event.status, event.output
        row.duration, row.rewrote, row.change = event.duration, event.rewrote, self._problem_change(event)
        self.hook_runs.append(row)
        if block is not None:
            self.page.changed(block)

    # ---- the run

    def run_starts(self, event: AgentStart) -> None:
        self.settle()
        self.result_tokens = event.settings.max_tool_result_tokens
        self.calls_in_run, self.run_changes = 0, len(self.changes)
        self.ended_by_interrupt = []

    def settle_stale(self, _event: TurnStart) -> None:
        """The next model call begins, so whatever is still open will never be answered."""
        self.settle()

    def settle(self, _event: object = None) -> None:
        """Calls that nothing will answer any more: outcome unknown."""
        for block in self.open.values():
            block.status = "interrupted" if block.status == "running" else "not_started"
            block.live = False
            self.page.changed(block)
        self.open.clear()
        self._approvals.clear()

    def rewound(self, event: Rewind) -> None:
        if event.files:
            self.changes = [change for change in self.changes if change.seq <= event.to_seq]
            self.run_changes = min(self.run_changes, len(self.changes))

    def totals(self, start: int = 0) -> dict[str, tuple[int, int]]:
        """Lines added and removed by file, from the change number ``start`` on, in the order of first change."""
        totals: dict[str, tuple[int, int]] = {}
        for change in self.changes[start:]:
            added, removed = totals.get(change.path, (0, 0))
            totals[change.path] = (added + change.added, removed + change.removed)
        return totals

    def _of_message(self, message_id: str, call_id: str, name: str) -> ToolBlock:
        """The block of a call of this message; the same id in an earlier message is another call."""
        block = self._blocks.get(call_id)
        if block is None or not block.id.startswith(f"{message_id}/"):
            block = self._new(message_id, call_id, name)
        return block

    def _rename(self, old: str, new: str) -> None:
        """The engine gives a call another id when the provider's was used before."""
        self._blocks[new] = self.open[new] = self.open.pop(old)
        del self._blocks[old]

    def _find(self, call_id: str, name: str) -> ToolBlock:
        return self._blocks.get(call_id) or self._new("", call_id, name)

    def _new(self, message_id: str, call_id: str, name: str) -> ToolBlock:
        block = self.page.add(ToolBlock(f"{message_id}/{call_id}", name=name, live=True))
        self._blocks[call_id] = self.open[call_id] = block
        return block

    def _cut(self, event: ToolExecutionEnd) -> str:
        """What the model sees of a long answer (level 1 of the context: first 40 and last 20 lines)."""
        if not 0 < self.result_tokens < event.tokens:
            return ""
        lines = event.text.count("\n") + 1
        if lines > 60:
            return f"first 40, last 20 of {lines:,} lines"
        return f"about {self.result_tokens:,} of {event.tokens:,} tokens"

    def _problem_change(self, event: HookEnd) -> str:
        if event.status not in {"ok", "failed"}:
            return ""
        key = (event.name, event.path)
        now = 0 if event.status == "ok" else max(len(PROBLEM.findall(event.output)), 1)
        before = self._problems.get(key)
        self._problems[key] = now
        if before is None or before == now:
            return ""
        return f"+{now - before}" if now > before else f"−{before - now}"


def _change(seq: int, path: str, display: Display | None) -> FileChange:
    if isinstance(display, Diff) and display.path == path:
        return FileChange(seq, path, display.added, display.removed, display.hunks)
    return FileChange(seq, path)
