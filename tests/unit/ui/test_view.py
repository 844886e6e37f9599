"""The fold for the screen: what each event makes of the page, the gauges, and what waits."""

import time
from collections.abc import Iterable
from typing import Any

import pytest

from tui_agent.core import events as ev
from tui_agent.core import messages as msg
from tui_agent.core.errors import Failure
from tui_agent.core.events import Event
from tui_agent.core.messages import Call, Message, Reasoning, Text
from tui_agent.core.tool import Diff, Intent, Output, Plan
from tui_agent.ui.blocks import AssistantBlock, CardBlock, NoticeBlock, ReasoningBlock, ToolBlock, UserBlock
from tui_agent.ui.view import View

MODEL = "anthropic/claude-sonnet-4-5"
START = 1_767_225_600.0


class Story:
    """Events with their numbers and times; every one is folded as it is told."""

    def __init__(self) -> None:
        self.view = View()
        self.events: list[Event] = []
        self.ts = START

    def tell(self, event_type: type[Event], /, *, after: float = 1.0, **fields: Any) -> None:
        self.ts += after
        event = event_type(seq=len(self.events) + 1, ts=self.ts, **fields)
        self.events.append(event)
        self.view.apply(event)

    def stream(self, id: str, delta: str, text: str, **fields: Any) -> None:
        self.ts += 0.1
        self.view.apply(ev.MessageUpdate(ts=self.ts, id=id, delta=delta, text=text, **fields))  # type: ignore[arg-type]

    def begin(self, **limits: Any) -> None:
        self.tell(ev.SessionStart, version=1, id="s1", kind="interactive", cwd="/src", model=MODEL)
        self.run(**limits)

    def run(self, **limits: Any) -> None:
        self.tell(
            ev.AgentStart,
            run=f"r{len(self.events)}",
            model=MODEL,
            limits=ev.RunLimits(**limits),
            window=200_000,
        )

    def say(self, text: str, id: str = "u1") -> None:
        self.tell(ev.MessageEnd, message=msg.user(id, text))

    def answer(self, id: str, *parts: Any, **fields: Any) -> None:
        self.tell(
            ev.MessageEnd, message=Message(id=id, role="assistant", parts=parts, origin="model", **fields)
        )

    def call(self, id: str, name: str = "run_command", message: str = "a1", **fields: Any) -> Call:
        call = Call(id=id, name=name, arguments={"command": "pytest"})
        self.answer(message, call)
        self.tell(ev.ToolExecutionStart, call=call, summary="pytest", **fields)
        return call

    def end(self, reason: str = "llm_done", status: str = "success", **fields: Any) -> CardBlock:
        self.tell(ev.AgentEnd, run="r", stop_reason=reason, status=status, **fields)
        card = self.view.blocks[-1]
        assert isinstance(card, CardBlock)
        return card

    def blocks(self, kind: type) -> list[Any]:
        return [block for block in self.view.blocks if isinstance(block, kind)]

    @property
    def last(self) -> Any:
        return self.view.blocks[-1]


@pytest.fixture
def story() -> Story:
    story = Story()
    story.begin()
    story.say("fix the test")
    return story


# ---- messages


def test_a_prompt_is_a_block_and_names_the_session(story: Story) -> None:
    assert [block.text for block in story.blocks(UserBlock)] == ["fix the test"]
    assert story.view.title == "fix the test"
    story.tell(ev.SessionRenamed, title="the flaky one")
    assert story.view.title == "the flaky one"


def test_a_stream_becomes_reasoning_then_text_then_is_replaced(story: Story) -> None:
    story.tell(ev.TurnStart, step=1)
    story.tell(ev.MessageStart, id="a1", role="assistant", model=MODEL)
    story.stream("a1", "reasoning", "let me ")
    story.stream("a1", "reasoning", "think")
    thought = story.last
    assert isinstance(thought, ReasoningBlock)
    assert thought.live
    assert thought.text == "let me think"
    story.stream("a1", "text", "Here ")
    assert not thought.live
    assert thought.duration == pytest.approx(0.2)
    assert story.last.text == "Here "
    assert story.last.live
    story.answer("a1", Reasoning("let me think"), Text("Here it is."))
    assert [block.text for block in story.blocks(AssistantBlock)] == ["Here it is."]
    assert not story.last.live
    assert len(story.blocks(ReasoningBlock)) == 1


def test_text_of_the_log_and_of_the_screen_is_not_shown_twice(story: Story) -> None:
    story.tell(ev.MessageStart, id="a1", role="assistant")
    story.stream("a1", "text", "once")
    story.tell(ev.MessageUpdate, id="a1", delta="text", text="once")
    assert story.last.text == "once"


