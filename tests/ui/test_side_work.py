"""What a person runs beside the agent (``!`` lines, ``/compact``): keys stop it, and no text that is refused is lost."""

import pytest

from tests.ui.stage import MODEL, Stage, on_stage
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.messages import Call
from tui_agent.engine.launch import Launch
from tui_agent.ui.models import ModelScreen

SIZES = {"before_messages": 2, "after_messages": 2, "before_tokens": 9, "after_tokens": 9}


async def run_shell_line(stage: Stage) -> None:
    """``!sleep 100`` runs while the agent is idle."""
    await stage.begin()
    await stage.end()
    call = Call(id="shell-1", name="run_command", arguments={"command": "sleep 100"})
    await stage.tell((ev.ToolExecutionStart, {"call": call, "summary": "sleep 100", "effect": "execute"}))


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_one_key_stops_a_shell_line_and_leaves_the_text_alone(key: str) -> None:
    async with on_stage() as stage:
        await run_shell_line(stage)
        assert "esc stops" in stage.rows("activity")
        assert "step" not in stage.rows("activity")
        await stage.type("half a thought")
        await stage.press(key)
        assert stage.sent == [cmd.Interrupt(now=True)]
        assert stage.composer.text == "half a thought"
        await stage.tell(
            (
                ev.ToolExecutionEnd,
                {"call_id": "shell-1", "name": "run_command", "status": "interrupted", "text": ""},
            )
        )
        await stage.press(key)
        assert stage.sent == []


async def test_a_second_escape_does_not_open_the_rewinder_while_a_shell_line_runs() -> None:
    async with on_stage() as stage:
        await run_shell_line(stage)
        await stage.press("escape", "escape")
        assert stage.app.screen is stage.screen
        assert cmd.Interrupt(now=True) in stage.sent


async def test_compacting_on_request_can_be_stopped_until_it_is_done() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.end()
        await stage.type("/compact the file names ")
        await stage.press("enter")
        assert stage.sent == [cmd.Compact(keep="the file names")]
        await stage.press("escape")
        assert stage.sent == [cmd.Interrupt(now=True)]
        await stage.type("/compact again ")
        await stage.press("enter")
        await stage.tell((ev.Compaction, {"method": "none", **SIZES}))
        stage.source.sent.clear()
        await stage.press("escape")
        assert stage.sent == []


@pytest.mark.parametrize("text", ["!ls", "!!ls"])
async def test_a_shell_line_is_kept_while_the_agent_works(text: str) -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.type(f"{text}\n")
        assert stage.sent == []
        assert stage.composer.text == text
        assert "the agent works" in stage.said


@pytest.mark.parametrize(("text", "key"), [("!ls", "enter"), ("and now", "enter"), ("and then", "tab")])
async def test_a_text_is_kept_while_a_shell_line_runs(text: str, key: str) -> None:
    async with on_stage() as stage:
        await run_shell_line(stage)
        await stage.type(text)
        await stage.press(key)
        assert stage.sent == []
        assert stage.composer.text == text
        assert "your command runs" in stage.said


@pytest.mark.parametrize("key", ["enter", "tab"])
async def test_without_a_model_a_message_is_sent_when_one_is_chosen(key: str) -> None:
    async with on_stage() as stage:
        await stage.tell(
            (ev.SessionStart, {"version": 1, "id": "s", "kind": "interactive", "cwd": "/src", "model": ""})
        )
        await stage.type("hello there")
        await stage.press(key)
        assert isinstance(stage.app.screen, ModelScreen)
        assert stage.composer.text == "hello there"
        assert stage.sent == []
        await stage.press("escape")
        assert stage.composer.text == "hello there"
        assert stage.sent == []
        await stage.press(key)
        await stage.type("openai/gpt-5-mini")
        await stage.press("enter")
        await stage.until(lambda: stage.app.screen is stage.screen)
        chosen, message = stage.sent
        assert isinstance(chosen, cmd.SetModel)
        assert message == cmd.Prompt(text="hello there")
        assert stage.composer.text == ""


async def test_a_message_goes_out_at_once_where_the_session_brings_its_model() -> None:
    async with on_stage(launch=Launch(cwd=".", overrides={"model": MODEL})) as stage:
        await stage.type("hello\n")
        assert stage.sent == [cmd.Prompt(text="hello")]


async def test_the_number_of_a_limit_is_asked_for_where_the_card_is() -> None:
    async with on_stage() as stage:
        await stage.begin(max_steps=2)
        await stage.tell((ev.GuardTripped, {"reason": "max_steps", "used": 2, "allowed": 2, "asks": True}))
        await stage.press("a")
        await stage.type("12")
        assert stage.composer.text == "/extend 12"
        assert "type a number of more steps, then enter" in stage.card
        assert "your text comes first" not in stage.card
        await stage.press("enter")
        assert stage.sent == [cmd.Extend(choice="continue", amount=12)]


async def test_the_trace_begins_anew_with_the_session() -> None:
    async with on_stage(size=(100, 40)) as stage:
        await stage.begin("the first session")
        await stage.end()
        await stage.press("f12")
        assert "Step 1" in stage.rows("trace")
        before = len(stage.sources)
        await stage.press("ctrl+x", "n")
        await stage.until(lambda: len(stage.sources) > before and stage.source.started)
        assert stage.rows("trace").strip() == ""
        stage.seq = 0
        await stage.begin("the second session")
        assert stage.rows("trace").count("Step 1") == 1
        assert "(1 message)" in stage.rows("trace")
