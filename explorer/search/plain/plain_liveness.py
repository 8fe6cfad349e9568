"""Liveness under fairness in plain Python, by networkx: the graph of all states, its strongly
connected components, and what they allow.

A behaviour that violates a property comes, after some prefix, to states of one strongly connected
component and never leaves it. All states of the prefix after the property began to be owed, and all
of the component, are *waiting*. A component is *fair* if going round in it, through all of its
states and steps, meets every demand. Where a demand for strong fairness is not met, the states that
owe it are left out, and what remains falls into components again (Emerson and Lei 1987).

A component may have one state only: there nothing happens any more, as a behaviour may end wherever
no fair step is enabled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from highwater.explorer.classes import truths
from highwater.explorer.fairness import Demand, demands_of
from highwater.explorer.search.graph_properties.lassos import lasso_to
from highwater.explorer.system import Cut, System
from highwater.explorer.trace import retrace
from highwater.explorer.verdict import Step, Violation
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness

# from where it is as far to each state in which the property begins to be owed as from the initial states
BEFORE = object()
Moves = Mapping[Any, list[tuple[Instance, Any]]]


def judge_liveness(
    system: System, moves: Moves, parents: Mapping[Any, Any]
) -> tuple[dict[str, Violation], dict[str, int]]:
    """By liveness property, its first lasso if there is one, and how many states wait where only bounds cut what it
    relies on.

    Args:
        moves: the actions that change each state, with what they make of it, in the order in which a breadth-first
            search finds the states.
        parents: by state, the one before it on a shortest path; None for an initial state.
    """
    graph = Graph.of(moves, parents)
    found: dict[str, Violation] = {}
    held_back: dict[str, int] = {}
    for each in system.liveness:
        judged = _Judged(system, each, graph)
        held_back[each.of.name] = held_back.get(each.of.name, 0) + judged.held_back
        lasso = judged.lasso()
        if lasso and (each.of.name not in found or lasso.trace_length < found[each.of.name].trace_length):
            found[each.of.name] = lasso
    found = dict(sorted(found.items(), key=lambda item: item[1].trace_length))
    return found, {name: count for name, count in held_back.items() if count}


@attrs.frozen
class Graph:
    """The states as numbers from 0, in the order in which they were found: to hash a state takes longer than all else.

    Attributes:
        numbers: of the states.
        moves: by state, as `judge_liveness` has them.
        parents, depth: by state, that before it on a shortest path, and how long this is.
    """

    states: Sequence[Any]
    numbers: Mapping[Any, int]
    moves: Sequence[list[tuple[Instance, Any]]]
    parents: Sequence[int | None]
    depth: Sequence[int]

    @classmethod
    def of(cls, moves: Moves, parents: Mapping[Any, Any]) -> Graph:
        numbers = {state: number for number, state in enumerate(moves)}
        numbered = [
            [(action, of if isinstance(of, Cut) else numbers[of]) for action, of in found] for found in moves.values()
        ]
        before = [None if (parent := parents[state]) is None else numbers[parent] for state in moves]
        depth: list[int] = []
        for parent in before:
            depth.append(0 if parent is None else depth[parent] + 1)
        return cls(list(moves), numbers, numbered, before, depth)


@attrs.define(slots=False)
class _Judged:
    """One property on the graph of all states.

    Attributes:
        waiting: the states in which the property is owed and false, by the length of the shortest path to each on which
            it stays so.
        born: those of them that such a path may begin with, after a shortest path to them.
    """

    system: System
    of: Instance[Liveness]
    graph: Graph

    def __attrs_post_init__(self) -> None:
        self.moves, self.parents, self.depth = self.graph.moves, self.graph.parents, self.graph.depth
        self.demands = demands_of(self.system, self.of.of)
        self.form = self.of.of.form
        found = {number: truths(self.system, self.of, state) for number, state in enumerate(self.graph.states)}
        self.allowed = {state for state in found if found[state] in self.form.stays}
        self.returned = {state for state in found if found[state] in self.form.returns}
        begin = {state for state in found if found[state] in self.form.begins}
        self.born = {state for state in begin if self.parents[state] is None} if self.form.at_first else begin
        self.waiting = self._distances()

    def _distances(self) -> dict[Any, int]:
        import networkx  # here, since few searches need it

        graph = networkx.DiGraph()
        graph.add_node(BEFORE)
        graph.add_weighted_edges_from((BEFORE, state, self.depth[state]) for state in self.born)
        graph.add_weighted_edges_from(
            (state, after, 1) for state in self.allowed for after in self._after(state) if after in self.allowed
        )
        lengths = networkx.single_source_dijkstra_path_length(graph, BEFORE)
        return {state: length for state, length in lengths.items() if state is not BEFORE}

    def _after(self, state: Any) -> Iterator[Any]:
        return (after for _, after in self.moves[state] if not isinstance(after, Cut))

    @property
    def held_back(self) -> int:
        relied_on = {action for demand in self.demands for action in demand.instances}
        fair = ([after for action, after in self.moves[state] if action in relied_on] for state in self.waiting)
        return sum(bool(steps) and all(isinstance(after, Cut) for after in steps) for steps in fair)

    def lasso(self) -> Violation | None:
        """The first of the lassos with a shortest path to the cycle."""
        owners = {state: fair for fair in self._fair_components(self.waiting) for state in fair}
        if not owners:
            return None
        prefix = self._prefix(owners)
        component = owners[self._number(prefix[-1].state)]
        return lasso_to(self.system, self.of, prefix, lambda state: self._number(state) in component)

    def _number(self, state: Any) -> int:
        return self.graph.numbers[self.system.class_of(state)]

    def _fair_components(self, states: Iterable[Any]) -> Iterator[set[Any]]:
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(states)
        graph.add_edges_from((state, after) for state in states for after in self._after(state) if after in graph)
        for component in networkx.strongly_connected_components(graph):
            if not component & self.returned:
                continue
            missed = [demand for demand in self.demands if not self._is_taken(demand, component)]
            if any(
                not demand.strong and all(self._is_enabled(demand, state) for state in component) for demand in missed
            ):
                continue
            owing = {
                state
                for state in component
                if any(demand.strong and self._is_enabled(demand, state) for demand in missed)
            }
            if owing:
                yield from self._fair_components(component - owing)
            else:
                yield component

    def _is_enabled(self, demand: Demand, state: Any) -> bool:
        return any(action in demand.instances for action, _ in self.moves[state])

    def _is_taken(self, demand: Demand, component: set[Any]) -> bool:
        return any(
            action in demand.instances and after in component
            for state in component
            for action, after in self.moves[state]
        )

    def _prefix(self, fair: Iterable[Any]) -> tuple[Step, ...]:
        """The first of the shortest paths to a state of a fair component."""
        least = min(self.waiting[state] for state in fair)
        ways = {state for state in fair if self.waiting[state] == least}
        at = defaultdict(set)
        for state, distance in self.waiting.items():
            at[distance].add(state)
        for distance in range(least - 1, -1, -1):
            ways |= {
                state
                for state in at[distance]
                if any(self.waiting.get(after) == distance + 1 and after in ways for after in self._after(state))
            }
        path = self._to_birth(
            min((state for state in ways & self.born if self.depth[state] == self.waiting[state]), key=self._order)
        )
        while len(path) <= least:
            path.append(
                next(after for after in self._after(path[-1]) if after in ways and self.waiting[after] == len(path))
            )
        return retrace(self.system, [self.graph.states[state] for state in path])

    def _order(self, state: int) -> tuple[int, int]:
        return self.depth[state], state

    def _to_birth(self, state: int) -> list[int]:
        path = [state]
        while (before := self.parents[path[-1]]) is not None:
            path.append(before)
        return path[::-1]
