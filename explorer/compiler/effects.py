"""What steps do, as arrays that kernels read: bits that stay, bits that are set, copies from leaf to leaf, and what bounds cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from explorer.compiler.layout import Leaf
from explorer.compiler.tracing import OutOfBounds, Update
from explorer.memory import reserve
from explorer.system import ModelError

MOST_ENTRIES, MOST_CUTS = 1 << 24, 1024

FIRST_EFFECT = 3
"""The first branch of a tree that is an effect; see `explorer.compiler.program`."""


class Column:
    """An array of rows that grows at its end and never moves, so that a kernel may read it meanwhile.

    Attributes:
        array: the rows, and what is reserved behind them.
        cells: the same memory, for single numbers: many times faster than the array where Python reads or writes one.
    """

    def __init__(self, dtype: Any, *row: int, most: int = MOST_ENTRIES) -> None:
        self.array = reserve((most, *row), dtype)
        self.cells = memoryview(self.array)
        self.length = 0

    def extend(self, count: int) -> int:
        """Make room for `count` more rows of zeros; returns the position of the first."""
        first = self.length
        self.length += count
        if self.length > len(self.array):
            raise ModelError(f"the model's functions have too many paths: more than {len(self.array):,} branches; lower the bounds")
        return first

    def append(self, row: Any) -> int:
        """Add one row; returns its position."""
        position = self.extend(1)
        self.array[position] = row
        return position


class Effects:
    """What a step does, once for all trees: row i of each column belongs to the branch `FIRST_EFFECT + i`.

    Attributes:
        keep, put: per word, the bits that stay and the bits that are set.
        copies, first_copy: rows (word, shift, mask, word, shift) from the state before to the state after; row i of `first_copy` is
            where effect i's copies begin, row i + 1 where they end.
        cut: the number of the set of bounds that cuts the step, plus one; 0 for a step that happens.
        bounds: the sets of bounds, by number.
        results: what row i means.
    """

    def __init__(self, words: int) -> None:
        self.keep = Column(np.uint64, words)
        self.put = Column(np.uint64, words)
        self.copies = Column(np.uint64, 5)
        self.first_copy = Column(np.int64)
        self.first_copy.append(0)
        self.cut = Column(np.int32)
        self.bounds: list[frozenset[str]] = []
        self.results: list[Update | OutOfBounds] = []
        self._numbers: dict[Any, int] = {}

    def reference(self, result: Update | OutOfBounds) -> int:
        """The reference of an effect; equal effects share one."""
        number = self._numbers.get(result)
        if number is None:
            number = self._numbers[result] = self._add(result)
        return FIRST_EFFECT + number

    def _add(self, result: Update | OutOfBounds) -> int:
        self.results.append(result)
        row = self.keep.extend(1)
        self.put.extend(1)
        self.cut.extend(1)
        self.keep.array[row] = ~np.uint64(0)
        if isinstance(result, OutOfBounds):
            if result.bounds not in self.bounds:
                if len(self.bounds) == MOST_CUTS:
                    raise ModelError(f"more than {MOST_CUTS} different sets of bounds cut steps; give the model fewer bounds")
                self.bounds.append(result.bounds)
            self.cut.array[row] = self.bounds.index(result.bounds) + 1
        else:
            for leaf, raw in (*result.constants, *((leaf, 0) for leaf in result.cleared)):
                self.keep.array[row, leaf.word] &= np.uint64(~(leaf.mask << leaf.shift) & (2**64 - 1))
                self.put.array[row, leaf.word] |= np.uint64(raw << leaf.shift)
            for source, target in _joined(result.copies):
                self.keep.array[row, target[0]] &= np.uint64(~(target[2] << target[1]) & (2**64 - 1))
                self.copies.append((*source, *target[:2]))
        self.first_copy.append(self.copies.length)
        return row


def _joined(copies: Sequence[tuple[Leaf, Leaf]]) -> list[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """Copies as (word, shift, mask) pairs, neighbours that move together made one."""
    joined: list[list[int]] = []  # target word, target shift, source word, source shift, width
    for target, source in sorted(copies, key=lambda copy: (copy[0].word, copy[0].shift)):
        last = joined[-1] if joined else [-1] * 5
        if (last[0], last[1] + last[4], last[2], last[3] + last[4]) == (target.word, target.shift, source.word, source.shift):
            last[4] += target.width
        else:
            joined.append([target.word, target.shift, source.word, source.shift, target.width])
    return [((sw, ss, (1 << width) - 1), (tw, ts, (1 << width) - 1)) for tw, ts, sw, ss, width in joined]
