"""YAML to values that know where they were written, so that every error names a file and a line.

The text is only composed, never constructed: no tag can make an object. Plain words follow YAML 1.2 (``true`` and
``false`` are the only booleans), so that ``self_eval: off`` stays the word that its reader expects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tui_agent.core.errors import ConfigError

Scalar = str | int | float | bool | None

MAX_BYTES = 1_000_000
"""A file people write is never this long; one that is was named by mistake."""
_MAX_DEPTH = 50
_SHOWN = 40
"""Characters of a value that an error repeats."""

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?[0-9][0-9_]{0,40}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

_STANDARD = "tag:yaml.org,2002:"
_STRING_TAG = _STANDARD + "str"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PLAIN_WORDS = {
    "found character that cannot start any token": "a character that no value can begin with; put the text in quotes",
    "mapping values are not allowed in this context": 'a second ":" on the line, or wrong indentation; put text with ": " in quotes',
    "mapping values are not allowed here": 'a second ":" on the line, or wrong indentation; put text with ": " in quotes',
    "could not find expected ':'": 'a key without ":"',
    "found undefined alias": 'no anchor has this name; text that begins with "*" needs quotes',
    "found unexpected end of stream": "a quote is never closed",
    "did not find expected key": "wrong indentation, or a value that needs quotes",
    "did not find expected ',' or ']'": 'a list in brackets is not closed, or lacks a ","',
    "did not find expected ',' or '}'": 'a mapping in braces is not closed, or lacks a ","',
    "did not find expected node content": "a value is missing, or a bracket is not closed",
    "did not find expected '-' indicator": "wrong indentation in a list",
    "but found another document": 'a second document ("---"); only one is read',
    "exceeded maximum nesting depth": "nested too deep",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands. ``line`` is its key's line in a mapping, its own in a list; 0 outside of files.

    ``text`` is a scalar as written; ``plain`` is False if it was quoted. ``file`` is what an error calls the place.
    """

    value: Scalar | list[Node] | dict[str, Node]
    file: str = ""
    line: int = 0
    text: str = ""
    plain: bool = True

    def error(self, what: str, where: str = "") -> ConfigError:
        """An error at this place."""
        return ConfigError(what, file=self.file, line=self.line, where=where)

    @property
    def place(self) -> str:
        """``FILE:LINE``, or only the name of the variable or flag."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text held: ``root`` is None if it was empty or could not be read at all."""

    root: Node | None
    errors: tuple[ConfigError, ...] = ()
    data: bytes = b""


def read(path: Path) -> Parsed:
    """Read and parse a file; never raises, whatever is wrong is in ``errors``."""
    name = visible(str(path))
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return Parsed(
            None, (ConfigError(f"can't be read: {(error.strerror or 'unknown fault').lower()}", file=name),)
        )
    if len(data) > MAX_BYTES:
        return Parsed(None, (ConfigError("is longer than 1 MB and was not read", file=name),), data)
    return parse(data, name)


def parse(data: bytes, name: str) -> Parsed:
    """Parse UTF-8 text that errors call ``name``."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return Parsed(None, (ConfigError("is not UTF-8 text", file=name, line=line),), data)
    bad = next((at for at, char in enumerate(text) if _unreadable(char)), None)
    if bad is not None:
        line = text.count("\n", 0, bad) + 1
        what = f"holds the control character U+{ord(text[bad]):04X}"
        return Parsed(None, (ConfigError(what, file=name, line=line),), data)
    loader = _Loader(text)
    try:
        top: yaml.Node | None = loader.get_single_node()
        walk = _Walk(name, loader)
        root = walk.convert(top, 1, 0) if top is not None else None
    except yaml.MarkedYAMLError as error:
        return Parsed(None, (_syntax_error(error, text, name),), data)
    except (yaml.YAMLError, RecursionError) as error:
        what = (
            "nested too deep" if isinstance(error, RecursionError) else visible(str(error).partition("\n")[0])
        )
        return Parsed(None, (ConfigError(f"is not valid YAML: {what}", file=name, line=1),), data)
    finally:
        loader.dispose()
    if root is not None and root.value is None:
        root = None
    return Parsed(root, tuple(walk.errors), data)


def resolve(text: str) -> Scalar:
    """Return what an unquoted scalar means: null, true or false, a number, or the text itself."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INT.fullmatch(text):
        return int(text)
    if _HEX.fullmatch(text):
        return int(text, 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text


def show(node: Node) -> str:
    """Return a value as an error repeats it: short, with control characters made visible."""
    value = node.value
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, str):
        return f'"{visible(value, _SHOWN)}"'
    return visible(node.text or str(value), _SHOWN)


