"""Documents of a session: everything that was said and done is in them, and nothing in them can act."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.core.events import AnyEvent, decode
from tui_agent.core.messages import Call, Image, Message, Reasoning, Text, user
from tui_agent.core.tool import Diff, Matches, Output, Plan
from tui_agent.readers.export import export, html, jsonl, markdown
from tui_agent.readers.transcript import dollars, seconds, transcript, visible

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "[click](javascript:alert(1))",
    "[click](  JavaScript:alert(1))",
    "[click][x]\n\n[x]: javascript:alert(1)",
    "[click](&#106;avascript:alert(1))",
    "![pixel](https://evil.example/pixel.png)",
    "![pixel][p]\n\n[p]: https://evil.example/pixel.png",
    "<https://evil.example/>",
    "`a\n`<script>alert(1)</script>`",
    "# `\n`<script>alert(1)</script>`",
    "````\n</pre><script>alert(1)</script>\n```\n````\n<script>",
    "~~~\n```\n~~~\n<script>alert(1)</script>",
    "- ```\n- <script>alert(1)</script>",
    "> ```\n<script>alert(1)</script>",
    "    ```\n<script>alert(1)</script>",
    "a\\`<script>`",
    "</div></section></body>",
    "<!-- comment -->",
    "]]><![CDATA[",
    "\x1b[2J\x07\x9b31m\u202eevil\x00",
]


def start(**more: Any) -> ev.SessionStart:
    return ev.SessionStart(
        seq=1,
        ts=1_796_047_200.0,
        version=1,
        id="20261130-140000-k3f9",
        kind="interactive",
        cwd="/work/mailer",
        model="smart",
        **more,
    )


def said(*parts: Any, role: Any = "assistant", **more: Any) -> ev.MessageEnd:
    return ev.MessageEnd(seq=3, message=Message(id="m", role=role, parts=parts, **more))


def asked(text: str) -> ev.MessageEnd:
    return ev.MessageEnd(seq=2, ts=1_796_047_201.0, message=user("u", text))


def called(
    display: Any = None,
    *,
    status: Any = "ok",
    text: str = "",
    name: str = "edit_file",
    summary: str = "retry.py",
    **more: Any,
) -> list[AnyEvent]:
    return [
        ev.ToolExecutionStart(seq=4, call=Call(id="c", name=name), summary=summary),
        *([more.pop("hook")] if "hook" in more else []),
        ev.ToolExecutionEnd(
            seq=5, call_id="c", name=name, status=status, text=text, display=display, duration=0.3, **more
        ),
    ]


class Tags(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


SAFE_TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt", "dd", "section", "p", "span",
    "b", "div", "pre", "code", "details", "summary", "a", "img", "em", "strong", "s", "ul", "ol", "li", "blockquote", "hr", "br",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


def assert_harmless(page: str) -> Tags:
    found = Tags(page)
    for tag, attributes in found.tags:
        assert tag in SAFE_TAGS, tag
        assert not any(name.startswith("on") for name in attributes), attributes
        if "href" in attributes:
            assert re.match(
                r"https?:|mailto:|(?!\s*[a-z][\w+.-]*\s*:)", attributes["href"] or "", re.IGNORECASE
            ), attributes
        if "src" in attributes:
            assert (attributes["src"] or "").startswith("data:image/"), attributes
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
    return found


def assert_harmless_markdown(document: str) -> None:
    judge = MarkdownIt("commonmark", {"html": True}).enable("table")
    judge.validateLink = lambda url: True
    tokens = judge.parse(document)
    everything = [*tokens, *(child for token in tokens for child in token.children or [])]
    for token in everything:
        assert token.type not in ("html_block", "html_inline", "image"), token
        assert not re.match(
            r"\s*(javascript|vbscript|data|file):", str(token.attrGet("href") or ""), re.IGNORECASE
        )
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", document)


# ---- content


def whole() -> list[AnyEvent]:
    return [
        start(branch="main"),
        asked("fix the flaky *retry* test\n  and say why"),
        ev.AgentStart(run="r", model="smart", limits=ev.RunLimits()),
        ev.TurnStart(step=1),
        said(
            Reasoning("let me think"),
            Text("The **clock** is read early:\n\n```python\nif a < b:\n    pass\n```"),
        ),
        *called(
            Diff("retry.py", "@@ -1 +1 @@\n-old\n+new\n", 1, 1),
            summary="retry.py (1→1 lines)",
            hook=ev.HookEnd(
                call_id="c",
                name="ruff",
                path="retry.py",
                status="failed",
                output="retry.py:1: F821",
                duration=0.2,
            ),
        ),
        *called(status="error", text="no such file: x.py", name="read_file", summary="x.py"),
        ev.SteeringDelivered(seq=6, messages=(user("s", "also the docs", origin="steering"),)),
        ev.Compaction(
            seq=7,
            method="model",
            before_messages=41,
            after_messages=15,
            before_tokens=9000,
            after_tokens=2000,
            summary=user("z", "We did things."),
        ),
        ev.Notice(seq=8, level="warning", text="careful", hint="do this"),
        ev.Usage(purpose="turn", model="smart", cost_usd=0.09),
        ev.AgentEnd(
            seq=9,
            run="r",
            stop_reason="max_steps",
            status="partial",
            steps=9,
            tool_calls=11,
            cost_usd=0.09,
            duration=161,
            files_changed=("retry.py",),
        ),
    ]


def test_markdown_has_everything_in_order():
    document = markdown(whole())
    parts = [
        "# fix the flaky \\*retry\\* test",
        "- session: 20261130-140000-k3f9",
        "- folder: /work/mailer",
        "- branch: main",
        "- started: 2026-11-30 14:00 UTC",
        "- model: smart",
        "- steps: 1",
        "- cost: $0.09",
        "## You",
        "fix the flaky *retry* test\n  and say why",
        "reasoning, 3 words",
        "let me think",
        "The **clock** is read early:\n\n```python\nif a < b:\n    pass\n```",
        "✓ **edit\\_file  retry.py (1→1 lines)** — done · 0.3 s",
        "```diff\n@@ -1 +1 @@\n-old\n+new\n```",
        "⚠ hook ruff: failed · 0.2 s",
        "```\nretry.py:1: F821\n```",
        "✗ **read\\_file  x.py** — error · 0.3 s",
        "no such file: x.py",
        "## You: steered",
        "> also the docs",
        "◆ **context: 41 → 15 messages** — 9,000 → 2,000 tokens",
        "We did things.",
        "◆ **careful** — warning",
        "do this",
        "⏸ **partial · max steps** — 9 steps · 11 calls · 2 m 41 s · $0.09",
        "changed retry.py",
    ]
    at = 0
    for part in parts:
        found = document.find(part, at)
        assert found >= 0, f"{part!r} is not after position {at}"
        at = found + len(part)


def test_html_has_everything_and_nothing_from_elsewhere():
    page = html(whole())
    text = assert_harmless(page).text
    for part in (
        "fix the flaky *retry* test",
        "let me think",
        "if a < b:",
        "-old",
        "+new",
        "retry.py:1: F821",
        "also the docs",
        "partial · max steps",
    ):
        assert part in text, part
    assert '<span class="add">+new</span>' in page
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "http" not in re.sub(r'http-equiv="[^"]*"', "", page)


def test_jsonl_is_the_events():
    events = [decode(line) for line in jsonl(whole()).splitlines()]
    assert events == whole()
    assert export(whole(), "jsonl") == jsonl(whole())
    assert export(whole(), "md") == markdown(whole())
    assert export(whole(), "html") == html(whole())


@pytest.mark.parametrize(
    ("display", "shown"),
    [
        (Output("line one\nline two", "python"), "line one\nline two"),
        (Matches((("a.py", 3, "found"), ("b.py", 0, "")), 2, 2), "a.py:3: found\nb.py"),
        (Plan((("done", "one"), ("active", "two"), ("open", "three"))), "✓ one"),
    ],
)
def test_every_kind_of_display_is_shown(display: Any, shown: str):
    assert shown in markdown([start(), *called(display)])
    assert shown.split("\n", maxsplit=1)[0] in html([start(), *called(display)])


def test_a_call_without_an_end_is_not_lost():
    events = [
        start(),
        *called()[:1],
        ev.AgentEnd(run="r", stop_reason="internal_error", status="failed"),
        *called()[:1],
    ]
    assert markdown(events).count("no end was recorded") == 2


def test_a_failure_says_what_to_do():
    failure = Failure("auth", "the key was refused", hint="set ANTHROPIC_API_KEY")
    document = markdown(
        [start(), ev.MessageEnd(message=Message(id="m", role="assistant", parts=()), failure=failure)]
    )
    assert "the key was refused" in document
    assert "set ANTHROPIC\\_API\\_KEY" in document


def test_an_interrupted_answer_and_untrusted_content_are_marked():
    document = markdown(
        [start(untrusted=True), said(Text("half"), interrupted=True), *called(text="page", untrusted=True)]
    )
    assert "interrupted" in document
    assert document.count("UNTRUSTED") == 2


def test_an_unknown_price_is_never_nothing():
    free = ev.Usage(purpose="turn", model="m", cost_usd=None)
    assert "- cost: $?" in markdown([start(), free])
    assert "- cost: $0.50 + $?" in markdown(
        [start(), free, ev.Usage(purpose="turn", model="m", cost_usd=0.5)]
    )
    assert [dollars(usd) for usd in (None, 0.0, 0.0042, 0.04, 3.1)] == [
        "$?",
        "$0.00",
        "$0.0042",
        "$0.04",
        "$3.10",
    ]
    assert [seconds(value) for value in (0.36, 14.2, 123.0)] == ["0.4 s", "14 s", "2 m 03 s"]


def test_a_picture_is_in_the_page_and_named_in_markdown():
    picture = user("u", "look")
    picture = Message(id="u", role="user", parts=(*picture.parts, Image("image/png", "iVBORw0KGgo=")))
    bad = Message(
        id="u", role="user", parts=(Image('image/svg+xml"><script>', "x"), Image("image/png", '"><script>'))
    )
    events = [start(), ev.MessageEnd(message=picture), ev.MessageEnd(message=bad)]
    assert "data:image/png;base64,iVBORw0KGgo=" in html(events)
    assert_harmless(html(events))
    assert "image: image/png" in markdown(events)


def test_enormous_output_is_cut_in_the_middle():
    document = markdown([start(), *called(Output("a" * 400_000 + "end"))])
    assert len(document) < 110_000
    assert "characters left out" in document
    assert "aend" in document


def test_a_session_of_nothing_is_a_document():
    assert "# session" in markdown([])
    assert_harmless(html([]))
    assert transcript([ev.Unknown(name="hologram")]).entries == []


# ---- hostile text


def everywhere(text: str) -> list[AnyEvent]:
    """A session in which every free text is the same."""
    return [
        start(branch=text, title=text),
        asked(text),
        said(Reasoning(text), Text(text)),
        *called(
            Diff(text, text),
            name=text,
            summary=text,
            hook=ev.HookEnd(call_id="c", name=text, path=text, status="failed", output=text),
        ),
        *called(Output(text, text)),
        *called(Matches(((text, 1, text),))),
        *called(Plan(((text, text),))),
        *called(status="error", text=text),
        ev.Notice(level="error", text=text, hint=text),
        ev.QuestionAsked(id="q", call_id="c", question=text, options=(text,)),
        ev.QuestionAnswered(id="q", text=text),
        ev.ApprovalResolved(id="a", decision="deny", note=text),
        ev.Fallback(source=text, target=text, why=text),
        ev.ModelChanged(model=text, why=text),
        ev.Evaluation(attempt=1, passed=False, issues=(text,), suggestion=text),
        ev.Stall(kind="cycle", count=3, action="warn", what=text),
        ev.MessageEnd(
            message=Message(id="m", role="assistant", parts=()), failure=Failure("unknown", text, hint=text)
        ),
        ev.AgentEnd(
            run="r",
            stop_reason="llm_error",
            status="failed",
            failure=Failure("unknown", text),
            files_changed=(text,),
        ),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(text: str):
    assert_harmless(html(everywhere(text)))
    assert_harmless_markdown(markdown(everywhere(text)))


bits = st.sampled_from(
    ["<script>", "</pre>", "<b ", "`", "``", "```", "~~~", "\n", "\n\n", "    ", "- ", "> ", "# ", "| a | b |\n|--|--|\n", "[x](", "![", "](", ")",
     "javascript:", "data:", "[x]: ", "<!--", "-->", "<?", "&lt;", "\\", "a", " ", "*", '"', "onload=", ">", "\x1b[2J", "\u202e", "\r", "1. "]
)  # fmt: skip


@given(st.lists(bits, max_size=14).map("".join))
def test_no_mixture_of_hostile_pieces_acts(text: str):
    assert_harmless(html(everywhere(text)))
    assert_harmless_markdown(markdown(everywhere(text)))


def test_code_in_a_models_markdown_stays_as_it_is():
    text = "Use `List<String>` and `a < b`:\n\n```html\n<script>x</script>\n```\n\n1 < 2 but <b>not bold</b>"
    document = markdown([start(), said(Text(text))])
    assert "`List<String>` and `a < b`" in document
    assert "```html\n<script>x</script>\n```" in document
    assert "1 < 2 but &lt;b>not bold&lt;/b>" in document
    page = Tags(html([start(), said(Text(text))])).text
    assert "List<String>" in page
    assert "<script>x</script>" in page
    assert "<b>not bold</b>" in page


def test_control_and_direction_characters_are_shown():
    assert visible("a\x1b[31m\x00\x7f\x9b\u202e\tb\r\nc") == "a␛[31m␀␡\\x9b\\u202e\tb\nc"
