"""The effective settings: all of them, with their sources, without a secret."""

from pathlib import Path

import pytest

from tui_agent.config.load import load
from tui_agent.config.report import HIDDEN, Row, effective, hide

TEXT = """\
model: fast
models:
  fast: {name: openai/gpt-5-mini, key_command: "echo sk-abcdefghijklmnop1234"}
  far: {name: openai/x, api_base: "https://me:secret@far.example/v1?token=abc"}
hooks:
  post_edit:
    - {name: lint, command: "TOKEN=abc123 ruff {file}"}
mcp:
  servers:
    web: {command: npx, args: [--api-key, verysecret, "two words"], env: {GITHUB_TOKEN: verysecret}}
"""


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, Row]:
    (tmp_path / "config.yaml").write_text(TEXT)
    loaded = load(
        tmp_path,
        overrides={"limits.max_steps": 9},
        environ={"TUI_AGENT_HOME": str(tmp_path), "TUI_AGENT_UI__THEME": "light"},
    )
    return {row.key: row for row in effective(loaded)}


def test_every_setting_has_its_source(rows: dict[str, Row], tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    assert (rows["model"].value, rows["model"].source) == ("fast", f"{file}:1")
    assert (rows["limits.max_steps"].value, rows["limits.max_steps"].source) == ("9", "flag")
    assert (rows["ui.theme"].value, rows["ui.theme"].source) == ("light", "TUI_AGENT_UI__THEME")
    assert (rows["ui.mouse"].value, rows["ui.mouse"].source) == ("true", "default")
    assert rows["limits.budget_usd"].value == "null"
    assert rows["limits.budget_usd"].variable == "TUI_AGENT_LIMITS__BUDGET_USD"
    assert rows["hooks.post_edit[0].timeout"].value == "10"
    assert rows["hooks.post_edit[0].file_patterns"].value == '["*"]'
    assert rows["models.far.name"].source == f"{file}:4"
    assert rows["limits.timeout"].means


def test_no_secret_is_shown(rows: dict[str, Row]) -> None:
    shown = "\n".join(row.value for row in rows.values())
    for secret in ("sk-abc", "me:secret", "token=abc", "abc123", "verysecret"):
        assert secret not in shown
    assert rows["mcp.servers.web.env.GITHUB_TOKEN"].value == HIDDEN
    assert rows["mcp.servers.web.args"].value == f'[--api-key, {HIDDEN}, "two words"]'
    assert rows["models.far.api_base"].value == f"https://{HIDDEN}@far.example/v1?{HIDDEN}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ruff check {file}", "ruff check {file}"),
        ("pass show openai/key", "pass show openai/key"),
        ("curl -H 'Authorization: Bearer abcdef'", f"curl -H 'Authorization: Bearer {HIDDEN}'"),
        ("x --password=hunter2", f"x --password={HIDDEN}"),
        ("echo ghp_0123456789abcdefghij", f"echo {HIDDEN}"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("http://[", HIDDEN),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
    ],
)
def test_what_is_covered(text: str, shown: str) -> None:
    assert hide(text) == shown