def visible(text: str, limit: int = 0) -> str:
    """Return ``text`` with everything escaped that a terminal might obey, cut to ``limit`` characters (0: whole)."""
    if limit and len(text) > limit:
        text = text[: limit - 1] + "…"
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def _unreadable(char: str) -> bool:
    return (char < " " and char not in "\t\n\r") or "\x7f" <= char <= "\x9f" or char in "\ufffe\uffff\ufeff"


def _syntax_error(error: yaml.MarkedYAMLError, text: str, name: str) -> ConfigError:
    mark, begun = error.problem_mark or error.context_mark, error.context_mark
    line = int(mark.line) + 1 if mark else 1
    problem = str(error.problem or error.context or "is not valid YAML")
    rest = "\n".join(text.split("\n")[line - 1 :])[int(mark.column) if mark else 0 :]
    if rest.startswith("\t"):
        what = "a tab; indent with spaces"
    else:
        what = _PLAIN_WORDS.get(problem, visible(problem, 100))
    if begun and not rest.strip():
        line = int(begun.line) + 1  # what was never closed is to be seen where it was opened
    elif begun and problem.startswith("did not find expected") and begun.line + 1 < line:
        what += f" (begun on line {begun.line + 1})"
    last = text.rstrip().count("\n") + 1
    return ConfigError(f"is not valid YAML: {what}", file=name, line=min(line, last))


class _Walk:
    """Turns composed nodes into ours; faults that leave the rest readable are collected."""

    def __init__(self, name: str, loader: Any) -> None:
        self.errors: list[ConfigError] = []
        self._name = name
        self._loader = loader
        self._done: dict[int, Node] = {}
        self._open: set[int] = set()

    def convert(self, source: yaml.Node, line: int, depth: int) -> Node:
        """Convert one node; an alias shares the value of its anchor, so that no nest of aliases can grow."""
        key = id(source)
        known = self._done.get(key)
        if known is None:
            if key in self._open:
                return self._fault("an anchor that holds itself", line)
            if depth > _MAX_DEPTH:
                return self._fault("nested too deep", line)
            self._open.add(key)
            known = self._convert(source, line, depth)
            self._open.discard(key)
            self._done[key] = known
        return Node(known.value, self._name, line, known.text, known.plain)

    def _convert(self, source: yaml.Node, line: int, depth: int) -> Node:
        if isinstance(source, yaml.ScalarNode):
            return self._scalar(source, line)
        tag = str(source.tag)
        if isinstance(source, yaml.SequenceNode):
            if tag != _STANDARD + "seq":
                return self._fault(f"the tag {visible(tag, _SHOWN)} is not supported", line)
            return Node([self.convert(item, _line(item), depth + 1) for item in source.value])
        if not isinstance(source, yaml.MappingNode) or tag != _STANDARD + "map":
            return self._fault(f"the tag {visible(tag, _SHOWN)} is not supported", line)
        entries: dict[str, Node] = {}
        for name, value in source.value:
            at = _line(name)
            if not isinstance(name, yaml.ScalarNode):
                self._fault("a key must be text", at)
                continue
            key = str(name.value)
            if key in entries:
                self._fault(
                    f'the key "{visible(key, _SHOWN)}" is there twice (first on line {entries[key].line})', at
                )
                continue
            entries[key] = self.convert(value, at, depth + 1)
        return Node(entries)

    def _scalar(self, source: yaml.ScalarNode, line: int) -> Node:
        text = str(source.value)
        if source.style:
            if source.tag != _STRING_TAG:
                return self._fault(f"the tag {visible(str(source.tag), _SHOWN)} is not supported", line)
            return Node(text, text=text, plain=False)
        implied = str(self._loader.resolve(yaml.ScalarNode, text, (True, False)))
        if source.tag == implied:
            return Node(resolve(text), text=text)
        if source.tag == _STRING_TAG:
            return Node(text, text=text, plain=False)
        return self._fault(f"the tag {visible(str(source.tag), _SHOWN)} is not supported", line)

    def _fault(self, what: str, line: int) -> Node:
        self.errors.append(ConfigError(what, file=self._name, line=line))
        return Node(None)


def _line(source: yaml.Node) -> int:
    return int(source.start_mark.line) + 1
