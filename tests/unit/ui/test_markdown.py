"""Markdown on the screen: what each construct looks like, at any width, and that nothing in it is executed or hidden."""

import pytest
from rich.style import Style

from tests.ui.painting import page, shown, style_at
from tui_agent.ui.render.code import LONGEST_LISTING, WINDOW, Listing, highlight
from tui_agent.ui.render.document import Document
from tui_agent.ui.render.inline import is_safe_url
from tui_agent.ui.render.lines import layout
from tui_agent.ui.render.markdown import language_of_fence, markdown_lines
from tui_agent.ui.render.table import share


def look(source: str, cells: int = 80) -> list[str]:
    """The rows of a source without the empty gutter before them."""
    return [row[3:] for row in shown(markdown_lines(source), cells)]


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("plain *em* **strong** ~~gone~~ `code`", ["plain em strong gone code"]),
        ("one\ntwo", ["one", "two"]),
        ("one\n\n\n\ntwo", ["one", "", "two"]),
        ("# Title\ntext", ["Title", "text"]),
        ("text\n# Title", ["text", "", "Title"]),
        ("- a\n- b\n  - c\n    - d", ["• a", "• b", "  ◦ c", "    • d"]),
        ("3. a\n3. b", ["3. a", "3. b"]),
        ("7) a", ["7) a"]),
        ("- a\n\n- b", ["• a", "", "• b"]),
        ("1. a\n\n   more\n2. b", ["1. a", "", "   more", "2. b"]),
        ("- [ ] open\n- [x] done", ["• ☐ open", "• ☑ done"]),
        ("-\n- b", ["•", "• b"]),
        ("> a\n> b\n>\n> > c", ["▎ a", "▎ b", "▎", "▎ ▎ c"]),
        ("a\n\n---\n\nb", ["a", "", "─" * 24, "", "b"]),
        ("<b>not</b> &lt;html&gt;", ["<b>not</b> <html>"]),
        ("<div>\n\nx", ["<div>", "", "x"]),
        ("```py\nx = 1\n\ny\n```", ["  x = 1", "", "  y"]),
        ("    indented", ["  indented"]),
        ("[a]: http://x.org\n\n[a]", ["[a]: http://x.org", "", "[a]"]),
        ("![a cat](http://x.org/c.png)", ["[image: a cat] (http://x.org/c.png)"]),
        (r"\*kept\*", ["*kept*"]),
    ],
)
def test_what_it_looks_like(source: str, rows: list[str]) -> None:
    assert look(source) == rows


def test_a_link_shows_where_it_goes_unless_its_text_does() -> None:
    assert look("[docs](https://x.org/a)") == ["docs (https://x.org/a)"]
    assert look("<https://x.org/a>") == ["https://x.org/a"]
    assert look("[https://x.org](https://evil.org)") == ["https://x.org (https://evil.org)"]


def test_a_link_to_letters_that_only_look_latin_shows_its_true_name() -> None:
    assert look("<https://аpple.com>") == ["https://аpple.com (https://xn--pple-43d.com)"]


def test_a_link_that_would_run_something_is_text() -> None:
    (line,) = markdown_lines("[x](javascript:alert(1)) [y](data:text/html,z) [z](file:///etc/passwd)")
    assert line.links == []
    assert "javascript:alert(1)" in line.text


def test_links_and_bare_addresses_can_be_clicked() -> None:
    (line,) = markdown_lines("see [docs](https://x.org/a) or https://y.org/b_c.")
    assert [(line.text[start:end], url) for start, end, url in line.links] == [
        ("docs", "https://x.org/a"),
        ("https://y.org/b_c", "https://y.org/b_c"),
    ]


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://x.org", True),
        ("http://x.org:8080/a?b#c", True),
        ("mailto:a@x.org", True),
        ("https://x.org@evil.org", False),
        ("https://x.org/\x1b]8;;", False),
        ("https://x.org/\u202e", False),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("ftp://x.org", False),
        ("https://x.org/" + "a" * 3000, False),
    ],
)
def test_which_addresses_may_be_opened(url: str, safe: bool) -> None:
    assert is_safe_url(url) is safe


def test_a_task_inside_emphasis_keeps_its_styles_in_place() -> None:
    (row,) = layout(markdown_lines("- [x] **bold** tail"), page())
    assert style_at(row, "bold").bold
    assert not style_at(row, " tail").bold


def test_nested_emphasis_adds_up_also_on_the_second_row() -> None:
    rows = layout(markdown_lines("**" + "word " * 20 + "*both*** end"), page(60))
    assert style_at(rows[-1], "both").bold
    assert style_at(rows[-1], "both").italic
    assert not style_at(rows[-1], " end").bold


def test_code_is_marked_where_it_wraps_and_keeps_its_source() -> None:
    source = "    x = '" + "y" * 60 + "'"
    lines = markdown_lines(f"```python\n{source}\n\tz\n```")
    rows = shown(lines, 60)
    assert [row.startswith("     ↪ ") for row in rows] == [False, True, False]
    assert lines[0].copy(0, None) == source
    assert (lines[1].text, lines[1].copy(0, None), lines[1].copy(4, None)) == ("    z", "\tz", "z")


def test_code_has_a_ground_of_its_own_up_to_the_edge_of_the_text() -> None:
    (row,) = layout(markdown_lines("```\nx\n```"), page(60))
    grounds = [segment.style.bgcolor for segment in row.strip if segment.style for _ in segment.text]
    assert grounds[3:59] == [grounds[3]] * 56
    assert grounds[2] == grounds[59] != grounds[3]


