"""Live files: what was saved is told, what lies beside it is not."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tui_agent.config.paths import Paths
from tui_agent.config.watch import changes


@asynccontextmanager
async def watching(
    home: Path, project: Path | None = None, *extra: Path
) -> AsyncGenerator[asyncio.Queue[set[Path]]]:
    """Run the watcher; it tells what it sees in a queue, and a first change shows that it has begun."""
    stop = asyncio.Event()
    told: asyncio.Queue[set[Path]] = asyncio.Queue()

    async def listen() -> None:
        async for found in changes(Paths(home, home, home), project, extra, stop):
            told.put_nowait(found)

    task = asyncio.create_task(listen())
    start = home / "config.yaml"
    while told.empty():
        start.write_text("# begin")
        try:
            first = await asyncio.wait_for(told.get(), 0.3)
        except TimeoutError:
            continue
        assert first == {start}
        break
    try:
        yield told
    finally:
        stop.set()
        await asyncio.wait_for(task, 10)


async def see(told: asyncio.Queue[set[Path]], path: Path) -> None:
    """Wait until a change of this file is told."""
    async with asyncio.timeout(10):
        while path not in await told.get():
            pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "themes").mkdir(parents=True)
    return folder


async def test_saved_files_are_told(folder: Path, tmp_path: Path) -> None:
    project = tmp_path / "code" / ".tui-agent"
    project.mkdir(parents=True)
    named = tmp_path / "elsewhere" / "keys.yaml"
    named.parent.mkdir()
    async with watching(folder, project, named) as told:
        for path in (folder / "themes" / "mine.yaml", project / "config.yaml", named):
            path.write_text("x: 1")
            await see(told, path)
        temporary = folder / "keybindings.yaml.swp"
        temporary.write_text("x: 1")
        temporary.replace(folder / "keybindings.yaml")
        await see(told, folder / "keybindings.yaml")
        (folder / "themes" / "mine.yaml").unlink()
        await see(told, folder / "themes" / "mine.yaml")


async def test_a_folder_that_comes_later_is_watched(folder: Path) -> None:
    async with watching(folder) as told:
        (folder / "commands").mkdir()
        path = folder / "commands" / "fix.md"
        async with asyncio.timeout(10):
            seen: set[Path] = set()
            while path not in seen:
                path.write_text("fix it")
                try:
                    seen |= await asyncio.wait_for(told.get(), 0.3)
                except TimeoutError:
                    continue


async def test_sessions_and_logs_beside_the_settings_are_not(folder: Path) -> None:
    async with watching(folder) as told:
        (folder / "log.jsonl").write_text("{}")
        (folder / "themes" / "notes.txt").write_text("x")
        (folder / "keybindings.yaml").write_text("{}")
        async with asyncio.timeout(10):
            seen = await told.get()
            while folder / "keybindings.yaml" not in seen:
                seen |= await told.get()
        assert seen <= {folder / "keybindings.yaml", folder / "config.yaml"}
