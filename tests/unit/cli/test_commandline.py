"""What the command line says to mistakes, and what it finds out before a session starts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tui_agent.cli import main
from tui_agent.config.paths import Paths


@dataclass
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*words: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        out, err = capsys.readouterr()
        return Said(int(ended.value.code or 0), out, err)

    return run


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["sessionz", "list"], "Did you mean the command 'sessions'?"),
        (["--versionn"], "Did you mean --version?"),
        (["--demoo"], "'--demo'"),
        (["--max-steps", "3", "run", "hi"], "Options come after the command: tui-agent run …"),
    ],
)
def test_a_misspelt_command_line_names_what_was_meant_and_no_hidden_command(
    call: Call, words: list[str], hint: str
) -> None:
    said = call(*words)
    assert (said.code, said.out) == (3, "")
    assert hint in said.err
    assert said.err.startswith("tui-agent: ")
    assert "tui-agent open" not in said.err


def test_config_names_the_file_to_write_even_when_there_is_none(call: Call) -> None:
    file = Paths.from_environ().config_file
    assert f"# {file}: not there\n" in call("config").out
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mode: plan\n")
    assert f"# {file}\n" in call("config").out


def test_config_says_that_the_file_of_an_untrusted_folder_is_left_out(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".tui-agent").mkdir()
    own = tmp_path / ".tui-agent" / "config.yaml"
    own.write_text("mode: plan\n")
    monkeypatch.chdir(tmp_path)
    assert f"# {own}: left out, the folder is not trusted\n" in call("config").out


def test_a_home_that_cannot_be_written_is_one_line(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the place of the folder: not even a superuser can write there."""
    (tmp_path / "file").write_text("")
    home = tmp_path / "file" / "home"
    monkeypatch.setenv("TUI_AGENT_HOME", str(home))
    said = call("run", "--demo", "hi")
    assert (said.code, said.out) == (3, "")
    assert said.err.count("\n") == 1
    assert str(home) in said.err
    assert "TUI_AGENT_HOME" in said.err


def test_doctor_tries_to_write_where_sessions_are_kept(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path / "file" / "home"))
    said = call("doctor")
    assert said.code == 1
    assert f"{tmp_path / 'file'} can't be written" in said.out


@pytest.mark.parametrize("words", [["run", "--demo", "hi"], ["sessions"], ["config"], ["models"]])
def test_a_folder_that_is_gone_is_one_line(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    said = call(*words)
    assert (said.code, said.out) == (3, "")
    assert said.err == "tui-agent: the folder it was started in is gone: cd to one that is there.\n"
