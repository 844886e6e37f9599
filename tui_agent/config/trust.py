"""Which project folders may bring their own settings; those can run hooks and servers, so a person says yes first.

The answer holds for what the settings were then: a changed hook, server, key command, address or rule asks again,
a comment or a colour does not.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

import msgspec

from tui_agent.config.paths import CONFIG_NAME
from tui_agent.config.yamlfile import Node, Parsed, read, visible

State = Literal["trusted", "changed", "refused", "unknown"]
"""``changed``: it was trusted, and its settings are others now. ``unknown``: nobody was asked yet."""

_HARMLESS = frozenset({"ui", "sessions", "self_eval", "mode", "queues"})
"""Sections that can neither run, send nor allow anything."""


class _Entry(msgspec.Struct, frozen=True):
    fingerprint: str
    trusted: bool
    at: float


class _File(msgspec.Struct, frozen=True):
    version: int = 1
    folders: dict[str, _Entry] = {}


class Trust:
    """The answers, in one small file (mode 0600). A file that can't be read counts as no answers."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def state(self, folder: Path, parsed: Parsed | None = None) -> State:
        """Say what was answered for a project's ``.tui-agent``; ``parsed`` is its settings if they were read already."""
        entry = self._load().folders.get(_name(folder))
        if entry is None:
            return "unknown"
        same = entry.fingerprint == fingerprint(parsed or read(folder / CONFIG_NAME))
        if entry.trusted:
            return "trusted" if same else "changed"
        return "refused" if same else "unknown"

    def trust(self, folder: Path, parsed: Parsed | None = None) -> None:
        """Trust the folder with its settings as they are (or as they were when the person saw them: ``parsed``)."""
        self._answer(folder, parsed, trusted=True)

    def refuse(self, folder: Path, parsed: Parsed | None = None) -> None:
        """Don't ask again until the settings change."""
        self._answer(folder, parsed, trusted=False)

    def forget(self, folder: Path) -> None:
        """Take an answer back."""
        folders = dict(self._load().folders)
        if folders.pop(_name(folder), None) is not None:
            self._save(_File(folders=folders))

    def _answer(self, folder: Path, parsed: Parsed | None, *, trusted: bool) -> None:
        mark = fingerprint(parsed or read(folder / CONFIG_NAME))
        entry = _Entry(mark, trusted, round(time.time(), 3))
        self._save(_File(folders={**self._load().folders, _name(folder): entry}))

    def _load(self) -> _File:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_File)
        except (OSError, msgspec.MsgspecError, UnicodeError):
            return _File()

    def _save(self, content: _File) -> None:
        write_private(self._path, msgspec.json.format(msgspec.json.encode(content), indent=1))


def write_private(path: Path, data: bytes) -> None:
    """Replace a file so that readers see the old or the new content, never a part; mode 0600, folders 0700."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def fingerprint(parsed: Parsed) -> str:
    """Return a mark that changes when the settings can do something else; spelling and comments don't count."""
    root = parsed.root
    if parsed.errors or root is None or not isinstance(root.value, dict):
        return hashlib.sha256(parsed.data).hexdigest()
    kept = {key: _plain(node) for key, node in root.value.items() if key not in _HARMLESS}
    return hashlib.sha256(msgspec.json.encode(kept, order="sorted")).hexdigest()


def powers(parsed: Parsed) -> list[str]:
    """List what a project's settings would run, reach or allow, one line each, for the question whether to trust it."""
    lines = [
        f"after edits runs: {_word(hook, 'command')}" for hook in _items(parsed.root, "hooks", "post_edit")
    ]
    for name, server in _entries(parsed.root, "mcp", "servers"):
        arguments = " ".join(_shown(item) for item in _items(server, "args"))
        reach = _word(server, "url") or f"{_word(server, 'command')} {arguments}".rstrip()
        lines.append(f"tools from {visible(name, 40)}: {reach}")
    for name, model in _entries(parsed.root, "models"):
        if command := _word(model, "key_command"):
            lines.append(f"key of {visible(name, 40)} from: {command}")
        if address := _word(model, "api_base"):
            lines.append(f"sends {visible(name, 40)} to: {address}")
    lines.extend(
        f"allows without asking: {_shown(rule)}" for rule in _items(parsed.root, "permissions", "allow")
    )
    if mode := _word(_child(parsed.root, "permissions"), "mode"):
        lines.append(f"confirm mode: {mode}")
    return lines


def _name(folder: Path) -> str:
    """Trust is for the real folder: a link that is turned elsewhere is another one."""
    return os.path.realpath(folder)


def _plain(node: Node) -> Any:
    value = node.value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _child(node: Node | None, *names: str) -> Node | None:
    for name in names:
        node = node.value.get(name) if node is not None and isinstance(node.value, dict) else None
    return node


def _items(node: Node | None, *names: str) -> list[Node]:
    found = _child(node, *names)
    return found.value if found is not None and isinstance(found.value, list) else []


def _entries(node: Node | None, *names: str) -> list[tuple[str, Node]]:
    found = _child(node, *names)
    return list(found.value.items()) if found is not None and isinstance(found.value, dict) else []


def _word(node: Node | None, name: str) -> str:
    found = _child(node, name)
    return _shown(found) if found is not None else ""


def _shown(node: Node) -> str:
    return visible(node.value if isinstance(node.value, str) else node.text, 300)