@pytest.mark.parametrize("cells", [24, 30, 44, 60, 79, 200])
def test_a_table_fits_its_width_and_loses_nothing(cells: int) -> None:
    rows = look(
        "| name | what it is | n |\n|:--|:-:|--:|\n| a | "
        + "many words here " * 6
        + " | 1 |\n| 中文字 | x | 22 |",
        cells,
    )
    joined = " ".join(rows)
    assert joined.count("many") == joined.count("words") == joined.count("here") == 6
    assert max(map(len, rows)) <= cells


def test_a_table_aligns_its_columns() -> None:
    assert look("| a | bb | c |\n|:-:|---|--:|\n| xxx | y | 1 |\n| x | y | 100 |") == [
        " a   bb    c",
        "────────────",
        "xxx  y     1",
        " x   y   100",
    ]


def test_a_table_of_too_many_columns_is_its_source() -> None:
    header = "|" + "a|" * 30
    rows = look(f"{header}\n|{'---|' * 30}\n{header}", 40)
    assert rows[0].startswith("| a | a ")


def test_columns_share_what_the_narrow_ones_leave() -> None:
    assert share([3, 100, 5], 50) == [3, 42, 5]
    assert share([3, 4], 50) == [3, 4]
    assert share([9, 9, 9], 8) == []


def test_deep_nesting_leaves_room_for_the_text() -> None:
    source = "".join("  " * depth + f"- level {depth}\n" for depth in range(15))
    rows = look(source, 40)
    assert rows[-1].strip() == "• level 14"
    quoted = look(">" * 15 + " deep", 30)
    assert "deep" in quoted[0]


def test_nothing_hides_in_nesting_deeper_than_the_parser_goes() -> None:
    assert "hidden" in "".join(look(">" * 200 + " hidden"))
    assert "hidden" in "".join(
        look("".join(f"{'  ' * depth}- {depth}\n" for depth in range(80)) + "  " * 80 + "- hidden")
    )


@pytest.mark.parametrize(
    ("info", "language"),
    [("Python", "python"), ("py title=x", "py"), ("{.rust}", "rust"), ("js{1,3}", "js"), ("", "")],
)
def test_the_language_of_a_fence(info: str, language: str) -> None:
    assert language_of_fence(info) == language


# ---- code in colours


def test_known_code_is_coloured_and_unknown_is_not() -> None:
    ((_, spans),) = highlight(["def f(): return 1"], "python")
    assert spans[0] == (0, 3, "syntax.keyword")
    assert highlight(["def f()"], "no-such-language") == [("def f()", ())]


def test_a_line_that_a_lexer_may_choke_on_stays_plain() -> None:
    assert highlight(["x = 1 " * 1000], "python")[0][1] == ()


def test_a_comment_over_many_lines_keeps_its_colour_across_windows() -> None:
    listing = Listing("c")
    lines = ["int a;"] * (WINDOW - 2) + ["/* one", "two", "three */"] + ["int b;"] * WINDOW
    windows = listing.feed(lines)
    assert [line for window in windows for line in window.lines] == lines[
        : sum(len(w.lines) for w in windows)
    ]
    coloured = [line for window in windows for line in window.coloured]
    assert coloured[WINDOW - 1] == ("two", [(0, 3, "syntax.comment")])


def test_a_very_long_listing_stops_being_coloured() -> None:
    listing = Listing("python")
    windows = listing.feed(["x = 1"] * (LONGEST_LISTING + 3 * WINDOW))
    assert windows[0].coloured[0][1] != ()
    assert windows[-1].coloured[0][1] == ()


def test_a_window_can_be_coloured_again_from_its_state() -> None:
    listing = Listing("python")
    lines = ['"""a', *["text"] * WINDOW, '"""', *["x = 1"] * WINDOW]
    for window in listing.feed(lines):
        assert highlight(window.lines, "python", window.state) == window.coloured


# ---- as it streams


def tail(text: str) -> list[str]:
    document = Document()
    document.feed(text)
    return shown(document.tail())


def test_what_may_still_become_something_else_is_not_shown_yet() -> None:
    assert tail("Some text\n-") == ["   Some text"]
    assert tail("Some text\n- item") == ["   Some text", "   • item"]
    assert tail("``") == []
    assert tail("1") == []
    assert tail("1 apple") == ["   1 apple"]


def test_an_open_listing_shows_what_it_has() -> None:
    assert tail("```python\nx = 1\ny") == ["     x = 1", "     y"]
    assert tail("```python\nx = 1\n``") == ["     x = 1"]


def test_the_end_of_a_listing_is_seen_without_a_newline() -> None:
    document = Document()
    document.feed("```\nx\n```")
    document.finish()
    assert shown([line for part in document.parts for line in part.lines]) == ["     x"]


def test_a_carriage_return_at_the_end_of_a_piece_is_half_a_newline() -> None:
    document = Document()
    for piece in ("a\r", "\nb\r", "c"):
        document.feed(piece)
    document.finish()
    assert shown([line for part in document.parts for line in part.lines]) == ["   a", "   b", "   c"]


def test_only_the_end_is_read_again() -> None:
    document = Document()
    for number in range(200):
        document.feed(f"paragraph {number}\n\n")
    assert len(document.parts) == 199
    assert [line.text for line in document.tail()] == ["", "paragraph 199"]


def test_no_style_is_left_out() -> None:
    (row,) = layout(markdown_lines("x `y`"), page())
    assert all(isinstance(segment.style, Style) and segment.style.bgcolor for segment in row.strip)
