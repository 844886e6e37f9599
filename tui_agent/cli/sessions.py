"""``tui-agent sessions``: what is saved, and what can be done with it. Each command is a function that makes text, and its printing."""

from __future__ import annotations

import datetime
import importlib
import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, cast

import click
import msgspec

from tui_agent.cli import fail
from tui_agent.cli.printing import plain
from tui_agent.config.paths import Paths
from tui_agent.core.errors import SessionError
from tui_agent.sessions.log import read
from tui_agent.sessions.store import SearchHit, Store
from tui_agent.sessions.summary import SessionSummary

MARKS = {"success": "✓", "partial": "⏸", "failed": "✗", "running": "●", "new": "·"}
WHOLE = 100_000
"""The width where nobody looks but a program reads: titles stay whole."""
FORMATS = ("md", "html", "jsonl", "svg")
_CONTROLS = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
"""Control characters that JSON does not escape by itself."""
_HELP = {"help_option_names": ["-h", "--help"]}


class _Sessions(click.Group):
    """Without a command it lists; a wrong command names the nearest; what can't be done is one line, exit 3."""

    def invoke(self, ctx: click.Context) -> Any:
        stdout: Any = sys.stdout
        if isinstance(stdout, TextIOWrapper):
            cast("Any", stdout).reconfigure(errors="replace")  # marks that an old terminal lacks become ?
        try:
            return super().invoke(ctx)
        except SessionError as error:
            raise fail(f"tui-agent sessions: {plain(str(error))}") from error


@click.group(cls=_Sessions, invoke_without_command=True, context_settings=_HELP)
@click.pass_context
def sessions(ctx: click.Context) -> int | None:
    """List, show, search, export, fork, verify and remove sessions. ID may be its beginning, its end, or a file."""
    return ctx.invoke(list_) if ctx.invoked_subcommand is None else None


@sessions.command("list", context_settings=_HELP)
@click.option("--all", "everywhere", is_flag=True, help="Of every folder, those of sub-agents included.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, one object a line.")
def list_(everywhere: bool = False, as_json: bool = False) -> int:
    """The sessions of this folder, the last one first."""
    rows = _store().list(None if everywhere else Path.cwd())
    if not everywhere:
        rows = [row for row in rows if row.kind != "sub_agent"]
    if as_json:
        _print("".join(_json(row) for row in rows))
        return 0
    width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else WHOLE
    _print(listing(rows, now=time.time(), width=width) or _nothing(everywhere))
    return 0


@sessions.command(context_settings=_HELP)
@click.argument("id")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def show(id: str, as_json: bool) -> int:
    """What one session was about and how it ended."""
    store = _store()
    path = store.find(id, Path.cwd())
    row = store.summary(path)
    _print(_json(row) if as_json else shown(row, _last_answer(path)))
    return 0


@sessions.command(context_settings=_HELP)
@click.argument("text", nargs=-1, required=True)
@click.option("--all", "everywhere", is_flag=True, help="In every folder.")
def search(text: tuple[str, ...], everywhere: bool) -> int:
    """Find words in what you and the models said; exit 1 if they are nowhere."""
    hits = _store().search(" ".join(text), None if everywhere else Path.cwd())
    if not hits:
        _print(
            f"not found{'' if everywhere else f' in the sessions of {Path.cwd()}; --all searches all folders'}\n"
        )
        return 1
    _print(found(hits, now=time.time(), colour=sys.stdout.isatty()))
    return 0


@sessions.command(context_settings=_HELP)
@click.argument("id")
@click.option("-f", "--format", "form", type=click.Choice(FORMATS), default="md", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Into this file, not to standard output.",
)
def export(id: str, form: str, output: Path | None) -> int:
    """A session as a document: markdown, a self-contained page, its events, or a picture of the screen."""
    text = exported(_store().find(id, Path.cwd()), form)
    if output is None:
        _print(text)
        return 0
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        raise fail(
            f"tui-agent sessions: can't write {plain(str(output))}: {error.strerror or error}"
        ) from error
    click.echo(f"written: {plain(str(output))}", err=True)
    return 0


