"""A theme's file: checked word by word against roles and grounds, laid over the theme it is based on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.color import Color
from rich.style import Style

from tui_agent.config import assets
from tui_agent.config.nearest import did_you_mean
from tui_agent.config.yamlfile import Node, read, show, visible
from tui_agent.core.errors import ConfigError
from tui_agent.ui.colours import ANSI, parse_hex
from tui_agent.ui.roles import GROUNDS, GROUPS, ROLES, Role

ATTRIBUTES = ("bold", "italic", "underline", "reverse", "strike")
DEFAULT = "default"
"""The terminal's own colour, of text or ground."""
BASE = "dark"
"""What a theme that names no base takes what it lacks from."""

_KEYS = ("title", "based_on", "dark", "terminal_colours", "colours", "grounds", "roles", "syntax")


@dataclass(frozen=True, slots=True)
class Look:
    """What a theme says of one role: colours as ``#rrggbb``, a terminal colour's name or ``default``; "" if not said."""

    colour: str = ""
    ground: str = ""
    attributes: tuple[str, ...] = ()

    def over(self, parent: Look) -> Look:
        """This look with the gaps filled from what it inherits."""
        return Look(
            self.colour or parent.colour,
            self.ground or parent.ground,
            tuple(dict.fromkeys((*parent.attributes, *self.attributes))),
        )

    def style(self) -> Style:
        """The same for rich."""
        return Style(
            color=Color.parse(self.colour) if self.colour else None,
            bgcolor=Color.parse(self.ground) if self.ground else None,
            bold="bold" in self.attributes or None,
            italic="italic" in self.attributes or None,
            underline="underline" in self.attributes or None,
            reverse="reverse" in self.attributes or None,
            strike="strike" in self.attributes or None,
        )


@dataclass(slots=True)
class Sheet:
    """A file as written: words still unresolved, so that another file can be laid over it."""

    title: str = ""
    dark: bool | None = None
    terminal_colours: bool | None = None
    colours: dict[str, Node] = field(default_factory=dict[str, Node])
    grounds: dict[str, Node] = field(default_factory=dict[str, Node])
    roles: dict[str, Node] = field(default_factory=dict[str, Node])
    syntax: dict[str, Node] = field(default_factory=dict[str, Node])


@dataclass(frozen=True, slots=True)
class Looks:
    """A whole theme, resolved; ``roles`` and ``syntax`` hold only what is said, without what is inherited."""

    title: str
    dark: bool
    terminal_colours: bool
    grounds: Mapping[str, str]
    roles: Mapping[str, Look]
    syntax: Mapping[str, Look]


def read_theme(path: Path) -> tuple[Looks | None, list[ConfigError]]:
    """Read a theme and what it is based on; None if anything is wrong with it."""
    sheet, errors = _sheet(path)
    if sheet is None:
        return None, errors
    words = _Words(sheet, errors)
    grounds = {name: words.colour(node, f"grounds.{name}") for name, node in sheet.grounds.items()}
    roles = {name: words.look(node, f"roles.{name}") for name, node in sheet.roles.items()}
    syntax = {name: words.look(node, f"syntax.{name}") for name, node in sheet.syntax.items()}
    for name, node in sheet.colours.items():
        words.plain(node, f"colours.{name}")
    missing = [name for name in GROUNDS if name not in grounds]
    if missing:
        words.errors.append(
            ConfigError(f"lacks {', '.join(missing)}", file=visible(str(path)), where="grounds")
        )
    if words.errors:
        return None, sorted(words.errors, key=lambda error: (error.file, error.line))
    title = sheet.title or path.stem
    return Looks(title, sheet.dark is not False, bool(sheet.terminal_colours), grounds, roles, syntax), []


def inherited(name: str, looks: Mapping[str, Look], table: Mapping[str, Role]) -> Look:
    """The whole look of a role or group, from the far end of what it inherits."""
    chain: list[str] = []
    while name and name not in chain:
        chain.append(name)
        name = table[name].parent
    look = Look()
    for step in reversed(chain):
        look = looks.get(step, Look()).over(look)
    return look


def _sheet(path: Path, above: tuple[Path, ...] = ()) -> tuple[Sheet | None, list[ConfigError]]:
    """Read one file over its base; None if there is nothing to go on with."""
    parsed = read(path)
    errors = list(parsed.errors)
    root = parsed.root
    entries = root.value if root is not None else {}
    if root is not None and not isinstance(entries, dict):
        return None, [*errors, root.error(f"expected sections such as `roles:`, got {show(root)}")]
    if errors and root is None:
        return None, errors
    assert isinstance(entries, dict)
    sheet = _base(path, entries.get("based_on"), above, errors)
    if sheet is None:
        return None, errors
    for key, node in entries.items():
        if key not in _KEYS:
            near = did_you_mean(key, _KEYS) or "; there are " + ", ".join(_KEYS)
            errors.append(node.error(f"unknown key{near}", visible(key, 40)))
        elif key == "title":
            sheet.title = visible(node.text, 40)
        elif key in ("dark", "terminal_colours"):
            if isinstance(node.value, bool):
                setattr(sheet, key, node.value)
            else:
                errors.append(node.error(f"expected true or false, got {show(node)}", key))
        elif key in ("colours", "grounds", "roles", "syntax"):
            _section(key, node, getattr(sheet, key), errors)
    return sheet, errors


