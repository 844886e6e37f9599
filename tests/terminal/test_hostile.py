"""Escape sequences from models, tools, hooks, files and servers are shown, and never reach the terminal as they are."""

import re
from pathlib import Path

from tests.fakes.fake_llm import FakeLLM, ToolCall, call, calls, say, status
from tests.terminal.terminal import Terminal
from tests.terminal.wire import with_model

SEQUENCES = {
    "title": "\x1b]0;EVIL-title-{0}\x07",
    "clipboard": "\x1b]52;c;EVIL-clip-{0}\x07",
    "csi": "\x1b[5;31;7mEVIL-csi-{0}\x1b[2J",
    "dcs": "\x1bPEVIL-dcs-{0}\x1b\\",
    "c1": "\x9b5mEVIL-c1-{0}\x9d0;EVIL-osc-{0}\x9c",
}
"""Things a terminal obeys, by name; each holds where it came from."""


def evil(source: str) -> str:
    """Every sequence, with the name of its source in it."""
    return " ".join(sequence.format(source) for sequence in SEQUENCES.values())


def obeyed(raw: bytes, source: str) -> list[str]:
    """The sequences of one source that stand in the output as they were sent (colours of tools are the program's own again)."""
    return [name for name, sequence in SEQUENCES.items() if sequence.format(source)[:20].encode() in raw]


def test_nothing_foreign_commands_the_terminal() -> None:
    name = "\x1b]0;EVIL-title-name\x07.txt"
    Path(name).write_text(f"needle {evil('file')}\n")
    Path("said.txt").write_text(evil("tool"))
    script = [
        calls(
            ToolCall("list_files", {"path": "."}),
            ToolCall("grep", {"pattern": "needle", "path": "."}),
            ToolCall("read_file", {"path": name}),
            text=f"I say {evil('model')} and go on.",
            reasoning=f"I think {evil('thought')}",
        ),
        call("run_command", command=f"cat said.txt # {evil('argument')}"),
        calls(
            ToolCall("no_such_tool\x1b]0;EVIL-title-unknown\x07", {}),
            ToolCall("read_file", "{" + evil("json")),
        ),
        say("```python\n" + evil("code") + "\n```\n\n| a | b |\n|--|--|\n| " + evil("table") + " | x |\n"),
        status(400, {"error": {"message": f"refused {evil('server')}", "type": "x", "code": evil("code2")}}),
        status(400, {"error": {"message": f"refused {evil('server')}", "type": "x", "code": evil("code2")}}),
    ]
    with FakeLLM(script) as fake:
        prompt = f"look {evil('prompt')}"
        with Terminal("-p", prompt, rows=60, columns=160, env=with_model(fake)) as terminal:
            terminal.wait_for("run_command wants to run")
            terminal.wait_for("EVIL-title-argument")
            terminal.pause()
            terminal.press("y")
            terminal.wait_for("done · success")
            terminal.send("\x0f")  # every panel open
            for source in ("tool", "unknown", "code", "table"):
                terminal.wait_for(f"EVIL-title-{source}")
            terminal.say("again")
            terminal.wait_for("· failed")
            terminal.wait_for("EVIL-title-server")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
            raw = terminal.raw
            assert "EVIL" not in terminal.screen.title
            assert "EVIL" not in terminal.screen.icon_name
    for source in ("name", "file", "tool", "model", "thought", "argument", "unknown", "json", "code", "table", "server", "prompt"):  # fmt: skip
        assert obeyed(raw, source) == [], source
    assert not re.search(rb"\xc2[\x80-\x9f]", raw), "a C1 control reached the terminal"
    assert not re.search(rb"\x1b(\]|P|\^|_)[^\x1b]{0,8}EVIL|EVIL-csi-\w+\x1b\[2J", raw)
    assert b"EVIL-clip-model" in raw
