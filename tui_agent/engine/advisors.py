"""Mixture of Agents: other models draft answers in parallel, the acting model reads them.

The drafts go into the API copy of the next request only, never into the history; an advisor that fails becomes a note.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from tui_agent.context import prompts
from tui_agent.core import events as ev
from tui_agent.core.errors import AgentError, ModelError
from tui_agent.core.messages import Message, Text
from tui_agent.engine.model_call import ask_model

if TYPE_CHECKING:
    from tui_agent.engine.agent import Agent

MOST = 8
"""Advisors at once."""
DRAFT_TOKENS = 1000
"""Most a draft may take."""
DRAFT_CHARS = 6000


async def consult(agent: Agent) -> None:
    """Ask the advisors when a person has just said something; their drafts are kept for the next request."""
    models, state = agent.kit.config.moa[:MOST], agent.state
    agent.drafts.clear()
    tail = state.tail
    if not models or tail is None or tail.role != "user" or tail.synthetic:
        return
    messages = agent.api_messages()
    await asyncio.gather(*(_draft(agent, model, messages) for model in models))


async def _draft(agent: Agent, model: str, messages: list[Message]) -> None:
    began, run = agent.kit.world.now(), agent.state.run
    text = error = ""
    try:
        reply = await ask_model(
            agent, "moa", prompts.ADVISOR_SYSTEM, messages, model=model, max_output=DRAFT_TOKENS
        )
        text = Message(id="", role="assistant", parts=reply.parts).text[:DRAFT_CHARS]
    except ModelError as failure:
        error = failure.failure.text
    except AgentError as failure:
        error = str(failure)
    if text:
        agent.drafts.append((model, text))
    duration = round(agent.kit.world.now() - began, 3)
    step = run.iterations.used + 1 if run else 0
    agent.emit(ev.Advisor(model=model, text=text, error=error, duration=duration, for_step=step))


def with_drafts(messages: list[Message], drafts: list[tuple[str, str]]) -> list[Message]:
    """The request's messages with the drafts appended to the last user message; the originals stay as they are."""
    if not drafts or not messages or messages[-1].role != "user":
        return messages
    texts = "\n\n".join(f"## Draft by {model}\n{text}" for model, text in drafts)
    note = Text(
        f"\n\n[SYSTEM] Other models drafted the following. Use what is right in it, check it yourself.\n\n{texts}"
    )
    return [*messages[:-1], msgspec.structs.replace(messages[-1], parts=(*messages[-1].parts, note))]
