"""Who may do what: a verdict for every intent, from the person's rules and the confirm mode."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from tui_agent.config.sections import Permissions
from tui_agent.core.events import ConfirmMode, Mode
from tui_agent.core.tool import Intent
from tui_agent.policy import shell, suggestions
from tui_agent.policy.rules import Rule, command_glob, matches_path, parse_rule, path_glob
from tui_agent.policy.shell import Part, Script

Action = Literal["allow", "ask", "deny"]

_DOING = {
    "read": "reading",
    "write": "writing",
    "execute": "running commands",
    "network": "reaching the network",
}
_REDIRECT = "write_file"
"""A redirection to a file is judged by the rules for this tool (or for the effect ``write``)."""


class Verdict(msgspec.Struct, frozen=True):
    """``why`` names the rule or the mode, ``rule`` is what "always" would add (empty: not offered), ``default`` the safe answer."""

    action: Action
    why: str
    rule: str = ""
    default: Literal["once", "deny"] = "once"


class Coverage(msgspec.Struct, frozen=True):
    """How a new rule would have answered past questions: ``covered`` of ``asked``, ``denied`` of them against the person's no."""

    covered: int
    asked: int
    denied: int


class Rules:
    """The rules of one session. Deny wins over ask, ask over allow, and any rule over the mode."""

    def __init__(self, permissions: Permissions | None = None) -> None:
        """Raises ``ConfigError`` that names the entry when a rule can't be read."""
        permissions = permissions or Permissions()
        self.permissions = permissions
        self.allow = tuple(
            parse_rule(text, f"permissions.allow[{at}]") for at, text in enumerate(permissions.allow)
        )
        self.ask = tuple(
            parse_rule(text, f"permissions.ask[{at}]") for at, text in enumerate(permissions.ask)
        )
        self.deny = tuple(
            parse_rule(text, f"permissions.deny[{at}]") for at, text in enumerate(permissions.deny)
        )

    def with_rule(self, text: str, action: Action = "allow") -> Rules:
        """These rules and one more."""
        rules = (*getattr(self.permissions, action), text)
        return Rules(msgspec.structs.replace(self.permissions, **{action: rules}))

    def judge(
        self, intent: Intent, confirm: ConfirmMode, untrusted: bool = False, *, mode: Mode = "build"
    ) -> Verdict:
        """May this be done? ``untrusted``: content from outside is in the session; ``mode`` plan: only reading is allowed."""
        denied = self._first(self.deny, intent)
        if denied:
            return Verdict("deny", f"your rule {denied.text} forbids it", default="deny")
        if mode == "plan" and intent.effect not in ("read", "ask"):
            return Verdict(
                "deny", f"plan mode only reads: {_DOING[intent.effect]} waits for build mode", default="deny"
            )
        why = self._why_ask(intent, confirm, untrusted)
        if why is None:
            allowed = next(self._allowing(intent), None)
            return Verdict(
                "allow", f"your rule {allowed.text} allows it" if allowed else _mode_allows(intent, confirm)
            )
        rule = "" if intent.destructive else self.suggest(intent)
        return Verdict("ask", why, rule, "deny" if intent.destructive else "once")

    def suggest(self, intent: Intent) -> str:
        """The rule that "always" would add: wide enough to help again, never one that lets anything run; empty if there is none."""
        return suggestions.suggest(
            intent, lambda part: self._part_allowed(part, self._about(self.allow, intent))
        )

    def covers(self, rule: str, past: Iterable[tuple[Intent, bool]]) -> Coverage:
        """How many past questions, each an intent and whether the person said yes, would not have been asked with this rule."""
        widened = self.with_rule(rule)
        asked = covered = denied = 0
        for intent, approved in past:
            asked += 1
            if not widened._first(widened.deny, intent) and widened._allowed(intent):
                covered += 1
                denied += not approved
        return Coverage(covered, asked, denied)

    # ---- asking

    def _why_ask(self, intent: Intent, confirm: ConfirmMode, untrusted: bool) -> str | None:
        """Why the person must be asked; None when they need not be."""
        asks = self._first(self.ask, intent)
        if asks:
            return f"your rule {asks.text} asks"
        if intent.effect == "ask":
            return None
        unsure = self._unsure(intent)
        if unsure:
            return unsure
        if self._allowed(intent):
            return None
        if intent.outside and (confirm != "yolo" or untrusted):
            return f"outside the workspace: {', '.join(intent.outside)}"
        if confirm == "confirm-all":
            return "confirm-all asks before every tool"
        if intent.effect == "read" or (confirm == "yolo" and not untrusted):
            return None
        if untrusted:
            return f"content from outside is in this session: {_DOING[intent.effect]} is asked, whatever the mode"
        return f"{confirm} asks before {_DOING[intent.effect]}{self._missing(intent)}"

    def _unsure(self, intent: Intent) -> str:
        """Why it can't be said that no rule forbids a command; empty when it can, or when there are no such rules."""
        forbidding = self._about((*self.deny, *self.ask), intent)
        hidden = [rule for rule in self.deny if rule.names("read_file", "read") and rule.pattern is not None]
        if not intent.command or not (forbidding or hidden):
            return ""
        script = shell.parse(intent.command)
        for rule in hidden:
            if any(matches_path(rule, word, strict=False) for word in _named_files(script)):
                return f"it names a file that your rule {rule.text} keeps from being read"
        if forbidding and script.unclear:
            return f"the command can't be checked against your rules: {script.unclear}"
        if forbidding and any(part.dynamic or part.hides for part in script.walk()):
            return "the command can't be checked against your rules: what it runs is only known when it runs"
        return ""

    def _missing(self, intent: Intent) -> str:
        """For a command some of whose parts are allowed: what keeps it from being allowed as a whole."""
        rules = self._about(self.allow, intent)
        if not intent.command or not rules:
            return ""
        missing = next(self._uncovered(shell.parse(intent.command), rules), "")
        return f", and no rule allows it: {missing}" if missing else ""

    # ---- matching

    def _about(self, rules: Iterable[Rule], intent: Intent) -> list[Rule]:
        return [rule for rule in rules if rule.names(intent.tool, intent.effect)]

    def _first(self, rules: Iterable[Rule], intent: Intent) -> Rule | None:
        """The first rule, of those that deny or ask, that is about any part of the intent."""
        rules = tuple(rules)
        for rule in self._about(rules, intent):
            if rule.everything or (intent.command and _in_script(rule, shell.parse(intent.command))):
                return rule
            if not intent.command and any(matches_path(rule, path, strict=False) for path in _paths(intent)):
                return rule
        if not intent.command or intent.effect != "execute":
            return None
        writing = [
            rule
            for rule in rules
            if rule.names(_REDIRECT, "write") and rule not in self._about(rules, intent)
        ]
        if not writing:
            return None
        targets = [target for target in shell.parse(intent.command).writes if target is not None]
        return next(
            (rule for rule in writing if any(matches_path(rule, target, strict=False) for target in targets)),
            None,
        )

    def _allowed(self, intent: Intent) -> bool:
        return next(self._allowing(intent), None) is not None

    def _allowing(self, intent: Intent) -> Iterator[Rule]:
        """The rule that allows the whole intent (the first one of those that do together)."""
        rules = self._about(self.allow, intent)
        if not rules:
            return
        if intent.command:
            script = shell.parse(intent.command)
            for rule in rules:
                if rule.pattern == script.text or (rule.everything and not intent.outside):
                    yield rule
                    return
            if intent.outside and not _names_outside(rules, script, intent.outside):
                return
            if script.parts and not any(self._uncovered(script, rules)):
                yield next(rule for rule in rules if any(_matches(rule, part) for part in script.walk()))
            return
        paths = _paths(intent)
        if not paths:
            yield from (rule for rule in rules if rule.everything)
            return
        used = [
            next((rule for rule in rules if matches_path(rule, path, strict=True)), None) for path in paths
        ]
        if None not in used:
            yield from (rule for rule in used if rule)

    def _uncovered(self, script: Script, rules: list[Rule]) -> Iterator[str]:
        """Everything in a command that no rule allows, in words."""
        if script.unclear:
            yield script.unclear
        for part in script.parts:
            if not self._part_allowed(part, rules):
                yield part.raw
        for variable in script.variables:
            yield f"it sets {variable}"
        writing = [rule for rule in self.allow if rule.names(_REDIRECT, "write")]
        for target in script.writes:
            relative = target is not None and not target.startswith("/")
            if target is None or (relative and script.moves) or target.startswith(".."):
                yield f"it writes {target or 'a file that is only known when it runs'}"
            elif not any(matches_path(rule, target, strict=True) for rule in writing):
                yield f"it writes {target}"

    def _part_allowed(self, part: Part, rules: list[Rule]) -> bool:
        """One simple command: by a rule of its own, or, for a program that only runs another one, by that one."""
        sets_unsafe = any(shell.unsafe(variable) for variable in part.variables)
        inner = all(self._part_allowed(run, rules) for run in part.inner)
        own = any(_matches(rule, part) for rule in rules) and not sets_unsafe
        if part.kind == "open":
            return own or (inner and not sets_unsafe)
        if part.kind == "both":
            return own and inner
        return own


