"""The tools of a session by name. Tools from elsewhere (MCP, sub-agents, memory) join by being in the iterable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, cast, runtime_checkable

from tui_agent.core.tool import Tool
from tui_agent.tools.apply import ApplyPatch
from tui_agent.tools.builtin import nearest
from tui_agent.tools.edit import EditFile
from tui_agent.tools.files import ReadFile, WriteFile
from tui_agent.tools.planning import AskUser, RequestMoreIterations, Todo
from tui_agent.tools.search import FindFiles, Grep, ListFiles, SearchCode
from tui_agent.tools.shell import RunCommand, is_provider_key


@runtime_checkable
class Checked(Protocol):
    """A tool that checks its arguments itself; of any other only the required ones are looked at."""

    def check(self, arguments: dict[str, Any]) -> str | None: ...


class Registry:
    """Tools by name, in the order given; a name may come only once (``ValueError``)."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def schemas(self, names: Iterable[str] | None = None) -> tuple[tuple[str, str, dict[str, Any]], ...]:
        """(name, description, schema) of each tool, or of those named, always in the registry's order (caches need that)."""
        wanted = self._tools if names is None else set(names)
        return tuple((tool.name, tool.description, tool.schema) for tool in self if tool.name in wanted)

    def nearest(self, name: str) -> str:
        """What an unknown name may have meant: ``grep or search_code``, empty if nothing is near."""
        return " or ".join(nearest(name, self._tools))

    def validate(self, name: str, arguments: dict[str, Any]) -> str | None:
        """What is wrong with a call, for the model to mend; None if it can be made."""
        tool = self._tools.get(name)
        if tool is None:
            near = self.nearest(name)
            return f"there is no tool {name}{f'; did you mean {near}?' if near else ''} (tools: {', '.join(self._tools)})"
        if isinstance(tool, Checked):
            return tool.check(arguments)
        required = cast("list[str]", tool.schema.get("required", []))
        lacking = [field for field in required if field not in arguments]
        return f"{', '.join(lacking)}: missing" if lacking else None


def default_tools(*, is_secret: Callable[[str], bool] = is_provider_key) -> list[Tool]:
    """The built-in tools that need nothing but their context; ``is_secret`` names variables kept from commands."""
    return [
        ReadFile(), WriteFile(), EditFile(), ApplyPatch(), SearchCode(), Grep(), ListFiles(), FindFiles(),
        RunCommand(is_secret), Todo(), AskUser(), RequestMoreIterations(),
    ]  # fmt: skip
