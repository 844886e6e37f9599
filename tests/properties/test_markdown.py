"""Markdown that streams in ends up as if it had been there at once, whatever pieces it came in."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.ui.painting import shown
from tui_agent.ui.render.ansi import read_line
from tui_agent.ui.render.document import Document
from tui_agent.ui.render.lines import Line
from tui_agent.ui.render.markdown import markdown_lines
from tui_agent.ui.render.partial import fields
from tui_agent.ui.render.sheet import Growing

PIECES = (
    "# heading\n", "para\n", "lazy ", "\n", "\n\n", "- a\n", "- b\n", "  cont\n", "   - n\n", "    code\n", "```py\n", "```\n",
    "x = 1\n", "1. one\n", "2. two\n", "> q\n", ">\n", "---\n", "===\n", "| a | b |\n", "|---|---|\n", "| 1 | 2 |\n", "**b** `c`\n",
    "* star\n", "+ p\n", "~~~\n", "\t tab\n", "<div>\n", "[a]: http://x\n", "   3) z\n", "- \n", "-\n", "***\n", "  > q2\n", "`````\n",
    "a\r\n", "\r", "  ```\n", "    ```\n", "\u2028x\n", "text **open\n", "https://x.org/y ", "[l](http://z) ", "中文 ", "👩‍👩‍👧", "\x1b[31m",
)  # fmt: skip

sources = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def described(lines: Sequence[Line]) -> list[object]:
    """Everything that is drawn of some lines."""
    names = ("text", "links", "first", "rest", "base", "wrap", "fill", "raw")
    return [
        (
            type(line).__name__,
            [list(getattr(line, "spans", ()))],
            *(getattr(line, name, None) for name in names),
        )
        for line in lines
    ]


def settled(document: Document) -> list[Line]:
    document.finish()
    return [line for part in document.parts for line in part.lines]


@given(sources, st.data())
def test_any_pieces_give_what_the_whole_gives(source: str, data: st.DataObject) -> None:
    once = Document()
    once.feed(source)
    streamed = Document()
    at = 0
    while at < len(source):
        step = data.draw(st.integers(1, 12))
        streamed.feed(source[at : at + step])
        streamed.tail()
        at += step
    assert described(settled(streamed)) == described(settled(once))


@given(sources)
def test_parts_give_what_one_parse_of_all_gives(source: str) -> None:
    document = Document()
    document.feed(source)
    whole = markdown_lines(source.replace("\r\n", "\n").replace("\r", "\n"))
    assert shown(settled(document), 50) == shown(whole, 50)


@given(sources)
def test_a_part_that_was_forgotten_comes_back_the_same(source: str) -> None:
    document = Document()
    document.feed(source)
    before = described(settled(document))
    for part in document.parts:
        part.forget()
    assert described([line for part in document.parts for line in part.lines]) == before


@given(sources, st.data())
def test_a_growing_block_is_its_text_even_if_the_end_corrects_it(source: str, data: st.DataObject) -> None:
    growing = Growing()
    cut = data.draw(st.integers(0, len(source)))
    growing.update(source[:cut], live=True)
    growing.update(source, live=True)
    final = data.draw(st.sampled_from([source, source + "more", "other " + source, source[: cut // 2]]))
    start, parts = growing.update(final, live=False)
    once = Document()
    once.feed(final)
    expected = described(settled(once))
    shown_parts = [line for part in parts for line in part.lines]
    assert described(shown_parts) == (expected[-len(shown_parts) :] if shown_parts else [])
    assert start > 0 or described(shown_parts) == expected


@given(st.text(max_size=300), st.integers(0, 300))
def test_unfinished_arguments_never_fail(value: str, cut: int) -> None:
    whole = json.dumps({"path": "a.py", "content": value})
    assert {name: text for name, text, _ in fields(whole)} == {"path": "a.py", "content": value}
    found = {name: (text, complete) for name, text, complete in fields(whole[:cut])}
    if "content" in found and not found["content"][1]:
        assert (
            value.encode("utf-16", "surrogatepass")
            .decode("utf-16", "replace")
            .startswith(found["content"][0].encode("utf-16", "surrogatepass").decode("utf-16", "ignore"))
        )


@given(st.text(st.sampled_from("ab \t\r\b\x1b[0123;mKJ]\x07中"), max_size=60))
def test_output_never_holds_a_control_character(raw: str) -> None:
    text, spans, _ = read_line(raw)
    assert text.isprintable()
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)
