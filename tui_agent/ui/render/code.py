"""Code in colours, a window of lines at a time, so that a long listing costs no more a line than a short one.

A window is lexed from the state in which the one before it ended. Which lines make a window depends on the text alone,
never on the pieces it came in, so a streamed listing ends up in the same colours as one that was there at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_agent.ui.render.lines import PLAIN, Prefix, Span, TextLine
from tui_agent.ui.render.plain import is_plain, visible

if TYPE_CHECKING:
    from pygments.lexer import Lexer

WINDOW = 64
"""Lines in a window: one more screen than is usually seen, lexed in about 4 ms."""
LONGEST_LINE = 1000
"""Characters; a longer line (minified code, data) stays plain, because a lexer may need seconds for it."""
LONGEST_LISTING = 2000
"""Lines of one listing that are coloured (0.1 s of lexing); what follows stays plain."""
ALIASES = {
    "": "text",
    "plain": "text",
    "txt": "text",
    "shell": "bash",
    "sh": "bash",
    "zsh": "bash",
    "jsonc": "json",
}

State = tuple[str, ...]
"""Names of the lexer's open states, outermost first."""
START: State = ("root",)


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    """The lexer of a fence's language; None when nothing would be coloured."""
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    name = ALIASES.get(language, language)
    if name == "text":
        return None
    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def language_of(path: str) -> str:
    """The language of a file by its name, for ``highlight``; empty when unknown."""
    from pygments.lexers import find_lexer_class_for_filename

    lexer = find_lexer_class_for_filename(path)
    return lexer.aliases[0] if lexer is not None and lexer.aliases else ""


GROUPS = {
    "Keyword.Constant": "constant",
    "Keyword.Type": "type",
    "Keyword": "keyword",
    "Operator.Word": "keyword",
    "Operator": "operator",
    "Name.Function": "function",
    "Name.Class": "type",
    "Name.Exception": "type",
    "Name.Namespace": "namespace",
    "Name.Decorator": "decorator",
    "Name.Builtin": "builtin",
    "Name.Tag": "tag",
    "Name.Attribute": "attribute",
    "Name.Constant": "constant",
    "Name.Variable": "variable",
    "Literal.String": "string",
    "Literal.Number": "number",
    "Literal.Date": "string",
    "Comment": "comment",
    "Generic.Heading": "heading",
    "Generic.Subheading": "heading",
    "Generic.Inserted": "inserted",
    "Generic.Deleted": "deleted",
    "Generic.Error": "error",
    "Generic.Prompt": "keyword",
}
"""Pygments token types to the groups that a theme colours (``syntax:`` in a theme file); the longest prefix wins."""


@lru_cache(maxsize=512)
def group_of(token: Any) -> str:
    """The role of a token type, e.g. ``syntax.keyword``; empty for ordinary text."""
    name = str(token).removeprefix("Token.")
    while name:
        if name in GROUPS:
            return f"syntax.{GROUPS[name]}"
        name = name.rpartition(".")[0]
    return ""


CodeLine = tuple[str, Sequence[Span]]


def _by_line(tokens: Iterable[tuple[Any, str]]) -> list[CodeLine]:
    """Tokens as lines of text and spans; one more line than there are newlines."""
    lines: list[CodeLine] = []
    text = ""
    spans: list[Span] = []
    for token, value in tokens:
        role = group_of(token)
        first, *others = value.split("\n")
        for index, piece in enumerate((first, *others)):
            if index:
                lines.append((text, spans))
                text, spans = "", []
            if piece:
                if role:
                    spans.append((len(text), len(text) + len(piece), role))
                text += piece
    lines.append((text, spans))
    return lines


def highlight(lines: Sequence[str], language: str, state: State = START) -> list[CodeLine]:
    """Colour some whole lines from a state on."""
    return _highlight(lines, language, state)[0]


class _Lexed(NamedTuple):
    tokens: list[tuple[Any, str]]
    state: State
    """The state at the end."""
    safe: int
    """Up to which character the tokens stand even if more text comes: not inside a comment that is still open."""
    safe_state: State


def _highlight(lines: Sequence[str], language: str, state: State) -> tuple[list[CodeLine], _Lexed | None]:
    lexer = _lexer(language) if language else None
    if lexer is None or any(len(line) > LONGEST_LINE for line in lines):
        return [(line, ()) for line in lines], None
    source = "\n".join(lines) + "\n"
    lexed = _lex(lexer, source, state)
    coloured = _by_line(lexed.tokens)[: len(lines)]
    if [text for text, _ in coloured] != list(lines):  # a lexer that failed or normalised its input
        return [(line, ()) for line in lines], None
    return coloured, lexed


def _lex(lexer: Any, source: str, state: State) -> _Lexed:
    from pygments.lexer import RegexLexer

    try:
        if isinstance(lexer, RegexLexer) and (
            type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed
        ):
            return _lex_from(lexer, source, state)
        tokens = [(token, text) for _, token, text in lexer.get_tokens_unprocessed(source)]
        return _Lexed(tokens, START, len(source), START)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, AssertionError):
        return _Lexed([], START, len(source), START)  # a bug in a foreign lexer costs colours, nothing else


