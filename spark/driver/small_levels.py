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
                for _, rows in self._files(level):
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
        blocks: list[Block] = []
        expanded: list[Expanded] = []
        for source, rows in self._files(level):
            for found in expand_file(self._worker, rows, source, 1, known):
                if isinstance(found, Expanded):
                    expanded.append(found)
                else:
                    blocks.append(found)
        depth, ordered = level.depth + 1, in_order(blocks)
        return expanded, [admit_blocks(self._worker, self._visited, ordered, self._store, depth, 0, known)]

    def _is_small(self, level: Level, stored: int) -> bool:
        return level.rows < self._rows_worth_a_job and stored < ROWS_IN_THE_DRIVER

    def _files(self, level: Level) -> Iterator[tuple[int, np.ndarray]]:
        """The rows of each file of a level, with the file's number."""
        for number, file in enumerate(level.files):
            yield number, self._worker.rows_of(self._store.words_of(file, self._worker.layout.words))
