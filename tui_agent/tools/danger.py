"""What a shell line may destroy, and which paths outside of the workspace it names; read from its syntax tree.

A help for the person who is asked, not a fence: what a program does with its arguments can't be known from here.
Policy decides what is allowed by its own, stricter reading.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import tree_sitter
import tree_sitter_bash

MAX_DEPTH = 4
"""Scripts within scripts (``bash -c``) that are followed."""
MAX_LENGTH = 10_000
"""Bytes of a text that is parsed; a longer one is only split at its separators (parsing 20,000 brackets takes seconds)."""
MAX_WORDS = 500
"""Words of a line whose paths are looked at (each costs a ``stat``)."""

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
_SINKS = (
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/fd",
    "/dev/shm",
)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_RUNNERS = frozenset({
    "sudo", "doas", "env", "nice", "ionice", "nohup", "time", "timeout", "stdbuf", "setsid", "command", "builtin", "exec",
    "xargs", "find", "fd", "parallel", "watch", "busybox", "chroot", "ssh", "su", "flock", "script", "strace", "unshare",
    "docker", "podman", "kubectl",
})  # fmt: skip
"""Programs that run another one; any of their words may be where it begins."""
_TAKE_SCRIPTS = frozenset({"ssh", "watch", "parallel", "script", "flock"})
"""Of these, the ones that hand a word with spaces to a shell."""
_FETCHERS = frozenset({"curl", "wget", "fetch", "http"})
_INTERPRETERS = _SHELLS | {"python", "python3", "perl", "ruby", "node", "php", "source"}
_FORK_BOMB = re.compile(r"(?<![\w:.])(\w{1,20}|[:.])\s*\(\)\s*\{[^}]{0,80}\1\s*\|\s*\1")
_SQL = re.compile(
    r"\b(drop\s+(table|database|schema)|truncate\s+(table\s+)?\w|delete\s+from)\b", re.IGNORECASE
)


class Look(msgspec.Struct, frozen=True):
    """``destructive`` is the first reason found, empty if none; ``outside`` are absolute paths that leave the workspace."""

    destructive: str = ""
    outside: tuple[str, ...] = ()


def look(command: str, workspace: Path) -> Look:
    """Judge a shell line by its looks; never raises."""
    scripts = list(_scripts(command, 0))
    reasons = (reason for script in scripts for reason in _reasons(script, workspace))
    places = (
        place
        for script in scripts
        for word in (
            *(word for words in script.commands for word in words[1:]),
            *(target for _, target in script.redirects),
        )
        if (place := _outside(word, workspace))
    )
    bomb = "a fork bomb" if _FORK_BOMB.search(command) else ""
    return Look(bomb or next(reasons, ""), tuple(dict.fromkeys(_first(places, MAX_WORDS))))


class _Script(msgspec.Struct, frozen=True):
    """The commands of one shell text as words, its redirections as (operator, target), its pipelines as program names."""

    commands: list[list[str]] = []
    redirects: list[tuple[str, str]] = []
    pipelines: list[list[str]] = []


def _scripts(text: str, depth: int) -> Iterator[_Script]:
    """The script of a shell text, and those that it hands to other shells."""
    source = _armoured(text).encode("ascii")
    root = _PARSER.parse(source if len(source) <= MAX_LENGTH else b"").root_node
    script = _Script()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "command":
            script.commands.append(_words(node))
        elif node.type == "file_redirect":
            operator = next((child.type for child in node.children if not child.is_named), ">")
            script.redirects.extend(
                (operator, _value(child)) for child in node.named_children if child.type != "file_descriptor"
            )
        elif node.type == "pipeline":
            heads = [_head(child) for child in node.named_children]
            script.pipelines.append([posixpath.basename(head) for head in heads])
        stack.extend(reversed(node.children))
    if root.has_error or len(source) > MAX_LENGTH:
        pieces = (piece.split() for piece in re.split(r"[;&|\n(){}`]+", text))
        script.commands.extend([word.strip("\"'") for word in piece] for piece in pieces if piece)
    yield script
    if depth < MAX_DEPTH:
        for words in script.commands:
            for inner in _inner_scripts(words):
                yield from _scripts(inner, depth + 1)


def _armoured(text: str) -> str:
    """The text in ASCII: tree-sitter-bash looks characters up in C's table of ASCII ones, and others may crash it."""
    return re.sub(r"%|[^\x00-\x7f]", lambda found: f"%{ord(found[0]):x}%", text)


def _bare(text: str) -> str:
    return re.sub(r"%([0-9a-f]+)%", lambda found: chr(int(found[1], 16)), text)


def _words(command: tree_sitter.Node) -> list[str]:
    """Name and arguments of a command, quotes removed; what expands when it runs stays as it is written."""
    wanted = (
        child
        for child in command.named_children
        if child.type
        not in {"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect", "comment"}
    )
    return [
        _value(child.named_children[0] if child.type == "command_name" and child.named_children else child)
        for child in wanted
    ]


