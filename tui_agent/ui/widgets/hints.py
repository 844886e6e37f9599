"""Which keys help right now."""

from __future__ import annotations

from collections.abc import Callable

from tui_agent.ui.view import View
from tui_agent.ui.widgets.row import Span

Label = Callable[[str], str]


def hint_spans(view: View, label: Label, *, empty: bool, editing: bool = False) -> list[Span]:
    """Up to four keys for the state of the run and the composer."""
    if editing:
        pairs = [("composer.send", "save"), ("agent.cut", "leave as it was")]
    elif view.run.veto is not None:
        pairs = [("composer.send", "steer"), ("extension.veto", "take the steps back"), ("app.help", "help")]
    elif view.running:
        pairs = [("composer.send", "steer"), ("composer.queue", "queue"), ("app.help", "help")]
    elif view.side_work:
        pairs = [("agent.cut", "stop"), ("app.help", "help")]
    elif empty:
        pairs = [("app.palette", "commands"), ("app.help", "help")]
    else:
        pairs = [("composer.send", "send"), ("composer.newline", "new line"), ("app.help", "help")]
    spans: list[Span] = []
    for action, what in pairs:
        if key := label(action):
            spans += [(" · " if spans else "", "dim"), (key, "key"), (f" {what}", "dim")]
    return spans
