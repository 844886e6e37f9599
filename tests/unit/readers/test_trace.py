"""The human trace: the specified lines to the letter in Spanish, their twins in English, and nothing raw from outside."""

from __future__ import annotations

import re
import string
from typing import get_args

import pytest

from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.core.messages import Call, Message, Text, user
from tui_agent.core.tool import Intent
from tui_agent.readers.trace import HUMAN, HumanTrace
from tui_agent.readers.trace_page import clean
from tui_agent.readers.trace_words import ENGLISH, SPANISH, Language

START = ev.AgentStart(run="r", model="m", limits=ev.RunLimits(step_timeout=60), system="You are …")


def told(events: list[ev.Event], language: Language = "es") -> list[str]:
    trace = HumanTrace(language)
    return [line for event in events for line in trace.feed(event)]


def said(number: int, *calls: Call) -> ev.MessageEnd:
    text = () if calls else (Text("done"),)
    return ev.MessageEnd(message=Message(f"a{number}", "assistant", (*text, *calls), origin="model"))


def ran(call: Call, summary: str, *between: ev.Event, **end: str) -> list[ev.Event]:
    given = {"status": "ok", "text": "", **end}
    finish = ev.ToolExecutionEnd(call_id=call.id, name=call.name, **given)  # pyright: ignore[reportArgumentType]
    return [ev.ToolExecutionStart(call=call, summary=summary), *between, finish]


def hook(call: Call, name: str, status: str = "ok", output: str = "", **more: object) -> ev.HookEnd:
    given = {
        "call_id": call.id,
        "name": name,
        "path": "src/main.py",
        "status": status,
        "output": output,
        **more,
    }
    return ev.HookEnd(**given)  # pyright: ignore[reportArgumentType]


def end(reason: ev.StopReason, status: ev.Status, steps: int = 3, **more: object) -> ev.AgentEnd:
    return ev.AgentEnd(run="r", stop_reason=reason, status=status, steps=steps, tool_calls=3, **more)  # pyright: ignore[reportArgumentType]


READ_MAIN, READ_CONFIG = Call("c1", "read_file"), Call("c2", "read_file")
EDIT = Call("c3", "edit_file")

EXAMPLE: list[ev.Event] = [
    START,
    ev.MessageEnd(message=user("u", "refactor main.py")),
    ev.MessageEnd(message=user("u2", "and mind the tests")),
    ev.TurnStart(step=1),
    said(1, READ_MAIN, READ_CONFIG),
    *ran(READ_MAIN, "src/main.py"),
    *ran(READ_CONFIG, "src/config.py"),
    ev.TurnEnd(step=1),
    ev.SteeringDelivered(messages=()),
    ev.TurnStart(step=2),
    said(2, EDIT),
    *ran(EDIT, "src/main.py (3→5 lines)", hook(EDIT, "ruff")),
    ev.TurnStart(step=3),
    said(3),
    end("llm_done", "success"),
]


def test_the_seeds_example() -> None:
    """Only the numbers of messages differ from the specification's picture, whose own do not add up."""
    assert "\n".join(told(EXAMPLE)) == (
        "🔄 Paso 1 → Llamada al LLM (3 mensajes)\n"
        "   ✓ LLM respondió con 2 tool calls\n"
        "\n"
        "   🔧 read_file → src/main.py\n"
        "      ✓ OK\n"
        "   🔧 read_file → src/config.py\n"
        "      ✓ OK\n"
        "\n"
        "🔄 Paso 2 → Llamada al LLM (6 mensajes)\n"
        "   ✓ LLM respondió con 1 tool call\n"
        "\n"
        "   🔧 edit_file → src/main.py (3→5 líneas)\n"
        "      ✓ OK\n"
        "      🔍 Hook ruff: ✓\n"
        "\n"
        "🔄 Paso 3 → Llamada al LLM (8 mensajes)\n"
        "   ✓ LLM respondió con texto final\n"
        "\n"
        "✅ Agente completado (3 pasos)\n"
        "   Razón: LLM decidió que terminó\n"
        "  (3 pasos, 3 tool calls)"
    )


