"""Every key of the configuration: what it means, what it accepts, its names as a flag and in the environment.

The types and defaults are in ``sections.py``; here is what types can't say. ``docs/configuration.md`` follows this table,
and a test compares them.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from tui_agent.config.sections import Config, Section

ENV_PREFIX = "TUI_AGENT_"


@dataclass(frozen=True, slots=True)
class Key:
    """``means`` is one sentence; ``what`` completes "expected …"; a number is at least ``low``, above ``above``, at most ``high``."""

    means: str
    what: str
    low: float | None = None
    above: float | None = None
    high: float | None = None
    may_be_empty: bool = False
    secret: bool = False

    @property
    def bounds(self) -> str:
        """The allowed range in words, empty if any number will do."""
        words = [
            f"from {self.low:g}" if self.low is not None else "",
            f"above {self.above:g}" if self.above is not None else "",
            f"up to {self.high:g}" if self.high is not None else "",
        ]
        return " ".join(word for word in words if word)


def _number(
    means: str, what: str, low: float | None = None, above: float | None = None, high: float | None = None
) -> Key:
    return Key(means, what, low, above, high)


_SECONDS = "a number of seconds"
_TOKENS = "a whole number of tokens"
_STEPS = "a whole number of steps"
_PRICE = "a price in USD per million tokens"
_RULES = "a list of rules such as run_command(pytest *)"
_NAMES = "a list of model names or aliases"

KEYS: dict[str, Key] = {
    "model": Key("The model that works: a litellm name or an alias from `models`.", "a model name or an alias"),
    "mode": Key("What the agent may do at the start: `plan` reads only, `build` does all, `mixed` plans first.", "a mode"),
    "models": Key("Aliases: short names for models, with where and how to reach them.", "aliases and their models"),
    "models.*": Key("One alias.", "the settings of a model"),
    "models.*.name": Key("The litellm name, `provider/model`.", "a litellm name such as openai/gpt-5-mini"),
    "models.*.api_base": Key("Address of the server, for a local model or a proxy.", "an address that begins with http:// or https://"),
    "models.*.api_key_env": Key("Name of the environment variable that holds the key.", "the name of an environment variable (not a key)"),
    "models.*.key_command": Key("Command that prints the key; run before a call when the key is not in the environment.", "a command that prints a key"),
    "models.*.context_window": _number("Size of the window, if the program does not know the model.", _TOKENS, low=1),
    "models.*.max_output": _number("Longest reply.", _TOKENS, low=1),
    "models.*.price": Key("Prices, if the program does not know the model.", "prices: {input: …, output: …}"),
    "models.*.price.input": _number("Price of a million input tokens.", _PRICE, low=0),
    "models.*.price.output": _number("Price of a million output tokens.", _PRICE, low=0),
    "models.*.price.cached": _number("Price of a million input tokens read from the provider's cache.", _PRICE, low=0),
    "models.*.price.cache_write": _number("Price of a million input tokens written to the provider's cache.", _PRICE, low=0),
    "models.*.reasoning_effort": Key("How long the model may think, in the provider's own words.", "a word such as low, medium or high"),
    "models.*.temperature": _number("Sampling temperature; left to the provider if not set.", "a temperature", low=0, high=2),
    "fallbacks": Key("Models to go on with, in order, when the first one fails.", _NAMES),
    "routing": Key("Choice of the model by the message, when none was chosen by hand.", "the settings of routing"),
    "routing.enabled": Key("Whether to choose.", "true or false"),
    "routing.fast": Key("Model for short, simple messages.", "a model name or an alias"),
    "routing.smart": Key("Model for hard ones.", "a model name or an alias"),
    "moa": Key("Reference models that answer in parallel, as drafts for the acting model (at most 8).", _NAMES),
    "limits": Key("Where a run ends by itself.", "limits"),
    "limits.max_steps": _number("Model calls of one run.", _STEPS, low=1),
    "limits.hard_max_steps": _number("Ceiling that extensions can't pass.", _STEPS, low=1),
    "limits.extend_by": _number("Steps that one extension adds.", _STEPS, low=1),
    "limits.budget_usd": _number("Most that one run may cost.", "an amount in USD", above=0),
    "limits.timeout": _number("Longest time of one run.", _SECONDS, above=0),
    "limits.step_timeout": _number("Longest time of one model call.", _SECONDS, above=0),
    "limits.stall_timeout": _number("Longest silence of a model before the call is tried again.", _SECONDS, above=0),
    "limits.interrupt_grace": _number("Time a running tool has to finish after ctrl+c.", _SECONDS, low=0),
    "context": Key("What is sent to the model, and when it is shortened.", "the settings of the context"),
    "context.max_context_tokens": _number("Use only this much of the model's window (not set, or 0: all of it).", _TOKENS, low=0),
    "context.max_tool_result_tokens": _number("Longest tool result that the model sees whole (0: no limit).", _TOKENS, low=0),
    "context.summarize_after_steps": _number("Exchanges before older ones may be summarised.", "a whole number of exchanges", low=0),
    "context.keep_recent": _number("Latest exchanges that are never summarised.", "a whole number of exchanges", low=1),
    "context.compact_at": _number("Share of the window from which older exchanges are summarised.", "a share of the window", above=0, high=1),
    "context.critical_at": _number("Share of the window at which a run ends, if summarising did not help.", "a share of the window", above=0, high=1),
    "context.parallel_tools": Key("Whether tool calls that can't disturb each other run at once.", "true or false"),
    "queues": Key("Messages that wait while the agent works.", "the settings of queues"),
    "queues.steering": Key("Steering messages delivered before the next model call.", "a number of messages"),
    "queues.follow_up": Key("Follow-ups delivered when the agent would have stopped.", "a number of messages"),
    "permissions": Key("What the agent may do without asking.", "the settings of permissions"),
    "permissions.mode": Key("When to ask: never, before what changes something, or always.", "a mode"),
    "permissions.allow": Key("Rules for calls that need no question.", _RULES),
    "permissions.ask": Key("Rules for calls that always need one.", _RULES),
    "permissions.deny": Key("Rules for calls that are refused; they win over all others.", _RULES),
    "hooks": Key("Your own commands around the agent's edits.", "the settings of hooks"),
    "hooks.post_edit": Key("Commands to run after a file was edited; their output goes to the model.", "a list of hooks"),
    "hooks.post_edit[]": Key("One hook.", "a hook: {name: …, command: …}"),
    "hooks.post_edit[].name": Key("Its name on the screen.", "a name"),
    "hooks.post_edit[].command": Key("The shell command; `{file}` is the edited file, quoted.", "a shell command"),
    "hooks.post_edit[].file_patterns": Key("Which files it is for.", 'a list of file patterns such as "*.py"'),
    "hooks.post_edit[].timeout": _number("Longest time it may take.", _SECONDS, above=0),
    "hooks.post_edit[].enabled": Key("Whether it runs.", "true or false"),
    "sessions": Key("What is kept.", "the settings of sessions"),
    "sessions.auto_save": Key("Whether sessions are written to disk.", "true or false"),
    "sessions.keep_days": _number("Days after which sessions are removed (0: never).", "a whole number of days", low=0),
    "self_eval": Key("Whether a model reviews the result: not at all, once, or with corrections.", "a kind of review"),
    "ui": Key("The screen.", "the settings of the screen"),
    "ui.theme": Key("Name of a theme; `auto` is dark or light like the terminal.", "the name of a theme"),
    "ui.language": Key("Language of the trace lines.", "a language"),
    "ui.mouse": Key("Whether the mouse is used.", "true or false"),
    "ui.reduced_motion": Key("Whether nothing pulses or slides.", "true or false"),
    "ui.show_reasoning": Key("How a model's reasoning is shown.", "a way to show reasoning"),
    "ui.notify": Key("When the terminal is asked to notify you.", "a time to notify"),
    "mcp": Key("Tools from MCP servers.", "the settings of MCP"),
    "mcp.servers": Key("The servers by name.", "servers by name"),
    "mcp.servers.*": Key("One server: a command to start, or an address.", "the settings of a server"),
    "mcp.servers.*.command": Key("Program to start; it speaks MCP on its standard input and output.", "a program"),
    "mcp.servers.*.args": Key("Its arguments.", "a list of arguments"),
    "mcp.servers.*.args[]": Key("One argument.", "text", may_be_empty=True),
    "mcp.servers.*.env": Key("Environment variables it gets beside yours.", "names and values"),
    "mcp.servers.*.env.*": Key("Value of one variable; never shown.", "text", may_be_empty=True, secret=True),
    "mcp.servers.*.url": Key("Address of a server that runs already.", "an address that begins with http:// or https://"),
    "mcp.servers.*.enabled": Key("Whether it is used.", "true or false"),
}  # fmt: skip

FLAGS: dict[str, str] = {
    "model": "--model",
    "mode": "--mode",
    "permissions.mode": "--confirm",
    "limits.budget_usd": "--budget",
    "limits.max_steps": "--max-steps",
    "limits.timeout": "--timeout",
    "limits.step_timeout": "--step-timeout",
    "ui.theme": "--theme",
    "ui.language": "--language",
    "self_eval": "--self-eval",
}
"""Options of the command line by the key they set."""

RESERVED_ENV: frozenset[str] = frozenset({
    "TUI_AGENT_HOME", "TUI_AGENT_CONFIG", "TUI_AGENT_KEYBINDINGS", "TUI_AGENT_EDITED_FILE", "TUI_AGENT_SESSION_ID",
    "TUI_AGENT_DEMO_SPEED",
})  # fmt: skip
"""Variables of the program that are no settings."""

ANY = Key("", "a value")
"""Stands in for a key that the table lacks."""

Shape = Literal["section", "table", "list", "choice", "bool", "int", "float", "text"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of ``sections.py`` as the reader needs it; ``inner`` is the type of a table's or list's values."""

    shape: Shape
    optional: bool = False
    section: type[Section] | None = None
    inner: Any = None
    choices: tuple[str, ...] = ()


