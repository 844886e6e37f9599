"""A shell line taken apart: every simple command that it would run, and every file that it would write.

The aim is a line that can be shown to hold nothing but allowed commands. So whatever the parser and a shell might read
differently makes the line ``unclear``, and policy then asks.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from tui_agent.policy import wrappers

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_DEPTH = 5
"""Scripts within scripts (``bash -c "bash -c …"``) that are followed; deeper ones are unclear."""
MAX_LENGTH = 20_000
"""Characters of a line that is taken apart; no person reads more on an approval card either."""
MAX_OPERATORS = 1_500
"""Operators in such a line: the parser takes quadratic time for some (10,000 pipes: 2.4 s, measured)."""

MAX_LOOSE = 200
"""Words of what may be a command inside another one that are matched."""

_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
"""Hidden from the parser: its scanner looks characters up in C's ASCII table, and some beyond it (U+10FFFF after ``{``) end the
process. To a shell they are parts of words like any other, as is the sign that stands for each of their bytes."""
_OPERATOR = re.compile(r"[|&;<>(){}`$\[=]")

UNSURE_WORDS = "its words can't be told apart for sure"

SINKS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
"""Targets of a redirection that write no file."""

_ODD = re.compile(r"[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f]|\S\\\n\S")
"""White space and control characters that shells and the parser treat differently, and words broken over two lines."""
_LIVE = re.compile(r"[`$]")
_NAME_GLOB = re.compile(r"[*?\[{]")
_UNSAFE_VARIABLE = re.compile(
    r"PATH|.+PATH|IFS|ENV|HOME|SHELL\w*|BASH\w*|PS4|PROMPT\w*|GLOBIGNORE|LD_\w+|DYLD_\w+|XDG_\w+|GIT_\w+|SSH_\w+"
    r"|PYTHON(?!UNBUFFERED|HASHSEED|DONTWRITEBYTECODE|UTF8|IOENCODING)\w*|PERL\w*|RUBY\w*|NODE_(?!ENV)\w*|JAVA_\w+|JDK_\w+"
    r"|PYTEST_(?:ADDOPTS|PLUGINS)|CC|CXX|LESS\w*|BROWSER|.*(?:PAGER|EDITOR|VISUAL|SHELL|_COMMAND|_CMD|WRAPPER|PRELOAD|OPTS|OPTIONS|FLAGS)"
)
"""Variables that can make an allowed program run another one."""


class Word(NamedTuple):
    """One word after quotes are removed; ``fixed`` False: part of it is only known when it runs."""

    text: str
    fixed: bool = True


class Part(msgspec.Struct, frozen=True):
    """One simple command.

    ``raw`` is its source, ``text`` its words (quoted again where needed) without variables in front; ``dynamic``: its name
    is not known before it runs, ``hides``: neither is what it runs in turn. ``inner`` are commands that it runs itself. How they count is in ``kind``: ``plain`` (there are
    none), ``open`` (inner ones allowed is enough), ``both`` (itself and inner ones), ``closed`` (only itself; inner ones can still
    be denied).
    """

    raw: str
    text: str
    words: tuple[str, ...]
    dynamic: bool = False
    hides: bool = False
    variables: tuple[str, ...] = ()
    kind: Literal["plain", "open", "both", "closed"] = "plain"
    inner: tuple[Part, ...] = ()

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return posixpath.basename(self.words[0]) if self.words else ""

    def walk(self) -> Iterator[Part]:
        """This command and all that it runs."""
        yield self
        for part in self.inner:
            yield from part.walk()


class Script(msgspec.Struct, frozen=True):
    """A whole line. ``writes`` and ``reads`` are targets of redirections (None: not known before it runs);
    ``pipelines`` the source of every pipeline, ``feeds`` the commands that read from one; ``unclear`` why it can't be judged for
    sure; ``moves``: it changes folder, so relative targets may be anywhere; ``variables``: unsafe ones it sets.
    """

    text: str
    parts: tuple[Part, ...] = ()
    pipelines: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    writes: tuple[str | None, ...] = ()
    reads: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    unclear: str = ""
    moves: bool = False

    def walk(self) -> Iterator[Part]:
        """Every command, inner ones included."""
        for part in self.parts:
            yield from part.walk()


def unsafe(variable: str) -> bool:
    """True if setting this variable can make an allowed program run another one."""
    return bool(_UNSAFE_VARIABLE.fullmatch(variable))


@lru_cache(512)
def parse(command: str, depth: int = 0) -> Script:
    """Take a line apart; never raises."""
    text = command.strip()
    if depth > MAX_DEPTH:
        return Script(text, unclear="it nests scripts too deep")
    if len(text) > MAX_LENGTH:
        return Script(text, unclear=f"it is longer than {MAX_LENGTH:,} characters")
    if len(_OPERATOR.findall(text)) > MAX_OPERATORS:
        return Script(text, unclear=f"it has more than {MAX_OPERATORS:,} operators")
    reading = _Reading(text, depth)
    try:
        reading.read()
    except RecursionError:
        reading.unclear = reading.unclear or "it nests too deep"
    return Script(
        text,
        tuple(reading.parts),
        tuple(reading.pipelines),
        tuple(reading.feeds),
        tuple(reading.writes),
        tuple(reading.reads),
        tuple(reading.variables),
        reading.unclear,
        reading.moves,
    )


@lru_cache(1)
def _parser() -> Parser:
    """Made when the first command has to be parsed: most sessions of a reader never need it."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Reading:
    """One pass over a syntax tree; the fields are those of ``Script``."""

    def __init__(self, text: str, depth: int) -> None:
        self.source = text.encode("utf-8", "surrogatepass")
        self.depth = depth
        self.parts: list[Part] = []
        self.pipelines: list[str] = []
        self.feeds: list[str] = []
        self.writes: list[str | None] = []
        self.reads: list[str] = []
        self.variables: list[str] = []
        self.unclear = "it has characters that shells read differently" if _ODD.search(text) else ""
        self.moves = False

    def _doubt(self, why: str) -> None:
        """Note why the line can't be judged for sure; the first reason is told."""
        self.unclear = self.unclear or why

    def read(self) -> None:
        root = _parser().parse(_BEYOND_ASCII.sub(b"%", self.source)).root_node
        if root.has_error:
            self._doubt("it can't be parsed")
            self.parts.extend(self._guesses())
        stack, end = [root], 0
        while stack:
            node = stack.pop()
            self._visit(node)
            stack.extend(reversed(node.children))
            if not node.children:
                gap = self.source[end : node.start_byte]
                dash = rb"\s+-\s*" if node.type in ("<<", "<<-") else rb""  # this word is in no node
                if not re.fullmatch(rb"(?:\s|\\\n)*|" + dash, gap):
                    self._doubt(UNSURE_WORDS)
                end = max(end, node.end_byte)

    def _visit(self, node: Node) -> None:
        match node.type:
            case "command":
                self._command(node)
            case "declaration_command" | "unset_command":
                words = [
                    Word(self._source(node.children[0])),
                    *(self._word(child) for child in node.named_children),
                ]
                self._add(words, self._source(node), ())
            case "variable_assignment" if node.parent and node.parent.type != "command":
                self.variables.extend(name for name in self._assigned([node]) if unsafe(name))
            case "word" if re.search(r"(?<!\\)\s", self._source(node)):
                self._doubt(UNSURE_WORDS)
            case "negated_command" if not re.match(r"!\s", self._source(node)):
                self._doubt(UNSURE_WORDS)
            case "redirected_statement":
                self._redirected(node)
            case "pipeline":
                self.pipelines.append(self._source(node))
                self.feeds.extend(self._first_words(node.named_children[1:]))
            case "file_redirect":
                self._redirect(node)
            case "heredoc_redirect":
                self._heredoc(node)
            case "expansion":
                if any(_LIVE.search(self._source(leaf)) for leaf in _leaves(node)):
                    self._doubt("it hides a command inside ${…}")
                assigned = re.match(r"\$\{!?(\w+):?=", self._source(node))
                self.variables.extend(
                    name for name in (assigned.groups() if assigned else ()) if unsafe(name)
                )
            case "for_statement":
                name = node.child_by_field_name("variable")
                if name is not None and unsafe(self._source(name)):
                    self.variables.append(self._source(name))
            case "test_command":
                if not re.match(r"\[\[?\s", self._source(node)):
                    self._doubt(UNSURE_WORDS)
                if re.search(r"'[^']*[`$]", self._source(node)):
                    self._doubt("it hides a command inside a test")
            case _:
                pass

    def _command(self, node: Node) -> None:
        """A ``command`` node: variables, name, words; a redirection among them may hide further words."""
        self._check_gaps(node)
        assigned = [child for child in node.named_children if child.type == "variable_assignment"]
        words: list[Word] = []
        for child in node.named_children:
            if child.type == "command_name":
                words.append(
                    self._word(child.named_children[0]) if child.named_children else Word(self._source(child))
                )
            elif child.type == "file_redirect":
                words.extend(self._word(extra) for extra in self._targets(child)[1:])
            elif child.type not in (
                "variable_assignment",
                "herestring_redirect",
                "heredoc_redirect",
                "comment",
            ):
                words.append(self._word(child))
        if node.parent and node.parent.type == "redirected_statement":
            words.extend(self._trailing(node.parent))
        if words:
            self._add(words, self._source(node), self._assigned(assigned))

    def _redirected(self, node: Node) -> None:
        """Words after a redirection belong to the command before it, or are one when nothing is before it."""
        for before, after in pairwise(node.named_children):
            if not re.fullmatch(rb"(?:[ \t-]|\\\n)*", self.source[before.end_byte : after.start_byte]):
                self._doubt(UNSURE_WORDS)
        body = node.child_by_field_name("body")
        words = self._trailing(node)
        if body is None and words:
            self._add(words, self._source(node), ())
        elif body is not None and body.type != "command" and words:
            self._doubt(UNSURE_WORDS)

    def _trailing(self, node: Node) -> list[Word]:
        words: list[Word] = []
        for child in node.named_children:
            if child.type == "file_redirect":
                words.extend(self._word(extra) for extra in self._targets(child)[1:])
            elif child.type == "heredoc_redirect":
                if re.search(rb"\s-\s*$", self.source[: child.start_byte]):
                    words.append(Word("-"))
                words.extend(self._word(extra) for extra in child.children_by_field_name("argument"))
        return words

    def _check_gaps(self, node: Node) -> None:
        """Between words there is a blank on the same line; where the parser sees none, a shell sees other words."""
        at = -1
        for child in node.children:
            gap = self.source[at : child.start_byte] if at >= 0 else b" "
            glued = child.type.endswith("_redirect") and not gap
            if not glued and not re.fullmatch(rb"(?:[ \t]|\\\n)+", gap):
                self._doubt(UNSURE_WORDS)
            at = child.end_byte

    def _add(self, words: Sequence[Word], raw: str, variables: Sequence[str]) -> None:
        part = self._part(words, raw, tuple(variables))
        self.parts.append(part)
        self.moves = self.moves or any(inner.name in ("cd", "pushd", "popd") for inner in part.walk())

    def _part(
        self,
        words: Sequence[Word],
        raw: str,
        variables: tuple[str, ...] = (),
        *,
        depth: int = 0,
        loose: bool = True,
    ) -> Part:
        """Build a command and what it runs in turn; a script inside it adds its own redirections to this one's.

        ``loose`` False: a command around it has all that may start in its words already.
        """
        name = words[0]
        found = wrappers.unwrap([word.text if word.fixed else None for word in words])
        inner: list[Part] = []
        if depth <= MAX_DEPTH:
            more = [Word("$@", fixed=False)] if found.more else []
            for start, stop in found.spans:
                run = [*words[start:stop], *more]
                inner.append(self._part(run, _join(run), depth=depth + 1, loose=loose and not found.loose))
        elif found.spans:
            self._doubt("it nests commands too deep")
        if found.script is not None:
            script = parse(found.script, self.depth + 1)
            inner.extend(script.parts)
            self._merge(script)
        for at in found.loose if loose else ():
            rest = words[at : at + MAX_LOOSE]
            inner.append(Part(_join(rest), _join(rest), _texts(rest)))
        return Part(
            raw=raw,
            text=_join(words),
            words=_texts(words),
            dynamic=not name.fixed or bool(_NAME_GLOB.search(name.text)),
            hides=found.hides,
            variables=(*variables, *found.variables),
            kind=found.kind if inner else "plain",
            inner=tuple(inner),
        )

    def _merge(self, script: Script) -> None:
        self.pipelines.extend((script.text, *script.pipelines))
        self.feeds.extend(script.feeds)
        self.writes.extend(script.writes)
        self.reads.extend(script.reads)
        self.variables.extend(script.variables)
        self.unclear = self.unclear or script.unclear
        self.moves = self.moves or script.moves

    def _redirect(self, node: Node) -> None:
        for first, second in pairwise(self._targets(node)):
            if not re.fullmatch(rb"(?:[ \t]|\\\n)+", self.source[first.end_byte : second.start_byte]):
                self._doubt(UNSURE_WORDS)
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = self._targets(node)
        if not targets:
            return
        target = self._word(targets[0])
        if operator == "<":
            if target.fixed:
                self.reads.append(target.text)
        elif operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", target.text):
            return
        elif target.text not in SINKS:
            plain = target.fixed and not re.search(r"[*?\[{~]", target.text)
            if operator in (">&", "&>", "&>>"):  # bash removes quotes twice here
                plain = plain and target.text == self._source(targets[0])
            self.writes.append(target.text if plain else None)

    def _heredoc(self, node: Node) -> None:
        """A here-document must end where a shell ends it, and an unquoted one must hold no unseen command."""
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        end = next((child for child in node.children if child.type == "heredoc_end"), None)
        if start is None or body is None or end is None:
            self._doubt("its here-document has no end")
            return
        quoted = bool(re.search(r"[\"'\\]", self._source(start)))
        delimiter = re.sub(r"[\"'\\]", "", self._source(start))
        lines = self.source.decode("utf-8", "replace").split("\n")
        strip = any(child.type == "<<-" for child in node.children)
        inside = [line.lstrip("\t") if strip else line for line in lines[start.start_point[0] + 1 :]]
        expected = start.start_point[0] + 1 + inside.index(delimiter) if delimiter in inside else -1
        if expected != end.end_point[0] or (not quoted and "`" in self._source(body)):
            self._doubt("its here-document can't be read for sure")

    def _targets(self, redirect: Node) -> list[Node]:
        return [child for child in redirect.named_children if child.type != "file_descriptor"]

    def _assigned(self, nodes: Sequence[Node]) -> list[str]:
        names = [self._source(node).split("=", 1)[0].removesuffix("+").split("[", 1)[0] for node in nodes]
        if not all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in names):
            self._doubt(UNSURE_WORDS)
        return names

    def _first_words(self, nodes: Sequence[Node]) -> Iterator[str]:
        """The program that each of these stages of a pipeline begins with."""
        for node in nodes:
            while node.type == "redirected_statement" and node.named_children:
                node = node.named_children[0]
            if node.type == "command":
                name = next((child for child in node.named_children if child.type == "command_name"), None)
                if name is not None:
                    yield posixpath.basename(
                        self._word(name.named_children[0]).text if name.named_children else ""
                    )

    def _word(self, node: Node) -> Word:
        """The value of a word; what can't be known yet stays as it is written."""
        source = self._source(node)
        match node.type:
            case "word" | "number" | "test_operator" | "variable_name" | "special_variable_name":
                return Word(
                    re.sub(r"\\(.)", r"\1", source, flags=re.DOTALL),
                    not _LIVE.search(re.sub(r"\\.", "", source)),
                )
            case "raw_string":
                return Word(source[1:-1])
            case "ansi_c_string":
                return _ansi_c(source)
            case "string" | "translated_string":
                fixed = all(child.type == "string_content" for child in node.named_children)
                body = source.removeprefix("$")[1:-1]
                return Word(
                    re.sub(r'\\(["\\$`\n])', r"\1", body) if fixed else body, fixed and "`" not in body
                )
            case "concatenation":
                words = [self._word(child) for child in node.children]
                return Word("".join(word.text for word in words), all(word.fixed for word in words))
            case "command_name" if node.named_children:
                return self._word(node.named_children[0])
            case "variable_assignment":
                return Word(source, not _LIVE.search(source))
            case _:
                return Word(source, fixed=False)

    def _source(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _guesses(self) -> Iterator[Part]:
        """Pieces of a line that can't be parsed, only to find what is denied in them."""
        for piece in re.split(r"[;&|\n(){}`]+", self.source.decode("utf-8", "replace")):
            words = [Word(re.sub(r"[\"'\\]", "", word)) for word in piece.split()]
            if words:
                yield self._part(words, piece.strip())


def _leaves(expansion: Node) -> Iterator[Node]:
    """The plain text inside an expansion; what the parser knows to be live there is visited by itself."""
    stack = list(expansion.named_children)
    while stack:
        node = stack.pop()
        if node.type in ("command_substitution", "simple_expansion", "expansion", "process_substitution"):
            continue
        if node.named_children:
            stack.extend(node.named_children)
        else:
            yield node


_ANSI_C = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_ANSI_C_LETTERS = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


def _ansi_c(source: str) -> Word:
    """``$'…'`` as bash reads it; what is no character by itself (bytes beyond ASCII, control letters) is not told."""
    fixed = True

    def read(match: re.Match[str]) -> str:
        nonlocal fixed
        byte, short, long, octal, letter = match.groups()
        if letter:
            fixed = fixed and letter != "c"
            return _ANSI_C_LETTERS.get(letter, match[0])
        code = int(octal, 8) if octal else int(byte or short or long, 16)
        fixed = fixed and 0 < code < (0x80 if byte or octal else 0xD800)
        return chr(code) if fixed else match[0]

    text = _ANSI_C.sub(read, source[2:-1])
    return Word(text, fixed)


def _texts(words: Sequence[Word]) -> tuple[str, ...]:
    return tuple(word.text for word in words)


def _join(words: Sequence[Word]) -> str:
    """Words as one line; what a shell would read otherwise is quoted, what expands or has a glob stays as it is."""
    return " ".join(
        word.text
        if not word.fixed or re.fullmatch(r"[^\s\"'\\;&|<>()]+", word.text)
        else shlex.quote(word.text)
        for word in words
    )
