"""The card of an engine that is not there: it has ended, or another process has the session."""

from __future__ import annotations

import re
from collections.abc import Callable

from tui_agent.ui.widgets.row import Line, Span

TAKEN = "is open in another process"
"""In the words with which the log of a session refuses a second writer."""

Label = Callable[[str], str]


def gone_lines(why: str, session: str, log: str, label: Label, *, run_was_cut: bool) -> list[Line]:
    """What happened, what is kept, and what to do; a run that was cut does not go on by itself."""
    kept = f"nothing was lost: session {session}" if session else "nothing was lost"
    again = " starts it again" + ("; /continue then goes on" if run_was_cut else "")
    return [
        ([(" ✗ ", "error"), (why, "text")], []),
        ([("   ", "text"), (f"{kept} · log: {log}", "dim")], []),
        ([("   ", "text"), (label("retry.now"), "key"), (again, "text")], []),
    ]


def taken_lines(why: str, label: Label) -> list[Line]:
    """Another tui-agent has the session open: trying again helps only once it is closed there."""
    pid = re.search(r"\((\d+)\)", why)
    where = f" (process {pid[1]})" if pid else ""
    spans: list[Span] = [("   ", "text")]
    for action, what in (
        ("session.fork", "go on in a copy"),
        ("sessions.open", "another session"),
        ("retry.now", "try again, once it is closed there"),
    ):
        if key := label(action):
            spans += [(key, "key"), (f" {what}    ", "text")]
    return [
        ([(" ✗ ", "error"), (f"this session is open in another tui-agent{where}", "text")], []),
        ([("   ", "text"), ("only one can write into it", "dim")], []),
        (spans, []),
    ]
