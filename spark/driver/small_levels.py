"""Small levels, which the driver makes by itself: a job would take longer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from highwater.explorer.partitioned.visited import Visited
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.spark.levels import Level, Levels
from highwater.spark.worker.level import Admitted, Block, Expanded, admit_blocks, expand_file, in_order, write_passes

ROWS_IN_THE_DRIVER = 1 << 22


class SmallLevels:
    """Makes the level after one of fewer rows than are worth a job, as long as it knows all states before."""

    def __init__(self, worker: PartitionWorker, store: Levels, rows_worth_a_job: int) -> None:
        self._worker, self._store, self._rows_worth_a_job = worker, store, rows_worth_a_job
        self._visited: Visited | None = None

    def begin(self, states: Iterable[Any]) -> Admitted:
        """Make the level of the initial states."""
        self._visited = Visited(self._worker.layout)
        rows = self._worker.representative_rows(states)
        self._visited.add(rows)
        none = np.full(self._visited.end, -1, np.int64)
        return write_passes(self._worker, [(rows, none, none)], self._store, 0, 0, ())

    def go_on(self, levels: Sequence[Level]) -> None:
        """Read the states of all levels, if the next one is to be made here."""
        if self._is_small(levels[-1], sum(level.rows for level in levels)):
            self._visited = Visited(self._worker.layout)
            for level in levels:
                for rows in _files(self._worker, self._store, level):
                    self._visited.add(rows)

    def takes(self, level: Level) -> bool:
        """Whether it makes the level after this one. If it does not, it forgets all states, and takes none any more."""
        if self._visited is not None and not self._is_small(level, self._visited.end):
            self._visited = None
        return self._visited is not None

    def next_level(self, level: Level, known: Sequence[str]) -> tuple[list[Expanded], list[Admitted]]:
        """Make the level after one that it takes.

        Args:
            known: the properties that need not be judged any more.
        """
        assert self._visited is not None
        expanded, blocks = expand_level(self._worker, self._store, level, 1, known)
        depth, ordered = level.depth + 1, in_order(blocks)
        return expanded, [admit_blocks(self._worker, self._visited, ordered, self._store, depth, 0, known)]

    def _is_small(self, level: Level, stored: int) -> bool:
        return level.rows < self._rows_worth_a_job and stored < ROWS_IN_THE_DRIVER


def expand_level(
    worker: PartitionWorker, store: Levels, level: Level, owners: int, known: Sequence[str]
) -> tuple[list[Expanded], list[Block]]:
    """Expand a small level in this process.

    Args:
        owners: how many partitions the next level has.
        known: the properties that need not be judged any more.
    """
    expanded: list[Expanded] = []
    blocks: list[Block] = []
    for source, rows in enumerate(_files(worker, store, level)):
        for found in expand_file(worker, rows, source, owners, known):
            if isinstance(found, Expanded):
                expanded.append(found)
            else:
                blocks.append(found)
    return expanded, blocks


def _files(worker: PartitionWorker, store: Levels, level: Level) -> Iterator[np.ndarray]:
    """The rows of each file of a level."""
    for file in level.files:
        yield worker.rows_of(store.words_of(file, worker.layout.words))
