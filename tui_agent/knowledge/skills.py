"""Skills: SKILL.md files whose text joins the system prompt when a request is about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import yaml

from tui_agent.core.errors import ConfigError

MOST = 32_768
"""Bytes of a skill that are read."""

_WORD = re.compile(r"\w{3,}")
_COMMON = frozenset(
    _WORD.findall(
        "the and for with this that when use uses using from into your you are how what which not all any can add new "
        "file files code project please make los las una para con por que del como este esta usa cuando"
    )
)


class Skill(msgspec.Struct, frozen=True):
    """A skill: what it is called, when it is of use, what it says, where it lies."""

    name: str
    description: str
    text: str
    path: Path


def find(folders: Iterable[Path]) -> tuple[list[Skill], list[ConfigError]]:
    """Every ``*/SKILL.md`` below the folders, by name, and what is wrong with those left out.

    Of two skills with one name the later folder's counts, so name the user's folder first and then, if it is trusted,
    the project's.
    """
    skills: dict[str, Skill] = {}
    wrong: list[ConfigError] = []
    for folder in folders:
        home = folder.resolve()
        for path in sorted(folder.glob("*/SKILL.md")):
            try:
                if not path.resolve().is_relative_to(home):
                    raise ConfigError(f"is a link out of {home}", file=str(path))
                skill = _read(path)
            except ConfigError as error:
                wrong.append(error)
            else:
                skills[skill.name] = skill
    return [skills[name] for name in sorted(skills)], wrong


def matching(skills: Sequence[Skill], request: str, most: int = 3) -> list[Skill]:
    """The skills that a request is about, best first: those it names, then those that share at least two words."""
    asked = _words(request)
    scored: list[tuple[int, str, Skill]] = []
    for skill in skills:
        named = re.search(rf"(?<![\w-]){re.escape(skill.name)}(?![\w-])", request, re.IGNORECASE) is not None
        shared = len(asked & _words(f"{skill.name} {skill.description}"))
        if named or shared >= 2:
            scored.append((-shared - 100 * named, skill.name, skill))
    return [skill for _, _, skill in sorted(scored, key=lambda row: row[:2])[:most]]


def _words(text: str) -> set[str]:
    """Words that tell texts apart, without their most common endings."""
    return {re.sub(r"(ing|es|s)$", "", word) for word in _WORD.findall(text.lower()) if word not in _COMMON}


def _read(path: Path) -> Skill:
    """Parse one file; raises ``ConfigError``."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST).decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    except OSError as error:
        raise ConfigError(error.strerror or str(error), file=str(path)) from error
    head = re.match(r"---[ \t]*\n(.*?\n)---[ \t]*(?:\n|$)", text, re.DOTALL)
    if head is None:
        raise ConfigError("has no frontmatter (--- name: …, description: … ---)", file=str(path), line=1)
    try:
        raw: object = yaml.safe_load(head[1])
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 1
        raise ConfigError(
            f"not YAML: {getattr(error, 'problem', error)}", file=str(path), line=line
        ) from error
    values = cast("dict[Any, Any]", raw) if isinstance(raw, dict) else {}
    name, description = values.get("name") or path.parent.name, values.get("description")
    if not isinstance(name, str) or not isinstance(description, str) or not description.strip():
        raise ConfigError("name and description must be text", file=str(path), line=1)
    return Skill(name.strip(), " ".join(description.split()), text[head.end() :].strip(), path)
