"""Settings given for one start: ``TUI_AGENT_*`` variables and the flags of the command line, made into nodes like a file's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tui_agent.config.nearest import nearest
from tui_agent.config.reference import (
    ENV_PREFIX,
    FLAGS,
    RESERVED_ENV,
    Kind,
    env_name,
    fields,
    kind_of,
    leaves,
    short_env_name,
)
from tui_agent.config.sections import Config
from tui_agent.config.yamlfile import Node, parse, resolve, visible
from tui_agent.core.errors import ConfigError

_NONE_WORDS = frozenset({"", "none", "null", "~", "off"})

Given = tuple[Node, list[ConfigError], list[str]]
"""The tree of nodes, errors, and warnings."""


def from_environ(environ: Mapping[str, str]) -> Given:
    """Read ``TUI_AGENT_*``: two underscores stand for a dot, an empty value counts as not set.

    A variable that is no setting is a warning, not an error: it may belong to another version.
    """
    root: dict[str, Node] = {}
    errors: list[ConfigError] = []
    warnings: list[str] = []
    short = {short_env_name(key): key for key in FLAGS}
    names = [
        name
        for name, value in environ.items()
        if name.startswith(ENV_PREFIX) and value and name not in RESERVED_ENV
    ]
    for name in sorted(names, key=lambda name: (name not in short, name.count("__"), name)):
        parts = short[name].split(".") if name in short else name[len(ENV_PREFIX) :].lower().split("__")
        kind = _kind_at(parts)
        if kind is None:
            near = nearest(name, [*(env_name(key) for key, _, _ in leaves() if "*" not in key), *short])
            warnings.append(f"{visible(name)}: is no setting" + (f"; did you mean {near}?" if near else ""))
            continue
        _graft(root, parts, spell(environ[name], kind, name, errors), name)
    return Node(root), errors, warnings


def from_flags(overrides: Mapping[str, object]) -> Given:
    """Read values by dotted key; None means that the flag was not given, and the text ``none`` sets no limit."""
    root: dict[str, Node] = {}
    errors: list[ConfigError] = []
    for key, value in overrides.items():
        if value is None:
            continue
        name = FLAGS.get(key, key)
        parts = key.split(".")
        kind = _kind_at(parts)
        if kind is None:
            errors.append(ConfigError("is no setting", file=name))
            continue
        node = (
            spell(value, kind, name, errors)
            if isinstance(value, str)
            else _wrap(msgspec.to_builtins(value), name)
        )
        _graft(root, parts, node, name)
    return Node(root), errors, []


def spell(text: str, kind: Kind, name: str, errors: list[ConfigError]) -> Node:
    """Make a node of one word from outside a file: text stays as it is, lists are split at commas, the rest is YAML."""
    if kind.shape in ("text", "choice"):
        unset = kind.optional and text.strip().casefold() in ("none", "null")
        return Node(None if unset else text, name, text=text, plain=False)
    word = text.strip()
    if kind.shape in ("bool", "int", "float"):
        if kind.optional and word.casefold() in _NONE_WORDS:
            return Node(None, name)
        return Node(resolve(word), name, text=word)
    if kind.shape == "list" and not word.startswith(("[", "- ")):
        return Node([Node(item.strip(), name) for item in word.split(",") if item.strip()], name)
    found = parse(text.encode("utf-8", "replace"), name)
    errors.extend(ConfigError(error.what, file=name) for error in found.errors)
    return _rename(found.root, name)


def _kind_at(parts: Iterable[str]) -> Kind | None:
    """The type that a dotted key has, or None if there is no such key."""
    kind = Kind("section", section=Config)
    for part in parts:
        if kind.shape == "section" and kind.section is not None:
            known = fields(kind.section)
            if part not in known:
                return None
            kind = kind_of(known[part].type)
        elif kind.shape == "table" and part:
            kind = kind_of(kind.inner)
        else:
            return None
    return kind


def _graft(root: dict[str, Node], parts: list[str], node: Node, name: str) -> None:
    """Put a node into the tree, making the mappings above it."""
    for part in parts[:-1]:
        below = root.get(part)
        if below is None or not isinstance(below.value, dict):
            below = root[part] = Node({}, name)
        assert isinstance(below.value, dict)
        root = below.value
    root[parts[-1]] = node


def _wrap(value: Any, name: str) -> Node:
    if isinstance(value, dict):
        return Node({str(key): _wrap(item, name) for key, item in value.items()}, name)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return Node([_wrap(item, name) for item in value], name)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return Node(value, name, text=str(value), plain=False)


def _rename(node: Node | None, name: str) -> Node:
    """Give a parsed value the name of its variable and no line."""
    if node is None:
        return Node(None, name)
    value = node.value
    if isinstance(value, dict):
        return Node({key: _rename(item, name) for key, item in value.items()}, name)
    if isinstance(value, list):
        return Node([_rename(item, name) for item in value], name)
    return Node(value, name, text=node.text, plain=node.plain)
