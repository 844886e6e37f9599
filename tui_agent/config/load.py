"""The effective configuration: flags over the environment over the project over the user over the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import structs

from tui_agent.config import given
from tui_agent.config.checks import faults
from tui_agent.config.paths import CONFIG_NAME, Paths, project_folder
from tui_agent.config.read import Reader, join
from tui_agent.config.reference import KEYS, fields, kind_of, leaves
from tui_agent.config.sections import Config, Section
from tui_agent.config.trust import State, Trust
from tui_agent.config.yamlfile import Node, Parsed, read, visible
from tui_agent.core.errors import ConfigError

_MOST_ERRORS = 50
"""Errors named one by one; a file with more is not a configuration."""

_ADDED = frozenset({"permissions.allow", "permissions.ask", "permissions.deny"})
"""Lists to which every source adds, so that a project can't drop a rule of the user; other lists are replaced."""


class ConfigErrors(ConfigError):
    """Everything that is wrong with a configuration, ``errors`` in the order of the sources; one line each."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        super().__init__(first.what, file=first.file, line=first.line, where=first.where)
        named = [str(error) for error in self.errors[:_MOST_ERRORS]]
        more = len(self.errors) - len(named)
        self.args = ("\n".join([*named, *([f"… and {more} more errors"] if more else [])]),)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid configuration and where it came from.

    ``sources`` maps dotted keys to ``FILE:LINE``, ``TUI_AGENT_X`` or ``flag``; a key that nobody set is ``default``.
    ``untrusted_project`` is True if the project has settings that were left out; ``trust`` says why.
    """

    config: Config
    sources: Mapping[str, str]
    untrusted_project: bool = False
    trust: State = "unknown"
    project: Path | None = None
    """The project's ``.tui-agent`` folder, if there is one."""
    project_settings: Parsed | None = None
    """Its settings as they were read; pass them to ``Trust.trust`` so that only what was shown is trusted."""
    paths: Paths = field(default_factory=Paths.from_environ)
    files: tuple[Path, ...] = ()
    """Files whose change calls for another load, existing or not."""
    warnings: tuple[str, ...] = ()

    def source(self, key: str) -> str:
        """Where the value of a dotted key comes from."""
        return self.sources.get(key, "default")