def _matches(rule: Rule, part: Part) -> bool:
    """For allowing: the words as they are, after quotes are removed, or the source itself."""
    if rule.pattern is None:
        return True
    glob = command_glob(rule.pattern)
    if part.dynamic:
        return rule.everything
    return bool(glob.fullmatch(part.text) or (rule.literal and rule.pattern == part.raw))


def _in_script(rule: Rule, script: Script) -> bool:
    """For denying and asking: any command in the line, a pipeline, or the line as a whole."""
    if rule.pattern is None:
        return True
    glob = command_glob(rule.pattern)
    if glob.fullmatch(script.text) or any(glob.fullmatch(text) for text in script.pipelines):
        return True
    return any(_forbids(rule.pattern, part) for part in script.walk())


def _forbids(pattern: str, part: Part) -> bool:
    """A command in any of its spellings: quoted, with its folder, with its options in another order or place."""
    glob = command_glob(pattern)
    if glob.fullmatch(part.text) or glob.fullmatch(part.raw) or glob.fullmatch(" ".join(part.words)):
        return True
    words = (part.name, *part.words[1:])
    if glob.fullmatch(" ".join(words)):
        return True
    name, flags, operands = _options(tuple(pattern.split()))
    if not flags:
        return False
    part_name, part_flags, part_operands = _options(words)
    return (
        bool(command_glob(name).fullmatch(part_name))
        and flags <= part_flags
        and bool(command_glob(f"{name} {operands}".strip()).fullmatch(f"{part_name} {part_operands}".strip()))
    )


