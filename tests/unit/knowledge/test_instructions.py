"""AGENTS.md: which files count, in which order, and which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui_agent.knowledge.instructions import MOST_PER_FILE, instructions, repository_root


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """``tmp/repo`` with a folder ``a/b`` in it; an AGENTS.md above it that is nobody's business."""
    (tmp_path / "AGENTS.md").write_text("outside")
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "a" / "b").mkdir(parents=True)
    return root


def test_from_the_users_own_down_to_the_folder(repository: Path, tmp_path: Path) -> None:
    user_dir = tmp_path / "config"
    user_dir.mkdir()
    (user_dir / "AGENTS.md").write_text("\ufeffmine")
    (repository / "AGENTS.md").write_text("root")
    (repository / "a" / "AGENTS.md").write_text(" \n")
    (repository / "a" / "b" / "AGENTS.md").write_text("deep")
    found = instructions(repository / "a" / "b", user_dir)
    assert found.parts == (("AGENTS.md (user)", "mine"), ("AGENTS.md", "root"), ("a/b/AGENTS.md", "deep"))
    assert found.skipped == ()
    assert [name for name, _ in instructions(repository).parts] == ["AGENTS.md"]


def test_without_a_repository_only_the_folder_counts(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("above")
    folder = tmp_path / "plain"
    folder.mkdir()
    assert instructions(folder).parts == ()
    assert repository_root(folder) == folder


def test_a_worktree_is_a_repository(repository: Path) -> None:
    tree = repository / "a"
    (tree / ".git").write_text("gitdir: elsewhere")
    assert repository_root(tree / "b") == tree


def test_a_link_out_of_the_repository_is_refused_but_not_one_inside(repository: Path, tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("secret")
    (repository / "AGENTS.md").symlink_to(secret)
    (repository / "a" / "notes.md").write_text("inside")
    (repository / "a" / "AGENTS.md").symlink_to("notes.md")
    found = instructions(repository / "a")
    assert found.parts == (("a/AGENTS.md", "inside"),)
    ((path, why),) = found.skipped
    assert path == repository / "AGENTS.md"
    assert "outside" in why


def test_the_users_own_may_be_a_link(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "dotfiles.md").write_text("mine")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "AGENTS.md").symlink_to(tmp_path / "dotfiles.md")
    assert instructions(repository, tmp_path / "config").parts == (("AGENTS.md (user)", "mine"),)


def test_a_long_file_is_cut_at_a_line_end(repository: Path) -> None:
    (repository / "AGENTS.md").write_text("0123456789\n" * 5000)
    ((_, text),) = instructions(repository).parts
    assert len(text) <= MOST_PER_FILE + 50
    assert text.endswith("0123456789\n[… cut after 32 KB …]\n")


def test_too_much_altogether_leaves_out_the_most_general(repository: Path) -> None:
    for folder in (repository, repository / "a", repository / "a" / "b"):
        (folder / "AGENTS.md").write_text("x" * 30_000)
    found = instructions(repository / "a" / "b")
    assert [name for name, _ in found.parts] == ["a/AGENTS.md", "a/b/AGENTS.md"]
    assert [path for path, _ in found.skipped] == [repository / "AGENTS.md"]


def test_what_is_no_file_is_ignored_and_bytes_that_are_no_text_are_replaced(repository: Path) -> None:
    os.mkfifo(repository / "AGENTS.md")
    (repository / "a" / "AGENTS.md").mkdir()
    (repository / "a" / "b" / "AGENTS.md").write_bytes(b"caf\xe9")
    assert instructions(repository / "a" / "b").parts == (("a/b/AGENTS.md", "caf\ufffd"),)
