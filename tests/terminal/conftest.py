"""What all tests of this folder share."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They run the real program in a pseudo-terminal; a machine at work may let one wait long."""
    for item in items:
        if "tests/terminal" in item.path.as_posix():
            item.add_marker(pytest.mark.terminal)
