"""YAML with places: what a value means, where it stands, and what is said of a text that can't be read."""

from pathlib import Path

import pytest

from tui_agent.config.yamlfile import MAX_BYTES, Node, parse, read, resolve, show, visible


def values(node: Node) -> object:
    """Plain values, without places."""
    if isinstance(node.value, dict):
        return {key: values(item) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return [values(item) for item in node.value]
    return node.value


def entry(text: str, *path: str | int) -> Node:
    """The node at a path of keys and indexes."""
    node = parse(text.encode(), "f").root
    for step in path:
        assert node is not None
        if isinstance(step, str):
            assert isinstance(node.value, dict)
            node = node.value[step]
        else:
            assert isinstance(node.value, list)
            node = node.value[step]
    assert node is not None
    return node


def errors(text: str | bytes) -> list[str]:
    return [str(error) for error in parse(text if isinstance(text, bytes) else text.encode(), "f").errors]


def test_keys_and_items_know_their_lines() -> None:
    text = "# a comment\na: 1\nb:\n  - x\n  - c:\n      deep\n\nd: {e: 1,\n    f: 2}\n"
    assert entry(text, "a").line == 2
    assert entry(text, "b").line == 3
    assert entry(text, "b", 0).line == 4
    assert entry(text, "b", 1, "c").line == 5
    assert entry(text, "d", "f").line == 9
    assert entry(text, "d", "f").place == "f:9"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"), ("yes", "yes"), ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("7", 7), ("-3", -3), ("1_000", 1000), ("0x1f", 31), ("007", 7), ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5),
        ("12:30", "12:30"), ("2026-01-01", "2026-01-01"), ("1.2.3", "1.2.3"), ("+", "+"), (".", "."), ("-", "-"),
        ("ten", "ten"), ("9" * 60, 1e60),
    ],
)  # fmt: skip
def test_plain_words_follow_yaml_1_2(text: str, value: object) -> None:
    assert resolve(text) == value
    assert type(resolve(text)) is type(value)


def test_quoted_words_are_text() -> None:
    assert values(entry("a: '5'\nb: \"true\"\nc: !!str 5\n")) == {"a": "5", "b": "true", "c": "5"}


def test_keys_are_text_whatever_they_look_like() -> None:
    assert values(entry("1: a\ntrue: b\nnull: c\n")) == {"1": "a", "true": "b", "null": "c"}


def test_a_key_that_is_there_twice_is_an_error_and_the_first_counts() -> None:
    parsed = parse(b"a: 1\nb: 2\na: 3\n", "f")
    assert parsed.root is not None
    assert values(parsed.root) == {"a": 1, "b": 2}
    assert [str(error) for error in parsed.errors] == ['f:3: the key "a" is there twice (first on line 1)']


def test_anchors_work() -> None:
    assert values(entry("a: &x [1, 2]\nb: *x\n")) == {"a": [1, 2], "b": [1, 2]}


def test_a_nest_of_aliases_costs_nothing() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    assert parse("\n".join(lines).encode(), "f").errors == ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\n\tb: 2\n", 2, "a tab; indent with spaces"),
        ("a: b: c\n", 1, 'a second ":"'),
        ("a: 'x\n\n", 1, "a quote is never closed"),
        ("a: [1,\nb: 2\n", 1, "brackets"),
        ("a: [1,\nb: 2\nc: [", 3, "brackets"),
        ("a: *nope\n", 1, "no anchor has this name"),
        ("a: 1\n---\nb: 2\n", 2, "a second document"),
        ("a: !ruby/object x\n", 1, "the tag !ruby/object is not supported"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, "not supported"),
        ("a: 1\n? [x, y]\n: 2\n", 2, "a key must be text"),
        ("a: &a [*a]\n", 1, "holds itself"),
        ("a: \x1b[31m\n", 1, "control character U+001B"),
        ("\n" + "[" * 60 + "]" * 60, 2, "nested too deep"),
        ("[" * 3000, 1, "nested too deep"),
        ("a: 1\n b: 2\n", 2, "is not valid YAML"),
    ],
)
def test_what_can_not_be_read_is_named_with_its_line(text: str, line: int, words: str) -> None:
    (error, *_) = errors(text)
    assert error.startswith(f"f:{line}: ")
    assert words in error
    assert "\x1b" not in error
    assert "\n" not in error


def test_text_that_is_not_utf_8() -> None:
    assert errors(b"a: 1\nb: \xff\n") == ["f:2: is not UTF-8 text"]


def test_a_byte_order_mark_is_ignored() -> None:
    parsed = parse(b"\xef\xbb\xbfa: 1\n", "f")
    assert parsed.errors == ()
    assert parsed.root is not None
    assert values(parsed.root) == {"a": 1}


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "~\n"])
def test_nothing_is_no_error(text: str) -> None:
    parsed = parse(text.encode(), "f")
    assert parsed.root is None
    assert parsed.errors == ()


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    (missing,) = read(tmp_path / "none.yaml").errors
    assert str(missing) == f"{tmp_path / 'none.yaml'}: can't be read: no such file or directory"
    assert read(tmp_path).errors
    long = tmp_path / "long.yaml"
    long.write_bytes(b"#" * (MAX_BYTES + 1))
    assert "longer than 1 MB" in str(read(long).errors[0])


def test_values_are_shown_short_and_harmless() -> None:
    assert show(Node("ten", text="ten")) == '"ten"'
    assert show(Node(None)) == "nothing"
    assert show(Node(1.5, text="1.50")) == "1.50"
    assert show(Node(True)) == "true"
    assert show(Node([])) == "a list"
    assert show(Node({})) == "a mapping"
    assert show(Node("x" * 99)) == f'"{"x" * 39}…"'
    assert show(Node("a\x1b[2Jb\u202e")) == '"a\\x1b[2Jb\\u202e"'
    assert visible("a\nb\udc80") == "a\\nb\\udc80"
