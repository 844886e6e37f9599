"""What is asked before the first run: which model, and whether to trust the project's own settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical

from tui_agent.config.load import Loaded
from tui_agent.config.trust import powers
from tui_agent.config.yamlfile import Parsed
from tui_agent.llm import credentials, local
from tui_agent.llm.local import LocalModel
from tui_agent.ui.screens.overlay import Overlay
from tui_agent.ui.screens.picker import Item, PickerScreen
from tui_agent.ui.widgets.row import Line, Rows

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp

FIRST_CHOICE: Mapping[str, str] = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "openai": "openai/gpt-5-mini",
    "gemini": "gemini/gemini-2.5-pro",
    "mistral": "mistral/devstral-medium-2507",
    "deepseek": "deepseek/deepseek-chat",
    "groq": "groq/moonshotai/kimi-k2-instruct-0905",
    "xai": "xai/grok-code-fast-1",
    "openrouter": "openrouter/anthropic/claude-sonnet-4.5",
}
"""A model to begin with, by provider; any other one of it can be chosen afterwards."""


@dataclass(slots=True, frozen=True)
class Start:
    """What to begin with: overrides by dotted config key, or the demo. ``browse`` opens the list of all models."""

    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    demo: bool = False
    browse: str = ""


DEMO = Item(
    "the demo", Start(demo=True), what="scripted model, scratch project; no key, no network", mark="◆"
)


def key_items() -> list[Item[Start]]:
    """A model for every key that is in the environment."""
    items: list[Item[Start]] = []
    for provider, variable in credentials.present():
        model = FIRST_CHOICE.get(provider)
        if model is not None:
            items.append(
                Item(model, Start({"model": model}), what=f"{variable} is set", mark="✓", role="content")
            )
        else:
            items.append(
                Item(
                    f"{provider}: choose a model", Start(browse=provider), what=f"{variable} is set", mark="✓"
                )
            )
    return items


def local_item(model: LocalModel) -> Item[Start]:
    """A model that a server on this machine offers."""
    entry = model.entry
    name = f"local-{model.server.replace('.', '-').replace('_', '-')}"
    overrides: dict[str, Any] = {
        "model": name,
        f"models.{name}.name": entry.name,
        f"models.{name}.api_base": entry.api_base,
        f"models.{name}.price.input": 0.0,
        f"models.{name}.price.output": 0.0,
    }
    if entry.context_window:
        overrides[f"models.{name}.context_window"] = entry.context_window
    window = f"{model.window:,} tokens" if model.window else "window unknown"
    return Item(
        model.id, Start(overrides), what=f"{model.server} on this machine · {window}", mark="✓", off=""
    )


class StartScreen(PickerScreen[Start]):
    """Shown when no model is configured. Local servers are looked for while it is open."""

    def __init__(self, app: TuiAgentApp) -> None:
        self._keys = key_items()
        title = "which model?" if self._keys else "which model? no key was found in the environment"
        super().__init__(
            app, title, [*self._keys, DEMO],
            footer="enter chooses · to keep one: model: NAME in config.yaml · esc leaves it open",
        )  # fmt: skip

    def on_mount(self) -> None:
        """Look for servers on this machine."""
        super().on_mount()
        self.run_worker(self._look)

    async def _look(self) -> None:
        found = await local.discover()
        self.replace([*self._keys, *(local_item(model) for model in found), DEMO])


class TrustScreen(Overlay[bool]):
    """Whether the project's own settings may be used: they can run commands and send data."""

    DEFAULT_CSS = """
    TrustScreen > Vertical { width: 90%; max-width: 100; height: auto; max-height: 80%; border: round $border; background: $background; padding: 0 1; }
    TrustScreen Rows { height: auto; }
    """

    contexts: ClassVar[Sequence[str]] = ("trust",)

    def __init__(self, app: TuiAgentApp, loaded: Loaded) -> None:
        super().__init__(app)
        self.settings = loaded.project_settings or Parsed(None)
        self.rows = Rows(app.palette)
        again = " have changed since you trusted them" if loaded.trust == "changed" else ""
        lines: list[Line] = [
            ([(f"this project has settings of its own{again and ', and they' + again}", "card-title")], []),
            ([(f"{loaded.project}", "dim")], []),
            ([], []),
        ]
        able = powers(self.settings)
        lines += [([("  ", "text"), (line, "warn")], []) for line in able[:12]]
        if len(able) > 12:
            lines.append(([(f"  and {len(able) - 12} more", "dim")], []))
        if not able:
            lines.append(([("  they run nothing and allow nothing", "dim")], []))
        hint = app.keymap.hint
        lines += [
            ([], []),
            (
                [
                    (hint("trust.accept"), "key"), (" use them    ", "text"),
                    (hint("trust.reject"), "key"), (" go on without them    ", "text"),
                    (hint("trust.view"), "key"), (" show the file", "text"),
                ],
                [],
            ),
        ]  # fmt: skip
        self.rows.show(lines)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self.rows

    def perform(self, action: str, key: str) -> bool:  # noqa: ARG002
        if action == "trust.view":
            text = self.settings.data.decode("utf-8", "replace")
            self.owner.show_page(
                "the project's settings", [([(line, "text")], []) for line in text.splitlines()]
            )
        elif action in {"trust.accept", "trust.reject"}:
            self.dismiss(action == "trust.accept")
        else:
            return False
        return True
