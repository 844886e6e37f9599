"""Pictures of every state, compared with those that a person looked at. ``pytest --snapshot-update`` takes new ones."""

import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.ui.scenes import SCENES
from tests.ui.stage import MODEL, START, on_stage
from tui_agent.core import events as ev
from tui_agent.core import messages as msg
from tui_agent.ui.settings import UiOptions
from tui_agent.ui.svg import svg

LOOKS = [((80, 24), "dark"), ((120, 40), "dark"), ((120, 40), "light")]


class Picture(SingleFileSnapshotExtension):
    """One SVG file a picture, without what changes from run to run."""

    _write_mode = WriteMode.TEXT
    file_extension = "svg"

    def serialize(self, data: Any, **_: Any) -> str:
        return re.sub(r"terminal-\d+", "terminal", data)


@pytest.fixture
def picture(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Picture)


@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=[f"{w}x{h}-{theme}" for (w, h), theme in LOOKS])
@pytest.mark.parametrize("name", SCENES)
async def test_it_looks_as_it_did(
    name: str, size: tuple[int, int], theme: str, picture: SnapshotAssertion
) -> None:
    async with on_stage(size=size, options=UiOptions(theme=theme)) as stage:
        await SCENES[name](stage)
        await stage.settle()
        assert stage.app.export_screenshot(title="tui-agent") == picture


def test_a_whole_session_is_one_picture() -> None:
    """``tui-agent sessions export --format svg``: everything is on it, however long, and nothing of it acts."""
    events = [
        ev.SessionStart(
            seq=1, ts=START, version=1, id="s", kind="interactive", cwd="/src", model=MODEL, title="many"
        ),
        *(
            ev.MessageEnd(
                seq=n,
                ts=START + n,
                message=msg.user(f"u{n}", f"question-{n} <script>alert(1)</script> \x1b[2J"),
            )
            for n in range(2, 100)
        ),
    ]
    drawn = svg(events)
    assert "question-2&#160;" in drawn
    assert "question-99&#160;" in drawn
    assert "<script" not in drawn
    assert "\x1b" not in drawn