def test_the_english_twin() -> None:
    assert "\n".join(told(EXAMPLE, "en")) == (
        "🔄 Step 1 → LLM call (3 messages)\n"
        "   ✓ LLM replied with 2 tool calls\n"
        "\n"
        "   🔧 read_file → src/main.py\n"
        "      ✓ OK\n"
        "   🔧 read_file → src/config.py\n"
        "      ✓ OK\n"
        "\n"
        "🔄 Step 2 → LLM call (6 messages)\n"
        "   ✓ LLM replied with 1 tool call\n"
        "\n"
        "   🔧 edit_file → src/main.py (3→5 lines)\n"
        "      ✓ OK\n"
        "      🔍 Hook ruff: ✓\n"
        "\n"
        "🔄 Step 3 → LLM call (8 messages)\n"
        "   ✓ LLM replied with final text\n"
        "\n"
        "✅ Agent finished (3 steps)\n"
        "   Reason: LLM decided that it was done\n"
        "  (3 steps, 3 tool calls)"
    )


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        (
            ran(Call("c", "mcp__github__search"), "fix the login"),
            ["   🌐 mcp__github__search → fix the login (MCP: github)", "      ✓ OK"],
        ),
        (
            ran(READ_MAIN, "no.py", status="error", text="no.py does not exist\ndid you mean on.py?"),
            ["   🔧 read_file → no.py", "      ✗ ERROR: no.py does not exist"],
        ),
        (
            ran(EDIT, "a.py (1 line)", hook(EDIT, "python-lint", "failed", "src/main.py:45: E302 expected 2 blank lines, found 1\n")),
            [
                "   🔧 edit_file → a.py (1 línea)",
                "      ✓ OK",
                "      🔍 Hook python-lint: ⚠️",
                "         src/main.py:45: E302 expected 2 blank lines, found 1",
            ],
        ),
        (ran(EDIT, "src/main.py (42 lines)"), ["   🔧 edit_file → src/main.py (42 líneas)", "      ✓ OK"]),
        (ran(EDIT, "src/main.py (+5 −3)"), ["   🔧 edit_file → src/main.py (+5 -3)", "      ✓ OK"]),
        (ran(EDIT, '"validate_path" in src/'), ['   🔧 edit_file → "validate_path" en src/', "      ✓ OK"]),
        (
            [ev.TurnStart(step=50), ev.Closing(reason="max_steps", message=user("s", "sum up"))],
            ["🔄 Paso 50 → Llamada al LLM (0 mensajes)", "", "🔄 Cerrando (max_steps, 1 paso)"],
        ),
        ([ev.GuardTripped(reason="max_steps", used=50, allowed=50)], ["⚠️ Límite de pasos alcanzado... (50/50)"]),
        ([ev.GuardTripped(reason="budget_exceeded", used=0.5, allowed=0.5)], ["⚠️ Presupuesto agotado... ($0.50/$0.50)"]),
        (
            [ev.GuardTripped(reason="budget_exceeded", used=0.0, allowed=0.0005)],
            ["⚠️ Presupuesto agotado... ($0.00/$0.0005)"],
        ),
        ([ev.GuardTripped(reason="context_full")], ["⚠️ Ventana de contexto llena..."]),
        (
            [START, ev.MessageEnd(message=Message("a", "assistant", ()), failure=Failure("timeout", "late", step=True))],
            ["⚠️ Step timeout (60s)..."],
        ),
        (
            [end("llm_error", "failed", failure=Failure("auth", "401: no key", hint="set OPENAI_API_KEY"))],
            [
                "❌ Error del LLM: 401: no key",
                "   Razón: Error irrecuperable del LLM",
                "   Qué hacer: set OPENAI_API_KEY",
                "  (3 pasos, 3 tool calls)",
            ],
        ),
        (
            [end("user_interrupt", "partial", 1)],
            ["⚠️ Agente detenido (1 paso)", "   Razón: Interrumpido por el usuario", "  (1 paso, 3 tool calls)"],
        ),
        (
            [end("llm_done", "success", cost_usd=0.0042)],
            [
                "✅ Agente completado (3 pasos)",
                "   Razón: LLM decidió que terminó",
                "   Coste: $0.0042",
                "  (3 pasos, 3 tool calls)",
            ],
        ),
        (
            [end("llm_done", "partial", cost_usd=None)],
            [
                "⚠️ Agente completado en parte (3 pasos)",
                "   Razón: La autoevaluación no se superó",
                "   Coste: $?",
                "  (3 pasos, 3 tool calls)",
            ],
        ),
        (
            [ev.Retry(ts=100.0, failure=Failure("rate_limit", "slow down"), attempt=1, limit=3, until=104.0)],
            ["   ⚠️ rate_limit: slow down · reintento 1/3 en 4 s"],
        ),
    ],
)  # fmt: skip
def test_lines(events: list[ev.Event], lines: list[str]) -> None:
    assert told(events) == lines


