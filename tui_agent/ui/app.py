"""The app: starts things after the first paint, passes events to the screen and commands to the engine. It decides nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from textual.binding import BindingType
from textual.theme import Theme as TextualTheme

from tui_agent import ui
from tui_agent.config.load import Loaded, load
from tui_agent.config.sections import Config
from tui_agent.core.commands import Command, Interrupt, Prompt
from tui_agent.core.errors import EngineGone
from tui_agent.core.events import (
    AgentEnd,
    ApprovalRequested,
    Event,
    GuardTripped,
    Notice,
    QuestionAsked,
    Ready,
)
from tui_agent.engine.launch import Launch
from tui_agent.ui import screens
from tui_agent.ui.background import Background, needs_asking
from tui_agent.ui.drafts import DraftFile, History
from tui_agent.ui.firstframe import ENDING, FirstFrame
from tui_agent.ui.goodbye import say_goodbye
from tui_agent.ui.keys import Keymap, Resolver
from tui_agent.ui.outside import Outside
from tui_agent.ui.render.lines import Palette
from tui_agent.ui.render.plain import visible
from tui_agent.ui.render.warm import warm_up
from tui_agent.ui.screens.session import SessionScreen
from tui_agent.ui.screens.stage import StageScreen
from tui_agent.ui.seamless import SeamlessApp
from tui_agent.ui.settings import Settings, UiOptions
from tui_agent.ui.source import EventSource, LiveSource
from tui_agent.ui.terminal import own_terminal
from tui_agent.ui.view import View
from tui_agent.ui.widgets.composer import Composer
from tui_agent.ui.widgets.gonecard import TAKEN, gone_lines, taken_lines
from tui_agent.ui.widgets.row import Line

SLICE = 0.008
"""Seconds of folding after which the screen gets a turn (a loop that never waits starves it)."""
DRAFT_DELAY = 0.3
"""Seconds from a change of the text to its being on disk."""
SETTLED = 0.4
"""Seconds after the first paint at which what is slow to load is loaded, while a person still reads."""
GC_THRESHOLD = (50_000, 20, 100)
"""Collections are rarer: each one over everything that a long session holds would be a pause (measured: up to 77 ms)."""
WATCH_EVERY = 1.0
"""Seconds between two looks at the times of the files that a person edits."""
APPLY = "Do now for real what you only recorded so far: every change and every command, in the same order."
"""What the model is told when the plan of a dry run is applied."""
STARTING = "starting the engine again"
STOPPED = 130
"""Exit code after a signal."""


if TYPE_CHECKING:
    from tui_agent.ui.library import Library
    from tui_agent.ui.models import ModelList
    from tui_agent.ui.screens.replay import ReplayScreen


class TuiAgentApp(SeamlessApp[int], inherit_bindings=False):
    """One window on one session at a time."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []
    TITLE = "tui-agent"
    CSS = "Screen { background: $background; }"

    def __init__(
        self,
        launch: Launch,
        settings: Settings,
        options: UiOptions | None = None,
        *,
        source: Callable[[Launch], EventSource] = LiveSource,
        now: Callable[[], float] = time.time,
        first: FirstFrame | None = None,
    ) -> None:
        # with NO_COLOR Textual else turns the terminal's own colours into black on black
        super().__init__(first, ansi_color=settings.theme.terminal_colours or None)
        self.keep_early()
        self.launch = launch
        self.settings = settings
        self.options = options or settings.options
        self.now = now
        """Unix time in seconds."""
        self.history_texts = History(settings.loaded.paths.history_file)
        self.drafts = DraftFile(settings.loaded.paths.drafts_dir, Path(launch.cwd))
        self.outside = Outside(self)
        self.gone = ""
        """Why the engine has ended, empty while it has not."""
        self.tool_names: Sequence[str] = ()
        self.session_path = ""
        self.words: list[str] = []
        """What is printed after the terminal is as it was."""
        self._make_source = source
        self._source: EventSource | None = None
        self._waiting: list[Command] = []
        self._linked = self._is_ready = self._was_cut = False
        self._refused = ""
        """Why the engine would not begin."""
        self._draft_timer: Any = None
        self._leaving = False
        self.typed_ahead = ""
        """What was typed before there was a screen."""
        self._painted = False
        self.main = SessionScreen(self.new_view(), self)
        self._wear()

    # ---- what widgets and actions ask for

    @cached_property
    def library(self) -> Library:
        """The sessions on disk."""
        return ui.library.Library(self)

    @cached_property
    def models(self) -> ModelList:
        """The models that can be chosen."""
        return ui.models.ModelList(self)

    @property
    def palette(self) -> Palette:
        """The theme that holds now."""
        return self.settings.theme

    @property
    def keymap(self) -> Keymap:
        """The keys that hold now."""
        return self.settings.keymap

    @property
    def config(self) -> Config:
        """The configuration that holds now."""
        return self.settings.loaded.config

    @property
    def reduced_motion(self) -> bool:
        """Whether nothing may pulse."""
        return self.config.ui.reduced_motion

    @property
    def cwd(self) -> Path:
        """Where the agent works."""
        return Path(self.launch.cwd)

    def ticks(self) -> float:
        """Seconds on the clock of key events."""
        return time.monotonic()

    def new_resolver(self) -> Resolver:
        """A reader of keys for one screen."""
        return Resolver(self.keymap)

    def new_view(self) -> View:
        """An empty view with this app's keys and wishes."""
        return View(key=self._label, reasoning=self.config.ui.show_reasoning)

    def _label(self, action: str) -> str:
        return self.keymap.hint(action)

    def show_help(self, contexts: Sequence[str] = ()) -> None:
        """Every key that counts, or those of some contexts."""
        self.show_page("keys", ui.pages.help_lines(self.keymap, contexts))

    def show_page(self, title: str, lines: Sequence[Line], *, source: str = "") -> None:
        """Open a page of text."""
        self.push_screen(screens.page.PageScreen(self, title, lines, source=source), self.main.overlay_gone)

    # ---- life

    @property
    def is_painted(self) -> bool:
        """Whether a person has seen anything yet."""
        return self._painted

    def get_default_screen(self) -> StageScreen:
        """The session, or only the replay of one (``tui-agent replay``)."""
        if self.options.replay is not None:
            return screens.replay.ReplayScreen(
                self, self.options.replay, speed=self.options.speed, from_seq=self.options.from_seq
            )
        return self.main

    def open_replay(self, path: Path) -> None:
        """Watch a session; this one goes on below."""
        self.push_screen(screens.replay.ReplayScreen(self, path))

    def close_replay(self, screen: ReplayScreen) -> None:
        """Back to the session, or out if nothing else was asked for."""
        if self.options.replay is not None and len(self.screen_stack) <= 1:
            self.leave()
        else:
            screen.dismiss(None)
            self.main.closed_overlay()

    def post_display_hook(self) -> None:
        """Everything that takes time waits for the first paint."""
        if not self._painted and self.screen_stack and self.screen.size.width:
            self._painted = True
            self.cover_first_frame()
            self.call_later(self._after_paint)

    def _after_paint(self) -> None:
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self._signalled)
        if self.first is not None and self.first.came_early:
            self._signalled()
            return
        for screen in self.screen_stack:
            if isinstance(screen, StageScreen):
                screen.after_paint()
        self.history_texts.load()
        if self.options.replay is None:
            self.main.composing.restore(self.drafts.load(), self.typed_ahead, early=self.typed_early)
            self.main.set_focus(self.main.composer)
        self.take_early(self.main.composer if self.options.replay is None else self.screen)
        self.set_interval(WATCH_EVERY, self._watch)
        self.set_timer(SETTLED, self._settle)
        self._say_errors(self.settings.errors)
        if self.options.replay is None:
            self.run_worker(self._begin, group="life", exit_on_error=True)

    def _settle(self) -> None:
        """Load what the first answer needs, and let the garbage collector leave alone what is there for good."""
        self.run_worker(partial(asyncio.to_thread, warm_up), group="life")
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLD)

    def _say_errors(self, errors: Sequence[str]) -> None:
        """The first mistake in the person's files; the line has room for one."""
        if errors:
            more = f" · and {len(errors) - 1} more" if len(errors) > 1 else ""
            self.main.say(f"{errors[0]}{more}")

    async def _begin(self) -> None:
        """Ask what has to be known, then start the engine and say the first words."""
        opening = ui.opening.Opening(self)
        await opening.ask_trust()
        await opening.ask_model()
        if self.options.pick_session:
            self.main.perform("sessions.open")
        await self.connect()
        if self.options.prompt:
            self.send(Prompt(text=self.options.prompt))

    @property
    def names_model(self) -> bool:
        """Whether the config or a flag says which model to use."""
        return bool(self.config.model) or "model" in self.launch.overrides

    @property
    def has_model(self) -> bool:
        """Whether a message would reach a model: the session has one, or will have one as soon as it is open."""
        meters = self.main.view.meters
        if meters.session.id or meters.model:
            return bool(meters.model)
        return self.launch.demo or bool(self.launch.resume) or self.names_model

    async def connect(self) -> None:
        """Read what was, start the engine, listen to it."""
        source = self._source = self._make_source(self.launch)
        self.gone, self._linked, self._refused = "", False, ""
        view = self.new_view()
        await asyncio.to_thread(view.fold, source.history())
        if view.blocks or self.main.view.blocks:
            self.main.reset(view)
        try:
            await source.start()
        except EngineGone as error:
            self._lost(str(error))
            return
        self._linked, self._is_ready = True, False
        waiting, self._waiting = self._waiting, []
        for command in waiting:
            self.send(command)
        self.run_worker(partial(self._listen, source), group="engine", exclusive=True)

    async def _listen(self, source: EventSource) -> None:
        began = time.perf_counter()
        async for event in source.events():
            if self._note(event):
                self.main.receive((event,))
            if time.perf_counter() - began > SLICE:
                await asyncio.sleep(0)
                began = time.perf_counter()
        if source is self._source and not self._leaving:
            self._lost(source.failure or "the engine has ended")

    def _note(self, event: Event) -> bool:
        """What the app itself has to know of an event; False if it is not for the page."""
        if isinstance(event, Ready):
            if self.main.message.startswith((STARTING, "saving")):
                self.main.say("")
            self._is_ready = True
            self.session_path, self.tool_names = event.path, event.tools
            if not self.main.view.meters.model:
                self.main.view.meters.model = event.model
        elif isinstance(event, AgentEnd | ApprovalRequested | QuestionAsked | GuardTripped):
            self._call_person()
        elif isinstance(event, Notice) and event.level == "error" and not self._is_ready:
            self._refused = f"{event.text} {event.hint}".strip()
            return False
        return True

    def _call_person(self) -> None:
        """Something is over or waits: ring, if the person looks elsewhere and wants it."""
        wish = self.config.ui.notify
        if wish == "always" or (wish == "unfocused" and not self.app_focus):
            self.bell()

    def _lost(self, why: str) -> None:
        """The engine has gone; its log has not."""
        self.gone, self._linked = self._refused or why, False
        self._was_cut = self.main.view.running
        if self.main.message == STARTING:
            self.main.say("")
        for change in self.main.view.cut_off():
            self.main.show_change(change)
        self.main.receive(())

    def restart(self) -> None:
        """Start the engine again and go on with the session's log."""
        if self.session_path and Path(self.session_path).exists():
            self.launch = msgspec.structs.replace(self.launch, resume=self.session_path)
        self.gone = ""
        self.main.say(STARTING)
        self.run_worker(self.connect, group="life")

    def failure_lines(self) -> list[Line]:
        """The card of an engine that has gone: what happened, what is kept, what to do."""
        if not self.gone:
            return []
        if TAKEN in self.gone:
            return taken_lines(self.gone, self.keymap.hint)
        session = self.main.view.meters.session.id
        log = self.settings.loaded.paths.log_file
        return gone_lines(self.gone, session, str(log), self.keymap.hint, run_was_cut=self._was_cut)

    def send(self, command: Command) -> None:
        """Pass a command to the engine, or keep it until there is one."""
        if self._source is None or not self._linked:
            self._waiting.append(command)
            if self.gone:
                self.restart()
            return
        try:
            self._source.send(command)
        except EngineGone as error:
            self._waiting.append(command)
            self._lost(str(error))

    def open_session(self, path: Path | None, said: str = "") -> None:
        """Leave this session, which is kept, for another one; None begins a new one. ``said`` is told when it is there."""
        self.launch = msgspec.structs.replace(self.launch, resume=str(path or ""), demo=False, title="")
        self.session_path = str(path or "")
        self.run_worker(partial(self._switch, said=said), group="life", exclusive=True)

    def apply_dry_run(self) -> bool:
        """Go on without the dry run, with what was recorded as the task; False if this is no dry run."""
        if not self.launch.dry_run or not self.session_path:
            return False
        self.launch = msgspec.structs.replace(self.launch, dry_run=False, resume=self.session_path)
        self.run_worker(partial(self._switch, APPLY), group="life", exclusive=True)
        return True

    async def _switch(self, prompt: str = "", said: str = "") -> None:
        old, self._source = self._source, None
        self._linked = False
        if old is not None:
            self.main.say("saving the session before")
            await old.close()
        self.main.reset(self.new_view())
        self.main.trace.begin()
        await self.connect()
        if said:
            self.main.say(said)
        if prompt:
            self.send(Prompt(text=prompt))

    # ---- the end

    def leave(self, code: int = 0) -> None:
        """Save and go; the terminal gets the last words once it is as it was."""
        if self._leaving:
            return
        self._leaving = True
        self.main.say("saving the session")
        self.run_worker(partial(self._leave, code), group="end", exit_on_error=False)

    async def _leave(self, code: int) -> None:
        self.save_draft()
        try:
            if self._source is not None:
                await self._source.close()
        finally:
            self.exit(code)

    def _signalled(self) -> None:
        """SIGTERM or SIGHUP: as one ctrl+c, then save and leave."""
        if self.main.view.running:
            self.send(Interrupt(by="signal"))
        self.leave(STOPPED)

    @property
    def fault(self) -> Exception | None:
        """The exception that ended the app, None if none did."""
        return self._exception

    def last_words(self) -> list[str]:
        """What a person needs after the screen has gone."""
        view = self.main.view
        if not view.messages.first_prompt or not view.meters.session.id:
            return []
        return [visible(view.title), f"to go on: tui-agent -r {visible(view.meters.session.id)}"]

    def draft_changed(self, composer: Composer) -> None:
        """Have the text on disk soon."""
        if composer is self.main.composer and self._draft_timer is None:
            self._draft_timer = self.set_timer(DRAFT_DELAY, self.save_draft)

    def save_draft(self) -> None:
        """Write the composer's text down now."""
        if self._draft_timer is not None:
            self._draft_timer.stop()
            self._draft_timer = None
        self.drafts.save(self.main.composer.draft)

    # ---- theme, keys, config

    @property
    def theme_name(self) -> str:
        """Name of the theme that holds now."""
        return self.settings.theme.name

    def suit(self, background: str | None) -> None:
        """The terminal has said what its background is."""
        if background is not None and self.settings.suit(background):
            self._wear()
            self.main = SessionScreen(self.new_view(), self)

    def use_theme(self, name: str) -> None:
        """Wear another theme from now on; one that can't be read leaves the old one."""
        if name != self.theme_name and self.settings.load_theme(name) is None:
            self.main.say(self.settings.errors[-1])
            return
        self._wear()
        for screen in self.screen_stack:
            if isinstance(screen, SessionScreen):
                screen.set_palette()

    def _wear(self) -> None:
        fields = self.settings.theme.textual_fields()
        variables: dict[str, str] = fields.pop("variables")
        own = {name: value for name, value in variables.items() if not name.startswith(("role-", "ground-"))}
        theme = TextualTheme(**fields, variables=own)
        self.ansi_color = self.settings.theme.terminal_colours or None
        self.register_theme(theme)
        self.theme = theme.name

    def _watch(self) -> None:
        if changed := self.settings.changed():
            self.apply(changed)

    def apply(self, what: set[str]) -> None:
        """Files changed: read them again, and say if one is broken."""
        errors = self.settings.reload(what)
        for screen in self.screen_stack:
            if isinstance(screen, StageScreen):
                screen.use_keys()
        self._wear()
        self.main.set_palette()
        if errors:
            self._say_errors(errors)
        else:
            self.main.say(f"{' and '.join(sorted(what))} read again")


