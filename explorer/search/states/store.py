"""The states found so far: rows, the visited set over them, and where each level ends, within a memory budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import cast

import numpy as np

from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.kernels.arrays import LAST_ROW, NEXT_ROW, ROWS, FlatRows, Visited, Work
from highwater.explorer.kernels.making.entry_points import ALONE, MachineCode
from highwater.explorer.memory import address_space, machine_memory, process_memory, reserve
from highwater.explorer.search.states import scratch
from highwater.explorer.search.states.cuts import most_parts
from highwater.explorer.search.states.folded import FEWEST_BYTES, MOST_SLOTS, Folded, Reserved, folded
from highwater.explorer.search.states.rows import Rows, spread
from highwater.explorer.verdict import Budget

MOST_ROWS = MOST_SLOTS * 3 // 4
FIRST_TABLE = 1 << 14
SMALLEST_BUDGET = 1 << 20
RESERVED_ROWS = 256
FOLD_FROM = 1 << 27  # bytes that folding has to save; fewer are not worth its time
FEW_TAGS = 1 << 28  # slots
BYTES_A_STATE = 13.5  # of a folded row with its parts and its share of the visited set just after that has grown
SLOTS_A_STATE = 1.5  # that is expected, once rows are folded, as far as it takes no more than
BYTES_A_STATE_EXPECTED = 13  # with its row and its parts


class Stopped(Exception):
    """A budget ran out; says which."""


class Store(Rows):
    """All states found so far, within a budget, and the visited set over them.

    Rows are address space reserved at once and taken page by page as they are written, so that growing copies nothing.
    The visited set is made anew from the rows when it grows, after the old one was given back. Just before, rows that
    take much memory are folded, unless that saves little.

    Attributes:
        table: the visited set.
        capacity: how many rows the budget allows.
        pool: the threads that make the visited set anew, if there is more than one.
    """

    def __init__(self, layout: Layout, budget: Budget, pool: Executor | None, code: MachineCode = ALONE) -> None:
        super().__init__(layout, code)
        self._layout = layout
        self._folded: Folded | None = None
        self._fold_from = FOLD_FROM
        self._first_table = FIRST_TABLE
        self._expected = 0, 0  # states, and bytes of their rows and parts
        self._budget = budget
        self.pool = pool
        self._total = machine_memory() * 4 // 5 // budget.sharers if budget.memory is None else budget.memory
        self._other = process_memory()
        if self._memory < SMALLEST_BUDGET:
            least = self._other + SMALLEST_BUDGET
            raise ModelError(
                f"a memory budget of {self._total:,} bytes is too small: before it explores, the process needs "
                f"{least:,}"
            )
        self._allowed = MOST_ROWS if budget.max_states is None else min(MOST_ROWS, budget.max_states)
        self._most = self._reserve(min(self._allowed, self._memory // self._row))
        self.table = reserve((0,), np.uint32)
        self.capacity = 0
        self._room = np.zeros((1, layout.words), np.uint64)
        self._numbers = np.zeros((most_parts(layout), 1), np.uint32)

    def _reserve(self, most: int) -> int:
        """Reserve address space for so many rows, or for as many as there is room for; how many these are.

        Where address space is limited, half of it is left to the visited set, to threads and to all else.
        """
        left = address_space()
        most = most if left is None else min(most, left // 2 // self._row)
        while True:
            try:
                self.hold(reserve(((max(1, most) + RESERVED_ROWS) * self.units,), np.uint32))
                return max(1, most)
            except MemoryError as error:
                if most * self._row < SMALLEST_BUDGET:
                    raise ModelError(f"there is no room for states: {error}") from None
            most //= 2

    @property
    def _row(self) -> int:
        """Bytes that a row takes."""
        return self._folded.row_bytes if self._folded else 4 * self.units

    @property
    def _memory(self) -> int:
        """Bytes that rows and visited set may take together."""
        return self._total - self._other

    @property
    def room(self) -> int:
        """Bytes that the budget leaves beside what is known."""
        return max(0, self._memory - self.bytes_taken)

    @property
    def bytes_taken(self) -> int:
        """Bytes taken by the rows and the visited set."""
        return self._bytes_of_rows + self.table.nbytes

    @property
    def folded_bytes(self) -> int:
        """Bytes taken by folded rows and their parts."""
        return self._bytes_of_rows if self._folded else 0

    @property
    def _bytes_of_rows(self) -> int:
        return self.count * self._row + self._bytes_of_parts

    @property
    def _bytes_of_parts(self) -> int:
        return self._folded.bytes_of_parts if self._folded else 0

    @property
    def what_is_full(self) -> str:
        most = self._budget.max_states
        return "max-states" if most is not None and self.count >= most else "memory"

    def add_initial(self, states: Iterable[Sequence[int]]) -> None:
        """Enter the first rows; states of the same words once.

        Raises:
            Stopped: the budget has no room for them, beyond the initial states, which are always kept.
        """
        for words in dict.fromkeys(states):
            if self.count == self._most + RESERVED_ROWS:
                self.grow_table()
                raise Stopped(self.what_is_full)
            self._room[0] = words
            self._append(self._room.view(np.uint32)[0, : self.units])
        self.grow_table()

    def add(self, rows: np.ndarray) -> None:
        """Enter flat rows that are known to differ from all others; the visited set does not have them yet.

        Raises:
            Stopped: the budget has no room for them.
        """
        if self.count + len(rows) // self.units > self._most:
            raise Stopped(self.what_is_full)
        try:
            self._append(rows)
        except MemoryError:
            raise Stopped("memory") from None
        self._fold()

    def expect(self, slots: int, states: int = 0, folded_bytes: int = 0) -> None:
        """Begin with a visited set of so many slots, which need not be made anew on the way then; at most of so many as
        it has before rows are folded, which are then made as many as that many states need. Where the budget has
        little room for it, it begins as ever.

        Args:
            folded_bytes: what rows and parts of that many states take, 0 if that is not known.
        """
        self._expected = states, folded_bytes
        while 3 * slots // 8 * (self._row - FEWEST_BYTES) >= FOLD_FROM:
            slots //= 2
        if 2 * (3 * slots // 4 * self._row + 4 * slots) <= self._memory:
            self._first_table = max(FIRST_TABLE, slots)

    def _append(self, rows: np.ndarray) -> None:
        if self._folded:
            self._folded.fold(rows, self.count, partial(spread, self.pool))
            self.rows = self._folded.rows
        else:
            cast("FlatRows", self.rows).flat[self.count * self.units :][: len(rows)] = rows
        self.shared[ROWS] += len(rows) // self.units

    @property
    def visited(self) -> Visited:
        """The rows, and the visited set over them."""
        return Visited(self.rows, self.table)

    def hold_instead(self, parts: Iterable[np.ndarray], level_ends: Sequence[int]) -> None:
        """Hold other rows, all of which differ, in place of those that there are.

        Raises:
            Stopped: there is no room for them.
        """
        self.shared[ROWS], self.table = 0, np.zeros(0, np.uint32)
        for rows in parts:
            self.add(rows)
        self.restore(level_ends, level_ends[-1])

    def restore(self, level_ends: Sequence[int], rows: int) -> None:
        """Take over so many of the rows that were added, some of which may be of a level that is not whole.

        Raises:
            Stopped: the budget does not allow the visited set.
        """
        self.level_ends = list(level_ends)
        self.shared[ROWS] = rows
        self.grow_table()

    def _fold(self) -> bool:
        """Fold the rows if they are many, unless that saves little or there is no room for it; whether they were."""
        flat, saved = self.count * self._row, self.count * (self._row - FEWEST_BYTES)
        if self._folded or saved < self._fold_from or 2 * flat + self.table.nbytes > self._memory:
            return False
        self._fold_from = 4 * saved
        arrays = Reserved(min(self._allowed, self._memory // FEWEST_BYTES), RESERVED_ROWS)
        if arrays.most < self.count + RESERVED_ROWS:
            return False
        rows = cast("FlatRows", self.rows).flat[: self.count * self.units]
        found = folded(rows, self._layout, arrays, partial(spread, self.pool), self.code)
        if found:  # an interrupt comes before all of this or after it
            self._folded, self.rows, self._most, self._cells = found, found.rows, arrays.most, memoryview(b"")
        return found is not None

    def grow_parts(self) -> None:
        """Make room for more parts of folded rows.

        Raises:
            Stopped: the budget does not allow it.
        """
        assert self._folded
        try:
            self._folded.grow(self.count)
        except MemoryError:
            raise Stopped("memory") from None
        self.rows = self._folded.rows
        if self.bytes_taken > self._memory:
            raise Stopped("memory")
        self._set_capacity()

    def find(self, words: Sequence[int]) -> int:
        """The row of a representative, or -1."""
        self._room[0] = words
        return int(self.code.find(self.rows, self.table, self._room, self._numbers, self.units))

    def grow_table(self) -> None:
        """Make the visited set larger, from the rows: over flat ones twice as large.

        Raises:
            Stopped: the budget does not allow it.
        """
        folded, before, slots = self._fold(), len(self.table), self._more_slots()
        if slots > before and self._bytes_of_rows + 4 * slots <= self._memory:
            with suppress(MemoryError):
                self.table = reserve((slots,), np.uint32)  # gives the old one back before the new one takes memory
        grown = len(self.table) > before
        if not grown and folded:
            self.table[:] = 0  # it went by flat rows
        if grown or (folded and before):
            spread(self.pool, self._enter, 0, self.count)
        if not grown:
            raise Stopped("memory")
        self._set_capacity()

    def _more_slots(self) -> int:
        """How large to make the visited set."""
        least = len(self.table) * 3 // 2 if len(self.table) < FEW_TAGS else len(self.table) * 9 // 8
        least = max(self._first_table, least, self.count * 4 // 3)
        if not self._folded:
            return min(MOST_SLOTS, max(least, 2 * len(self.table), 2 * self.count))
        states, taken = self._expected
        hoped = min(MOST_SLOTS, int(SLOTS_A_STATE * states), (BYTES_A_STATE_EXPECTED * states - taken) // 4)
        if hoped >= least and 2 * (states * self._row + 4 * hoped) <= self._memory:
            return hoped
        wanted = min(int(BYTES_A_STATE * self.count), self._memory) - self._bytes_of_rows
        return min(MOST_SLOTS, max(least, wanted // 4))

    @property
    def entries(self) -> int:
        """How many rows the visited set is to hold. Where tags have few bits, many entries on the way cost time."""
        full = 17 / 20 if self._folded and len(self.table) < FEW_TAGS else 3 / 4
        return int(full * len(self.table))

    def enter_all(self) -> None:
        """Make the visited set of the rows, where it was left empty so far."""
        spread(None, self._enter, 0, self.count)

    def _enter(self, begin: int, end: int) -> None:
        room, hashes = np.zeros((1, self._layout.words), np.uint64), np.zeros(scratch.BATCH, np.uint64)
        self.code.enter_rows(self.rows, begin, end, self.table, room, hashes, self.units)

    def watch_memory(self) -> None:
        """Leave room for what the process takes besides rows and visited set: trees, filters, machine code."""
        self._other = max(self._other, process_memory() - self.bytes_taken)
        self._set_capacity()

    def _set_capacity(self) -> None:
        self.capacity = max(
            self.count, min(self._most, (self._memory - self.table.nbytes - self._bytes_of_parts) // self._row)
        )

    def close_holes(self, works: Iterable[Work]) -> None:
        """Move the last rows into what threads have reserved and not used."""
        end = self.count
        holes = {hole for work in works for hole in self._release(work)}
        for hole in sorted(holes):
            while end - 1 in holes:
                end -= 1
            if hole >= end:
                break
            end -= 1
            self.code.move_row(self.rows, end, hole, self.table, self._room, self.units)
            holes.remove(hole)
        self.shared[ROWS] = end

    @staticmethod
    def _release(work: Work) -> Iterator[int]:
        unused = range(int(work.counts[NEXT_ROW]), int(work.counts[LAST_ROW]))
        work.counts[NEXT_ROW] = work.counts[LAST_ROW] = 0
        return iter(unused)