def test_calls_that_run_at_once_keep_their_own_outcome_and_hooks() -> None:
    one, two, three = Call("c1", "edit_file"), Call("c2", "edit_file"), Call("c3", "read_file")
    a, b, c = (ran(call, f"{call.id}.py") for call in (one, two, three))
    mixed: list[ev.Event] = [
        a[0],
        b[0],
        c[0],
        hook(two, "lint"),
        b[1],
        hook(one, "lint", "missing"),
        a[1],
        c[1],
    ]
    assert told(mixed) == [
        "   🔧 edit_file → c1.py",
        "      ✓ OK",
        "      🔍 Hook lint: ⚠️ comando no encontrado",
        "   🔧 edit_file → c2.py",
        "      ✓ OK",
        "      🔍 Hook lint: ✓",
        "   🔧 read_file → c3.py",
        "      ✓ OK",
    ]


def test_a_call_that_the_run_left_open_is_said_to_be_interrupted() -> None:
    lines = told([*(ran(call, call.id)[0] for call in (READ_MAIN, EDIT)), end("internal_error", "failed")])
    assert lines[:4] == [
        "   🔧 read_file → c1", "      ⏸ INTERRUMPIDA", "   🔧 edit_file → c3", "      ⏸ INTERRUMPIDA",
    ]  # fmt: skip


def test_an_unknown_tool_has_a_line_though_it_never_started() -> None:
    lines = told([ev.ToolExecutionEnd(call_id="x", name="reed_file", status="error", text="no such tool")])
    assert lines == ["   🔧 reed_file", "      ✗ ERROR: no such tool"]


def test_a_denied_call_says_what_was_denied() -> None:
    call = Call("c1", "run_command", {"timeout": 3, "command": "rm -rf x"})
    lines = told(
        [
            ev.MessageEnd(message=Message("a", "assistant", (call,))),
            ev.ToolExecutionEnd(call_id="c1", name="run_command", status="denied", text="nobody is here"),
        ]
    )
    assert lines[-2:] == ["   🔧 run_command → rm -rf x", "      ⊘ DENEGADA: nobody is here"]


def test_a_dry_run_does_not_call_it_done() -> None:
    text = "Dry run: this would write a.py."
    done = ev.ToolExecutionEnd(call_id="c", name="write_file", status="ok", text=text, summary="would do")
    assert told([done]) == ["   🔧 write_file", f"      ◌ {text}"]


def test_a_run_without_a_person_says_how_to_allow_what_it_was_not_allowed() -> None:
    denied = ev.ToolExecutionEnd(
        call_id="c1", name="run_command", status="denied", text="nobody is here", summary="needs approval"
    )
    (line,) = [
        line
        for line in told([START, denied, end("llm_done", "success"), START, end("llm_done", "success")], "en")
        if "Not approved" in line
    ]
    assert line.startswith("   Not approved: 1 tool call; --confirm yolo")


@pytest.mark.parametrize(
    ("event", "lines"),
    [
        (ev.ModeChanged(mode="plan"), ["   ⇄ Mode: plan"]),
        (ev.ModeChanged(confirm="yolo"), ["   ⇄ Approvals: yolo"]),
        (ev.ModeChanged(mode="plan", confirm="yolo"), ["   ⇄ Mode: plan", "   ⇄ Approvals: yolo"]),
    ],
)
def test_modes(event: ev.ModeChanged, lines: list[str]) -> None:
    assert told([event], "en") == lines


@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize("reason", get_args(ev.StopReason))
def test_every_stop_reason_ends_in_words(reason: ev.StopReason, language: Language) -> None:
    status: ev.Status = "success" if reason == "llm_done" else "partial"
    lines = told([end(reason, status), ev.GuardTripped(reason=reason, used=1, allowed=1)], language)
    assert len(lines) >= 4
    assert not any(reason in line for line in lines)


