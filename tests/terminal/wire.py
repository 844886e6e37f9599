"""What a fake model was sent, in words that a test asks in."""

from __future__ import annotations

from typing import Any

from tests.fakes.fake_llm import FakeLLM, Received
from tests.terminal.terminal import Terminal


def with_model(fake: FakeLLM) -> dict[str, str]:
    """Environment in which ``openai/fake`` is the fake, and the chosen model."""
    return {
        "OPENAI_API_BASE": fake.openai_base,
        "OPENAI_API_KEY": "sk-test",
        "TUI_AGENT_MODEL": "openai/fake",
    }


def requested(terminal: Terminal, fake: FakeLLM, number: int) -> Received:
    """The n-th request (from 0), once it has come."""
    terminal.wait_for(lambda: len(fake.requests) > number)
    return fake.requests[number]


def roles(received: Received) -> list[str]:
    """Who speaks, message by message."""
    return [message["role"] for message in received.messages]


def results(received: Received) -> list[str]:
    """What the tools answered."""
    return [text(message) for message in received.messages if message["role"] == "tool"]


def user_texts(received: Received) -> list[str]:
    """What the person said."""
    return [text(message) for message in received.messages if message["role"] == "user"]


def text(message: dict[str, Any]) -> str:
    """The text of a message, whichever of its two shapes it has."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def problems(received: Received) -> list[str]:
    """Why a strict provider would refuse the request: order of roles, ids of calls and results; empty if it would not."""
    found: list[str] = []
    messages = received.messages
    if not messages or messages[0]["role"] != "system":
        return ["it does not begin with a system message"]
    waiting: list[str] = []
    before = "system"
    for at, message in enumerate(messages[1:], 1):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                found.append(f"{at}: a result that no call waits for")
            else:
                waiting.remove(message["tool_call_id"])
        else:
            if waiting:
                found.append(f"{at}: calls without a result: {waiting}")
                waiting = []
            if role == before:
                found.append(f"{at}: two {role} messages in a row")
            if role == "assistant" and before == "system":
                found.append(f"{at}: the assistant begins")
            if not text(message).strip() and not message.get("tool_calls"):
                found.append(f"{at}: an empty message")
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
        before = role
    if waiting:
        found.append(f"calls without a result: {waiting}")
    if before not in ("user", "tool"):
        found.append(f"it ends with a message of role {before}")
    return found
