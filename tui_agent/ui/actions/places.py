"""Actions that open something: lists, pages, other sessions; and the slash commands that take words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui_agent import ui
from tui_agent.config.nearest import nearest
from tui_agent.core.commands import Extend, Rename, RewindTo, SetLimit, SetMode, SetModel
from tui_agent.core.events import ConfirmMode, Mode
from tui_agent.ui import commands, screens
from tui_agent.ui.actions.agent import CONFIRM_MEANS, CONFIRMS, MODE_MEANS, MODES
from tui_agent.ui.actions.group import Group, Table
from tui_agent.ui.blocks import UserBlock
from tui_agent.ui.themes import AUTO
from tui_agent.ui.words import first_line

if TYPE_CHECKING:
    from tui_agent.ui.screens.picker import Choice
    from tui_agent.ui.screens.rewind import Point
    from tui_agent.ui.screens.session import SessionScreen
    from tui_agent.ui.widgets.row import Line


class PlaceActions(Group["SessionScreen"]):
    """Everything that opens over the screen or leads to another one."""

    def __init__(self, screen: SessionScreen) -> None:
        super().__init__(screen)
        self._words: dict[str, Callable[[str], bool]] = {
            "model": self.set_model,
            "mode": self.set_mode,
            "confirm": self.set_confirm,
            "theme": self.set_theme,
            "compact": self.compact,
            "budget": self.set_budget,
            "steps": self.set_steps,
            "extend": self.extend,
            "resume": self.resume,
            "rename": self.rename,
            "export": self.export,
            "doctor": self.doctor,
        }

    def table(self) -> Table:
        return {
            "app.help": self.help,
            "app.palette": self.palette,
            "app.quit": self.quit,
            "app.redraw": self.redraw,
            "app.suspend": self.suspend,
            "models.open": self.models,
            "themes.open": self.themes,
            "sessions.open": self.sessions,
            "session.new": self.new_session,
            "session.rename": lambda _key: self._prefill("/rename ", "type a title, then enter"),
            "session.export": lambda _key: self.export(""),
            "session.fork": self.fork,
            "session.replay": self.replay,
            "session.rewind": self.rewind,
            "block.rewind": self.rewind_to_block,
            "block.fork": self.fork_at_block,
            "context.open": self.context,
            "budget.open": self.cost,
            "permissions.open": self.permissions,
            "hooks.open": self.hooks,
            "mcp.open": self.mcp,
        }

    def run_command(self, name: str, words: str) -> bool:
        """A slash command; False keeps its text in the composer."""
        command = commands.BY_NAME[name]
        if words or not command.action:
            if name in self._words:
                return self._words[name](words)
            if words:
                self.screen.say(f"/{name} takes nothing after it")
                return False
        return self.screen.perform(command.action)

    def values_of(self, name: str) -> Sequence[tuple[str, str]]:
        """What may follow ``/name``, for completions."""
        match name:
            case "model":
                return self.app.models.names()
            case "mode":
                return [(mode, MODE_MEANS[mode]) for mode in MODES]
            case "confirm":
                return [(confirm, CONFIRM_MEANS[confirm]) for confirm in CONFIRMS]
            case "theme":
                return [(theme, "") for theme in [AUTO, *self.app.settings.theme_names()]]
            case _:
                return []

    # ---- the app

    def help(self, key: str) -> bool:
        """F1 anywhere, ? on the empty composer."""
        if key == "question_mark" and not self.screen.composer.is_empty:
            return False
        self.app.show_help()
        return True

    def palette(self, _key: str) -> bool:
        """Every command and every action by name."""
        hint = self.app.keymap.hint
        items = [
            screens.picker.Item(
                f"/{command.name} {command.takes}".strip(),
                f"/{command.name}",
                what=command.what,
                note=hint(command.action),
                search=command.what,
            )
            for command in commands.COMMANDS
        ]
        named = {command.action for command in commands.COMMANDS}
        items += [
            screens.picker.Item(
                action.id, action.id, what=action.help, note=hint(action.id), search=action.help
            )
            for action in self.app.keymap.actions.values()
            if action.id in self.screen.actions and action.context == "app" and action.id not in named
        ]

        def chosen(choice: Choice[str] | None) -> None:
            self.screen.overlay_gone()
            if choice is None:
                return
            if not choice.value.startswith("/"):
                self.screen.perform(choice.value)
            elif commands.BY_NAME[choice.value[1:]].action:
                self.screen.perform(commands.BY_NAME[choice.value[1:]].action)
            else:
                self._prefill(
                    f"{choice.value} ", f"type {commands.BY_NAME[choice.value[1:]].takes or 'enter'}"
                )

        self.app.push_screen(screens.picker.PickerScreen(self.app, "commands", items), chosen)
        return True

    def quit(self, key: str) -> bool:
        if key == "ctrl+d" and not self.screen.composer.is_empty:
            return False
        self.app.leave()
        return True

    def redraw(self, _key: str) -> bool:
        self.app.repaint_terminal()
        return True

    def suspend(self, _key: str) -> bool:
        self.app.action_suspend_process()
        return True

    # ---- models and themes

    def models(self, _key: str) -> bool:
        """F3: aliases, then every model of the price list, then servers on this machine."""
        self.app.models.choose(self.screen)
        return True

    def set_model(self, words: str) -> bool:
        if why := self.app.models.unknown(words):
            return self._keep(why)
        self.screen.send(SetModel(model=words))
        return True

    def themes(self, _key: str) -> bool:
        """A preview while one looks; escape brings the old one back."""
        settings = self.app.settings
        before = settings.theme.name
        items = [screens.picker.Item(AUTO, AUTO, what="as the terminal's background is")]
        for name in settings.theme_names():
            theme = settings.read_theme(name)
            if theme is not None:
                kind = "no colours" if theme.name == "plain" else "dark" if theme.dark else "light"
                items.append(screens.picker.Item(name, name, what=kind, mark="●" if name == before else ""))

        def tried(name: str) -> None:
            self.app.use_theme(name)
            picker.set_palette(self.app.palette)

        def chosen(choice: Choice[str] | None) -> None:
            self.screen.overlay_gone()
            self.app.use_theme(choice.value if choice else before)

        def sample(_name: str, _width: int, height: int) -> Sequence[Line]:
            return ui.pages.theme_lines()[:height]

        picker = screens.picker.PickerScreen(
            self.app, "themes", items, marked=before, moved=tried, preview=sample,
            footer="enter takes it for this session · to keep one: ui.theme · esc brings the old one back",
        )  # fmt: skip
        self.app.push_screen(picker, chosen)
        return True

    def set_theme(self, words: str) -> bool:
        if words not in [AUTO, *self.app.settings.theme_names()]:
            near = nearest(words, self.app.settings.theme_names())
            return self._keep(f"no theme {words}" + (f": did you mean {near}?" if near else ""))
        self.screen.say("")
        self.app.use_theme(words)
        return True if self.screen.message else self.done(f"theme {self.app.theme_name}")

    # ---- modes and limits

    def set_mode(self, words: str) -> bool:
        mode: Mode | None = next((mode for mode in MODES if mode == words), None)
        if mode is None:
            return self._keep("/mode takes plan, build or mixed")
        self.screen.send(SetMode(mode=mode))
        return self.done(MODE_MEANS[mode])

    def set_confirm(self, words: str) -> bool:
        confirm: ConfirmMode | None = next((one for one in CONFIRMS if one == words), None)
        if confirm is None:
            return self._keep(f"/confirm takes {', '.join(CONFIRMS)}")
        self.screen.send(SetMode(confirm=confirm))
        return self.done(CONFIRM_MEANS[confirm])

    def compact(self, words: str) -> bool:
        return self.screen.agent.compact_with(words)

    def set_budget(self, words: str) -> bool:
        if not words:
            return self.screen.perform("budget.open")
        if words.lower() in {"off", "none", "no"}:
            self.screen.send(SetLimit(limit="budget_usd", value=None))
            return True
        value = _number(words.lstrip("$"))
        if value is None or value <= 0:
            return self._keep("/budget takes an amount in US dollars, such as 5, or off")
        self.screen.send(SetLimit(limit="budget_usd", value=value))
        return True

    def set_steps(self, words: str) -> bool:
        value = _number(words)
        if value is None or value < 1 or value != int(value):
            return self._keep("/steps takes a whole number, such as 80")
        self.screen.send(SetLimit(limit="max_steps", value=value))
        return True

    def extend(self, words: str) -> bool:
        """The answer to a tripped limit, with a number of one's own."""
        if self.screen.view.run.limit is None:
            return self._keep("no limit waits for an answer")
        value = _number(words.lstrip("+$"))
        if value is None or value <= 0:
            return self._keep("/extend takes a number greater than 0")
        self.screen.send(Extend(choice="continue", amount=value))
        return True

    # ---- sessions

    def sessions(self, _key: str) -> bool:
        self.app.push_screen(screens.sessions.SessionsScreen(self.app), self.app.library.chosen)
        return True

    def resume(self, words: str) -> bool:
        if why := self.app.library.open_named(words):
            return self._keep(why)
        return True

    def new_session(self, _key: str) -> bool:
        self.app.open_session(None)
        return True

    def rename(self, words: str) -> bool:
        if not words:
            return self._prefill("/rename ", "type a title, then enter")
        self.screen.send(Rename(title=words))
        return self.done("renamed")

    def fork(self, _key: str) -> bool:
        return self.app.library.fork(self.screen.view.last_seq)

    def fork_at_block(self, _key: str) -> bool:
        block = self.screen.transcript.selected
        return block is not None and self.app.library.fork(block.seq)

    def replay(self, _key: str) -> bool:
        if why := self.app.library.replay_this():
            return self.refuse(why)
        return True

    def export(self, words: str) -> bool:
        return self.done(self.app.library.export(words))

    def rewind(self, _key: str) -> bool:
        """What was asked, newest first: go back to before one of them."""
        view = self.screen.view
        if view.running:
            return self.refuse("it is running; interrupt it first")
        points = [
            screens.rewind.Point(block.seq, first_line(block.text, 80), block.ts, block.text)
            for block in reversed(view.blocks)
            if isinstance(block, UserBlock)
        ]
        if not points:
            return self.refuse("there is nothing to go back to")
        files = {change.path: change.seq for change in view.tools.changes}
        self.app.push_screen(screens.rewind.RewindScreen(self.app, points, files), self._rewound)
        return True

    def rewind_to_block(self, _key: str) -> bool:
        block = self.screen.transcript.selected
        if block is None or self.screen.view.running:
            return self.refuse("interrupt the run first")
        self.screen.send(RewindTo(to_seq=block.seq - 1))
        return True

    def _rewound(self, choice: Choice[Point] | None) -> None:
        self.screen.overlay_gone()
        if choice is None:
            return
        point, verb = choice.value, choice.action.rpartition(".")[2]
        if verb == "fork":
            self.app.library.fork(point.seq - 1)
            return
        self.screen.send(RewindTo(to_seq=point.seq - 1))
        self.screen.composer.put_back(point.whole)

    # ---- pages

    def context(self, _key: str) -> bool:
        self.app.show_page("the next request", ui.pages.context_lines(self.screen.view))
        return True

    def cost(self, _key: str) -> bool:
        self.app.show_page("what it has cost", ui.pages.cost_lines(self.screen.view))
        return True

    def permissions(self, _key: str) -> bool:
        self.app.show_page("permissions", ui.pages.permission_lines(self.app))
        return True

    def hooks(self, _key: str) -> bool:
        self.app.show_page("hooks", ui.pages.hook_lines(self.app.config, self.screen.view))
        return True

    def mcp(self, _key: str) -> bool:
        self.app.show_page("servers", ui.pages.mcp_lines(self.app.config, self.app.tool_names))
        return True

    def doctor(self, _words: str) -> bool:
        self.app.show_page("doctor", ui.pages.doctor_lines(self.app))
        return True

    def _prefill(self, text: str, say: str) -> bool:
        self.screen.composer.set_text(text)
        return self.done(say)

    def _keep(self, why: str) -> bool:
        """Say what is wrong, and leave the command in the composer to be mended."""
        self.screen.say(why)
        return False


def _number(words: str) -> float | None:
    try:
        return float(words.replace(",", "."))
    except ValueError:
        return None
