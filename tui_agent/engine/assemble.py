"""The composition root: everything an agent works with is made and joined here, and nowhere else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tui_agent import __version__
from tui_agent.config.load import Loaded, load
from tui_agent.config.paths import Paths
from tui_agent.config.sections import Config
from tui_agent.core.events import (
    FORMAT_VERSION,
    Event,
    LimitChanged,
    ModeChanged,
    ModelChanged,
    Notice,
    SessionEnd,
    SessionRenamed,
    SessionStart,
)
from tui_agent.engine import demo
from tui_agent.engine.agent import Agent, EventLog, MemoryLog
from tui_agent.engine.kit import Kit
from tui_agent.engine.launch import Launch
from tui_agent.engine.mailbox import Mailbox
from tui_agent.engine.ratelimits import RateLimits
from tui_agent.engine.state import State
from tui_agent.engine.system import SystemRenderer
from tui_agent.engine.world import World
from tui_agent.llm import catalog, tokens
from tui_agent.llm.api import Model, ModelSpec
from tui_agent.llm.providers import account
from tui_agent.policy.permissions import Rules
from tui_agent.policy.remembered import Remembered
from tui_agent.sessions.log import Log, read
from tui_agent.sessions.store import Store
from tui_agent.tools.registry import Registry, default_tools
from tui_agent.tools.shell import environment, is_provider_key

E = TypeVar("E", bound=Event)


@dataclass(slots=True)
class Session:
    """One session, ready for commands. ``start`` is the first line of a new session's log, None for a resumed one."""

    agent: Agent
    mailbox: Mailbox
    path: Path
    loaded: Loaded
    start: SessionStart | None
    warnings: tuple[str, ...] = ()
    """What a person should know before the first prompt."""

    def preload(self) -> None:
        """Begin to load what the first call needs (the provider library, the tokenizer) in background threads."""
        self.agent.kit.model.preload()
        threading.Thread(target=tokens.preload, daemon=True).start()


_LIGHT = (ModelChanged, ModeChanged, LimitChanged, SessionRenamed, SessionEnd, Notice)
"""Events that alone make no session worth keeping."""


class NewLog:
    """The log of a session in which nothing has happened yet: the file is made when something does."""

    def __init__(self, path: Path, start: SessionStart, now: Callable[[], float]) -> None:
        self.path, self._start = path, start
        self._held = MemoryLog(now, next_seq=2)
        self._waiting: list[Event] = []
        self._log: Log | None = None

    def append(self, event: E) -> E:
        if self._log is not None:
            return self._log.append(event)
        if isinstance(event, _LIGHT):
            event = self._held.append(event)
            self._waiting.append(event)
            return event
        self._log = Log.create(self.path, self._start)
        for earlier in self._waiting:
            self._log.append(earlier)
        return self._log.append(event)

    def sync(self) -> None:
        if self._log is not None:
            self._log.sync()

    def close(self) -> None:
        if self._log is not None:
            self._log.close()


def assemble(launch: Launch, *, model: Model | None = None, world: World | None = None) -> Session:
    """Make the session that ``launch`` describes; raises ``ConfigError`` and ``SessionError``.

    ``model`` and ``world`` replace the real ones, for tests and benchmarks.
    """
    cwd = Path(launch.cwd).resolve()
    paths = Paths.from_environ()
    loaded = load(
        cwd, config_file=Path(launch.config_file) if launch.config_file else None, overrides=launch.overrides
    )
    config = demo.configured(loaded.config) if launch.demo else loaded.config
    world = world or World(cwd)
    store = Store(paths.sessions_dir)
    state = State()
    log: EventLog
    start: SessionStart | None = None
    notes: list[str] = []
    if launch.resume:
        path = Path(launch.resume)
        log = opened = Log.open(path)
        notes = [opened.warning] if opened.warning else []
        if opened.torn:
            notes.append(
                f"the last line of the session's log was cut off and is dropped ({opened.torn_bytes} bytes)"
            )
        for event in read(path):
            state.apply(event)
    else:
        id = store.new_id()
        path = store.path(cwd, id)
        start = _start(launch, config, cwd, id, world)
        log = (
            NewLog(path, start, world.now) if config.sessions.auto_save else MemoryLog(world.now, next_seq=2)
        )
        state.apply(start)
    kit = _kit(launch, config, loaded, world, model or _model(launch), path.with_suffix(""))
    if config.sessions.auto_save:
        kit.read_log = lambda: read(path)
    agent = Agent(kit, log, state)
    _take_flags(launch, config, state)
    if config.sessions.keep_days > 0:
        store.expire(config.sessions.keep_days)
    return Session(agent, Mailbox(agent), path, loaded, start, (*loaded.warnings, *notes, *_not_yet(config)))