@sessions.command(context_settings=_HELP)
@click.argument("id")
@click.option(
    "--at",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="The last event that goes along (default: all).",
)
def fork(id: str, at: int) -> int:
    """A new session that begins as this one did, up to event N. Prints its id."""
    store = _store()
    new = store.fork(store.find(id, Path.cwd()), at)
    _print(f"{new.stem}\n")
    click.echo(f"go on with: tui-agent -r {new.stem}", err=True)
    return 0


@sessions.command(context_settings=_HELP)
@click.argument("id", required=False)
def verify(id: str | None) -> int:
    """Look one session over, or all of them; exit 1 if anything is wrong."""
    store = _store()
    paths = [store.find(id, Path.cwd())] if id else [row.path for row in store.list()]
    faults = {path: store.verify(path) for path in paths}
    _print(verified(faults))
    return 1 if any(faults.values()) else 0


@sessions.command(context_settings=_HELP)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
def rm(ids: tuple[str, ...], yes: bool) -> int:
    """Delete sessions and what belongs to them."""
    store = _store()
    paths = [store.find(id, Path.cwd()) for id in ids]
    for path in dict.fromkeys(paths):
        row = store.summary(path)
        question = f"delete {path.stem} ({_line(row.title) or 'no title'})?"
        if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
            continue
        store.remove(path)
        _print(f"deleted {path.stem}\n")
    return 0


# ---- text


def listing(rows: Sequence[SessionSummary], *, now: float, width: int) -> str:
    """A line a session: how it ended, id, when, steps, cost, changed lines, title (cut to the width)."""
    marked = [(f"{MARKS[row.status]} {row.id}", *_figures(row, now)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*marked, strict=True)]
    lines: list[str] = []
    for row, cells in zip(rows, marked, strict=True):
        kind = "" if row.kind == "interactive" else f"[{row.kind.replace('_', '-')}] "
        title = kind + (_line(row.title) or "(nothing was asked)")
        fields = "".join(f"{cell:>{size}}  " for cell, size in zip(cells, widths, strict=True) if size)
        lines.append(fields + fit(title, max(width - len(fields), 20)))
    return "".join(f"{line}\n" for line in lines)


def _figures(row: SessionSummary, now: float) -> tuple[str, str, str, str]:
    """When, steps, cost and changed lines of one session."""
    changed = f"+{row.added} −{row.removed}" if row.added or row.removed else ""
    steps = f"{row.steps} step " if row.steps == 1 else f"{row.steps} steps"
    return when(row.updated, now), steps, cost(row.cost), changed


def shown(row: SessionSummary, answer: str) -> str:
    """Everything that is known of a session in short, its first question and its last answer, and how to go on."""
    end = (
        "was cut off (a crash or a kill); resuming goes on from there"
        if row.cut
        else row.stop_reason.replace("_", " ")
    )
    facts = [
        ("title", row.title),
        ("id", row.id),
        ("file", str(row.path)),
        ("folder", f"{row.cwd} ({row.branch})" if row.branch else row.cwd),
        ("kind", row.kind.replace("_", "-") + (" · UNTRUSTED" if row.untrusted else "")),
        ("started", _time(row.started)),
        ("changed", _time(row.updated)),
        (
            "status",
            f"{row.status}{' · ' + end if end else ''}{' · open in another process' if row.live else ''}",
        ),
        ("model", row.model),
        ("steps", str(row.steps)),
        ("cost", cost(row.cost)),
        ("files", f"{', '.join(row.files)} (+{row.added} −{row.removed})" if row.files else ""),
        ("forked from", f"{row.parent}, event {row.parent_seq}" if row.parent else ""),
    ]
    text = "".join(f"{name:<12}{_line(value)}\n" for name, value in facts if value)
    if row.asked:
        text += f"\n▌ {plain(row.asked)}\n"
    if answer:
        text += f"\n{plain(answer)}\n"
    return text + f"\ngo on: tui-agent -r {row.id}    watch: tui-agent replay {row.id}\n"


