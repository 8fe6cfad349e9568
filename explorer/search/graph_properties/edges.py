"""The steps between rows, once all rows are known: made again from the trees, by all threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from queue import SimpleQueue
from typing import Any

import numpy as np

from highwater.explorer.compiler.layout import Layout
from highwater.explorer.kernels.arrays import Asked, FlatRows, FoldedRows, Graph, Listed, Symmetry, Visited, Work
from highwater.explorer.kernels.making.entry_points import MachineCode
from highwater.explorer.memory import reserve
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.states.rows import ROWS_AT_ONCE
from highwater.explorer.search.states.scratch import BATCH, MOST_HITS
from highwater.explorer.search.states.store import Stopped

MOST_EDGES = 2**32 - 1
BYTES_A_ROW = 40  # besides its steps: where they begin, distance, queue, the search for components, and marks
AHEAD = 4  # ranges that are listed and wait, for each thread


class Rows:
    """Rows whose steps are listed, and where to find them.

    Attributes:
        code: the kernels.
        rows, table, symmetry, units: as these take them.
    """

    def __init__(
        self, rows: FlatRows | FoldedRows, table: np.ndarray, symmetry: Symmetry, layout: Layout, code: MachineCode
    ) -> None:
        self.rows, self.table, self.symmetry, self.units = rows, table, symmetry, layout.units
        self.code = code
        self._room, self._no_parts = np.zeros((1, layout.words), np.uint64), np.zeros((0, 1), np.uint32)

    @property
    def bytes_taken(self) -> int:
        """Bytes of rows and table."""
        return sum(array.nbytes for array in (*self.rows, self.table))

    def words(self, row: int) -> tuple[int, ...]:
        """The words of a row."""
        cells = np.zeros(2 * self._room.shape[1], np.uint32)
        self.code.copy_rows(self.rows, np.array([row]), cells, np.zeros_like(self._room), self.units)
        return tuple(cells.view(np.uint64).tolist())

    def find(self, words: Sequence[int]) -> int:
        """The row that holds some words, or -1."""
        self._room[0] = words
        return int(self.code.find(self.rows, self.table, self._room, self._no_parts, self.units))


class Steps:
    """Lists the steps of rows, range by range. They are made again each time.

    Attributes:
        label: the type of the numbers of actions.
    """

    def __init__(self, engine: Engine, rows: Rows, relied_on: np.ndarray) -> None:
        """Args:
        rows: the rows.
        relied_on: by action, whether to list steps of it that lead out of the region or out of the bounds.
        """
        self._engine, self._rows, self._relied_on = engine, rows, relied_on
        self.label = np.uint16 if len(relied_on) < 1 << 16 else np.uint32
        self._works: SimpleQueue[tuple[Work, np.ndarray, np.ndarray]] = SimpleQueue()
        for work in engine.works:
            self._works.put((work, np.empty(2 * MOST_HITS, np.uint32), np.empty(2 * MOST_HITS, self.label)))

    def of(
        self, ranges: Iterable[tuple[int, int]], sources: np.ndarray, region: np.ndarray
    ) -> Generator[tuple[int, int, Graph]]:
        """The steps of one range of rows after the other. A few ranges are taken ahead.

        Args:
            sources: by row, whether to list its steps.
            region: by row, whether a step may lead there.
        """
        pool = self._engine.pool if len(sources) > ROWS_AT_ONCE else None
        return _ahead(
            pool,
            lambda each: (*each, self._list(each[0], each[1], sources, region)),
            ranges,
            AHEAD * self._works.qsize(),
        )

    def _list(self, begin: int, end: int, sources: np.ndarray, region: np.ndarray) -> Graph:
        engine, rows, first = self._engine, self._rows, begin
        work, targets, labels = room = self._works.get()
        visited, asked = Visited(rows.rows, rows.table), Asked(sources, region, self._relied_on)
        found, counts = [], np.zeros(end - begin, np.uint32)
        while first < end:
            machine = engine.machine()._replace(symmetry=rows.symmetry)
            listed, until, missed = engine.code.list_edges(
                visited, first, end, asked, Listed(targets, labels, counts[first - begin :]), machine, work, rows.units
            )
            found.append((targets[:listed].copy(), labels[:listed].copy()))
            first = until
            if missed:
                self._learn(work.misses[: max(0, missed)])
        self._works.put(room)
        begins = np.zeros(len(counts) + 1, np.uint32)
        np.cumsum(counts, out=begins[1:])
        each = found[0] if len(found) == 1 else (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Graph(begins, *each)

    def _learn(self, misses: np.ndarray) -> None:
        """Grow trees by what a kernel missed: of levels that came from a checkpoint, or of images that were
        never met.
        """
        with self._engine.growing:
            for row, tree, *_ in misses.tolist():
                self._engine.actions.learn(tree, self._rows.words(row))


def _ahead(
    pool: ThreadPoolExecutor | None, function: Callable[[Any], Any], items: Iterable[Any], most: int
) -> Generator[Any]:
    """What a function gives for one item after the other, by the threads of a pool. At most so many are ahead."""
    if pool is None:
        yield from map(function, items)
        return
    waiting: deque[Future[Any]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for each in waiting:
            each.cancel()
        wait(waiting)  # nobody else may use the threads' scratch room before


class Edges:
    """The steps of all rows, or of those in a region, all at once.

    Attributes:
        graph: the steps as the kernels read them.
        bytes_taken: bytes of them, and of what judging them takes.
    """

    def __init__(
        self,
        engine: Engine,
        rows: Rows,
        region: np.ndarray,
        relied_on: np.ndarray,
        room: int,
        sources: np.ndarray | None = None,
    ) -> None:
        """List the steps.

        Args:
            rows: the rows.
            region: by row, whether a step may lead there.
            sources: by row, whether to list its steps; those of the region if None.
            relied_on: by action, whether to list steps of it that lead out of the region or out of the bounds.
            room: how many bytes there are for this and for judging, `BYTES_A_ROW` of them for each row.

        Raises:
            Stopped: there is no room for them.
        """
        steps, count = Steps(engine, rows, relied_on), len(region)
        each = 4 + np.dtype(steps.label).itemsize
        most = min(MOST_EDGES, max(0, room - BYTES_A_ROW * count) // each)
        first, targets, labels = (
            reserve((size,), of) for size, of in ((count + 1, np.uint32), (most, np.uint32), (most, steps.label))
        )
        listed = 0
        with closing(steps.of(ranges(0, count), region if sources is None else sources, region)) as parts:
            for begin, end, part in parts:
                until = listed + len(part.targets)
                if until > most:
                    raise Stopped("memory")
                targets[listed:until], labels[listed:until] = part.targets, part.labels
                first[begin + 1 : end + 1] = listed + part.first[1:]
                listed = until
        self.graph = Graph(first, targets, labels)
        self.bytes_taken = BYTES_A_ROW * count + listed * each


def rows_of(engine: Engine) -> Rows:
    """All rows of a search."""
    store = engine.store
    return Rows(store.rows, store.table, engine.symmetry, engine.layout, engine.code)


def chosen_rows(engine: Engine, chosen: np.ndarray) -> Rows:
    """Some rows of a search, numbered from 0."""
    return entered(engine, engine.store.chosen(chosen), engine.symmetry)


def entered(engine: Engine, cells: np.ndarray, symmetry: Symmetry) -> Rows:
    """Rows from their units, a row of them each, and a table over them."""
    count, units = cells.shape
    flat, table = reserve((count * units,), np.uint32), reserve((max(1 << 10, 2 * count),), np.uint32)
    flat.reshape(-1, units)[:] = cells
    rows, room, hashes = FlatRows(flat), np.zeros((1, engine.layout.words), np.uint64), np.zeros(BATCH, np.uint64)
    engine.code.enter_rows(rows, 0, count, table, room, hashes, engine.store.units)
    return Rows(rows, table, symmetry, engine.layout, engine.code)


def ranges(begin: int, end: int) -> list[tuple[int, int]]:
    """A range of rows in parts, in order."""
    return [(first, min(end, first + ROWS_AT_ONCE)) for first in range(begin, end, ROWS_AT_ONCE)]
