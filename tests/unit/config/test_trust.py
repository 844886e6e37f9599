"""Trust: asked once, asked again when the settings could do something else, kept in a private file."""

import stat
from pathlib import Path

import pytest

from tui_agent.config.trust import Trust, fingerprint, powers, write_private
from tui_agent.config.yamlfile import parse

HOOK = b"hooks:\n  post_edit:\n    - {name: lint, command: 'ruff check {file}'}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "code" / ".tui-agent"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_bytes(HOOK)
    return folder


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return Trust(tmp_path / "state" / "trust.json")


def test_answers_are_kept_and_can_be_taken_back(folder: Path, trust: Trust, tmp_path: Path) -> None:
    assert trust.state(folder) == "unknown"
    trust.trust(folder)
    assert Trust(tmp_path / "state" / "trust.json").state(folder) == "trusted"
    trust.refuse(folder)
    assert trust.state(folder) == "refused"
    trust.forget(folder)
    assert trust.state(folder) == "unknown"


def test_the_file_is_private_and_nothing_else_is_left(folder: Path, trust: Trust, tmp_path: Path) -> None:
    trust.trust(folder)
    file = tmp_path / "state" / "trust.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    "text",
    [
        HOOK.replace(b"ruff", b"curl"),
        HOOK + b"model: other/x\n",
        HOOK + b"mcp: {servers: {s: {command: x}}}\n",
        HOOK + b"permissions: {mode: yolo}\n",
        HOOK + b"models: {a: {name: x/y, key_command: x}}\n",
        HOOK + b"{broken",
        b"",
    ],
)
def test_a_change_that_can_do_something_asks_again(folder: Path, trust: Trust, text: bytes) -> None:
    trust.trust(folder)
    (folder / "config.yaml").write_bytes(text)
    assert trust.state(folder) == "changed"


@pytest.mark.parametrize(
    "text",
    [
        b"# a comment\n\n" + HOOK,
        b'"hooks": {post_edit: [{command: "ruff check {file}", name: lint}]}\n',
        HOOK + b"ui: {theme: light}\nself_eval: full\n",
    ],
)
def test_spelling_and_looks_do_not(folder: Path, trust: Trust, text: bytes) -> None:
    trust.trust(folder)
    (folder / "config.yaml").write_bytes(text)
    assert trust.state(folder) == "trusted"


def test_settings_that_were_read_already_are_not_read_again(folder: Path, trust: Trust) -> None:
    """What is judged must be what is used, even if the file changes in between."""
    trust.trust(folder)
    harmful = parse(HOOK.replace(b"ruff", b"curl"), "f")
    assert trust.state(folder, harmful) == "changed"
    assert trust.state(folder, parse(HOOK, "f")) == "trusted"


def test_a_refusal_holds_for_these_settings_only(folder: Path, trust: Trust) -> None:
    trust.refuse(folder)
    (folder / "config.yaml").write_bytes(b"model: a/b\n")
    assert trust.state(folder) == "unknown"


def test_a_link_that_is_turned_elsewhere_is_another_folder(
    folder: Path, trust: Trust, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder.parent)
    trust.trust(link / ".tui-agent")
    assert trust.state(folder) == "trusted"
    other = tmp_path / "other"
    other.mkdir()
    (other / ".tui-agent").mkdir()
    (other / ".tui-agent" / "config.yaml").write_bytes(HOOK)
    link.unlink()
    link.symlink_to(other)
    assert trust.state(link / ".tui-agent") == "unknown"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1, "folders": {"x": 5}}', "\xff"])
def test_a_file_that_can_not_be_read_trusts_nobody(folder: Path, tmp_path: Path, content: str) -> None:
    file = tmp_path / "trust.json"
    file.write_text(content, encoding="latin-1")
    trust = Trust(file)
    assert trust.state(folder) == "unknown"
    trust.trust(folder)
    assert trust.state(folder) == "trusted"


def test_numbers_and_text_have_different_fingerprints() -> None:
    assert fingerprint(parse(b"a: 5", "f")) != fingerprint(parse(b"a: '5'", "f"))


def test_what_a_person_is_asked_to_trust() -> None:
    text = b"""
hooks: {post_edit: [{name: lint, command: "ruff \\e[2J{file}"}]}
mcp: {servers: {web: {command: npx, args: [-y, server]}, far: {url: "http://far"}}}
models: {m: {name: x/y, api_base: "http://elsewhere", key_command: "cat key"}}
permissions: {mode: yolo, allow: ["run_command(*)"]}
"""
    assert powers(parse(text, "f")) == [
        "after edits runs: ruff \\x1b[2J{file}",
        "tools from web: npx -y server",
        "tools from far: http://far",
        "key of m from: cat key",
        "sends m to: http://elsewhere",
        "allows without asking: run_command(*)",
        "confirm mode: yolo",
    ]


@pytest.mark.parametrize("text", [b"", b"- a", b"hooks: 5\nmcp: [a]\nmodels: {a: b}\npermissions:", b"{"])
def test_odd_settings_have_no_powers(text: bytes) -> None:
    assert powers(parse(text, "f")) == []


def test_a_failed_write_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x"
    write_private(file, b"old")

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_private(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
