"""Token counts, offline: tiktoken with the encodings that litellm ships, and a factor a model learnt from real usage.

Measured (tiktoken 0.14): 100,000 characters take 4–5 ms, loading 0.1–0.3 s (``preload``). Other makers' tokenizers differ
by up to 30 %, which ``Calibration`` learns from the usage that a provider reports.
"""

from __future__ import annotations

import importlib.util
import os
import re
from functools import cache
from pathlib import Path

import msgspec
import tiktoken

from tui_agent.core.messages import Call, Image, Message, Reasoning, Result, Text
from tui_agent.llm.api import ToolSchema

ENCODING = "o200k_base"
SLICE = 20_000
"""Characters encoded at once: a run of a million blanks is an error in tiktoken, in one call of ``encode_ordinary`` even a panic."""

PER_MESSAGE = 4
"""Tokens that a message's frame costs (OpenAI's cookbook: 3, and 1 for the role)."""

PER_CALL = 8
"""Tokens that a call's or a result's frame costs, beyond its name, id and text; a middle of what providers report."""

PER_IMAGE = 1_300
"""Tokens of an image: providers scale to about 1,568 × 1,568 pixels at most (Anthropic: ≤ 1,600; OpenAI high detail: ~1,100)."""


def count_text(text: str) -> int:
    """Tokens of ``text``, uncalibrated. Never raises; a slice that the encoder refuses counts as a third of its bytes."""
    if not text:
        return 0
    encoding = _encoding()
    if encoding is None:
        return max(1, len(text) // 4)
    return sum(_count(encoding, text[at : at + SLICE]) for at in range(0, len(text), SLICE))


def count_message(message: Message) -> int:
    """Tokens of a message with everything that is sent of it, uncalibrated."""
    return PER_MESSAGE + sum(_count_part(part) for part in message.parts)


def count_tools(tools: tuple[ToolSchema, ...]) -> int:
    """Tokens of the tools' names, descriptions and schemas, uncalibrated."""
    return sum(
        PER_CALL + count_text(f"{tool.name}\n{tool.description}\n{msgspec.json.encode(tool.schema).decode()}")
        for tool in tools
    )


def preload() -> None:
    """Load the encoding now; meant for a background thread."""
    _encoding()


def _count_part(part: Text | Reasoning | Image | Call | Result) -> int:
    match part:
        case Text(text=text) | Reasoning(text=text):
            return count_text(text)
        case Image():
            return PER_IMAGE
        case Call():
            arguments = part.raw or msgspec.json.encode(part.arguments).decode()
            return PER_CALL + count_text(part.name) + count_text(arguments)
        case Result():
            return PER_CALL + count_text(part.text) + PER_IMAGE * len(part.images)


def _count(encoding: tiktoken.Encoding, piece: str) -> int:
    try:
        return len(encoding.encode(piece, disallowed_special=()))
    except Exception:  # noqa: BLE001 - the encoder's errors are of many kinds, and a count is an estimate anyway
        return max(1, len(piece.encode(errors="replace")) // 3)


@cache
def _encoding() -> tiktoken.Encoding | None:
    """The encoding, from litellm's shipped files; None if they are not there (nothing is ever downloaded)."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0], "litellm_core_utils", "tokenizers")
    if not any(folder.glob("[0-9a-f]" * 40)):
        return None
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        return tiktoken.get_encoding(ENCODING)
    except Exception:  # noqa: BLE001 - no encoding is a worse count, not a fault
        return None
    finally:  # the variable is for this load only: commands that tools start inherit the environment
        if before is None:
            os.environ.pop("TIKTOKEN_CACHE_DIR", None)
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


# ---- calibration

LOWEST, HIGHEST = 0.4, 3.0
WEIGHT = 0.3
"""Share of the newest observation in the moving average."""

_DENSER = re.compile(
    r"claude-(?:opus-4-(?:[7-9]|\d\d)(?!\d)|(?:opus|sonnet|haiku)-(?:[5-9]|\d\d)(?!\d)|fable|mythos|(?:opus|sonnet|haiku)-latest)"
)
"""Claude from Opus 4.7 and Sonnet 5 on: its makers' documentation says about 30 % more tokens than earlier ones."""


class Calibration(msgspec.Struct, frozen=True):
    """How many real tokens a counted one is, by model; a value: ``learn`` returns the next one."""

    factors: dict[str, float] = {}

    def factor(self, model: str) -> float:
        """Reported by counted tokens of ``model``; before the first report 1, or 1.35 for new Claude models."""
        known = self.factors.get(model)
        if known is not None:
            return known
        return 1.35 if _DENSER.search(model.replace(".", "-")) else 1.0

    def calibrated(self, model: str) -> bool:
        """True once the provider has reported usage: the gauge drops its ``~``."""
        return model in self.factors

    def estimate(self, model: str, counted: int) -> int:
        """Real tokens to expect for ``counted`` ones."""
        return round(counted * self.factor(model))

    def learn(self, model: str, counted: int, reported: int | None) -> Calibration:
        """Take in one call's *reported* prompt tokens against our count of the same prompt; unreported usage teaches nothing."""
        if not reported or counted <= 0 or reported < 0:
            return self
        observed = min(HIGHEST, max(LOWEST, reported / counted))
        known = self.factors.get(model)
        mixed = observed if known is None else known + WEIGHT * (observed - known)
        return Calibration({**self.factors, model: mixed})
