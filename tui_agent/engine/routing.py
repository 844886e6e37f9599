"""Auto-routing: the fast, the default or the smart model by what the message looks like.

Off by default, never over a choice made by hand, and by plain features of the text: it costs nothing and can be explained.
"""

from __future__ import annotations

import re

from tui_agent.config.sections import Routing

_HARD = re.compile(
    r"\b(refactor|architect\w*|design|redesign|migrat\w+|concurren\w+|deadlock|race condition|performance|optimi[sz]e|"
    r"security|prove|debug|why does|root cause)\b",
    re.IGNORECASE,
)
_EASY = re.compile(
    r"\b(typo|rename|format|list|show|what is|where is|translate|comment|docstring|explain)\b", re.IGNORECASE
)
LONG, SHORT = 1200, 160
"""Characters: a message above the first is taken for hard, one below the second may be easy."""


def route(routing: Routing, text: str) -> tuple[str, str]:
    """The model for a message and why; empty strings mean the default model."""
    if not routing.enabled:
        return "", ""
    hard = _HARD.search(text)
    if routing.smart and (hard or len(text) > LONG or text.count("```") >= 2):
        return routing.smart, f"smart: says “{hard.group(0)}”" if hard else "smart: a long message"
    easy = _EASY.search(text)
    if routing.fast and easy and not hard and len(text) < SHORT:
        return routing.fast, f"fast: short, says “{easy.group(0)}”"
    return "", ""
