"""What one owner of a distributed search has admitted."""

from __future__ import annotations

import numpy as np

from explorer.kernels import entry_points
from explorer.kernels.arrays import RECORD_EXTRA
from explorer.memory import reserve
from explorer.search.store import BATCH


class Visited:
    """The rows that one owner has admitted, in the order in which it did, and the visited set over them, in this
    process's memory.

    Attributes:
        end: how many rows there are.
        rows, table: the arrays; they have room for more, see `make_room`.
    """

    FEWEST = 1 << 12

    def __init__(self, units: tuple[int, ...]) -> None:
        self.units = units
        self.end = 0
        self._words = np.zeros((BATCH, (len(units) + 1) // 2), np.uint64)
        self._hashes = np.zeros(BATCH, np.uint64)
        self.rows = self._rows_for(self.FEWEST)
        self.table = self._table_for(4 * self.FEWEST)

    def _rows_for(self, count: int) -> np.ndarray:
        """An array for so many rows, with those that there are."""
        rows = np.zeros(count * len(self.units), np.uint32)
        rows[: self.end * len(self.units)] = self.rows[: self.end * len(self.units)] if self.end else 0
        return rows

    def _table_for(self, slots: int) -> np.ndarray:
        """An empty table."""
        return np.zeros(slots, np.uint32)

    def make_room(self, count: int) -> None:
        """Make room for so many more rows."""
        most = self.end + count
        if most >= 1 << 31:
            raise OverflowError("a partition has more than 2^31 states; explore with more --partitions")
        if most * len(self.units) > len(self.rows):
            self.rows = self._rows_for(max(most, len(self.rows) // len(self.units) * 3 // 2))
        if 4 * most > 3 * len(self.table):
            self.table = self._table_for(max(2 * most, 2 * len(self.table)))
            self._enter(0)

    def _enter(self, begin: int) -> None:
        entry_points.enter(self.rows, begin, self.end, self.table, self._words[:1], self._hashes, self.units)

    def add(self, rows: np.ndarray) -> None:
        """Add rows that are known to be new."""
        self.make_room(len(rows) // len(self.units))
        begin = self.end
        self.rows[begin * len(self.units) : begin * len(self.units) + len(rows)] = rows
        self.end += len(rows) // len(self.units)
        self._enter(begin)

    def forget_after(self, end: int) -> None:
        """Take back what was added after the first rows."""
        entry_points.remove_after(end, self.table)
        self.end = end

    def find(self, records: np.ndarray) -> np.ndarray:
        """The row of each record, all of which were admitted."""
        found = np.empty(len(records) // (len(self.units) + RECORD_EXTRA), np.int64)
        if entry_points.find_records(records, self.rows, self.table, found, self._words, self._hashes, self.units):
            raise AssertionError("unreachable: a step leads to a state that was never admitted")
        return found

    def admit(self, records: list[tuple[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """Add the records' rows that are new.

        Args:
            records: the source of the parents, and records, in an order that is always the same.

        Returns:
            Of each new row its parent, which is the source and the row there as upper and lower half, and its action.
        """
        width = len(self.units) + RECORD_EXTRA
        most = sum(len(some) // width for _, some in records)
        parents, actions = reserve((most,), np.int64), reserve((most,), np.int32)
        admitted, begin = 0, self.end
        for source, some in records:
            self.make_room(len(some) // width)
            admitted = entry_points.admit(
                some,
                source,
                self.rows,
                self.end,
                self.table,
                parents,
                actions,
                admitted,
                self._words,
                self._hashes,
                self.units,
            )
            self.end = begin + admitted
        return parents[:admitted], actions[:admitted]
