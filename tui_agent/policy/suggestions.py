"""The rule that "always" would add: a prefix that means one kind of work, or nothing at all."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from tui_agent.core.tool import Intent
from tui_agent.policy import shell
from tui_agent.policy.rules import PROTECTED
from tui_agent.policy.shell import Part, Script
from tui_agent.policy.wrappers import LOOSE, SHELLS

INTERPRETERS = SHELLS | frozenset({
    "python", "python2", "python3", "pypy", "pypy3", "node", "deno", "bun", "perl", "ruby", "php", "lua",
    "Rscript", "osascript", "tclsh", "pwsh", "powershell",
})  # fmt: skip
"""Programs that run any text as a program; only a script or module by name is a kind of work."""

FED = INTERPRETERS | frozenset({
    "sudo", "doas", "su", "env", "nohup", "time", "timeout", "nice", "command", "exec", "builtin", "eval",
    "source", "ssh",
})  # fmt: skip
"""Programs that may run what a pipe brings them: no part of such a line is offered."""

NEVER = frozenset({
    "sudo", "doas", "su", "pkexec", "eval", "exec", "source", ".", "trap", "alias", "export", "declare",
    "typeset", "builtin", "command", "rm", "rmdir", "unlink", "shred", "dd", "mkfs", "fdisk", "truncate",
    "wipefs", "kill", "pkill", "killall", "reboot", "shutdown", "chmod", "chown", "chgrp", "chattr",
    "crontab", "at", "systemctl", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "telnet", "socat", "tee",
    "awk", "gawk", "mawk", "xargs", "env", "parallel", "watch", "script", "ed", "vi", "vim", "emacs", "gdb",
    "tmux", "screen",
})  # fmt: skip
"""Programs for which every use is another matter: they destroy, reach out, or run whatever they are given."""

EXACT = frozenset({
    "curl", "wget", "http", "mv", "cp", "ln", "find", "sed", "pip", "pip3", "pipx", "npx", "uvx", "brew",
    "apt", "apt-get", "dnf", "yum", "docker", "podman", "kubectl", "terraform", "gh", "aws", "gcloud", "az",
    "psql", "mysql", "sqlite3",
})  # fmt: skip
"""Programs where only the very same command is offered, as other arguments can do quite other things."""

NESTED = frozenset({
    "git", "npm", "pnpm", "yarn", "cargo", "go", "make", "just", "dotnet", "mvn", "gradle", "bundle",
    "composer", "mix", "rustup", "swift", "bazel", "tox", "nox", "pre-commit", "poetry", "uv", "hatch",
    "pdm", "pipenv", "rails", "rake", "task",
})  # fmt: skip
"""Programs whose second word says what they do."""

RUNNERS = frozenset({
    "uv run", "poetry run", "hatch run", "pdm run", "pipenv run", "bundle exec", "npm exec", "pnpm exec",
    "pnpm dlx", "yarn dlx",
})  # fmt: skip
"""Two words that run the command after them."""

DEEPER = frozenset({"npm run", "pnpm run", "yarn run", "npm run-script", "cargo run", "go run"})
"""Two words whose third says what they do."""

OUTWARD = frozenset({
    "git push", "git clone", "git config", "git remote", "git reset", "git clean", "git checkout",
    "git restore", "git rebase", "npm publish", "npm install", "npm i", "npm ci", "pnpm install",
    "pnpm add", "yarn add", "cargo install", "cargo publish", "uv add", "uv pip", "uv tool", "uv publish",
    "poetry add", "poetry publish", "go install", "go get",
})  # fmt: skip
"""Two words that publish, fetch code that runs, or throw work away: only the very same command is offered."""

MINOR = frozenset({
    "cd", "echo", "printf", "true", "false", ":", "pwd", "ls", "cat", "head", "tail", "wc", "sort", "uniq",
    "grep", "test", "sleep", "mkdir", "date",
})  # fmt: skip
"""Programs that help along in a longer line; what the line is about is another part."""

_PLAIN = re.compile(r"[\w@%+:,./=-]+")


def suggest(intent: Intent, allowed: Callable[[Part], bool]) -> str:
    """A rule for this intent, of the parts of a command for the most telling one that is not ``allowed`` yet."""
    if intent.effect == "ask":
        return ""
    if intent.command:
        pattern = _for_script(shell.parse(intent.command), allowed, exact=bool(intent.outside))
        return f"{intent.tool}({pattern})" if pattern else ""
    if intent.paths or intent.outside:
        pattern = _for_paths(intent)
        return f"{intent.tool}({pattern})" if pattern else ""
    return intent.tool


def _for_script(script: Script, allowed: Callable[[Part], bool], *, exact: bool) -> str:
    if script.unclear or script.variables or FED & set(script.feeds):
        return ""
    missing = [part for part in script.parts if not allowed(part)]
    missing.sort(key=lambda part: part.name in MINOR)
    for part in missing:
        while part.kind == "open" and len(part.inner) == 1:
            part = part.inner[0]
        pattern = _for_part(part, exact=exact)
        if pattern:
            return pattern
    return ""


def _for_part(part: Part, *, exact: bool) -> str:
    """The pattern for one simple command; empty for what must be asked every time."""
    sets_unsafe = any(shell.unsafe(name) for name in part.variables)
    if part.dynamic or sets_unsafe or not _PLAIN.fullmatch(part.words[0]):
        return ""
    prefix = _prefix(part.words)
    if not prefix:
        return ""
    bare = len(prefix) == len(part.words) == 1 and part.name in NESTED
    if exact or bare or part.name in EXACT or " ".join(prefix[:2]) in OUTWARD:
        return part.text if not re.search(r"[*?$`\n]", part.text) else ""
    return " ".join(prefix) + " *"


def _prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that say what kind of work a command is; empty when no prefix means one kind."""
    name = posixpath.basename(words[0])
    pair = " ".join((name, *words[1:2]))
    if name in NEVER or name.startswith("mkfs"):
        return ()
    if re.fullmatch(r"(?:python|pypy|perl|ruby|php|lua|node)[\d.]*", name) or name in INTERPRETERS:
        return _interpreter(words)
    if pair in RUNNERS:
        inner = _prefix(words[2:]) if len(words) > 2 and not words[2].startswith("-") else ()
        return (*words[:2], *inner) if inner else ()
    if name in LOOSE and name not in NESTED and name not in EXACT:
        return ()
    if name not in NESTED:
        return words[:1]
    if len(words) == 1:
        return words
    length = 3 if pair in DEEPER else 2
    chosen = words[:length]
    return (
        chosen
        if len(chosen) == length and all(_PLAIN.fullmatch(word) and word[0] != "-" for word in chosen)
        else ()
    )


