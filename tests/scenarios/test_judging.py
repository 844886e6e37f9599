"""Self-evaluation, advisors and routing inside whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.agents import Turn, bench
from tui_agent.config.sections import Routing
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.core.errors import Failure
from tui_agent.llm.api import ReportedUsage, Request

NO = '{"completed": false, "confidence": 0.9, "issues": ["42 is wrong"], "suggestion": "compute it"}'
YES = '```json\n{"completed": true, "confidence": 0.92, "issues": []}\n```'
USED = ReportedUsage(input=100, output=10)


def judged(*verdicts: str, answers: tuple[str, ...] = ("42", "43", "44")):
    """A model that gives one answer after the other, and one verdict after the other when it is asked for one."""
    said, given = iter(answers), iter(verdicts)

    def script(request: Request) -> Turn:
        if request.json_object:
            return Turn(next(given), usage=USED)
        return Turn(next(said), usage=USED)

    return script


async def test_full_evaluation_corrects_a_wrong_result_in_the_same_context(tmp_path: Path) -> None:
    b = bench(tmp_path, judged(NO, YES), self_eval="full", prices=(1e-6, 1e-6))
    end = await b.run()
    assert (end.status, end.final_output) == ("success", "43")
    assert [(e.attempt, e.passed, e.confidence) for e in b.of(ev.Evaluation)] == [
        (1, False, 0.9),
        (2, True, 0.92),
    ]
    correction = next(r for r in b.requests if not r.json_object and len(r.messages) > 1)
    assert [m.text for m in correction.messages][:2] == ["do it", "42"]
    assert "42 is wrong" in correction.messages[-1].text
    assert len([u for u in b.of(ev.Usage) if u.purpose == "evaluation"]) == 2
    assert end.cost_usd == pytest.approx(4 * 110e-6), "evaluation calls are paid too"


async def test_after_two_corrections_the_best_attempt_is_kept_and_the_run_is_partial(tmp_path: Path) -> None:
    better = NO.replace("0.9", "0.95")
    b = bench(tmp_path, judged(NO, better, NO), self_eval="full")
    end = await b.run()
    assert (end.stop_reason, end.status, end.final_output) == ("llm_done", "partial", "43")
    assert len(b.of(ev.Evaluation)) == 3


async def test_basic_evaluation_judges_once(tmp_path: Path) -> None:
    b = bench(tmp_path, judged(NO), self_eval="basic")
    assert (await b.run()).status == "partial"
    assert len(b.requests) == 2


@pytest.mark.parametrize("verdict", ["I like it", ""])
async def test_a_failed_evaluation_is_a_note_and_no_failure(tmp_path: Path, verdict: str) -> None:
    b = bench(tmp_path, judged(verdict), self_eval="full")
    assert (await b.run()).status == "success"
    assert b.of(ev.Evaluation)[0].error


async def test_an_evaluation_call_that_fails_is_not_retried(tmp_path: Path) -> None:
    b = bench(
        tmp_path,
        lambda r: Turn(failure=Failure("server", "500")) if r.json_object else Turn("42"),
        self_eval="basic",
    )
    assert (await b.run()).status == "success"
    assert len(b.requests) == 2


async def test_nothing_but_success_is_evaluated(tmp_path: Path) -> None:
    b = bench(tmp_path, [Turn(failure=Failure("content_policy", "no"))], self_eval="full")
    assert (await b.run()).status == "failed"
    assert not b.of(ev.Evaluation)


async def test_advisors_draft_in_parallel_for_the_api_copy_only(tmp_path: Path) -> None:
    def script(request: Request) -> Turn:
        if request.model.name == "test/bad":
            return Turn(failure=Failure("server", "down"))
        if request.model.name != "test/one":
            return Turn(f"draft of {request.model.name}", usage=USED)
        return Turn("look", calls=(("look", {}),)) if len(request.messages) == 1 else Turn("the answer")

    b = bench(tmp_path, script, moa=("test/a", "test/bad", "test/b"), prices=(1e-6, 1e-6))
    end = await b.run()
    assert end.final_output == "the answer"
    own = [request for request in b.requests if request.model.name == "test/one"]
    assert "draft of test/a" in own[0].messages[-1].text
    assert "draft of test/b" in own[0].messages[-1].text
    assert "draft" not in "".join(message.text for message in b.state.messages)
    assert all(not request.tools for request in b.requests if request.model.name != "test/one")
    notes = {event.model: event.error for event in b.of(ev.Advisor)}
    assert notes == {"test/a": "", "test/bad": "down", "test/b": ""}
    assert len([u for u in b.of(ev.Usage) if u.purpose == "moa"]) == 2


async def test_routing_chooses_unless_a_person_did(tmp_path: Path) -> None:
    routing = Routing(enabled=True, fast="test/fast", smart="test/smart")
    b = bench(tmp_path, lambda _: Turn("ok"), routing=routing)
    await b.run("fix the typo")
    await b.run("refactor the whole store")
    await b.run("add a flag to it")
    b.mailbox.handle(cmd.SetModel(model="test/mine"))
    await b.run("fix the typo")
    assert [r.model.name for r in b.requests] == ["test/fast", "test/smart", "test/one", "test/mine"]
    assert "typo" in b.of(ev.AgentStart)[0].why