def run_ui(
    launch: Launch,
    options: UiOptions | None = None,
    loaded: Loaded | None = None,
    first: FirstFrame | None = None,
) -> int:
    """Run the screen until it is left; returns the exit code. Raises ``ConfigError``. ``first`` is what stands there already."""
    options = options or UiOptions()
    first = first or FirstFrame(ask_background=False, paint=False)
    try:
        app = _made(launch, options, loaded, first)
        stray = app.settings.loaded.paths.state_dir / "screen.log"
        try:
            with own_terminal(stray):
                app.run(mouse=app.config.ui.mouse)
        finally:
            first.close()
            say_goodbye(app.last_words(), app.fault, stray)
    finally:
        first.close()
    return app.return_value if app.return_value is not None else app.return_code or 0


def _made(launch: Launch, options: UiOptions, loaded: Loaded | None, first: FirstFrame) -> TuiAgentApp:
    """The app, in the theme that suits the terminal's background."""
    loaded = loaded or load(Path(launch.cwd), config_file=options.config_file, overrides=options.overrides)
    asks = needs_asking(options.theme or loaded.config.ui.theme, os.environ)
    asked = first.background or (Background() if asks else None)
    try:
        app = TuiAgentApp(launch, Settings(Path(launch.cwd), options, loaded), options, first=first)
        if asked is not None:
            background, app.typed_ahead = asked.read()
            app.suit(background)
    finally:
        if asked is not None:
            asked.close()
    return app