def test_a_blank_text_makes_no_block(story: Story) -> None:
    story.tell(ev.MessageStart, id="a1", role="assistant")
    story.stream("a1", "text", "\n")
    story.answer("a1", Text("\n"), Call(id="c1", name="read_file"))
    assert story.blocks(AssistantBlock) == []


def test_a_failed_message_without_parts_leaves_nothing(story: Story) -> None:
    story.tell(ev.MessageStart, id="a1", role="assistant")
    story.stream("a1", "text", "half an ans")
    failure = Failure("network", "the connection broke")
    story.tell(ev.MessageEnd, message=Message(id="a1", role="assistant", parts=()), failure=failure)
    assert story.blocks(AssistantBlock) == []


def test_an_interrupted_text_is_kept_and_marked(story: Story) -> None:
    story.tell(ev.MessageStart, id="a1", role="assistant")
    story.stream("a1", "text", "half an answer")
    story.answer("a1", Text("half an answer"), interrupted=True)
    assert story.last.interrupted
    card = story.end("user_interrupt", "partial")
    assert card.mark == "⏸"
    assert "3 words" in card.text


def test_a_stream_that_was_cut_by_a_crash_is_settled_by_the_next_run(story: Story) -> None:
    story.tell(ev.MessageStart, id="a1", role="assistant")
    story.tell(ev.MessageUpdate, id="a1", delta="text", text="half")
    story.run()
    assert story.last.interrupted
    assert not story.last.live


def test_text_for_other_purposes_is_not_part_of_the_conversation(story: Story) -> None:
    story.tell(ev.MessageStart, id="e1", role="assistant", purpose="evaluation")
    story.stream("e1", "text", '{"completed": true}')
    story.tell(
        ev.MessageEnd, purpose="evaluation", message=Message(id="e1", role="assistant", parts=(Text("{}"),))
    )
    assert story.blocks(AssistantBlock) == []


def test_the_programs_own_messages_are_no_prompts(story: Story) -> None:
    story.tell(ev.MessageEnd, message=msg.user("x", "I ran a command myself", synthetic=True))
    story.tell(ev.MessageEnd, message=msg.user("y", "go on", origin="system"))
    assert len(story.blocks(UserBlock)) == 1


# ---- tools


def test_a_call_grows_runs_and_ends(story: Story) -> None:
    story.tell(ev.MessageStart, id="a1", role="assistant")
    story.stream("a1", "arguments", '{"comm', call="c1", name="run_command")
    block = story.last
    assert isinstance(block, ToolBlock)
    assert (block.status, block.name) == ("building", "run_command")
    story.stream("a1", "arguments", 'and": "pytest"}', call="c1", name="run_command")
    assert block.arguments_text == '{"command": "pytest"}'
    story.call("c1")
    assert (block.status, block.summary) == ("running", "pytest")
    story.tell(ev.ToolExecutionUpdate, call_id="c1", text="..F")
    assert block.text == "..F"
    story.tell(
        ev.ToolExecutionEnd, call_id="c1", name="run_command", status="error", text="1 failed", summary="exit 1",
        duration=2.5, display=Output("..F\n1 failed"),
    )  # fmt: skip
    assert story.blocks(ToolBlock) == [block]
    assert (block.status, block.outcome, block.text, block.live) == (
        "error",
        "exit 1",
        "..F\n1 failed",
        False,
    )


def test_a_call_that_the_engine_renamed_keeps_its_block(story: Story) -> None:
    story.tell(ev.MessageStart, id="a1", role="assistant")
    story.stream("a1", "arguments", "{}", call="call_0", name="read_file")
    block = story.last
    story.answer("a1", Call(id="call_0.2", name="read_file"))
    assert story.blocks(ToolBlock) == [block]
    story.tell(ev.ToolExecutionEnd, call_id="call_0.2", name="read_file", status="ok", text="x")
    assert block.status == "ok"


def test_a_call_that_the_final_message_does_not_hold_is_gone(story: Story) -> None:
    story.tell(ev.MessageStart, id="a1", role="assistant")
    story.stream("a1", "arguments", "{", call="c1", name="read_file")
    story.answer("a1", Text("never mind"))
    assert story.blocks(ToolBlock) == []


def test_the_same_call_id_in_a_later_message_is_another_call(story: Story) -> None:
    story.call("c1", message="a1")
    story.tell(ev.ToolExecutionEnd, call_id="c1", name="run_command", status="ok", text="one")
    story.call("c1", message="a2")
    assert [block.status for block in story.blocks(ToolBlock)] == ["ok", "running"]


