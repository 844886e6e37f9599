"""The keys: shipped ones, the user's on top, every mistake with its line; and which action a key stands for right now.

An action belongs to the context under whose heading the shipped file has it. Contexts are ranked, so that the same
key may stop a run, close a list or leave a block, and the caller only says which contexts hold at the moment.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tui_agent.config import assets
from tui_agent.config.nearest import did_you_mean, nearest
from tui_agent.config.yamlfile import Node, Parsed, read, show, visible
from tui_agent.core.errors import ConfigError
from tui_agent.ui.keynames import Chord, canonical, parse_chord, show_chord, typed

CHORD_SECONDS = 3.0
"""How long a begun chord waits for its next key."""
ESCAPE_SECONDS = 0.6
"""The same after escape, which people also press for itself."""


@dataclass(frozen=True, slots=True)
class Context:
    """Where keys count. ``typing``: characters go into a text, so that none may be a key's first."""

    name: str
    title: str
    typing: bool = False


CONTEXTS: tuple[Context, ...] = (
    Context("trust", "Settings of the project"),
    Context("picker", "Lists", typing=True),
    Context("sessions", "Sessions"),
    Context("rewind", "Going back"),
    Context("page", "Pages"),
    Context("replay", "Replay"),
    Context("completion", "Completions", typing=True),
    Context("find", "Search", typing=True),
    Context("running", "While the agent works", typing=True),
    Context("queue", "Waiting messages"),
    Context("block", "A selected block"),
    Context("approval", "Approvals"),
    Context("question", "Questions"),
    Context("retry", "Trying again"),
    Context("limit", "At a limit"),
    Context("plan", "Plans"),
    Context("found", "Search results"),
    Context("empty", "Nothing typed yet"),
    Context("composer", "Writing", typing=True),
    Context("app", "Everywhere", typing=True),
)
"""Every context, the one that wins first."""

RANK: Mapping[str, int] = {context.name: rank for rank, context in enumerate(CONTEXTS)}

_COMMENT = re.compile(r"\s#\s(.*)$")
_ON = re.compile(r"\s+on\s+(\S+)\s*$")


@dataclass(frozen=True, slots=True)
class Action:
    """Something a key can do; ``help`` is the comment of the shipped file."""

    id: str
    context: str
    help: str


@dataclass(frozen=True, slots=True)
class Binding:
    """``chord`` means ``action`` while ``context`` holds; ``place`` is ``FILE:LINE``."""

    chord: Chord
    action: str
    context: str
    file: str = ""
    line: int = 0

    @property
    def place(self) -> str:
        """Where it was written."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class HelpGroup:
    """One context of the help; rows are (keys, what they do, action), in the order of the shipped file."""

    context: str
    title: str
    rows: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Keymap:
    """All actions and what they are bound to."""

    actions: Mapping[str, Action]
    bindings: tuple[Binding, ...]
    _shown: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]], compare=False)

    def keys(self, action: str, contexts: Collection[str] = ()) -> tuple[str, ...]:
        """Display names of an action's keys, e.g. ``("ctrl+x s",)``; with ``contexts`` only of those that count there."""
        if not contexts:
            return self._all(action)
        found = [
            binding for binding in self.bindings if binding.action == action and binding.context in contexts
        ]
        return tuple(show_chord(binding.chord) for binding in found)

    def hint(self, action: str, contexts: Collection[str] = ()) -> str:
        """The first key of an action, for a line of hints; empty if it has none."""
        return next(iter(self.keys(action, contexts)), "")

    def help(self, contexts: Collection[str] = ()) -> list[HelpGroup]:
        """What to show as help, actions without a key left out; with ``contexts`` only those."""
        groups: dict[str, list[tuple[str, str, str]]] = {}
        rows: dict[tuple[str, str], list[str]] = {}
        for binding in self.bindings:
            rows.setdefault((binding.context, binding.action), []).append(show_chord(binding.chord))
        order = {name: at for at, name in enumerate(self.actions)}
        for (context, action), keys in sorted(rows.items(), key=lambda row: order[row[0][1]]):
            if not contexts or context in contexts:
                groups.setdefault(context, []).append((", ".join(keys), self.actions[action].help, action))
        return [HelpGroup(name, CONTEXTS[RANK[name]].title, tuple(found)) for name, found in groups.items()]

    def _all(self, action: str) -> tuple[str, ...]:
        if not self._shown:
            for binding in self.bindings:
                self._shown[binding.action] = (
                    *self._shown.get(binding.action, ()),
                    show_chord(binding.chord),
                )
        return self._shown.get(action, ())


