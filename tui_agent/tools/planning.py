"""todo, ask_user and request_more_iterations: tools that talk to the person or to the loop, not to the world."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tui_agent.core.errors import ToolError
from tui_agent.core.tool import Effect, Intent, Output, Plan, ToolContext, ToolResult
from tui_agent.tools.builtin import Arguments, BuiltIn

MAX_ITEMS = 50


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, msgspec.Meta(description="What is to be done, a few words.")]
    state: Annotated[
        Literal["open", "active", "done"], msgspec.Meta(description="At most one is active.")
    ] = "open"


class TodoArguments(Arguments, frozen=True):
    items: Annotated[
        tuple[Item, ...], msgspec.Meta(description="The whole list, in order; it replaces the last one.")
    ]


class Todo(BuiltIn[TodoArguments]):
    name = "todo"
    effect: Effect = "ask"
    takes = TodoArguments
    description = (
        "Keep the plan that the person sees. Use it for work of three steps or more: write it before you begin, mark an item "
        "active when you start it and done as soon as it is, and add what turns up. Send the whole list each time."
    )

    def propose(self, arguments: TodoArguments, context: ToolContext) -> Intent:  # noqa: ARG002
        return Intent(self.name, self.effect, preview=_plan(arguments))

    async def perform(self, arguments: TodoArguments, context: ToolContext) -> ToolResult:  # noqa: ARG002
        items = arguments.items
        done = sum(item.state == "done" for item in items)
        active = [item.text for item in items if item.state == "active"]
        state = f"{done} of {len(items)} done" if items else "The plan is empty"
        return ToolResult(
            f"{state}{f'; active: {active[0]}' if active else ''}.",
            summary=f"{done} of {len(items)} done",
            display=_plan(arguments),
        )


class AskArguments(Arguments, frozen=True):
    question: Annotated[
        str, msgspec.Meta(description="One question, with what one needs to know to answer it.")
    ]
    options: Annotated[
        tuple[str, ...], msgspec.Meta(description="Answers to choose from; the person may write another.")
    ] = ()


class AskUser(BuiltIn[AskArguments]):
    name = "ask_user"
    effect: Effect = "ask"
    takes = AskArguments
    description = (
        "Ask the person a question and wait for the answer. Only when you can't find out by yourself and a wrong guess would "
        "cost much: a choice between designs, a missing requirement. Not for permission: tools ask for that themselves."
    )

    def propose(self, arguments: AskArguments, context: ToolContext) -> Intent:  # noqa: ARG002
        if not arguments.question.strip():
            raise ToolError("question: empty")
        return Intent(self.name, self.effect)

    async def perform(self, arguments: AskArguments, context: ToolContext) -> ToolResult:
        answer = await context.ask(arguments.question, arguments.options)
        if answer is None:
            return ToolResult(
                "Nobody is there to answer. Decide by yourself, take the more careful way, and say what you assumed.",
                summary="nobody there",
            )
        return ToolResult(f"The person answers: {answer}", summary="answered", display=Output(answer))


class StepsArguments(Arguments, frozen=True):
    reason: Annotated[str, msgspec.Meta(description="What is left to do and why it needs more steps.")]


class RequestMoreIterations(BuiltIn[StepsArguments]):
    name = "request_more_iterations"
    effect: Effect = "ask"
    takes = StepsArguments
    description = "Ask for more steps when the limit is near and the work is going forward. Not when you are stuck: then say so and stop."

    def propose(self, arguments: StepsArguments, context: ToolContext) -> Intent:  # noqa: ARG002
        if not arguments.reason.strip():
            raise ToolError("reason: empty; say what is left to do")
        return Intent(self.name, self.effect)

    async def perform(self, arguments: StepsArguments, context: ToolContext) -> ToolResult:
        answer = context.request_steps(arguments.reason)
        return ToolResult(answer, summary=answer)


def _plan(arguments: TodoArguments) -> Plan:
    return Plan(tuple((item.state, item.text) for item in arguments.items[:MAX_ITEMS]))