def test_messages_are_counted_across_compaction_and_rewind() -> None:
    trace = HumanTrace()
    events: list[ev.Event] = [
        ev.MessageEnd(seq=1, message=user("u", "one")),
        ev.MessageEnd(seq=2, message=Message("a", "assistant", (Text("x"),))),
        ev.MessageEnd(seq=3, message=user("v", "two")),
    ]
    for event in events:
        trace.feed(event)
    assert trace.feed(ev.TurnStart(step=1)) == ["", "🔄 Step 1 → LLM call (3 messages)"]
    trace.feed(
        ev.Compaction(
            seq=4, method="model", before_messages=3, after_messages=2, before_tokens=9, after_tokens=5
        )
    )
    assert "(2 messages)" in trace.feed(ev.TurnStart(step=2))[-1]
    trace.feed(ev.Rewind(seq=5, to_seq=1))
    assert "(1 message)" in trace.feed(ev.TurnStart(step=3))[-1]


HOSTILE = "\x1b[31mred\x1b[0m\r\n\x07bell \x9b2J \u202etxt [bold]markup[/] {braces} \ud800"


def test_hostile_text_is_made_visible() -> None:
    call = Call("c", f"mcp__{HOSTILE}__x")
    events: list[ev.Event] = [
        *ran(call, HOSTILE, hook(call, HOSTILE, "failed", HOSTILE), status="error", text=HOSTILE),
        ev.ApprovalRequested(id="a", call_id="c", intent=Intent(HOSTILE, "execute"), why=HOSTILE),
        ev.ApprovalResolved(id="a", decision="deny", note=HOSTILE),
        ev.QuestionAsked(id="q", call_id="c", question=HOSTILE),
        ev.QuestionAnswered(id="q", text=HOSTILE),
        ev.SteeringQueued(id="s", text=HOSTILE),
        ev.SteeringDelivered(messages=(user("s", HOSTILE),)),
        ev.FollowUpQueued(id="f", text=HOSTILE),
        ev.FollowUpDelivered(messages=(user("f", HOSTILE),)),
        ev.Retry(failure=Failure("server", HOSTILE), attempt=1, limit=3, until=0),
        ev.Fallback(source=HOSTILE, target=HOSTILE, why=HOSTILE),
        ev.Compaction(
            method="none", before_messages=1, after_messages=1, before_tokens=1, after_tokens=1, why=HOSTILE
        ),
        ev.Stall(kind="same_call", count=3, action="warn", what=HOSTILE),
        ev.Evaluation(attempt=1, passed=False, issues=(HOSTILE,)),
        ev.Evaluation(attempt=1, passed=False, error=HOSTILE),
        ev.Advisor(model=HOSTILE, error=HOSTILE),
        ev.Memory(action="remembered", text=HOSTILE),
        ev.ModelChanged(model=HOSTILE, why=HOSTILE),
        ev.LimitExtended(limit="max_steps", value=60, why=HOSTILE),
        ev.Notice(level="error", text=HOSTILE, hint=HOSTILE),
        end("internal_error", "failed", detail=HOSTILE, failure=Failure("unknown", HOSTILE, hint=HOSTILE)),
    ]
    lines = told(events)
    assert len(lines) > len(events)
    for line in lines:
        assert all(char.isprintable() for char in line), line
    assert any("\\x1b[31mred" in line and "[bold]markup[/] {braces}" in line for line in lines)


def test_clean_keeps_joined_emoji_and_cuts_long_lines() -> None:
    assert clean("👩\u200d💻 ok") == "👩\u200d💻 ok"
    assert clean("a\nb") == "a ↵ b"
    assert clean("x" * 300, 10) == "xxxxxxxxxx…"


def test_both_languages_say_the_same_things() -> None:
    def holes(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    assert ENGLISH.keys() == SPANISH.keys()
    for key, english in ENGLISH.items():
        assert holes(english) == holes(SPANISH[key]), key
        assert re.match(r" *", english)[0] == re.match(r" *", SPANISH[key])[0], key  # pyright: ignore[reportOptionalSubscript]


def test_the_level_is_between_info_and_warning() -> None:
    import logging

    assert logging.INFO < HUMAN < logging.WARNING
    assert logging.getLevelName(HUMAN) == "HUMAN"


def test_every_result_counts_as_a_message() -> None:
    """As specified, and as on the providers' wire, where a batch of two calls brings two tool messages."""
    trace = HumanTrace()
    events = [said(1, READ_MAIN, READ_CONFIG), *ran(READ_MAIN, "a"), *ran(READ_CONFIG, "b")]
    for event in events:
        trace.feed(event)
    assert "(3 messages)" in trace.feed(ev.TurnStart(step=2))[-1]
