"""Marking rows by their steps: those that lead to marked ones, in one step or in any number, that have none, or that
have a bad one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import IMAGE, MISSES
from highwater.explorer.kernels.making.compiling import inlined, kernel
from highwater.explorer.kernels.states.canonical import make_representative, permute, put_in_ranks
from highwater.explorer.kernels.states.rows import hash_of
from highwater.explorer.kernels.states.stored import find_row, read_state, read_states
from highwater.explorer.kernels.steps.batches import list_hits
from highwater.explorer.kernels.steps.steps import breaks
from highwater.explorer.kernels.steps.trees import apply

_UPPER = np.uint64(32)


@inlined
def row_after(at: int, effect: int, visited: Any, machine: Any, work: Any, units: int) -> int:
    """The row that stands for a successor of a state of the batch, or -1."""
    apply(work.words, at, effect, machine.effects, work.made, 0, units)
    make_representative(work.made, 0, machine.symmetry, units)
    return find_row(visited.rows, visited.table, work.made, work.made_numbers, units)


@kernel
def mark_predecessors(visited: Any, span: Any, marks: Any, near: Any, machine: Any, work: Any, units: int) -> int:
    """Mark the rows of a span that have a marked successor among those of the next level.

    Few successors are. A flag in `near`, in the place that a hash gives, says that a state may stand for one of them.
    Of most successors no representative is made, then, and none is looked up. `near` is room for a power of two of
    flags.

    Returns:
        The number of misses. If there are any, all must be marked again once the trees have grown.
    """
    rows, effects, symmetry = visited.rows, machine.effects, machine.symmetry
    _note_near(rows, span.next_begin, span.next_end, marks, near, symmetry, work, units)
    for first in range(span.begin, span.end, len(work.moves)):
        last = min(span.end, first + len(work.moves))
        read_states(rows, first, last - first, work.words, work.numbers, units)
        hits, resolved = list_hits(first, last - first, machine.trees, work, units, alone=True)
        if not resolved:
            return work.counts[MISSES]
        for hit in range(hits):
            effect, at = work.hit_effect[hit], work.hit_state[hit]
            if effects.cut[effect] or marks[first + at]:
                continue
            apply(work.words, at, effect, effects, work.made, 0, units)
            put_in_ranks(work.made, 0, symmetry)
            if near[_place_in(near, work.made, 0, units)]:
                make_representative(work.made, 0, symmetry, units)
                found = find_row(rows, visited.table, work.made, work.made_numbers, units)
                if span.next_begin <= found < span.next_end and marks[found]:
                    marks[first + at] = 1
    return 0


@inlined
def _note_near(rows: Any, begin: int, end: int, marks: Any, near: Any, symmetry: Any, work: Any, units: int) -> None:
    """Flag where the marked rows begin..end and all their images have their places, and nothing else."""
    near[:] = False
    image = len(work.made) - IMAGE
    for row in range(begin, end):
        if marks[row]:
            read_state(rows, row, work.made, 0, units)
            near[_place_in(near, work.made, 0, units)] = True
            for permutation in range(len(symmetry.images)):
                permute(work.made, 0, permutation, symmetry, work.made, image, units)
                near[_place_in(near, work.made, image, units)] = True


@inlined
def _place_in(near: Any, words: Any, at: int, units: int) -> int:
    return hash_of(words, at, units) >> _UPPER & np.uint64(len(near) - 1)


@kernel
def note_parents(
    visited: Any, span: Any, marks: Any, among: int, parents: Any, machine: Any, work: Any, units: int
) -> int:
    """Note for each marked row of the next level without a parent one of the rows of a span that leads to it.

    Args:
        among: 1 if only marked rows may become parents.
        parents: by row, its parent; -1 where there is none yet.

    Returns:
        The number of misses. If there are any, call again once the trees have grown.
    """
    rows, effects = visited.rows, machine.effects
    for first in range(span.begin, span.end, len(work.moves)):
        last = min(span.end, first + len(work.moves))
        read_states(rows, first, last - first, work.words, work.numbers, units)
        hits, resolved = list_hits(first, last - first, machine.trees, work, units, alone=True)
        if not resolved:
            return work.counts[MISSES]
        for hit in range(hits):
            effect, at = work.hit_effect[hit], work.hit_state[hit]
            if effects.cut[effect] or (among and not marks[first + at]):
                continue
            found = row_after(at, effect, visited, machine, work, units)
            if span.next_begin <= found < span.next_end and marks[found] and parents[found] < 0:
                parents[found] = first + at
    return 0


@kernel
def mark_at_rest(rows: Any, begin: int, end: int, marks: Any, trees: Any, work: Any, units: int) -> None:
    """Mark the rows begin..end without successors and without cut steps. Their walks are all known."""
    for row in range(begin, end):
        read_state(rows, row, work.words, 0, units)
        hits, resolved = list_hits(row, 1, trees, work, units, alone=True)
        if hits == 0 and resolved:
            marks[row] = 1


@kernel
def mark_breaking(rows: Any, begin: int, end: int, wanted: Any, marks: Any, machine: Any, work: Any, units: int) -> int:
    """Mark the rows begin..end with a step that violates any of the wanted step properties. The walks of actions are
    all known.

    Returns:
        The number of misses. If there are any, all must be marked again once the step properties' trees have grown.
    """
    missed = 0
    for row in range(begin, end):
        read_state(rows, row, work.words, 0, units)
        hits, _ = list_hits(row, 1, machine.trees, work, units, alone=True)
        for hit in range(hits):
            broken = breaks(hit, wanted, machine.effects, machine.steps, work, units)
            if broken > 0:
                marks[row] = 1
            elif broken < 0 and missed < len(work.misses):
                work.misses[missed, 0] = row
                work.misses[missed, 1] = work.hit_tree[hit]
                work.misses[missed, 2] = -1 - broken
                missed += 1
    return missed


@kernel
def mark_reaching(visited: Any, end: int, marks: Any, along: Any, machine: Any, work: Any, units: int) -> int:
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
        read_state(visited.rows, row, work.words, 0, units)
        hits, resolved = list_hits(row, 1, machine.trees, work, units, alone=True)
        if not resolved:
            return -work.counts[MISSES]
        for hit in range(hits):
            if not along[work.hit_tree[hit]]:
                continue
            effect = work.hit_effect[hit]
            happens = not machine.effects.cut[effect]
            if happens and not marks[row_after(0, effect, visited, machine, work, units)]:
                continue
            marks[row] = 1
            marked += 1
            break
    return marked
