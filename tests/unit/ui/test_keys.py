"""Keys: the shipped file is whole, a person's file goes over it, and keys one by one become actions."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.keys import Keys, _character_to_key

from tui_agent.config import assets
from tui_agent.ui.keynames import canonical, parse_chord, parse_key, show_chord, show_key, typed
from tui_agent.ui.keys import (
    CHORD_SECONDS,
    CONTEXTS,
    ESCAPE_SECONDS,
    RANK,
    Hit,
    Keymap,
    Pending,
    Resolver,
    Unbound,
    check,
    load,
)

SHIPPED, FAULTS = load()

PROMISED = {
    "composer.send": ["enter"],
    "composer.newline": ["shift+enter", "alt+enter", "ctrl+j"],
    "composer.queue": ["tab"],
    "queue.edit_last": ["up"],
    "composer.history_search": ["ctrl+r"],
    "composer.editor": ["ctrl+g"],
    "agent.interrupt": ["ctrl+c"],
    "agent.cut": ["escape"],
    "agent.stop_after_step": ["ctrl+x s"],
    "agent.steer_now": ["ctrl+enter", "ctrl+x enter"],
    "session.rewind": ["escape escape"],
    "sessions.open": ["f4"],
    "models.open": ["f3"],
    "app.palette": ["ctrl+p"],
    "tools.toggle_all": ["ctrl+o"],
    "block.toggle": ["space"],
    "block.previous": ["alt+up"],
    "block.next": ["alt+down"],
    "block.copy": ["y"],
    "transcript.find": ["ctrl+f"],
    "transcript.top": ["ctrl+home"],
    "transcript.bottom": ["ctrl+end"],
    "approval.once": ["y", "1"],
    "approval.session": ["s", "2"],
    "approval.always": ["a", "3"],
    "approval.deny": ["n", "4"],
    "approval.edit": ["e", "5"],
    "mode.cycle": ["shift+tab"],
    "sidebar.toggle": ["ctrl+t"],
    "trace.toggle": ["f12"],
    "context.open": ["f2"],
    "app.help": ["f1", "question_mark"],
    "app.quit": ["ctrl+q", "ctrl+d"],
}
"""Keys that people know the program by; a change here is a change of its face."""


@pytest.fixture
def user(tmp_path: Path) -> Callable[[str], tuple[Keymap, list[str]]]:
    def write(text: str) -> tuple[Keymap, list[str]]:
        file = tmp_path / "keys.yaml"
        file.write_text(text)
        keymap, errors = load(file)
        shipped = str(assets.keybindings_file())
        return keymap, [str(error).replace(str(file), "U").replace(shipped, "S") for error in errors]

    return write


def chords(keymap: Keymap, action: str) -> list[str]:
    return [" ".join(binding.chord) for binding in keymap.bindings if binding.action == action]


# ---- the shipped file


def test_the_shipped_file_has_no_mistake() -> None:
    assert FAULTS == []
    assert check(assets.keybindings_file()) == []


@pytest.mark.parametrize("action", PROMISED)
def test_promised_keys(action: str) -> None:
    assert set(PROMISED[action]) <= set(chords(SHIPPED, action))


def test_every_action_says_what_it_does() -> None:
    for action in SHIPPED.actions.values():
        assert action.help, action.id
        assert " # " not in action.help
        assert len(action.help) <= 90, action.id


def test_every_context_has_actions_and_every_action_a_known_context() -> None:
    assert {binding.context for binding in SHIPPED.bindings} == set(RANK)
    assert {action.context for action in SHIPPED.actions.values()} <= set(RANK)


def test_help_lists_what_counts_in_the_order_of_the_file() -> None:
    groups = {group.context: group for group in SHIPPED.help()}
    assert ("f3", "choose the model", "models.open") in groups["app"].rows
    assert [row[2] for row in groups["approval"].rows][:2] == ["approval.once", "approval.session"]
    assert [group.context for group in SHIPPED.help(["approval", "app"])] == ["app", "approval"]
    assert groups["empty"].title == "Nothing typed yet"
    assert {row[2] for row in groups["empty"].rows} == {
        "app.help",
        "app.quit",
        "session.rewind",
        "queue.edit_last",
    }


def test_hints_show_keys_as_people_say_them() -> None:
    assert SHIPPED.hint("agent.cut") == "esc"
    assert SHIPPED.hint("agent.stop_after_step") == "ctrl+x s"
    assert SHIPPED.keys("app.help") == ("f1", "?")
    assert SHIPPED.keys("app.help", ["empty"]) == ("?",)
    assert SHIPPED.hint("no.such") == ""


# ---- a person's file


def test_an_action_gets_the_keys_it_is_given(user: Callable[[str], tuple[Keymap, list[str]]]) -> None:
    keymap, errors = user(
        "composer.queue: ctrl+b\nthemes.open: [f7, ctrl+x j]\napp.quit: [ctrl+q, f10 on block]\nsidebar.toggle: null\n"
    )
    assert errors == []
    assert chords(keymap, "composer.queue") == ["ctrl+b"]
    assert chords(keymap, "themes.open") == ["f7", "ctrl+x j"]
    assert [(b.chord, b.context) for b in keymap.bindings if b.action == "app.quit"] == [
        (("ctrl+q",), "app"),
        (("f10",), "block"),
    ]
    assert chords(keymap, "sidebar.toggle") == []
    assert keymap.hint("sidebar.toggle") == ""
    assert chords(keymap, "app.help") == chords(SHIPPED, "app.help")


def test_the_shipped_file_copied_whole_changes_nothing(
    user: Callable[[str], tuple[Keymap, list[str]]],
) -> None:
    keymap, errors = user(assets.keybindings_file().read_text())
    assert errors == []
    assert [(b.chord, b.action, b.context) for b in keymap.bindings] == [
        (b.chord, b.action, b.context) for b in SHIPPED.bindings
    ]


def test_keys_may_stand_under_a_heading(user: Callable[[str], tuple[Keymap, list[str]]]) -> None:
    keymap, errors = user("block:\n  block.copy: c\n")
    assert errors == []
    assert chords(keymap, "block.copy") == ["c"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("themes.opne: f7", 'U:1: themes.opne: there is no such action; did you mean "themes.open"?'),
        ("zzzz: f7", "U:1: zzzz: there is no such action; tui-agent keys lists them"),
        ("\napp.help: ctrl+etner", 'U:2: app.help: "ctrl+etner" is no key; did you mean "enter"?'),
        ("app.help: crtl+b", 'U:1: app.help: "crtl" is no modifier; did you mean "ctrl"?'),
        ("app.help: ctrl+q q q q", "U:1: app.help: 4 keys in a row; 3 is the most"),
        ("app.help: ctrl-q", 'U:1: app.help: "ctrl-q" is no key; modifiers are joined with +'),
        ("app.help: shift+1", 'U:1: app.help: "shift+1": write the character that shift makes, such as ! or ?'),
        ("app.help: f7 on bloc", 'U:1: app.help: "bloc" is no context; did you mean "block"?'),
        ("app.help: true", "U:1: app.help: expected a key such as ctrl+b, got true"),
        ("app.help: {a: b}", "U:1: app.help: expected a key such as ctrl+b, got a mapping"),
        ("app.help: ''", 'U:1: app.help: expected a key such as ctrl+b, got ""'),
        ("composer.queue: q", "U:1: composer.queue: q as a key would keep you from typing it (writing)"),
        ("app.help: '?'", "U:1: app.help: ? as a key would keep you from typing it (everywhere)"),
        ("app.help: space b", "U:1: app.help: space as a key would keep you from typing it (everywhere)"),
        ("app.help: f1\napp.help: f2", 'U:2: the key "app.help" is there twice (first on line 1)'),
        ("app.help: f1\napp:\n  app.help: f2", "U:3: app.help: is there twice"),
        ("app.help: [f7, f7]", "U:1: app.help: f7 is there twice"),
        ("models.open: f7\nsessions.open: f7", "U:2: sessions.open: f7 is already models.open (U:1)"),
        ("app.help: f7\nmodels.open: f7 f8", "U:2: models.open: f7 f8 begins with f7, which is app.help (U:1)"),
        ("app.palette: ctrl+x", "U:1: app.palette: ctrl+x begins ctrl+x z of app.suspend (S:23) and 26 more"),
        ("- a", "U:1: expected lines such as `app.help: f1`, got a list"),
        ("app.help: [", "U:1: is not valid YAML: a value is missing, or a bracket is not closed"),
    ],
)  # fmt: skip
def test_mistakes_have_a_line(user: Callable[[str], tuple[Keymap, list[str]]], text: str, line: str) -> None:
    keymap, (error,) = user(text)
    if line.startswith("U:1: app.palette"):
        assert error.partition("(S:")[0] == line.partition("(S:")[0]
    else:
        assert error.startswith(line)
    assert set(keymap.actions) == set(SHIPPED.actions)


def test_what_is_wrong_is_left_out_and_the_rest_counts(
    user: Callable[[str], tuple[Keymap, list[str]]],
) -> None:
    keymap, errors = user("app.help: nokey\nmodels.open: [f7, nokey]\nthemes.open: f8\n")
    assert len(errors) == 2
    assert chords(keymap, "app.help") == chords(SHIPPED, "app.help")
    assert chords(keymap, "models.open") == ["f7"]
    assert chords(keymap, "themes.open") == ["f8"]


def test_a_key_given_to_one_action_is_taken_from_another(
    user: Callable[[str], tuple[Keymap, list[str]]],
) -> None:
    keymap, (error,) = user("models.open: f4\n")
    assert error.startswith("U:1: models.open: f4 is already sessions.open (S:")
    assert error.endswith("; give it another key, or write sessions.open: null")
    assert chords(keymap, "models.open") == ["f4"]
    assert chords(keymap, "sessions.open") == []
    _, errors = user("models.open: f4\nsessions.open: null\n")
    assert errors == []


def test_the_same_key_in_two_contexts_is_no_conflict(user: Callable[[str], tuple[Keymap, list[str]]]) -> None:
    _, errors = user("models.open: [f3, f on block]\nblock.fork: null")
    assert errors == []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    assert check(missing) == [f"{missing}: there is no such file"]
    assert load(missing)[1] == []


@given(
    st.text(max_size=60)
    | st.dictionaries(st.sampled_from(sorted(SHIPPED.actions)), st.text(max_size=12), max_size=4).map(str)
)
def test_any_file_ends_in_keys_and_errors(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any-keys.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    keymap, errors = load(file)
    assert all(str(error).isprintable() for error in errors)
    assert set(keymap.actions) == set(SHIPPED.actions)
    taken = [(binding.context, binding.chord) for binding in keymap.bindings]
    assert len(taken) == len(set(taken))


# ---- names of keys


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a", "a"), ("G", "G"), ("shift+g", "G"), ("?", "question_mark"), ("/", "slash"), (".", "full_stop"),
        ("[", "left_square_bracket"), ("+", "plus"), ("-", "minus"), ("ctrl++", "ctrl+plus"), ("_", "underscore"),
        ("ä", "ä"), ("esc", "escape"), ("Return", "enter"), ("PgUp", "pageup"), ("del", "delete"), ("F1", "f1"),
        ("CTRL+X", "ctrl+x"), ("control+x", "ctrl+x"), ("shift+ctrl+k", "ctrl+shift+k"), ("super+shift+ctrl+alt+k", "alt+ctrl+shift+super+k"), ("option+up", "alt+up"),
        ("cmd+k", "super+k"), ("ctrl+i", "tab"), ("ctrl+m", "enter"), ("ctrl+[", "escape"), ("ctrl+@", "ctrl+space"),
        ("ctrl+space", "ctrl+space"), ("shift+enter", "shift+enter"), ("question_mark", "question_mark"),
        ("ctrl+?", "ctrl+question_mark"),
    ],
)  # fmt: skip
def test_keys_as_people_write_them(text: str, key: str) -> None:
    assert parse_key(text) == key


@pytest.mark.parametrize("text", ["", "ctrl+", "ctrl", "x+y", "f99", "ctrl+\x1b", "\n", "++", "nokey"])
def test_what_is_no_key(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_key(text)


@pytest.mark.parametrize("character", [chr(code) for code in range(0x21, 0x7F)] + ["ñ", "ß", "é"])
def test_characters_are_named_as_textual_names_them(character: str) -> None:
    assert parse_key(character) == _character_to_key(character)
    assert typed(parse_key(character))
    assert show_key(parse_key(character)) == character


SEND_NOTHING = {"<any>", "<ignore>", "<scroll-up>", "<scroll-down>", "ctrl-at"}
OLD_NAMES = {"return", "ctrl+@"}


@pytest.mark.parametrize("key", sorted({key.value for key in Keys} - SEND_NOTHING))
def test_every_key_of_textual_can_be_bound(key: str) -> None:
    if key in OLD_NAMES:
        assert parse_key(key)
    elif key.startswith(("ctrl+shift+", "shift+ctrl+")) and key[-1].isdigit():
        assert parse_key(key) == "ctrl+shift+" + key.rpartition("+")[2]
    else:
        assert parse_key(key) == canonical(key)


def test_chords_are_shown_short() -> None:
    assert show_chord(parse_chord("ctrl+x s")) == "ctrl+x s"
    assert show_chord(parse_chord("escape escape")) == "esc esc"
    assert show_chord(parse_chord("pageup left ,")) == "pgup ← ,"


# ---- keys one by one


def press(resolver: Resolver, keys: str, *contexts: str, at: float = 0.0) -> list[object]:
    """What each key means, 0.1 s apart: the action's id, ``…`` for a begun chord, ``!`` for one that means nothing."""
    found: list[object] = []
    for number, key in enumerate(keys.split()):
        result = resolver.feed(key, contexts, at + number / 10)
        match result:
            case Hit():
                found.append(result.action.id)
            case Pending():
                found.append("…")
            case Unbound():
                found.append("!")
            case None:
                found.append(None)
    return found


