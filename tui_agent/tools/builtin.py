"""What the built-in tools share: arguments as a struct, the JSON schema made from it, and errors that a model can act on."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, Generic, TypeVar, cast

import msgspec

from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Effect, Intent, ToolContext, ToolResult
from tui_agent.tools import summary


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of a tool's arguments; fields carry their prompt text as ``Meta(description=…)``."""


A = TypeVar("A", bound=Arguments)

_LOCATION = re.compile(r" - at `\$\.?(?P<where>[^`]*)`$")
_MISSING = re.compile(r"missing required field `(?P<name>[^`]+)`")
_UNKNOWN = re.compile(r"contains unknown field `(?P<name>[^`]+)`")
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|([^.\[\]]+)")
_TYPE_WORDS = {
    "string": "string", "integer": "whole number", "number": "number", "boolean": "true or false",
    "array": "list", "object": "object", "null": "null",
}  # fmt: skip
_SHOWN_VALUE = 60
"""Characters of a wrong value that an error repeats."""


def schema_of(kind: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of an arguments struct as all providers take it.

    References are put in place (not everyone follows ``$ref``), enumerations have a type (Gemini), an empty ``required``
    goes (JSON Schema draft 4); titles and defaults go too: descriptions say what a default means.
    """
    raw = msgspec.json.schema(kind)
    definitions: dict[str, Any] = raw.get("$defs", {})

    def inline(node: dict[str, Any]) -> dict[str, Any]:
        node = definitions[node["$ref"].rpartition("/")[2]] if "$ref" in node else node
        kept = {key: value for key, value in node.items() if key not in {"title", "$defs", "default"}}
        if "properties" in kept:
            kept["properties"] = {name: inline(each) for name, each in kept["properties"].items()}
        if "items" in kept:
            kept["items"] = inline(kept["items"])
        if "anyOf" in kept:
            kept["anyOf"] = [inline(each) for each in kept["anyOf"]]
        if "enum" in kept:
            kept["type"] = "string"
        if not kept.get("required", True):
            del kept["required"]
        return kept

    return inline(raw)


def decode(kind: type[A], schema: dict[str, Any], arguments: dict[str, Any]) -> A:
    """Parse what the model sent; stringified numbers, flags and lists pass, the rest raises ``ToolError`` by field."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name in arguments:
        if name not in fields:
            raise ToolError(_unknown(name, fields))
    given = {
        name: value for name, value in arguments.items() if value is not None or fields[name].required
    }  # fmt: skip
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        mended = {name: _unpacked(value, schema["properties"][name]) for name, value in given.items()}
        if mended != given:
            try:
                return msgspec.convert(mended, kind, strict=False)
            except msgspec.ValidationError as second:
                raise ToolError(_explain(second, schema, mended)) from None
        raise ToolError(_explain(error, schema, given)) from None


def nearest(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """Names that look like ``name``, best first."""
    known = list(names)
    close = difflib.get_close_matches(name, known, limit, 0.6)
    parts = [other for other in known if other not in close and (other in name or name in other)]
    return [*close, *parts][:limit] if name else []


def _unknown(name: str, known: Iterable[str]) -> str:
    """What to say to an argument that there isn't, with the nearest one and all that there are."""
    known = list(known)
    near = nearest(name, known)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{name}: unknown argument{hint} (arguments: {', '.join(known)})"


def _unpacked(value: Any, schema: dict[str, Any]) -> Any:
    """A list or object that came as JSON text, parsed; anything else as it was."""
    if isinstance(value, str) and schema.get("type") in {"array", "object"}:
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return value


def _explain(error: msgspec.ValidationError, schema: dict[str, Any], given: dict[str, Any]) -> str:
    """``path: expected string, got 5``, from msgspec's message and the schema at that place."""
    message = str(error)
    located = _LOCATION.search(message)
    where = located["where"] if located else ""
    missing = _MISSING.search(message)
    if missing:
        return f"{where + '.' if where else ''}{missing['name']}: missing"
    node, value = schema, cast("Any", given)
    for index, name in _STEP.findall(where):
        if name:
            node = node.get("properties", {}).get(name, {})
            value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        else:
            node = node.get("items", {})
            items = cast("list[Any]", value) if isinstance(value, list) else []
            # msgspec doesn't say which item it was; the first one that doesn't fit is the best guess.
            value = items[int(index)] if index.isdigit() and int(index) < len(items) else None
    if (unknown := _UNKNOWN.search(message)) and "properties" in node:
        return f"{where}.{_unknown(unknown['name'], node['properties'])}"
    expected = _expected(node)
    if not where or not expected:
        return message
    shown = msgspec.json.encode(value).decode()
    if len(shown) > _SHOWN_VALUE:
        shown = f"{shown[:_SHOWN_VALUE]}…"
    return f"{where}: expected {expected}, got {shown}"


def _expected(schema: dict[str, Any]) -> str:
    """What a schema asks for, in words; empty if it can't be said shortly."""
    if "enum" in schema:
        return "one of " + ", ".join(str(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(filter(None, (_expected(option) for option in schema["anyOf"])))
    return _TYPE_WORDS.get(schema.get("type", ""), "")


class BuiltIn(Generic[A]):
    """A tool of this package: ``propose`` and ``perform`` get decoded arguments. Fulfils ``core.tool.Tool``."""

    name: str = ""
    description: str = ""
    effect: Effect = "read"
    parallel: bool = False
    takes: type[A]
    """The arguments struct."""
    schema: dict[str, Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "takes" in cls.__dict__:
            cls.schema = schema_of(cls.takes)

    def check(self, arguments: dict[str, Any]) -> str | None:
        """Why the arguments don't fit the schema; None when they do."""
        try:
            decode(self.takes, self.schema, arguments)
        except ToolError as error:
            return str(error)
        return None

    def summarise(self, arguments: dict[str, Any]) -> str:
        """The argument summary of the panel title."""
        return summary.summarise(self.name, arguments)

    def intent(self, arguments: dict[str, Any], context: ToolContext) -> Intent:
        """What the call would do; may read files, so the engine calls it off the event loop."""
        return self.propose(decode(self.takes, self.schema, arguments), context)

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return await self.perform(decode(self.takes, self.schema, arguments), context)

    def propose(self, arguments: A, context: ToolContext) -> Intent:
        raise NotImplementedError

    async def perform(self, arguments: A, context: ToolContext) -> ToolResult:
        raise NotImplementedError
