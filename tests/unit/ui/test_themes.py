"""Themes: readable for everybody, whole, checked line by line, and suited to the terminal."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.color import Color
from textual.pilot import Pilot
from textual.theme import Theme as TextualTheme
from textual.widgets import Static

from tui_agent.config import assets
from tui_agent.ui.colours import ANSI, READABLE, Rgb, contrast, is_light, parse_hex, parse_reply
from tui_agent.ui.render.code import GROUPS as TOKEN_GROUPS
from tui_agent.ui.roles import GROUNDS, GROUPS, ROLES
from tui_agent.ui.themes import Theme, check, contrasts, depth_of, light_terminal, load, names, suited

BUNDLED = sorted(names())
PAGE = (Path(__file__).parents[3] / "docs" / "themes.md").read_text(encoding="utf-8")


def bundled(name: str) -> Theme:
    theme, errors = load(name)
    assert errors == []
    assert theme is not None
    return theme


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def mistakes(tmp_path: Path) -> Callable[[str], list[str]]:
    def of(text: str) -> list[str]:
        file = tmp_path / "mine.yaml"
        file.write_text(text)
        return [line.replace(str(file), "T") for line in check(file)]

    return of


# ---- the bundled ones


def test_the_themes_that_are_promised() -> None:
    assert {"dark", "light", "high-contrast", "colour-blind", "catppuccin-mocha", "gruvbox-dark"} <= set(
        BUNDLED
    )


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_theme_has_no_mistake(name: str) -> None:
    assert check(assets.themes_dir() / f"{name}.yaml") == []
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", BUNDLED)
def test_all_text_is_readable_on_whatever_it_stands_on(name: str) -> None:
    measured = contrasts(bundled(name))
    assert [found for found in measured if found.ratio < READABLE] == []
    if name != "plain":
        text = {role for role, about in ROLES.items() if about.text}
        assert {found.role for found in measured} >= text - {"cursor"}
        assert {found.role for found in measured} >= {f"syntax.{group}" for group in GROUPS}


def test_high_contrast_is_higher() -> None:
    assert min(found.ratio for found in contrasts(bundled("high-contrast"))) >= 7


def test_contrasts_are_measured_where_text_stands() -> None:
    found = {(one.role, one.ground) for one in contrasts(bundled("dark"))}
    assert {("context", ground) for ground in GROUNDS} <= found
    assert ("syntax.comment", "diff-add") in found
    assert ("diff-number", "diff-del") in found
    assert ("selection", "selection") in found
    assert ("border", "background") not in found


def test_of_terminal_colours_the_worse_palette_counts(tmp_path: Path) -> None:
    (tmp_path / "red.yaml").write_text(
        "based_on: ansi\nroles: {find: red on black, find-current: yellow on black}\n"
    )
    theme, _ = load("red", [tmp_path])
    assert theme is not None
    found = {one.role: one.ratio for one in contrasts(theme)}
    assert found["find"] == contrast(ANSI["red"][0], (0, 0, 0)) < contrast(ANSI["red"][1], (0, 0, 0))
    assert found["find-current"] == contrast(ANSI["yellow"][0], (0, 0, 0))


def test_unreadable_text_is_found(tmp_path: Path) -> None:
    (tmp_path / "faint.yaml").write_text('colours: {slate: "#333333"}\nroles: {find: "ink on #ffffff"}\n')
    theme, _ = load("faint", [tmp_path])
    assert theme is not None
    faint = {(one.role, one.ground) for one in contrasts(theme) if not one.readable}
    assert {
        ("context", "background"),
        ("find", "find"),
        ("syntax.comment", "code"),
        ("diff-number", "diff-add"),
    } <= faint
    assert ("content", "background") not in faint


@pytest.mark.parametrize("name", BUNDLED)
def test_signals_can_be_told_apart(name: str) -> None:
    theme = bundled(name)
    looks = [theme.style(role) for role in ("content", "ok", "warn", "error", "accent")]
    if name != "plain":
        assert len({str(style) for style in looks}) == len(looks)
    for role in ("selection", "find", "find-current", "cursor"):
        style = theme.style(role)
        assert style.bgcolor is not None or style.reverse
    assert theme.style("strong").bold
    assert theme.style("strong").color is None
    assert theme.style("link").underline


SIMULATION = {
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
}  # fmt: skip
"""How colours look without one kind of cones (Machado, Oliveira and Fernandes 2009, severity 1)."""


def seen_as(colour: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    """The colour as such eyes see it, in CIE L*a*b*."""
    rgb = parse_hex(colour)
    assert rgb is not None
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in rgb)
    ]
    r, g, b = (min(1, max(0, sum(m * c for m, c in zip(row, linear, strict=True)))) for row in matrix)
    x, y, z = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
    )
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def apart(one: str, other: str, matrix: tuple[tuple[float, ...], ...]) -> float:
    pairs = zip(seen_as(one, matrix), seen_as(other, matrix), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) ** 0.5


@pytest.mark.parametrize("eyes", SIMULATION)
def test_colour_blind_eyes_tell_signals_apart(eyes: str) -> None:
    theme, matrix = bundled("colour-blind"), SIMULATION[eyes]
    for one, other in combinations(("ok", "warn", "error", "accent", "content"), 2):
        assert apart(theme.look(one).colour, theme.look(other).colour, matrix) >= 20, (one, other)
    for one, other in (("diff-add", "diff-del"), ("diff-add-word", "diff-del-word")):
        assert apart(theme.look(one).ground, theme.look(other).ground, matrix) >= 20, (one, other)
    dark = bundled("dark")
    assert apart(dark.look("ok").colour, dark.look("error").colour, matrix) < 20


# ---- roles and inheritance


def test_every_role_inherits_from_one_that_exists() -> None:
    for table in (ROLES, GROUPS):
        for name, about in table.items():
            seen: set[str] = set()
            while name:
                assert name not in seen
                seen.add(name)
                name = table[name].parent
            assert about.means


def test_the_page_lists_every_role_group_and_ground() -> None:
    for table in (ROLES, GROUPS):
        for name, about in table.items():
            parent = f"`{about.parent}`" if about.parent else "–"
            assert f"| `{name}` | {parent} | {about.means} |" in PAGE
    for name, means in GROUNDS.items():
        assert f"| `{name}` | {means} |" in PAGE


def test_every_group_of_tokens_has_a_look() -> None:
    assert set(TOKEN_GROUPS.values()) <= set(GROUPS)


def test_a_role_takes_from_its_parent_what_it_does_not_say(folder: Path) -> None:
    (folder / "mine.yaml").write_text(
        'colours: {plum: "#ff00ff"}\nroles: {warn: bold plum, hook-fail: italic, untrusted: plum on ink}\n'
    )
    theme, _ = load("mine", [folder])
    assert theme is not None
    plum = "#ff00ff"
    assert theme.style("warn") == Style(color=plum, bold=True)
    assert theme.style("hook-fail") == Style(color=plum, bold=True, italic=True)
    assert theme.look("untrusted").ground == theme.look("content").colour
    assert theme.style("denied") == theme.style("warn")


def test_an_unknown_role_looks_like_the_one_it_is_named_after() -> None:
    theme = bundled("dark")
    assert theme.style("tool-error-detail") == theme.style("tool-error")
    assert theme.style("no-such-thing") == theme.style("content")
    assert theme.syntax("nonsense") == Style()


def test_styles_are_made_once() -> None:
    theme = bundled("dark")
    assert theme.style("ok") is theme.style("ok")
    assert theme.syntax("keyword") is theme.syntax("keyword")


# ---- a person's own


def test_new_values_for_names_change_every_look(folder: Path) -> None:
    (folder / "mine.yaml").write_text('title: Mine\nbased_on: light\ncolours: {iris: "#ABC"}\n')
    theme, errors = load("mine", [folder])
    assert errors == []
    assert theme is not None
    assert (theme.name, theme.title, theme.dark) == ("mine", "Mine", False)
    assert theme.look("accent").colour == theme.look("link").colour == "#aabbcc"
    assert theme.ground("background") == bundled("light").ground("background")


def test_a_theme_may_take_the_place_of_a_bundled_one(folder: Path) -> None:
    (folder / "dark.yaml").write_text('colours: {ink: "#ffffff"}\n')
    theme, _ = load("dark", [folder])
    assert theme is not None
    assert theme.look("content").colour == "#ffffff"
    assert theme.look("accent") == bundled("dark").look("accent")
    assert bundled("dark").look("content").colour != "#ffffff"


def test_a_theme_may_be_named_by_its_file(folder: Path) -> None:
    file = folder / "mine.yaml"
    file.write_text("")
    theme, errors = load(str(file))
    assert errors == []
    assert theme is not None
    assert theme.style("content") == bundled("dark").style("content")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("roles:\n  tool-eror: bold", ['T:2: roles.tool-eror: there is no such name; did you mean "tool-error"?']),
        ("syntax: {keywrd: bold}", ['T:1: syntax.keywrd: there is no such name; did you mean "keyword"?']),
        ("grounds: {backgrund: ink}", ['T:1: grounds.backgrund: there is no such name; did you mean "background"?']),
        ("color: {}", ['T:1: color: unknown key; did you mean "colours"?']),
        ("roles: {ok: mos}", ['T:1: roles.ok: "mos" is no colour; did you mean "moss"?']),
        ("roles: {ok: bolt moss}", ['T:1: roles.ok: "bolt" is no colour; did you mean "bold"?']),
        ("roles: {ok: moss ink}", ['T:1: roles.ok: "ink" is one word too many']),
        ("roles: {ok: moss on}", ['T:1: roles.ok: expected a colour after "on"']),
        ("roles: {ok: dim moss}", ["T:1: roles.ok: dim is not measurable; name a dimmer colour instead"]),
        ("roles: {ok: red}", ['T:1: roles.ok: expected a colour such as "#7aa2f7", got "red"; names of terminal colours need `terminal_colours: true`']),
        ("roles:\n  ok: #ff0000\n", ['T:2: roles.ok: expected a look such as "bold ink", got nothing; a colour needs quotes, because # begins a comment']),
        ("colours: {x: '#12345'}", ['T:1: colours.x: expected a colour such as "#7aa2f7", got "#12345"']),
        ("colours: {x: ink}", ['T:1: colours.x: expected a colour such as "#7aa2f7", got "ink"']),
        ("dark: maybe", ['T:1: dark: expected true or false, got "maybe"']),
        ("based_on: drak", ['T:1: based_on: expected a bundled theme, got "drak"; did you mean "dark"?']),
        ("roles: 5", ["T:1: roles: expected names and colours, got 5"]),
        ("- a", ["T:1: expected sections such as `roles:`, got a list"]),
        ("roles: [", ["T:1: is not valid YAML: a value is missing, or a bracket is not closed"]),
        ("roles: {a: b}\ntitel: x\ncolours: {c: d}", [
            "T:1: roles.a: there is no such name", 'T:2: titel: unknown key; did you mean "title"?',
            'T:3: colours.c: expected a colour such as "#7aa2f7", got "d"',
        ]),
    ],
)  # fmt: skip
def test_mistakes_have_a_line(mistakes: Callable[[str], list[str]], text: str, lines: list[str]) -> None:
    assert mistakes(text) == lines


def test_with_a_mistake_there_is_no_theme(folder: Path) -> None:
    (folder / "mine.yaml").write_text("roles: {ok: mos}")
    theme, errors = load("mine", [folder])
    assert theme is None
    assert len(errors) == 1


def test_an_unknown_theme_names_the_nearest(folder: Path) -> None:
    theme, (error,) = load("drak", [folder, folder / "none"])
    assert theme is None
    assert str(error) == 'there is no theme "drak"; did you mean "dark"?'
    assert "high-contrast" in str(load("zzzz")[1][0])


@given(
    st.dictionaries(
        st.sampled_from(["title", "based_on", "dark", "colours", "grounds", "roles", "syntax", "x"]),
        st.text(max_size=12) | st.dictionaries(st.sampled_from(["ink", "ok", "code", "keyword"]), st.text(max_size=12), max_size=3),
        max_size=5,
    ).map(str)
    | st.text(max_size=40)
)  # fmt: skip
def test_any_file_ends_in_a_theme_or_errors(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any-theme.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    theme, errors = load(str(file))
    assert (theme is None) == bool(errors)
    assert all(str(error).isprintable() for error in errors)
    if theme is not None:
        for role in ROLES:
            theme.style(role)
        TextualTheme(**theme.textual_fields()).to_color_system().generate()


# ---- Textual


@pytest.mark.parametrize("name", BUNDLED)
def test_textual_takes_the_theme(name: str) -> None:
    theme = bundled(name)
    made = TextualTheme(**theme.textual_fields())
    variables = {**made.to_color_system().generate(), **made.variables}
    for role in ROLES:
        Color.parse(variables[f"role-{role}"])
    for ground in GROUNDS:
        Color.parse(variables[f"ground-{ground}"])
    assert Color.parse(variables["background"]) == Color.parse(variables["ground-background"])


async def wear(app: App[None], pilot: Pilot[None], theme: Theme) -> None:
    made = TextualTheme(**theme.textual_fields())
    app.register_theme(made)
    app.theme = made.name
    await pilot.pause()


async def test_an_edited_theme_is_painted_anew(folder: Path) -> None:
    file = folder / "mine.yaml"

    class Page(App[None]):
        CSS = "Screen { background: $background; }"

    app = Page()
    async with app.run_test(size=(20, 5)) as pilot:
        for colour in ("#101010", "#202020"):
            file.write_text(f'grounds: {{background: "{colour}"}}\n')
            theme, _ = load("mine", [folder])
            assert theme is not None
            await wear(app, pilot, theme)
            assert app.screen.styles.background == Color.parse(colour)


async def test_style_sheets_can_name_roles() -> None:
    class Page(App[None]):
        CSS = "Screen { background: $ground-background; color: $role-context; border: solid $role-border-focus; }"

        def get_theme_variable_defaults(self) -> dict[str, str]:
            return bundled("dark").css_variables()

    app = Page()
    async with app.run_test(size=(20, 5)) as pilot:
        for name in BUNDLED:
            await wear(app, pilot, bundled(name))
        light = bundled("light")
        await wear(app, pilot, light)
        assert app.screen.styles.background == Color.parse(light.ground("background"))
        assert app.screen.styles.color == Color.parse(light.look("context").colour)


async def test_without_colours_only_the_terminals_own_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    theme = bundled("plain")

    class Page(App[None]):
        CSS = "Screen { background: $background; } Static { background: $surface; }"

        def compose(self) -> ComposeResult:
            yield Static(Text.assemble(*((role, theme.style(role)) for role in ROLES)))

    app = Page(ansi_color=theme.terminal_colours)
    async with app.run_test(size=(60, 10)) as pilot:
        await wear(app, pilot, theme)
        styles = [segment.style for strip in app.screen._compositor.render_strips() for segment in strip]
    sent = {colour.name for style in styles if style for colour in (style.color, style.bgcolor) if colour}
    assert sent == {"default"}
    assert any(style.reverse for style in styles if style)


# ---- colours and terminals


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ((0, 0, 0), (255, 255, 255), 21.0),
        ((255, 0, 0), (255, 0, 0), 1.0),
        ((119, 119, 119), (255, 255, 255), 4.48),
    ],
)
def test_contrast_is_that_of_the_standard(one: Rgb, other: Rgb, ratio: float) -> None:
    assert contrast(one, other) == pytest.approx(ratio, abs=0.005)
    assert contrast(other, one) == contrast(one, other)


@pytest.mark.parametrize(
    ("text", "colour"),
    [
        ("rgb:1e1e/1e1e/2e2e", (30, 30, 46)),
        ("\x1b]11;rgb:ffff/ffff/ffff\x1b\\", (255, 255, 255)),
        ("rgb:f/0/8", (255, 0, 136)),
        ("rgba:ff/80/00/ff", (255, 128, 0)),
        ("#fff", (255, 255, 255)),
        ("nonsense", None),
        ("", None),
    ],
)
def test_answers_of_terminals(text: str, colour: Rgb | None) -> None:
    assert parse_reply(text) == colour


def test_light_and_dark_colours() -> None:
    assert is_light((250, 250, 250))
    assert not is_light((30, 30, 46))


@pytest.mark.parametrize(
    ("environ", "reply", "light"),
    [
        ({}, None, False),
        ({"COLORFGBG": "0;15"}, None, True),
        ({"COLORFGBG": "15;0"}, None, False),
        ({"COLORFGBG": "12;8"}, None, False),
        ({"COLORFGBG": "0;default;7"}, None, True),
        ({"COLORFGBG": "nonsense"}, None, False),
        ({"COLORFGBG": "15;0"}, "rgb:ffff/ffff/ffff", True),
        ({"COLORFGBG": "0;15"}, "rgb:0000/0000/0000", False),
        ({"COLORFGBG": "0;15"}, "what?", True),
    ],
)
def test_a_light_terminal_is_recognised(environ: dict[str, str], reply: str | None, light: bool) -> None:
    assert light_terminal(environ, reply) is light
    full = {"COLORTERM": "truecolor", **environ}
    assert suited("auto", full, reply) == ("light" if light else "dark")


@pytest.mark.parametrize(
    ("name", "environ", "theme"),
    [
        ("auto", {"TERM": "xterm-256color"}, "dark"),
        ("gruvbox-dark", {"COLORTERM": "24bit"}, "gruvbox-dark"),
        ("gruvbox-dark", {"TERM": "linux"}, "ansi"),
        ("plain", {"TERM": "linux"}, "plain"),
        ("auto", {"TERM": "xterm-256color", "NO_COLOR": "1"}, "plain"),
        ("light", {"COLORTERM": "truecolor", "NO_COLOR": ""}, "plain"),
    ],
)
def test_the_theme_that_suits_the_terminal(name: str, environ: dict[str, str], theme: str) -> None:
    assert suited(name, environ) == theme


@pytest.mark.parametrize(
    "environ",
    [
        {"TERM": "xterm-256color"}, {"TERM": "xterm"}, {"TERM": "linux"}, {"TERM": "xterm-kitty"}, {"TERM": "vt100"}, {},
        {"TERM": "screen.xterm-256color"}, {"TERM": "xterm-16color"}, {"TERM": "xterm", "COLORTERM": "truecolor"},
        {"TERM": "xterm", "COLORTERM": " 24bit "},
    ],
)  # fmt: skip
def test_colours_are_counted_as_rich_counts_them(environ: dict[str, str]) -> None:
    """Rich paints; if it had fewer colours than the theme was chosen for, it would choose the nearest ones by itself."""
    system = Console(force_terminal=True, legacy_windows=False, _environ=environ).color_system
    assert {"standard": "16", "256": "256", "truecolor": "true"}[system or "standard"] == depth_of(environ)


@pytest.mark.parametrize("name", ["ansi", "plain"])
def test_themes_for_few_colours_use_the_terminals_own(name: str) -> None:
    theme = bundled(name)
    assert theme.terminal_colours
    own = {*ANSI, "default"}
    used = {
        colour for role in ROLES for colour in (theme.look(role).colour, theme.look(role).ground) if colour
    }
    assert used <= own
    if name == "plain":
        assert used == {"default"}
