"""Rules as people write them, ``tool`` or ``tool(pattern)``, and what a pattern matches."""

from __future__ import annotations

import posixpath
import re
import sys
from functools import lru_cache
from pathlib import Path

import msgspec

from tui_agent.core.errors import ConfigError

_SYNTAX = re.compile(r"\s*([\w*?.:-]+)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_WILD = re.compile(r"[*?]")

PROTECTED = (".git", ".tui-agent")
"""Folders that decide what runs later (git's hooks, our own rules and hooks); only a pattern that names them allows them."""


class Rule(msgspec.Struct, frozen=True):
    """One rule; ``pattern`` None means every use of the tool. ``tool`` may be a glob, or an effect such as ``write``."""

    text: str
    tool: str
    pattern: str | None = None

    @property
    def literal(self) -> bool:
        """True if the pattern stands for itself only."""
        return self.pattern is not None and not _WILD.search(self.pattern)

    @property
    def everything(self) -> bool:
        """True if no use of the tool is left out."""
        return self.pattern in (None, "*", "**")

    def names(self, tool: str, effect: str) -> bool:
        """True if the rule is about this tool, by its name or by its effect."""
        return self.tool in (tool, effect) or bool(command_glob(self.tool).fullmatch(tool))


def parse_rule(text: str, where: str = "") -> Rule:
    """Read one rule; raises ``ConfigError`` with an example of how it should look."""
    match = _SYNTAX.fullmatch(text)
    if match is None:
        raise ConfigError(
            f'"{text}" is no rule: write a tool, such as read_file, or tool(pattern), such as run_command(pytest *)',
            where=where,
        )
    tool, pattern = match[1], match[2]
    return Rule(text.strip(), tool, None if pattern is None else pattern.strip())


@lru_cache(1024)
def command_glob(pattern: str) -> re.Pattern[str]:
    """A pattern over one shell command: ``*`` is anything, ``?`` one character; ``pytest *`` is also ``pytest`` alone."""
    bare = pattern.removesuffix(" *")
    body = "".join(".*" if char == "*" else "." if char == "?" else re.escape(char) for char in bare)
    return re.compile(body + ("(?: .*)?" if bare != pattern else ""), re.DOTALL)


@lru_cache(1024)
def path_glob(pattern: str) -> re.Pattern[str]:
    """A pattern over a path: ``*`` stays within a folder, ``**`` crosses folders, ``~`` is the home folder."""
    if pattern == "~" or pattern.startswith("~/"):
        pattern = str(Path.home()) + pattern[1:]
    pattern = pattern.removeprefix("./")
    if pattern.endswith("/"):
        pattern += "**"
    ending = ""
    if pattern.endswith("/**"):
        pattern, ending = pattern[:-3], "(?:/.*)?"
    body, at = "", 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            body, at = body + "(?:.*/)?", at + 3
        elif pattern.startswith("**", at):
            body, at = body + ".*", at + 2
        else:
            body, at = body + _path_char(pattern[at]), at + 1
    flags = re.DOTALL | (re.IGNORECASE if sys.platform == "darwin" else 0)
    return re.compile(body + ending, flags)


def _path_char(char: str) -> str:
    if char == "*":
        return "[^/]*"
    return "[^/]" if char == "?" else re.escape(char)


def matches_path(rule: Rule, path: str, *, strict: bool) -> bool:
    """True if the rule is about a path (workspace-relative, or absolute when outside).

    ``strict`` is for allowing: a bare name such as ``.env`` is then the one at the top only, and protected folders and
    paths outside must be named. Without it, for asking and denying, a bare name is meant in every folder.
    """
    path = posixpath.normpath(path)
    pattern = rule.pattern
    if pattern is None:
        return not strict or not (path.startswith("/") or _protected(path))
    if strict:
        if path.startswith("/") and not pattern.startswith(("/", "~")):
            return False
        if _protected(path) and not pattern.startswith(PROTECTED):
            return False
        return bool(path_glob(pattern).fullmatch(path))
    if path_glob(pattern).fullmatch(path):
        return True
    return "/" not in pattern and any(path_glob(pattern).fullmatch(part) for part in path.split("/"))


def _protected(path: str) -> bool:
    return path.split("/", 1)[0] in PROTECTED
