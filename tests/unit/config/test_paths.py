"""Places: one folder on request, the platform's otherwise; the project and its own folder; what ships with the program."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tui_agent.config import assets
from tui_agent.config.paths import Paths, project_folder, project_root


def test_one_folder_holds_everything(tmp_path: Path) -> None:
    paths = Paths.from_environ({"TUI_AGENT_HOME": str(tmp_path / "one")})
    assert paths.config_file == tmp_path / "one" / "config.yaml"
    assert paths.sessions_dir == tmp_path / "one" / "sessions"
    assert paths.log_file == tmp_path / "one" / "log.jsonl"
    assert paths.trust_file.parent == tmp_path / "one"
    assert not (tmp_path / "one").exists()


def test_home_may_be_relative_or_begin_with_a_tilde(home: Path, tmp_path: Path) -> None:
    assert Paths.from_environ({"TUI_AGENT_HOME": "~/x"}).config_dir == home / "x"
    assert Paths.from_environ({"TUI_AGENT_HOME": "x/../y"}).config_dir == Path.cwd() / "y"


def test_the_environment_that_was_given_counts(tmp_path: Path) -> None:
    environ = {
        "XDG_CONFIG_HOME": str(tmp_path / "c"),
        "XDG_DATA_HOME": str(tmp_path / "d"),
        "XDG_STATE_HOME": "relative",
    }
    paths = Paths.from_environ(environ)
    assert paths.config_dir == tmp_path / "c" / "tui-agent"
    assert paths.data_dir == tmp_path / "d" / "tui-agent"
    assert paths.state_dir.is_absolute()


def test_the_platforms_folders(home: Path) -> None:
    paths = Paths.from_environ({})
    assert paths.config_dir.is_relative_to(home)
    assert paths.config_dir.name == "tui-agent"
    assert len({paths.config_dir, paths.data_dir, paths.state_dir}) in (1, 3)


def test_the_root_of_a_project(tmp_path: Path) -> None:
    deep = tmp_path / "repo" / "a" / "b"
    deep.mkdir(parents=True)
    assert project_root(deep) == deep
    (tmp_path / "repo" / ".git").write_text("gitdir: elsewhere")
    assert project_root(deep) == tmp_path / "repo"


def test_a_repository_round_the_whole_home_is_no_project(home: Path) -> None:
    (home / ".git").mkdir()
    inside = home / "project"
    assert project_root(inside) == inside
    assert project_root(home) == home


def test_the_projects_folder_is_looked_for_up_to_its_root(tmp_path: Path) -> None:
    deep = tmp_path / "repo" / "a"
    deep.mkdir(parents=True)
    (tmp_path / ".tui-agent").mkdir()
    (tmp_path / "repo" / ".git").mkdir()
    assert project_folder(deep) is None
    (tmp_path / "repo" / ".tui-agent").mkdir()
    assert project_folder(deep) == tmp_path / "repo" / ".tui-agent"
    (deep / ".tui-agent").mkdir()
    assert project_folder(deep) == deep / ".tui-agent"


def test_the_users_own_folder_is_no_projects(tmp_path: Path) -> None:
    own = tmp_path / ".tui-agent"
    own.mkdir()
    assert project_folder(tmp_path, Paths(own, own, own)) is None


def test_assets_of_a_checkout() -> None:
    assert (assets.themes_dir() / "dark.yaml").is_file()
    assert assets.keybindings_file().is_file()


def test_assets_of_an_installed_package(tmp_path: Path) -> None:
    """The package is copied to where there is no checkout round it, with its assets as the wheel has them."""
    package = tmp_path / "lib" / "tui_agent"
    source = Path(assets.__file__).parent.parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "_assets" / "themes").mkdir(parents=True)
    (package / "_assets" / "keybindings.yaml").touch()
    (package.parent / "themes").mkdir()  # another package's
    (package.parent / "keybindings.yaml").touch()
    done = subprocess.run(
        [sys.executable, "-c", "from tui_agent.config import assets; print(assets.themes_dir(), assets.keybindings_file())"],
        cwd=package.parent, env={"PYTHONPATH": str(package.parent)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [
        str(package / "_assets" / "themes"),
        str(package / "_assets" / "keybindings.yaml"),
    ]


@pytest.mark.parametrize("name", ["dark.yaml", "light.yaml", "plain.yaml", "ansi.yaml"])
def test_themes_that_are_chosen_by_themselves_are_there(name: str) -> None:
    assert (assets.themes_dir() / name).is_file()
