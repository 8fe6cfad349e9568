"""The types of arguments that kernels are called with, as empty arguments of these types."""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import (
    Admitted,
    Asked,
    Batch,
    Checking,
    Components,
    EffectArrays,
    Fairness,
    FlatRows,
    FoldedRows,
    Gathered,
    Graph,
    Hashing,
    Limits,
    Listed,
    Machine,
    Measured,
    Noted,
    OwnedRows,
    Span,
    Symmetry,
    Trees,
    Visited,
    Work,
)
from highwater.explorer.kernels.walk_arrays import Programs, Walker, Walks


def _array(kind: Any, axes: int = 1) -> np.ndarray:
    return np.empty((0,) * axes, kind)


FLAGS, BYTES, SHORTS, UNITS, WORDS = map(_array, (np.bool_, np.uint8, np.uint16, np.uint32, np.uint64))
DISTANCES, NUMBERS, CHANCES = map(_array, (np.int32, np.int64, np.float64))
BYTES_2, UNITS_2, WORDS_2, WORDS_3, WORDS_4, NUMBERS_2 = (
    _array(np.uint8, 2),
    _array(np.uint32, 2),
    _array(np.uint64, 2),
    _array(np.uint64, 3),
    _array(np.uint64, 4),
    _array(np.int64, 2),
)

FLAT, FOLDED = FlatRows(UNITS), FoldedRows(BYTES, WORDS_2, UNITS, WORDS_2, NUMBERS)
OWNED = OwnedRows(FOLDED, 0, FLAT)
TREES = Trees(WORDS, WORDS_2, UNITS, WORDS_2, WORDS_3)
EFFECTS = EffectArrays(WORDS_2, WORDS, UNITS, WORDS_2)
SYMMETRY = Symmetry(WORDS_2, WORDS_4, WORDS_2, WORDS_4, WORDS_2, WORDS_2, WORDS, NUMBERS, NUMBERS, NUMBERS, WORDS_2)
WORK = Work(
    counts=NUMBERS, enabled=NUMBERS, steps=NUMBERS, words=WORDS_2, left=WORDS_2, hit_state=UNITS, hit_tree=UNITS,
    hit_effect=UNITS, position=WORDS, branch=UNITS, walking=UNITS, made=WORDS_2, hashes=WORDS, slots=WORDS,
    numbers=UNITS_2, made_numbers=UNITS_2, keys=WORDS, recent=WORDS_2, orbits=NUMBERS,
    moves=BYTES, pair=WORDS_2, broken=BYTES, misses=NUMBERS_2,
)  # fmt: skip
SPAN, GATHERED = Span(0, 0, 0, 0), Gathered(FLAT, UNITS, UNITS, UNITS, NUMBERS)
GRAPH = Graph(UNITS, UNITS, SHORTS)
FAIRNESS = Fairness(NUMBERS, NUMBERS, NUMBERS, BYTES)
MACHINE, VISITED = Machine(TREES, TREES, EFFECTS, SYMMETRY), Visited(FLAT, UNITS)
COMPONENTS = Components(UNITS, UNITS, UNITS, UNITS, UNITS)
WALKER = Walker(
    place=NUMBERS, random=WORDS, words=WORDS_2, pair=WORDS_2, pending=NUMBERS, path=NUMBERS, hit_tree=NUMBERS,
    hit_effect=NUMBERS, enabled=NUMBERS, taken=NUMBERS, cut_steps=NUMBERS, ends=WORDS_2,
)  # fmt: skip