def load(user: Path | None = None, default: Path | None = None) -> tuple[Keymap, list[ConfigError]]:
    """Read the shipped keys and the user's file over them, if it exists.

    What is wrong is left out and reported; the rest counts. Of two actions with one key the user's own gets it.
    """
    shipped = _File(read(default or assets.keybindings_file()))
    actions = shipped.actions()
    lines = shipped.bindings(actions)
    errors = shipped.errors
    own: dict[str, list[Binding]] = {}
    if user is not None and user.exists():
        file = _File(read(user))
        own = file.bindings(actions)
        errors = [*errors, *file.errors]
    merged = [binding for action in actions for binding in own.get(action, lines.get(action, []))]
    kept, conflicts = _settle(merged, own)
    errors = sorted([*errors, *conflicts], key=lambda error: (error.file, error.line))
    return Keymap(actions, tuple(kept)), errors


def check(file: Path) -> list[str]:
    """Every mistake in a file of keys, as ``FILE:LINE: action: what``; for ``tui-agent keys``."""
    if not file.exists():
        return [str(ConfigError("there is no such file", file=visible(str(file))))]
    same = file.resolve() == assets.keybindings_file().resolve()
    return [str(error) for error in load(None if same else file)[1]]


class _File:
    """One file of keys: actions at the top, or under the headings of contexts."""

    def __init__(self, parsed: Parsed) -> None:
        self.errors = list(parsed.errors)
        self._lines = parsed.data.decode("utf-8", "replace").splitlines()
        self._entries: list[tuple[str, str, Node]] = []
        root = parsed.root
        if root is None:
            return
        if not isinstance(root.value, dict):
            self.errors.append(root.error(f"expected lines such as `app.help: f1`, got {show(root)}"))
            return
        for name, node in root.value.items():
            if name in RANK and isinstance(node.value, dict):
                self._entries.extend((name, action, below) for action, below in node.value.items())
            elif name in RANK and node.value is None:
                continue
            else:
                self._entries.append(("", name, node))

    def actions(self) -> dict[str, Action]:
        """The actions that this file, being the shipped one, defines."""
        return {
            name: Action(name, context, self._comment(node))
            for context, name, node in self._entries
            if context
        }

    def bindings(self, actions: Mapping[str, Action]) -> dict[str, list[Binding]]:
        """What the file binds, by action; an empty list takes an action's keys away."""
        found: dict[str, list[Binding]] = {}
        for context, name, node in self._entries:
            if name not in actions:
                self._unknown(name, node, actions)
                continue
            if name in found:
                self.errors.append(node.error("is there twice", name))
                continue
            items = [] if node.value is None else node.value if isinstance(node.value, list) else [node]
            bound = [self._binding(item, name, context or actions[name].context) for item in items]
            if None in bound and all(one is None for one in bound):
                continue
            found[name] = [one for one in bound if one is not None]
        return found

    def _binding(self, node: Node, action: str, context: str) -> Binding | None:
        text = (
            node.text
            if isinstance(node.value, str | int | float) and not isinstance(node.value, bool)
            else ""
        )
        if not text.strip():
            self.errors.append(node.error(f"expected a key such as ctrl+b, got {show(node)}", action))
            return None
        if where := _ON.search(text):
            text, context = text[: where.start()], where[1]
            if context not in RANK:
                what = f'"{visible(context, 20)}" is no context{did_you_mean(context, RANK)}'
                self.errors.append(node.error(what, action))
                return None
        try:
            chord = parse_chord(text)
        except ValueError as error:
            self.errors.append(node.error(str(error), action))
            return None
        if typed(chord[0]) and CONTEXTS[RANK[context]].typing:
            what = f"{show_chord(chord[:1])} as a key would keep you from typing it ({CONTEXTS[RANK[context]].title.lower()})"
            self.errors.append(node.error(what, action))
            return None
        return Binding(chord, action, context, node.file, node.line)

    def _unknown(self, name: str, node: Node, actions: Mapping[str, Action]) -> None:
        near = nearest(name, [*actions, *RANK])
        if not near:
            last = nearest(name, [action.rpartition(".")[2] for action in actions])
            near = next((action for action in actions if last and action.endswith(f".{last}")), "")
        near = f'; did you mean "{visible(near, 60)}"?' if near else ""
        self.errors.append(
            node.error(f"there is no such action{near or '; tui-agent keys lists them'}", visible(name, 60))
        )

    def _comment(self, node: Node) -> str:
        found = _COMMENT.search(self._lines[node.line - 1]) if 0 < node.line <= len(self._lines) else None
        return found[1].strip() if found else ""