def load(
    cwd: Path,
    *,
    config_file: Path | None = None,
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Load what holds in ``cwd``; raises ``ConfigErrors`` with every error of every source.

    ``config_file`` (``--config``, ``TUI_AGENT_CONFIG``) is read in place of the user's file and, being named on purpose,
    counts more than the project's. ``overrides`` are values of flags by dotted key; None means not given.
    """
    environ = os.environ if environ is None else environ
    paths = Paths.from_environ(environ)
    if config_file is None and environ.get("TUI_AGENT_CONFIG", "").strip():
        config_file = Path(environ["TUI_AGENT_CONFIG"]).expanduser()
    merge = _Merge()
    folder = project_folder(cwd, paths)
    settings = _optional(folder / CONFIG_NAME) if folder is not None else None
    state: State = "unknown"
    if config_file is None:
        merge.file(_optional(paths.config_file))
    if folder is not None:
        state = Trust(paths.trust_file).state(folder, settings or Parsed(None))
        if state == "trusted":
            merge.file(settings)
    if config_file is not None:
        merge.file(read(config_file))
    root, errors, warnings = given.from_environ(environ)
    merge.source(root, errors)
    root, errors, _ = given.from_flags(overrides or {})
    merge.source(root, errors, label="flag")
    config = merge.finish()
    untrusted = folder is not None and state != "trusted"
    if untrusted and folder is not None and settings is not None:
        warnings.append(f"{visible(str(folder / CONFIG_NAME))}: left out, because the folder is not trusted")
    files = [config_file or paths.config_file, *([folder / CONFIG_NAME] if folder is not None else [])]
    return Loaded(
        config, merge.sources, untrusted, state, folder, settings, paths, tuple(files), tuple(warnings)
    )


def _optional(path: Path) -> Parsed | None:
    return read(path) if path.exists() else None


class _Merge:
    """Lays one source over the other, lowest first."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self._reader = Reader()
        self._values: dict[str, Any] = {}
        self._places: dict[str, Node] = {}

    def file(self, parsed: Parsed | None) -> None:
        if parsed is not None:
            self.source(parsed.root, list(parsed.errors))

    def source(self, root: Node | None, errors: Sequence[ConfigError], label: str = "") -> None:
        """Add one source; ``label`` replaces the name of the place in ``sources``."""
        self._reader.errors.extend(errors)
        values = self._reader.read(root)
        places = dict(self._reader.places)
        self._lay(self._values, values, "", places)
        for key, node in places.items():
            self._places[key] = node
            self.sources[key] = label or node.place

    def finish(self) -> Config:
        """Make the types; raises ``ConfigErrors`` if anything was wrong."""
        errors = [*self._reader.errors, *self._required(self._values, Config, "", "")]
        if not errors:
            config = self._raise_ceiling(msgspec.convert(self._values, Config))
            errors = [self._fault(where, what) for where, what in faults(config)]
            if not errors:
                return config
        order = {name: at for at, name in reversed(list(enumerate(error.file for error in errors)))}
        raise ConfigErrors(sorted(errors, key=lambda error: (order[error.file], error.line)))

    def _raise_ceiling(self, config: Config) -> Config:
        """Whoever asks for more steps than the default ceiling means it; a ceiling that someone set stays."""
        limits = config.limits
        if limits.max_steps <= limits.hard_max_steps or "limits.hard_max_steps" in self._places:
            return config
        return structs.replace(config, limits=structs.replace(limits, hard_max_steps=limits.max_steps))

    def _lay(self, under: dict[str, Any], over: dict[str, Any], where: str, places: dict[str, Node]) -> None:
        for name, value in over.items():
            at = join(where, name)
            below = under.get(name)
            if isinstance(value, dict) and isinstance(below, dict):
                self._lay(cast("dict[str, Any]", below), cast("dict[str, Any]", value), at, places)
            elif at in _ADDED and isinstance(below, list):
                _add(cast("list[str]", below), cast("list[str]", value), at, places)
            else:
                if not isinstance(value, dict):
                    _drop_below(self._places, at)
                    _drop_below(self.sources, at)
                under[name] = value

    def _required(
        self, values: dict[str, Any], section: type[Section], where: str, key: str
    ) -> list[ConfigError]:
        """Find required keys that no source gave; only a merged table shows that (list items were checked before)."""
        errors: list[ConfigError] = []
        for name, info in fields(section).items():
            kind, at, pattern = kind_of(info.type), join(where, name), f"{key}.{name}" if key else name
            value = values.get(name)
            if info.required and name not in values and at not in self._places:
                errors.append(self._fault(at, f"is missing: {KEYS[pattern].what}", above=where))
            if isinstance(value, dict):
                below = cast("dict[str, Any]", value)
                if kind.section is not None:
                    errors.extend(self._required(below, kind.section, at, pattern))
                elif (inner := kind_of(kind.inner).section) is not None:
                    for entry, item in below.items():
                        errors.extend(self._required(item, inner, join(at, entry), f"{pattern}.*"))
        return errors

    def _fault(self, where: str, what: str, above: str = "") -> ConfigError:
        """An error at the place where a key, or the nearest thing above it, was written."""
        at = above or where
        while at and at not in self._places:
            at = at[: max(at.rfind("."), at.rfind("["), 0)]
        node = self._places.get(at, Node(None))
        return node.error(what, where)


def _add(rules: list[str], more: list[str], at: str, places: dict[str, Node]) -> None:
    """Append the rules that are not there yet; their places move with them."""
    moved: dict[str, Node] = {}
    for index, rule in enumerate(more):
        if rule not in rules:
            moved[f"{at}[{len(rules)}]"] = places[f"{at}[{index}]"]
            rules.append(rule)
    _drop_below(places, at)
    places.update(moved)


def _drop_below(places: dict[str, Any], key: str) -> None:
    for old in [old for old in places if old.startswith((f"{key}[", f"{key}."))]:
        del places[old]


def defaults() -> dict[str, Any]:
    """Default by dotted key, of every key that exists in every configuration."""
    return {key: value for key, _, value in leaves() if "*" not in key and "[" not in key}