KERNELS: dict[str, tuple[Any, ...]] = {
    "steps.expand.expand": (VISITED, NUMBERS, Limits(0, 0, 0, 0, 0), MACHINE, WORK, 0),
    "steps.check.check": (FLAT, 0, 0, WORDS, NUMBERS, TREES, Checking(WORDS_2, UNITS_2, WORDS_2, NUMBERS_2), 0),
    "steps.check.mark_violating": (FLAT, 0, 0, WORDS, BYTES, TREES, WORDS_2, 0),
    "states.refolding.copy_rows": (FLAT, NUMBERS, UNITS, WORDS_2, 0),
    "states.stored.enter_rows": (FLAT, 0, 0, UNITS, WORDS_2, WORDS, 0),
    "states.stored.find": (FLAT, UNITS, WORDS_2, UNITS_2, 0),
    "states.stored.move_row": (FLAT, 0, 0, UNITS, WORDS_2, 0),
    "states.canonical.orbit_sizes": (FLAT, 0, 0, SYMMETRY, WORDS_2, 0),
    "states.canonical.representative": (WORDS_2, SYMMETRY, 0),
    "graphs.reach.mark_breaking": (FLAT, 0, 0, FLAGS, BYTES, MACHINE, WORK, 0),
    "graphs.reach.mark_predecessors": (VISITED, SPAN, BYTES, FLAGS, MACHINE, WORK, 0),
    "graphs.reach.mark_reaching": (VISITED, 0, BYTES, BYTES, MACHINE, WORK, 0),
    "graphs.graph.list_edges": (
        VISITED, 0, 0, Asked(BYTES, BYTES, BYTES), Listed(UNITS, SHORTS, UNITS), MACHINE, WORK, 0,
    ),
    "graphs.reach.mark_at_rest": (FLAT, 0, 0, BYTES, TREES, WORK, 0),
    "states.owners.admit": (
        UNITS, 0, Visited(OWNED, UNITS), 0, Admitted(NUMBERS, DISTANCES), 0, Hashing(WORDS_2, WORDS), 0,
    ),
    "states.owners.enter": (OWNED, 0, 0, UNITS, WORDS_2, WORDS, 0),
    "states.owners.find_records": (UNITS, OWNED, UNITS, NUMBERS, WORDS_2, WORDS, 0),
    "graphs.partitions.first_breaking": (UNITS, 0, FLAGS, TREES, TREES, EFFECTS, WORK, 0),
    "graphs.partitions.first_violating": (UNITS, 0, WORDS, TREES, WORDS_2, 0),
    "states.owners.keep_owned": (UNITS, 0, 0, 0, WORDS_2, 0),
    "graphs.partitions.list_steps": (
        FLAT, SPAN, Noted(BYTES, BYTES_2, BYTES_2), GATHERED, 0, MACHINE, WORK, 0,
    ),
    "graphs.partitions.orbits_of": (UNITS, 0, SYMMETRY, NUMBERS, WORDS_2, WORDS_2, 0),
    "graphs.partitions.route": (GATHERED, 0, DISTANCES, NUMBERS, UNITS, WORDS_2, 0),
    "graphs.partitions.successors": (UNITS, 0, 0, GATHERED, 0, MACHINE, WORK, 0),
    "steps.walks.walk_on": (
        0, Walks(0, 0, WORDS_2, CHANCES, 0, 0, 0), Programs(TREES, TREES, TREES, EFFECTS), WALKER, 0,
    ),
    "graphs.components.judge_components": (GRAPH, FAIRNESS, BYTES, BYTES, UNITS, 0, COMPONENTS, NUMBERS_2),
    "graphs.components.mark_held_back": (GRAPH, FAIRNESS, BYTES, BYTES),
    "graphs.components.mark_ways": (GRAPH, UNITS, 0, DISTANCES, BYTES),
    "graphs.components.measure": (GRAPH, NUMBERS, BYTES, BYTES, DISTANCES, UNITS),
    "states.refolding.enter_parts": (WORDS_2, 0, 0, UNITS),
    "states.refolding.fold_rows": (UNITS, 0, 0, FOLDED, 0, Batch(WORDS_2, UNITS_2, WORDS, WORDS), UNITS, 0),
    "states.refolding.widen_rows": (FOLDED, 0, 0),
    "states.owners.remove_after": (0, UNITS),
    "graphs.passes.drop_leading_nowhere": (GRAPH, 0, 0, BYTES, BYTES, UNITS),
    "graphs.passes.drop_unpreceded": (GRAPH, 0, 0, BYTES, BYTES, BYTES),
    "graphs.passes.mark_ways_in": (GRAPH, 0, 0, BYTES, DISTANCES, BYTES),
    "graphs.passes.measure_range": (GRAPH, 0, 0, BYTES, 0, FAIRNESS, Measured(DISTANCES, BYTES, BYTES)),
}  # fmt: skip
"""The kernels by module and name. The last argument of those that read rows is how many units a row has."""

FOLDED_ROWS: dict[str, tuple[Any, ...]] = {
    name: (Visited(FOLDED, UNITS) if arguments[0] is VISITED else FOLDED, *arguments[1:])
    for name, arguments in KERNELS.items()
    if arguments[0] is FLAT or arguments[0] is VISITED
}
"""Those that read folded rows, too."""

OF_A_SEARCH = (
    "steps.expand.expand", "graphs.reach.mark_predecessors", "states.canonical.representative", "steps.check.check",
    "states.canonical.orbit_sizes", "steps.check.mark_violating", "states.stored.enter_rows",
    "states.stored.move_row", "states.stored.find",
)  # fmt: skip
"""Those that a search calls up to its first counterexample. Those that take longest to compile come first."""

OF_LIVENESS = (
    "graphs.graph.list_edges", "graphs.components.judge_components", "graphs.components.mark_ways",
    "graphs.components.mark_held_back", "graphs.components.measure",
)  # fmt: skip
"""What it calls besides up to its first lasso."""


def of_a_search(liveness: bool) -> list[tuple[str, str, tuple[Any, ...]]]:
    """Kernels that a search calls: the module, the name, and arguments."""
    names = (*OF_A_SEARCH[:1], *OF_LIVENESS[:1], *OF_A_SEARCH[1:], *OF_LIVENESS[1:]) if liveness else OF_A_SEARCH
    split = ((name, *name.rsplit(".", 1)) for name in names)
    return [(module, kernel, KERNELS[name]) for name, module, kernel in split]


def all_signatures() -> list[tuple[str, tuple[Any, ...]]]:
    """Kernels by module and name, each with arguments of types that it is called with. Those that take longest to
    compile come first.
    """
    return [*FOLDED_ROWS.items(), *KERNELS.items()]
