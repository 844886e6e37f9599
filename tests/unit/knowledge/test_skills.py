"""Skills: which are found, which are wrong and where, which match."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_agent.knowledge.skills import Skill, find, matching


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def skill(name: str, description: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nHow to {name}.\n"


def test_the_later_folder_wins_and_names_are_sorted(tmp_path: Path) -> None:
    write(tmp_path / "mine", "release", skill("release", "make a release"))
    write(tmp_path / "mine", "docs", skill("docs", "write documentation"))
    project = write(tmp_path / "project", "release", skill("release", "our release"))
    found, wrong = find([tmp_path / "mine", tmp_path / "project", tmp_path / "gone"])
    assert [each.name for each in found] == ["docs", "release"]
    assert found[1] == Skill("release", "our release", "How to release.", project)
    assert wrong == []


def test_the_name_may_come_from_the_folder(tmp_path: Path) -> None:
    write(tmp_path, "deploy", "---\ndescription: >\n  ship it\n  to production\n---\r\nSteps")
    assert [(each.name, each.description, each.text) for each in find([tmp_path])[0]] == [
        ("deploy", "ship it to production", "Steps")
    ]


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("no head", ":1:", "has no frontmatter"),
        ("---\nname: x\n---\n", ":1:", "name and description must be text"),
        ("---\nname: [1]\ndescription: x\n---\n", ":1:", "name and description must be text"),
        ("---\n- a\n---\n", ":1:", "name and description must be text"),
        ("---\nname: x\ndescription: 'open\n---\n", ":3:", "not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, text: str, where: str, what: str) -> None:
    path = write(tmp_path, "bad", text)
    write(tmp_path, "good", skill("good", "fine and dandy"))
    found, (error,) = find([tmp_path])
    assert [each.name for each in found] == ["good"]
    assert what in str(error)
    assert str(error).startswith(f"{path}{where}") or "not YAML" in what


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    target = write(tmp_path / "elsewhere", "x", skill("x", "a secret thing"))
    (tmp_path / "skills" / "x").mkdir(parents=True)
    (tmp_path / "skills" / "x" / "SKILL.md").symlink_to(target)
    found, (error,) = find([tmp_path / "skills"])
    assert found == []
    assert "link" in str(error)


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        ("please make a release", ["release"]),
        ("write database migrations for the users table", ["migrate"]),
        ("Release it and write the migration of the database", ["release", "migrate"]),
        ("fix the flaky retry test", []),
        ("releases are hard", []),
        ("", []),
    ],
)
def test_matching(request_: str, names: list[str]) -> None:
    skills = [
        Skill("migrate", "writing migrations of a database", "", Path("a")),
        Skill("release", "tagging, changelog, upload", "", Path("b")),
    ]
    assert [each.name for each in matching(skills, request_)] == names
    assert len(matching(skills, request_, most=1)) <= 1
