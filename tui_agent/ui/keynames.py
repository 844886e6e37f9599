"""Names of keys: read as people write them, kept as Textual names them, shown as people read them. Knows no Textual."""

from __future__ import annotations

import unicodedata

from tui_agent.config.nearest import did_you_mean
from tui_agent.config.yamlfile import visible

Chord = tuple[str, ...]
"""Keys to press one after the other; a single key is a chord of one."""

LONGEST_CHORD = 3

MODIFIERS = frozenset({"alt", "ctrl", "hyper", "meta", "shift", "super"})
NAMED = frozenset({
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete", "backspace",
    "enter", "tab", "escape", "space", "caps_lock", "scroll_lock", "num_lock", "print_screen", "pause", "menu",
    *(f"f{number}" for number in range(1, 36)),
})  # fmt: skip
"""Keys without a character of their own (space, tab and enter send one, but not to be typed as it looks)."""

_ALIASES = {
    "esc": "escape", "return": "enter", "del": "delete", "ins": "insert", "bs": "backspace", "pgup": "pageup",
    "page_up": "pageup", "pgdn": "pagedown", "pgdown": "pagedown", "page_down": "pagedown", "spacebar": "space",
    "plus": "plus", "period": "full_stop", "dot": "full_stop", "colon": "colon", "dash": "minus", "hyphen": "minus",
}  # fmt: skip
_MODIFIER_ALIASES = {
    "control": "ctrl", "ctl": "ctrl", "c": "ctrl", "option": "alt", "opt": "alt", "cmd": "super", "command": "super",
    "win": "super",
}  # fmt: skip
_REPLACED = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus",
    "plus_sign": "plus", "low_line": "underscore",
}  # fmt: skip
"""Unicode names for which Textual has a plainer word (``textual.keys.KEY_NAME_REPLACEMENTS``)."""

_SAME = {
    "ctrl+i": "tab", "ctrl+m": "enter", "ctrl+left_square_bracket": "escape", "ctrl+at": "ctrl+space",
    "ctrl+@": "ctrl+space", "newline": "ctrl+j", "ctrl+h": "backspace",
}  # fmt: skip
"""Keys that most terminals send as one and the same byte; they are treated as one everywhere."""

_SHOWN = {
    "escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "delete": "del", "insert": "ins", "up": "↑", "down": "↓",
    "left": "←", "right": "→",
}  # fmt: skip


def _name(character: str) -> str:
    """Return Textual's name of a character's key (``textual.keys._character_to_key``)."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return _REPLACED.get(name, name) or character


_CHARACTERS: dict[str, str] = {_name(chr(code)): chr(code) for code in range(0x21, 0x7F)}
"""Printable ASCII by the name of its key."""


def canonical(key: str) -> str:
    """Return the one name of keys that a terminal can't tell apart; a key event's name goes through this."""
    return _SAME.get(key, key)


def parse_key(text: str) -> str:
    """Read one key, e.g. ``ctrl+x``, ``Shift+Enter``, ``?``, ``G``; raises ``ValueError`` with what is wrong."""
    *modifiers, base = _split(text)
    found: set[str] = set()
    for word in modifiers:
        modifier = _MODIFIER_ALIASES.get(word.lower(), word.lower())
        if modifier not in MODIFIERS:
            raise ValueError(f'"{visible(word, 20)}" is no modifier{did_you_mean(word, MODIFIERS)}')
        found.add(modifier)
    key = _base(base, text)
    if found and len(key) == 1 and key.isalpha():
        if found == {"shift"}:
            return key.upper()
        key = key.lower()
    if "shift" in found and key in _CHARACTERS and not key.isalpha() and len(found) == 1:
        raise ValueError(f'"{visible(text, 20)}": write the character that shift makes, such as ! or ?')
    return canonical("+".join([*sorted(found), key]))


def parse_chord(text: str) -> Chord:
    """Read keys with spaces between them; raises ``ValueError``."""
    words = text.split()
    if not words:
        raise ValueError("no key is named; null takes the keys away")
    if len(words) > LONGEST_CHORD:
        raise ValueError(f"{len(words)} keys in a row; {LONGEST_CHORD} is the most")
    return tuple(parse_key(word) for word in words)


def typed(key: str) -> bool:
    """True if the key puts a character into a text."""
    return key == "space" or len(key) == 1 or key in _CHARACTERS


def show_key(key: str) -> str:
    """Return a key as hints and help show it: ``esc``, ``ctrl+x``, ``?``, ``↑``."""
    *modifiers, base = key.split("+")
    return "+".join([*modifiers, _SHOWN.get(base) or _CHARACTERS.get(base, base)])


def show_chord(chord: Chord) -> str:
    """Return ``ctrl+x s``."""
    return " ".join(show_key(key) for key in chord)


def _split(text: str) -> list[str]:
    """Split at plus signs; a plus at the end is the key itself."""
    if text == "+" or (text.endswith("++") and len(text) > 2):
        return [*[word for word in text[:-1].split("+") if word], "+"]
    return text.split("+")


def _base(word: str, whole: str) -> str:
    if len(word) == 1:
        if not word.isprintable():
            raise ValueError("a key can't be a control character")
        return _name(word)
    low = word.lower()
    low = _ALIASES.get(low, low)
    if low in NAMED or low in _CHARACTERS:
        return low
    if low in _SAME:
        return low
    if "-" in low:
        raise ValueError(f'"{visible(whole, 20)}" is no key; modifiers are joined with +')
    near = did_you_mean(low, [*NAMED, *_CHARACTERS, *_ALIASES])
    raise ValueError(f'"{visible(whole, 20)}" is no key{near}')
