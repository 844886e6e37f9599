"""The argument summary of a panel's title, also while the arguments still stream in.

Stands alone (standard library only), so that the screen may use it without loading any tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

FOREIGN_LIMIT = 60
"""Characters of the first argument of an MCP tool in a title."""
LIMIT = 400
"""Characters that no summary passes; the screen cuts to its width."""


def summarise(name: str, arguments: Mapping[str, Any]) -> str:
    """One line for any tool and any arguments, missing and wrongly typed ones included; never raises."""
    text = _BY_TOOL.get(name, _foreign)(arguments)
    return " ↵ ".join(text.split("\n"))[:LIMIT].strip()


def summarise_partial(name: str, raw: str) -> str:
    """The same from JSON text that may stop anywhere."""
    return summarise(name, partial_object(raw))


def partial_object(raw: str) -> dict[str, Any]:
    """The object that a truncated JSON text has so far: strings cut short count, values not begun don't."""
    value, _ = _value(raw, _skip(raw, 0))
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def line_count(text: str) -> int:
    """Lines of a text; a final newline ends the last one and begins none."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def patch_counts(patch: str) -> tuple[list[str], int, int]:
    """Paths, added and removed lines of a patch in either format, as far as it goes; a guess by line heads."""
    paths: list[str] = []
    added = removed = 0
    for line in patch.split("\n"):
        head = _PATCH_FILE.match(line)
        if head:
            path = (head["envelope"] or head["unified"] or "").split("\t")[0].strip()
            path = path.removeprefix("b/") if head["unified"] else path
            if path and path != "/dev/null" and path not in paths:
                paths.append(path)
        elif line.startswith("--- "):
            old = line[4:].split("\t")[0].strip().removeprefix("a/")
            if old != "/dev/null" and "\n+++ /dev/null" in patch and old not in paths:
                paths.append(old)
        elif line.startswith("+"):
            added += 1
        elif line.startswith("-"):
            removed += 1
    return paths, added, removed


_PATCH_FILE = re.compile(
    r"(?:\*\*\* (?:Add|Update|Delete) File: (?P<envelope>.*))|(?:\+\+\+ (?P<unified>.*))"
)


def _text(arguments: Mapping[str, Any], key: str) -> str:
    """An argument as text, empty if missing."""
    value = arguments.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _number(arguments: Mapping[str, Any], key: str) -> int:
    """An argument as a number, 0 if it is none."""
    try:
        return int(arguments.get(key) or 0)
    except (TypeError, ValueError):
        return 0


def _read(arguments: Mapping[str, Any]) -> str:
    start, end = _number(arguments, "start"), _number(arguments, "end")
    if not start and not end:
        return _text(arguments, "path")
    return f"{_text(arguments, 'path')} {start or 1}–{end or ''}"


def _write(arguments: Mapping[str, Any]) -> str:
    if "content" not in arguments:
        return _text(arguments, "path")
    lines = line_count(_text(arguments, "content"))
    return f"{_text(arguments, 'path')} ({lines} line{'s' if lines != 1 else ''})"


def _edit(arguments: Mapping[str, Any]) -> str:
    if "old" not in arguments:
        return _text(arguments, "path")
    after = str(line_count(_text(arguments, "new"))) if "new" in arguments else "…"
    return f"{_text(arguments, 'path')} ({line_count(_text(arguments, 'old'))}→{after} lines)"


def _patch(arguments: Mapping[str, Any]) -> str:
    paths, added, removed = patch_counts(_text(arguments, "patch"))
    if not paths:
        return ""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more} (+{added} −{removed})"


def _search(arguments: Mapping[str, Any]) -> str:
    given = arguments.get("path") or "."
    paths = cast("list[Any]", given) if isinstance(given, list) else [given]
    return f'"{_text(arguments, "pattern")}" in {", ".join(_folder(str(path)) for path in paths)}'


def _folder(path: str) -> str:
    """A folder with its slash; what looks like a file (it has a suffix) as it is."""
    last = path.rstrip("/").rpartition("/")[2]
    return path if path.endswith("/") or "." in last.strip(".") else f"{path}/"


def _list(arguments: Mapping[str, Any]) -> str:
    return _folder(_text(arguments, "path") or ".")


def _todo(arguments: Mapping[str, Any]) -> str:
    items = arguments.get("items")
    if not isinstance(items, list):
        return ""
    states = [
        cast("dict[str, Any]", item).get("state")
        for item in cast("list[Any]", items)
        if isinstance(item, dict)
    ]
    return f"{states.count('done')} of {len(states)} done"


def _first(key: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda arguments: _text(arguments, key)


def _foreign(arguments: Mapping[str, Any]) -> str:
    """The first argument, cut: what is known of an MCP tool's arguments."""
    if not arguments:
        return ""
    text = _text(arguments, next(iter(arguments)))
    return text if len(text) <= FOREIGN_LIMIT else f"{text[: FOREIGN_LIMIT - 1]}…"


_BY_TOOL: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "read_file": _read, "write_file": _write, "edit_file": _edit, "apply_patch": _patch,
    "search_code": _search, "grep": _search, "find_files": _search, "list_files": _list,
    "run_command": _first("command"), "todo": _todo, "ask_user": _first("question"),
    "request_more_iterations": _first("reason"), "remember": _first("text"), "recall": _first("query"),
    "task": _first("prompt"),
}  # fmt: skip


# ---- JSON that stops anywhere

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*', re.DOTALL)
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$|\\u[dD][89abAB][0-9a-fA-F]{2}$")
_ATOM = re.compile(r"[^\s,\]}]*")


def _skip(raw: str, at: int) -> int:
    match = _SPACE.match(raw, at)
    return match.end() if match else at


def _value(raw: str, at: int) -> tuple[Any, int]:
    """The value that begins at ``at`` and where it ends; ``None`` if nothing usable is there."""
    head = raw[at : at + 1]
    if head == '"':
        return _string(raw, at)
    if head == "{":
        return _object(raw, at)
    if head == "[":
        return _array(raw, at)
    match = _ATOM.match(raw, at)
    end = match.end() if match else at
    try:
        return json.loads(raw[at:end]), end
    except ValueError:
        return None, max(end, at + 1)


def _string(raw: str, at: int) -> tuple[str, int]:
    match = _STRING.match(raw, at)
    end = match.end() if match else at
    body = raw[at + 1 : end]
    if end >= len(raw):
        body = _CUT_ESCAPE.sub("", body)
    try:
        return json.loads(f'"{body}"', strict=False), end + 1
    except ValueError:
        return body, end + 1


def _object(raw: str, at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _skip(raw, at + 1)
    while at < len(raw) and raw[at] == '"':
        key, at = _string(raw, at)
        at = _skip(raw, at)
        if raw[at : at + 1] != ":":
            break
        at = _skip(raw, at + 1)
        if at >= len(raw):
            break
        found[key], at = _value(raw, at)
        at = _skip(raw, at)
        if raw[at : at + 1] == ",":
            at = _skip(raw, at + 1)
    return found, at + 1


def _array(raw: str, at: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _skip(raw, at + 1)
    while at < len(raw) and raw[at] != "]":
        value, at = _value(raw, at)
        found.append(value)
        at = _skip(raw, at)
        if raw[at : at + 1] == ",":
            at = _skip(raw, at + 1)
    return found, at + 1
