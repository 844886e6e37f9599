"""``models``, ``config``, ``themes`` and ``keys``: what the program knows and what a person's files say."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_agent.cli import EXIT_CONFIG, fail
from tui_agent.cli.options import loaded

if TYPE_CHECKING:
    from tui_agent.config.load import Loaded
    from tui_agent.llm.catalog import KnownModel
    from tui_agent.llm.local import LocalModel

_HELP = {"help_option_names": ["-h", "--help"]}


@click.command(context_settings=_HELP)
@click.argument("filter", default="")
@click.option("--all", "everything", is_flag=True, help="Also models that can't call tools.")
@click.option("--local/--no-local", default=True, help="Ask the usual local ports.")
def models(filter: str, everything: bool, local: bool) -> int:
    """Known models (whose name contains FILTER): window, prices, what they support; and local servers."""
    from tui_agent.llm import catalog
    from tui_agent.llm.local import discover

    settings = loaded(Path.cwd(), {})
    words = filter.lower().split()
    known = [
        m for m in catalog.known() if all(w in m.name.lower() for w in words) and (everything or m.tools)
    ]
    if not known and filter:
        near = catalog.nearest(filter, settings.config)
        click.echo(f"no known model contains {filter!r}" + (f"; nearest: {', '.join(near)}" if near else ""))
    else:
        _print_known(known)
    for name, entry in settings.config.models.items():
        click.echo(f"alias  {name:<16} {entry.name}" + (f"  at {entry.api_base}" if entry.api_base else ""))
    if local:
        _print_local(asyncio.run(discover()))
    return 0


def _print_known(known: list[KnownModel]) -> None:
    click.echo(f"{'model':<52} {'window':>9} {'in $/M':>8} {'out $/M':>8}  supports")
    for model in known:
        flags = [
            ("tools", model.tools),
            ("vision", model.vision),
            ("reasoning", model.reasoning),
            ("cache", model.cache),
        ]
        supports = " ".join(word for word, has in flags if has)
        window = f"{model.window:,}" if model.window else "?"
        click.echo(
            f"{model.name:<52} {window:>9} {_per_million(model.input_price):>8} {_per_million(model.output_price):>8}  {supports}"
        )


def _per_million(price: float | None) -> str:
    return "?" if price is None else f"{price * 1e6:.2f}"


def _print_local(found: list[LocalModel]) -> None:
    if not found:
        click.echo(
            "local  no server answers on 11434 (Ollama), 1234 (LM Studio), 8080 (llama.cpp) or 8000 (vLLM)"
        )
    for model in found:
        window = f"{model.window:,} tokens" if model.window else "window unknown"
        click.echo(f"local  {model.id}  {model.server} at {model.api_base}  {window}  {model.note}".rstrip())


@click.command(context_settings=_HELP)
@click.option(
    "--config", "config_file", metavar="FILE", help="Read this configuration instead of the user's."
)
def config(**values: Any) -> int:
    """The effective configuration, each value with the file and line it came from."""
    from tui_agent.config.report import effective
    from tui_agent.config.yamlfile import visible

    settings = loaded(Path.cwd(), values)
    for file in settings.files:
        click.echo(f"# {visible(str(file))}{_standing(file, settings)}")
    rows = effective(settings)
    width = max(len(row.key) for row in rows)
    for row in rows:
        click.echo(f"{row.key:<{width}}  {row.value}  # {row.source}")
    for warning in settings.warnings:
        click.echo(warning, err=True)
    return 0


def _standing(file: Path, settings: Loaded) -> str:
    """Why a file of settings counts for nothing, if it does."""
    if not file.exists():
        return ": not there"
    if settings.untrusted_project and settings.project is not None and file.parent == settings.project:
        return ": left out, the folder is not trusted"
    return ""


@click.command(context_settings=_HELP)
@click.argument("file", required=False)
def themes(file: str | None) -> int:
    """List and check themes, or check FILE; every error with its line."""
    from tui_agent.config.paths import Paths
    from tui_agent.ui import themes as known

    if file is not None:
        return _report([(Path(file).name, known.check(_existing(file)))])
    found = known.names([Paths.from_environ().themes_dir])
    return _report([(name, known.check(path)) for name, path in found.items()])


@click.command(context_settings=_HELP)
@click.argument("file", required=False)
def keys(file: str | None) -> int:
    """List every action with its keys and check the files, or check FILE; every error with its line."""
    from tui_agent.config.paths import Paths
    from tui_agent.ui import keys as keymap

    own = _existing(file) if file is not None else Paths.from_environ().keybindings_file
    loaded_keys, errors = keymap.load(own if own.exists() else None)
    for group in loaded_keys.help():
        click.echo(group.title)
        for row in group.rows:
            click.echo(f"  {row[0]:<28} {row[1]}")
    for error in errors:
        click.echo(str(error), err=True)
    return EXIT_CONFIG if errors else 0


def _existing(file: str) -> Path:
    path = Path(file).expanduser()
    if not path.is_file():
        raise fail(f"{file}: there is no such file")
    return path


def _report(checked: list[tuple[str, list[str]]]) -> int:
    """One line a file, its errors below; 3 if there are any."""
    for name, errors in checked:
        click.echo(f"{name:<24} {'ok' if not errors else f'{len(errors)} errors'}")
        for error in errors:
            click.echo(f"  {error}", err=True)
    return EXIT_CONFIG if any(errors for _, errors in checked) else 0
