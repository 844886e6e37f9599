"""What a theme can colour: the roles of text and what they inherit, the groups of code tokens, the grounds behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """A role inherits what it does not set itself; one without a parent starts from nothing, so that it only adds."""

    parent: str
    means: str
    text: bool = True
    """False: lines and bars, for which the contrast of text is not asked."""


ROLES: Mapping[str, Role] = {
    # the three strengths of text, and the one accent
    "content": Role("", "what is to be read"),
    "context": Role("content", "what may be read: outcomes, durations, hints; dimmer"),
    "accent": Role("", "the one colour that is not an outcome: the person, links, what is going on"),
    "text": Role("content", "text of a row"),
    "dim": Role("context", "less important text of a row"),
    "muted": Role("context", "the least important text"),
    "strong": Role("", "strong text"),
    "emphasis": Role("", "emphasised text"),
    "strike": Role("", "text that was struck out"),
    "placeholder": Role("context", "what stands in an empty field"),
    # who speaks
    "user": Role("content", "what the person said"),
    "user-mark": Role("accent", "the bar beside it"),
    "assistant": Role("content", "what the model said"),
    "reasoning": Role("context", "what the model thought"),
    "system": Role("context", "what the program says"),
    "system-mark": Role("context", "the mark beside it"),
    # text of documents
    "heading": Role("content", "a heading"),
    "link": Role("accent", "a link"),
    "quote": Role("context", "quoted text"),
    "list-mark": Role("context", "the mark of a list's item"),
    "table": Role("context", "the lines of a table"),
    "table-head": Role("content", "the head of a table"),
    "rule": Role("border", "a line across", text=False),
    "code": Role("content", "a listing"),
    "code-inline": Role("content", "code inside a sentence"),
    "code-language": Role("context", "the language of a listing"),
    # outcomes
    "ok": Role("", "it worked"),
    "warn": Role("", "mind this"),
    "error": Role("", "it failed"),
    "running": Role("accent", "it runs"),
    "waiting": Role("accent", "it waits for you"),
    "denied": Role("warn", "it was denied"),
    "interrupted": Role("warn", "it was stopped"),
    "notice": Role("context", "a line of the program"),
    # tools and hooks
    "tool": Role("context", "a tool's panel"),
    "tool-name": Role("content", "the name of a tool"),
    "tool-target": Role("content", "what a tool works on"),
    "tool-output": Role("context", "what a tool printed"),
    "tool-error": Role("error", "a tool's failure"),
    "tool-mark": Role("border", "the line beside a tool's panel", text=False),
    "hook": Role("context", "what a hook printed"),
    "hook-ok": Role("ok", "a hook found nothing"),
    "hook-fail": Role("warn", "a hook found something"),
    "untrusted": Role("warn", "this came from outside"),
    "sub-agent": Role("accent", "a sub-agent"),
    # changes
    "diff-add": Role("", "an added line"),
    "diff-del": Role("", "a removed line"),
    "diff-add-mark": Role("diff-add", "its plus sign"),
    "diff-del-mark": Role("diff-del", "its minus sign"),
    "diff-add-word": Role("diff-add", "what was added inside a line"),
    "diff-del-word": Role("diff-del", "what was removed inside a line"),
    "diff-context": Role("context", "a line that stayed"),
    "diff-number": Role("context", "a line's number"),
    "diff-hunk": Role("context", "the head of a part of a diff"),
    "added": Role("ok", "how many lines came, +5"),
    "removed": Role("error", "how many lines went, −3"),
    # gauges
    "gauge": Role("context", "the words of a gauge"),
    "gauge-ok": Role("context", "a gauge that is far from its limit"),
    "gauge-warn": Role("warn", "a gauge from 75 %"),
    "gauge-full": Role("error", "a gauge from 95 %"),
    "gauge-empty": Role("border", "the rest of a gauge", text=False),
    # waiting messages, marks, keys
    "steer": Role("accent", "a message for the running work"),
    "follow-up": Role("context", "a message for afterwards"),
    "badge": Role("content", "a mark on a ground of its own"),
    "badge-warn": Role("badge", "the same as a warning"),
    "mode": Role("badge", "the mode"),
    "key": Role("content", "a key in a hint"),
    "hint": Role("context", "what the key does"),
    "spinner": Role("accent", "something moves"),
    "match": Role("accent", "letters that were searched for"),
    # the frame
    "title": Role("content", "the first row"),
    "title-context": Role("context", "the rest of it"),
    "composer": Role("content", "what is typed"),
    "paste": Role("accent", "a folded paste"),
    "card": Role("content", "a card"),
    "card-title": Role("card", "its first row"),
    "menu": Role("content", "a list over the screen"),
    "cursor": Role("content", "the marked row of a list"),
    "selection": Role("", "selected text"),
    "find": Role("", "a match of the search"),
    "find-current": Role("find", "the match that was jumped to"),
    "new-below": Role("accent", "more has come below"),
    "border": Role("", "a frame", text=False),
    "border-focus": Role("border", "the frame of what has the focus", text=False),
    "scrollbar": Role("border", "the track of a scroll bar", text=False),
    "scrollbar-thumb": Role("scrollbar", "its thumb", text=False),
}
"""Every role with what it inherits."""

GROUPS: Mapping[str, Role] = {
    "keyword": Role("", "if, def, class"),
    "operator": Role("", "+, ="),
    "punctuation": Role("operator", "brackets and commas"),
    "variable": Role("", "names"),
    "attribute": Role("variable", "names inside tags and objects"),
    "function": Role("", "names of functions"),
    "builtin": Role("function", "names of the language itself"),
    "decorator": Role("function", "decorators"),
    "type": Role("", "names of types and classes"),
    "namespace": Role("type", "names of modules"),
    "tag": Role("keyword", "tags of markup"),
    "string": Role("", "text"),
    "escape": Role("string", "escapes inside text"),
    "number": Role("", "numbers"),
    "constant": Role("number", "true, None"),
    "comment": Role("", "comments"),
    "heading": Role("keyword", "headings of markup"),
    "inserted": Role("string", "added lines of a patch"),
    "deleted": Role("keyword", "removed lines of a patch"),
    "error": Role("", "what can't be right"),
}
"""Groups of code tokens (``render/code.py`` sorts the tokens into them); they inherit like roles, at last from ``code``."""

GROUNDS: Mapping[str, str] = {
    "background": "behind the transcript",
    "surface": "behind the composer and cards",
    "overlay": "behind lists over the screen",
    "code": "behind listings",
    "cursor": "behind the marked row of a list",
}
"""What text stands on; every text role must be readable on each of them."""

CODE_GROUNDS = ("code", "background", "diff-add", "diff-del")
"""What code stands on: grounds, and roles with a ground of their own."""
