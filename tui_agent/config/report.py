"""What ``tui-agent config`` prints: every setting with its value and where it came from. Secrets are never shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import msgspec

from tui_agent.config.load import Loaded
from tui_agent.config.read import join
from tui_agent.config.reference import ANY, KEYS, env_name, fields, kind_of
from tui_agent.config.sections import Section
from tui_agent.config.yamlfile import visible

HIDDEN = "•••"

_TOKEN = re.compile(
    r"\b(sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[abpr]|hf|gsk|AIza|AKIA|eyJ)[-_A-Za-z0-9.]{12,}"  # prefixes of providers' keys
    r"|\b[A-Za-z0-9_-]{40,}\b"
)
_NAMED = re.compile(
    r"(?i)((?:api[-_]?key|token|secret|passw(?:or)?d|authorization|bearer)[\"']?(?:\s*[=:]\s*|\s+)(?:(?:bearer|basic|token)\s+)?)"
    r"([\"']?)([^\s\"']+)"
)
_PLAIN = re.compile(r"[\w./-]+")


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: dotted key, value as text, where it came from, its variable ("" if it has none), what it means."""

    key: str
    value: str
    source: str
    variable: str = ""
    means: str = ""


def effective(loaded: Loaded) -> list[Row]:
    """Return every setting in the order of the reference, what nobody set included."""
    return list(_rows(loaded, loaded.config, "", ""))


def hide(text: str) -> str:
    """Return ``text`` with everything covered that looks like a key or a password, and control characters escaped."""
    text = _NAMED.sub(lambda found: f"{found[1]}{found[2]}{HIDDEN}", text)
    return visible(_TOKEN.sub(HIDDEN, _hide_address(text)))


def _rows(loaded: Loaded, section: Section, where: str, pattern: str) -> Iterator[Row]:
    for name, info in fields(type(section)).items():
        at, key = join(where, name), f"{pattern}.{name}" if pattern else name
        yield from _value(loaded, getattr(section, name), at, key, info)


def _value(loaded: Loaded, value: Any, at: str, key: str, info: msgspec.structs.FieldInfo) -> Iterator[Row]:
    kind = kind_of(info.type)
    if isinstance(value, Section):
        yield from _rows(loaded, value, at, key)
        return
    if isinstance(value, tuple) and value and isinstance(value[0], Section):
        for index, item in enumerate(cast("tuple[Section, ...]", value)):
            yield from _rows(loaded, item, f"{at}[{index}]", f"{key}[]")
        return
    if kind.shape == "table" and value:
        for name, item in cast("dict[str, Any]", value).items():
            below = join(at, name)
            if isinstance(item, Section):
                yield from _rows(loaded, item, below, f"{key}.*")
            else:
                yield _row(loaded, below, f"{key}.*", item)
        return
    if value is not None or "*" not in key:
        yield _row(loaded, at, key, value)


def _row(loaded: Loaded, at: str, key: str, value: Any) -> Row:
    about = KEYS.get(key, ANY)
    shown = HIDDEN if about.secret and value is not None else _show(value)
    named = "*" not in key and "[" not in key
    return Row(at, shown, loaded.source(at), env_name(at) if named else "", about.means)


def _show(value: Any) -> str:
    """Write a value as in a file."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_hide_after(cast("tuple[object, ...]", value))) + "]"
    return "{}"


def _hide_after(items: tuple[object, ...]) -> list[str]:
    """Show a list; an argument after ``--api-key`` or the like is covered."""
    shown: list[str] = []
    cover = False
    for item in items:
        text = str(item)
        safe = HIDDEN if cover else hide(text)
        shown.append(safe if _PLAIN.fullmatch(text) else f'"{safe}"')
        cover = bool(re.fullmatch(r"(?i)--?[\w-]*(key|token|secret|password|passwd|auth)[\w-]*", text))
    return shown


def _hide_address(text: str) -> str:
    """Cover the user, the password and the query of an address."""
    if not text.startswith(("http://", "https://")):
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return HIDDEN
    host = parts.netloc.rpartition("@")
    netloc = f"{HIDDEN}@{host[2]}" if host[1] else parts.netloc
    return urlunsplit((parts.scheme, netloc, parts.path, HIDDEN if parts.query else "", ""))
