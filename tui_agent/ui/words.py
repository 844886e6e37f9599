"""How numbers, amounts and times are written on the screen, the same everywhere."""

from __future__ import annotations

import math


def money(usd: float) -> str:
    """``$3.10``, ``$0.04``; below a cent two significant digits, ``$0.0042``."""
    if usd <= 0:
        return "$0.00"
    if usd >= 0.01:
        return f"${usd:,.2f}"
    digits = min(1 - math.floor(math.log10(usd)), 6)
    return f"${usd:.{digits}f}"


def cost(known: float, unknown: int) -> str:
    """An amount that may lack the price of some calls: never ``$0`` when a price is unknown."""
    if not unknown:
        return money(known)
    return f"{money(known)}+$?" if known else "$?"


def seconds(value: float) -> str:
    """``0.4 s``, ``14 s``, ``2 m 03 s``, ``1 h 05 m``."""
    if value < 9.95:
        return f"{max(value, 0.0):.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


def whole_seconds(value: float) -> str:
    """As ``seconds`` without tenths, for what counts on the screen while a person watches."""
    return f"{max(int(value), 0)} s" if value < 60 else seconds(value)


def tokens(count: int) -> str:
    """``812``, ``8.6k``, ``86k``, ``1.2M``."""
    if count < 1000:
        return str(count)
    if count < 9950:
        return f"{count / 1000:.1f}k"
    if count < 999_500:
        return f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}M"


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 step``, ``9 steps``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def diff(added: int, removed: int) -> str:
    """``+14 −3`` with a true minus sign."""
    return f"+{added} −{removed}"


def first_line(text: str, limit: int) -> str:
    """The first line that is not blank, cut to ``limit`` characters with an ellipsis."""
    for line in text.splitlines():
        if line := line.strip():
            return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
    return ""


def model_label(name: str) -> str:
    """A model without its provider and path: ``anthropic/claude-sonnet-4-5`` → ``claude-sonnet-4-5``."""
    return name.rpartition("/")[2] or name
