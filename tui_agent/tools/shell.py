"""run_command."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec

from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Effect, Intent, Output, ToolContext, ToolResult
from tui_agent.tools.builtin import Arguments, BuiltIn
from tui_agent.tools.danger import look
from tui_agent.tools.paths import reason
from tui_agent.tools.process import Capture, Outcome, execute
from tui_agent.tools.text import size, valid

DEFAULT_TIMEOUT = 120.0
"""Seconds."""
MAX_TIMEOUT = 3600.0
"""Seconds."""
BINARY_SHARE = 0.1
"""Share of NUL and undecodable characters above which an output is binary."""
BINARY_LEAST = 64
"""Characters up to which it is shown even then."""

_SECRET_SUFFIXES = ("_API_KEY", "_APIKEY", "_API_TOKEN", "_API_SECRET", "_MASTER_KEY")
_SECRETS = frozenset({
    "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AZURE_AD_TOKEN", "HUGGINGFACE_TOKEN", "HF_TOKEN",
    "DATABRICKS_TOKEN", "GITHUB_COPILOT_TOKEN", "WATSONX_TOKEN", "REPLICATE_API_TOKEN", "API_KEY",
})  # fmt: skip
"""Variables from which litellm takes credentials for models, besides those that end like a key."""
_ENVIRONMENT = {
    "TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "PYTHONUNBUFFERED": "1",
}  # fmt: skip
"""Nobody is at a terminal: no colours, pagers or password prompts; Python programs print as they go."""

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]")


class CommandArguments(Arguments, frozen=True):
    command: Annotated[str, msgspec.Meta(description="Shell line (bash), run in the workspace's root.")]
    timeout: Annotated[
        float, msgspec.Meta(description="Seconds after which it is stopped; default 120, at most 3600.")
    ] = DEFAULT_TIMEOUT


class RunCommand(BuiltIn[CommandArguments]):
    name = "run_command"
    effect: Effect = "execute"
    takes = CommandArguments
    description = (
        "Run a shell command in the workspace's root and get its output (stdout and stderr together) and exit code: tests, "
        "builds, git, package tools. Each call is a new shell: cd and variables don't last, so join steps with &&. There is "
        "no stdin and no terminal: pass flags like -y instead of waiting for a prompt, never start editors or pagers. A "
        "server or watcher goes into the background with its output in a file: `cmd >log.txt 2>&1 &`. Don't use it to read, "
        "search or edit files: read_file, search_code and edit_file are safer and cheaper."
    )

    def __init__(self, is_secret: Callable[[str], bool] | None = None) -> None:
        self._is_secret = is_secret or is_provider_key

    def propose(self, arguments: CommandArguments, context: ToolContext) -> Intent:
        command = _command(arguments)
        seen = look(command, context.workspace)
        return Intent(
            self.name, self.effect, outside=seen.outside, command=command, destructive=seen.destructive,
            preview=Output(command, "bash"),
        )  # fmt: skip

    async def perform(self, arguments: CommandArguments, context: ToolContext) -> ToolResult:
        command = _command(arguments)
        timeout = min(arguments.timeout, MAX_TIMEOUT) if arguments.timeout > 0 else DEFAULT_TIMEOUT
        capture = Capture(context.output, context.session_dir)
        argv = (shutil.which("bash") or "/bin/sh", "-c", command)
        try:
            outcome = await execute(
                argv,
                cwd=context.workspace,
                environ=environment(os.environ, self._is_secret),
                seconds=timeout,
                capture=capture,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"the command could not be started: {reason(error)}") from None
        return _answer(capture, outcome, timeout)


def is_provider_key(name: str) -> bool:
    """Whether a variable holds a model provider's credential, which no command needs to know."""
    return name.upper().endswith(_SECRET_SUFFIXES) or name.upper() in _SECRETS


def environment(environ: Mapping[str, str], is_secret: Callable[[str], bool]) -> dict[str, str]:
    """What a command gets to see of our environment."""
    return {name: value for name, value in environ.items() if not is_secret(name)} | _ENVIRONMENT


def plain(text: str) -> str:
    """Terminal output as the lines that would remain on paper: escape sequences gone, overwritten parts of lines too."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    while "\b" in text:
        shorter = re.sub(r"[^\b\n]\x08", "", text)
        text = shorter if shorter != text else text.replace("\b", "")
    return _CONTROLS.sub("", text).replace("\0", "␀")


def _command(arguments: CommandArguments) -> str:
    command = valid("command", arguments.command)
    if not command.strip():
        raise ToolError("command: empty")
    if "\0" in command:
        raise ToolError("command: holds a NUL character")
    return command


def _answer(capture: Capture, outcome: Outcome, timeout: float) -> ToolResult:
    head, cut, tail = capture.parts
    marker = f"\n[{size(cut)} left out here{_where(capture)}]\n" if cut else ""
    if cut:
        text = head.decode("utf-8", "replace") + marker + tail.decode("utf-8", "replace")
    else:
        text = (head + tail).decode("utf-8", "replace")
    said = plain(text).strip("\n")
    if _is_binary(text):
        said = f"[binary output, {size(capture.total)}{_where(capture)}]"
    ending, summary = _ending(outcome, timeout)
    return ToolResult(
        "\n".join(filter(None, (said or "(no output)", ending))),
        ok=outcome.code == 0 and not outcome.timed_out,
        summary=summary,
        display=Output(said if _is_binary(text) else text),
        full_output=str(capture.path) if cut and capture.path else "",
    )


def _where(capture: Capture) -> str:
    """Where the whole output is."""
    if not capture.path:
        return f"; {capture.trouble}" if capture.trouble else ""
    return f"; the whole output is in {capture.path}{f' ({capture.trouble})' if capture.trouble else ''}"


def _is_binary(text: str) -> bool:
    odd = text.count("\0") + text.count("\ufffd")
    return len(text) > BINARY_LEAST and "\0" in text and odd > BINARY_SHARE * len(text)


def _ending(outcome: Outcome, timeout: float) -> tuple[str, str]:
    """How it ended, for the model and for the panel's title."""
    if outcome.timed_out:
        return f"[stopped after {timeout:g} s: timeout]", f"timeout, {timeout:g} s"
    notes: list[str] = []
    summary = f"exit {outcome.code}"
    if outcome.code < 0:
        name = signal.Signals(-outcome.code).name
        notes.append(f"[ended by {name}]")
        summary = name
    elif outcome.code:
        notes.append(f"[exit code {outcome.code}]")
    if outcome.group or outcome.held:
        how = f"; stop it with: kill -- -{outcome.group}" if outcome.group else ""
        notes.append(
            f"[something it started still runs in the background, its output is not read any more{how}]"
        )
        summary += ", left one running"
    return "\n".join(notes), summary
