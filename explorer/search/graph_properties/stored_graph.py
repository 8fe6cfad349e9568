"""A liveness property on the graph of all rows, whose steps are stored: reachability, fair components, shortest paths.

`highwater.explorer.search.graph_properties.recomputed_graph` does the same where the steps do not fit.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from highwater.explorer.kernels.arrays import FAIR, OPEN, TALLIED, Components, Fairness, Question
from highwater.explorer.kernels.making.entry_points import MachineCode
from highwater.explorer.memory import reserve
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.graph_properties.edges import Edges
from highwater.explorer.search.graph_properties.owed import Marks


class StoredGraph:
    """What one property looks at.

    Attributes:
        distance: by row, the length of the shortest path to it on which the property is owed and stays false; -1 where
            there is none.
        state: by row, whether it is out of the question, in question, or in a fair component.
        held_back: by row, whether a path waits there where only bounds cut what the property relies on.
        bytes_taken: bytes of the steps, and of what judging takes.
    """

    def __init__(self, engine: Engine, edges: Edges, marks: Marks, fairness: Fairness) -> None:
        """Measure the distances.

        Args:
            edges: the steps of all rows.
            fairness: what the property relies on, each demand on its own.
        """
        rows, self._code = engine.store.count, engine.code
        self.bytes_taken = edges.bytes_taken
        self._graph = edges.graph
        self._queue = reserve((rows,), np.uint32)
        self.distance = np.full(rows, -1, np.int32)
        ends = np.array(engine.store.level_ends, np.int64)
        self._reached = self._code.measure(self._graph, ends, marks.allowed, marks.born, self.distance, self._queue)
        self.state = (self.distance >= 0).astype(np.uint8)
        self.held_back = np.zeros(rows, np.uint8)
        self._code.mark_held_back(self._graph, fairness, self.state, self.held_back)

    def judge(self, fairness: Fairness, needed: np.ndarray) -> None:
        """Find which of the rows in question are in a fair component."""
        self._components = judge_all(
            self._code, Question(self._graph, fairness, needed), self.state, self._queue[: self._reached]
        )

    def component(self, row: int) -> Container[int]:
        """The rows of the fair component of one."""
        return frozenset(np.flatnonzero((self.state == FAIR) & (self._components == self._components[row])).tolist())

    def mark_ways(self, marks: np.ndarray) -> None:
        """Mark the rows from which a shortest path leads on to a marked row."""
        self._code.mark_ways(self._graph, self._queue, self._reached, self.distance, marks)


def judge_all(code: MachineCode, asked: Question, state: np.ndarray, todo: np.ndarray) -> np.ndarray:
    """Judge the components of the open rows, which are among `todo`, until none is open. Returns the number of each
    row's component.
    """
    counted = np.zeros((max(1, len(asked.fairness.classes)), TALLIED), np.int64)
    room, named = Components(*(reserve((len(state),), np.uint32) for _ in Components._fields)), 0
    while len(todo):
        again, named = code.judge_components(*asked, state, todo, named, room, counted)
        todo = np.flatnonzero(state == OPEN).astype(np.uint32) if again else todo[:0]
        room.number[todo] = 0
    number: np.ndarray = room.low
    return number
