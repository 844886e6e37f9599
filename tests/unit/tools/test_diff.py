"""Diffs: right, bounded, and good where patience makes them so."""

from __future__ import annotations

import time

import pytest

from tui_agent.tools.diff import MAX_SHOWN, diff


def test_a_moved_brace_is_not_matched_across_functions() -> None:
    before = "def a():\n    x\n\n\ndef c():\n    x\n"
    after = "def a():\n    x\n\n\ndef b():\n    x\n\n\ndef c():\n    x\n"
    shown = diff("f", before, after)
    assert (shown.added, shown.removed) == (4, 0)
    assert "+def b():\n+    x\n+\n+\n def c" in shown.hunks


@pytest.mark.parametrize(
    ("before", "after", "hunks"),
    [
        ("a\n", "a\n", ""),
        (None, "a\n", "@@ -0,0 +1,1 @@\n+a"),
        ("a\n", None, "@@ -1,1 +0,0 @@\n-a"),
        (None, "", ""),
        ("a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a"),
        ("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c"),
        ("a\r\n", "a\n", "@@ -1,1 +1,1 @@\n-a\r\n+a"),
    ],
)
def test_hunks(before: str | None, after: str | None, hunks: str) -> None:
    shown = diff("f", before, after)
    assert shown.hunks == hunks
    assert (shown.created, shown.deleted) == (before is None, after is None)


def test_far_changes_are_separate_hunks_and_near_ones_are_one() -> None:
    lines = [f"{n}\n" for n in range(40)]
    far, near = lines.copy(), lines.copy()
    far[3] = far[30] = near[3] = near[9] = "x\n"
    assert diff("f", "".join(lines), "".join(far)).hunks.count("@@ -") == 2
    assert diff("f", "".join(lines), "".join(near)).hunks.count("@@ -") == 1


def test_a_large_diff_is_cut_and_its_counts_are_not() -> None:
    shown = diff("f", None, "x\n" * 50_000)
    assert shown.added == 50_000
    assert shown.hunks.count("\n") == MAX_SHOWN
    assert shown.hunks.endswith("more lines")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\n" * 9_000, "b\na\n" * 9_000),
        ("".join(f"{n % 7}\n" for n in range(18_000)), "".join(f"{n % 5}\n" for n in range(18_000))),
        ("".join(f"{n}\n" for n in range(19_000)), "".join(f"{n * 7919 % 19_000}\n" for n in range(19_000))),
        ("x" * 3_000_000, "y" * 3_000_000),
        ("\n" * 60_000, "x\n" * 60_000),
        (
            "".join(f"{n * n % 97}\n{n}\n" for n in range(9_000)),
            "".join(f"{n * n % 89}\n{n}\n" for n in range(9_000)),
        ),
    ],
)
def test_the_worst_texts_take_no_longer_than_a_moment(before: str, after: str) -> None:
    began = time.process_time()
    shown = diff("f", before, after)
    assert time.process_time() - began < 3
    assert len(shown.hunks) < 5_000_000


def test_undecodable_bytes_can_be_shown() -> None:
    assert "\udcff" not in diff("f", "a\n", "\udcff\n").hunks
