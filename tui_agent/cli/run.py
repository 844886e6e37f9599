"""``tui-agent run``: one prompt, the same engine in this process, no screen."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_agent.cli import EXIT_CONFIG, fail
from tui_agent.cli.options import loaded, overrides, ready, session_path, shared

if TYPE_CHECKING:
    from tui_agent.engine.assemble import Session
    from tui_agent.engine.launch import Launch

LAST_SECONDS = 0.7
"""How long a second Ctrl+C lets process groups end before they are killed."""
LAST_MOMENT = 0.05
"""Seconds after which the program then leaves, whatever else is still to be done."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("prompt")
@shared
@click.option("-C", "--dir", "folder", default=".", metavar="DIR", help="Work in this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one result object and nothing else.")
@click.option("--stream-json", is_flag=True, help="Print the session's events, one a line.")
@click.option("--quiet", is_flag=True, help="No trace on standard error; only the final answer.")
@click.option("--no-stream", is_flag=True, help="Print the answer when it is complete.")
@click.option("--dry-run", is_flag=True, help="Reads run; writes and commands are only described.")
@click.option("--self-eval", metavar="MODE", help="off, basic or full.")
@click.option(
    "--exit-code-on-partial/--no-exit-code-on-partial",
    default=True,
    help="Exit 2 when the work is only partly done.",
)
def run(prompt: str, folder: str, **values: Any) -> int:
    """Run PROMPT without a screen (- reads it from standard input)."""
    if values["as_json"] and values["stream_json"]:
        raise fail("tui-agent run: --json and --stream-json exclude each other.")
    cwd = Path(folder).expanduser()
    if not cwd.is_dir():
        raise fail(f"tui-agent run: {folder}: is not a folder.")
    cwd = cwd.resolve()
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise fail("tui-agent run: the prompt is empty.")
    settings = loaded(cwd, values)
    resume = session_path(cwd, values)
    if resume == "?":
        raise fail("tui-agent run: -r needs a session; `tui-agent sessions list` shows them.")
    if not (settings.config.model or values["demo"] or resume):
        raise fail(NO_MODEL)
    ready(settings)
    return _launched(cwd, text, resume, values)


NO_MODEL = """\
tui-agent run: no model is configured. One of these helps:
  tui-agent run -m openai/gpt-5-mini "…"        with OPENAI_API_KEY set (any litellm name will do)
  model: openai/gpt-5-mini                      in config.yaml (`tui-agent config` says where)
  tui-agent run --demo "…"                      a scripted model, no key, no network"""


def _launched(cwd: Path, text: str, resume: str, values: dict[str, Any]) -> int:
    from tui_agent.core.errors import ConfigError, SessionError
    from tui_agent.engine.launch import Launch

    launch = Launch(
        cwd=str(cwd), resume=resume, demo=values["demo"], kind="headless", interactive=False,
        dry_run=values["dry_run"], overrides=overrides(values),
        config_file=str(Path(values["config_file"]).expanduser()) if values["config_file"] else "",
    )  # fmt: skip
    if values["demo"]:
        from tui_agent.engine import demo

        launch = demo.launch(launch)
    try:
        return asyncio.run(_headless(launch, text, values))
    except ConfigError as error:
        raise fail(str(error), EXIT_CONFIG) from error
    except SessionError as error:
        raise fail(f"tui-agent run: {error}", 1) from error


async def _headless(launch: Launch, text: str, values: dict[str, Any]) -> int:
    """Drive one session to the end of its run; returns the exit code."""
    from tui_agent.cli.printing import WhileRead, printer
    from tui_agent.engine.assemble import assemble
    from tui_agent.llm.credentials import redact
    from tui_agent.readers.logfile import JsonFile, pipelines
    from tui_agent.readers.result import ResultReader, exit_code

    session = assemble(launch)
    agent, mailbox = session.agent, session.mailbox
    for warning in session.warnings:
        click.echo(warning, err=True)
    result = ResultReader()
    out = WhileRead(
        printer(values, session.loaded.config.ui.language),
        lambda: mailbox.interrupt(now=True, by="signal"),
    )
    with pipelines([JsonFile(session.loaded.paths.log_file, redact)]):
        agent.readers += [result.feed, out.feed]
        if values["stream_json"]:
            agent.log_readers.append(out.feed)
        if session.start is not None:
            result.feed(session.start)
            out.feed(session.start)
        agent.kit.resolve(agent.state.model)
        session.preload()
        left_by = _obey_signals(session)
        agent.recover()
        mailbox.prompt(text)
        await mailbox.idle()
        await mailbox.shutdown()
    out.finish(result)
    if left_by:
        return 130
    return exit_code(result.end, values["exit_code_on_partial"])


def _obey_signals(session: Session) -> list[int]:
    """SIGINT: graceful, a second one leaves at once; SIGTERM and SIGHUP: as one SIGINT, then leave. Returns what came."""
    came: list[int] = []
    loop = asyncio.get_running_loop()

    def interrupt(number: int) -> None:
        again = bool(came)
        came.append(number)
        session.mailbox.interrupt(now=again, by="signal")
        if again:
            loop.call_later(LAST_SECONDS, session.agent.interrupt, 0.0)
            loop.call_later(LAST_SECONDS + LAST_MOMENT, os._exit, 130)
        else:
            click.echo("stopping: what runs may finish; Ctrl+C again leaves at once", err=True)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, interrupt, number)
    return came