def test_live_output_comes_from_one_source(story: Story) -> None:
    story.call("c1")
    story.view.apply(ev.ToolExecutionUpdate(call_id="c1", text="a"))
    story.tell(ev.ToolExecutionUpdate, call_id="c1", text="a")
    assert story.last.text == "a"


def test_hooks_stand_under_their_call_with_the_change_of_problems(story: Story) -> None:
    story.call("c1", "edit_file")
    for output in ("a.py:1 F821\na.py:2 F401", "a.py:2 F401", ""):
        story.tell(ev.HookStart, call_id="c1", name="ruff", path="a.py")
        status = "failed" if output else "ok"
        story.tell(
            ev.HookEnd, call_id="c1", name="ruff", path="a.py", status=status, output=output, duration=0.3
        )
    rows = story.last.hooks
    assert [(row.status, row.change) for row in rows] == [("failed", ""), ("failed", "−1"), ("ok", "−1")]


def test_what_the_model_saw_of_a_long_answer(story: Story) -> None:
    story.call("c1")
    text = "\n".join(f"line {number}" for number in range(812))
    story.tell(ev.ToolExecutionEnd, call_id="c1", name="run_command", status="ok", text=text, tokens=4000)
    assert story.last.cut == "first 40, last 20 of 812 lines"


def test_a_call_without_an_answer_is_settled_when_the_run_ends(story: Story) -> None:
    story.call("c1")
    story.end("internal_error", "failed")
    assert story.blocks(ToolBlock)[0].status == "interrupted"


def test_changed_files_are_counted_and_rewound(story: Story) -> None:
    story.call("c1", "edit_file")
    diff = Diff(path="a.py", hunks="@@\n-x\n+y\n+z\n", added=2, removed=1)
    story.tell(
        ev.ToolExecutionEnd,
        call_id="c1",
        name="edit_file",
        status="ok",
        text="ok",
        display=diff,
        changed=("a.py",),
    )
    assert story.view.tools.totals() == {"a.py": (2, 1)}
    assert "1 file (+2 −1)" in story.end().right
    story.tell(ev.Rewind, to_seq=3, conversation=True, files=True)
    assert story.view.tools.totals() == {}
    assert [type(block) for block in story.view.blocks] == [UserBlock, NoticeBlock]


def test_a_plan_is_kept(story: Story) -> None:
    story.call("c1", "todo")
    plan = Plan((("done", "look"), ("active", "mend")))
    story.tell(ev.ToolExecutionEnd, call_id="c1", name="todo", status="ok", text="", display=plan)
    assert story.view.tools.plan == plan


# ---- what waits


def test_an_approval_waits_until_it_is_resolved(story: Story) -> None:
    story.answer("a1", Call(id="c1", name="run_command", arguments={"command": "rm x"}))
    intent = Intent(tool="run_command", effect="execute", command="rm x")
    story.tell(ev.ApprovalRequested, id="p1", call_id="c1", intent=intent)
    assert list(story.view.run.approvals) == ["p1"]
    assert story.last.status == "waiting"
    assert story.view.activity.kind == "question"
    story.tell(ev.ApprovalResolved, id="p1", decision="deny")
    assert story.view.run.approvals == {}
    assert story.last.status == "denied"


def test_a_plan_that_waits_is_no_call(story: Story) -> None:
    story.tell(ev.ApprovalRequested, id="p1", call_id="", intent=Intent(tool="plan", effect="ask"))
    assert story.blocks(ToolBlock) == []
    assert "p1" in story.view.run.approvals


def test_queued_messages_until_they_are_delivered(story: Story) -> None:
    story.tell(ev.SteeringQueued, id="q1", text="use src/")
    story.tell(ev.FollowUpQueued, id="q2", text="then run the tests")
    assert [(item.kind, item.text) for item in story.view.run.queue.values()] == [
        ("steer", "use src/"),
        ("next", "then run the tests"),
    ]
    story.tell(ev.SteeringEdited, id="q1", text="use lib/")
    story.tell(ev.SteeringDelivered, messages=(msg.user("q1", "use lib/", origin="steering"),))
    assert list(story.view.run.queue) == ["q2"]
    assert (story.last.text, story.last.origin) == ("use lib/", "steering")
    story.tell(ev.SteeringEdited, id="q2", text=None)
    assert story.view.run.queue == {}


