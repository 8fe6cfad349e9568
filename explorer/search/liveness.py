"""Liveness under fairness: whether what must happen does, on every fair behaviour, once every state
is known.

A behaviour that violates a property comes, after some prefix, to the states of one strongly
connected component and stays there for ever. So the steps between rows are listed once for all
properties; then, for each property, the rows where it waits are found, their components, and which
of these are *fair*: going round in one, through all its states and steps, meets every demand. Where
a strong demand is not met, the rows that owe it are left out, and what remains falls into
components again. `explorer.search.plain_liveness` says the same in few lines.

What a bound cuts counts as enabled: it could be taken if there were no bound. So every lasso is one
of the unbounded system, too, and what waits where only bounds stop it is counted, not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Any

import numpy as np

from explorer.compiler.meanings import InvariantProgram
from explorer.kernels import entry_points
from explorer.kernels.arrays import FAIR, OPEN, OUT, TALLIED, Components, Fairness
from explorer.memory import reserve
from explorer.search.counterexamples import first_trace
from explorer.search.edges import Edges, Rows
from explorer.search.engine import Engine, mask_of
from explorer.search.fairness import demand_numbers, demands_of
from explorer.search.lassos import lasso_to
from explorer.search.orbits import Unfolded, exact_fairness, quotient_fairness, states_in, unfold
from explorer.search.store import Stopped
from explorer.system import successor
from explorer.verdict import Step, Violation
from model.language.declarations import Instance
from model.language.graph_properties import Form


def lassos_in(engine: Engine, known: Container[str]) -> tuple[list[Violation], dict[str, int]]:
    """For each liveness property that is not known to be violated and that is: a lasso with a shortest path to its
    cycle. And, by property, how many states wait for it where only bounds cut the steps that it relies on.

    All states must have been expanded.

    Raises:
        Stopped: there is no room for the graph.
    """
    wanted = [each for each in engine.system.liveness if each.of.name not in known]
    if not wanted:
        return [], {}
    marks = {each: _Marks(engine, each) for each in wanted}
    region, relied_on = _union(engine, marks)
    store = engine.store
    edges = Edges(
        engine,
        Rows(store.rows, store.table, engine.symmetry, store.units, engine.layout.words),
        region,
        relied_on,
        store.room,
    )
    found: dict[str, Violation] = {}
    held_back: Counter[str] = Counter()
    for each in wanted:
        judged = _Judged(engine, edges, each, marks[each])
        held_back[each.of.name] += judged.held_back
        lasso = judged.lasso()
        if lasso and (each.of.name not in found or lasso.trace_length < found[each.of.name].trace_length):
            found[each.of.name] = lasso
    return sorted(found.values(), key=lambda each: each.trace_length), {
        name: count for name, count in held_back.items() if count
    }


class _Marks:
    """By row, a bit that says whether a property is false there, and one that says whether it may begin to be owed
    there.
    """

    def __init__(self, engine: Engine, of: Instance) -> None:
        self._rows = engine.store.count
        lacking = _false_in(engine, engine.liveness, engine.system.liveness.index(of))
        self._lacking = np.packbits(lacking)
        self._everywhere = of.of.form is Form.EVENTUALLY_ALWAYS
        if of.of.form is Form.EVENTUALLY:
            lacking[engine.store.level_ends[1] :] = 0
        elif of.of.form is Form.LEADS_TO:
            lacking &= 1 - _false_in(engine, engine.premises, engine.system.premises.index(of.premise))
        self._born = np.packbits(lacking)

    @property
    def lacking(self) -> np.ndarray:
        return np.unpackbits(self._lacking, count=self._rows)

    @property
    def born(self) -> np.ndarray:
        """Where a path may begin on which the property is owed and stays false."""
        return np.ones(self._rows, np.uint8) if self._everywhere else np.unpackbits(self._born, count=self._rows)

    @property
    def allowed(self) -> np.ndarray:
        """Where such a path may lead."""
        return np.ones(self._rows, np.uint8) if self._everywhere else self.lacking


def _false_in(engine: Engine, program: InvariantProgram, number: int) -> np.ndarray:
    """The rows where one instance of a program is false, marked."""
    store, marks = engine.store, np.zeros(engine.store.count, np.uint8)
    wanted = mask_of(each == number for each in range(len(program.instances)))

    def mark(begin: int, end: int) -> None:
        engine.count_violations(program, wanted, begin, end)  # so that all walks are known
        room = np.zeros((1, engine.layout.words), np.uint64)
        entry_points.mark_violating(store.rows, begin, end, wanted, marks, engine.trees(program), room, store.units)

    engine.spread(mark, 0, store.count)
    return marks


def _union(engine: Engine, marks: dict[Instance, _Marks]) -> tuple[np.ndarray, np.ndarray]:
    """The rows where any of the properties may wait, and the actions that any of them relies on."""
    region = np.zeros(engine.store.count, np.uint8)
    relied_on = np.zeros(len(engine.system.actions), np.uint8)
    for each, found in marks.items():
        region |= found.allowed
        relied_on |= np.array(demand_numbers(engine.system, demands_of(engine.system, each.of))) >= 0
    return region, relied_on


class _Judged:
    """One property on the graph of all rows.

    Attributes:
        state: by row, whether it is out of the question or in a fair component.
        distance: by row, the length of the shortest path to it on which the property is owed and stays false; -1 where
            there is none.
        held_back: how many states wait where only bounds cut what the property relies on.
    """

    def __init__(self, engine: Engine, edges: Edges, of: Instance, marks: _Marks) -> None:
        self._engine, self._graph, self._of, self._marks = engine, edges.graph, of, marks
        self._taken = edges.bytes_taken
        rows = engine.store.count
        self._ends = np.array(engine.store.level_ends, np.int64)
        self._queue = reserve((rows,), np.uint32)
        self.distance = np.full(rows, -1, np.int32)
        self._reached = entry_points.measure(
            self._graph, self._ends, marks.allowed, marks.born, self.distance, self._queue
        )
        self.state = (self.distance >= 0).astype(np.uint8)
        exact = exact_fairness(engine.system, of)
        self.held_back = self._count_held_back(exact)
        quotient = quotient_fairness(engine.system, of, engine.permutations) if len(engine.permutations) > 1 else exact
        needed = marks.lacking if of.of.form is Form.EVENTUALLY_ALWAYS else np.zeros(0, np.uint8)
        self._components = judge_all(edges.graph, quotient, needed, self.state, self._queue[: self._reached])
        self._unfolded: Unfolded | None = None
        if quotient is not exact and FAIR in self.state:
            self._unfold(exact, needed)

    def _unfold(self, exact: Fairness, needed: np.ndarray) -> None:
        """Judge the states that the fair rows stand for, and let only rows be fair whose states are."""
        engine = self._engine
        chosen = np.flatnonzero(self.state == FAIR)
        room = engine.store.room - self._taken
        if 8 * len(engine.store.units) * len(chosen) * len(engine.permutations) > room:
            raise Stopped("memory")
        self._unfolded = unfold(engine, chosen)
        origins = self._unfolded.origins
        relied_on = (exact.demands >= 0).astype(np.uint8)
        edges = Edges(
            engine,
            self._unfolded.rows,
            np.ones(len(origins), np.uint8),
            relied_on,
            room - 4 * len(engine.store.units) * len(origins),
        )
        self._states = np.full(len(origins), OPEN, np.uint8)
        todo = np.arange(len(origins), dtype=np.uint32)
        self._components = judge_all(edges.graph, exact, needed[origins] if len(needed) else needed, self._states, todo)
        self.state[:] = OUT
        self.state[origins[self._states == FAIR]] = FAIR

    def _count_held_back(self, fairness: Fairness) -> int:
        marks = np.zeros(len(self.state), np.uint8)
        entry_points.mark_held_back(self._graph, fairness, self.state, marks)
        return states_in(self._engine, marks)

    def lasso(self) -> Violation | None:
        """The first of the lassos with a shortest path to the cycle."""
        fair = np.flatnonzero(self.state == FAIR)
        if not len(fair):
            return None
        prefix = self._prefix(fair)
        component = self._component(self._number(prefix[-1].state))
        return lasso_to(self._engine.system, self._of, prefix, lambda state: self._number(state) in component)

    def _number(self, state: Any) -> int:
        """The row of a plain state, or its number among the images where rows were unfolded; -1 if it has none."""
        if self._unfolded is None:
            return self._engine.row_of(state)
        return self._unfolded.find(self._engine.layout.pack(state))

    def _prefix(self, fair: np.ndarray) -> tuple[Step, ...]:
        """The first of the shortest paths to a row of a fair component."""
        engine, least = self._engine, int(self.distance[fair].min())
        ways = np.zeros(len(self.state), np.uint8)
        ways[fair[self.distance[fair] == least]] = 1
        entry_points.mark_ways(self._graph, self._queue, self._reached, self.distance, ways)
        born = np.flatnonzero(ways & self._marks.born)
        levels = np.searchsorted(self._ends, born, side="right") - 1
        own = levels == self.distance[born]
        level = int(levels[own].min())
        begin = np.zeros(len(self.state), np.uint8)
        begin[born[own & (levels == level)]] = 1
        trace = [*first_trace(engine, begin, level)]
        for at in range(len(trace), least + 1):
            trace.append(self._next(trace[-1].state, ways, at))
        return tuple(trace)

    def _next(self, state: Any, ways: np.ndarray, distance: int) -> Step:
        """The first step to a marked row at a distance."""
        system = self._engine.system
        after = ((action, successor(action, state, system.domain)) for action in system.actions)
        inside = (Step(action, each) for action, each in after if isinstance(each, system.domain.cls) and each != state)
        rows = ((step, self._engine.row_of(step.state)) for step in inside)
        return next(step for step, row in rows if ways[row] and self.distance[row] == distance)

    def _component(self, number: int) -> Container[int]:
        """The rows, or images of rows, in the fair component of one."""
        state = self.state if self._unfolded is None else self._states
        return frozenset(np.flatnonzero((state == FAIR) & (self._components == self._components[number])).tolist())


def judge_all(graph: Any, fairness: Fairness, needed: np.ndarray, state: np.ndarray, todo: np.ndarray) -> np.ndarray:
    """Judge the components of the open rows, which are among `todo`, until none is open. Returns the number of each
    row's component.
    """
    counted = np.zeros((max(1, len(fairness.classes)), TALLIED), np.int64)
    room, named = Components(*(reserve((len(state),), np.uint32) for _ in Components._fields)), 0
    while len(todo):
        again, named = entry_points.judge_components(graph, fairness, needed, state, todo, named, room, counted)
        todo = np.flatnonzero(state == OPEN).astype(np.uint32) if again else todo[:0]
        room.number[todo] = 0
    return room.low
