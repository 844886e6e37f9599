"""The roll: whatever happens to it, what is seen through a window is what stands there in the whole."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ui.painting import page, roll
from tui_agent.core.tool import Diff
from tui_agent.ui.blocks import AssistantBlock, Block, NoticeBlock, ReasoningBlock, ToolBlock, UserBlock
from tui_agent.ui.render.roll import Roll

WORDS = "some words that wrap when the page is narrow enough for them to do so\n"


def new_block(number: int, kind: int) -> Block:
    name = f"b{number}"
    if kind == 0:
        return UserBlock(name, WORDS * (number % 4 + 1))
    if kind == 1:
        return AssistantBlock(name, f"# {number}\n\n" + f"- {WORDS}" * (number % 6), live=number % 2 == 0)
    if kind == 2:
        return ReasoningBlock(name, WORDS * 3, folded=number % 2 == 0)
    if kind == 3:
        return NoticeBlock(name, WORDS[:20], body="more\n\nto say" if number % 2 else "", folded=True)
    block = ToolBlock(
        name, "out\n" * (number * 7 % 300), name="grep", summary="x", status="error" if number % 3 else "ok"
    )
    block.display = Diff("x.py", "@@ -1 +1 @@\n-a\n+b\n", 1, 1) if number % 5 == 0 else None
    return block


def whole(made: Roll) -> list[str]:
    """All rows, by measuring everything from a fresh start."""
    fresh = Roll(page(made.page.cells), made.clock)
    fresh.choices = made.choices
    fresh.set([entry.block for entry in made.entries])
    fresh.settle_end(1_000_000)
    return seen(fresh, 0, 1_000_000)


def seen(made: Roll, top: int, count: int) -> list[str]:
    return [place.row.strip.text.rstrip() if place.row else "" for place in made.window(top, count)]


Action = tuple[int, int]


def act(made: Roll, action: Action, number: int) -> None:
    what, which = action
    entries = made.entries
    place = which % len(entries) if entries else 0
    actions: list[Callable[[], object]] = [
        lambda: made.add(new_block(number, which % 5)),
        lambda: entries and made.remove(place),
        lambda: made.truncate(max(len(entries) - which % 3, 0)),
        lambda: made.reflow(page(30 + which % 70)),
        lambda: made.repaint(page(made.page.cells)),
        lambda: made.settle(which * 3, 10),
        lambda: entries and change(made, place, which),
        lambda: entries and fold(made, place, which),
    ]
    actions[what]()


def change(made: Roll, place: int, which: int) -> None:
    block = made.entries[place].block
    block.version += 1
    if isinstance(block, AssistantBlock | ReasoningBlock) and block.live:
        block.text += f"more {which}\n\n"
        block.live = which % 4 != 0
    elif isinstance(block, ToolBlock):
        block.status = ("ok", "error", "running", "denied")[which % 4]
    made.update(place)


def fold(made: Roll, place: int, which: int) -> None:
    made.choices[made.entries[place].block.id] = ("folded", "brief", "open")[which % 3]
    made.update(place)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 50)), max_size=25),
    st.integers(0, 200),
    st.integers(1, 30),
)
def test_a_window_shows_what_stands_there(actions: list[Action], top: int, count: int) -> None:
    made = roll(*(new_block(number, number % 5) for number in range(8)), cells=60)
    for number, action in enumerate(actions):
        act(made, action, 100 + number)
    everything = whole(made)

    top = made.settle(top, count)
    rows = seen(made, top, count)
    anchor = made.anchor(top)
    assert made.total == made.heights.total == sum(entry.height for entry in made.entries)
    made.settle_end(1_000_000)
    assert made.total == len(everything)
    if anchor is not None:
        place = made.row(anchor)
        assert place is not None
        assert everything[place : place + len(rows)] == rows
    assert seen(made, 0, 1_000_000) == everything


@settings(max_examples=60)
@given(
    st.integers(0, 300), st.lists(st.tuples(st.sampled_from([0, 3, 4, 6, 7]), st.integers(0, 50)), max_size=8)
)
def test_an_anchor_names_the_same_line_after_anything(top: int, actions: list[Action]) -> None:
    made = roll(*(new_block(number, number % 5) for number in range(12)), cells=60)
    top = made.settle(top, 10)
    anchor = made.anchor(top)
    if anchor is None:
        return
    for number, action in enumerate(actions):
        act(made, action, 100 + number)
    row = made.row(anchor)
    assert row is not None
    (place, *_) = made.window(made.settle(row, 5), 1)
    assert made.entries[place.entry].block is anchor.block
