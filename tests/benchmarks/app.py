"""The real app on the paced engine of ``tests.benchmarks.engine``; run in a pseudo-terminal by ``screen.py``."""

from __future__ import annotations

import sys
from pathlib import Path

from tui_agent.engine.launch import Launch
from tui_agent.engine.process import EngineProcess
from tui_agent.ui.app import TuiAgentApp, UiOptions
from tui_agent.ui.settings import Settings
from tui_agent.ui.source import LiveSource


class PacedSource(LiveSource):
    """The live source with another child."""

    async def start(self) -> None:
        self._engine = await EngineProcess.start(self.launch, "tests.benchmarks.engine")


def main() -> None:
    folder = Path(sys.argv[1])
    options = UiOptions(prompt=sys.argv[2] if len(sys.argv) > 2 else "", overrides={"model": "openai/bench"})
    launch = Launch(cwd=str(folder), overrides={"model": "openai/bench"})
    TuiAgentApp(launch, Settings(folder, options), options, source=PacedSource).run()


if __name__ == "__main__":
    main()
