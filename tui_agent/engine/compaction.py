"""Making room in the model's window: a summary of old exchanges, or leaving the oldest ones out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.context import prompts, shrink
from tui_agent.core import events as ev
from tui_agent.core.errors import ModelError
from tui_agent.core.messages import Message
from tui_agent.engine.model_call import ask_model

if TYPE_CHECKING:
    from tui_agent.engine.agent import Agent

SUMMARY_TOKENS = 2000
"""Most a summary may take."""


async def summarise(agent: Agent, *, keep: str = "", why: str = "") -> None:
    """Replace old exchanges by a summary: the model's, or a mechanical one if it fails or can't be paid."""
    state, kit = agent.state, agent.kit
    keep_recent = kit.config.context.keep_recent
    cut = shrink.plan_cut(state.messages, keep_recent)
    if cut is None:
        nothing_gained(agent, why or "there is nothing old enough to summarise")
        return
    began, before = kit.world.now(), state.context_used
    method, text = "model", ""
    left, cost = state.budget_left, state.price(SUMMARY_TOKENS)
    try:
        if left is not None and cost is not None and cost > left:
            method = "mechanical"
        else:
            request = shrink.summary_request(cut, keep)
            reply = await ask_model(
                agent, "summary", prompts.SUMMARY_SYSTEM, request, max_output=SUMMARY_TOKENS
            )
            text = Message(id="", role="assistant", parts=reply.parts).text
    except ModelError as error:
        agent.log_error("summary", error)
    if not text.strip():
        method, text = "mechanical", shrink.mechanical_summary(cut)
    summary = agent.counted(shrink.summary_message(kit.world.new_id(), text, cut))
    at = next(i for i, message in enumerate(state.messages) if message.id == cut.kept_from)
    kept = state.messages[at:]
    first = [cut.first] if cut.first is not None and cut.first not in kept else []
    _emit(
        agent,
        "model" if method == "model" else "mechanical",
        [*first, summary, *kept],
        before,
        began,
        summary,
        why,
    )


def drop_oldest(agent: Agent, *, why: str = "") -> None:
    """Leave out the oldest whole exchanges until the request is well below the window; the first user message stays."""
    state, kit = agent.state, agent.kit
    began, before, settings = kit.world.now(), state.context_used, kit.config.context
    window = state.window or before
    budget = int(min(window, before) * settings.compact_at / state.factor) - state.fixed_tokens
    smaller = shrink.window(state.messages, max(1, budget), kit.count_message)
    if [message.id for message in smaller.messages] == [message.id for message in state.messages] and (
        smaller.tokens >= state.counted
    ):
        nothing_gained(agent, why or "the last exchange alone fills the window")
        return
    messages = [message if message.tokens else agent.counted(message) for message in smaller.messages]
    _emit(agent, "window", messages, before, began, None, why)


def nothing_gained(agent: Agent, why: str) -> None:
    """Say that there was nothing to cut; the loop stops trying after a few of these."""
    state, size = agent.state, agent.state.context_used
    agent.emit(
        ev.Compaction(
            method="none", before_messages=len(state.messages), after_messages=len(state.messages),
            before_tokens=size, after_tokens=size, why=why,
        )
    )  # fmt: skip


def _emit(
    agent: Agent,
    method: str,
    messages: list[Message],
    before: int,
    began: float,
    summary: Message | None,
    why: str,
) -> None:
    state = agent.state
    known = {message.id: message for message in state.messages}
    changed = tuple(m for m in messages if m is not summary and known.get(m.id) is not m)
    after = int(state.factor * (state.fixed_tokens + sum(message.tokens for message in messages)))
    agent.emit(
        ev.Compaction(
            method=method,  # pyright: ignore[reportArgumentType]
            before_messages=len(state.messages), after_messages=len(messages), before_tokens=before,
            after_tokens=after, summary=summary, changed=changed, history=tuple(message.id for message in messages),
            why=why, duration=round(agent.kit.world.now() - began, 3),
        )
    )  # fmt: skip
    agent.measure()
