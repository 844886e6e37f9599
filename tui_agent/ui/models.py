"""Which models can be chosen: aliases, the price list, servers on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.core.commands import SetModel
from tui_agent.core.errors import ConfigError
from tui_agent.llm import catalog, credentials, local
from tui_agent.llm.catalog import KnownModel
from tui_agent.ui import words
from tui_agent.ui.screens.picker import Choice, Item, PickerScreen
from tui_agent.ui.screens.start import FIRST_CHOICE

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp
    from tui_agent.ui.screens.session import SessionScreen


class ModelList:
    """Answers from the config and from the file of prices, without importing litellm."""

    def __init__(self, app: TuiAgentApp) -> None:
        self.app = app

    def names(self) -> list[tuple[str, str]]:
        """Every name with a note, aliases first."""
        aliases = [(alias, entry.name) for alias, entry in self.app.config.models.items()]
        return [*aliases, *((model.name, _note(model)) for model in catalog.known())]

    def unknown(self, name: str) -> str:
        """Why a name can't be a model, empty if it can."""
        try:
            catalog.resolve(name, self.app.config)
        except ConfigError as error:
            return str(error)
        return ""

    def choose(self, screen: SessionScreen, query: str = "", then: Callable[[], None] | None = None) -> None:
        """F3: type a part of a name. ``then`` follows a choice."""
        marked = screen.view.meters.model or None
        picker = ModelScreen(self.app, self._items(), marked=marked, query=query)

        def chosen(choice: Choice[str] | None) -> None:
            screen.overlay_gone()
            if choice is None:
                return
            if why := self.unknown(choice.value):
                screen.say(why)
            else:
                screen.send(SetModel(model=choice.value))
                if then is not None:
                    then()

        self.app.push_screen(picker, chosen)

    def _items(self) -> list[Item[str]]:
        have = {provider for provider, _ in credentials.present()}
        items = [
            Item(alias, alias, note=entry.name, mark="★", search=entry.name)
            for alias, entry in self.app.config.models.items()
        ]
        rank = {provider: number for number, provider in enumerate(FIRST_CHOICE)}

        def order(model: KnownModel) -> tuple[bool, int, str]:
            provider = model.name.partition("/")[0]
            return provider not in have, rank.get(provider, len(rank)), model.name

        known = sorted(catalog.known(), key=order)
        for model in known:
            usable = model.name.partition("/")[0] in have
            items.append(
                Item(
                    model.name,
                    model.name,
                    note=_note(model),
                    mark="✓" if usable else " ",
                    role="text" if usable else "dim",
                )
            )
        return items


class ModelScreen(PickerScreen[str]):
    """The chooser; servers on this machine join while it is open."""

    def __init__(self, app: TuiAgentApp, items: list[Item[str]], *, marked: str | None, query: str) -> None:
        super().__init__(
            app, "models", items, marked=marked, query=query,
            footer="enter chooses · ★ alias of your config · ✓ its key is set · esc closes",
        )  # fmt: skip

    def nothing_marked(self) -> None:
        """A name that is not in the list may be a model all the same."""
        if self.query_text.strip():
            self.dismiss(Choice(self.query_text.strip()))

    def on_mount(self) -> None:
        """Look for servers on this machine."""
        super().on_mount()
        self.run_worker(self._look)

    async def _look(self) -> None:
        found = await local.discover()
        await asyncio.sleep(0)
        have = {entry.name for entry in self.owner.config.models.values()}
        fresh = [model for model in found if model.entry.name not in have]
        if fresh:
            names = ", ".join(sorted({model.server for model in fresh}))
            self.notify_off(
                f"found here: {names} · give its models an alias in config.yaml to use them (models.NAME)"
            )


def _note(model: KnownModel) -> str:
    parts = [f"{words.tokens(model.window)} tokens"] if model.window else []
    if model.input_price is not None and model.output_price is not None:
        parts.append(f"${model.input_price * 1e6:.2f} / ${model.output_price * 1e6:.2f}")
    return " · ".join(parts)
