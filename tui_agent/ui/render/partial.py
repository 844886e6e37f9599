"""Arguments of a call that the model still writes: the text fields of an unfinished JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_STRING = r'[^"\\]*(?:\\.[^"\\]*)*'
_FIELD = re.compile(rf'"({_STRING})"\s*:\s*"({_STRING})(")?', re.DOTALL)
_CUT_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\u[0-9a-fA-F]{0,3})$")
LONGEST_TAIL = 8000
"""Characters of a growing text that are decoded; the screen shows its last lines only."""


def fields(arguments: str) -> Iterator[tuple[str, str, bool]]:
    """Each text field as (name, value, whether it is complete); of a long value the end."""
    for match in _FIELD.finditer(arguments):
        name, value, closed = match.groups()
        yield name, _decoded(value), closed is not None


def _decoded(raw: str) -> str:
    if len(raw) > LONGEST_TAIL:
        start = raw.find("\\n", len(raw) - LONGEST_TAIL)
        raw = raw[start + 2 if start >= 0 else len(raw) - LONGEST_TAIL :]
        if start < 0 and "\\" in raw:
            raw = raw[raw.index("\\") :].lstrip("\\")  # the cut may have halved an escape
    if (cut := _CUT_ESCAPE.search(raw)) is not None:
        raw = raw[: cut.start(1)]
    try:
        return str(json.loads(f'"{raw}"', strict=False))
    except ValueError:
        return raw
