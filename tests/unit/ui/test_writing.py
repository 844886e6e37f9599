"""Small pure parts of the composer and the rows: words, pastes, drafts, history, commands, completions."""

from pathlib import Path

import pytest

from tui_agent.ui import commands, completing, words
from tui_agent.ui.drafts import Draft, DraftFile, History
from tui_agent.ui.pastes import FOLD_CHARACTERS, Pastes, must_fold, normalise

# ---- words


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0, "$0.00"),
        (0.04, "$0.04"),
        (0.09, "$0.09"),
        (0.314, "$0.31"),
        (3.1, "$3.10"),
        (0.0042, "$0.0042"),
        (1234.5, "$1,234.50"),
    ],
)
def test_money(usd: float, text: str) -> None:
    assert words.money(usd) == text


@pytest.mark.parametrize(
    ("known", "unknown", "text"), [(0.0, 0, "$0.00"), (0.0, 2, "$?"), (0.5, 1, "$0.50+$?")]
)
def test_a_price_that_is_not_known(known: float, unknown: int, text: str) -> None:
    assert words.cost(known, unknown) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (0.4, "0.4 s"),
        (9.94, "9.9 s"),
        (14, "14 s"),
        (59.6, "1 m 00 s"),
        (123, "2 m 03 s"),
        (3900, "1 h 05 m"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert words.seconds(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(812, "812"), (8_600, "8.6k"), (86_214, "86k"), (999_900, "1.0M"), (1_240_000, "1.2M")],
)
def test_tokens(count: int, text: str) -> None:
    assert words.tokens(count) == text


def test_first_line_and_counts() -> None:
    assert words.first_line("\n  one two  \nthree", 20) == "one two"
    assert words.first_line("abcdefgh", 5) == "abcd…"
    assert words.count(1, "step") == "1 step"
    assert words.count(1200, "step") == "1,200 steps"
    assert words.model_label("openrouter/anthropic/claude") == "claude"


# ---- pastes


def test_what_is_folded() -> None:
    assert not must_fold("a line\nand another\twith a tab and 日本 👩‍👩‍👧‍👦")
    assert must_fold("x" * (FOLD_CHARACTERS + 1))
    assert must_fold("\n" * 12)
    assert must_fold("a\x1b[2Jb")
    assert must_fold("a\u202eb")


def test_folded_texts_come_back_whole_and_unknown_tokens_stay() -> None:
    pastes = Pastes()
    token = pastes.fold("one\ntwo")
    assert pastes.expand(f"<{token}>") == "<one\ntwo>"
    assert pastes.expand("[pasted #9: 1 line, 0.0 kB]") == "[pasted #9: 1 line, 0.0 kB]"
    assert pastes.tokens(f"a{token}") == [(1, 1 + len(token), "one\ntwo")]
    other = Pastes()
    other.restore(pastes.used(token))
    assert other.expand(token) == "one\ntwo"
    assert other.fold("three") != token


def test_line_ends() -> None:
    assert normalise("a\r\nb\rc\nd") == "a\nb\nc\nd"


def test_images_go_only_if_they_are_still_named() -> None:
    pastes = Pastes()
    one, two = pastes.keep_image("image/png", "AA"), pastes.keep_image("image/png", "BB")
    assert pastes.images(f"look {two}") == (("image/png", "BB"),)
    assert pastes.images(f"{one}{two}") == (("image/png", "AA"), ("image/png", "BB"))


# ---- drafts and history


def test_a_draft_round_trip_and_an_empty_one_removes_the_file(tmp_path: Path) -> None:
    file = DraftFile(tmp_path / "drafts", Path("/src"))
    assert file.load() == Draft()
    draft = Draft("text \ud83d", {"1": "paste"})
    file.save(Draft("text", {"1": "paste"}))
    assert DraftFile(tmp_path / "drafts", Path("/src")).load() == Draft("text", {"1": "paste"})
    assert DraftFile(tmp_path / "drafts", Path("/other")).load() == Draft()
    file.save(draft)
    file.save(Draft())
    assert not file.path.exists()
    assert list(file.path.parent.iterdir()) == []


def test_a_disk_that_refuses_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "drafts").write_text("a file where the folder should be")
    DraftFile(tmp_path / "drafts", Path("/src")).save(Draft("text"))
    history = History(tmp_path / "drafts" / "history")
    history.load()
    history.add("sent")
    assert history.items == ["sent"]


def test_history_is_kept_without_repeats_and_broken_lines(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history = History(path)
    for text in ("one", "two", "two", "  ", "three\nlines"):
        history.add(text)
    with path.open("a") as file:
        file.write('not json\n{"a": 1}\n')
    again = History(path)
    again.load()
    assert again.items == ["one", "two", "three\nlines"]
    assert path.stat().st_mode & 0o777 == 0o600


# ---- commands and completions


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/model", ("model", "")), ("/model x y", ("model", "x y")), ("/Model x", ("model", "x")), ("/etc/hosts", None),
        ("/", None), ("no", None), ("/a\nb", None), ("/compact keep\n", ("compact", "keep")),
    ],
)  # fmt: skip
def test_what_is_a_command(text: str, parsed: tuple[str, str] | None) -> None:
    assert commands.parse(text) == parsed


def test_commands_have_unique_names_and_words() -> None:
    names = [command.name for command in commands.COMMANDS]
    assert len(set(names)) == len(names)
    assert all(command.what for command in commands.COMMANDS)


@pytest.mark.parametrize(
    ("line", "column", "kind", "query"),
    [
        ("/mo", 3, "command", "mo"), ("/model gp", 9, "model", "gp"), ("see @src/re", 11, "path", "src/re"), ("@", 1, "path", ""),
        ("a@b.c", 5, "", ""), ("/etc/hosts", 10, "", ""), ("plain", 5, "", ""), ("see @a and more", 6, "path", "a"),
    ],
)  # fmt: skip
def test_what_is_completed(line: str, column: int, kind: str, query: str) -> None:
    wanted = completing.wanted(line, column, first_row=True)
    assert (wanted.kind, wanted.query) == (kind, query) if wanted else kind == ""


def test_the_name_counts_more_than_the_folders() -> None:
    paths = ["retry/other.py", "src/mailer/retry.py", "docs/retry.md", "zzz.txt"]
    assert completing.best("retry", paths, 3) == ["docs/retry.md", "src/mailer/retry.py", "retry/other.py"]
    assert completing.best("rtry", paths, 1)[0] in paths[:3]
    assert completing.best("", paths, 2) == ["zzz.txt", "docs/retry.md"]
