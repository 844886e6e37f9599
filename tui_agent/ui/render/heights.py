"""Heights of many things on top of each other: where each begins, and which one a row belongs to, in O(log n)."""

from __future__ import annotations

from collections.abc import Iterable


class Heights:
    """A Fenwick tree over heights in rows."""

    __slots__ = ("_tree", "_values")

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values = list(values)
        tree = self._tree = [0, *self._values]
        for index in range(1, len(tree)):
            parent = index + (index & -index)
            if parent < len(tree):
                tree[parent] += tree[index]

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def append(self, height: int) -> None:
        """Put one more thing at the end."""
        self._values.append(height)
        tree, index = self._tree, len(self._values)
        total, step, span = height, 1, index & -index
        while step < span:
            total += tree[index - step]
            step <<= 1
        tree.append(total)

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        change = height - self._values[index]
        if not change:
            return
        self._values[index] = height
        tree, index = self._tree, index + 1
        while index < len(tree):
            tree[index] += change
            index += index & -index

    def truncate(self, count: int) -> None:
        """Keep the first ``count``."""
        del self._values[count:]
        del self._tree[count + 1 :]

    def start(self, index: int) -> int:
        """The row at which a thing begins (``len`` of them: the total)."""
        total, tree = 0, self._tree
        while index:
            total += tree[index]
            index &= index - 1
        return total

    @property
    def total(self) -> int:
        """All rows."""
        return self.start(len(self._values))

    def find(self, row: int) -> tuple[int, int]:
        """The thing that holds a row, and how far into it the row is; past the end: (``len``, rows past it)."""
        position, tree = 0, self._tree
        step = 1 << len(self._values).bit_length()
        while step:
            ahead = position + step
            if ahead < len(tree) and tree[ahead] <= row:
                position = ahead
                row -= tree[ahead]
            step >>= 1
        return position, row
