"""What stands inside a paragraph: emphasis, code, links, images; from markdown-it's inline tokens to text and spans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui_agent.ui.render.lines import Link, Role, Span
from tui_agent.ui.render.plain import visible

if TYPE_CHECKING:
    from markdown_it.token import Token

EMPHASIS: dict[str, Role] = {"strong_open": "strong", "em_open": "emphasis", "s_open": "strike"}
_BARE_URL = re.compile(r"""https?://[!-~]*[A-Za-z0-9/#=&_~-]""")
_SAFE_URL = re.compile(r"(?:https?://[A-Za-z0-9.\-\[\]:]+(?:[/?#][!-~]*)?|mailto:[!-~]+)")
LONGEST_LINK = 2000
"""Characters of a URL that is handed to the terminal or opened; browsers stop near there too."""


class Inline(NamedTuple):
    """One line of a paragraph."""

    text: str
    spans: Sequence[Span] = ()
    links: Sequence[Link] = ()


def is_safe_url(url: str) -> bool:
    """Whether a URL may be opened or handed to the terminal: http, https or mailto, no user part, plain ASCII."""
    if len(url) > LONGEST_LINK or not _SAFE_URL.fullmatch(url):
        return False
    authority = url.split("/")[2] if url.startswith("http") else ""
    return "@" not in re.split(r"[?#]", authority)[0]


class _Writer:
    """Collects text, spans and links; starts a new line at each break."""

    def __init__(self) -> None:
        self.lines: list[Inline] = []
        self.open: list[tuple[int, Role | None, str]] = []
        self._text: list[str] = []
        self._spans: list[Span] = []
        self._links: list[Link] = []
        self.length = 0

    def write(self, text: str, *roles: Role) -> None:
        text = visible(text)
        if not text:
            return
        end = self.length + len(text)
        self._spans += [(self.length, end, role) for role in roles]
        self._text.append(text)
        self.length = end

    def start(self, role: Role | None, target: str = "") -> None:
        self.open.append((self.length, role, target))

    def stop(self) -> str:
        """Close the innermost open thing; its target."""
        if not self.open:
            return ""
        start, role, target = self.open.pop()
        self._mark(start, role, target)
        return target

    def link(self, start: int, target: str) -> None:
        self._mark(start, "link", target)

    def text_from(self, start: int) -> str:
        return "".join(self._text)[start:]

    def _mark(self, start: int, role: Role | None, target: str) -> None:
        if self.length > start:
            if role is not None:
                self._spans.append((start, self.length, role))
            if target and is_safe_url(target):
                self._links.append((start, self.length, target))

    def line_break(self) -> None:
        for start, role, target in reversed(self.open):
            self._mark(start, role, target)
        self._spans.sort(key=lambda span: (span[0], -span[1]))
        self.lines.append(Inline("".join(self._text), self._spans, self._links))
        self._text, self._spans, self._links, self.length = [], [], [], 0
        self.open = [(0, role, target) for _, role, target in self.open]


def inline(token: Token) -> list[Inline]:
    """The lines of a paragraph, heading or cell; a newline in the source stays one, as the model wrote it."""
    writer = _Writer()
    for child in token.children or ():
        kind = child.type
        if kind == "text":
            _write_text(writer, child.content)
        elif kind == "code_inline":
            writer.write(child.content, "code-inline")
        elif kind in {"softbreak", "hardbreak"}:
            writer.line_break()
        elif kind == "link_open":
            writer.start("link", str(child.attrGet("href") or ""))
        elif kind == "link_close":
            start = writer.open[-1][0] if writer.open else 0
            target = writer.stop()
            said = writer.text_from(start).strip()
            if target and said not in (target, target.removeprefix("mailto:")):
                writer.write(f" ({target})", "context")
        elif kind == "image":
            start = writer.length
            target = str(child.attrGet("src") or "")
            writer.write(f"[image: {child.content}]" if child.content else "[image]")
            writer.link(start, target)
            writer.write(f" ({target})", "context")
        elif kind.endswith("_open"):
            writer.start(EMPHASIS.get(kind))
        elif kind.endswith("_close"):
            writer.stop()
        else:
            writer.write(child.content)
    writer.line_break()
    return writer.lines


def _write_text(writer: _Writer, text: str) -> None:
    if "://" not in text or any(role == "link" for _, role, _ in writer.open):
        writer.write(text)
        return
    at = 0
    for match in _BARE_URL.finditer(text):
        writer.write(text[at : match.start()])
        start = writer.length
        writer.write(match.group())
        writer.link(start, match.group())
        at = match.end()
    writer.write(text[at:])