def test_returned_messages_go_to_the_composer(story: Story) -> None:
    story.tell(ev.SteeringQueued, id="q1", text="use src/")
    end = ev.AgentEnd(
        seq=9, ts=story.ts, run="r", stop_reason="user_interrupt", status="partial", returned=("use src/",)
    )
    changes = story.view.apply(end)
    assert [change.text for change in changes if change.what == "returned"] == ["use src/"]
    assert story.view.run.queue == {}
    assert "1 queued message is back in the composer" in story.last.text


def test_a_limit_waits_for_a_choice(story: Story) -> None:
    story.tell(ev.GuardTripped, reason="max_steps", used=50, allowed=50, asks=True)
    assert story.view.run.limit is not None
    story.tell(ev.LimitExtended, limit="max_steps", choice="continue", value=60)
    assert story.view.run.limit is None
    assert story.view.gauges.max_steps == 60


def test_steps_that_the_model_took_can_be_vetoed(story: Story) -> None:
    story.tell(ev.LimitExtended, limit="max_steps", value=60, by="model", why="many files")
    veto = story.view.run.veto
    assert veto is not None
    assert (veto.before, veto.after) == (50, 60)
    assert "many files" in story.last.text
    story.tell(ev.LimitChanged, limit="max_steps", value=50)
    assert story.view.run.veto is None
    assert story.view.gauges.max_steps == 50


def test_a_wait_for_the_provider_is_one_row(story: Story) -> None:
    failure = Failure("rate_limit", "too many requests", status=429, provider="anthropic")
    for attempt in (1, 2):
        story.tell(
            ev.Retry,
            failure=failure,
            attempt=attempt,
            limit=3,
            until=story.ts + 13,
            fallback="openai/gpt-5-mini",
        )
    rows = story.blocks(NoticeBlock)
    assert [row.text for row in rows] == ["rate limit (429) from anthropic · attempt 2 of 3"]
    assert story.view.activity.kind == "retry"
    story.tell(ev.Fallback, source=MODEL, target="openai/gpt-5-mini", why="rate limit")
    assert story.view.run.retry is None
    assert story.view.model_label == "claude-sonnet-4-5 via gpt-5-mini"


# ---- gauges


def test_money_is_summed_and_an_unknown_price_is_no_zero(story: Story) -> None:
    story.tell(ev.Usage, purpose="turn", model=MODEL, input=1000, cached=710, output=50, cost_usd=0.04)
    gauges = story.view.gauges
    assert (gauges.turn, gauges.session, gauges.cached) == (0.04, 0.04, 0.71)
    story.tell(ev.Usage, purpose="summary", model="local/x", input=10, output=5)
    assert story.view.gauges.session_unknown == 1
    story.end()
    story.run()
    gauges = story.view.gauges
    assert (gauges.turn, gauges.turn_unknown, gauges.session) == (0, 0, 0.04)


def test_a_compaction_is_one_row_with_its_summary_below(story: Story) -> None:
    summary = msg.user("s", "We fixed the lock.", synthetic=True)
    story.tell(
        ev.Compaction, method="model", before_messages=41, after_messages=15, before_tokens=86_000,
        after_tokens=20_000, summary=summary, duration=4.0,
    )  # fmt: skip
    assert story.last.text == "context 41 → 15 messages · 86k → 20k tokens"
    assert (story.last.body, story.last.folded) == ("We fixed the lock.", True)
    assert story.view.gauges.used == 20_000


def test_modes_and_model_follow(story: Story) -> None:
    story.tell(ev.ModeChanged, mode="plan")
    story.tell(ev.ModeChanged, mode="mixed")
    story.tell(ev.ModelChanged, model="openai/gpt-5", window=400_000)
    assert story.view.meters.mode == "mixed"
    assert [row.text for row in story.blocks(NoticeBlock)] == ["mode mixed", "model gpt-5"]
    assert story.view.gauges.window == 400_000


def test_a_change_to_nothing_is_no_line(story: Story) -> None:
    before = len(story.view.blocks)
    story.tell(ev.ModeChanged)
    story.tell(ev.ModeChanged)
    assert len(story.view.blocks) == before


def test_a_repair_is_for_the_trace_only(story: Story) -> None:
    before = len(story.view.blocks)
    story.tell(ev.Repair, merged=1)
    assert len(story.view.blocks) == before


def test_a_review_is_named_on_the_card(story: Story) -> None:
    story.tell(ev.Evaluation, attempt=1, passed=True, completed=True, confidence=0.92)
    assert story.last.text == "review 92 %"
    assert "review 92 %" in story.end().right


# ---- activity


