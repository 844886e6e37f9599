"""Programs that run another program: where in their words it is, and whether allowing that one is enough."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Literal

import msgspec

Kind = Literal["plain", "open", "both", "closed"]

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=.*", re.DOTALL)


class Wrapper(msgspec.Struct, frozen=True):
    """How to read the options of one program up to the command that it runs.

    ``flags`` are single letters and long options without a value, ``values`` options that take the next word;
    ``skip`` words follow before the command. An option that is in neither makes the wrapper ``closed``.
    """

    kind: Kind
    flags: str = ""
    values: str = ""
    skip: int = 0
    assigns: bool = False
    more: bool = False
    """It adds words of its own to the command (xargs)."""


WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper(
        "closed", "A b E e H i K k l n P S s V v", "-u -g -h -p -C -T -r -t -U -D -R", assigns=True
    ),
    "doas": Wrapper("closed", "L n s", "-u -C"),
    "env": Wrapper("open", "i 0 v - --ignore-environment", "-u --unset", assigns=True),
    "xargs": Wrapper(
        "open",
        "0 r t x --null --no-run-if-empty --verbose",
        "-n -P -I -L -d -E -s --max-args --max-procs --replace --max-lines --delimiter",
        more=True,
    ),
    "time": Wrapper("open", "p", assigns=True),
    "nohup": Wrapper("open"),
    "nice": Wrapper("open", "", "-n --adjustment"),
    "ionice": Wrapper("open", "t", "-c -n"),
    "timeout": Wrapper(
        "open", "v --foreground --preserve-status --verbose", "-s -k --signal --kill-after", skip=1
    ),
    "stdbuf": Wrapper("open", "", "-i -o -e --input --output --error"),
    "setsid": Wrapper("open", "c f w --ctty --fork --wait"),
    "command": Wrapper("open", "p"),
    "builtin": Wrapper("open"),
    "exec": Wrapper("open", "c l", "-a"),
}
"""Options as in the manuals of coreutils 9, findutils 4.9, util-linux 2.38, sudo 1.9 and bash 5.2."""

LOOSE = frozenset({
    "busybox", "chroot", "coproc", "conda", "docker", "fakeroot", "firejail", "flock", "hatch", "ltrace", "nix", "npx", "nsenter",
    "parallel", "pdm", "pipenv", "pkexec", "podman", "poetry", "runuser", "script", "ssh", "strace", "su", "systemd-run",
    "toybox", "unbuffer", "unshare", "uv", "uvx", "watch", "xvfb-run",
})  # fmt: skip
"""Programs that run another one somewhere in their words; any of the words may be where it starts."""


class Unwrapped(msgspec.Struct, frozen=True):
    """What a command runs: words from start to stop, a script, or (``loose``) perhaps the words from these on.

    ``hides``: what it runs is only known when it runs.
    """

    kind: Kind = "plain"
    spans: tuple[tuple[int, int], ...] = ()
    script: str | None = None
    loose: tuple[int, ...] = ()
    more: bool = False
    hides: bool = False
    variables: tuple[str, ...] = ()


def unwrap(words: Sequence[str | None]) -> Unwrapped:
    """Find what a command runs; None stands for a word that is only known when it runs."""
    name = posixpath.basename(words[0] or "")
    everywhere = tuple(range(1, min(len(words), 50)))
    if name in SHELLS:
        return _shell(words)
    if name in ("eval", "trap"):
        texts = [word for word in (words[1:] if name == "eval" else words[1:2]) if word is not None]
        whole = len(texts) == len(words) - 1 or name == "trap"
        if not texts or not whole:
            return Unwrapped("closed", hides=len(words) > 1)
        return Unwrapped("open" if name == "eval" else "closed", script=" ".join(texts))
    if name == "find":
        return Unwrapped("both", spans=tuple(_find(words)))
    if name in WRAPPERS:
        return _wrapper(WRAPPERS[name], name, words, everywhere)
    if name in LOOSE:
        return Unwrapped("closed", loose=everywhere, hides=None in words)
    return Unwrapped()


def _wrapper(
    wrapper: Wrapper, name: str, words: Sequence[str | None], everywhere: tuple[int, ...]
) -> Unwrapped:
    if name == "command" and any(word in ("-v", "-V") for word in words[1:2]):
        return Unwrapped()
    kind, at, skip = wrapper.kind, 1, wrapper.skip
    flags, values = wrapper.flags.split(), wrapper.values.split()
    variables: list[str] = []
    while at < len(words):
        word = words[at]
        if word is None:
            return Unwrapped("closed", loose=everywhere, hides=True)
        if word == "--":
            at += 1
            break
        assignment = _ASSIGNMENT.fullmatch(word) if wrapper.assigns else None
        if assignment:
            variables.append(assignment[1])
        elif word.startswith("-") and not skip < wrapper.skip:
            known, takes_next = _option(word, flags, values)
            kind = kind if known else "closed"
            at += takes_next
        elif skip:
            skip -= 1
        else:
            break
        at += 1
    if at >= len(words):
        return Unwrapped(
            "closed" if kind == "closed" else "plain", loose=() if kind != "closed" else everywhere
        )
    loose = everywhere if kind == "closed" else ()
    return Unwrapped(kind, ((at, len(words)),), loose=loose, more=wrapper.more, variables=tuple(variables))


def _option(word: str, flags: Sequence[str], values: Sequence[str]) -> tuple[bool, bool]:
    """Whether an option is known, and whether it takes the next word."""
    if word in values:
        return True, True
    if word in flags or (word == "-" and "-" in flags) or re.fullmatch(r"-\d+", word):
        return True, False
    if word.startswith("--"):
        return word.split("=", 1)[0] in values, False
    return word[:2] in values or all(letter in flags for letter in word[1:]), False


def _shell(words: Sequence[str | None]) -> Unwrapped:
    """``bash -c script``: the script is what runs; a shell without it runs a file or its input."""
    scripted, plain = False, True
    for word in words[1:]:
        if word is None:
            return Unwrapped("closed", hides=True)
        if not word.startswith(("-", "+")):
            return Unwrapped("open" if plain else "closed", script=word) if scripted else Unwrapped("closed")
        scripted = scripted or bool(re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", word))
        plain = plain and bool(re.fullmatch(r"-[celux]+", word))
    return Unwrapped("closed")


def _find(words: Sequence[str | None]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    start = 0
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            start = at + 1
        elif start and word in (";", "+") and at > start:
            spans.append((start, at))
            start = 0
    if start and start < len(words):
        spans.append((start, len(words)))
    return spans
