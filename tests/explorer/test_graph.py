"""Reachable graphs: as many states and steps as the search counts, and the same answers by networkx."""

from __future__ import annotations

import json
from collections import Counter

import attrs
import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater.explorer.analysis.graph import TooLarge, as_data, as_dot, as_graphml, diameter, reachable_graph, shape
from highwater.explorer.search.plain.plain_python import explore
from highwater.explorer.system import System
from highwater.explorer.verdict import SearchOptions
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import Integers
from highwater.model.language.records import domain_of, within
from tests.explorer.test_random_systems import systems

MOST = 400


@attrs.frozen
class Ring:
    value: int = within(Integers(0, 5))


@action(actor='a "quoted\\" one')
def go(state: Ring) -> Ring | None:
    return Ring((state.value + 1) % 4) if state.value < 4 else None


@action(actor="leaver")
def leave(state: Ring) -> Ring | None:
    return Ring(5) if state.value == 2 else None


@action(actor="nobody")
def never(state: Ring) -> Ring | None:
    return None


@invariant()
def stays(state: Ring) -> bool:
    return state.value != 5


RING = System(
    domain=domain_of(Ring, None),
    initial=(Ring(0),),
    actions=tuple(instance for each in (go, leave, never) for instance in each.instances(None)),
    invariants=tuple(stays.instances(None)),
)


def test_a_ring_with_a_way_out_has_two_components() -> None:
    found = shape(reachable_graph(RING, 10))
    assert (found.states, found.steps, found.loops, found.depth, found.diameter) == (5, 5, 0, 3, 4)
    assert (found.components, found.terminal) == ((4, 1), 1)
    assert found.steps_by_action == {"go": 4, "leave": 1, "never": 0}


def test_a_graph_that_is_too_large_is_refused() -> None:
    assert len(reachable_graph(RING, 5)) == 5
    with pytest.raises(TooLarge, match="more than 4 states"):
        reachable_graph(RING, 4)


def test_the_exports_hold_the_same_graph() -> None:
    graph = reachable_graph(RING, 10)
    back = networkx.node_link_graph(json.loads(json.dumps(as_data(graph))), edges="edges")
    assert networkx.utils.graphs_equal(back, graph)
    parsed = networkx.parse_graphml(as_graphml(graph), node_type=int)
    assert dict(parsed.nodes(data=True)) == dict(graph.nodes(data=True))
    assert parsed.number_of_edges() == 5
    dot = as_dot(graph)
    assert dot.count(" -> ") == 5
    assert '  4 [label="4: Ring(value 5)\\nstays violated", color=red];' in dot.splitlines()
    assert '  0 [label="0: Ring(value 0)", peripheries=2];' in dot.splitlines()


@settings(max_examples=40)
@given(systems())
def test_random_systems_have_the_graph_that_the_search_counts(system: System) -> None:
    system = attrs.evolve(system, prospects=())
    try:
        graph = reachable_graph(system, MOST)
    except TooLarge:
        return
    outcome = explore(system, options=SearchOptions(keep_going=True))
    found = shape(graph)
    assert (found.states, found.steps, found.depth) == (outcome.distinct_states, outcome.generated, outcome.depth)
    assert found.steps_by_action == outcome.enabled
    assert tuple(Counter(depth for _, depth in graph.nodes(data="depth")).values()) == outcome.levels
    violated = {name for _, names in graph.nodes(data="violates") for name in names.split()}
    violated |= {name for *_, names in graph.edges(data="violates") for name in names.split()}
    assert violated == {violation.property for violation in outcome.violations}


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))))
    )
)
def test_the_diameter_is_the_longest_of_all_shortest_paths(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    nodes, edges = drawn
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(edges)
    lengths = dict(networkx.all_pairs_shortest_path_length(graph))
    assert diameter(graph) == max(length for reached in lengths.values() for length in reached.values())
