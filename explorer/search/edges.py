"""The graph of all rows, once all rows are known: made again from the trees, by all threads."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import numpy as np

from explorer.kernels import entry_points
from explorer.kernels.arrays import Graph, Work
from explorer.memory import reserve
from explorer.search.engine import Engine
from explorer.search.store import MOST_HITS, ROWS_AT_ONCE, Stopped

MOST_EDGES = 2**32 - 1


class Edges:
    """The steps of all rows, or of those in a region.

    Attributes:
        graph: the steps as the kernels read them.
    """

    def __init__(self, engine: Engine, region: np.ndarray, relied_on: np.ndarray) -> None:
        """List the steps.

        Args:
            region: by row, whether to list its steps.
            relied_on: by action, whether to list steps of it that lead out of the region or out of the bounds.

        Raises:
            Stopped: there is no room for them.
        """
        self._engine, self._region, self._relied_on = engine, region, relied_on
        self._works: SimpleQueue[tuple[Work, np.ndarray, np.ndarray]] = SimpleQueue()
        label = np.uint16 if len(relied_on) < 1 << 16 else np.uint32
        for work in engine.works:
            self._works.put((work, np.empty(2 * MOST_HITS, np.uint32), np.empty(2 * MOST_HITS, label)))
        rows = len(region)
        most = min(MOST_EDGES, engine.store.room // (4 + np.dtype(label).itemsize))
        first, targets, labels = reserve((rows + 1,), np.uint32), reserve((most,), np.uint32), reserve((most,), label)
        listed = 0
        for begin, parts in self._parts(rows):
            for found, named, counts in parts:
                if listed + len(found) > most:
                    raise Stopped("memory")
                targets[listed : listed + len(found)] = found
                labels[listed : listed + len(found)] = named
                first[begin + 1 : begin + 1 + len(counts)] = listed + np.cumsum(counts)
                listed += len(found)
                begin += len(counts)
        self.graph = Graph(first, targets, labels)
        self.bytes_taken = first.nbytes + listed * (4 + labels.itemsize)

    def _parts(self, rows: int) -> Iterator[tuple[int, list[Any]]]:
        """The steps of one range of rows after the other, each with the first of these rows."""
        begins = range(0, rows, ROWS_AT_ONCE)
        pool = self._engine.pool
        each = pool.map if pool and len(begins) > 1 else map
        return zip(begins, each(lambda begin: self._list(begin, min(rows, begin + ROWS_AT_ONCE)), begins), strict=True)

    def _list(self, begin: int, end: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        engine, store = self._engine, self._engine.store
        work, targets, labels = room = self._works.get()
        found = []
        while begin < end:
            counts = np.zeros(end - begin, np.uint32)
            listed, until, missed = entry_points.list_edges(
                store.rows, store.table, begin, end, self._region, self._relied_on, targets, labels, counts, engine.trees(engine.actions),
                engine.effect_arrays(), engine.symmetry, work, store.units,
            )  # fmt: skip
            found.append((targets[:listed].copy(), labels[:listed].copy(), counts[: until - begin]))
            begin = until
            if missed:
                engine.learn(engine.actions, work.misses[: max(0, missed)])  # of levels that came from a checkpoint
        self._works.put(room)
        return found
