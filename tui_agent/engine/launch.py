"""How an engine is started: the first line on its pipe."""

from __future__ import annotations

from typing import Any

import msgspec

from tui_agent.core.events import SessionKind


class Launch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``resume`` is the path of a session log (empty: a new session). ``overrides`` are flag values by dotted config key.

    ``interactive`` False: nobody can be asked, limits close by themselves. ``demo``: the scripted model, and ``cwd`` is
    its scratch project (``engine.demo.prepare``).
    """

    cwd: str
    resume: str = ""
    demo: bool = False
    kind: SessionKind = "interactive"
    interactive: bool = True
    dry_run: bool = False
    config_file: str = ""
    overrides: dict[str, Any] = {}
    parent: str = ""
    title: str = ""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Launch)


def encode(launch: Launch) -> bytes:
    return _encoder.encode(launch)


def decode(line: bytes) -> Launch:
    """Raises ``msgspec.MsgspecError``."""
    return _decoder.decode(line)
