"""Marking rows by their steps: those that lead to marked ones, in one step or in any number, that have none, or that
have a bad one.
"""

from __future__ import annotations

from typing import Any

from explorer.kernels.arrays import MISSES
from explorer.kernels.batches import list_hits
from explorer.kernels.canonical import make_representative, representative
from explorer.kernels.compiling import kernel, part
from explorer.kernels.steps import breaks
from explorer.kernels.stored import find_row, read_state, read_states
from explorer.kernels.trees import apply


@part
def row_after(at: int, effect: int, rows: Any, table: Any, effects: Any, symmetry: Any, work: Any, units: Any) -> int:
    """The row that stands for a successor of a state of the batch, or -1."""
    apply(work.words, at, effect, effects, work.made, 0, units)
    representative(work.made, symmetry, units)
    return find_row(rows, table, work.made, work.made_numbers, units)


@kernel
def mark_predecessors(
    rows: Any,
    table: Any,
    begin: int,
    end: int,
    next_end: int,
    marks: Any,
    trees: Any,
    effects: Any,
    symmetry: Any,
    work: Any,
    units: Any,
) -> int:
    """Mark the rows begin..end that have a marked successor among the rows end..next_end.

    Returns:
        The number of misses. If there are any, all must be marked again once the trees have grown.
    """
    for first in range(begin, end, len(work.moves)):
        last = min(end, first + len(work.moves))
        read_states(rows, first, last - first, work.words, units)
        hits, resolved = list_hits(first, last - first, True, trees, work, units)
        if not resolved:
            return work.counts[MISSES]
        for hit in range(hits):
            effect, at = work.hit_effect[hit], work.hit_state[hit]
            if effects.cut[effect] or marks[first + at]:
                continue
            found = row_after(at, effect, rows, table, effects, symmetry, work, units)
            if end <= found < next_end and marks[found]:
                marks[first + at] = 1
    return 0


@kernel
def note_parents(
    rows: Any, table: Any, begin: int, end: int, next_end: int, marks: Any, among: int, parents: Any, trees: Any,
    effects: Any, symmetry: Any, work: Any, units: Any,
) -> int:  # fmt: skip
    """Note for each marked row among end..next_end without a parent one of the rows begin..end that leads to it.

    Args:
        among: 1 if only marked rows may become parents.
        parents: by row, its parent; -1 where there is none yet.

    Returns:
        The number of misses. If there are any, call again once the trees have grown.
    """
    for first in range(begin, end, len(work.moves)):
        last = min(end, first + len(work.moves))
        read_states(rows, first, last - first, work.words, units)
        hits, resolved = list_hits(first, last - first, True, trees, work, units)
        if not resolved:
            return work.counts[MISSES]
        for hit in range(hits):
            effect, at = work.hit_effect[hit], work.hit_state[hit]
            if effects.cut[effect] or (among and not marks[first + at]):
                continue
            found = row_after(at, effect, rows, table, effects, symmetry, work, units)
            if end <= found < next_end and marks[found] and parents[found] < 0:
                parents[found] = first + at
    return 0


@kernel
def mark_at_rest(rows: Any, begin: int, end: int, marks: Any, trees: Any, work: Any, units: Any) -> None:
    """Mark the rows begin..end without successors and without cut steps. Their walks are all known."""
    for row in range(begin, end):
        read_state(rows, row, work.words, 0, units)
        hits, resolved = list_hits(row, 1, True, trees, work, units)
        if hits == 0 and resolved:
            marks[row] = 1


@kernel
def mark_breaking(
    rows: Any,
    begin: int,
    end: int,
    wanted: Any,
    marks: Any,
    trees: Any,
    steps: Any,
    effects: Any,
    work: Any,
    units: Any,
) -> int:
    """Mark the rows begin..end with a step that violates any of the wanted step properties. The walks of actions are
    all known.

    Returns:
        The number of misses. If there are any, all must be marked again once the step properties' trees have grown.
    """
    missed = 0
    for row in range(begin, end):
        read_state(rows, row, work.words, 0, units)
        hits, _ = list_hits(row, 1, True, trees, work, units)
        for hit in range(hits):
            broken = breaks(hit, wanted, effects, steps, work, units)
            if broken > 0:
                marks[row] = 1
            elif broken < 0 and missed < len(work.misses):
                work.misses[missed, 0] = row
                work.misses[missed, 1] = work.hit_tree[hit]
                work.misses[missed, 2] = -1 - broken
                missed += 1
    return missed


@kernel
def mark_reaching(
    rows: Any,
    table: Any,
    end: int,
    marks: Any,
    along: Any,
    trees: Any,
    effects: Any,
    symmetry: Any,
    work: Any,
    units: Any,
) -> int:
    """Mark the unmarked rows below `end` that have a marked successor by one of the actions `along`, or such a step
    that a bound cuts.

    Goes from the last row to the first, as most steps lead to later rows.

    Returns:
        How many rows were marked: call again until that is none. If below 0, the number of misses: call again once the
        trees have grown.
    """
    marked = 0
    for row in range(end - 1, -1, -1):
        if marks[row]:
            continue
        read_state(rows, row, work.words, 0, units)
        hits, resolved = list_hits(row, 1, True, trees, work, units)
        if not resolved:
            return -work.counts[MISSES]
        for hit in range(hits):
            if not along[work.hit_tree[hit]]:
                continue
            effect = work.hit_effect[hit]
            if not effects.cut[effect]:
                apply(work.words, 0, effect, effects, work.made, 0, units)
                make_representative(work.made, 0, symmetry, units)
                if not marks[find_row(rows, table, work.made, work.made_numbers, units)]:
                    continue
            marks[row] = 1
            marked += 1
            break
    return marked
