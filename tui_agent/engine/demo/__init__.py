"""The demo: a scratch project with a failing test, and a scripted model that mends it with real tools and a real hook."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from pathlib import Path

import msgspec

from tui_agent.config.sections import Config, Hook, Hooks, Permissions
from tui_agent.engine.demo import project, script
from tui_agent.engine.launch import Launch
from tui_agent.llm.api import Model, ModelSpec
from tui_agent.llm.scripted import ScriptedModel

NAME = "demo"
PROMPT = "The test suite fails. Find out why, fix it, and show me that it passes."
"""What the demo asks when nobody asks anything else."""
SPEC = ModelSpec(
    name="demo/script", alias=NAME, window=32_000, max_output=4_000, input_price=0.0, output_price=0.0,
    cached_price=0.0, cache_write_price=0.0, local=True,
)  # fmt: skip
RATE = 45.0
"""Pieces a second: about what a good model streams."""
SPEED_VARIABLE = "TUI_AGENT_DEMO_SPEED"
"""Multiplies ``RATE``; 0 streams as fast as it goes."""


def prepare(parent: Path | None = None) -> Path:
    """Make a fresh scratch project and return its folder."""
    folder = Path(tempfile.mkdtemp(prefix="tui-agent-demo-", dir=parent)).resolve()
    for name, text in project.FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def configured(config: Config) -> Config:
    """The configuration with what the demo needs: its model, its lint hook, and leave to run its own tests."""
    python = shlex.quote(sys.executable)
    lint = Hook(name="lint", command=f"{python} tools/lint.py {{file}}", file_patterns=("*.py",), timeout=20)
    permissions = config.permissions
    allow = (
        *permissions.allow,
        "edit_file",
        "write_file",
        f"run_command({script.TEST_COMMAND} *)",
        f"run_command({script.TEST_COMMAND})",
    )
    return msgspec.structs.replace(
        config,
        model=NAME,
        fallbacks=(),
        moa=(),
        hooks=Hooks(post_edit=(lint,)),
        permissions=Permissions(
            mode=permissions.mode, allow=allow, ask=permissions.ask, deny=permissions.deny
        ),
    )


def model() -> Model:
    """The scripted model at the demo's pace."""
    try:
        speed = float(os.environ.get(SPEED_VARIABLE, "1"))
    except ValueError:
        speed = 1.0
    return ScriptedModel(script.turn, rate=RATE * max(0.0, speed))


def launch(given: Launch) -> Launch:
    """The launch of a demo: on a fresh scratch project, unless it goes on with a session."""
    if given.resume:
        return given
    return msgspec.structs.replace(given, cwd=str(prepare()), demo=True, title="demo")
