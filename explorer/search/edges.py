"""The graph of all rows, once all rows are known: made again from the trees, by all threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from explorer.kernels import entry_points
from explorer.kernels.arrays import Graph, Symmetry, Work
from explorer.memory import reserve
from explorer.search.engine import Engine
from explorer.search.store import MOST_HITS, ROWS_AT_ONCE, Stopped

MOST_EDGES = 2**32 - 1
BYTES_A_ROW = 40  # besides its steps: where they begin, distance, queue, the search for components, and marks


class Rows:
    """Rows whose steps are listed, and where to find them.

    Attributes:
        rows, table, symmetry, units: as the kernels take them.
    """

    def __init__(
        self, rows: np.ndarray, table: np.ndarray, symmetry: Symmetry, units: tuple[int, ...], width: int
    ) -> None:
        self.rows, self.table, self.symmetry, self.units = rows, table, symmetry, units
        self._room = np.zeros((1, width), np.uint64)

    @property
    def bytes_taken(self) -> int:
        """Bytes of rows and table."""
        return self.rows.nbytes + self.table.nbytes

    def words(self, row: int) -> tuple[int, ...]:
        """The words of a row."""
        cells = np.zeros(2 * self._room.shape[1], np.uint32)
        cells[: len(self.units)] = self.rows[row * len(self.units) : (row + 1) * len(self.units)]
        return tuple(cells.view(np.uint64).tolist())

    def find(self, words: Sequence[int]) -> int:
        """The row that holds some words, or -1."""
        self._room[0] = words
        return int(entry_points.find(self.rows, self.table, self._room, self.units))


class Edges:
    """The steps of all rows, or of those in a region.

    Attributes:
        graph: the steps as the kernels read them.
    """

    def __init__(self, engine: Engine, rows: Rows, region: np.ndarray, relied_on: np.ndarray, room: int) -> None:
        """List the steps.

        Args:
            rows: the rows.
            region: by row, whether to list its steps.
            relied_on: by action, whether to list steps of it that lead out of the region or out of the bounds.
            room: how many bytes there are for this and for judging, `BYTES_A_ROW` of them for each row.

        Raises:
            Stopped: there is no room for them.
        """
        self._engine, self._rows, self._region, self._relied_on = engine, rows, region, relied_on
        self._works: SimpleQueue[tuple[Work, np.ndarray, np.ndarray]] = SimpleQueue()
        label = np.uint16 if len(relied_on) < 1 << 16 else np.uint32
        for work in engine.works:
            self._works.put((work, np.empty(2 * MOST_HITS, np.uint32), np.empty(2 * MOST_HITS, label)))
        count = len(region)
        most = min(MOST_EDGES, max(0, room - BYTES_A_ROW * count) // (4 + np.dtype(label).itemsize))
        first, targets, labels = reserve((count + 1,), np.uint32), reserve((most,), np.uint32), reserve((most,), label)
        listed = 0
        for begin, parts in self._parts(count):
            for found, named, counts in parts:
                if listed + len(found) > most:
                    raise Stopped("memory")
                targets[listed : listed + len(found)] = found
                labels[listed : listed + len(found)] = named
                first[begin + 1 : begin + 1 + len(counts)] = listed + np.cumsum(counts)
                listed += len(found)
                begin += len(counts)
        self.graph = Graph(first, targets, labels)
        self.bytes_taken = BYTES_A_ROW * count + listed * (4 + labels.itemsize)

    def _parts(self, count: int) -> Iterator[tuple[int, list[Any]]]:
        """The steps of one range of rows after the other, each with the first of these rows."""
        begins = range(0, count, ROWS_AT_ONCE)
        pool = self._engine.pool
        each = pool.map if pool and len(begins) > 1 else map
        return zip(begins, each(lambda begin: self._list(begin, min(count, begin + ROWS_AT_ONCE)), begins), strict=True)

    def _list(self, begin: int, end: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        engine, rows = self._engine, self._rows
        work, targets, labels = room = self._works.get()
        found = []
        while begin < end:
            counts = np.zeros(end - begin, np.uint32)
            listed, until, missed = entry_points.list_edges(
                rows.rows, rows.table, begin, end, self._region, self._relied_on, targets, labels, counts,
                engine.trees(engine.actions), engine.effect_arrays(), rows.symmetry, work, rows.units,
            )  # fmt: skip
            found.append((targets[:listed].copy(), labels[:listed].copy(), counts[: until - begin]))
            begin = until
            if missed:
                self._learn(work.misses[: max(0, missed)])
        self._works.put(room)
        return found

    def _learn(self, misses: np.ndarray) -> None:
        """Grow trees by what a kernel missed: of levels that came from a checkpoint, or of images that were
        never met.
        """
        with self._engine.growing:
            for row, tree, *_ in misses.tolist():
                self._engine.actions.learn(tree, self._rows.words(row))
