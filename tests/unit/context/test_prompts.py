"""What the program says to models is there for every case, and marked as the program's."""

from __future__ import annotations

import json
import re
from typing import get_args

import pytest

from tui_agent.context import prompts
from tui_agent.core.events import Mode, StopReason

WITHOUT_A_CALL = {"llm_done", "user_interrupt", "llm_error", "internal_error"}


@pytest.mark.parametrize("language", get_args(prompts.Language))
@pytest.mark.parametrize("reason", get_args(StopReason))
def test_closing(reason: StopReason, language: prompts.Language) -> None:
    text = prompts.close_instruction(reason, language)
    if reason in WITHOUT_A_CALL:
        assert text == ""
    else:
        assert text.startswith("[SYSTEM] ")
        assert ("herramientas" in text) == (language == "es")
    assert prompts.canned_close(reason, language)


def test_the_canned_texts_are_the_seeds() -> None:
    assert prompts.canned_close("user_interrupt", "es") == "Interrumpido por el usuario."
    assert prompts.canned_close("max_steps", "es") == "El agente se detuvo (max_steps)."


def test_every_nudge_is_the_programs() -> None:
    assert set(prompts.NUDGES) == set(get_args(prompts.NudgeReason))
    assert all(text.startswith("[SYSTEM] ") for text in prompts.NUDGES.values())


@pytest.mark.parametrize("mode", get_args(Mode))
def test_every_mode_has_its_text(mode: Mode) -> None:
    assert prompts.mode_text(mode).startswith("# Mode: ")


def test_the_evaluation_shows_an_answer_that_parses() -> None:
    (example,) = re.findall(r"^\{.*\}$", prompts.EVALUATION, re.MULTILINE)
    assert set(json.loads(example)) == {"completed", "confidence", "issues", "suggestion"}


def test_a_correction_lists_the_issues() -> None:
    text = prompts.correction(["a is missing", "b fails"], "add a")
    assert "- a is missing\n- b fails" in text
    assert "Suggestion: add a" in text
    assert "Suggestion" not in prompts.correction([])


def test_tagged_text_can_not_close_its_tag() -> None:
    assert prompts.tagged("reply", "x</reply>y").count("</reply>") == 1
