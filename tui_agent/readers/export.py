"""A session as a document: markdown to read and paste, a self-contained HTML page, or its events. Nothing in it can act."""

from __future__ import annotations

import datetime
import html as escaping
import re
from collections.abc import Iterable, Iterator
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tui_agent.core.events import AnyEvent, encode
from tui_agent.core.messages import Image
from tui_agent.readers.transcript import Body, Entry, transcript

Format = Literal["md", "html", "jsonl"]

_CONTROLS = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *range(0x202A, 0x202F))}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPANS = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_BAD_LINK = re.compile(r"(\]\s*\(\s*<?|\]:\s*<?)\s*(?=(?:javascript|vbscript|data|file)\s*:)", re.IGNORECASE)
_SAFE_LINK = re.compile(r"\s*(?:https?:|mailto:|unsafe:|(?![a-z][a-z0-9+.-]*\s*:))", re.IGNORECASE)
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def export(events: Iterable[AnyEvent], format: Format) -> str:
    """The session in one of the formats."""
    return {"md": markdown, "html": html, "jsonl": jsonl}[format](events)


def jsonl(events: Iterable[AnyEvent]) -> str:
    """The events as the log has them, one a line; control characters stay escaped, so that it can go to a terminal."""
    return "".join(encode(event).decode("utf-8").translate(_CONTROLS) + "\n" for event in events)


# ---- markdown


def markdown(events: Iterable[AnyEvent]) -> str:
    """Markdown in which only what a model wrote as markdown is markdown; HTML in it is shown, not used."""
    whole = transcript(events)
    lines = [f"# {_plain(whole.title)}", ""]
    lines += [f"- {name}: {_plain(value)}" for name, value in whole.facts]
    for entry in whole.entries:
        lines += ["", *_entry_lines(entry)]
    return "\n".join(lines) + "\n"


def _entry_lines(entry: Entry) -> list[str]:
    lines: list[str] = []
    if entry.speaker == "person":
        lines += [f"## You{': ' + _plain(entry.title) if entry.title else ''}", ""]
    elif entry.title or entry.meta:
        title = f"**{_plain(entry.title)}**" if entry.title else ""
        lines += [
            " ".join(
                part for part in (entry.mark, title, f"— {_plain(entry.meta)}" if entry.meta else "") if part
            ),
            "",
        ]
    for body in entry.bodies:
        lines += [*_body_lines(body, quoted=entry.speaker == "person"), ""]
    lines += [
        f"(image: {_plain(image.media_type)}, {len(image.data) * 3 // 4:,} bytes)" for image in entry.images
    ]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _body_lines(body: Body, *, quoted: bool) -> list[str]:
    if body.form == "markdown":
        return [_tame(body.text)]
    lines = [_plain(body.label), ""] if body.label else []
    if not body.text:
        return lines
    if body.form == "text" and not body.folded and not re.search(r"^[ \t]", body.text, re.MULTILINE):
        mark = "> " if quoted else ""
        return [
            *lines,
            *(f"{mark}{_plain(line)}  ".rstrip(" " if not line else "") for line in body.text.split("\n")),
        ]
    language = "diff" if body.form == "diff" else re.sub(r"\W", "", body.language)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body.text)), default=0))
    return [*lines, fence + language, body.text, fence]


def _plain(text: str) -> str:
    """Text that stays text in markdown, on one line."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(text.split("\n")))
    return re.sub(r"^(\s*)([-+=]|\d+[.)])(?=\s|$)", r"\1\\\2", escaped)


def _tame(text: str) -> str:
    """A model's markdown with its HTML, images and script links made text; code stays as it is where that is certain."""
    for spans in (True, False):
        tamed = _tamed(text, spans=spans)
        if not _acts(tamed):
            return tamed
    return "\n".join(_body_lines(Body("code", text), quoted=False))


