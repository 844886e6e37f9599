"""An engine process whose model says what the prompt tells it to: a JSON list of turns, one a model call.

``EngineProcess.start(launch, "tests.fakes.scripted_engine")`` starts it; ``script(Turn("hello"), ...)`` is a prompt for it.
A pure function of the request, so that an engine that is started again goes on where the last one was.
"""

from __future__ import annotations

import msgspec

from tui_agent.engine import process
from tui_agent.llm.api import Request
from tui_agent.llm.scripted import ScriptedModel, Turn

RATE = 200.0
"""Pieces a second, so that there is a middle in which a stream can be cut."""


def script(*turns: Turn) -> str:
    """A prompt that makes the model say these."""
    return msgspec.json.encode(turns).decode()


def turn(request: Request) -> Turn:
    """The next turn of the last script that a person sent; other messages of theirs are answered with their own words."""
    made = 0
    for message in reversed(request.messages):
        if message.role == "assistant":
            made += 1
        elif message.role == "user" and message.origin == "person":
            try:
                turns = msgspec.json.decode(message.text, type=list[Turn])
            except msgspec.MsgspecError:
                return Turn(f"You said: {message.text[:100]}")
            return turns[made] if made < len(turns) else Turn("(the script has ended)")
    return Turn("(nobody said anything)")


if __name__ == "__main__":
    print("libraries print, and nobody minds", flush=True)
    process.main(ScriptedModel(turn, rate=RATE))
