"""What the scripted model says: a pure function of the request, so it can answer steering, follow-ups and refusals."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable

import msgspec

from tui_agent.core.messages import Message, Result
from tui_agent.llm.api import ReportedUsage, Request
from tui_agent.llm.scripted import Turn

PYTHON = "python3" if shutil.which("python3") else shlex.quote(sys.executable)
TEST_COMMAND = f"{PYTHON} -m unittest discover -s tests -t ."
"""Runs the scratch project's tests; the demo's rules allow exactly this."""

_SOURCE, _TESTS = "wordstats/stats.py", "tests/test_stats.py"
_BROKEN = "    ordered = values\n    middle = len(ordered) // 2\n    return ordered[middle]\n"
_FIRST_TRY = (
    "    ordered = sorted(values)\n    middle = len(ordered) // 2\n    if len(ordered) % 2:\n"
    "        return ordered[middle]\n    return mean(ordered[middle - 1 : middel + 1])\n"
)
_TYPO, _MENDED = "mean(ordered[middle - 1 : middel + 1])", "mean(ordered[middle - 1 : middle + 1])"
_EXTRA_TEST = """import unittest

from wordstats.stats import median


class MedianEdgeCases(unittest.TestCase):
    def test_one_value(self):
        self.assertEqual(median([7]), 7)

    def test_negative_values(self):
        self.assertEqual(median([-5, 3, -1, 1]), 0)
"""


def turn(request: Request) -> Turn:
    """The next turn of the demo for what was said and done so far."""
    if not request.tools:
        return _closing(request)
    begin = _last_request(request.messages)
    since = request.messages[begin + 1 :]
    made = sum(1 for message in since if message.role == "assistant" and not message.interrupted)
    first = not any(message.role == "assistant" for message in request.messages[:begin])
    stages = _MAIN if first else _follow_up(request.messages[begin].text)
    answer = stages[made](since) if made < len(stages) else Turn("That was all I had in my script for this.")
    return _with_usage(_steered(answer, since), request)


Stage = Callable[[tuple[Message, ...]], Turn]


def _last_request(messages: tuple[Message, ...]) -> int:
    """Index of the person's last prompt or follow-up (steering belongs to the request before it)."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role == "user" and message.origin in ("person", "follow_up") and not message.synthetic:
            return at
    return 0


def _steered(answer: Turn, since: tuple[Message, ...]) -> Turn:
    """What was said while the script ran is answered in the next turn, and acted on where the script can."""
    said = ""
    for message in reversed(since):
        if message.role == "assistant":
            break
        if message.role == "user" and message.origin == "steering":
            said = f"{message.text} {said}".strip()
    if not said:
        return answer
    words = said.lower()
    text, calls = f"You said: *{_one_line(said)}*. ", answer.calls
    if "test" in words:
        text += "I add a test for the edge cases right away. "
        calls = (*calls, ("write_file", {"path": "tests/test_edges.py", "content": _EXTRA_TEST}))
    elif any(word in words for word in ("stop", "wait", "halt", "alto")):
        return Turn(
            text
            + "I stop here. Send a message and I go on from where I am; I am only a script, but a polite one."
        )
    elif any(word in words for word in ("why", "explain", "how")):
        text += "In short: `median` neither sorts nor treats an even number of values. "
    else:
        text += "I am a script and can't act on free text, but a real model would read this now, before its next call. "
    return msgspec.structs.replace(answer, text=f"{text}\n\n{answer.text}".rstrip(), calls=calls)


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 120 else flat[:117] + "…"


# ---- the first request


def _look(_: tuple[Message, ...]) -> Turn:
    return Turn(
        text="*This is a scripted model, the tools are real.* I'll look at the project and its tests first.",
        reasoning="A failing suite: I need to see what the tests expect and what the code does before I change anything.",
        calls=(
            ("list_files", {"path": "."}),
            ("read_file", {"path": _TESTS}),
            ("read_file", {"path": _SOURCE}),
        ),
    )


def _run_tests(_: tuple[Message, ...]) -> Turn:
    return Turn(
        text="Now the suite itself, to see which tests fail and how.",
        calls=(
            ("search_code", {"pattern": r"def median|median\(", "path": "."}),
            ("run_command", {"command": TEST_COMMAND}),
        ),
    )


def _explain_and_edit(since: tuple[Message, ...]) -> Turn:
    why = (
        "Two faults, both in `median`:\n\n"
        "1. it never **sorts**, so the middle element is whatever stands there;\n"
        "2. for an *even* number of values it returns one of the two middle ones instead of their mean.\n\n"
        "Sorting a copy also keeps the argument as it is, which a test asks for."
    )
    if not _ran(since):
        why = "The tests could not be run, so I go by reading them.\n\n" + why
    return Turn(text=why, calls=(("edit_file", {"path": _SOURCE, "old": _BROKEN, "new": _FIRST_TRY}),))


