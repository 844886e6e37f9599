"""A workspace with a tool context that records what tools say to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.toolcontext import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    workspace = (tmp_path / "work").resolve()
    workspace.mkdir()
    return Context(workspace, tmp_path / "session")