def _value(node: tree_sitter.Node) -> str:
    text = _bare((node.text or b"").decode("ascii"))
    match node.type:
        case "raw_string":
            return text[1:-1]
        case "string":
            return re.sub(r'\\(["\\$`])', r"\1", text[1:-1])
        case "concatenation":
            return "".join(_value(child) for child in node.children)
        case "word":
            return re.sub(r"\\(.)", r"\1", text)
        case _:
            return text


def _head(stage: tree_sitter.Node) -> str:
    """The program that a stage of a pipeline begins with, behind ``sudo`` and its like."""
    while stage.type == "redirected_statement" and stage.named_children:
        stage = stage.named_children[0]
    words = _words(stage) if stage.type == "command" else [""]
    while len(words) > 1 and posixpath.basename(words[0]) in _RUNNERS:
        words = words[1:]
        while len(words) > 1 and words[0].startswith("-"):
            words = words[1:]
    return words[0] if words else ""


def _inner_scripts(words: Sequence[str]) -> Iterator[str]:
    for tail in _tails(words):
        name = posixpath.basename(tail[0])
        if name == "eval":
            yield " ".join(tail[1:])
        elif name in _SHELLS or name == "su":
            flag = next((at for at, word in enumerate(tail) if re.fullmatch(r"-[a-z]*c|--command", word)), 0)
            yield from tail[flag + 1 : flag + 2] if flag else ()
        elif name in _TAKE_SCRIPTS:
            yield from (word for word in tail[1:] if " " in word)


def _tails(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """The command itself and, if it runs others, everything in it that may be one."""
    if words:
        yield words
        if posixpath.basename(words[0]) in _RUNNERS:
            yield from (words[at:] for at in range(1, min(len(words), 40)))


def _reasons(script: _Script, workspace: Path) -> Iterator[str]:
    for words in script.commands:
        for tail in _tails(words):
            name = posixpath.basename(tail[0])
            judge = _JUDGES.get("mkfs" if name.startswith("mkfs.") else name)
            if judge and (reason := judge(tail)):
                yield reason
            yield from (
                f"{' '.join((name, *steps))} {what}"
                for (program, *steps), what in _SUBCOMMANDS
                if program == name and _begins(tail[1:], steps)
            )
    for pipeline in script.pipelines:
        if pipeline[0] in _FETCHERS and any(name in _INTERPRETERS for name in pipeline[1:]):
            yield f"{pipeline[0]} … | … runs a script from the net"
    for operator, target in script.redirects:
        if operator in {">", ">|", "&>"} and (place := _outside(target, workspace)):
            if place.startswith("/dev/"):
                yield f"> {target} writes to a device"
            elif Path(place).is_file():
                yield f"> {target} overwrites a file outside the workspace"


def _outside(word: str, workspace: Path) -> str:
    """The absolute path that a word stands for if it leaves the workspace, else an empty text."""
    if word.startswith("-") or re.match(r"\w+=", word):
        word = word.partition("=")[2]
    word = re.sub(r"^\$(HOME\b|\{HOME\})", "~", word)
    if not word or len(word) > 4096 or "\0" in word or "$" in word or "`" in word or "://" in word:
        return ""
    if word.startswith("~") and not re.match(r"~[\w.-]*(/|$)", word):
        return ""
    plain = re.split(r"[*?\[{]", word)[0] or "."
    path = os.path.normpath(os.path.join(workspace, os.path.expanduser(plain)))  # noqa: PTH111, PTH118
    real = os.path.realpath(path)
    if Path(real).is_relative_to(workspace) or any(Path(path).is_relative_to(sink) for sink in _SINKS):
        return ""
    # A pattern like /foo/d (sed) begins with a folder that isn't there.
    top = Path(real).parts[:2]
    return real if Path(*top).exists() else ""


def _first(places: Iterable[str], limit: int) -> Iterator[str]:
    for _, place in zip(range(limit), places, strict=False):
        yield place


def _begins(words: Sequence[str], steps: Sequence[str]) -> bool:
    """Whether the words, options apart, begin with these."""
    return [word for word in words if not word.startswith("-")][: len(steps)] == list(steps)


def _flags(words: Sequence[str]) -> str:
    """Letters of all short options together."""
    return "".join(word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word))


# ---- one function a program: its words in, the reason out


def _rm(words: Sequence[str]) -> str:
    shown = [word for word in words[1:] if word.startswith("-")]
    if set(_flags(words)) & set("rRf") or {"--recursive", "--force"} & set(words):
        return f"rm {' '.join(shown)} … deletes"
    return (
        "rm … deletes everything that matches"
        if any(re.search(r"[*?\[]", word) for word in words[1:])
        else ""
    )


