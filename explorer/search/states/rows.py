"""Rows of states as passes over them see them, whether they are flat or folded."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from highwater.explorer.compiler.layout import Layout
from highwater.explorer.kernels.arrays import CURSOR, ROWS, SHARED, STOP, FlatRows, FoldedRows
from highwater.explorer.kernels.making.entry_points import ALONE, MachineCode

ROWS_AT_ONCE = 1 << 14


def spread(pool: Executor | None, function: Callable[[int, int], Any], begin: int, end: int) -> list[Any]:
    """What a function gives for the parts of a range of rows, by all threads of a pool if there is one."""
    parts = [(first, min(end, first + ROWS_AT_ONCE)) for first in range(begin, end, ROWS_AT_ONCE)]
    each = pool.map if pool and len(parts) > 1 else map
    return list(each(lambda part: function(*part), parts))


class Rows:
    """Rows of states that come from outside.

    Attributes:
        code: the kernels.
        rows: all rows as kernels read them.
        units: how many 32-bit units a flat row has.
        shared: what threads share, see `highwater.explorer.kernels.arrays`.
        level_ends: the number of rows at the end of each level, after a first 0.
    """

    def __init__(self, layout: Layout, code: MachineCode = ALONE) -> None:
        self.code, self.units = code, layout.units
        self.shared = np.zeros(SHARED, np.int64)
        self.level_ends = [0]
        self.rows: FlatRows | FoldedRows
        self.hold(np.zeros(0, np.uint32))

    def hold(self, rows: np.ndarray) -> None:
        """Make flat rows those of the store."""
        self.rows, self._cells = FlatRows(rows), rows.data

    def use(self, rows: FlatRows | FoldedRows, count: int, level_ends: Sequence[int] | None = None) -> None:
        """Make so many rows those of the store: all of one level, or of those that end there."""
        self.rows, self._cells = rows, rows.flat.data if isinstance(rows, FlatRows) else memoryview(b"")
        self.shared[ROWS] = count
        self.level_ends = [0, 0, count] if level_ends is None else list(level_ends)

    @property
    def count(self) -> int:
        """How many states there are. Between levels there are no holes among their rows."""
        return int(self.shared[ROWS])

    @property
    def depth(self) -> int:
        """The depth of the deepest whole level."""
        return len(self.level_ends) - 2

    @property
    def rows_of_levels(self) -> int:
        """How many rows the whole levels have."""
        return self.level_ends[-1]

    def level(self, depth: int) -> tuple[int, int]:
        """Where the rows of a whole level begin and end."""
        return self.level_ends[depth], self.level_ends[depth + 1]

    def level_of(self, row: int) -> int:
        """The depth of a row of a whole level."""
        return bisect.bisect_right(self.level_ends, row) - 1

    @property
    def is_folded(self) -> bool:
        return isinstance(self.rows, FoldedRows)

    def cells(self, begin: int, end: int) -> np.ndarray:
        """The units of the rows begin..end, a row of them each; not to be written."""
        if isinstance(self.rows, FoldedRows):
            return self.chosen(np.arange(begin, end))
        flat: np.ndarray = self.rows.flat[begin * self.units : end * self.units]
        return flat.reshape(-1, self.units)

    def chosen(self, numbers: np.ndarray) -> np.ndarray:
        """The units of the rows with some numbers, a row of them each."""
        if not self.is_folded:
            found: np.ndarray = self.cells(0, self.count)[numbers]
            return found
        flat = np.empty(len(numbers) * self.units, np.uint32)
        room = np.zeros((1, (self.units + 1) // 2), np.uint64)
        self.code.copy_rows(self.rows, numbers, flat, room, self.units)
        return flat.reshape(-1, self.units)

    def words(self, row: int) -> tuple[int, ...]:
        """The words of a row."""
        cells = self._cells[row * self.units : (row + 1) * self.units]
        units = self.cells(row, row + 1)[0].tolist() if self.is_folded else cells.tolist()
        return tuple(low | high << 32 for low, high in itertools.zip_longest(units[::2], units[1::2], fillvalue=0))

    def begin_level(self, cursor: int = 0) -> tuple[int, int]:
        """Set the cursor to the deepest level, the rows to expand, or to where the search was in it."""
        begin, end = self.level(self.depth)
        self.shared[CURSOR] = max(cursor, begin)
        return begin, end

    def resume(self) -> None:
        """Let threads run again after one has stopped them all."""
        self.shared[STOP] = 0

    def end_level(self) -> bool:
        """Note where the level ends; False if it added nothing."""
        if self.count == self.rows_of_levels:
            return False
        self.level_ends.append(self.count)
        return True