def _base(path: Path, node: Node | None, above: tuple[Path, ...], errors: list[ConfigError]) -> Sheet | None:
    """Read what a theme is based on. Only bundled themes are bases, so that a user's ``dark`` may be based on ours."""
    folder = assets.themes_dir()
    name = BASE
    if node is not None:
        names = sorted(file.stem for file in folder.glob("*.yaml"))
        if not isinstance(node.value, str) or node.value not in names:
            near = did_you_mean(node.text, names) or "; there are " + ", ".join(names)
            errors.append(node.error(f"expected a bundled theme, got {show(node)}{near}", "based_on"))
            return None
        name = node.value
    elif path.parent == folder:
        return Sheet()
    base = folder / f"{name}.yaml"
    if base in above:
        errors.append(ConfigError("is based on itself", file=visible(str(path)), where="based_on"))
        return None
    sheet, faults = _sheet(base, (*above, base))
    errors.extend(faults)
    if sheet is not None:
        sheet.title = ""
    return sheet


def _section(key: str, node: Node, into: dict[str, Node], errors: list[ConfigError]) -> None:
    known = {"grounds": GROUNDS, "roles": ROLES, "syntax": GROUPS}.get(key)
    if node.value is None:
        return
    if not isinstance(node.value, dict):
        errors.append(node.error(f"expected names and colours, got {show(node)}", key))
        return
    for name, below in node.value.items():
        if known is not None and name not in known:
            errors.append(
                below.error(f"there is no such name{did_you_mean(name, known)}", f"{key}.{visible(name, 40)}")
            )
        else:
            into[name] = below


class _Words:
    """Resolves the words of looks; faults are collected."""

    def __init__(self, sheet: Sheet, errors: list[ConfigError]) -> None:
        self.errors = errors
        self._colours = sheet.colours
        self._named = bool(sheet.terminal_colours)

    def look(self, node: Node, where: str) -> Look:
        """Read ``bold accent on raised``, any part of which may be missing."""
        if not isinstance(node.value, str):
            self.errors.append(
                node.error(f'expected a look such as "bold ink", got {show(node)}{_hint(node)}', where)
            )
            return Look()
        colour, ground, after_on = "", "", False
        attributes: list[str] = []
        for word in node.value.split():
            if word in ATTRIBUTES:
                attributes.append(word)
            elif word == "on" and not after_on:
                after_on = True
            elif after_on and not ground:
                ground = self._resolve(word, node, where)
            elif not after_on and not colour:
                colour = self._resolve(word, node, where)
            else:
                self.errors.append(node.error(f'"{visible(word, 30)}" is one word too many', where))
        if after_on and not ground:
            self.errors.append(node.error('expected a colour after "on"', where))
        return Look(colour, ground, tuple(attributes))

    def colour(self, node: Node, where: str) -> str:
        """Read one colour, or the name of one."""
        if isinstance(node.value, str) and node.value.strip():
            return self._resolve(node.value.strip(), node, where)
        self.errors.append(node.error(f"expected a colour, got {show(node)}{_hint(node)}", where))
        return ""

    def plain(self, node: Node, where: str) -> str:
        """Read one colour that is not a name from ``colours``."""
        word = node.value if isinstance(node.value, str) else ""
        rgb = parse_hex(word)
        if rgb is not None:
            return "#{:02x}{:02x}{:02x}".format(*rgb)
        if self._named and (word in ANSI or word == DEFAULT):
            return word
        hint = _hint(node)
        if word in ANSI or word == DEFAULT:
            hint = "; names of terminal colours need `terminal_colours: true`"
        self.errors.append(node.error(f'expected a colour such as "#7aa2f7", got {show(node)}{hint}', where))
        return ""

    def _resolve(self, word: str, node: Node, where: str) -> str:
        if word in self._colours:
            found = self._colours[word]
            return self.plain(found, f"colours.{word}") if found.value is not None else ""
        if word == "dim":
            self.errors.append(node.error("dim is not measurable; name a dimmer colour instead", where))
            return ""
        if parse_hex(word) is not None or word in ANSI or word == DEFAULT:
            return self.plain(Node(word, node.file, node.line, word), where)
        near = did_you_mean(word, [*self._colours, *ATTRIBUTES])
        self.errors.append(node.error(f'"{visible(word, 30)}" is no colour{near}', where))
        return ""


def _hint(node: Node) -> str:
    return "; a colour needs quotes, because # begins a comment" if node.value is None else ""
