"""Slash commands and the palette: one registry. A command is an action of the keymap, or takes words of its own."""

from __future__ import annotations

import msgspec


class SlashCommand(msgspec.Struct, frozen=True):
    """``/name``: what it does, and the action that does it (empty: ``CommandRunner`` has a method of that name).

    ``takes`` names what may follow; an action is only used when nothing does.
    """

    name: str
    what: str
    action: str = ""
    takes: str = ""


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("help", "all keys and commands", "app.help"),
    SlashCommand("model", "choose the model", "models.open", "NAME"),
    SlashCommand("mode", "plan, build or mixed", takes="plan|build|mixed"),
    SlashCommand("confirm", "what is asked before it is done", takes="confirm-sensitive|confirm-all|yolo"),
    SlashCommand("theme", "choose the theme", "themes.open", "NAME"),
    SlashCommand("compact", "summarise older exchanges now", "context.compact", "what to keep"),
    SlashCommand("context", "what the next request is made of", "context.open"),
    SlashCommand("cost", "what this session has cost", "budget.open"),
    SlashCommand("budget", "limit what this session may cost", takes="USD|off"),
    SlashCommand("steps", "limit the steps of a run", takes="N"),
    SlashCommand("extend", "raise the limit that was reached", takes="AMOUNT"),
    SlashCommand("sessions", "open, search, replay or fork a session", "sessions.open"),
    SlashCommand("resume", "go on with another session", "sessions.open", "ID"),
    SlashCommand("fork", "go on in a copy of this session", "session.fork"),
    SlashCommand("rewind", "take back a part of the conversation", "session.rewind"),
    SlashCommand("replay", "watch this session from the start", "session.replay"),
    SlashCommand("rename", "give this session a title", "session.rename", "TITLE"),
    SlashCommand("export", "write this session to a file", "session.export", "FILE"),
    SlashCommand("clear", "begin a new session; this one is kept", "session.new"),
    SlashCommand("retry", "ask again for the last answer", "agent.retry"),
    SlashCommand("continue", "go on without a new text", "agent.continue"),
    SlashCommand("diff", "files changed in this session", "sidebar.changes"),
    SlashCommand("hooks", "the hooks and how they fared", "hooks.open"),
    SlashCommand("mcp", "the servers and their tools", "mcp.open"),
    SlashCommand("permissions", "what is allowed, asked and denied", "permissions.open"),
    SlashCommand("memory", "what is remembered", "sidebar.memory"),
    SlashCommand("copy", "copy the last answer", "reply.copy"),
    SlashCommand("trace", "one line a happening", "trace.toggle"),
    SlashCommand("keys", "all keys", "app.help"),
    SlashCommand("doctor", "what this terminal and this machine can do"),
    SlashCommand("quit", "leave; the session is kept", "app.quit"),
)
"""Every command, in the order of the help."""

BY_NAME = {command.name: command for command in COMMANDS}


def parse(text: str) -> tuple[str, str] | None:
    """``/name words`` as (name, words); None if the text is no command (a path such as ``/etc/hosts`` is none)."""
    if not text.startswith("/") or "\n" in text.strip():
        return None
    name, _, words = text.strip()[1:].partition(" ")
    if not name or "/" in name:
        return None
    return name.lower(), words.strip()
