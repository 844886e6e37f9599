"""Keys, looked up before every call: from the environment or a person's own command; and masked in every text.

No key is stored, logged or shown: ``Key`` prints as dots, ``redact`` masks every value that was ever looked up here.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time

import msgspec

from tui_agent.core.errors import Failure
from tui_agent.llm.api import ModelSpec
from tui_agent.llm.providers import PROVIDERS, base_of, is_loopback, is_private, provider

COMMAND_TIMEOUT = 15.0
"""Seconds that a ``key_command`` may take; a password store may ask for a finger first."""

COMMAND_TTL = 60.0
"""Seconds that a command's answer is used again."""

DUMMY_KEY = "none"
"""What a server gets that wants no key: litellm's clients refuse to send none."""


class Key(msgspec.Struct, frozen=True):
    """A key's value and where it came from (a variable's name, ``key_command`` or ``none needed``)."""

    value: str
    source: str

    def __repr__(self) -> str:
        return f"Key('…', {self.source!r})"


_lock = threading.Lock()
_commands: dict[str, tuple[str, float]] = {}
_seen: set[str] = set()


def look_up(spec: ModelSpec) -> Key | Failure:
    """The key for one call, or what is missing and how to mend it. May run ``key_command``: not on an event loop."""
    found = _find(spec)
    if isinstance(found, Failure) or not found.value:
        return found
    value = found.value.strip()
    if any(character.isspace() or not character.isprintable() for character in value) or not value.isascii():
        return _auth(
            spec, f"The key from {found.source} holds a space, a line break or another character no key has"
        )
    if value != DUMMY_KEY:
        with _lock:
            _seen.add(value)
    return Key(value, found.source)


def key_for(spec: ModelSpec) -> str | None:
    """The key's value; None if it is missing. Empty: the cloud's own credentials are used."""
    found = look_up(spec)
    return None if isinstance(found, Failure) else found.value


def missing(spec: ModelSpec) -> Failure | None:
    """What is missing for a call to ``spec``, with a hint that names the variable or the config line; None: nothing."""
    found = look_up(spec)
    return found if isinstance(found, Failure) else None


def forget(spec: ModelSpec) -> None:
    """Drop what ``key_command`` answered before, so that the next call asks again (after a 401)."""
    with _lock:
        _commands.pop(spec.key_command, None)


def present() -> list[tuple[str, str]]:
    """Providers with a key in the environment, as (provider, variable), in the table's order."""
    found = (
        (name, next((key for key in row.keys if _environment(key)), "")) for name, row in PROVIDERS.items()
    )
    return [(name, variable) for name, variable in found if variable]


# ---- looking


def _find(spec: ModelSpec) -> Key | Failure:
    if spec.key_command:
        return _from_command(spec)
    if spec.api_key_env:
        value = _environment(spec.api_key_env)
        if value:
            return Key(value, spec.api_key_env)
        return _auth(spec, f"The variable {spec.api_key_env} is not set")
    row = provider(spec.provider)
    if row.sign_in == "browser":
        return Failure(
            "auth",
            f"{spec.provider} signs in through a browser, which can't be done from here",
            provider=spec.provider,
            hint="Choose the same model from a provider that takes a key.",
        )
    base = base_of(spec.provider, spec.api_base, os.environ)
    if spec.api_base and is_loopback(base):
        return Key(
            DUMMY_KEY, "none needed"
        )  # a local server never gets the key of the cloud service it imitates
    for variable in row.keys:
        if value := _environment(variable):
            return Key(value, variable)
    if row.sign_in == "cloud":
        return Key("", f"the credentials of {spec.provider}")
    if row.sign_in == "optional" or (base and is_private(base)):
        return Key(DUMMY_KEY, "none needed")
    return _auth(spec, f"No key for {spec.provider}: the variable {row.keys[0]} is not set")


def _auth(spec: ModelSpec, text: str) -> Failure:
    variable = spec.api_key_env or (provider(spec.provider).keys or ("the provider's key variable",))[0]
    line = f"models.{spec.alias}" if spec.alias else "models.NAME"
    if spec.key_command:
        hint = f"Mend {line}.key_command in config.yaml."
    else:
        hint = f"Set {variable} (export {variable}=…), or {line}.api_key_env or .key_command in config.yaml."
    return Failure("auth", text, provider=spec.provider, hint=hint)


def _environment(name: str) -> str:
    return os.environ.get(name, "").strip()


def _from_command(spec: ModelSpec) -> Key | Failure:
    with _lock:
        value, until = _commands.get(spec.key_command, ("", 0.0))
    if value and time.monotonic() < until:
        return Key(value, "key_command")
    ran = _run(spec.key_command)
    if isinstance(ran, str):
        return _auth(spec, ran)
    code, out, err = ran
    if code != 0:
        first = redact(err.strip().splitlines()[0])[:200] if err.strip() else "it wrote nothing on stderr"
        return _auth(spec, f"key_command ended with code {code}: {first}")
    if not out.strip():
        return _auth(spec, "key_command wrote nothing")
    with _lock:
        _commands[spec.key_command] = (out.strip(), time.monotonic() + COMMAND_TTL)
    return Key(out.strip(), "key_command")


def _run(line: str) -> tuple[int, str, str] | str:
    """Run a person's own shell line in a process group of its own; the text is why it could not be waited for."""
    try:
        process = subprocess.Popen(
            line,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"key_command can't be started: {error}"
    try:
        out, err = process.communicate(timeout=COMMAND_TIMEOUT)
    except subprocess.TimeoutExpired:
        _kill(process)
        return f"key_command gave no answer within {COMMAND_TIMEOUT:.0f} s"
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()


# ---- masking

_SHAPES = re.compile(
    r"\b(?:sk|gsk|xai|hf|r8|nvapi|pplx|ghp|gho|github_pat)[-_][\w*-]{16,}"  # what providers hand out
    r"|\bAIza[\w-]{20,}"
    r"|(?<=Bearer )[\w.~+/=*-]{8,}"
    r"|(?<=[?&]key=)[^&\s'\"]+",
    re.ASCII,
)

SHORTEST_SECRET = 8
"""Characters; a shorter value can't be told from an ordinary word."""


def redact(text: str) -> str:
    """``text`` without any key that was looked up, that a provider's variable holds, or that has the shape of one."""
    with _lock:
        values = set(_seen)
    values |= {value for _, variable in present() if (value := _environment(variable))}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, "[key]")
    return _SHAPES.sub("[key]", text)
