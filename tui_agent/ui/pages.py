"""The lines of pages: help, cost, context, permissions, hooks, servers, this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_agent.config.sections import Config
from tui_agent.llm import credentials
from tui_agent.policy.remembered import Remembered
from tui_agent.ui import words
from tui_agent.ui.commands import COMMANDS
from tui_agent.ui.keys import Keymap
from tui_agent.ui.themes import depth_of
from tui_agent.ui.view import View
from tui_agent.ui.widgets.gauge import level
from tui_agent.ui.widgets.row import Line, Span

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

COLUMN = 26


def _head(text: str) -> list[Line]:
    return [([], []), ([(text, "title")], [])]


def _row(left: str, right: str, note: str = "", role: str = "content") -> Line:
    return [("  ", "text"), (left.ljust(COLUMN) + " ", role), (right, "text")], [
        (note, "dim")
    ] if note else []


def help_lines(keymap: Keymap, contexts: Sequence[str] = ()) -> list[Line]:
    """Every key that counts somewhere, from the keymap itself, and every command."""
    lines: list[Line] = []
    for group in keymap.help(contexts):
        lines += _head(group.title)
        lines += [_row(keys, what, role="key") for keys, what, _ in group.rows]
    lines += _head("Commands")
    for command in COMMANDS:
        lines.append(
            _row(f"/{command.name} {command.takes}".strip(), command.what, keymap.hint(command.action), "key")
        )
    return lines[1:]


def theme_lines() -> list[Line]:
    """A little of everything, to see a theme by."""
    lines: list[Sequence[Span]] = [
        [("▌ ", "user-mark"), ("make the retry test pass", "user")],
        [],
        [("  It is read ", "assistant"), ("before", "strong"), (" the lock: ", "assistant"), ("now()", "code-inline")],
        [],
        [("  ✓ ", "ok"), ("edit_file   ", "tool-name"), ("src/retry.py", "tool-target")],
        [("  │ ", "tool-mark"), ("- now = time.time()   ", "diff-del")],
        [("  │ ", "tool-mark"), ("+ with self._lock:    ", "diff-add")],
        [("  │ ⚠ ", "hook-fail"), ("ruff  1 problem", "hook")],
        [("  ● ", "running"), ("run_command ", "tool-name"), ("pytest -q", "tool-target"), (" · 14 s", "dim")],
        [("  ✗ ", "error"), ("it failed  ", "error"), ("⊘ denied  ", "denied"), ("UNTRUSTED", "untrusted")],
        [],
        [("  ctx ", "dim"), ("▓▓▓▓", "gauge-ok"), ("▓▓", "gauge-warn"), ("▓", "gauge-full"), ("░░░░░", "gauge-empty"), (" 43 %", "text")],
        [("  enter", "key"), (" send · ", "dim"), ("a link", "link")],
    ]  # fmt: skip
    return [(spans, []) for spans in lines]


def cost_lines(view: View) -> list[Line]:
    """Where the money went."""
    gauges, meters = view.gauges, view.meters
    lines = [
        _row(
            "this session",
            words.cost(gauges.session, gauges.session_unknown),
            words.count(meters.total.calls, "model call"),
        ),
        _row("this turn", words.cost(gauges.turn, gauges.turn_unknown)),
        _row("budget", words.money(gauges.budget) if gauges.budget else "none", "/budget AMOUNT sets one"),
        _row("tokens sent", f"{meters.input_tokens:,}", f"{meters.cached_tokens:,} from the cache"),
        _row(
            "tokens received", f"{meters.output_tokens:,}", f"{meters.reasoning_tokens:,} of them reasoning"
        ),
    ]
    if gauges.session_unknown:
        calls = words.count(gauges.session_unknown, "call")
        lines.append(_row("price unknown", calls, "set models.NAME.price in the config", "warn"))
    if meters.by_purpose:
        lines += _head("by purpose")
        lines += [
            _row(purpose.replace("_", " "), words.cost(m.known, m.unknown), words.count(m.calls, "call"))
            for purpose, m in meters.by_purpose.items()
        ]
    if len(meters.by_model) > 1:
        lines += _head("by model")
        lines += [
            _row(name, words.cost(m.known, m.unknown), words.count(m.calls, "call"))
            for name, m in meters.by_model.items()
        ]
    return lines


def context_lines(view: View) -> list[Line]:
    """What the next request is made of, as far as the log says."""
    gauges, meters = view.gauges, view.meters
    window = f" of {gauges.window:,}" if gauges.window else ""
    how = (
        "counted, checked against the provider"
        if gauges.exact
        else "counted, not yet checked against the provider"
    )
    lines: list[Line] = [([(f"{gauges.used:,} tokens{window}", level(gauges.share))], [(how, "dim")])]
    if gauges.window:
        filled = min(round(gauges.share * 60), 60)
        lines.append(([("▓" * filled, level(gauges.share)), ("░" * (60 - filled), "gauge-empty")], []))
    lines.append(([], []))
    fixed = 0
    for name, tokens in meters.parts:
        fixed += tokens
        lines.append(_row(name, f"{tokens:>9,}"))
    if meters.tools_tokens:
        fixed += meters.tools_tokens
        lines.append(_row("tools", f"{meters.tools_tokens:>9,}"))
    if gauges.used > fixed:
        lines.append(_row("conversation", f"{gauges.used - fixed:>9,}"))
    if gauges.cached >= 0:
        lines.append(_row("last request", f"{gauges.cached * 100:>7.0f} % from the cache"))
    return lines


def permission_lines(app: TuiAgentApp) -> list[Line]:
    """The rules of the config, those that the person allowed while asked, and the mode that decides elsewhere."""
    permissions, view = app.config.permissions, app.main.view
    file = app.settings.loaded.paths.state_dir / "approvals.json"
    saved = Remembered(file, app.cwd).rules()
    lines = [_row("confirm mode", view.meters.confirm, "/confirm changes it")]
    for name, rules in (("allow", permissions.allow), ("ask", permissions.ask), ("deny", permissions.deny)):
        lines += _head(
            f"{name}: {'wins over all' if name == 'deny' else 'wins over allow' if name == 'ask' else 'not asked'}"
        )
        lines += [_row(rule, "") for rule in rules] or [_row("no rule", "", role="dim")]
    lines += _head(f"allowed always, in this project: {len(saved) or 'no rule'}")
    lines += [_row(rule, "") for rule in saved]
    if saved:
        lines.append(_row("saved in", str(file), role="dim"))
        lines.append(
            _row("", "a rule taken out of it is asked about again from the next session on", role="dim")
        )
    session = [rule for rule in view.run.allowed if rule not in saved]
    lines += _head(f"allowed for this session: {len(session) or 'no rule'}")
    return [*lines, *(_row(rule, "") for rule in session)]


def hook_lines(config: Config, view: View) -> list[Line]:
    """The hooks after edits, and how they fared in this session."""
    lines: list[Line] = []
    for hook in config.hooks.post_edit:
        runs = [row for row in view.tools.hook_runs if row.name == hook.name]
        failed = sum(row.status != "ok" for row in runs)
        fared = f"{words.count(len(runs), 'run')}, {failed} failed" if runs else "did not run"
        state = fared if hook.enabled else "off"
        lines.append(
            _row(
                hook.name,
                hook.command,
                f"{' '.join(hook.file_patterns)} · {state}",
                "content" if hook.enabled else "dim",
            )
        )
    return lines or [_row("no hook", "hooks.post_edit in the config adds one", role="dim")]


def mcp_lines(config: Config, tools: Sequence[str]) -> list[Line]:
    """The servers of the config and the tools that came from them."""
    lines: list[Line] = []
    for name, server in config.mcp.servers.items():
        own = [tool.removeprefix(f"mcp__{name}__") for tool in tools if tool.startswith(f"mcp__{name}__")]
        where = server.url or " ".join([server.command or "", *server.args])
        state = "off" if not server.enabled else words.count(len(own), "tool")
        lines.append(_row(name, where, state))
        lines += [_row(f"  {tool}", "", role="dim") for tool in own]
    return lines or [_row("no server", "mcp.servers in the config adds one", role="dim")]


def doctor_lines(app: TuiAgentApp) -> list[Line]:
    """What this terminal and this machine can do; keys are named, never shown."""
    environ = os.environ
    lines = [
        _row("terminal", environ.get("TERM_PROGRAM") or environ.get("TERM", "?")),
        _row(
            "colours",
            {"none": "none (NO_COLOR)", "16": "16", "256": "256", "true": "16 million"}[depth_of(environ)],
        ),
        _row("theme", app.theme_name),
        _row("size", f"{app.size.width}×{app.size.height}"),
        _row("python", sys.version.partition(" ")[0]),
    ]
    lines += [_row(tool, shutil.which(tool) or "not found") for tool in ("git", "rg")]
    lines += _head("keys in the environment")
    found = credentials.present()
    lines += [_row(provider, f"{variable} is set") for provider, variable in found] or [
        _row("none", "", role="dim")
    ]
    lines += _head("files")
    paths = app.settings.loaded.paths
    for name, path in (
        ("config", paths.config_file),
        ("sessions", paths.sessions_dir),
        ("log", paths.log_file),
    ):
        lines.append(_row(name, str(path), "" if path.exists() else "not there yet"))
    return lines
