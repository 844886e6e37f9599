"""The configuration as types: every key, its default and its unit. ``load`` in ``config/load.py`` fills it."""

from __future__ import annotations

from typing import Literal

import msgspec

from tui_agent.core.events import ConfirmMode, Mode


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all sections: unknown keys are errors."""


class Price(Section):
    """USD per million tokens."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None


class ModelEntry(Section):
    """An alias: a litellm name and where and how to reach it."""

    name: str
    api_base: str | None = None
    api_key_env: str | None = None
    key_command: str | None = None
    context_window: int | None = None
    max_output: int | None = None
    price: Price | None = None
    reasoning_effort: str | None = None
    temperature: float | None = None


class Routing(Section):
    """Choice of the model by the message, when none was chosen by hand."""

    enabled: bool = False
    fast: str | None = None
    smart: str | None = None


class Limits(Section):
    """Limits of a run. USD, seconds; null = no limit."""

    max_steps: int = 50
    hard_max_steps: int = 100
    extend_by: int = 10
    budget_usd: float | None = None
    timeout: float | None = None
    step_timeout: float = 300
    stall_timeout: float = 60
    interrupt_grace: float = 5


class ContextSection(Section):
    """Sizes in tokens; 0 or null = the model's window / off."""

    max_context_tokens: int | None = None
    max_tool_result_tokens: int = 2000
    summarize_after_steps: int = 8
    keep_recent: int = 4
    compact_at: float = 0.75
    critical_at: float = 0.95
    parallel_tools: bool = True


class Queues(Section):
    """How many waiting messages are delivered at a time."""

    steering: Literal["all", "one"] = "all"
    follow_up: Literal["all", "one"] = "one"


class Permissions(Section):
    """Rules are ``tool`` or ``tool(pattern)``; deny wins over ask, ask over allow."""

    mode: ConfirmMode = "confirm-sensitive"
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Hook(Section):
    """A command run after a file was edited; ``{file}`` is replaced by its shell-quoted path. Seconds."""

    name: str
    command: str
    file_patterns: tuple[str, ...] = ("*",)
    timeout: float = 10
    enabled: bool = True


class Hooks(Section):
    post_edit: tuple[Hook, ...] = ()


class Sessions(Section):
    """``keep_days`` 0: kept for ever."""

    auto_save: bool = True
    keep_days: int = 0


class Ui(Section):
    theme: str = "auto"
    language: Literal["en", "es"] = "en"
    mouse: bool = True
    reduced_motion: bool = False
    show_reasoning: Literal["folded", "open", "hidden"] = "folded"
    notify: Literal["never", "unfocused", "always"] = "unfocused"


class McpServer(Section):
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    enabled: bool = True


class Mcp(Section):
    servers: dict[str, McpServer] = {}


class Config(Section):
    """The whole effective configuration."""

    model: str | None = None
    mode: Mode = "build"
    models: dict[str, ModelEntry] = {}
    fallbacks: tuple[str, ...] = ()
    routing: Routing = Routing()
    moa: tuple[str, ...] = ()
    limits: Limits = Limits()
    context: ContextSection = ContextSection()
    queues: Queues = Queues()
    permissions: Permissions = Permissions()
    hooks: Hooks = Hooks()
    sessions: Sessions = Sessions()
    self_eval: Literal["off", "basic", "full"] = "off"
    ui: Ui = Ui()
    mcp: Mcp = Mcp()