class _Taken:
    """Bindings that were accepted, found by how they begin."""

    def __init__(self, bindings: Iterable[Binding] = ()) -> None:
        self._begun: dict[tuple[str, str], list[Binding]] = {}
        for one in bindings:
            self.add(one)

    def add(self, binding: Binding) -> None:
        self._begun.setdefault((binding.context, binding.chord[0]), []).append(binding)

    def rivals(self, binding: Binding) -> list[Binding]:
        """Those of the same context with the same keys, or of which one begins like the other."""
        found: list[Binding] = []
        for other in self._begun.get((binding.context, binding.chord[0]), ()):
            size = min(len(other.chord), len(binding.chord))
            if other.chord[:size] == binding.chord[:size]:
                found.append(other)
        return found


def _settle(bindings: Sequence[Binding], own: Collection[str]) -> tuple[list[Binding], list[ConfigError]]:
    """Take out what contradicts something else in the same context.

    A key that the user gave to another action is the user's; a key that begins shipped chords stays what it is.
    """
    shipped = _Taken(one for one in bindings if one.action not in own)
    users, kept = _Taken(), _Taken()
    errors: list[ConfigError] = []
    dropped: set[int] = set()
    for one in bindings:
        if one.action in own:
            rivals = [*users.rivals(one), *(it for it in shipped.rivals(one) if it.chord != one.chord)]
            if rivals:
                errors.append(_conflict(one, rivals))
                dropped.add(id(one))
            else:
                users.add(one)
    for one in bindings:
        if one.action in own:
            continue
        if rivals := users.rivals(one):
            errors.append(_conflict(rivals[0], [one], f"; give it another key, or write {one.action}: null"))
        elif rivals := kept.rivals(one):
            errors.append(_conflict(one, rivals))
        else:
            kept.add(one)
            continue
        dropped.add(id(one))
    return [one for one in bindings if id(one) not in dropped], errors


def _conflict(binding: Binding, rivals: Sequence[Binding], advice: str = "") -> ConfigError:
    """Say that ``binding`` can't have its keys."""
    rival, keys = rivals[0], show_chord(binding.chord)
    name = f"{rival.action} ({rival.place})"
    if rival.chord == binding.chord:
        what = f"{keys} is there twice" if rival.action == binding.action else f"{keys} is already {name}"
    elif len(rival.chord) > len(binding.chord):
        what = f"{keys} begins {show_chord(rival.chord)} of {name}"
        what += f" and {len(rivals) - 1} more" if len(rivals) > 1 else ""
    else:
        what = f"{keys} begins with {show_chord(rival.chord)}, which is {name}"
    return ConfigError(what + advice, file=binding.file, line=binding.line, where=binding.action)


