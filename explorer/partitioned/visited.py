"""What one owner of a distributed search has admitted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from highwater.explorer.compiler.layout import Layout
from highwater.explorer.kernels import arrays
from highwater.explorer.kernels.arrays import (
    COLUMNS,
    RECORD_EXTRA,
    SIZES,
    Admitted,
    FlatRows,
    FoldedRows,
    Hashing,
    OwnedRows,
)
from highwater.explorer.kernels.making.entry_points import ALONE
from highwater.explorer.search.states.folded import FEWEST_BYTES, Folded, folded
from highwater.explorer.search.states.rows import spread
from highwater.explorer.search.states.scratch import BATCH
from highwater.explorer.search.states.store import FOLD_FROM

MOST_ROWS = 1 << 31
NONE_FOLDED = FoldedRows(
    np.zeros(0, np.uint8), np.zeros((0, 1), np.uint64), np.zeros(0, np.uint32), np.zeros((0, COLUMNS), np.uint64),
    np.zeros(SIZES, np.int64),
)  # fmt: skip


class Visited:
    """The rows that one owner has admitted, in the order in which it did, and the visited set over them, in this
    process's memory. Rows are flat until `fold` finds that folding them saves much.

    Attributes:
        end: how many rows there are.
        folded: how many of them are folded, the first ones.
        table: the visited set; it has room for more, see `make_room`.
    """

    FEWEST = 1 << 12

    def __init__(self, layout: Layout, windows: int = 1) -> None:
        """The first rows of one of so many visited sets, which are in memory one after the other."""
        self._layout = layout
        self.units = layout.units
        self.end = self.folded = 0
        self._older: Folded | None = None
        self._fold_from = FOLD_FROM // windows
        self._words = np.zeros((BATCH + 1, layout.words), np.uint64)
        self._hashes = np.zeros(BATCH, np.uint64)
        self._arrays: dict[str, np.ndarray] = {}
        self._newer = self._few_rows()
        self.table = self._table_for(4 * self.FEWEST)

    def _few_rows(self) -> np.ndarray:
        return self._array("rows", (self.FEWEST * self.units,), np.uint32)

    def _array(self, name: str, shape: tuple[int, ...], kind: Any) -> np.ndarray:
        """An array, see `highwater.explorer.search.states.folded.Arrays`."""
        before = self._arrays.get(name, np.zeros((0, *shape[1:]), kind))
        if name == "index" or len(before) < shape[0]:
            length = shape[0] if name == "index" else max(shape[0], len(before) * 3 // 2)
            self._arrays[name] = np.zeros((length, *shape[1:]), kind)
            self._arrays[name][: len(before)] = before[:length]
        return self._arrays[name]

    def _drop(self, *names: str) -> None:
        """Give back what some arrays take."""
        for name in names:
            self._arrays.pop(name, None)

    def _table_for(self, slots: int) -> np.ndarray:
        """An empty table."""
        return np.zeros(slots, np.uint32)

    @property
    def rows(self) -> OwnedRows:
        """The rows as the owner's kernels read them."""
        return OwnedRows(self._older.rows if self._older else NONE_FOLDED, self.folded, FlatRows(self._newer))

    @property
    def whole(self) -> FlatRows | FoldedRows:
        """The rows as passes over them read them. They are of one kind, but while a level is added."""
        assert self.folded in (0, self.end)
        return self._older.rows if self._older and self.folded else FlatRows(self._newer)

    def since(self, begin: int) -> np.ndarray:
        """A copy of the rows from one on that is not folded."""
        width = self.units
        return self._newer[(begin - self.folded) * width : (self.end - self.folded) * width].copy()

    @property
    def bytes_taken(self) -> int:
        """Bytes that rows and visited set take."""
        older = self.folded * self._older.row_bytes + self._older.bytes_of_parts if self._older else 0
        return older + 4 * (self.end - self.folded) * self.units + self.table.nbytes

    def make_room(self, count: int) -> None:
        """Make room for so many more rows."""
        most, slots = self.end + count, len(self.table)
        if most >= MOST_ROWS:
            raise OverflowError("a partition has more than 2^31 states; explore with more --partitions")
        self._newer = self._array("rows", ((most - self.folded) * self.units,), np.uint32)
        if self._is_full_with(most):  # a larger table is made anew less often, but may take more than folded rows do
            self._make_table(max(most, slots) * 3 // 2 if self.folded else 2 * max(most, slots))

    def expect(self, count: int) -> None:
        """Make the table large enough for so many more rows at once, rather than anew as they come."""
        if self._is_full_with(self.end + count):
            self._make_table((self.end + count) * 3 // 2)

    def _is_full_with(self, count: int) -> bool:
        return 4 * count > 3 * len(self.table)

    def _make_table(self, slots: int) -> None:
        self.table = self._table_for(slots)
        self._enter(0)

    def _enter(self, begin: int) -> None:
        ALONE.enter(self.rows, begin, self.end, self.table, self._words[:1], self._hashes, self.units)

    def add(self, rows: np.ndarray) -> None:
        """Add rows that are known to be new."""
        self.make_room(len(rows) // self.units)
        begin = self.end
        self._newer[(begin - self.folded) * self.units :][: len(rows)] = rows
        self.end += len(rows) // self.units
        self._enter(begin)

    @property
    def _saved(self) -> int:
        """Bytes that folding what is flat saves at most."""
        return (self.end - self.folded) * (4 * self.units - FEWEST_BYTES)

    @property
    def folds(self) -> bool:
        """Whether `fold` has anything to do."""
        return self.folded < self.end and (self._older is not None or self._saved >= self._fold_from)

    def fold(self) -> None:
        """Fold the rows that are flat: the first ones once that saves much, and from then on all."""
        if not self.folds:
            return
        flat = self._newer[: (self.end - self.folded) * self.units]
        if self._older:
            self._older.fold(flat, self.folded, partial(spread, None))
        else:
            self._older = folded(flat, self._layout, self._array, partial(spread, None))
        if self._older:
            self.folded = self.end
            self._drop("rows")
            self._newer = self._few_rows()
        else:
            self._fold_from = 4 * self._saved
            self._drop("folded", "parts", "index")

    def forget_after(self, end: int) -> None:
        """Take back what was added after the first rows."""
        ALONE.remove_after(end, self.table)
        self.end, self.folded = end, min(end, self.folded)

    def find(self, records: np.ndarray) -> np.ndarray:
        """The row of each record, all of which were admitted."""
        found = np.empty(len(records) // (self.units + RECORD_EXTRA), np.int64)
        if ALONE.find_records(records, self.rows, self.table, found, self._words, self._hashes, self.units):
            raise AssertionError("unreachable: a step leads to a state that was never admitted")
        return found

    def admit(
        self, records: Iterable[tuple[int, np.ndarray]], enough: int = MOST_ROWS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add the records' rows that are new, until enough are.

        Args:
            records: the source of the parents, and records, in an order that is always the same. No more are taken
                than it takes.

        Returns:
            Of each new row its parent, which is the source and the row there as upper and lower half, and its action.
        """
        width, begin = self.units + RECORD_EXTRA, self.end
        parents, actions = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
        for source, some in records:
            count = len(some) // width
            self.make_room(count)
            new = Admitted(np.empty(count, np.int64), np.empty(count, np.int32))
            visited, room = arrays.Visited(self.rows, self.table), Hashing(self._words, self._hashes)
            admitted = ALONE.admit(some, source, visited, self.end, new, 0, room, self.units)
            self.end += admitted
            parents.append(new.parents[:admitted].copy())
            actions.append(new.actions[:admitted].copy())
            if self.end - begin >= enough:
                break
        return np.concatenate(parents), np.concatenate(actions)