def _not_yet(config: Config) -> list[str]:
    """Settings that this version reads and does not act on."""
    names = [name for name, server in config.mcp.servers.items() if server.enabled]
    return [f"mcp.servers: {', '.join(names)}: this version starts no MCP servers"] if names else []


def _start(launch: Launch, config: Config, cwd: Path, id: str, world: World) -> SessionStart:
    return SessionStart(
        seq=1, ts=world.now(), version=FORMAT_VERSION, id=id, kind=launch.kind, cwd=str(cwd), model=config.model or "",
        mode=config.mode, confirm=config.permissions.mode, parent=launch.parent, title=launch.title,
        branch=_branch(cwd), program=__version__,
    )  # fmt: skip


def _take_flags(launch: Launch, config: Config, state: State) -> None:
    """What was given on the command line counts more than what a resumed session had, and a given model is a choice by hand."""
    given = launch.overrides
    if given.get("model"):
        state.hand_picked = True
    if given.get("model") or not state.model or (launch.demo and launch.resume):
        state.model = config.model or ""
    if given.get("mode"):
        state.mode = config.mode
    if given.get("permissions.mode"):
        state.confirm = config.permissions.mode


def _kit(
    launch: Launch, config: Config, loaded: Loaded, world: World, model: Model, session_dir: Path
) -> Kit:
    paths, cwd = loaded.paths, world.cwd
    remembered = Remembered(paths.state_dir / "approvals.json", cwd)
    rules = Rules(config.permissions)
    for rule in remembered.rules():
        rules = rules.with_rule(rule)
    secret = _is_secret(config)
    return Kit(
        world=world, config=config, workspace=cwd, session_dir=session_dir, model=model,
        registry=Registry(default_tools(is_secret=secret)), rules=rules, resolve=_resolver(launch, config),
        render_system=SystemRenderer(world, paths.config_dir, _skill_folders(paths, loaded)), cost=catalog.cost, count=tokens.count_text,
        count_message=tokens.count_message, count_tools=tokens.count_tools, rate_limits=RateLimits(paths.rates_file),
        account=lambda spec: account(spec, os.environ),
        demo=launch.demo, dry_run=launch.dry_run, interactive=launch.interactive, remember_rule=remembered.add,
        hook_environ=environment(os.environ, secret),
    )  # fmt: skip


def _model(launch: Launch) -> Model:
    if launch.demo:
        return demo.model()
    from tui_agent.llm.litellm_model import LitellmModel

    return LitellmModel()


def _resolver(launch: Launch, config: Config) -> Callable[[str], ModelSpec]:
    def resolve(name: str) -> ModelSpec:
        return demo.SPEC if launch.demo else catalog.resolve(name, config)

    return resolve


def _is_secret(config: Config) -> Callable[[str], bool]:
    """Names of variables that commands don't inherit: the providers' keys, and those that the configuration names."""
    own = {entry.api_key_env for entry in config.models.values() if entry.api_key_env}
    return lambda name: name in own or is_provider_key(name)


def _skill_folders(paths: Paths, loaded: Loaded) -> list[Path]:
    """The user's skills, then the project's if it is trusted."""
    trusted = loaded.project if not loaded.untrusted_project else None
    return [paths.skills_dir, *([trusted / "skills"] if trusted is not None else [])]


def _branch(cwd: Path) -> str:
    """The git branch that is checked out in ``cwd`` or above, read without running git; empty if there is none."""
    for folder in (cwd, *cwd.parents):
        head = folder / ".git" / "HEAD"
        try:
            text = head.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref:") else text[:8]
    return ""
