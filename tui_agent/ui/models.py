"""Which models can be chosen: aliases, the price list, servers on this machine."""

from __future__ import annotations

import asyncio
import time
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
    from tui_agent.ui.view import View


class ModelList:
    """Answers from the config and from the file of prices, without importing litellm."""

    def __init__(self, app: TuiAgentApp) -> None:
        self.app = app

    def names(self) -> list[tuple[str, str]]:
        """Every name of use with a note, aliases first."""
        aliases = [(alias, entry.name) for alias, entry in self.app.config.models.items()]
        return [*aliases, *((model.name, _note(model)) for model in self._known())]

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
        picker = ModelScreen(self.app, self._items(screen.view), marked=marked, query=query)

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

    def _known(self) -> list[KnownModel]:
        """What the price list has of use to an agent: first of providers whose key is set, each one's best known first."""
        have = {provider for provider, _ in credentials.present()}
        rank = {provider: number for number, provider in enumerate(FIRST_CHOICE)}
        first, today = set(FIRST_CHOICE.values()), time.strftime("%Y-%m-%d", time.localtime(self.app.now()))

        def order(model: KnownModel) -> tuple[bool, int, str, bool, str]:
            provider = model.name.partition("/")[0]
            place = rank.get(provider, len(rank))
            return provider not in have, place, provider, model.name not in first, model.name

        return sorted((model for model in catalog.known() if _is_of_use(model, today)), key=order)

    def _items(self, view: View) -> list[Item[str]]:
        """The model in use, aliases, the config's model, what this session used before; then the price list."""
        have = {provider for provider, _ in credentials.present()}
        known = {model.name: model for model in self._known()}
        config, current = self.app.config, view.meters.model
        items: dict[str, Item[str]] = {}

        def add(name: str, mark: str, what: str = "", search: str = "") -> None:
            if name and name not in items:
                usable = name in config.models or name == current or name.partition("/")[0] in have
                numbers = _numbers(known[name]) if name in known else ()
                role = "text" if usable else "dim"
                items[name] = Item(name, name, what, numbers, mark=mark, role=role, search=search)

        alias = config.models.get(current)
        add(current, "●", f"in use: {alias.name}" if alias else "in use", alias.name if alias else "")
        for name, entry in config.models.items():
            add(name, "★", entry.name, entry.name)
        add(config.model or "", "★", "from the config")
        for name in view.meters.by_model:
            add(name, "·", "used in this session")
        for name in known:
            add(name, "✓" if name.partition("/")[0] in have else "")
        return list(items.values())


class ModelScreen(PickerScreen[str]):
    """The chooser; servers on this machine join while it is open."""

    def __init__(self, app: TuiAgentApp, items: list[Item[str]], *, marked: str | None, query: str) -> None:
        super().__init__(
            app, "models", items, marked=marked, query=query,
            footer="enter chooses · ★ yours · ✓ its key is set · window, $ for a million tokens · esc closes",
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


def _is_of_use(model: KnownModel, today: str) -> bool:
    """Whether an agent can work with it: it chats, it may know tools, it is still there, and it is nobody's own fine-tune."""
    gone = bool(model.deprecated) and model.deprecated <= today
    chats = model.mode != "completion" and model.tools is not False and model.window > 0
    return chats and not gone and "/ft:" not in model.name


def _numbers(model: KnownModel) -> tuple[str, str]:
    """Its window, and its prices for a million tokens."""
    window = words.tokens(model.window) if model.window else ""
    if model.input_price is None or model.output_price is None:
        return window, ""
    return window, f"${model.input_price * 1e6:.2f} / ${model.output_price * 1e6:.2f}"


def _note(model: KnownModel) -> str:
    window, price = _numbers(model)
    return " · ".join(part for part in (f"{window} tokens" if window else "", price) if part)
