"""One source of settings (a file, the environment, the flags) checked against the types: plain values, their places, all errors."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import msgspec

from tui_agent.config.nearest import did_you_mean, nearest
from tui_agent.config.reference import ANY, KEYS, Key, Kind, fields, kind_of, leaves
from tui_agent.config.sections import Config, Section
from tui_agent.config.yamlfile import Node, show, visible
from tui_agent.core.errors import ConfigError

_LARGEST = 1e12
"""No setting means anything beyond it, and sums with it stay exact."""
_WORDS = {"yes": True, "on": True, "no": False, "off": False}
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SPECIAL = re.compile(r"[^\w-]")
_INVALID: Final = object()


class Reader:
    """Collects what one or more sources say.

    ``values`` of the last ``read`` are nested dicts and lists of plain values, without what was invalid; ``places``
    tells where each key was written (``limits.max_steps``, ``hooks.post_edit[0].timeout``).
    """

    def __init__(self) -> None:
        self.errors: list[ConfigError] = []
        self.places: dict[str, Node] = {}

    def read(self, root: Node | None) -> dict[str, Any]:
        """Check one source; ``places`` is that source's alone afterwards, ``errors`` grow."""
        self.places = {}
        if root is None:
            return {}
        if not isinstance(root.value, dict):
            self.errors.append(root.error(f"expected settings such as `model: …`, got {show(root)}"))
            return {}
        return self._section(root.value, Config, "", "")

    def _fault(self, node: Node, where: str, what: str) -> Any:
        self.errors.append(node.error(what, where if node.line else ""))
        return _INVALID

    def _section(
        self, entries: dict[str, Node], section: type[Section], where: str, key: str
    ) -> dict[str, Any]:
        known = fields(section)
        values: dict[str, Any] = {}
        for name, node in entries.items():
            at = join(where, name)
            if name not in known:
                self._fault(node, at, _unknown(name, known, key))
                continue
            self.places[at] = node
            value = self._value(node, kind_of(known[name].type), at, join(key, name))
            if value is not _INVALID:
                values[name] = value
        return values

    def _value(self, node: Node, kind: Kind, where: str, key: str) -> Any:
        about = KEYS.get(key, ANY)
        if node.value is None:
            if kind.optional:
                return None
            if kind.shape in ("section", "table", "list") and not key.endswith((".*", "[]")):
                return _INVALID if kind.shape == "list" else {}
        if kind.shape == "section" and kind.section is not None:
            if isinstance(node.value, dict):
                return self._section(node.value, kind.section, where, key)
        elif kind.shape == "table":
            if isinstance(node.value, dict):
                return self._table(node.value, kind_of(kind.inner), where, key)
        elif kind.shape == "list":
            if isinstance(node.value, list):
                return self._list(node.value, kind_of(kind.inner), where, key)
        else:
            return self._scalar(node, kind, where, about)
        return self._fault(node, where, _expected(about, node))

    def _table(self, entries: dict[str, Node], inner: Kind, where: str, key: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, node in entries.items():
            at = join(where, name)
            if not name.strip() or _CONTROL.search(name):
                self._fault(node, at, "a name must be visible text")
                continue
            self.places[at] = node
            value = self._value(node, inner, at, key + ".*")
            if value is not _INVALID:
                values[name] = value
        return values

    def _list(self, items: list[Node], inner: Kind, where: str, key: str) -> list[Any]:
        values: list[Any] = []
        for index, node in enumerate(items):
            at = f"{where}[{index}]"
            self.places[at] = node
            value = self._value(node, inner, at, key + "[]")
            if value is _INVALID:
                continue
            if inner.section is not None:
                missing = _missing(inner.section, value, node)
                for name in missing:
                    self._fault(node, join(at, name), f"is missing: {KEYS.get(f'{key}[].{name}', ANY).what}")
                if missing:
                    continue
            values.append(value)
        return values

    def _scalar(self, node: Node, kind: Kind, where: str, about: Key) -> Any:
        value = node.value
        match kind.shape:
            case "bool":
                if isinstance(value, str) and node.plain:
                    value = _WORDS.get(value.casefold(), value)
                return value if isinstance(value, bool) else self._fault(node, where, _expected(about, node))
            case "int" | "float":
                return self._number(node, kind, where, about)
            case "choice":
                if isinstance(value, str) and value in kind.choices:
                    return value
                hint = did_you_mean(value, kind.choices) if isinstance(value, str) else ""
                return self._fault(node, where, f"expected {_either(kind.choices)}, got {show(node)}{hint}")
            case _:
                return self._text(node, where, about)

    def _number(self, node: Node, kind: Kind, where: str, about: Key) -> Any:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return self._fault(node, where, _expected(about, node))
        if kind.shape == "int" and int(value) != value:
            return self._fault(node, where, _expected(about, node))
        low, above, high = about.low, about.above, about.high if about.high is not None else _LARGEST
        if (low is not None and value < low) or (above is not None and value <= above) or value > high:
            words = about.bounds or f"up to {_LARGEST:g}"
            return self._fault(node, where, f"expected {about.what} {words}, got {show(node)}")
        return int(value) if kind.shape == "int" else value

    def _text(self, node: Node, where: str, about: Key) -> Any:
        value = node.value
        if not isinstance(value, str):
            quotes = " (put it in quotes)" if isinstance(value, int | float) else ""
            return self._fault(node, where, _expected(about, node) + quotes)
        if not value.strip() and not about.may_be_empty:
            return self._fault(node, where, _expected(about, node))
        if found := _CONTROL.search(value):
            return self._fault(node, where, f"holds the control character U+{ord(found[0]):04X}")
        if "http://" in about.what and not value.startswith(("http://", "https://")):
            return self._fault(node, where, _expected(about, node))
        if "environment variable" in about.what and not _ENV_NAME.fullmatch(value):
            return self._fault(node, where, f"expected {about.what}")
        return value


def join(where: str, name: str) -> str:
    """Return the path of a key below another; a name with other than word characters is quoted."""
    name = f'"{visible(name, 40)}"' if _SPECIAL.search(name) or not name else name
    return f"{where}.{name}" if where else name


def _expected(about: Key, node: Node) -> str:
    return f"expected {about.what}" + ("" if about.secret else f", got {show(node)}")


def _either(choices: tuple[str, ...]) -> str:
    return ", ".join(choices[:-1]) + f" or {choices[-1]}" if len(choices) > 1 else choices[0]


def _missing(section: type[Section], value: dict[str, Any], node: Node) -> list[str]:
    """Names of required fields that the person did not write at all (an invalid one has its own error)."""
    written = node.value if isinstance(node.value, dict) else {}
    required = [info.name for info in msgspec.structs.fields(section) if info.required]
    return [name for name in required if name not in value and name not in written]


def _unknown(name: str, known: dict[str, msgspec.structs.FieldInfo], key: str) -> str:
    """Say that a key does not exist, with the nearest one here or the same one elsewhere."""
    near = nearest(name, known)
    if not near:
        elsewhere = [
            path
            for path, _, _ in leaves()
            if path.rpartition(".")[2] == name and "*" not in path and "[" not in path
        ]
        near = elsewhere[0] if elsewhere else ""
    if near:
        return f'unknown key; did you mean "{near}"?'
    place = f"in {key}" if key else "at the top"
    return f"unknown key; {place} there are {', '.join(known)}"
