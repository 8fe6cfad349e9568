"""Folded rows, see `highwater.explorer.kernels.states.folding`: whether to fold, and their memory, which grows with
the rows and with the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from highwater.explorer.compiler.layout import Layout
from highwater.explorer.kernels.arrays import (
    MOST_PARTS,
    NUMBER_BITS,
    PARTS,
    ROW_BYTES,
    SIZES,
    WORDS,
    Batch,
    FoldedRows,
)
from highwater.explorer.kernels.making.entry_points import ALONE, MachineCode
from highwater.explorer.memory import address_space, reserve
from highwater.explorer.search.states.cuts import MOST_WORDS, plan_of

FEWEST_BYTES, MOST_BYTES = 5, 8  # of a row
READ_BEYOND = 8  # bytes: the last row is read as a word, too
FIRST_INDEX = 1 << 14
FEWEST_PARTS, PARTS_A_ROW = 1 << 22, 2  # that there is address space for
MOST_SLOTS = 2**32 - 2**17
SAMPLE = 1 << 14
MOST_OF_FLAT = 0.75  # of the bytes of flat rows; to save less is not worth it
FOLDED_AT_ONCE = 1 << 15
BATCH = 256

Spread = Callable[[Callable[[int, int], None], int, int], Any]
"""Calls a function for the parts of a range."""

Arrays = Callable[[str, tuple[int, ...], Any], np.ndarray]
"""Gives an array by its name, with at least this shape, which holds what the last one of that name did; the index has
exactly this shape, and may hold anything.

Raises:
    MemoryError: there is no room for it.
"""


class Reserved:
    """Arrays for so many folded rows that never move: address space for them is reserved at once.

    Attributes:
        most: how many rows there may be; fewer than asked for if there is little address space.
    """

    def __init__(self, most: int, beyond: int) -> None:
        """For so many rows, and for some beyond these that threads have reserved."""
        left = address_space()
        if left is not None:
            left = left // 2 - 8 * MOST_WORDS * FEWEST_PARTS
            most = min(most, left // (MOST_BYTES + 8 * MOST_WORDS * PARTS_A_ROW))
        self.most = most
        self._most = {
            "folded": (most + beyond) * MOST_BYTES + READ_BEYOND,
            "parts": min(MOST_SLOTS, FEWEST_PARTS + PARTS_A_ROW * most),
        }
        self._arrays: dict[str, np.ndarray] = {}

    def __call__(self, name: str, shape: tuple[int, ...], kind: Any) -> np.ndarray:
        if name not in self._most:
            return reserve(shape, kind)
        if shape[0] > self._most[name]:
            raise MemoryError(f"there is no address space for so many {name}")
        if name not in self._arrays:
            self._arrays[name] = reserve((self._most[name], *shape[1:]), kind)
        return self._arrays[name]


def folded(
    flat: np.ndarray, layout: Layout, arrays: Arrays, spread: Spread, code: MachineCode = ALONE
) -> Folded | None:
    """Flat rows folded; None if that saves little, or if there is too little room."""
    cells = flat.reshape(-1, layout.units)
    sample = np.zeros((min(len(cells), SAMPLE), 2 * layout.words), np.uint32)
    sample[:, : layout.units] = cells[np.linspace(0, len(cells) - 1, len(sample)).astype(np.int64)]
    plan = plan_of(layout, sample.view(np.uint64))
    if plan is None:
        return None
    try:
        found = Folded(plan, layout.units, arrays, code=code)
        found.fold(flat, 0, spread)
    except MemoryError:
        return None
    if len(cells) * found.row_bytes + found.bytes_of_parts > MOST_OF_FLAT * flat.nbytes:
        return None
    return found


class Folded:
    """The memory of folded rows.

    Attributes:
        rows: the rows as kernels read them.
    """

    def __init__(
        self,
        plan: np.ndarray,
        units: int,
        arrays: Arrays,
        sizes: Sequence[int] = (),
        slots: int = 0,
        *,
        code: MachineCode = ALONE,
    ) -> None:
        """Begin without rows, or with those in the arrays, which had these sizes and so many slots.

        Raises:
            MemoryError: there is no room for that.
        """
        self._plan, self._units, self._arrays, self._code = plan, units, arrays, code
        self._columns = max(1, int(plan[:, WORDS].max()))
        self._sizes = np.zeros(SIZES, np.int64)
        self._sizes[ROW_BYTES], self._sizes[NUMBER_BITS] = FEWEST_BYTES, 4 * FEWEST_BYTES
        self._sizes[PARTS] = 1
        self._sizes[: len(sizes)] = sizes
        self._index = arrays("index", (slots,), np.uint32) if slots else np.zeros(0, np.uint32)
        self._make_room(self.parts, 0, 0)

    def note(self) -> dict[str, Any]:
        """What is to be known to go on with the arrays, as data for JSON."""
        return {"plan": self._plan.tolist(), "sizes": self._sizes.tolist(), "slots": len(self._index)}

    def _update(self) -> None:
        self._sizes[MOST_PARTS] = min(len(self._index) // 2, 1 << 4 * self.row_bytes, len(self._parts))
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
            MemoryError: there is no room for them.
        """
        self._make_room(int(self.rows.sizes[MOST_PARTS]) + 1, count, count)

    def _make_room(self, parts: int, count: int, rows: int) -> None:
        """Make room for so many parts, and for so many rows, of which `count` are there."""
        if 2 * parts > MOST_SLOTS:
            raise MemoryError("so many parts have no numbers")
        self._parts = self._arrays("parts", (parts, self._columns), np.uint64)
        size, slots = self.row_bytes, max(FIRST_INDEX, len(self._index))
        while parts > 1 << 4 * size:
            size += 1
        self._rows = self._arrays("folded", (rows * size + READ_BEYOND,), np.uint8)
        if size > self.row_bytes:
            self._update()
            self._code.widen_rows(self.rows, count, size)
        while 2 * parts > slots:
            slots = min(slots * 5 // 4, MOST_SLOTS)
        if slots > len(self._index):
            self._index = self._arrays("index", (slots,), np.uint32)
            self._index[:] = 0
            self._code.enter_parts(self._parts, 0, self.parts, self._index)
        self._update()

    def fold(self, flat: np.ndarray, first: int, spread: Spread) -> None:
        """Fold flat rows into those from `first` on.

        Raises:
            MemoryError: there is no room for them.
        """

        def fold(begin: int, end: int) -> None:
            words = np.zeros((BATCH + 1, (self._units + 1) // 2), np.uint64)
            numbers = np.zeros((len(self._plan), BATCH + 1), np.uint32)
            batch = Batch(words, numbers, np.zeros(BATCH, np.uint64), np.zeros(BATCH, np.uint64))
            sources = np.roll(np.arange(BATCH + 1, dtype=np.uint32), 1)
            self._code.fold_rows(flat, begin, end, self.rows, first + begin, batch, sources, self._units)

        count = len(flat) // self._units
        for begin in range(0, count, FOLDED_AT_ONCE):
            end = min(count, begin + FOLDED_AT_ONCE)
            self._make_room(self.parts + (end - begin) * len(self._plan), first + begin, first + end)
            spread(fold, begin, end)