_LONG = {"--recursive": "-r", "--force": "-f", "-R": "-r"}
"""Spellings of rm's two options, which people deny more than any other."""


def _options(words: tuple[str, ...]) -> tuple[str, frozenset[str], str]:
    """Name, options as single letters or long names, and the other words."""
    flags: set[str] = set()
    operands: list[str] = []
    name = words[0] if words else ""
    for word in words[1:]:
        word = _LONG.get(word, word) if name == "rm" else word
        if word.startswith("--"):
            flags.add(word.split("=", 1)[0])
        elif re.fullmatch(r"-[A-Za-z]+", word):
            flags.update(
                _LONG.get(f"-{letter}", letter)[-1] if name == "rm" else letter for letter in word[1:]
            )
        else:
            operands.append(word)
    return name, frozenset(flags), " ".join(operands)


def _paths(intent: Intent) -> tuple[str, ...]:
    """What it touches, each path once."""
    return tuple(dict.fromkeys((*intent.paths, *intent.outside)))


def _named_files(script: Script) -> Iterator[str]:
    """Words of a command that may name a file, and what it reads by redirection."""
    yield from script.reads
    for part in script.walk():
        yield from (posixpath.normpath(word) for word in part.words[1:] if word and not word.startswith("-"))


def _names_outside(rules: list[Rule], script: Script, outside: tuple[str, ...]) -> bool:
    """True if rules that match the command's parts name every path outside themselves."""
    used = [rule for rule in rules if rule.pattern and any(_matches(rule, part) for part in script.walk())]
    named = [word for rule in used for word in (rule.pattern or "").split() if word.startswith(("/", "~"))]
    return all(any(path_glob(word.replace("*", "**")).fullmatch(path) for word in named) for path in outside)


def _mode_allows(intent: Intent, confirm: ConfirmMode) -> str:
    if intent.effect == "ask":
        return "it only talks to you"
    return f"{confirm} allows {_DOING[intent.effect]}"
