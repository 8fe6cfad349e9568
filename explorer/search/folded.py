"""Folded rows, see `explorer.kernels.folding`: whether to fold, and their memory, which grows with the rows and with
the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.compiler.layout import Layout
from explorer.kernels import entry_points
from explorer.kernels.arrays import MOST_PARTS, NUMBER_BITS, PARTS, ROW_BYTES, SIZES, WORDS, FoldedRows
from explorer.memory import address_space, reserve
from explorer.search.cuts import MOST_WORDS, plan_of
from explorer.search.rows import Rows

FEWEST_BYTES, MOST_BYTES = 5, 8  # of a row
FIRST_INDEX = 1 << 14
FEWEST_PARTS, PARTS_A_ROW = 1 << 22, 2  # that there is address space for
MOST_SLOTS = 2**32 - 2**17
SAMPLE = 1 << 14
MOST_OF_FLAT = 0.75  # of the bytes of flat rows; to save less is not worth it
FOLDED_AT_ONCE = 1 << 15
BATCH = 256

Spread = Callable[[Callable[[int, int], None], int, int], Any]
"""Calls a function for the parts of a range."""


def folded(rows: Rows, layout: Layout, most: int, reserved: int, spread: Spread) -> Folded | None:
    """Flat rows folded, with room for `most` of them and for what threads have reserved; None if that saves little, or
    if there is too little room.
    """
    count = rows.count
    sample = np.zeros((min(count, SAMPLE), 2 * layout.words), np.uint32)
    sample[:, : len(rows.units)] = rows.chosen(np.linspace(0, count - 1, len(sample)).astype(np.int64))
    plan, left = plan_of(layout, sample.view(np.uint64)), address_space()
    if left is not None:
        left = left // 2 - 8 * MOST_WORDS * FEWEST_PARTS
        most = min(most, left // (MOST_BYTES + 8 * MOST_WORDS * PARTS_A_ROW))
    if plan is None or most < count + reserved:
        return None
    try:
        found = Folded(plan, most, reserved, rows)
        found.fold(rows.rows.flat[: count * len(rows.units)], 0, spread)
    except MemoryError:
        found = None
    if found is None or count * found.row_bytes + found.bytes_of_parts > MOST_OF_FLAT * 4 * count * len(rows.units):
        return None
    return found


class Folded:
    """The memory of folded rows.

    Attributes:
        rows: the rows as kernels read them.
        most: how many there may be.
    """

    def __init__(self, plan: np.ndarray, most: int, reserved: int, like: Rows) -> None:
        """Reserve address space.

        Raises:
            MemoryError: there is not that much of it.
        """
        self._plan, self._units, self.most = plan, like.units, most
        self._rows = reserve(((most + reserved) * MOST_BYTES + 8,), np.uint8)  # the last one is read as a word, too
        words = max(1, int(plan[:, WORDS].max()))
        self._parts = reserve((min(MOST_SLOTS, FEWEST_PARTS + PARTS_A_ROW * most), words), np.uint64)
        self._index = reserve((FIRST_INDEX,), np.uint32)
        self._sizes = np.zeros(SIZES, np.int64)
        self._sizes[ROW_BYTES], self._sizes[NUMBER_BITS] = FEWEST_BYTES, 4 * FEWEST_BYTES
        self._sizes[PARTS] = 1
        entry_points.enter_parts(self._parts, 0, 1, self._index)
        self._update()

    def _update(self) -> None:
        self._sizes[MOST_PARTS] = min(len(self._index) * 3 // 4, 1 << 4 * self.row_bytes, len(self._parts))
        self.rows = FoldedRows(self._rows, self._parts, self._index, self._plan, self._sizes)

    @property
    def row_bytes(self) -> int:
        """How many bytes each row takes now."""
        return int(self._sizes[ROW_BYTES])

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return int(self._sizes[PARTS])

    @property
    def bytes_of_parts(self) -> int:
        """Bytes that the parts take."""
        return self.parts * self._parts.strides[0] + self._index.nbytes

    def grow(self, count: int) -> None:
        """Make some more room for parts of rows, of which there are so many.

        Raises:
            MemoryError: there is not that much address space.
        """
        self._make_room(int(self.rows.sizes[MOST_PARTS]) + 1, count)

    def _make_room(self, parts: int, count: int) -> None:
        if parts > len(self._parts):
            raise MemoryError("there is no address space for so many parts")
        while parts > 1 << 4 * self.row_bytes:
            entry_points.widen_rows(self.rows, count, self.row_bytes + 1)
        slots = len(self._index)
        while 4 * parts > 3 * slots:
            slots = min(slots * 5 // 4, MOST_SLOTS)
        if slots > len(self._index):
            self._index = reserve((slots,), np.uint32)
            entry_points.enter_parts(self._parts, 0, self.parts, self._index)
        self._update()

    def fold(self, flat: np.ndarray, first: int, spread: Spread) -> None:
        """Fold flat rows into those from `first` on.

        Raises:
            MemoryError: there is not that much address space.
        """

        def fold(begin: int, end: int) -> None:
            words = np.zeros((BATCH + 1, (len(self._units) + 1) // 2), np.uint64)
            numbers = np.zeros((len(self._plan), BATCH + 1), np.uint32)
            sources = np.roll(np.arange(BATCH + 1, dtype=np.uint32), 1)
            entry_points.fold_rows(
                flat, begin, end, self.rows, first + begin, words, numbers, sources, np.zeros(BATCH, np.uint64),
                np.zeros(BATCH, np.uint64), self._units,
            )  # fmt: skip

        count = len(flat) // len(self._units)
        for begin in range(0, count, FOLDED_AT_ONCE):
            end = min(count, begin + FOLDED_AT_ONCE)
            self._make_room(self.parts + (end - begin) * len(self._plan), first + begin)
            spread(fold, begin, end)