def kind_of(annotation: Any) -> Kind:
    """Describe the type of one field."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        (inner,) = (arg for arg in args if arg is not type(None))
        known = kind_of(inner)
        return Kind(known.shape, True, known.section, known.inner, known.choices)
    if origin is Literal:
        return Kind("choice", choices=tuple(str(arg) for arg in args))
    if origin is tuple:
        return Kind("list", inner=args[0])
    if origin is dict:
        return Kind("table", inner=args[1])
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return Kind("section", section=annotation)
    shapes: dict[Any, Shape] = {bool: "bool", int: "int", float: "float", str: "text"}
    return Kind(shapes[annotation])


def fields(section: type[Section]) -> dict[str, msgspec.structs.FieldInfo]:
    """The fields of a section by name."""
    return {info.name: info for info in msgspec.structs.fields(section)}


def leaves(section: type[Section] = Config, prefix: str = "") -> Iterator[tuple[str, Kind, Any]]:
    """Every key that holds a value as (pattern, kind, default); ``*`` stands for a name, ``[]`` for a list's item.

    The default of a required key is ``msgspec.NODEFAULT``. Tables and lists come before what is in them.
    """
    for name, info in fields(section).items():
        key, kind = prefix + name, kind_of(info.type)
        default = info.default_factory() if info.default_factory is not msgspec.NODEFAULT else info.default
        if kind.section is not None:
            if kind.optional:
                yield key, kind, default
            yield from leaves(kind.section, key + ".")
            continue
        yield key, kind, default
        inner = kind_of(kind.inner) if kind.inner is not None else kind
        mark = {"table": ".*", "list": "[]"}.get(kind.shape, "")
        if inner.section is not None:
            yield from leaves(inner.section, f"{key}{mark}.")


def env_name(key: str) -> str:
    """The environment variable of a key: ``limits.max_steps`` is ``TUI_AGENT_LIMITS__MAX_STEPS``."""
    return ENV_PREFIX + key.replace(".", "__").upper()


def short_env_name(key: str) -> str:
    """The variable named like the key's option (``--max-steps``: ``TUI_AGENT_MAX_STEPS``), or an empty string."""
    flag = FLAGS.get(key, "")
    return ENV_PREFIX + flag[2:].replace("-", "_").upper() if flag else ""
