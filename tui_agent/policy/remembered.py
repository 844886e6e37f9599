"""The rules that a person chose to "always" allow, kept per project in a private file outside it."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from tui_agent.config.trust import write_private
from tui_agent.core.errors import ConfigError
from tui_agent.policy.rules import parse_rule

logger = logging.getLogger(__name__)


class Remembered:
    """Rules of one project in the shared file ``path`` (JSON: project folder → rules)."""

    def __init__(self, path: Path, project: Path) -> None:
        self._path, self._project = path, str(project)

    def rules(self) -> tuple[str, ...]:
        """The kept rules that can still be read."""
        return tuple(rule for rule in self._load().get(self._project, ()) if _readable(rule))

    def add(self, rule: str) -> None:
        """Keep a rule; a file that can't be written is logged, the rule then lasts for the session."""
        everything = self._load()
        own = everything.setdefault(self._project, [])
        if rule in own:
            return
        own.append(rule)
        try:
            write_private(self._path, msgspec.json.format(msgspec.json.encode(everything), indent=1))
        except OSError as error:
            logger.warning("the rule %s was not kept: %s", rule, error)

    def _load(self) -> dict[str, list[str]]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, list[str]])
        except (OSError, msgspec.MsgspecError):
            return {}


def _readable(rule: str) -> bool:
    try:
        parse_rule(rule)
    except ConfigError:
        return False
    return True
