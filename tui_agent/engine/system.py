"""The system prompt of a run: what is read from disk for it, and what had to be left out."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from pathlib import Path

from tui_agent.context.build import build_system, project_tree
from tui_agent.core.events import Mode
from tui_agent.engine.kit import SystemPrompt
from tui_agent.engine.world import World
from tui_agent.knowledge import skills
from tui_agent.knowledge.instructions import instructions
from tui_agent.llm import tokens
from tui_agent.llm.api import ModelSpec


class SystemRenderer:
    """Builds the prompt from AGENTS.md files, matching skills and the project tree; called in a thread, as it reads files.

    ``skill_folders``: the user's first, then the project's if it is trusted.
    """

    def __init__(self, world: World, config_dir: Path, skill_folders: Sequence[Path]) -> None:
        self._world, self._config_dir, self._skill_folders = world, config_dir, skill_folders

    def __call__(self, spec: ModelSpec, mode: Mode, request: str) -> SystemPrompt:
        cwd = self._world.cwd
        files = instructions(cwd, self._config_dir)
        known, wrong = skills.find(self._skill_folders)
        prompt = build_system(
            tree=project_tree(cwd),
            instructions=files.parts,
            skills=[(skill.name, skill.text) for skill in skills.matching(known, request)],
            model=spec.name,
            cwd=str(cwd),
            date=time.strftime("%Y-%m-%d", time.localtime(self._world.now())),
            system=f"{platform.system()} {platform.release()}",
            mode=mode,
        )
        notes = (
            *(f"{path} was left out: {why}" for path, why in files.skipped),
            *(str(error) for error in wrong),
        )
        return SystemPrompt(
            prompt.text, tuple((name, tokens.count_text(text)) for name, text in prompt.parts), notes
        )