def found(hits: Sequence[SearchHit], *, now: float, colour: bool = False) -> str:
    """Hits under the session that they are in; the words found are underlined, or between «»."""
    on, off = ("\x1b[1;4m", "\x1b[0m") if colour else ("«", "»")
    text = ""
    by_session: dict[str, list[SearchHit]] = {}
    for hit in hits:
        by_session.setdefault(hit.session.id, []).append(hit)
    for id, some in by_session.items():
        row = some[0].session
        text += f"{MARKS[row.status]} {id}  {when(row.updated, now)}  {_line(row.title)}\n"
        for hit in some:
            pieces = [
                plain(re.sub(r"\s+", " ", piece))
                for piece in hit.snippet.replace("\x03", "\x02").split("\x02")
            ]
            marked = "".join(f"{on}{piece}{off}" if at % 2 else piece for at, piece in enumerate(pieces))
            text += f"    {hit.seq:>6}  {'you' if hit.who == 'user' else 'model'}: {marked}\n"
    return text


def exported(path: Path, form: str) -> str:
    """The document of a log; the picture is drawn by the screen's own widgets."""
    if form == "svg":
        try:
            module: Any = importlib.import_module("tui_agent.ui.svg")
        except ImportError:
            raise fail(
                "tui-agent sessions: pictures can't be drawn here; --format html shows the same"
            ) from None
        return cast("str", module.svg(read(path)))
    from tui_agent.readers.export import Format
    from tui_agent.readers.export import export as document

    return document(read(path), cast("Format", form))


def verified(faults: dict[Path, list[str]]) -> str:
    """A line a session that is whole, and the faults of the others."""
    text = "".join(f"✓ {path.stem}\n" if not some else f"✗ {path.stem}\n" + "".join(f"    {_line(one)}\n" for one in some)
                   for path, some in faults.items())  # fmt: skip
    wrong = sum(1 for some in faults.values() if some)
    return text + f"{len(faults)} looked over, {wrong or 'none'} with faults\n"


def cost(usd: float | None) -> str:
    """``$0.04``; ``$?`` when a price is unknown."""
    return "$?" if usd is None else f"${usd:.2f}" if usd >= 0.01 or not usd else f"${usd:.2g}"


def when(ts: float, now: float) -> str:
    """``today 14:04``, ``Fri 17:45`` within a week, else the date; local time."""
    if not ts:
        return ""
    there, here = (datetime.datetime.fromtimestamp(value).astimezone() for value in (ts, now))
    if there.date() == here.date():
        return f"today {there:%H:%M}"
    return f"{there:%a %H:%M}" if 0 <= now - ts < 6 * 86_400 else f"{there:%Y-%m-%d %H:%M}"


def fit(text: str, width: int) -> str:
    """Text cut to so many columns; wide characters take two."""
    used, kept = 0, ""
    for char in text:
        used += 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1
        if used > width:
            return kept[:-1] + "…"
        kept += char
    return kept


def _store() -> Store:
    return Store(Paths.from_environ().sessions_dir)


def _last_answer(path: Path) -> str:
    from tui_agent.core.events import AgentEnd

    answer = ""
    for event in read(path):
        if isinstance(event, AgentEnd):
            answer = event.final_output or (event.failure.text if event.failure else "") or answer
    return answer


def _json(row: SessionSummary) -> str:
    return msgspec.json.encode(row, enc_hook=str).decode("utf-8").translate(_CONTROLS) + "\n"


def _nothing(everywhere: bool) -> str:
    if everywhere:
        return "no session was saved yet\n"
    return f"no sessions in {plain(str(Path.cwd()))}; --all lists those of other folders\n"


def _line(text: str) -> str:
    return plain(" ".join(text.split()))


def _time(ts: float) -> str:
    return f"{datetime.datetime.fromtimestamp(ts).astimezone():%Y-%m-%d %H:%M:%S}" if ts else ""


def _print(text: str) -> None:
    click.echo(text, nl=False)
