"""Processes of this machine, as ``ps`` shows them: who runs, and below whom."""

from __future__ import annotations

import subprocess


def running(command: str) -> list[int]:
    """Every process whose command line is exactly this."""
    return [pid for pid, _, line in _table() if line == command]


def descendants(pid: int, words: str = "") -> list[int]:
    """Every process below one, children first, whose command line holds ``words``."""
    table = _table()
    found, wanted = list[int](), [pid]
    while wanted:
        parent = wanted.pop(0)
        children = [(child, line) for child, above, line in table if above == parent]
        found += [child for child, line in children if words in line]
        wanted += [child for child, _ in children]
    return found


def alive(pid: int) -> bool:
    """Whether a process still runs (one that nobody has waited for yet does not)."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
    ).stdout.strip()
    return bool(state) and not state.startswith("Z")


def _table() -> list[tuple[int, int, str]]:
    """(pid, parent, command line) of all that run."""
    shown = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in shown.stdout.splitlines()]
    return [(int(row[0]), int(row[1]), row[3]) for row in rows if len(row) > 3 and not row[2].startswith("Z")]
