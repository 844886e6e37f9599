"""Work with a model behind real HTTP: tools, edits, hooks, words as they come, steering, follow-ups."""

import re
import sys
from pathlib import Path

from tests.fakes.fake_llm import FakeLLM, ToolCall, call, calls, fault, say
from tests.terminal.terminal import Terminal
from tests.terminal.wire import requested, results, roles, user_texts
from tui_agent.config.paths import Paths
from tui_agent.core import events as ev

CONFIG = """\
model: fake
models:
  fake: {{name: openai/fake, api_base: "{base}", api_key_env: FAKE_KEY, context_window: 50000, price: {{input: 1, output: 2}}}}
permissions: {{mode: yolo}}
hooks:
  post_edit:
    - {{name: no-tabs, command: "{python} check.py {{file}}", file_patterns: ["*.txt"], timeout: 20}}
"""
HOOK = """\
import sys
bad = [n for n, line in enumerate(open(sys.argv[1]), 1) if "bad" in line]
for n in bad:
    print(f"{sys.argv[1]}:{n}: a bad word")
sys.exit(1 if bad else 0)
"""


TIMED = re.compile(r"\d s\b")
"""A duration at a row's end."""

WAIT_FOR_GO = "echo waiting; while [ ! -e go ]; do sleep 0.02; done; echo went"
"""A command that ends when the test makes the file ``go``."""


def configured(fake: FakeLLM) -> None:
    """The user's configuration with the fake as a model alias, and a hook that finds bad words."""
    file = Paths.from_environ().config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CONFIG.format(base=fake.openai_base, python=sys.executable))
    Path("check.py").write_text(HOOK)


def test_a_run_with_tools_and_hooks() -> None:
    Path("notes.txt").write_text("one\ntwo\n")
    looking = calls(
        ToolCall("read_file", {"path": "notes.txt"}),
        ToolCall("list_files", {"path": "."}),
        ToolCall("grep", {"pattern": "two", "path": "."}),
        text="I look first.",
    )
    script = [
        looking,
        call("edit_file", path="notes.txt", old="two", new="bad"),
        call("edit_file", path="notes.txt", old="bad", new="good"),
        fault("hang_middle", after=3, text="These words come while the rest is still to be written."),
    ]
    with FakeLLM(script) as fake:
        configured(fake)
        with Terminal(env={"FAKE_KEY": "sk-test"}) as terminal:
            terminal.wait_for("ask for something")
            terminal.say("mend the notes")
            type_while_it_loads(terminal, fake)
            last = requested(terminal, fake, 3)
            terminal.wait_for("These words")
            assert not last.done.is_set(), "the answer was complete before its first words were shown"
            last.release()
            terminal.wait_for("done · success")
            shown = terminal.text

        assert Path("notes.txt").read_text() == "one\ngood\n"
        assert roles(fake.requests[1]) == ["system", "user", "assistant", "tool", "tool", "tool"]
        seen = results(fake.requests[1])
        assert "two" in seen[0]
        assert "check.py" in seen[1]
        assert "notes.txt" in seen[2]

        failed, passed = results(fake.requests[2])[-1], results(fake.requests[3])[-1]
        assert "no-tabs" in failed
        assert "notes.txt:2: a bad word" in failed
        assert "a bad word" not in passed
        assert "a bad word" in shown, shown
        rows = [line for line in shown.splitlines() if "no-tabs" in line]
        assert len(rows) == 2, shown
        assert "⚠" in rows[0], shown
        assert "model saw this" in rows[0], shown
        assert "✓" in rows[1], shown
        assert TIMED.search(rows[1]), shown
        assert fake.requests[0].headers["authorization"] == "Bearer sk-test"


def type_while_it_loads(terminal: Terminal, fake: FakeLLM) -> None:
    """litellm takes seconds to load: until the first request comes, every key shows at once."""
    typed = ""
    for letter in "abcdefgh":
        typed += letter
        terminal.send(letter)
        terminal.wait_for(typed)
    terminal.expect(not fake.requests, "typing had to wait for the model")
    terminal.send("\x7f" * len(typed))
    terminal.wait_gone(typed)


def test_steering_and_follow_ups_reach_the_model_where_they_belong() -> None:
    script = [
        calls(ToolCall("run_command", {"command": WAIT_FOR_GO}), ToolCall("list_files", {"path": "."})),
        say("I take that into account."),
        say("And now the rest."),
    ]
    with FakeLLM(script) as fake:
        configured(fake)
        with Terminal(env={"FAKE_KEY": "sk-test"}) as terminal:
            terminal.wait_for("ask for something")
            terminal.say("begin")
            terminal.wait_for("│ waiting")
            terminal.send("use src please\rthen run the tests\t")
            terminal.wait_for(lambda: terminal.logged(ev.FollowUpQueued))
            terminal.wait_for("steer  use src please")
            terminal.wait_for("next   then run the tests")
            Path("go").touch()
            terminal.wait_for("And now the rest.")
            terminal.wait_for("done · success")
            terminal.wait_gone("⧗")
    first, steered, followed = fake.requests
    assert roles(first) == ["system", "user"]
    assert roles(steered) == ["system", "user", "assistant", "tool", "tool", "user"]
    assert "went" in results(steered)[0]
    assert user_texts(steered) == ["begin", "use src please"]
    assert roles(followed) == [*roles(steered), "assistant", "user"]
    assert user_texts(followed) == ["begin", "use src please", "then run the tests"]
