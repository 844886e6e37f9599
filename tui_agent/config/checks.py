"""What no single value shows: settings that contradict each other or name something that does not exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tui_agent.config.nearest import did_you_mean
from tui_agent.config.read import join
from tui_agent.config.sections import Config
from tui_agent.config.yamlfile import visible

Fault = tuple[str, str]
"""Where (``context.compact_at``) and what is wrong."""

MOA_MOST = 8
"""Reference models of one Mixture of Agents; each is a whole model call."""

_RULE = re.compile(r"\s*[\w*?.:-]+\s*(?:\(.*\)\s*)?", re.DOTALL)


def faults(config: Config) -> list[Fault]:
    """Return every contradiction of a configuration whose single values are all valid."""
    return [fault for check in CHECKS for fault in check(config)]


def _steps(config: Config) -> Iterator[Fault]:
    limits = config.limits
    if limits.max_steps > limits.hard_max_steps:
        yield (
            "limits.max_steps",
            f"is {limits.max_steps}, above limits.hard_max_steps ({limits.hard_max_steps})",
        )


def _thresholds(config: Config) -> Iterator[Fault]:
    context = config.context
    if context.compact_at >= context.critical_at:
        yield (
            "context.compact_at",
            f"is {context.compact_at:g}, not below context.critical_at ({context.critical_at:g}): "
            "a run would end before older exchanges are summarised",
        )


def _model_names(config: Config) -> Iterator[Fault]:
    named = [
        *((f"fallbacks[{at}]", name) for at, name in enumerate(config.fallbacks)),
        *((f"moa[{at}]", name) for at, name in enumerate(config.moa)),
        ("routing.fast", config.routing.fast),
        ("routing.smart", config.routing.smart),
        ("model", config.model),
    ]
    for where, name in named:
        if name is None or name in config.models or _may_be_a_model(name, bare=where == "model"):
            continue
        yield (
            where,
            f'"{visible(name, 40)}" is no alias from models, and no litellm name (provider/model)'
            + did_you_mean(name, config.models),
        )


def _may_be_a_model(name: str, *, bare: bool) -> bool:
    """True unless a name can only be a mistyped alias; some models are called without their provider, e.g. ``gpt-4o``."""
    if any(char.isspace() for char in name):
        return False
    return bare or "/" in name or "-" in name or any(char.isdigit() for char in name)


def _moa(config: Config) -> Iterator[Fault]:
    if len(config.moa) > MOA_MOST:
        yield "moa", f"names {len(config.moa)} models; {MOA_MOST} is the most"


def _rules(config: Config) -> Iterator[Fault]:
    permissions = config.permissions
    for name, rules in (("allow", permissions.allow), ("ask", permissions.ask), ("deny", permissions.deny)):
        for at, rule in enumerate(rules):
            if not _RULE.fullmatch(rule):
                yield (
                    f"permissions.{name}[{at}]",
                    f'expected tool or tool(pattern), got "{visible(rule, 60)}"',
                )


def _hooks(config: Config) -> Iterator[Fault]:
    seen: dict[str, int] = {}
    for at, hook in enumerate(config.hooks.post_edit):
        where = f"hooks.post_edit[{at}]"
        if hook.name in seen:
            yield (
                f"{where}.name",
                f'"{visible(hook.name, 40)}" is already the name of hooks.post_edit[{seen[hook.name]}]',
            )
        seen.setdefault(hook.name, at)
        if not hook.file_patterns:
            yield f"{where}.file_patterns", 'is empty, so the hook never runs; write ["*"] or enabled: false'


def _servers(config: Config) -> Iterator[Fault]:
    for name, server in config.mcp.servers.items():
        where = join("mcp.servers", name)
        if (server.command is None) == (server.url is None):
            yield (
                where,
                "needs a command or a url"
                if server.command is None
                else "has a command and a url; only one can be used",
            )
        elif server.url is not None and (server.args or server.env):
            yield where, "has a url, so args and env are of no use"


CHECKS: tuple[Callable[[Config], Iterator[Fault]], ...] = (
    _steps, _thresholds, _model_names, _moa, _rules, _hooks, _servers,
)  # fmt: skip