def _mend_the_lint(since: tuple[Message, ...]) -> Turn:
    if "F821" in _last_result(since):
        text = "The lint hook caught a typo of mine: `middel`. That is what hooks are for."
    else:
        text = "I mistyped `middle` in that edit; mending it."
    return Turn(text=text, calls=(("edit_file", {"path": _SOURCE, "old": _TYPO, "new": _MENDED}),))


def _prove_it(_: tuple[Message, ...]) -> Turn:
    return Turn(
        text="Clean now. The whole suite once more:", calls=(("run_command", {"command": TEST_COMMAND}),)
    )


def _report(since: tuple[Message, ...]) -> Turn:
    passed = "OK" in _last_result(since) and "FAILED" not in _last_result(since)
    head = "**All tests pass.**" if passed else "The suite did not come back clean; its output is above."
    return Turn(
        text=f"{head}\n\n| what | before | after |\n|---|---|---|\n| odd number of values | unsorted middle | middle of the sorted copy |\n"
        "| even number of values | one of two | mean of both |\n| argument | – | untouched |\n\n"
        "```python\ndef median(values):\n    ordered = sorted(values)\n    middle = len(ordered) // 2\n"
        "    if len(ordered) % 2:\n        return ordered[middle]\n    return mean(ordered[middle - 1 : middle + 1])\n```\n\n"
        "What you saw is a script talking, but the files, the searches, the hook and the test runs were real. "
        "With a model of yours (F3) this is how real work looks: you can steer while it runs, stop it with one key, "
        "and replay it later."
    )


_MAIN: tuple[Stage, ...] = (_look, _run_tests, _explain_and_edit, _mend_the_lint, _prove_it, _report)


# ---- what comes after


def _follow_up(text: str) -> tuple[Stage, ...]:
    """A short real piece of work for a later request, by what it asks for."""
    words = text.lower()
    if "test" in words:
        return (
            lambda _: Turn(
                text="I add tests for the edge cases and run everything.",
                calls=(("write_file", {"path": "tests/test_edges.py", "content": _EXTRA_TEST}),),
            ),
            _prove_it,
            lambda since: Turn(
                "Done: the new tests are in, and "
                + ("all pass." if "OK" in _last_result(since) else "see above.")
            ),
        )
    if any(word in words for word in ("show", "read", "what", "file")):
        return (
            lambda _: Turn(text="Here is the file as it is now.", calls=(("read_file", {"path": _SOURCE}),)),
            lambda _: Turn(
                "That is `wordstats/stats.py` after the fix. (A script is speaking; ask me about tests or files.)"
            ),
        )
    return (
        lambda _: Turn(
            f"You asked: *{_one_line(text)}*. I am a script, so I can only do a few things: ask me to **add tests** or to **show "
            "the file**. Choose a real model with F3 for everything else."
        ),
    )


def _closing(request: Request) -> Turn:
    """A call without tools asks for a summary."""
    changed = any(call.name == "edit_file" for message in request.messages for call in message.calls)
    state = "`median` was changed in `wordstats/stats.py`" if changed else "nothing was changed yet"
    return _with_usage(Turn(f"Stopped by a limit: {state}. Next: run the tests again."), request)


def _results(since: tuple[Message, ...]) -> list[Result]:
    return [result for message in since for result in message.results]


def _last_result(since: tuple[Message, ...]) -> str:
    results = _results(since)
    return results[-1].text if results else ""


def _ran(since: tuple[Message, ...]) -> bool:
    return any(result.name == "run_command" and "Ran " in result.text for result in _results(since))


def _with_usage(answer: Turn, request: Request) -> Turn:
    """Usage as a provider would report it, a token taken for four characters; what was sent before counts as cached."""
    sizes = [
        len(message.text) + sum(len(result.text) for result in message.results) + 60
        for message in request.messages
    ]
    tools = sum(len(msgspec.json.encode(tool.schema)) + len(tool.description) for tool in request.tools)
    fixed = (len(request.system) + tools) // 4
    old = sum(sizes[:-2]) // 4
    output = (
        len(answer.text) + len(answer.reasoning) + sum(len(str(arguments)) for _, arguments in answer.calls)
    ) // 4
    usage = ReportedUsage(
        input=fixed + sum(sizes) // 4, cached=fixed + old if len(sizes) > 2 else 0, output=max(1, output),
        reasoning=len(answer.reasoning) // 4,
    )  # fmt: skip
    return msgspec.structs.replace(answer, usage=usage)
