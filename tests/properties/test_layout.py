"""Layout: no row is ever wider than its page, nothing is lost, and nothing hostile reaches the terminal."""

import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from tests.ui.painting import page
from tui_agent.ui.render.cells import fit, fit_start, graphemes, pad, width, wrap_hard, wrap_words
from tui_agent.ui.render.heights import Heights
from tui_agent.ui.render.lines import Line, TextLine, TitleLine, layout
from tui_agent.ui.render.markdown import markdown_lines
from tui_agent.ui.render.overlay import restyle
from tui_agent.ui.render.plain import source_index, visible

CLUSTERS = (
    "a", "b", " ", "  ", "é", "e\u0301", "中", "文", "、", "「", "🇩🇪", "🇫🇷", "👩‍👩‍👧", "👍🏽", "❤️", "1️⃣", "한", "각",
    "ก็", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "✓", "─", "word", "https://x.org/abc",
)  # fmt: skip
HOSTILE = (
    "\x1b[2J",
    "\x07",
    "\x9b31m",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u200d",
    "\ufeff",
    "\U000e0041",
    "\ud800",
    "\t",
    "\x00",
    "\x7f",
    "\u2028",
)

texts = st.lists(st.sampled_from(CLUSTERS), max_size=30).map("".join)
hostile = st.one_of(
    st.lists(st.sampled_from(CLUSTERS + HOSTILE), max_size=30).map("".join), st.text(max_size=40)
)
cells = st.integers(1, 30)


@given(texts, cells)
def test_wrapped_text_fits_and_only_spaces_are_lost(text: str, room: int) -> None:
    for ranges in (wrap_words(text, room), wrap_hard(text, room, room)):
        assert ranges[0][0] == 0
        for start, end in ranges:
            assert width(text[start:end]) <= room or len(graphemes(text[start:end])) == 1
        for (_, end), (start, _) in pairwise(ranges):
            assert text[end:start] in ("", " ")
        assert text[ranges[-1][1] :].strip() == ""
    assert "".join(text[start:end] for start, end in wrap_hard(text, room, room)) == text


@given(texts)
def test_graphemes_cover_the_text_and_keep_flags_whole(text: str) -> None:
    found = graphemes(text)
    assert "".join(text[start:end] for start, end, _ in found) == text
    assert sum(size for _, _, size in found) == cell_len(text)
    assert all(text[start:end] not in ("🇩", "🇪", "🇫", "🇷") for start, end, _ in found)


@given(texts, st.integers(0, 30))
def test_what_is_cut_fits(text: str, room: int) -> None:
    assert width(fit(text, room)) <= max(room, 0)
    assert width(fit_start(text, room)) <= max(room, 0)
    assert width(pad(text, room)) == room


@given(hostile)
def test_visible_text_is_harmless_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    for index, character in enumerate(shown):
        category = unicodedata.category(character)
        if category == "Cf":  # format characters only where they do their job: emoji joiners, flags' tags
            assert character == "\u200d" or "\U000e0020" <= character <= "\U000e007f", (text, index)
            assert index > 0
        assert category not in ("Cc", "Cs", "Zl", "Zp")
    shown.encode("utf-8")


@given(hostile)
def test_every_shown_character_leads_back_to_its_source(text: str) -> None:
    shown = visible(text)
    places = [source_index(text, index) for index in range(len(shown) + 1)]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] == len(text)


def lines_of(text: str, words: bool) -> list[Line]:
    return [
        TextLine(visible(text), wrap="words" if words else "hard", fill=not words, base=("code",)),
        TextLine(visible(text), wrap="cut"),
        TitleLine(("✓", "ok"), (visible(text[:8]), "tool-name"), (visible(text), "tool"), [(visible(text), "context"), ("1 s", "context")]),
        TitleLine(("", "ok"), ("", "ok"), (visible(text), "tool"), [("1 s", "context")], overflow="wrap"),
        TitleLine(("◆", "ok"), ("", "ok"), (visible(text), "tool"), [(visible(text), "context")], overflow="below"),
    ]  # fmt: skip


@given(hostile, st.integers(8, 130), st.booleans())
def test_every_row_is_exactly_as_wide_as_its_page(text: str, room: int, words: bool) -> None:
    for row in layout(lines_of(text.replace("\n", " "), words), page(room)):
        assert row.strip.cell_length == room
        assert sum(cell_len(segment.text) for segment in row.strip) == room
        assert 0 <= row.used <= room


@given(hostile, st.integers(20, 130))
def test_markdown_of_anything_fits_too(text: str, room: int) -> None:
    source = f"- {text}\n> {text}\n\n| {text} | b |\n|---|---|\n| x | {text} |\n\n```\n{text}\n```"
    for row in layout(markdown_lines(source), page(room)):
        assert sum(cell_len(segment.text) for segment in row.strip) == room
        assert "\x1b" not in row.strip.text


@given(texts, st.integers(0, 40), st.integers(0, 40))
def test_a_style_over_a_row_changes_no_character_and_no_width(text: str, start: int, end: int) -> None:
    (row,) = TextLine(text, wrap="cut").rows(0, page(200))
    over = restyle(row.strip, start, end, Style(reverse=True))
    assert over.text == row.strip.text
    assert sum(cell_len(segment.text) for segment in over) == 200
    marked = sum(cell_len(segment.text) for segment in over if segment.style and segment.style.reverse)
    assert max(end - start, 0) - 2 <= marked <= max(end - start, 0) + 1


@given(texts, st.integers(20, 60))
def test_rows_of_a_line_hold_all_of_it(text: str, room: int) -> None:
    line = TextLine(text, wrap="hard")
    rows = line.rows(0, page(room))
    assert "".join(text[row.start : row.end] for row in rows) == text


@given(st.lists(st.integers(0, 9), max_size=40), st.data())
def test_heights_are_sums(values: list[int], data: st.DataObject) -> None:
    heights = Heights(values[: len(values) // 2])
    for value in values[len(values) // 2 :]:
        heights.append(value)
    for _ in range(data.draw(st.integers(0, 5))):
        if values:
            index = data.draw(st.integers(0, len(values) - 1))
            values[index] = data.draw(st.integers(0, 9))
            heights.set(index, values[index])
    kept = data.draw(st.integers(0, len(values)))
    heights.truncate(kept)
    del values[kept:]
    heights.append(3)
    values.append(3)
    assert heights.total == sum(values)
    for index in range(len(values) + 1):
        assert heights.start(index) == sum(values[:index])
    for row in range(sum(values)):
        index, skip = heights.find(row)
        assert sum(values[:index]) + skip == row
        assert skip < values[index]
