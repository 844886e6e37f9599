"""The reference covers every key, and the page in docs/ says the same."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from tui_agent.config.nearest import did_you_mean, nearest
from tui_agent.config.reference import FLAGS, KEYS, env_name, leaves, short_env_name

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")
LEAVES = {key: (kind, default) for key, kind, default in leaves()}


def row(key: str) -> list[str]:
    """The cells of a key's row in the page."""
    name = key.replace("*", "NAME")
    (line,) = [
        line for line in PAGE.splitlines() if line.startswith(f"| `{name}` | ") and line.count(" | ") > 2
    ]
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def spelled(default: object) -> str:
    """A default as the page writes it."""
    if default is msgspec.NODEFAULT:
        return "required"
    if isinstance(default, tuple):
        return f"`{json.dumps(default)}`"
    if isinstance(default, float):
        return f"`{default:g}`"
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


@pytest.mark.parametrize("key", LEAVES)
def test_every_key_is_explained(key: str) -> None:
    assert KEYS[key].means
    assert KEYS[key].what


def test_nothing_else_is() -> None:
    above = {key.rpartition(".")[0] for key in LEAVES}
    inside = {key + mark for key in LEAVES for mark in (".*", "[]")}
    sections = {key.partition(".")[0] for key in LEAVES}
    assert set(KEYS) - set(LEAVES) - above - inside - sections == set()


@pytest.mark.parametrize("key", LEAVES)
def test_the_page_says_what_the_reference_says(key: str) -> None:
    kind, default = LEAVES[key]
    cells = row(key)
    assert cells[1] == KEYS[key].means
    for choice in kind.choices:
        assert f"`{choice}`" in cells[2]
    assert KEYS[key].bounds in cells[2]
    assert cells[3] == spelled(default)
    if "*" not in key and "[" not in key:
        assert cells[4] == f"`{env_name(key)}`"


@pytest.mark.parametrize("key", FLAGS)
def test_the_page_knows_every_option(key: str) -> None:
    assert f"| `{FLAGS[key]}` | `{key}` | `{short_env_name(key)}` |" in PAGE


def test_no_two_variables_have_one_name() -> None:
    names = [env_name(key) for key in LEAVES if "*" not in key and "[" not in key]
    short = [short_env_name(key) for key in FLAGS]
    assert len(names) == len(set(names))
    assert len(short) == len(set(short))
    for key in FLAGS:
        assert short_env_name(key) == env_name(key) or short_env_name(key) not in names


@pytest.mark.parametrize(
    ("word", "found"),
    [("modle", "model"), ("model_s", "models"), ("MODEL", "model"), ("fallback", "fallbacks"), ("mod", "mode"), ("zzz", ""), ("", "")],
)  # fmt: skip
def test_the_nearest_name(word: str, found: str) -> None:
    assert nearest(word, ["model", "models", "mode", "fallbacks", "limits"]) == found


def test_nothing_near_says_nothing() -> None:
    assert did_you_mean("zzz", ["model"]) == ""
    assert did_you_mean("modl", ["model"]) == '; did you mean "model"?'
