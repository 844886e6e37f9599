"""What keys do on the session's screen: the order of escape and ctrl+c, sending, steering, queueing, answering."""

import pytest
from textual import events

from tests.ui.stage import on_stage
from tui_agent.core import commands as cmd
from tui_agent.core import events as ev
from tui_agent.ui.actions import answers


@pytest.fixture
def no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cards answer at once, for tests that are not about typing."""
    monkeypatch.setattr(answers, "QUIET", 0.0)


# ---- sending


async def test_enter_sends_a_prompt_and_empties_the_composer() -> None:
    async with on_stage() as stage:
        await stage.type("fix it\n")
        assert stage.sent == [cmd.Prompt(text="fix it")]
        assert stage.composer.text == ""


async def test_enter_steers_and_tab_queues_while_it_runs() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.type("use src/\n")
        await stage.type("then the docs")
        await stage.press("tab")
        assert stage.sent == [cmd.Steer(text="use src/"), cmd.Queue(text="then the docs")]


async def test_a_burst_of_keys_keeps_its_order() -> None:
    """Textual would do bindings (backspace, enter) after all the letters: ``ab`` instead of ``xz``."""
    async with on_stage() as stage:
        keys = ["a", "b", "c", "backspace", "backspace", "backspace", "x", "y", "backspace", "z"]
        for _ in range(5):
            for key in keys:
                stage.app.post_message(events.Key(key, key if len(key) == 1 else None))
            stage.app.post_message(events.Key("enter", None))
        await stage.settle()
        assert stage.sent == [cmd.Prompt(text="xz")] * 5


async def test_shift_enter_makes_a_line() -> None:
    async with on_stage() as stage:
        await stage.type("one")
        await stage.press("shift+enter")
        await stage.type("two\n")
        assert stage.sent == [cmd.Prompt(text="one\ntwo")]


async def test_ctrl_x_enter_cuts_and_sends_when_the_run_has_ended() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.type("no, the other file")
        await stage.press("ctrl+x", "enter")
        assert stage.sent == [cmd.Interrupt(now=True)]
        await stage.end("user_interrupt", "partial")
        assert stage.sent == [cmd.Prompt(text="no, the other file")]


async def test_a_shell_line() -> None:
    async with on_stage() as stage:
        await stage.type("!ls -l\n")
        await stage.type("!!git status\n")
        assert stage.sent == [cmd.RunShell(line="ls -l"), cmd.RunShell(line="git status", hidden=True)]


# ---- escape


async def test_escape_interrupts_at_once_and_keeps_the_text() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.type("half a thought")
        await stage.press("escape")
        assert stage.sent == [cmd.Interrupt(now=True)]
        assert stage.composer.text == "half a thought"


async def test_escape_closes_what_lies_on_top_first() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.press("ctrl+t")
        assert stage.screen.sidebar.display
        await stage.press("escape")
        assert not stage.screen.sidebar.display
        assert stage.sent == []


async def test_escape_right_after_an_overlay_closed_is_no_interrupt() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.press("ctrl+p", "escape", "escape")
        assert stage.sent == []
        stage.screen.overlay_closed -= 0.5
        await stage.press("escape")
        assert stage.sent == [cmd.Interrupt(now=True)]


async def test_escape_does_nothing_when_idle() -> None:
    async with on_stage() as stage:
        await stage.type("text")
        await stage.press("escape")
        assert stage.composer.text == "text"
        assert stage.sent == []


async def test_escape_then_letters_lose_nothing() -> None:
    async with on_stage() as stage:
        await stage.press("escape", "h", "i")
        assert stage.composer.text == "hi"


# ---- ctrl+c


async def test_ctrl_c_stops_gracefully_and_again_at_once() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.call()
        await stage.type("draft")
        await stage.press("ctrl+c")
        assert stage.sent == [cmd.Interrupt()]
        await stage.tell((ev.InterruptRequested, {"how": "graceful", "grace": 500.0}))
        assert "run_command may finish" in stage.rows("activity")
        await stage.press("ctrl+c")
        assert stage.sent == [cmd.Interrupt(now=True)]
        assert stage.composer.text == "draft"


async def test_ctrl_c_puts_a_draft_away_and_up_brings_it_back() -> None:
    async with on_stage() as stage:
        await stage.type("a long thought")
        await stage.press("ctrl+c")
        assert stage.composer.text == ""
        assert "put away" in stage.said
        await stage.press("up")
        assert stage.composer.text == "a long thought"


async def test_ctrl_c_twice_when_idle_and_empty_quits() -> None:
    async with on_stage() as stage:
        await stage.press("ctrl+c")
        assert "again to quit" in stage.said
        assert stage.app.is_running
        await stage.press("ctrl+c")
        await stage.app.workers.wait_for_complete()
        assert stage.app.return_value == 0


async def test_ctrl_c_copies_a_selection_first() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.type("copy me")
        await stage.press("shift+home", "ctrl+c")
        assert stage.app.clipboard == "copy me"
        assert stage.sent == []
        assert stage.composer.text == "copy me"


async def test_ctrl_d_quits_only_when_nothing_is_typed() -> None:
    async with on_stage() as stage:
        await stage.type("ab")
        await stage.press("home", "ctrl+d")
        assert stage.app.is_running


# ---- approvals


@pytest.mark.usefixtures("no_quiet")
@pytest.mark.parametrize(
    ("key", "decision"),
    [("y", "once"), ("s", "session"), ("a", "always"), ("n", "deny"), ("1", "once"), ("4", "deny")],
)
async def test_a_key_answers_an_approval(key: str, decision: ev.Decision) -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.ask()
        assert "rm -rf build" in stage.card
        await stage.press(key)
        assert stage.sent == [cmd.Approve(id="p1", decision=decision)]
        assert stage.card == ""
        assert stage.composer.text == ""


async def test_typing_never_approves() -> None:
    """A card that appears while somebody types takes no key, and the text goes on."""
    async with on_stage() as stage:
        await stage.begin()
        await stage.press("s")
        await stage.press("backspace")
        await stage.ask()
        await stage.press("y", "e", "s")
        assert stage.sent == []
        assert stage.composer.text == "yes"
        assert "your text comes first" in stage.card


@pytest.mark.usefixtures("no_quiet")
async def test_a_card_takes_no_keys_from_a_text() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.type("wait")
        await stage.ask()
        await stage.press("y")
        assert stage.sent == []
        assert stage.composer.text == "waity"
        await stage.press("ctrl+x", "w")
        await stage.press("n")
        assert stage.sent == [cmd.Approve(id="p1", decision="deny")]


@pytest.mark.usefixtures("no_quiet")
async def test_a_destructive_command_offers_no_first() -> None:
    async with on_stage(size=(120, 40)) as stage:
        await stage.begin()
        await stage.ask(destructive="rm -rf deletes", default="deny")
        answers_row = stage.card.splitlines()[-1]
        assert answers_row.index(" no") < answers_row.index("yes, once")
        assert "default is no" in stage.card


@pytest.mark.usefixtures("no_quiet")
async def test_a_command_is_changed_before_it_runs() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.ask("rm -rf /")
        await stage.press("e")
        await stage.press("backspace", "b", "u", "i", "l", "d", "enter")
        assert stage.sent == [cmd.Approve(id="p1", decision="edit", arguments={"command": "rm -rf build"})]


@pytest.mark.usefixtures("no_quiet")
async def test_two_approvals_come_one_after_the_other() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.ask("first", id="p1")
        await stage.ask("second", id="p2")
        assert "first" in stage.card
        await stage.press("tab")
        assert "second" in stage.card
        await stage.press("y")
        assert "first" in stage.card
        assert stage.sent == [cmd.Approve(id="p2", decision="once")]


@pytest.mark.usefixtures("no_quiet")
async def test_a_plan_is_accepted_changed_or_refused() -> None:
    plan = {"intent": ev.Intent(tool="plan", effect="ask"), "call_id": ""}
    async with on_stage() as stage:
        await stage.begin()
        await stage.tell((ev.ApprovalRequested, {"id": "p1", **plan}))
        assert "the plan is ready" in stage.card
        await stage.press("n")
        await stage.type("smaller steps\n")
        assert stage.sent == [cmd.Approve(id="p1", decision="deny", note="smaller steps")]
        await stage.tell((ev.ApprovalRequested, {"id": "p2", **plan}))
        await stage.press("y")
        assert stage.sent == [cmd.Approve(id="p2", decision="once")]


# ---- questions, limits, waits


@pytest.mark.usefixtures("no_quiet")
async def test_a_question_is_answered_by_number_or_in_words() -> None:
    question = {"call_id": "c1", "question": "Which one?", "options": ("the left", "the right")}
    async with on_stage() as stage:
        await stage.begin()
        await stage.tell((ev.QuestionAsked, {"id": "q1", **question}))
        assert "Which one?" in stage.card
        await stage.press("2")
        assert stage.sent == [cmd.Answer(id="q1", text="the right")]
        await stage.tell(
            (ev.QuestionAnswered, {"id": "q1", "text": "the right"}),
            (ev.QuestionAsked, {"id": "q2", **question}),
        )
        await stage.type("both\n")
        assert stage.sent == [cmd.Answer(id="q2", text="both")]


@pytest.mark.usefixtures("no_quiet")
@pytest.mark.parametrize(("key", "choice"), [("c", "continue"), ("s", "summarise"), ("x", "stop")])
async def test_a_limit_asks_how_to_go_on(key: str, choice: ev.Choice) -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.tell((ev.GuardTripped, {"reason": "max_steps", "used": 50, "allowed": 50, "asks": True}))
        assert "50 of 50 steps" in stage.card
        await stage.press(key)
        assert stage.sent == [cmd.Extend(choice=choice)]


@pytest.mark.usefixtures("no_quiet")
async def test_a_limit_with_a_number_of_ones_own() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.tell((ev.GuardTripped, {"reason": "max_steps", "used": 50, "allowed": 50, "asks": True}))
        await stage.press("a")
        await stage.type("25\n")
        assert stage.sent == [cmd.Extend(choice="continue", amount=25)]


@pytest.mark.usefixtures("no_quiet")
@pytest.mark.parametrize(("key", "text"), [("r", "now"), ("f", "fallback")])
async def test_a_wait_is_cut_short(key: str, text: str) -> None:
    failure = ev.Failure("rate_limit", "slow down", status=429, provider="anthropic")
    async with on_stage(size=(110, 30)) as stage:
        await stage.begin()
        await stage.tell(
            (
                ev.Retry,
                {
                    "failure": failure,
                    "attempt": 2,
                    "limit": 3,
                    "until": stage.app.now() + 12,
                    "fallback": "openai/gpt-5-mini",
                },
            )
        )
        assert "attempt 2 of 3 · again in 12 s" in stage.rows("activity")
        await stage.press(key)
        assert stage.sent == [cmd.Answer(id="retry", text=text)]


async def test_steps_that_the_model_took_are_vetoed() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.tell(
            (ev.LimitExtended, {"limit": "max_steps", "value": 60, "by": "model", "why": "many files"})
        )
        await stage.press("ctrl+x", "v")
        assert stage.sent == [cmd.SetLimit(limit="max_steps", value=50)]


# ---- waiting messages


async def test_the_last_waiting_message_is_edited_or_removed() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.tell((ev.SteeringQueued, {"id": "q1", "text": "use src"}))
        assert "use src" in stage.rows("pending")
        await stage.press("up", "/", "enter")
        assert stage.sent == [cmd.EditQueued(id="q1", text="use src/")]
        await stage.press("up")
        for _ in "use src":
            await stage.press("backspace")
        await stage.press("enter")
        assert stage.sent == [cmd.DropQueued(id="q1")]


async def test_escape_leaves_a_waiting_message_as_it_was() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.tell((ev.FollowUpQueued, {"id": "q1", "text": "then the docs"}))
        await stage.press("up", "x", "escape")
        assert stage.sent == []
        assert stage.composer.text == ""


async def test_a_message_that_was_delivered_meanwhile_is_not_lost() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.tell((ev.SteeringQueued, {"id": "q1", "text": "use src"}))
        await stage.press("up", "!")
        await stage.tell(
            (ev.SteeringDelivered, {"messages": ()}), (ev.SteeringEdited, {"id": "q1", "text": None})
        )
        await stage.press("enter")
        assert stage.sent == []
        assert stage.composer.text == "use src!"
        assert "too late" in stage.said


async def test_returned_messages_come_before_the_draft() -> None:
    async with on_stage() as stage:
        await stage.begin()
        await stage.type("draft")
        await stage.end("user_interrupt", "partial", returned=("use src/",))
        assert stage.composer.text == "use src/\n\ndraft"


# ---- modes, commands, quitting


async def test_shift_tab_cycles_the_mode() -> None:
    async with on_stage() as stage:
        await stage.press("shift+tab")
        assert stage.sent == [cmd.SetMode(mode="plan")]
        await stage.tell((ev.ModeChanged, {"mode": "plan"}))
        assert "plan" in stage.rows("title_row")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/mode plan", cmd.SetMode(mode="plan")),
        ("/confirm yolo", cmd.SetMode(confirm="yolo")),
        ("/compact the file names", cmd.Compact(keep="the file names")),
        ("/budget 5", cmd.SetLimit(limit="budget_usd", value=5.0)),
        ("/budget off", cmd.SetLimit(limit="budget_usd", value=None)),
        ("/steps 80", cmd.SetLimit(limit="max_steps", value=80.0)),
        ("/rename the flaky one", cmd.Rename(title="the flaky one")),
        ("/model openai/gpt-5-mini", cmd.SetModel(model="openai/gpt-5-mini")),
    ],
)
async def test_a_command_that_takes_words(text: str, command: cmd.Command) -> None:
    async with on_stage() as stage:
        await stage.type(text)
        stage.screen.completions.close()
        await stage.press("enter")
        assert stage.sent == [command]
        assert stage.composer.text == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/modle x", "did you mean /model?"),
        ("/mode fast", "plan, build or mixed"),
        ("/budget lots", "US dollars"),
        ("/copy that", "takes nothing"),
        ("/extend 3", "no limit waits"),
    ],
)
async def test_a_command_that_is_wrong_stays_to_be_mended(text: str, said: str) -> None:
    async with on_stage() as stage:
        await stage.type(text)
        stage.screen.completions.close()
        await stage.press("enter")
        assert stage.sent == []
        assert stage.composer.text == text
        assert said in stage.said


async def test_a_path_is_no_command() -> None:
    async with on_stage() as stage:
        await stage.type("/etc/hosts is odd\n")
        assert stage.sent == [cmd.Prompt(text="/etc/hosts is odd")]


async def test_continue_is_refused_with_its_reason() -> None:
    async with on_stage() as stage:
        await stage.press("ctrl+x", "g")
        assert stage.sent == []
        assert "nothing to go on from" in stage.said


async def test_an_unknown_chord_is_told_and_types_nothing() -> None:
    async with on_stage() as stage:
        await stage.press("ctrl+x", "q")
        assert "ctrl+x q means nothing" in stage.said
        assert stage.composer.text == ""


async def test_every_action_of_the_keymap_does_something() -> None:
    """Each is in the table of a screen, or answered by a list or page of its context."""
    async with on_stage() as stage:
        known = stage.app.keymap.actions
        elsewhere = {"picker", "sessions", "rewind", "page", "trust", "replay"}
        missing = [
            name
            for name, action in known.items()
            if action.context not in elsewhere and name not in stage.screen.actions
        ]
        assert missing == []


async def test_every_action_of_the_table_is_in_the_keymap() -> None:
    async with on_stage() as stage:
        assert [name for name in stage.screen.actions if name not in stage.app.keymap.actions] == []
