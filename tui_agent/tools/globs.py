"""Glob patterns as ripgrep and gitignore read them: ``*`` stays within a folder, ``**`` crosses them, ``{a,b}`` is either."""

from __future__ import annotations

import re
from functools import lru_cache

from tui_agent.core.errors import ToolError


def is_glob(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[{")


def matches(pattern: str, path: str) -> bool:
    """Whether a relative POSIX path matches; a pattern without a slash is about the name alone, in any folder."""
    if "/" not in pattern:
        return bool(_regex(pattern).fullmatch(path.rpartition("/")[2]))
    return bool(_regex(pattern.removeprefix("./").lstrip("/")).fullmatch(path))


@lru_cache(256)
def _regex(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_translated(pattern), re.DOTALL)
    except re.error:
        raise ToolError(f"glob: {pattern!r} can't be understood") from None


def _translated(pattern: str) -> str:
    result: list[str] = []
    at = depth = 0
    while at < len(pattern):
        mark = pattern[at]
        at += 1
        if mark == "*":
            stars = len(pattern) - at - len(pattern[at:].lstrip("*")) + 1
            at += stars - 1
            if stars == 1:
                result.append("[^/]*")
            elif pattern[at : at + 1] == "/":
                at += 1
                result.append("(?:.*/)?")
            else:
                result.append(".*")
        elif mark == "?":
            result.append("[^/]")
        elif mark == "[" and "]" in pattern[at + 1 :]:
            end = pattern.index("]", at + 1)
            inside = pattern[at:end].replace("\\", "\\\\")
            result.append(f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]")
            at = end + 1
        elif mark == "{" and "}" in pattern[at:]:
            depth += 1
            result.append("(?:")
        elif mark == "}" and depth:
            depth -= 1
            result.append(")")
        elif mark == "," and depth:
            result.append("|")
        else:
            result.append(re.escape(mark))
    return "".join(result)
