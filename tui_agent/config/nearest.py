"""The nearest valid name to a mistyped one, for every error that says "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable

from tui_agent.config.yamlfile import visible

_SIMILAR = 70.0
"""Lowest similarity in percent that is still offered; below it a suggestion misleads more than it helps."""


def nearest(word: str, options: Iterable[str]) -> str:
    """Return the option that looks most like ``word``, or an empty string if none is near.

    A swap of two letters counts as one slip, and case, ``-`` and ``_`` don't count.
    """
    from rapidfuzz import process  # a start without mistakes doesn't need it

    plain = _plain(word)
    if not plain:
        return ""
    found = process.extractOne(
        plain, list(options), scorer=_similarity, processor=_plain, score_cutoff=_SIMILAR
    )
    return found[0] if found else ""


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` to append to a message, or an empty string."""
    near = nearest(word, options)
    return f'; did you mean "{visible(near, 60)}"?' if near else ""


def _plain(text: str) -> str:
    return text.strip().casefold().replace("-", "_").replace(" ", "_")


def _similarity(left: str, right: str, *, score_cutoff: float | None = None) -> float:
    """Similarity in percent: letters in common order, or one slip in a short word."""
    from rapidfuzz import fuzz
    from rapidfuzz.distance import OSA

    ratio = fuzz.ratio(left, right)
    slips = OSA.distance(left, right)
    if slips <= max(1, len(right) // 5):
        ratio = max(ratio, 100.0 - 8 * slips)
    return ratio if score_cutoff is None or ratio >= score_cutoff else 0.0