def _lex_from(lexer: Any, source: str, state: State) -> _Lexed:
    """``RegexLexer.get_tokens_unprocessed`` with its stack as a parameter and a result."""
    from pygments.token import Error, Text

    rules: Any = lexer._tokens
    stack = [name for name in state if name in rules] or ["root"]
    tokens: list[tuple[Any, str]] = []
    position, end = 0, len(source)
    began = 0  # where the last token began
    line_start, line_state = 0, state
    while position < end:
        began = position
        if position and source[position - 1] == "\n":
            line_start, line_state = position, tuple(stack)
        for match_rule, action, new_state in rules[stack[-1]]:
            match = match_rule(source, position)
            if match is None:
                continue
            if action is not None:
                if type(action) is _token_type():
                    tokens.append((action, match.group()))
                else:
                    tokens.extend((token, text) for _, token, text in action(lexer, match))
            position = match.end()
            if new_state is not None:
                _enter(stack, new_state)
            break
        else:
            if source[position] == "\n":
                stack = ["root"]
                tokens.append((Text, "\n"))
            else:
                tokens.append((Error, source[position]))
            position += 1
    final = tuple(stack[-32:])
    if line_start and source.count("\n", began, end) > 1:
        return _Lexed(tokens, final, line_start, line_state)
    return _Lexed(tokens, final, end, final)


@lru_cache(maxsize=1)
def _token_type() -> type:
    from pygments.token import Token

    return type(Token)


def _enter(stack: list[str], new_state: Any) -> None:
    """Do to the stack what a rule's new state says (a number of pops, a name, or several)."""
    if isinstance(new_state, int):
        del stack[max(len(stack) + new_state, 1) if new_state < 0 else 1 :]
        return
    for name in (new_state,) if isinstance(new_state, str) else new_state:
        if name == "#pop":
            if len(stack) > 1:
                stack.pop()
        elif name == "#push":
            stack.append(stack[-1])
        else:
            stack.append(name)


def code_lines(lines: Sequence[CodeLine], prefix: Prefix = PLAIN) -> list[TextLine]:
    """Lines of a listing on the code ground, wrapped hard, tabs and control characters shown."""
    lead: Prefix = (*prefix, ("  ", "code"))
    made: list[TextLine] = []
    for text, spans in lines:
        shown = text
        if not is_plain(text):
            shown = visible(text)
            spans = shifted(text, spans)
        made.append(TextLine(shown, spans, first=lead, wrap="hard", base=("code",), fill=True, raw=text))
    return made


def shifted(text: str, spans: Sequence[Span], tab: int = 4) -> list[Span]:
    """Spans of a text moved to where its visible form has them."""
    return [
        (len(visible(text[:start], tab)), len(visible(text[:end], tab)), role) for start, end, role in spans
    ]


class Window(NamedTuple):
    """A part of a listing that never changes again, as it was coloured."""

    lines: list[str]
    state: State
    coloured: list[CodeLine]


class Listing:
    """A listing that grows: whole windows are coloured once, the unfinished one as far as it goes."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.lines: list[str] = []
        """Complete lines of the unfinished window."""
        self._start: State = START
        self._settled = 0
        self._coloured: list[CodeLine] = []
        self._state: State = START

    def feed(self, lines: Sequence[str]) -> list[Window]:
        """Add complete lines; the windows that are whole now."""
        whole: list[Window] = []
        pending = [*self.lines, *lines]
        at = 0
        while len(pending) - at >= WINDOW:
            window = pending[at : at + WINDOW]
            coloured, lexed = _highlight(window, self._language, self._start)
            count, state = len(window), START
            if lexed is not None:
                state = lexed.safe_state
                count = _lines_in(window, lexed.safe)
            whole.append(Window(window[:count], self._start, coloured[:count]))
            self._start = state
            self._settled += count
            at += count
        self.lines = pending[at:]
        if whole:
            self._coloured, self._state = [], self._start
        return whole

    def unfinished(self) -> list[CodeLine]:
        """The lines of the unfinished window; new ones are coloured from where the last look ended."""
        known = len(self._coloured)
        if known < len(self.lines):
            fresh, lexed = _highlight(self.lines[known:], self._language, self._state)
            self._state = lexed.state if lexed is not None else START
            self._coloured.extend(fresh)
        return self._coloured

    def finish(self) -> Window | None:
        """The last window when nothing more comes, coloured as a whole; None when no line is left."""
        if not self.lines:
            return None
        return Window(self.lines, self._start, highlight(self.lines, self._language, self._start))

    @property
    def _language(self) -> str:
        return self.language if self._settled < LONGEST_LISTING else ""


def _lines_in(lines: Sequence[str], characters: int) -> int:
    """How many whole lines so many characters (with their newlines) are."""
    count = 0
    for line in lines:
        characters -= len(line) + 1
        if characters < 0:
            break
        count += 1
    return max(count, 1)
