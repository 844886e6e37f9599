"""Themes: the look of every role for rich and for Textual's style sheets, and which theme suits a terminal."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.style import Style

from tui_agent.config import assets
from tui_agent.config.nearest import did_you_mean
from tui_agent.config.yamlfile import visible
from tui_agent.core.errors import ConfigError
from tui_agent.ui.colours import ANSI, READABLE, Rgb, contrast, is_light, parse_hex, parse_reply
from tui_agent.ui.roles import CODE_GROUNDS, GROUNDS, GROUPS, ROLES
from tui_agent.ui.themefile import DEFAULT, Look, Looks, inherited, read_theme

AUTO = "auto"
Depth = Literal["none", "16", "256", "true"]
"""How many colours a terminal shows."""


class Theme:
    """A look for everything; immutable, so that styles are made once."""

    def __init__(self, name: str, looks: Looks) -> None:
        self.name = name
        self.title = looks.title
        self.dark = looks.dark
        self.terminal_colours = looks.terminal_colours
        """True if it uses the terminal's own colours; Textual must then pass them on (``ansi``)."""
        self._looks = looks
        self._styles: dict[str, Style] = {}
        self._syntax: dict[str, Style] = {}

    def __repr__(self) -> str:
        return f"Theme({self.name!r})"

    def style(self, role: str) -> Style:
        """The style of a role. A role that is not known looks like the one it is named after (``tool-x`` like ``tool``)."""
        style = self._styles.get(role)
        if style is None:
            style = self._styles[role] = self.look(role).style()
        return style

    def syntax(self, group: str) -> Style:
        """The style of a group of code tokens; of none that is known: as plain code."""
        style = self._syntax.get(group)
        if style is None:
            known = inherited(group, self._looks.syntax, GROUPS) if group in GROUPS else Look()
            style = self._syntax[group] = known.style()
        return style

    def look(self, role: str) -> Look:
        """The colours of a role by name, inheritance resolved."""
        while role not in ROLES:
            role = role.rpartition("-")[0] or "content"
        return inherited(role, self._looks.roles, ROLES)

    def ground(self, name: str) -> str:
        """A ground's colour (``GROUNDS``): ``#rrggbb``, a terminal colour's name, or ``default``."""
        return self._looks.grounds[name]

    def textual_fields(self) -> dict[str, Any]:
        """Keyword arguments for ``textual.theme.Theme``.

        Style sheets may use ``$role-NAME`` (and ``$role-NAME-ground`` where a role has one) and ``$ground-NAME``.
        The name changes with the looks, so that Textual takes an edited file for another theme and paints anew.
        An app that begins with ``terminal_colours`` has to be made with ``ansi_color=True``: with ``NO_COLOR`` Textual
        else turns the terminal's default colours into black on black.
        """
        accent = self._css(self.look("accent").colour)
        return {
            "name": f"{self.name}-{zlib.crc32(repr(self._looks).encode()):08x}",
            "primary": accent,
            "secondary": accent,
            "accent": accent,
            "warning": self._css(self.look("warn").colour),
            "error": self._css(self.look("error").colour),
            "success": self._css(self.look("ok").colour),
            "foreground": self._css(self.look("content").colour),
            "background": self._css(self.ground("background")),
            "surface": self._css(self.ground("surface")),
            "panel": self._css(self.ground("overlay")),
            "boost": self._css(self.ground("surface")),
            "dark": self.dark,
            "ansi": self.terminal_colours,
            "text_alpha": 1.0,
            "variables": self.css_variables(),
        }

    def css_variables(self) -> dict[str, str]:
        """Variables for style sheets: ours, and Textual's own for what it draws itself."""
        variables: dict[str, str] = {}
        for role in ROLES:
            look = self.look(role)
            variables[f"role-{role}"] = self._css(look.colour or self.look("content").colour)
            if look.ground:
                variables[f"role-{role}-ground"] = self._css(look.ground)
        for name in GROUNDS:
            variables[f"ground-{name}"] = self._css(self.ground(name))
        selection, find, cursor = self.look("selection"), self.look("find"), self.look("cursor")
        ground = self._css(self.ground("background"))
        return variables | {
            "ansi-background": ground,
            "ansi-foreground": variables["role-content"],
            "text": variables["role-content"],
            "text-muted": variables["role-context"],
            "text-disabled": variables["role-context"],
            "foreground-muted": variables["role-context"],
            "border": variables["role-border-focus"],
            "border-blurred": variables["role-border"],
            "scrollbar": variables["role-scrollbar-thumb"],
            "scrollbar-hover": variables["role-scrollbar-thumb"],
            "scrollbar-active": variables["role-accent"],
            "scrollbar-background": ground,
            "scrollbar-background-hover": ground,
            "scrollbar-background-active": ground,
            "scrollbar-corner-color": ground,
            "screen-selection-background": self._css(selection.ground or DEFAULT),
            "screen-selection-foreground": self._css(selection.colour or DEFAULT),
            "input-selection-background": self._css(selection.ground or DEFAULT),
            "input-selection-foreground": self._css(selection.colour or DEFAULT),
            "input-cursor-background": variables["role-content"],
            "input-cursor-foreground": ground,
            "input-cursor-text-style": "reverse" if self.terminal_colours else "none",
            "block-cursor-background": self._css(cursor.ground or self.ground("cursor")),
            "block-cursor-foreground": self._css(cursor.colour or self.look("content").colour),
            "block-cursor-text-style": "reverse" if "reverse" in cursor.attributes else "none",
            "block-hover-background": self._css(self.ground("cursor")),
            "link-color": variables["role-link"],
            "link-background": "transparent",
            "link-style": "underline",
            "link-color-hover": self._css(find.colour or self.look("content").colour),
            "link-background-hover": self._css(find.ground or DEFAULT),
            "footer-foreground": variables["role-hint"],
            "footer-background": ground,
            "footer-key-foreground": variables["role-key"],
        }

    @staticmethod
    def _css(colour: str) -> str:
        """Write a colour as Textual's style sheets do."""
        return colour if colour.startswith("#") else f"ansi_{colour or DEFAULT}"


