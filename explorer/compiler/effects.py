"""What steps do, as arrays that kernels read: bits that stay, bits that are set, copies from leaf to leaf, and what
bounds cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import Leaf
from highwater.explorer.compiler.tracing import OutOfBounds, Update
from highwater.explorer.encoding import COPY_FIELD, FIRST_EFFECT
from highwater.explorer.memory import address_space, reserve

MOST_ENTRIES, MOST_CUTS = 1 << 24, 1024
FEWEST_ENTRIES, SHARES = 1 << 12, 64  # a column takes one of so many shares of an address space that is limited


class Column:
    """An array of rows that grows at its end and never moves, so that a kernel may read it meanwhile.

    Attributes:
        array: the rows, and what is reserved behind them.
        cells: the same memory, for single numbers: many times faster than the array where Python reads or writes one.
    """

    def __init__(self, dtype: Any, *row: int, most: int = MOST_ENTRIES) -> None:
        room = address_space()
        if room is not None:
            most = min(most, max(FEWEST_ENTRIES, room // SHARES // (math.prod(row) * np.dtype(dtype).itemsize)))
        self.array = reserve((most, *row), dtype)
        self.cells = self.array.data
        self.length = 0

    def extend(self, count: int) -> int:
        """Make room for `count` more rows of zeros; returns the position of the first."""
        first = self.length
        self.length += count
        if self.length > len(self.array):
            raise ModelError(
                f"the model's functions have too many paths: more than {len(self.array):,} branches; lower the bounds"
            )
        return first

    def clear(self) -> None:
        """Forget all rows."""
        self.array[: self.length] = 0
        self.length = 0

    def append(self, row: Any) -> int:
        """Add one row; returns its position."""
        position = self.extend(1)
        self.array[position] = row
        return position


class Effects:
    """What a step does, once for all trees: row i of each column belongs to the branch `FIRST_EFFECT + i`.

    Attributes:
        writes: per word the bits that stay, then per word the bits that are set, then where the copies begin (upper
            half) and end (lower).
        copies: one number per copy from the state before to the state after: word, shift and width of what is copied,
            then word and shift of where it goes, `COPY_FIELD` bits each from the lowest.
        cut: the number of the set of bounds that cuts the step, plus one; 0 for a step that happens.
        tops: per group of which only the order matters, the rank that must be the greatest in the state before, plus
            2; 0 where that does not matter.
        bounds: the sets of bounds, by number.
        results: what row i means; None if it was learned in another process.
    """

    def __init__(self, words: int, groups: int = 0) -> None:
        self.writes = Column(np.uint64, 2 * words + 1)
        self.copies = Column(np.uint64)
        self.cut = Column(np.uint32)
        self.tops = Column(np.uint64, max(1, groups))
        self.bounds: list[frozenset[str]] = []
        self._words = words
        self._results: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._read: dict[int, tuple[list[tuple[int, int]], list[list[int]]]] = {}
        self._recall: Callable[[], Iterable[Any]] | None = None

    @property
    def results(self) -> list[Any]:
        if self._recall is not None:
            self._results, self._recall = list(self._recall()), None
            self._numbers = {result: number for number, result in enumerate(self._results)}
        return self._results

    def recall_by(self, results: Callable[[], Iterable[Any]]) -> None:
        """Rows were put there from outside; what they mean is asked for when it is needed first, which is seldom."""
        self._recall = results

    def clear(self) -> None:
        """Forget everything."""
        for column in (self.writes, self.copies, self.cut, self.tops):
            column.clear()
        self.bounds.clear()
        self._results, self._numbers, self._read, self._recall = [], {}, {}, None

    def reference(self, result: Update | OutOfBounds) -> int:
        """The reference of an effect; equal effects share one."""
        results = self.results
        number = self._numbers.get(result)
        if number is None:
            number = self._numbers[result] = len(results)
            results.append(result)
            self._add(result)
        return FIRST_EFFECT + number

    def _add(self, result: Update | OutOfBounds) -> None:
        row = self.writes.extend(1)
        self.cut.extend(1)
        self.tops.extend(1)
        keep, put = [2**64 - 1] * self._words, [0] * self._words
        first = self.copies.length
        for group, top in result.tops:
            self.tops.array[row, group] = top + 2
        if isinstance(result, OutOfBounds):
            if result.bounds not in self.bounds:
                if len(self.bounds) == MOST_CUTS:
                    raise ModelError(
                        f"more than {MOST_CUTS} different sets of bounds cut steps; give the model fewer bounds"
                    )
                self.bounds.append(result.bounds)
            self.cut.array[row] = self.bounds.index(result.bounds) + 1
        else:
            for leaf, raw in (*result.constants, *((leaf, 0) for leaf in result.cleared)):
                keep[leaf.word] &= ~(leaf.mask << leaf.shift)
                put[leaf.word] |= raw << leaf.shift
            for word, shift, source_word, source_shift, width in _joined(result.copies):
                keep[word] &= ~(((1 << width) - 1) << shift)
                parts = (source_word, source_shift, width, word, shift)
                self.copies.append(sum(part << place * COPY_FIELD for place, part in enumerate(parts)))
        self.writes.array[row] = [*keep, *put, first << 32 | self.copies.length]

    def after(self, row: int, words: Sequence[int]) -> tuple[int, ...]:
        """The words of the state after an effect that happens, on a state's words."""
        if row not in self._read:
            self._read[row] = self._parts_of(row)
        writes, copies = self._read[row]
        after = [word & keep | put for word, (keep, put) in zip(words, writes, strict=True)]
        for word, shift, width, to, to_shift in copies:
            after[to] |= (words[word] >> shift & (1 << width) - 1) << to_shift
        return tuple(after)

    def _parts_of(self, row: int) -> tuple[list[tuple[int, int]], list[list[int]]]:
        """By word, the bits of an effect that stay and those that are set; and the parts of its copies."""
        *writes, where = self.writes.array[row].tolist()
        copies = self.copies.array[where >> 32 : where & (1 << 32) - 1].tolist()
        fields = [[copy >> place * COPY_FIELD & (1 << COPY_FIELD) - 1 for place in range(5)] for copy in copies]
        return list(zip(writes[: self._words], writes[self._words :], strict=True)), fields


def _joined(copies: Iterable[tuple[Leaf, Leaf]]) -> list[list[int]]:
    """Copies as (target's word and shift, source's word and shift, width), neighbours that move together made one."""
    joined: list[list[int]] = []
    for target, source in sorted(copies, key=lambda copy: (copy[0].word, copy[0].shift)):
        last = joined[-1] if joined else [-1] * 5
        ends = (last[0], last[1] + last[4], last[2], last[3] + last[4])
        if ends == (target.word, target.shift, source.word, source.shift):
            last[4] += target.width
        else:
            joined.append([target.word, target.shift, source.word, source.shift, target.width])
    return joined
