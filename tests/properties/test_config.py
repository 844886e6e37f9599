"""Any text at all: reading it ends in settings or in a list of errors, each one line that a terminal can show."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.config.given import from_environ, from_flags
from tui_agent.config.load import ConfigErrors, load
from tui_agent.config.reference import ENV_PREFIX, KEYS, leaves
from tui_agent.config.sections import Config
from tui_agent.config.trust import fingerprint, powers
from tui_agent.config.yamlfile import Node, Parsed, parse
from tui_agent.core.errors import ConfigError

WORDS = sorted({part for key in KEYS for part in key.replace("[]", "").split(".")})
ODD = st.sampled_from(
    ["", " ", "off", "1e99", "-0", "\x1b[2J", "\u202e", "💥", "a" * 200, "{file}", "yolo", "ten"]
)

scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), ODD)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
documents = st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=8), values, max_size=6)
fragments = st.lists(
    st.sampled_from([*WORDS, ":", ": ", "\n", "  ", "\t", "- ", "[", "]", "{", "}", "&a ", "*a", "!x ", "'", '"', "|", ">", "#", ",", "?", "%", "---", "<<"]),
    max_size=40,
).map("".join)  # fmt: skip


def load_text(folder: Path, data: bytes) -> Config | tuple[ConfigError, ...]:
    (folder / "config.yaml").write_bytes(data)
    try:
        return load(folder, environ={"TUI_AGENT_HOME": str(folder)}).config
    except ConfigErrors as error:
        return error.errors


def assert_presentable(error: ConfigError, name: str) -> None:
    line = str(error)
    assert line.isprintable()
    assert line.startswith(f"{name}:")
    assert error.line > 0
    assert len(line) < 1000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


@given(st.binary(max_size=200))
def test_any_bytes(folder: Path, data: bytes) -> None:
    result = load_text(folder, data)
    if isinstance(result, tuple):
        for error in result:
            assert_presentable(error, str(folder / "config.yaml"))


@given(fragments | st.text(max_size=100))
def test_any_text(folder: Path, text: str) -> None:
    result = load_text(folder, text.encode("utf-8", "surrogatepass"))
    if isinstance(result, tuple):
        for error in result:
            assert_presentable(error, str(folder / "config.yaml"))


@given(documents)
def test_any_settings(folder: Path, document: dict[str, Any]) -> None:
    result = load_text(folder, yaml.safe_dump(document, allow_unicode=True).encode("utf-8", "surrogatepass"))
    if isinstance(result, tuple):
        assert result
        for error in result:
            assert_presentable(error, str(folder / "config.yaml"))


@given(st.sampled_from([key for key, _, _ in leaves() if "*" not in key and "[" not in key]), values)
def test_any_value_of_a_key(folder: Path, key: str, value: object) -> None:
    first, _, second = key.partition(".")
    document = {first: {second: value}} if second else {first: value}
    result = load_text(folder, yaml.safe_dump(document).encode())
    if isinstance(result, tuple):
        assert result
        for error in result:
            assert_presentable(error, str(folder / "config.yaml"))
            assert error.where.startswith(first)
    else:
        assert msgspec.convert(msgspec.to_builtins(result), Config) == result


@given(
    st.dictionaries(
        st.sampled_from(WORDS).map(str.upper)
        | st.text(st.characters(codec="ascii", exclude_characters="=\0"), max_size=12),
        st.text(max_size=20) | fragments,
        max_size=5,
    )
)
def test_any_environment(variables: dict[str, str]) -> None:
    root, errors, warnings = from_environ({ENV_PREFIX + name: value for name, value in variables.items()})
    assert isinstance(root.value, dict)
    assert all(str(error).isprintable() for error in errors)
    assert all(warning.isprintable() for warning in warnings)


@given(st.dictionaries(st.sampled_from(sorted(KEYS)), values, max_size=4))
def test_any_flags(folder: Path, overrides: dict[str, Any]) -> None:
    from_flags(overrides)
    (folder / "config.yaml").unlink(missing_ok=True)
    try:
        load(folder, overrides=overrides, environ={"TUI_AGENT_HOME": str(folder)})
    except ConfigErrors as error:
        assert all(str(one).isprintable() for one in error.errors)  # noqa: PT017  # not raised each time


@given(fragments | st.text(max_size=60))
def test_a_fingerprint_and_the_powers_of_anything(text: str) -> None:
    parsed = parse(text.encode("utf-8", "surrogatepass"), "f")
    assert len(fingerprint(parsed)) == 64
    assert all(line.isprintable() for line in powers(parsed))


def plain(parsed: Parsed) -> object:
    def walk(node: Node) -> object:
        if isinstance(node.value, dict):
            return {key: walk(item) for key, item in node.value.items()}
        return [walk(item) for item in node.value] if isinstance(node.value, list) else node.value

    return None if parsed.root is None else walk(parsed.root)


@given(documents)
def test_what_json_says_is_read_alike(document: dict[str, Any]) -> None:
    """Every JSON text is YAML; numbers, words and nesting must come out the same."""
    data = msgspec.json.encode(document)
    parsed = parse(data, "f")
    if not parsed.errors:
        assert plain(parsed) == msgspec.json.decode(data)
