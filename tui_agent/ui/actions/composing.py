"""Actions on the text that is being written, and on messages that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import events

from tui_agent import ui
from tui_agent.config.nearest import nearest
from tui_agent.core.commands import DropQueued, EditQueued, Prompt, Queue, RunShell, Steer
from tui_agent.ui import commands, screens
from tui_agent.ui.actions.group import Group, Table
from tui_agent.ui.drafts import Draft
from tui_agent.ui.firstframe import PLACEHOLDER
from tui_agent.ui.fold.run import Queued
from tui_agent.ui.widgets.completion import Completion
from tui_agent.ui.words import first_line

if TYPE_CHECKING:
    from tui_agent.ui.completing import Paths, Wanted
    from tui_agent.ui.screens.picker import Choice
    from tui_agent.ui.screens.session import SessionScreen

LONGEST_SHOWN = 20
"""Rows of a text in the preview of the history."""


class ComposingActions(Group["SessionScreen"]):
    """Sending, queueing, completing, looking back."""

    def __init__(self, screen: SessionScreen) -> None:
        super().__init__(screen)
        self.marked = ""
        """Id of the waiting message that is marked."""
        self._paths: Paths | None = None
        self._wanted: Wanted | None = None
        self._closed_at: tuple[str, int] | None = None

    def table(self) -> Table:
        return {
            "composer.send": self.send,
            "composer.newline": self.newline,
            "composer.queue": self.queue,
            "composer.history_previous": self.older,
            "composer.history_next": self.newer,
            "composer.history_search": self.search_history,
            "composer.editor": self.editor,
            "composer.stash": self.stash,
            "composer.expand": self.expand,
            "composer.paste_image": self.paste_image,
            "queue.edit_last": self.edit_last,
            "queue.edit": self.edit_marked,
            "queue.remove": self.remove_marked,
            "queue.next": lambda _key: self.mark(1),
            "queue.previous": lambda _key: self.mark(-1),
            "queue.leave": self.leave_queue,
            "app.focus_next": lambda _key: self.go_round(1),
            "app.focus_previous": lambda _key: self.go_round(-1),
            "completion.accept": self.accept,
            "completion.next": lambda _key: self._move_completion(1),
            "completion.previous": lambda _key: self._move_completion(-1),
            "completion.close": self.close_completions,
        }

    def contexts(self) -> list[str]:
        if self.screen.completions.is_open:
            return ["completion"]
        return ["queue"] if self.marked in self.screen.view.run.queue else []

    def placeholder(self) -> str:
        """What the empty composer says."""
        view = self.screen.view
        if self.screen.editing:
            return "empty: enter removes the message"
        if self.screen.answers.question is not None:
            return "write your answer"
        if view.running:
            return "steer it while it works"
        return PLACEHOLDER

    def restore(self, draft: Draft, typed: str, *, early: bool) -> None:
        """What was not sent comes back; if something was typed before the screen was there, the draft is on ↑.

        ``typed`` is text that the program itself had to read, ``early`` says that keys are still on their way.
        """
        composer = self.screen.composer
        if composer.is_empty and not typed and not early:
            composer.restore(draft)
        elif draft.text:
            composer.pastes.restore(draft.pastes)
            self.app.history_texts.add(composer.pastes.expand(draft.text))
        for character in typed:
            key = {"\r": "enter", "\n": "enter", "\x7f": "backspace", " ": "space"}.get(character, character)
            if character.isprintable() or len(key) > 1:
                composer.post_message(events.Key(key, character))

    # ---- sending

    def send(self, _key: str) -> bool:
        """Enter: a command, a shell line, an answer, a steering message, or a prompt."""
        screen = self.screen
        composer = screen.composer
        if screen.editing:
            return self._finish_edit()
        text = composer.value.strip("\n")
        if screen.answers.send_note(text):
            composer.take()
            return True
        if composer.is_empty:
            return True
        if (found := commands.parse(composer.text)) is not None:
            return self._command(*found)
        if text.startswith("!"):
            return self._shell(text)
        if screen.answers.question is not None and screen.answers.approval is None:
            return screen.answers.answer(composer.take().strip())
        if not screen.view.running and (why := self._cannot_begin()):
            return self.refuse(why)
        self._send_text()
        return True

    def _send_text(self) -> None:
        screen, composer = self.screen, self.screen.composer
        images = composer.pastes.images(composer.text)
        value = composer.take()
        screen.send(Steer(text=value) if screen.view.running else Prompt(text=value, images=images))
        screen.transcript.scroll_bottom()

    def _cannot_begin(self) -> str:
        """Why no run can begin now, empty if one can; without a model the list of models opens, and sends on choice."""
        if why := self.screen.agent.busy_with():
            return why
        if self.app.has_model:
            return ""
        self.app.models.choose(self.screen, then=self._send_text)
        return "no model is chosen: your text is sent when you have chosen one"

    def newline(self, _key: str) -> bool:
        self.screen.composer.insert_text("\n")
        return True

    def queue(self, _key: str) -> bool:
        """Tab: a follow-up."""
        screen = self.screen
        if screen.composer.is_empty or screen.editing:
            return True
        if commands.parse(screen.composer.text) is not None:
            return self.send("")
        running = screen.view.running
        if not running and (why := self._cannot_begin()):
            return self.refuse(why)
        screen.send(Queue(text=screen.composer.take()))
        return self.done("follows when this is finished") if running else True

    def _command(self, name: str, words: str) -> bool:
        screen = self.screen
        if name not in commands.BY_NAME:
            near = nearest(name, commands.BY_NAME)
            return self.refuse(
                f"no command /{name}" + (f": did you mean /{near}?" if near else ": / lists them")
            )
        screen.completions.close()
        kept = screen.composer.take()
        if not screen.places.run_command(name, words):
            screen.composer.set_text(kept)
        return True

    def _shell(self, text: str) -> bool:
        hidden = text.startswith("!!")
        line = text.lstrip("!").strip()
        if not line:
            return self.refuse("write a command after the !")
        if self.screen.view.running:
            return self.refuse("the agent works: your command can run when it is done, or stopped")
        if why := self.screen.agent.busy_with():
            return self.refuse(why)
        self.screen.composer.take()
        self.screen.send(RunShell(line=line, hidden=hidden))
        return True

    # ---- waiting messages

    def edit_last(self, _key: str) -> bool:
        """Up on the empty composer: the last waiting message comes back to be changed."""
        items = list(self.screen.view.run.queue.values())
        if not items:
            return False
        return self._edit(items[-1])

    def edit_marked(self, _key: str) -> bool:
        item = self.screen.view.run.queue.get(self.marked)
        return False if item is None else self._edit(item)

    def remove_marked(self, _key: str) -> bool:
        item = self.screen.view.run.queue.get(self.marked)
        if item is None:
            return False
        self.app.history_texts.add(item.text)
        self.screen.send(DropQueued(id=item.id))
        self.marked = ""
        return self.done("removed; ↑ brings its text back")

    def mark(self, by: int) -> bool:
        """Move the mark over the waiting messages."""
        ids = list(self.screen.view.run.queue)
        if not ids:
            return False
        at = ids.index(self.marked) + by if self.marked in ids else len(ids) - 1
        self.marked = ids[min(max(at, 0), len(ids) - 1)]
        return True

    def leave_queue(self, _key: str) -> bool:
        self.marked = ""
        self.screen.closed_overlay()
        return True

    def leave_edit(self) -> bool:
        """Escape while a waiting message is edited: it stays as it was."""
        if not self.screen.editing:
            return False
        self.screen.editing = ""
        self.screen.composer.set_text("")
        self.screen.say("the message waits as it was")
        return True

    def _edit(self, item: Queued) -> bool:
        self.marked = ""
        self.screen.editing = item.id
        self.screen.composer.set_text(item.text)
        return self.done("edit it, then enter · esc leaves it as it was")

    def _finish_edit(self) -> bool:
        screen = self.screen
        id, screen.editing = screen.editing, ""
        waits = id in screen.view.run.queue
        text = screen.composer.take().strip("\n")
        if not waits:
            if text.strip():
                screen.composer.set_text(text)
            return self.done(
                "too late: it has been delivered already; enter sends your text as a new message"
            )
        screen.send(EditQueued(id=id, text=text) if text.strip() else DropQueued(id=id))
        return self.done(
            "the message that waits is changed" if text.strip() else "the message that waited is removed"
        )

    def go_round(self, by: int) -> bool:
        """F6: waiting messages, transcript, composer, round and round."""
        screen = self.screen
        stops = [
            "composer",
            *(["queue"] if screen.view.run.queue else []),
            *(["block"] if screen.view.blocks else []),
        ]
        here = "queue" if self.marked else "block" if screen.transcript.selected else "composer"
        there = stops[(stops.index(here) + by) % len(stops)] if here in stops else "composer"
        self.marked = ""
        screen.transcript.select(None)
        if there == "queue":
            self.mark(0)
        elif there == "block":
            screen.transcript.select_previous()
        return True

    # ---- looking back

    def older(self, _key: str) -> bool:
        composer = self.screen.composer
        return composer.at_top and composer.older()

    def newer(self, _key: str) -> bool:
        composer = self.screen.composer
        return composer.at_bottom and composer.newer()

    def search_history(self, _key: str) -> bool:
        """Ctrl+R: everything that was sent, newest first."""
        texts = list(dict.fromkeys(reversed(self.app.history_texts.items)))
        items = [screens.picker.Item(first_line(text, 200), text, search=text) for text in texts]

        def chosen(choice: Choice[str] | None) -> None:
            self.screen.overlay_gone()
            if choice is not None:
                self.screen.composer.set_text(choice.value)

        def preview(
            text: str, _width: int, _height: int
        ) -> list[tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
            return [([(line, "text")], []) for line in text.splitlines()[:LONGEST_SHOWN]]

        self.app.push_screen(
            screens.picker.PickerScreen(
                self.app, "what you sent before", items, preview=preview, empty="nothing sent yet"
            ),
            chosen,
        )
        return True

    def editor(self, _key: str) -> bool:
        """Ctrl+G: write in $VISUAL or $EDITOR; nothing is sent by itself."""
        changed = self.app.outside.edit_text(self.screen.composer.value)
        if changed is not None:
            self.screen.composer.set_text(changed)
        return True

    def stash(self, _key: str) -> bool:
        if self.screen.composer.is_empty:
            return self.refuse("there is nothing to put away")
        self.screen.composer.stash()
        return self.done("text put away: ↑ brings it back")

    def expand(self, _key: str) -> bool:
        if not self.screen.composer.expand_paste():
            return self.refuse("the caret is on no folded paste")
        return True

    def paste_image(self, _key: str) -> bool:
        """The image on the clipboard, as a token in the text; it goes with the next prompt."""
        if self.screen.view.running:
            return self.refuse("images go with a prompt: wait until this run has ended")
        found = self.app.outside.clipboard_image()
        if found is None:
            return self.refuse("there is no image on the clipboard (needs wl-paste, xclip or pngpaste)")
        self.screen.composer.insert_text(self.screen.composer.pastes.keep_image(*found))
        return True

    # ---- completions

    def text_changed(self) -> None:
        """Offer what may follow the caret."""
        composer = self.screen.composer
        row, column = composer.cursor_location
        self._wanted = ui.completing.wanted(composer.document.get_line(row), column, first_row=row == 0)
        found = self._wanted
        if found is None or self._closed_at == (found.kind, found.start):
            if found is None:
                self._closed_at = None
            self._offer([])
        elif found.kind == "command":
            self._offer([] if found.query in commands.BY_NAME else ui.completing.commands(found.query))
        elif found.kind == "path":
            self.screen.run_worker(partial(self._find_paths, found), group="paths", exclusive=True)
        else:
            self._offer(ui.completing.values(found.query, self.screen.places.values_of(found.kind)))

    async def _find_paths(self, wanted: Wanted) -> None:
        if self._paths is None or self._paths.root != self.app.cwd:
            self._paths = ui.completing.Paths(self.app.cwd)
        items = await asyncio.to_thread(self._paths.find, wanted.query)
        if self._wanted == wanted:
            self._offer(items)

    def _offer(self, items: Sequence[Completion]) -> None:
        screen = self.screen
        below = screen.size.height - screen.composer.region.y
        screen.completions.offer(items, max(below, 1))

    def accept(self, key: str) -> bool:
        """Put the marked completion in; enter on a command that is complete sends it."""
        marked, wanted = self.screen.completions.marked, self._wanted
        if marked is None or wanted is None:
            return False
        composer = self.screen.composer
        row, column = composer.cursor_location
        composer.replace(marked.text, (row, wanted.start), (row, column), maintain_selection_offset=False)
        composer.move_cursor((row, wanted.start + len(marked.text)))
        self.screen.completions.close()
        if key == "enter" and wanted.kind != "path" and not marked.text.endswith(" "):
            return self.send(key)
        return True

    def close_completions(self, _key: str) -> bool:
        if self._wanted is not None:
            self._closed_at = (self._wanted.kind, self._wanted.start)
        self.screen.completions.close()
        self.screen.closed_overlay()
        return True

    def _move_completion(self, by: int) -> bool:
        self.screen.completions.move(by)
        return True
