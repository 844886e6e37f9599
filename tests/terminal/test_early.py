"""Keys that are pressed before the screen is up: none is lost, whenever it comes."""

import time

import pytest

from tests.terminal.terminal import Terminal

EARLY = "early typing ok"
STEP = 0.05
"""Seconds between two words of somebody who does not wait."""


@pytest.mark.parametrize("after", [0.0, 0.1, 0.25, 0.5])
def test_what_is_typed_so_soon_is_in_the_composer(after: float) -> None:
    with Terminal("-m", "openai/x") as terminal:
        begin = time.monotonic()
        terminal.wait_for(lambda: time.monotonic() - begin >= after)
        terminal.send(EARLY)
        terminal.wait_for(f"│ {EARLY} ", timeout=15)


@pytest.mark.parametrize("theme", ["auto", "dark"])
def test_every_key_of_a_slow_start_is_kept_in_its_order(theme: str) -> None:
    with Terminal("-m", "openai/x", "--theme", theme) as terminal:
        begin = time.monotonic()
        for number in range(30):
            terminal.wait_for(lambda after=number * STEP: time.monotonic() - begin >= after)
            terminal.send(f"{number:02d} ")
        terminal.wait_for(" ".join(f"{number:02d}" for number in range(30)), timeout=15)