@pytest.fixture
def resolver() -> Resolver:
    return Resolver(SHIPPED)


@pytest.mark.parametrize(
    ("keys", "contexts", "found"),
    [
        ("enter", "composer app", ["composer.send"]),
        ("a", "composer app", [None]),
        ("ctrl+x s", "composer app", ["…", "agent.stop_after_step"]),
        ("ctrl+x q", "composer app", ["…", "!"]),
        ("ctrl+x q q", "composer app", ["…", "!", None]),
        ("ctrl+x enter", "composer app", ["…", "agent.steer_now"]),
        ("escape", "running empty composer app", ["agent.cut"]),
        ("escape escape", "running empty composer app", ["agent.cut", "agent.cut"]),
        ("escape escape", "empty composer app", ["…", "session.rewind"]),
        ("escape a", "empty composer app", ["…", None]),
        ("escape enter", "empty composer app", ["…", "composer.send"]),
        ("escape", "composer app", [None]),
        ("ctrl+x escape", "running composer app", ["…", "agent.cut"]),
        ("ctrl+x ctrl+c", "running composer app", ["…", "agent.interrupt"]),
        ("ctrl+x ctrl+x s", "composer app", ["…", "!", None]),
        ("question_mark", "empty composer app", ["app.help"]),
        ("question_mark", "composer app", [None]),
        ("up", "empty composer app", ["queue.edit_last"]),
        ("up", "composer app", ["composer.history_previous"]),
        ("escape", "completion running composer app", ["completion.close"]),
        ("y", "approval running empty composer app", ["approval.once"]),
        ("y", "running composer app", [None]),
        ("tab", "approval running empty composer app", ["approval.next"]),
        ("space", "block running app", ["block.toggle"]),
        ("escape", "block running app", ["agent.cut"]),
        ("escape", "block app", ["block.leave"]),
        ("5", "replay", ["replay.speed"]),
        ("ctrl+m", "composer app", ["composer.send"]),
        ("r", "retry running empty composer app", ["retry.now"]),
    ],
)  # fmt: skip
def test_what_keys_mean(resolver: Resolver, keys: str, contexts: str, found: list[object]) -> None:
    assert press(resolver, keys, *contexts.split()) == found