# ---- finding and checking


def names(folders: Iterable[Path] = ()) -> dict[str, Path]:
    """Every theme by name, bundled ones first; a folder given later wins over an earlier one with the same name."""
    found: dict[str, Path] = {}
    for folder in (assets.themes_dir(), *folders):
        for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
            found[path.stem] = path
    return found


def load(name: str, folders: Iterable[Path] = ()) -> tuple[Theme | None, list[ConfigError]]:
    """Load a theme by name, or by the path of its file. With errors there is no theme: keep the one there was."""
    path = Path(name)
    if path.suffix != ".yaml":
        known = names(folders)
        if name not in known:
            near = did_you_mean(name, [*known, AUTO]) or "; there are " + visible(", ".join([AUTO, *known]))
            return None, [ConfigError(f'there is no theme "{visible(name, 40)}"{near}')]
        path = known[name]
    looks, errors = read_theme(path)
    return (Theme(path.stem, looks), []) if looks is not None else (None, errors)


def check(file: Path) -> list[str]:
    """Every mistake in a theme's file, as ``FILE:LINE: where: what``; for ``tui-agent themes``."""
    return [str(error) for error in read_theme(file)[1]]


@dataclass(frozen=True, slots=True)
class Contrast:
    """How well a role (``syntax.GROUP`` for code) is read on a ground."""

    role: str
    ground: str
    ratio: float

    @property
    def readable(self) -> bool:
        """True from 4.5:1."""
        return self.ratio >= READABLE


def contrasts(theme: Theme) -> list[Contrast]:
    """Measure every text role on every ground it can stand on, and code on listings and diffs.

    Of terminal colours the worse of two usual palettes counts; the terminal's own default can't be measured.
    """
    found: list[Contrast] = []
    grounds = {name: theme.ground(name) for name in GROUNDS}
    for role, about in ROLES.items():
        if not about.text:
            continue
        look = theme.look(role)
        colour = look.colour or theme.look("content").colour
        for name, ground in {role: look.ground}.items() if look.ground else grounds.items():
            found.extend(_measure(role, colour, name, ground, reverse="reverse" in look.attributes))
    on_code = {name: grounds.get(name) or theme.look(name).ground for name in CODE_GROUNDS}
    on_diff = {"context", "diff-number", "diff-context"}
    code = [(f"syntax.{group}", theme.syntax(group)) for group in GROUPS]
    code += [(role, theme.style(role)) for role in on_diff]
    for name, ground in on_code.items():
        for group, style in code:
            colour = style.color.name if style.color else theme.look("content").colour
            found.extend(_measure(group, colour, name, ground or grounds["background"], reverse=False))
    return found


def _measure(role: str, colour: str, name: str, ground: str, *, reverse: bool) -> list[Contrast]:
    if DEFAULT in (colour, ground) or not colour or not ground or reverse:
        return []
    pairs = zip(_paints(colour), _paints(ground), strict=True)
    return [Contrast(role, name, min(contrast(one, other) for one, other in pairs))]


def _paints(colour: str) -> tuple[Rgb, Rgb]:
    if colour in ANSI:
        return ANSI[colour]
    rgb = parse_hex(colour) or (0, 0, 0)
    return rgb, rgb


# ---- which theme suits the terminal


def suited(name: str, environ: Mapping[str, str], background: str | None = None) -> str:
    """Return the theme to use when ``name`` is wished for: its colours must exist, and ``auto`` is dark or light.

    ``background`` is the terminal's answer to OSC 11, if there was one.
    """
    depth = depth_of(environ)
    if depth == "none":
        return "plain"
    if depth == "16" and name != "plain":
        return "ansi"
    if name != AUTO:
        return name
    return "light" if light_terminal(environ, background) else "dark"


def depth_of(environ: Mapping[str, str]) -> Depth:
    """How many colours the terminal shows, by what it says of itself; as rich decides, which does the painting."""
    if "NO_COLOR" in environ:
        return "none"
    if environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return "true"
    term = environ.get("TERM", "").strip().lower()
    return "256" if term.rpartition("-")[2] in ("kitty", "256color") else "16"


def light_terminal(environ: Mapping[str, str], background: str | None = None) -> bool:
    """True if the terminal's ground is light: by its answer to OSC 11, else by ``COLORFGBG``, else it is taken for dark."""
    colour = parse_reply(background) if background else None
    if colour is not None:
        return is_light(colour)
    number = environ.get("COLORFGBG", "").rpartition(";")[2].strip()
    return number.isdigit() and int(number) in (7, *range(9, 16))