def _interpreter(words: tuple[str, ...]) -> tuple[str, ...]:
    """``python -m pytest`` and ``python tool.py`` are one kind of work; ``python -c``, ``python -`` and a bare one are not."""
    if len(words) > 2 and words[1] == "-m" and posixpath.basename(words[0]).startswith(("python", "pypy")):
        return words[:3] if words[2] not in ("pip", "code", "pdb", "timeit", "http.server") else ()
    if len(words) > 1 and _PLAIN.fullmatch(words[1]) and words[1][0] != "-":
        return words[:2]
    return ()


def _for_paths(intent: Intent) -> str:
    """The folder of what is touched; the very file for one at the top, a hidden one or one outside."""
    paths = tuple(dict.fromkeys((*intent.paths, *intent.outside)))
    if any(re.search(r"[*?]", path) for path in paths):
        return ""
    folder = (
        posixpath.commonpath([posixpath.dirname(path) for path in paths])
        if len({p[:1] == "/" for p in paths}) == 1
        else ""
    )
    hidden = any(part.startswith(".") for path in paths for part in path.split("/"))
    if any(path.split("/", 1)[0] in PROTECTED for path in paths):
        return ""
    if folder and not hidden and not intent.outside:
        return f"{folder}/**"
    return paths[0] if len(paths) == 1 else ""
