"""What a person or a script asks of the engine; JSON lines on the engine's input pipe, tagged by ``cmd``."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tui_agent.core.events import Choice, ConfirmMode, Decision, Limit, Mode


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="cmd"):
    """Base of all commands."""


class Prompt(Command, tag="prompt"):
    """Start a run; while one runs it steers. ``images`` are (media type, base64)."""

    text: str
    images: tuple[tuple[str, str], ...] = ()


class Steer(Command, tag="steer"):
    """A message for the running run, delivered before the next model call; while idle it is a prompt."""

    text: str


class Queue(Command, tag="queue"):
    """A follow-up: delivered when the run would have ended; while idle it is a prompt."""

    text: str


class EditQueued(Command, tag="edit_queued"):
    id: str
    text: str


class DropQueued(Command, tag="drop_queued"):
    id: str


class Interrupt(Command, tag="interrupt"):
    """``now`` False: graceful, a running tool may finish for the configured grace. A second one is always ``now``."""

    now: bool = False
    by: Literal["person", "signal", "engine"] = "person"


class StopAfterStep(Command, tag="stop_after_step"):
    pass


class Approve(Command, tag="approve"):
    """Answer an approval. ``edit`` runs the call with ``arguments`` instead; ``note`` goes to the model with a denial."""

    id: str
    decision: Decision
    arguments: dict[str, Any] | None = None
    note: str = ""


class Answer(Command, tag="answer"):
    """Answer a question of the model (``id`` of question_asked), or cut a retry wait (``id`` "retry": now, fallback, stop)."""

    id: str
    text: str


class Extend(Command, tag="extend"):
    """The choice on a tripped limit; ``amount`` overrides the default step (+10 steps, +50 %)."""

    choice: Choice
    amount: float | None = None


class SetModel(Command, tag="set_model"):
    model: str


class SetMode(Command, tag="set_mode"):
    mode: Mode | None = None
    confirm: ConfirmMode | None = None


class SetLimit(Command, tag="set_limit"):
    limit: Limit
    value: float | None


class Compact(Command, tag="compact"):
    """Compact now; ``keep`` says what the summary must keep."""

    keep: str = ""


class Continue(Command, tag="continue"):
    """Go on from the stored context without a new prompt; refused unless the tail is a user or tool message."""


class RewindTo(Command, tag="rewind"):
    to_seq: int
    conversation: bool = True
    files: bool = False


class Fork(Command, tag="fork"):
    at_seq: int


class Rename(Command, tag="rename"):
    title: str


class RunShell(Command, tag="shell"):
    """A shell line of the person (``!``); ``hidden`` keeps it and its output from the model (``!!``)."""

    line: str
    hidden: bool = False


class Shutdown(Command, tag="shutdown"):
    pass


AnyCommand = (
    Prompt | Steer | Queue | EditQueued | DropQueued | Interrupt | StopAfterStep | Approve | Answer | Extend
    | SetModel | SetMode | SetLimit | Compact | Continue | RewindTo | Fork | Rename | RunShell | Shutdown
)  # fmt: skip

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyCommand)


def encode(command: Command) -> bytes:
    """One line without its newline."""
    return _encoder.encode(command)


def decode(line: bytes | str) -> AnyCommand:
    """Parse one line; raises ``ValueError``."""
    try:
        return _decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise ValueError(f"not a command: {error}") from error
