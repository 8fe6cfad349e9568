"""Liveness under fairness: whether what must happen does, on every fair behaviour, once every state
is known.

A behaviour that violates a property comes, after some prefix, to the states of one strongly
connected component and stays there for ever. So the steps between rows are listed once for all
properties; then, for each property, the rows where it waits are found, their components, and which
of these are *fair*: going round in one, through all its states and steps, meets every demand. Where
a strong demand is not met, the rows that owe it are left out, and what remains falls into
components again. Where the steps do not fit, they are made again for each property, several times.
`highwater.explorer.search.plain.plain_liveness` says the same in few lines.

What a bound cuts counts as enabled: it could be taken if there were no bound. So every lasso is one
of the unbounded system, too, and what waits where only bounds stop it is counted, not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import FAIR, OPEN, OUT, Fairness, Question
from highwater.explorer.search.counterexamples import first_trace
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.graph_properties.edges import Edges, rows_of
from highwater.explorer.search.graph_properties.lassos import lasso_to
from highwater.explorer.search.graph_properties.orbits import (
    Unfolded,
    exact_fairness,
    quotient_fairness,
    states_in,
    unfold,
)
from highwater.explorer.search.graph_properties.owed import Marks
from highwater.explorer.search.graph_properties.recomputed_graph import RecomputedGraph
from highwater.explorer.search.graph_properties.stored_graph import StoredGraph, judge_all
from highwater.explorer.search.states.store import Stopped
from highwater.explorer.system import taken
from highwater.explorer.verdict import Step, Violation
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness


def lassos_in(engine: Engine, known: Container[str]) -> tuple[list[Violation], dict[str, int]]:
    """For each liveness property that is not known to be violated and that is: a lasso with a shortest path to its
    cycle. And, by property, how many states wait for it where only bounds cut the steps that it relies on.

    All states must have been expanded.

    Raises:
        Stopped: there is no room for the graph, nor for what trimming leaves of it.
    """
    wanted = [each for each in engine.system.liveness if each.of.name not in known]
    if not wanted:
        return [], {}
    marks = {each: Marks(engine, each) for each in wanted}
    edges = all_steps(engine, marks)
    found: dict[str, Violation] = {}
    held_back: Counter[str] = Counter()
    for each in wanted:
        try:
            count, lasso = _judged(engine, edges, each, marks[each])
        except Stopped:
            if edges is None:
                raise
            edges = None  # what it takes is needed
            count, lasso = _judged(engine, edges, each, marks[each])
        held_back[each.of.name] += count
        if lasso and (each.of.name not in found or lasso.trace_length < found[each.of.name].trace_length):
            found[each.of.name] = lasso
    return sorted(found.values(), key=lambda each: each.trace_length), {
        name: count for name, count in held_back.items() if count
    }


def all_steps(engine: Engine, marks: Mapping[Instance[Liveness], Marks]) -> Edges | None:
    """The steps of all rows where any of the properties may wait; None if there is no room for them."""
    region = np.zeros(engine.store.count, np.uint8)
    relied_on = np.zeros(len(engine.system.actions), np.uint8)
    for each, found in marks.items():
        region |= found.allowed
        relied_on |= exact_fairness(engine.system, each).demands >= 0
    try:
        return Edges(engine, rows_of(engine), region, relied_on, engine.store.room)
    except Stopped:
        return None


def _judged(engine: Engine, edges: Edges | None, of: Instance[Liveness], marks: Marks) -> tuple[int, Violation | None]:
    """How many states wait where only bounds cut what a property relies on, and its lasso."""
    judged = _Judged(engine, edges, of, marks)
    return judged.held_back, judged.lasso()


class _Judged:
    """One property on the graph of all rows.

    Attributes:
        held_back: how many states wait where only bounds cut what the property relies on.
    """

    def __init__(self, engine: Engine, edges: Edges | None, of: Instance[Liveness], marks: Marks) -> None:
        self._engine, self._of, self._marks = engine, of, marks
        exact = exact_fairness(engine.system, of)
        self._graph = (
            RecomputedGraph(engine, marks, exact) if edges is None else StoredGraph(engine, edges, marks, exact)
        )
        self.held_back = states_in(engine, self._graph.held_back)
        self._fair = FairRows(engine, of, self._graph, marks.needed)

    def lasso(self) -> Violation | None:
        """The first of the lassos with a shortest path to the cycle."""
        fair = np.flatnonzero(self._graph.state == FAIR)
        if not len(fair):
            return None
        prefix = self._prefix(fair)
        return lasso_to(self._engine.system, self._of, prefix, self._fair.around(prefix[-1].state))

    def _prefix(self, fair: np.ndarray) -> tuple[Step, ...]:
        """The first of the shortest paths to a row of a fair component."""
        engine, distance = self._engine, self._graph.distance
        least = int(distance[fair].min())
        ways = np.zeros(len(distance), np.uint8)
        ways[fair[distance[fair] == least]] = 1
        self._graph.mark_ways(ways)
        born = np.flatnonzero(ways & self._marks.born)
        levels = np.searchsorted(engine.store.level_ends, born, side="right") - 1
        own = levels == distance[born]
        level = int(levels[own].min())
        begin = np.zeros(len(distance), np.uint8)
        begin[born[own & (levels == level)]] = 1
        trace = [*first_trace(engine, begin, level)]
        for at in range(len(trace), least + 1):
            trace.append(self._next(trace[-1].state, ways, at))
        return tuple(trace)

    def _next(self, state: Any, ways: np.ndarray, distance: int) -> Step:
        """The first step to a marked row at a distance."""
        system = self._engine.system
        after = ((action, taken(system, action, state)) for action in system.actions)
        inside = (Step(action, each) for action, each in after if isinstance(each, system.domain.cls) and each != state)
        rows = ((step, self._engine.row_of(step.state)) for step in inside)
        return next(step for step, row in rows if row >= 0 and ways[row] and self._graph.distance[row] == distance)


class FairRows:
    """The rows of a graph in fair components of a property, once it has judged them.

    Up to symmetry, the graph says only where a fair component may be. The states that these rows stand for are judged
    then, and only rows are fair whose states are.
    """

    def __init__(
        self, engine: Engine, of: Instance[Liveness], graph: StoredGraph | RecomputedGraph, needed: np.ndarray
    ) -> None:
        """Judge the rows that are in question in the graph.

        Args:
            needed: of which rows a component must have one; empty if that does not matter.

        Raises:
            Stopped: there is no room.
        """
        self._engine, self._graph = engine, graph
        exact = exact_fairness(engine.system, of)
        quotient = quotient_fairness(engine.system, of, engine.permutations) if len(engine.permutations) > 1 else exact
        graph.judge(quotient, needed)
        self._unfolded: Unfolded | None = None
        if quotient is not exact and FAIR in graph.state:
            self._unfold(exact, needed)

    def _unfold(self, exact: Fairness, needed: np.ndarray) -> None:
        """Judge the states that the fair rows stand for, and let only rows be fair whose states are."""
        engine, state = self._engine, self._graph.state
        chosen = np.flatnonzero(state == FAIR)
        room = engine.store.room - self._graph.bytes_taken
        if 8 * engine.store.units * len(chosen) * len(engine.permutations) > room:
            raise Stopped("memory")
        self._unfolded = unfold(engine, chosen)
        origins = self._unfolded.origins
        relied_on = (exact.demands >= 0).astype(np.uint8)
        room -= 4 * engine.store.units * len(origins)
        edges = Edges(engine, self._unfolded.rows, np.ones(len(origins), np.uint8), relied_on, room)
        self._states = np.full(len(origins), OPEN, np.uint8)
        todo = np.arange(len(origins), dtype=np.uint32)
        self._components = judge_all(
            engine.code, Question(edges.graph, exact, needed[origins] if len(needed) else needed), self._states, todo
        )
        state[:] = OUT
        state[origins[self._states == FAIR]] = FAIR

    def around(self, state: Any) -> Callable[[Any], bool]:
        """Whether a state is in the fair component of a given one."""
        number = self._number(state)
        if self._unfolded is None:
            component = self._graph.component(number)
        else:
            fair = (self._states == FAIR) & (self._components == self._components[number])
            component = frozenset(np.flatnonzero(fair).tolist())
        return lambda each: self._number(each) in component

    def _number(self, state: Any) -> int:
        """The row of a plain state, or its number among the images where rows were unfolded; -1 if it has none."""
        if self._unfolded is None:
            return self._engine.row_of(state)
        words = self._engine.words_of(state)
        return -1 if words is None else self._unfolded.find(words)
