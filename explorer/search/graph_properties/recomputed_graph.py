"""A liveness property on the graph of all rows, whose steps do not fit: they are made again in each pass over the rows.

Most rows are in no cycle, as budgets only shrink and epochs only grow. So the rows that may be in one are found by
*trimming*: rows that no row in question leads to are out of the question, then those that lead to no such row. Only
the steps between the rows that are left are stored, and judged as
`highwater.explorer.search.graph_properties.stored_graph` does. A component never loses a row by trimming, so that what
is fair is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

import numpy as np

from highwater.explorer.kernels.arrays import ENDS, FAIR, HELD_BACK, OPEN, Fairness, Graph, Measured, Question
from highwater.explorer.memory import reserve
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.graph_properties.edges import BYTES_A_ROW as BYTES_A_STORED_ROW
from highwater.explorer.search.graph_properties.edges import Edges, Steps, chosen_rows, ranges, rows_of
from highwater.explorer.search.graph_properties.owed import Marks
from highwater.explorer.search.graph_properties.stored_graph import judge_all
from highwater.explorer.search.states.store import Stopped

BYTES_A_ROW = 18  # distance, a row that it leads to, and ten marks and counts of a byte each
WORTH_A_PASS = 1000  # a pass that puts out fewer than one row in so many is the last


class RecomputedGraph:
    """What one property looks at; the attributes are those of `StoredGraph`."""

    def __init__(self, engine: Engine, marks: Marks, fairness: Fairness) -> None:
        """Measure the distances.

        Args:
            fairness: what the property relies on, each demand on its own.

        Raises:
            Stopped: there is no room for this.
        """
        rows = engine.store.count
        self.bytes_taken = BYTES_A_ROW * rows
        if self.bytes_taken > engine.store.room:
            raise Stopped("memory")
        self._engine = engine
        self._relied_on = (fairness.demands >= 0).astype(np.uint8)
        self._steps = Steps(engine, rows_of(engine), self._relied_on)
        self._allowed = marks.allowed
        self._sources, self._preceding, self._notes = np.zeros((3, rows), np.uint8)
        self.distance = np.full(rows, -1, np.int32)
        self._measure(marks.born, fairness)
        self.state = (self.distance >= 0).astype(np.uint8)
        self.held_back = (self._notes & HELD_BACK) >> 1

    def _measure(self, born: np.ndarray, fairness: Fairness) -> None:
        """Breadth first, the distance of each row; what the steps of a row say is noted on the way."""
        store, distance = self._engine.store, self.distance
        self._spans: list[tuple[int, int]] = []  # where the rows of each distance are
        span = (0, 0)
        while span[0] < span[1] or len(self._spans) <= store.depth:
            level = len(self._spans)
            if level <= store.depth:
                begin, end = store.level(level)
                distance[begin:end][(born[begin:end] != 0) & (distance[begin:end] < 0)] = level
                span = (min(begin, span[0]), max(end, span[1])) if span[0] < span[1] else (begin, end)
            self._spans.append(span)
            span = (len(distance), 0)
            for first, last, part in self._at_distance(level):
                measured = Measured(distance, self._preceding, self._notes)
                low, high = self._engine.code.measure_range(part, first, last, self._sources, level, fairness, measured)
                span = (min(low, span[0]), max(high, span[1]))

    def _at_distance(self, distance: int) -> Iterator[tuple[int, int, Graph]]:
        """The steps of the rows at a distance."""
        return self._listed(ranges(*self._spans[distance]), lambda rows: self.distance[rows] == distance, self._allowed)

    def _listed(
        self, over: Iterable[tuple[int, int]], chosen: Callable[[slice], np.ndarray], region: np.ndarray
    ) -> Iterator[tuple[int, int, Graph]]:
        """The steps of the chosen rows in some ranges, but for ranges without any. They become the sources."""

        def with_sources() -> Iterator[tuple[int, int]]:
            for begin, end in over:
                self._sources[begin:end] = chosen(slice(begin, end))
                if self._sources[begin:end].any():
                    yield begin, end

        return self._steps.of(with_sources(), self._sources, region)

    def judge(self, fairness: Fairness, needed: np.ndarray) -> None:
        """Find which of the rows in question are in a fair component.

        Raises:
            Stopped: there is no room for the steps between the rows that trimming leaves.
        """
        engine, state = self._engine, self.state
        may_end = (state == OPEN) & (self._notes & ENDS != 0)
        self._trim()
        self._left = np.flatnonzero(state == OPEN)
        room = engine.store.room - self.bytes_taken - 12 * engine.store.units * len(self._left)
        if BYTES_A_STORED_ROW * len(self._left) > room:
            raise Stopped("memory")
        rows = chosen_rows(engine, self._left)
        edges = Edges(engine, rows, np.ones(len(self._left), np.uint8), self._relied_on, room)
        self.bytes_taken += edges.bytes_taken
        judged = np.full(len(self._left), OPEN, np.uint8)
        todo = np.arange(len(self._left), dtype=np.uint32)
        self._components = judge_all(
            self._engine.code,
            Question(edges.graph, fairness, needed[self._left] if len(needed) else needed),
            judged,
            todo,
        )
        state[may_end & (needed != 0) if len(needed) else may_end] = FAIR  # where that is so, trimmed or not
        state[self._left] = judged

    def _trim(self) -> None:
        """Put out rows that are in no component of several rows, and lead to themselves neither: as many as is worth
        the passes.
        """
        state, preceding, every = self.state, self._preceding, ranges(0, len(self.state))
        leads_to = reserve((len(state),), np.uint32)

        def unpreceded() -> int:
            parts = self._listed(every, lambda rows: (state[rows] == OPEN) & (preceding[rows] == 0), state)
            return sum(
                self._engine.code.drop_unpreceded(part, begin, end, self._sources, state, preceding)
                for begin, end, part in parts
            )

        def leading_nowhere(chosen: Callable[[slice], np.ndarray]) -> int:
            return sum(
                self._engine.code.drop_leading_nowhere(part, begin, end, self._sources, state, leads_to)
                for begin, end, part in self._listed(reversed(every), chosen, state)
            )

        left = np.count_nonzero(state == OPEN)
        while (dropped := unpreceded()) * WORTH_A_PASS > left:
            left -= dropped
        dropped = leading_nowhere(lambda rows: state[rows] == OPEN)
        while dropped * WORTH_A_PASS > left:
            left -= dropped
            dropped = leading_nowhere(lambda rows: (state[rows] == OPEN) & (state[leads_to[rows]] != OPEN))

    def component(self, row: int) -> Container[int]:
        """The rows of the fair component of one."""
        place = int(np.searchsorted(self._left, row))
        if place == len(self._left) or self._left[place] != row:
            return frozenset([row])
        return frozenset(
            self._left[(self.state[self._left] == FAIR) & (self._components == self._components[place])].tolist()
        )

    def mark_ways(self, marks: np.ndarray) -> None:
        """Mark the rows from which a shortest path leads on to a marked row."""
        farthest = int(self.distance[marks != 0].max())
        for distance in range(farthest - 1, -1, -1):
            for begin, end, part in self._at_distance(distance):
                self._engine.code.mark_ways_in(part, begin, end, self._sources, self.distance, marks)