def test_the_activity_follows_the_run(story: Story) -> None:
    view = story.view
    story.tell(ev.TurnStart, step=3)
    assert view.activity.what == "waiting for claude-sonnet-4-5"
    story.tell(ev.MessageStart, id="a1", role="assistant", model=MODEL)
    story.stream("a1", "reasoning", "hm")
    assert view.activity.what == "thinking"
    assert view.activity.data == story.ts
    story.stream("a1", "text", "so")
    assert view.activity.what == "writing"
    story.stream("a1", "arguments", "{", call="c1", name="run_command")
    assert view.activity.what == "preparing a call"
    story.call("c1")
    assert (view.activity.kind, view.activity.what) == ("tool", "running pytest")
    story.tell(ev.InterruptRequested, how="graceful", grace=5.0)
    assert view.activity.kind == "stopping"
    assert view.activity.until == story.ts + 5.0
    story.end("user_interrupt", "partial")
    assert view.activity.kind == "idle"


# ---- endings

REASONS = (
    "llm_done", "max_steps", "budget_exceeded", "context_full", "timeout", "user_interrupt", "llm_error", "stalled",
    "incomplete", "internal_error",
)  # fmt: skip


@pytest.mark.parametrize("reason", REASONS)
def test_every_ending_says_what_happened_and_what_to_do(story: Story, reason: str) -> None:
    status = {"llm_done": "success", "llm_error": "failed", "internal_error": "failed"}.get(reason, "partial")
    card = story.end(reason, status, steps=9, tool_calls=11, cost_usd=0.09, duration=161.0)
    assert card.title.endswith(f"· {status}")
    assert card.right.startswith("9 steps · 11 calls · 2 m 41 s · $0.09")
    assert any(label == "next" and text for label, text in card.rows)
    if reason not in {"llm_done", "user_interrupt", "llm_error"}:
        assert any(label == "why" and text for label, text in card.rows)
    assert card.tone == {"success": "ok", "partial": "warn", "failed": "error"}[status]


def test_a_refused_key_names_what_to_set(story: Story) -> None:
    failure = Failure(
        "auth", "anthropic refused the key (401)", status=401, hint="Set ANTHROPIC_API_KEY to a valid key"
    )
    card = story.end("llm_error", "failed", failure=failure)
    assert card.title == "stopped: anthropic refused the key (401) · failed"
    assert ("do", "Set ANTHROPIC_API_KEY to a valid key") in card.rows


def test_keys_on_cards_are_those_of_the_keymap() -> None:
    view = View(key=lambda action: {"models.open": "ctrl+m"}.get(action, ""))
    view.apply(ev.AgentEnd(run="r", stop_reason="llm_error", status="failed"))
    assert "ctrl+m" in view.blocks[-1].text


# ---- speed


def long_session(steps: int) -> Iterable[Event]:
    yield ev.SessionStart(seq=1, ts=1.0, version=1, id="s", kind="interactive", cwd="/x", model=MODEL)
    yield ev.AgentStart(seq=2, ts=1.0, run="r", model=MODEL, limits=ev.RunLimits())
    seq = 2
    for step in range(steps):
        call = Call(id=f"c{step}", name="read_file", arguments={"path": "x"})
        id = f"m{step}"
        events: list[Event] = [
            ev.TurnStart(step=step),
            ev.MessageStart(id=id, role="assistant"),
            *(ev.MessageUpdate(id=id, delta="text", text="hello world ") for _ in range(20)),
            ev.MessageEnd(message=Message(id=id, role="assistant", parts=(Text("hello"), call))),
            ev.ToolExecutionStart(call=call, summary="x"),
            ev.ToolExecutionEnd(call_id=call.id, name="read_file", status="ok", text="foo"),
            ev.Usage(purpose="turn", model="m", cost_usd=0.01),
            ev.Context(used=10, window=100),
        ]
        for event in events:
            seq += 1
            yield ev.decode(ev.encode(event).replace(b"{", b'{"seq":%d,"ts":%d,' % (seq, seq), 1))


def test_a_long_log_folds_in_linear_time() -> None:
    log = list(long_session(4000))
    assert len(log) > 100_000
    view = View()
    began = time.process_time()
    view.fold(log)
    assert time.process_time() - began < 1.0
    assert len(view.blocks) == 8000


def test_a_long_stream_stays_linear() -> None:
    view = View()
    began = time.process_time()
    for _ in range(200_000):
        view.apply(ev.MessageUpdate(id="m", delta="text", text="hello world "))
    assert time.process_time() - began < 2.0
    assert len(view.blocks[0].text) == 2_400_000
