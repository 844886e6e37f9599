"""Colours as numbers: what a theme may write, and how well one is read on another (WCAG 2.2)."""

from __future__ import annotations

import re

Rgb = tuple[int, int, int]

READABLE = 4.5
"""Least contrast of text on its ground (WCAG 2.2, 1.4.3 AA)."""

_HEX = re.compile(r"#([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")
_REPLY = re.compile(r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")

ANSI: dict[str, tuple[Rgb, Rgb]] = {
    "black": ((0, 0, 0), (0, 0, 0)),
    "red": ((170, 0, 0), (205, 0, 0)),
    "green": ((0, 170, 0), (0, 205, 0)),
    "yellow": ((170, 85, 0), (205, 205, 0)),
    "blue": ((0, 0, 170), (0, 0, 238)),
    "magenta": ((170, 0, 170), (205, 0, 205)),
    "cyan": ((0, 170, 170), (0, 205, 205)),
    "white": ((170, 170, 170), (229, 229, 229)),
    "bright_black": ((85, 85, 85), (127, 127, 127)),
    "bright_red": ((255, 85, 85), (255, 0, 0)),
    "bright_green": ((85, 255, 85), (0, 255, 0)),
    "bright_yellow": ((255, 255, 85), (255, 255, 0)),
    "bright_blue": ((85, 85, 255), (92, 92, 255)),
    "bright_magenta": ((255, 85, 255), (255, 0, 255)),
    "bright_cyan": ((85, 255, 255), (0, 255, 255)),
    "bright_white": ((255, 255, 255), (255, 255, 255)),
}
"""The sixteen colours of a terminal as the Linux console and as xterm paint them; others paint them alike."""


def parse_hex(text: str) -> Rgb | None:
    """Read ``#rrggbb`` or ``#rgb``; None if it is neither."""
    if not _HEX.fullmatch(text):
        return None
    digits = text[1:] if len(text) == 7 else "".join(digit * 2 for digit in text[1:])
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def parse_reply(text: str) -> Rgb | None:
    """Read a terminal's answer to OSC 10 or 11, e.g. ``rgb:1e1e/1e1e/2e2e``, with or without its escape sequence."""
    if found := _REPLY.search(text):
        return tuple(round(int(part, 16) * 255 / (16 ** len(part) - 1)) for part in found.groups())  # pyright: ignore[reportReturnType]
    return parse_hex(text.strip())


def luminance(colour: Rgb) -> float:
    """Relative luminance from 0 (black) to 1 (white)."""
    red, green, blue = (_linear(channel / 255) for channel in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Rgb, other: Rgb) -> float:
    """Contrast ratio from 1 to 21, the same both ways."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def is_light(colour: Rgb) -> bool:
    """True if black text is read better on it than white."""
    return contrast(colour, (0, 0, 0)) > contrast(colour, (255, 255, 255))


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