def _git(words: Sequence[str]) -> str:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in {"-C", "-c", "--git-dir", "--work-tree"} else 1
    action, rest = "".join(words[at : at + 1]), list(words[at + 1 :])
    given, flags = set(rest), _flags(rest)
    match action:
        case "reset" if given & {"--hard", "--merge", "--keep"}:
            return "git reset --hard drops uncommitted changes"
        case "clean" if ("f" in flags or "--force" in given) and not ("n" in flags or "--dry-run" in given):
            return "git clean -f deletes untracked files"
        case "checkout" if given & {"--", ".", "--force"} or "f" in flags:
            return "git checkout … drops uncommitted changes"
        case "restore" if "--staged" not in given or "--worktree" in given:
            return "git restore … drops uncommitted changes"
        case "switch" if given & {"--force", "--discard-changes"} or "f" in flags:
            return "git switch -f drops uncommitted changes"
        case "push" if (
            "f" in flags
            or "d" in flags
            or any(re.match(r"--(force|mirror|delete|prune)", word) for word in rest)
            or any(re.match(r"[+:]\S", word) for word in rest)
        ):
            return "git push --force overwrites or deletes on the remote"
        case "branch" if "D" in flags or ("d" in flags and "f" in flags) or {"--delete", "--force"} <= given:
            return "git branch -D deletes a branch that may not be merged"
        case "stash" if given & {"drop", "clear"}:
            return f"git stash {rest[0]} deletes stashed changes"
        case "reflog" if given & {"expire", "delete"}:
            return "git reflog expire makes lost commits unrecoverable"
        case "filter-branch" | "filter-repo":
            return f"git {action} rewrites history"
        case "worktree" if "remove" in given and ("f" in flags or "--force" in given):
            return "git worktree remove --force deletes uncommitted changes"
        case _:
            return ""


def _tree(words: Sequence[str]) -> str:
    recursive = set(_flags(words)) & {"R"} or "--recursive" in words
    return f"{posixpath.basename(words[0])} -R changes a whole tree" if recursive else ""


def _find(words: Sequence[str]) -> str:
    return "find … -delete deletes" if "-delete" in words else ""


def _dd(words: Sequence[str]) -> str:
    targets = [
        word
        for word in words
        if word.startswith("of=") and not word.startswith(("of=/dev/null", "of=/dev/std"))
    ]
    return f"dd {targets[0]} overwrites" if targets else ""


def _kill(words: Sequence[str]) -> str:
    return "kill … -1 ends every process" if "-1" in words[2:] else ""


def _sql(words: Sequence[str]) -> str:
    found = _SQL.search(" ".join(words[1:]))
    return f"{' '.join(found[0].upper().split()[:2])} deletes data" if found else ""


def _rsync(words: Sequence[str]) -> str:
    return (
        "rsync --delete deletes"
        if any(word.startswith(("--delete", "--remove-source")) for word in words)
        else ""
    )


def _always(what: str) -> Callable[[Sequence[str]], str]:
    return lambda words: f"{posixpath.basename(words[0])} {what}"


_JUDGES: dict[str, Callable[[Sequence[str]], str]] = {
    "rm": _rm, "git": _git, "find": _find, "dd": _dd, "kill": _kill, "rsync": _rsync,
    "chmod": _tree, "chown": _tree, "chgrp": _tree, "setfacl": _tree,
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "clickhouse-client", "duckdb"), _sql),
    **dict.fromkeys(("mkfs", "mke2fs", "mkswap", "wipefs", "fdisk", "sfdisk", "parted", "sgdisk"), _always("formats a disk")),
    **dict.fromkeys(("shred", "truncate", "srm"), _always("destroys the content of files")),
    **dict.fromkeys(("killall", "pkill", "skill"), _always("ends processes by name")),
    **dict.fromkeys(("shutdown", "reboot", "halt", "poweroff"), _always("stops the machine")),
    **dict.fromkeys(("userdel", "groupdel", "deluser"), _always("deletes an account")),
    "dropdb": _always("deletes a database"),
}  # fmt: skip
_SUBCOMMANDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("docker", "system", "prune"), "deletes"), (("docker", "volume", "rm"), "deletes data"),
    (("docker", "volume", "prune"), "deletes data"), (("docker", "compose", "down"), "stops services"),
    (("kubectl", "delete"), "deletes"), (("helm", "uninstall"), "deletes"), (("terraform", "destroy"), "destroys infrastructure"),
    (("tofu", "destroy"), "destroys infrastructure"), (("aws", "s3", "rm"), "deletes"), (("aws", "s3", "rb"), "deletes"),
    (("gh", "repo", "delete"), "deletes a repository"), (("gh", "release", "delete"), "deletes a release"),
    (("npm", "publish"), "publishes"), (("yarn", "publish"), "publishes"), (("cargo", "publish"), "publishes"),
    (("twine", "upload"), "publishes"), (("gem", "push"), "publishes"), (("systemctl", "poweroff"), "stops the machine"),
    (("systemctl", "reboot"), "stops the machine"), (("redis-cli", "FLUSHALL"), "deletes data"),
    (("redis-cli", "FLUSHDB"), "deletes data"),
)  # fmt: skip
"""Programs by their subcommands."""