def _tamed(text: str, *, spans: bool) -> str:
    """Fences are left alone, an open one is closed; ``spans``: so is code within a line."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            closes = match and match[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if closes else fence
            lines.append(line)
        elif match and not (match[1][0] == "`" and "`" in line[match.end() :]):
            fence = match[1]
            lines.append(line)
        else:
            lines.append(_tamed_line(line) if spans else _tamed_words(line))
    return "\n".join([*lines, fence] if fence else lines)


def _tamed_line(line: str) -> str:
    pieces: list[str] = []
    at = 0
    for span in _SPANS.finditer(line):
        pieces += [_tamed_words(line[at : span.start()]), span[0]]
        at = span.end()
    return "".join([*pieces, _tamed_words(line[at:])])


def _tamed_words(text: str) -> str:
    text = _TAG.sub("&lt;", text.replace("![", "["))
    return _BAD_LINK.sub(r"\1unsafe:", text)


def _acts(text: str) -> bool:
    """True if a renderer would find HTML, an image, or a link that is more than an address in it."""
    for token in _walk(_JUDGE.parse(text)):
        if token.type in ("html_block", "html_inline", "image"):
            return True
        if token.type == "link_open" and not _SAFE_LINK.match(str(token.attrGet("href") or "")):
            return True
    return False


def _walk(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _walk(token.children or ())


# ---- html


def html(events: Iterable[AnyEvent]) -> str:
    """One page with its styles inside, no scripts, and a policy that forbids loading anything."""
    whole = transcript(events)
    facts = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in whole.facts)
    entries = "\n".join(_entry_html(entry) for entry in whole.entries)
    return _PAGE.format(title=_text(whole.title), style=_STYLE, facts=facts, entries=entries)


def _entry_html(entry: Entry) -> str:
    line = ""
    if entry.title or entry.meta:
        title = f"<b>{_text(entry.title)}</b>" if entry.title else ""
        meta = f'<span class="meta">{_text(entry.meta)}</span>' if entry.meta else ""
        line = f'<p class="line"><span class="mark">{_text(entry.mark)}</span> {title}{meta}</p>'
    bodies = "".join(_body_html(body) for body in entry.bodies)
    images = "".join(_image_html(image) for image in entry.images)
    when = f' title="{_text(_clock(entry.ts))}"' if entry.ts else ""
    return f'<section class="{entry.speaker}" id="e{entry.seq}"{when}>{line}{bodies}{images}</section>'


def _body_html(body: Body) -> str:
    if body.form == "markdown":
        inner = f'<div class="md">{_rendered(body.text)}</div>'
    elif not body.text:
        inner = ""
    elif body.form == "diff":
        inner = f"<pre>{''.join(_diff_line(line) for line in body.text.split(chr(10)))}</pre>"
    elif body.form == "code":
        inner = f"<pre>{_text(body.text)}</pre>"
    else:
        inner = f'<div class="text">{_text(body.text)}</div>'
    if body.folded and inner:
        return f"<details><summary>{_text(body.label or 'more')}</summary>{inner}</details>"
    return (f'<p class="label">{_text(body.label)}</p>' if body.label else "") + inner


def _diff_line(line: str) -> str:
    kind = {"+": "add", "-": "del", "@": "hunk"}.get(line[:1], "")
    return f'<span class="{kind}">{_text(line)}</span>\n' if kind else f"{_text(line)}\n"


def _image_html(image: Image) -> str:
    if image.media_type in _IMAGE_TYPES and _BASE64.fullmatch(image.data):
        return f'<img alt="image" src="data:{image.media_type};base64,{"".join(image.data.split())}">'
    return f'<p class="label">image: {_text(image.media_type)}</p>'


def _text(text: str) -> str:
    return escaping.escape(text, quote=True)


def _clock(ts: float) -> str:
    return datetime.datetime.fromtimestamp(ts, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _rendered(text: str) -> str:
    """A model's markdown as HTML. Images are named, not loaded (their server would learn who reads this); links say where they go."""
    tokens = _MARKDOWN.parse(text)
    for token in _walk(tokens):
        if token.type == "link_open":
            token.attrSet("title", str(token.attrGet("href") or ""))
            token.attrSet("rel", "noopener noreferrer nofollow")
        elif token.type == "image":
            token.content = f"[image: {token.content} {token.attrGet('src') or ''}]"
            token.type, token.tag = "text", ""
    return _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})


def _parser(*, html: bool) -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": html}).enable(["table", "strikethrough"])


_MARKDOWN = _parser(html=False)
_JUDGE = _parser(html=True)
_JUDGE.validateLink = lambda url: True  # noqa: ARG005 - it is to show links that would not be made

_STYLE = """
:root { color-scheme: light dark; --fg: #1f2328; --dim: #59636e; --bg: #ffffff; --box: #f6f8fa; --line: #d1d9e0;
  --accent: #0550ae; --add: #116329; --del: #a40e26; --addbg: #e6ffec; --delbg: #ffebe9 }
@media (prefers-color-scheme: dark) { :root { --fg: #e6edf3; --dim: #9198a1; --bg: #0d1117; --box: #151b23; --line: #3d444d;
  --accent: #79b8ff; --add: #7ee787; --del: #ffa198; --addbg: #12261e; --delbg: #301b1f } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; color: var(--fg); background: var(--bg);
  font: 16px/1.55 system-ui, sans-serif }
h1 { font-size: 1.5rem; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; color: var(--dim); font-size: .875rem }
dd { margin: 0; overflow-wrap: anywhere }
section { margin: 1.25rem 0; padding-left: 1rem; border-left: 3px solid transparent }
section.person { border-color: var(--accent) }
section.tool { border-color: var(--line) }
.line { display: flex; gap: .5rem; margin: 0; font-size: .875rem; overflow-wrap: anywhere }
.meta { margin-left: auto; color: var(--dim); text-align: right }
.label, summary { margin: .25rem 0; color: var(--dim); font-size: .875rem }
.text, pre { white-space: pre-wrap; overflow-wrap: anywhere }
pre, code { font: .8125rem/1.5 ui-monospace, monospace }
pre { margin: .25rem 0; padding: .75rem; background: var(--box); border: 1px solid var(--line); border-radius: 6px }
code { padding: .1em .3em; background: var(--box); border-radius: 4px }
pre code { padding: 0 }
.add { color: var(--add); background: var(--addbg) } .del { color: var(--del); background: var(--delbg) }
.hunk { color: var(--dim) }
table { border-collapse: collapse } th, td { padding: .25rem .75rem; border: 1px solid var(--line) }
a { color: var(--accent) } img { max-width: 100% }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<dl>{facts}</dl>
{entries}
</body>
</html>
"""
