"""What an agent works with: the parts it is given, so that the loop itself builds nothing and tests can swap any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tui_agent.config.sections import Config
from tui_agent.core.events import Event, Mode
from tui_agent.core.messages import Message
from tui_agent.engine.ratelimits import RateLimits
from tui_agent.engine.world import World
from tui_agent.llm.api import Model, ModelSpec, ReportedUsage, ToolSchema
from tui_agent.policy.permissions import Rules
from tui_agent.tools.registry import Registry


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The rendered system prompt, its pieces as (name, tokens), and what a person should know of what was left out."""

    text: str
    parts: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Kit:
    """``rules`` may grow (a person's "always"); everything else stays as it is for the session."""

    world: World
    config: Config
    workspace: Path
    session_dir: Path
    model: Model
    registry: Registry
    rules: Rules
    resolve: Callable[[str], ModelSpec]
    """Name or alias to a callable model; raises ConfigError."""
    render_system: Callable[[ModelSpec, Mode, str], SystemPrompt]
    """Build the system prompt for a model, a mode and a request; reads files, so it is called in a thread."""
    cost: Callable[[ModelSpec, ReportedUsage], float | None]
    count: Callable[[str], int]
    """Tokens of a text, uncalibrated."""
    count_message: Callable[[Message], int]
    count_tools: Callable[[tuple[ToolSchema, ...]], int]
    rate_limits: RateLimits
    account: Callable[[ModelSpec], str]
    """What a rate limit belongs to: a model at its address."""
    demo: bool = False
    dry_run: bool = False
    interactive: bool = True
    hook_environ: dict[str, str] | None = None
    """What hooks see of the environment: no provider keys, as they may run what the model wrote. None: all of it."""
    read_log: Callable[[], Iterable[Event]] | None = None
    """The session's events so far, from disk; None when nothing is kept."""
    remember_rule: Callable[[str], None] = lambda _rule: None
    """Keep a person's "always" beyond the session."""
    seen: dict[str, str] = field(default_factory=lambda: {})
    """Fingerprints of files as the session last read or wrote them."""