def test_the_order_of_contexts_does_not_matter(resolver: Resolver) -> None:
    for contexts in (["app", "composer", "running"], ["running", "composer", "app"]):
        assert press(resolver, "escape", *contexts) == ["agent.cut"]


def test_a_begun_chord_says_what_can_follow(resolver: Resolver) -> None:
    pending = resolver.feed("ctrl+x", ["app"], 0)
    assert isinstance(pending, Pending)
    assert pending.shown == "ctrl+x"
    assert ("s", "stop when this step is done") in pending.choices
    assert resolver.pending == ("ctrl+x",)
    wrong = resolver.feed("q", ["app"], 1)
    assert isinstance(wrong, Unbound)
    assert wrong.shown == "ctrl+x q"
    assert resolver.pending == ()


def test_the_key_that_was_pressed_is_told(resolver: Resolver) -> None:
    hit = resolver.feed("7", ["replay"], 0)
    assert isinstance(hit, Hit)
    assert hit.chord == ("7",)


@pytest.mark.parametrize(
    ("first", "second", "wait"), [("ctrl+x", "s", CHORD_SECONDS), ("escape", "escape", ESCAPE_SECONDS)]
)
def test_a_chord_is_given_up_after_a_while(resolver: Resolver, first: str, second: str, wait: float) -> None:
    contexts = ["empty", "composer", "app"]
    resolver.feed(first, contexts, 100)
    assert resolver.deadline == 100 + wait
    assert isinstance(resolver.feed(second, contexts, 100 + wait - 0.01), Hit)
    assert resolver.deadline is None
    resolver.feed(first, contexts, 200)
    assert not resolver.expire(200 + wait - 0.01)
    assert resolver.expire(200 + wait)
    assert not isinstance(resolver.feed(second, contexts, 200 + wait), Hit)