# ---- which action a key stands for


@dataclass(frozen=True, slots=True)
class Hit:
    """The keys that were pressed mean this action."""

    action: Action
    chord: Chord


@dataclass(frozen=True, slots=True)
class Pending:
    """A chord has begun; ``choices`` are (next keys, help) for a hint."""

    chord: Chord
    choices: tuple[tuple[str, str], ...]

    @property
    def shown(self) -> str:
        """``ctrl+x``."""
        return show_chord(self.chord)


@dataclass(frozen=True, slots=True)
class Unbound:
    """A chord that means nothing; its keys are swallowed, lest the last one be typed."""

    chord: Chord

    @property
    def shown(self) -> str:
        """``ctrl+x q``."""
        return show_chord(self.chord)


Found = Hit | Pending | Unbound | None
"""None: the key is no action's, whoever has the focus may have it."""

_ALWAYS_HEARD = frozenset({"escape", "ctrl+c"})
"""Keys that stop things; a chord that was begun must not swallow them."""


class Resolver:
    """Takes keys one by one. ``now`` is any clock in seconds that only goes forward."""

    def __init__(self, keymap: Keymap) -> None:
        self._pending: Chord = ()
        self._since = 0.0
        self.keymap = keymap

    @property
    def keymap(self) -> Keymap:
        """The keys that count; another one may be set at any time."""
        return self._keymap

    @keymap.setter
    def keymap(self, keymap: Keymap) -> None:
        self._keymap = keymap
        self._exact = {(one.context, one.chord): keymap.actions[one.action] for one in keymap.bindings}
        self._begun = {
            (one.context, one.chord[:length])
            for one in keymap.bindings
            for length in range(1, len(one.chord))
        }
        self._pending = ()

    @property
    def pending(self) -> Chord:
        """The keys of a chord so far; empty if none has begun."""
        return self._pending

    @property
    def deadline(self) -> float | None:
        """When the chord that has begun is given up, on the clock of ``now``."""
        return self._since + _patience(self._pending) if self._pending else None

    def feed(self, key: str, contexts: Iterable[str], now: float) -> Found:
        """Say what a key means, being pressed at ``now`` while ``contexts`` hold (in any order)."""
        ranked = sorted(contexts, key=lambda name: RANK[name])
        key = canonical(key)
        self.expire(now)
        before, self._pending = self._pending, ()
        found = self._look((*before, key), ranked, now)
        if found is not None or not before:
            return found
        if before[0] == "escape" or key in _ALWAYS_HEARD:
            return self._look((key,), ranked, now)
        return Unbound((*before, key))

    def expire(self, now: float) -> bool:
        """Give up a chord whose time is over; True if there was one."""
        if self._pending and now >= self._since + _patience(self._pending):
            self._pending = ()
            return True
        return False

    def cancel(self) -> None:
        """Forget a chord that has begun, e.g. because the focus moved."""
        self._pending = ()

    def _look(self, chord: Chord, ranked: Sequence[str], now: float) -> Hit | Pending | None:
        for context in ranked:
            if action := self._exact.get((context, chord)):
                return Hit(action, chord)
            if (context, chord) in self._begun:
                self._pending, self._since = chord, now
                return Pending(chord, self._choices(chord, ranked))
        return None

    def _choices(self, chord: Chord, ranked: Sequence[str]) -> tuple[tuple[str, str], ...]:
        size = len(chord)
        found: dict[str, str] = {}
        for context in ranked:
            for one in self._keymap.bindings:
                if one.context == context and len(one.chord) > size and one.chord[:size] == chord:
                    found.setdefault(show_chord(one.chord[size:]), self._keymap.actions[one.action].help)
        return tuple(found.items())


def _patience(pending: Chord) -> float:
    return ESCAPE_SECONDS if pending[:1] == ("escape",) else CHORD_SECONDS
