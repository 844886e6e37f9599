"""The registry, what it says of wrong calls, and that every tool keeps the promises of the contract."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.toolcontext import Context
from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Effect, Intent, Plan, Tool, ToolContext, ToolResult
from tui_agent.tools.planning import AskUser, RequestMoreIterations, Todo
from tui_agent.tools.registry import Registry, default_tools

NAMES = (
    "read_file", "write_file", "edit_file", "apply_patch", "search_code", "grep", "list_files", "find_files", "run_command",
    "todo", "ask_user", "request_more_iterations",
)  # fmt: skip


class Foreign:
    """A tool from elsewhere, with a schema of its own and no check."""

    name = "mcp__git__log"
    description = "Log."
    effect: Effect = "network"
    parallel = False

    def __init__(self) -> None:
        self.schema: dict[str, Any] = {
            "type": "object", "properties": {"repo": {"type": "string"}}, "required": ["repo"]
        }  # fmt: skip

    def summarise(self, arguments: dict[str, Any]) -> str:
        return str(arguments)

    def intent(self, arguments: dict[str, Any], context: ToolContext) -> Intent:
        return Intent(self.name, self.effect)

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return ToolResult("")


@pytest.fixture
def registry() -> Registry:
    return Registry([*default_tools(), Foreign()])


def test_tools_come_in_order_and_once(registry: Registry) -> None:
    assert registry.names == (*NAMES, "mcp__git__log")
    assert [name for name, _, _ in registry.schemas(["grep", "read_file", "nope"])] == ["read_file", "grep"]
    assert registry.get("nope") is None
    with pytest.raises(ValueError, match="two tools"):
        Registry([Foreign(), Foreign()])


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read_file", {"path": 5}, "path: expected string, got 5"),
        ("read_file", {}, "path: missing"),
        ("read_file", {"path": "a", "start": "x"}, 'start: expected whole number, got "x"'),
        ("read_file", {"path": "a", "start": 1.5}, "start: expected whole number, got 1.5"),
        ("read_file", {"path": ["a"] * 100}, 'path: expected string, got ["a"'),
        ("read_file", {"file": "a"}, "file: unknown argument (arguments: path, start, end)"),
        ("read_file", {"path": "a", "strat": 1}, "strat: unknown argument; did you mean start?"),
        (
            "edit_file",
            {"path": "a", "old": "b", "new": "c", "replace_all": "maybe"},
            'replace_all: expected true or false, got "maybe"',
        ),
        ("grep", {"pattern": "x", "path": 5}, "path: expected string or list, got 5"),
        (
            "todo",
            {"items": [{"text": "a", "state": "doing"}]},
            'items[0].state: expected one of active, done, open, got "doing"',
        ),
        ("todo", {"items": [{"state": "open"}]}, "items[0].text: missing"),
        (
            "todo",
            {"items": [{"text": "a", "status": "open"}]},
            "items[0].status: unknown argument; did you mean state? (arguments: text, state)",
        ),
        ("todo", {"items": "a, b"}, 'items: expected list, got "a, b"'),
        ("mcp__git__log", {}, "repo: missing"),
        ("reed_file", {}, "there is no tool reed_file; did you mean read_file"),
        ("xyz", {}, "there is no tool xyz (tools: read_file, "),
    ],
)
def test_wrong_calls_are_explained(
    registry: Registry, name: str, arguments: dict[str, Any], said: str
) -> None:
    error = registry.validate(name, arguments)
    assert error
    assert error.startswith(said)
    assert len(error) < 400


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "a", "start": "5", "end": 7.0}),
        ("read_file", {"path": "a", "start": None, "end": None}),
        ("edit_file", {"path": "a", "old": "b", "new": "c", "replace_all": "true"}),
        ("run_command", {"command": "x", "timeout": "2.5"}),
        ("grep", {"pattern": "x", "path": ["a", "b"]}),
        ("todo", {"items": '[{"text": "a", "state": "done"}]'}),
        ("list_files", {}),
        ("mcp__git__log", {"repo": "x", "more": 1}),
    ],
)
def test_harmless_slips_pass(registry: Registry, name: str, arguments: dict[str, Any]) -> None:
    assert registry.validate(name, arguments) is None


def test_schemas_are_what_all_providers_take(registry: Registry) -> None:
    def check(node: Any) -> None:
        if isinstance(node, dict):
            assert not {"$ref", "$defs", "default"} & node.keys()
            assert node.get("required") != []
            if "enum" in node:
                assert node["type"] == "string"
            for value in node.values():
                check(value)
        elif isinstance(node, list):
            for value in node:
                check(value)

    for name, description, schema in registry.schemas(NAMES):
        check(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert 80 < len(description) < 700, name
        assert all(each["description"] for each in schema["properties"].values())


def test_every_tool_fulfils_the_contract(registry: Registry) -> None:
    tools: list[Tool] = list(registry)
    for tool in tools:
        assert tool.summarise({}) is not None
        assert tool.parallel == (tool.effect == "read")


@pytest.mark.parametrize("name", NAMES)
async def test_wrong_arguments_are_a_tool_error_everywhere(
    registry: Registry, context: Context, name: str
) -> None:
    tool = registry.get(name)
    assert tool
    for arguments in ({"nope": 1}, {"path": {}, "pattern": {}, "command": {}, "items": 3}):
        with pytest.raises(ToolError):
            tool.intent(arguments, context)
        with pytest.raises(ToolError):
            await tool.run(arguments, context)


async def test_a_plan_is_shown(context: Context) -> None:
    arguments = {
        "items": [{"text": "read", "state": "done"}, {"text": "write", "state": "active"}, {"text": "test"}]
    }
    result = await Todo().run(arguments, context)
    assert result.for_model == "1 of 3 done; active: write."
    assert result.display == Plan((("done", "read"), ("active", "write"), ("open", "test")))
    assert Todo().intent(arguments, context).preview == result.display


async def test_a_question_is_answered_or_nobody_is_there(context: Context) -> None:
    context.answers.append("blue")
    arguments = {"question": "Which?", "options": ["red", "blue"]}
    assert (await AskUser().run(arguments, context)).for_model == "The person answers: blue"
    assert context.asked == [("Which?", ("red", "blue"))]
    assert "Nobody is there" in (await AskUser().run(arguments, context)).for_model
    with pytest.raises(ToolError, match="empty"):
        AskUser().intent({"question": " "}, context)


async def test_more_steps_need_a_reason(context: Context) -> None:
    assert (
        await RequestMoreIterations().run({"reason": "two tests left"}, context)
    ).for_model == "10 more steps"
    assert context.reasons == ["two tests left"]
    with pytest.raises(ToolError, match="empty"):
        RequestMoreIterations().intent({"reason": ""}, context)