def test_a_chord_is_forgotten_when_it_is_cancelled_or_the_keys_change(resolver: Resolver) -> None:
    resolver.feed("ctrl+x", ["app"], 0)
    resolver.cancel()
    assert resolver.feed("s", ["app"], 0.1) is None
    resolver.feed("ctrl+x", ["app"], 1)
    resolver.keymap = SHIPPED
    assert resolver.feed("s", ["app"], 1.1) is None


def test_an_unknown_context_is_a_bug(resolver: Resolver) -> None:
    with pytest.raises(KeyError):
        resolver.feed("a", ["nowhere"], 0)


KEYS = sorted({key for binding in SHIPPED.bindings for key in binding.chord} | {"a", "z", "f20"})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(KEYS),
            st.sets(st.sampled_from([context.name for context in CONTEXTS])),
            st.floats(0, 5),
        ),
        max_size=30,
    )
)
def test_stopping_is_always_heard(presses: list[tuple[str, set[str], float]]) -> None:
    """Whatever was pressed before, ctrl+c interrupts unless a special context took it for itself."""
    resolver, now = Resolver(SHIPPED), 0.0
    for key, contexts, pause in presses:
        now += pause
        resolver.feed(key, contexts, now)
    hit = resolver.feed("ctrl+c", ["running", "composer", "app"], now)
    assert isinstance(hit, Hit)
    assert hit.action.id == "agent.interrupt"
