"""The reachable graph of a small system: a node for what a search keeps, an edge for each step, in plain Python."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import attrs
import networkx

from highwater.explorer.classes import class_after, judge_class
from highwater.explorer.system import Cut, System
from highwater.model.language.declarations import Transition


class TooLarge(Exception):
    """There are more states than a graph was asked to hold."""


@attrs.frozen
class Shape:
    """What a graph looks like.

    Attributes:
        states, steps: how many nodes and edges.
        steps_by_action: edges by the name of the action, 0 for one that was never enabled.
        loops: steps that change nothing.
        components: sizes of the strongly connected components, the largest first.
        terminal: how many of them no step leaves.
        depth: how far the farthest state is from an initial one.
        diameter: how far apart two states are at most, where one reaches the other at all.
    """

    states: int
    steps: int
    steps_by_action: dict[str, int]
    loops: int
    components: tuple[int, ...]
    terminal: int
    depth: int
    diameter: int


def reachable_graph(
    system: System,
    most: int,
    on_progress: Callable[[int, int], None] = lambda states, waiting: None,
    *,
    max_depth: int | None = None,
    decoded: bool = False,
) -> networkx.MultiDiGraph:
    """The states that the system reaches and the steps between them; classes of states where the system abstracts from
    numbers, see `highwater.explorer.ranks`.

    Nodes are numbers, in the order of a breadth-first search. They have a `state` as shown, a `depth`, whether they are
    `initial`, and the names of the properties that they violate, as `violates`. Edges have the `action` as shown, and
    its `name`.

    Args:
        on_progress: called for each state with the number of states found, and of those whose steps are not known yet.
        max_depth: leave out steps from states that are so deep, as a search does.
        decoded: nodes have the state itself, too, as `value`, and edges the `arguments` of their action.

    Raises:
        TooLarge: there are more than `most` states.
        ModelError: a function of the model raised, or returned what it must not.
    """
    graph = networkx.MultiDiGraph()
    numbers: dict[Any, int] = {}

    def enter(state: Any, depth: int) -> int:
        if state not in numbers:
            if len(numbers) == most:
                raise TooLarge(f"more than {most:,} states")
            numbers[state] = len(numbers)
            violates = [each.of.name for each in system.invariants if not judge_class(system, each, state)]
            graph.add_node(
                numbers[state],
                state=system.class_domain.show(state),
                depth=depth,
                initial=depth == 0,
                violates=" ".join(dict.fromkeys(violates)),
            )
            if decoded:
                graph.nodes[numbers[state]]["value"] = state
            waiting.append(state)
        return numbers[state]

    waiting: deque[Any] = deque()
    for state in system.initial:
        enter(system.class_of(state), 0)
    while waiting:
        state = waiting.popleft()
        here = numbers[state]
        on_progress(len(numbers), len(waiting))
        if graph.nodes[here]["depth"] == max_depth:
            continue
        for action in system.actions:
            after, of = class_after(system, action, state)
            if after is not None and not isinstance(after, Cut):
                step = Transition(state, after)
                broken = [each.of.name for each in system.step_properties if not judge_class(system, each, step)]
                there = enter(of, graph.nodes[here]["depth"] + 1)
                more = {"arguments": dict(action.shown)} if decoded else {}
                words = " ".join(dict.fromkeys(broken))
                graph.add_edge(here, there, action=str(action), name=action.of.name, violates=words, **more)
    graph.graph["actions"] = list(dict.fromkeys(action.of.name for action in system.actions))
    return graph


def shape(graph: networkx.MultiDiGraph) -> Shape:
    """What a graph looks like."""
    parts = list(networkx.strongly_connected_components(graph))
    condensed = networkx.condensation(networkx.DiGraph(graph), parts)
    counts = Counter(name for _, _, name in graph.edges(data="name"))
    return Shape(
        states=len(graph),
        steps=graph.number_of_edges(),
        steps_by_action={name: counts[name] for name in graph.graph["actions"]},
        loops=networkx.number_of_selfloops(graph),
        components=tuple(sorted(map(len, parts), reverse=True)),
        terminal=sum(degree == 0 for _, degree in condensed.out_degree()),
        depth=max(depth for _, depth in graph.nodes(data="depth")),
        diameter=diameter(graph),
    )


def diameter(graph: networkx.MultiDiGraph) -> int:
    """The length of the longest of all shortest paths. What each state reaches in so many steps is a whole number, a
    bit per state.
    """
    reached = [1 << node for node in range(len(graph))]
    steps = [list(set(graph.successors(node)) - {node}) for node in range(len(graph))]
    length = 0
    while True:
        further = list(reached)
        for node, successors in enumerate(steps):
            for after in successors:
                further[node] |= reached[after]
        if further == reached:
            return length
        reached, length = further, length + 1


def as_dot(graph: networkx.MultiDiGraph) -> str:
    """The graph for Graphviz: initial states are doubly framed, violating ones red."""
    lines = [
        "digraph {",
        "  node [shape=box, fontname=monospace, fontsize=9];",
        "  edge [fontname=monospace, fontsize=9];",
    ]
    for node, data in graph.nodes(data=True):
        style = (", peripheries=2" if data["initial"] else "") + (", color=red" if data["violates"] else "")
        label = f"{node}: {data['state']}" + (f"\n{data['violates']} violated" if data["violates"] else "")
        lines.append(f"  {node} [label={_quoted(label)}{style}];")
    for before, after, data in graph.edges(data=True):
        lines.append(
            f"  {before} -> {after} [label={_quoted(data['action'])}{', color=red' if data['violates'] else ''}];"
        )
    return "\n".join([*lines, "}", ""])


def as_graphml(graph: networkx.MultiDiGraph) -> str:
    """The graph as GraphML, for Gephi, yEd, Cytoscape and the like."""
    plain = graph.copy()
    plain.graph.clear()
    return "\n".join(networkx.generate_graphml(plain)) + "\n"


def as_data(graph: networkx.MultiDiGraph) -> dict[str, Any]:
    """The graph as networkx's node-link data, which `networkx.node_link_graph(data, edges="edges")` reads."""
    data: dict[str, Any] = networkx.node_link_data(graph, edges="edges")
    return data


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
