"""What is asked before the engine starts: whether to trust the project's own settings, and which model to use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui_agent.config.trust import Trust, powers
from tui_agent.config.yamlfile import Parsed
from tui_agent.engine import demo
from tui_agent.ui import screens

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp
    from tui_agent.ui.screens.start import Start


class Opening:
    """The questions of a start. They change the app's launch and its settings, nothing else."""

    def __init__(self, app: TuiAgentApp) -> None:
        self.app = app

    async def ask_trust(self) -> None:
        """The project's settings can run commands: a person says yes first."""
        loaded = self.app.settings.loaded
        settings, folder = loaded.project_settings, loaded.project
        if not loaded.untrusted_project or folder is None or loaded.trust == "refused":
            return
        if settings is None or not (powers(settings) or settings.data.strip()):
            return
        trusted = await self.app.push_screen_wait(screens.start.TrustScreen(self.app, loaded))
        self._answer_trust(folder, settings, trusted=trusted)

    def _answer_trust(self, folder: Path, settings: Parsed, *, trusted: bool) -> None:
        trust = Trust(self.app.settings.loaded.paths.trust_file)
        try:
            (trust.trust if trusted else trust.refuse)(folder, settings)
        except OSError as error:
            self.app.main.say(f"the answer could not be kept: {error}")
        if trusted:
            self.app.apply({"config", "theme", "keys"})

    async def ask_model(self) -> None:
        """Unless a model is configured, or a session brings its own."""
        launch = self.app.launch
        if launch.demo or launch.resume or self.app.options.pick_session or self.app.names_model:
            return
        choice = await self.app.push_screen_wait(screens.start.StartScreen(self.app))
        if choice is None:
            self.app.main.say("no model is chosen: f3 chooses one")
        else:
            self._begin_with(choice.value)

    def _begin_with(self, start: Start) -> None:
        """Begin with what was chosen."""
        app = self.app
        if start.demo:
            app.launch = msgspec.structs.replace(app.launch, demo=True, cwd=str(demo.prepare()))
            if not app.options.prompt and app.main.composer.is_empty:
                app.main.composer.set_text(demo.PROMPT)
        elif start.browse:
            app.models.choose(app.main, query=f"{start.browse}/")
        else:
            overrides = {**app.launch.overrides, **start.overrides}
            app.launch = msgspec.structs.replace(app.launch, overrides=overrides)
