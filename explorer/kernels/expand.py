"""Expanding states: the inner loop of the search, for any number of threads at once.

Threads take batches of rows from a shared cursor. A batch goes through passes: read the rows; walk the trees that the filter leaves and
list the hits; apply the hits' effects, hash the results and ask for the memory where they would be found; insert what is new. A walk
that meets an unknown branch marks it and reports a miss; the batch then changes nothing, and the thread runs it again once Python has
grown the trees.

New rows are written before a compare-and-swap publishes them in the table, so that no thread sees half a row. Each thread writes into
rows that it reserves in blocks; what is left of the blocks at the end of a level is closed up by `explorer.search.store`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.compiler.effects import FIRST_EFFECT
from explorer.compiler.program import NOTHING, PENDING, UNKNOWN
from explorer.kernels.arrays import (
    AT_REST,
    CLAIMED,
    CURSOR,
    DONE,
    EXPANDED,
    FIRST,
    GENERATED,
    LAST,
    LAST_ROW,
    MISSED,
    MISSED_STEPS,
    MISSES,
    NEXT_ROW,
    PAUSED,
    ROWS,
    ROWS_FULL,
    STOP,
    STOPPED_AT_BOUND,
    TABLE_FULL,
)
from explorer.kernels.compiling import kernel, part
from explorer.kernels.intrinsics import fetch_add, load, prefetch, swap_if
from explorer.kernels.rows import (
    entry_of,
    hash_of,
    home_slot,
    is_row,
    may_be,
    next_slot,
    probe,
    read_row,
    row_at,
    row_bits,
    write_row,
)
from explorer.kernels.steps import check_steps
from explorer.kernels.symmetry import make_representative, orbit_size
from explorer.kernels.trees import (
    apply,
    candidates_of,
    first_of,
    follow,
    follow_wide,
    inside,
    is_jump,
    is_node,
    is_wide,
    without_first,
)

_CURSOR, _ROWS, _STOP, _CLAIMED = np.uint64(CURSOR), np.uint64(ROWS), np.uint64(STOP), np.uint64(CLAIMED)
_FREE = np.uint32(0)
_UNKNOWN, _NOTHING, _PENDING, _FIRST_EFFECT = np.uint64(UNKNOWN), np.uint64(NOTHING), np.uint64(PENDING), np.uint64(FIRST_EFFECT)


@part
def list_candidates(states: int, trees: Any, work: Any) -> int:
    """List the trees that the filter leaves for each of the batch's states; how many there are."""
    listed = 0
    for at in range(states):
        for group in range(trees.candidates.shape[2]):
            left = candidates_of(work.words, at, group, trees)
            while left:
                work.hit_state[listed] = at
                work.hit_tree[listed] = np.int64(first_of(left)) + 64 * group
                left = without_first(left)
                listed += 1
    return listed


@part
def walk_all(listed: int, trees: Any, work: Any) -> None:
    """Walk all listed trees, one step of each at a time: steps of different walks overlap, where one walk waits for every load.

    First all go through wide nodes; then those that jump go on through the trees themselves.
    """
    walking = 0
    for number in range(listed):
        work.branch[number] = trees.roots[work.hit_tree[number]]
        work.walking[walking] = number
        walking += is_wide(work.branch[number])
    while walking:
        still = 0
        for number in range(walking):
            walker = work.walking[number]
            entry = follow_wide(work.words, work.hit_state[walker], work.branch[walker], trees)
            work.branch[walker] = entry
            work.walking[still] = walker
            still += is_wide(entry)
        walking = still
    for number in range(listed):
        entry = work.branch[number]
        if is_jump(entry):
            work.position[number] = inside(entry)
            work.branch[number] = trees.branches[inside(entry)]
            work.walking[walking] = number
            walking += is_node(work.branch[number])
    while walking:
        still = 0
        for number in range(walking):
            walker = work.walking[number]
            position = follow(work.words, work.hit_state[walker], work.branch[walker])
            branch = trees.branches[position]
            work.position[walker] = position
            work.branch[walker] = branch
            work.walking[still] = walker
            still += is_node(branch)
        walking = still


@part
def list_hits(first: int, states: int, alone: bool, trees: Any, work: Any) -> tuple[int, bool]:
    """Walk the trees for the batch's states: the number of hits, and whether every walk ended.

    A thread that is not alone leaves branches that another one has asked for to that one.
    """
    listed = list_candidates(states, trees, work)
    walk_all(listed, trees, work)
    hits, missed, resolved = 0, 0, True
    for number in range(listed):
        branch = work.branch[number]
        work.hit_state[hits] = work.hit_state[number]
        work.hit_tree[hits] = work.hit_tree[number]
        work.hit_effect[hits] = branch - _FIRST_EFFECT
        if branch >= _FIRST_EFFECT:
            hits += 1
        elif branch != _NOTHING:
            resolved = False
            position = work.position[number]
            if (alone or trees.branches[position] == _UNKNOWN) and missed < len(work.misses):
                trees.branches[position] = _PENDING
                work.misses[missed, 0] = first + work.hit_state[number]
                work.misses[missed, 1] = work.hit_tree[number]
                missed += 1
    work.counts[MISSES] = missed
    return hits, resolved


@part
def apply_hits(hits: int, effects: Any, symmetry: Any, table: Any, work: Any, units: Any) -> int:
    """Make the successors of the hits, and ask for the memory where they would be found; the number of successors."""
    successors = 0
    for hit in range(hits):
        effect, at = work.hit_effect[hit], work.hit_state[hit]
        if effects.cut[effect]:
            work.cut_steps[effects.cut[effect] - 1] += work.orbits[at]
            work.moves[at] |= 1
            continue
        work.moves[at] |= 2
        work.enabled[work.hit_tree[hit]] += work.orbits[at]
        work.counts[GENERATED] += work.orbits[at]
        apply(work.words, at, effect, effects, work.made, successors, units)
        make_representative(work.made, successors, symmetry, units)
        work.hashes[successors] = hash_of(work.made, successors, units)
        prefetch(table, home_slot(work.hashes[successors], len(table)))
        successors += 1
    return successors


@part
def ask_for_rows(successors: int, rows: Any, table: Any, work: Any, units: Any) -> None:
    """Find the first entry that each successor may be, and ask for the memory of its row."""
    bits = row_bits(len(table))
    for number in range(successors):
        work.slots[number], entry = probe(table, work.hashes[number], bits)
        if entry != _FREE:
            prefetch(rows, np.uint64(row_at(entry, bits) * len(units)))


@part
def insert(number: int, rows: Any, table: Any, shared: Any, capacity: int, block: int, work: Any, units: Any) -> bool:
    """Enter one successor unless it is known. False if there is no row left for it."""
    counts = work.counts
    slot, hashed, bits = work.slots[number], work.hashes[number], row_bits(len(table))
    while True:
        found = load(table, slot)
        if found == _FREE:
            if counts[NEXT_ROW] == counts[LAST_ROW]:
                counts[NEXT_ROW] = fetch_add(shared, _ROWS, block)
                counts[LAST_ROW] = counts[NEXT_ROW] + block
            row = counts[NEXT_ROW]
            if row >= capacity:
                return False
            write_row(rows, row, work.made, number, units)
            found = swap_if(table, slot, _FREE, entry_of(row, hashed, bits))
            if found == _FREE:
                counts[NEXT_ROW] += 1
                return True
        if may_be(found, hashed, bits) and is_row(rows, row_at(found, bits), work.made, number, units):
            return True
        slot = next_slot(slot, len(table))


@kernel
def expand(
    rows: Any, table: Any, shared: Any, end: int, pause_at: int, capacity: int, block: int, trees: Any, steps: Any, effects: Any,
    symmetry: Any, work: Any, units: Any,
) -> int:  # fmt: skip
    """Expand rows up to `end` batch by batch, until none is left or until Python has to step in.

    Args:
        rows, table: the states and the visited set.
        shared: the cursor and the rows taken, for all threads.
        pause_at: take no batch that begins here or later.
        capacity: how many rows may be used; `block` of them are reserved at a time.
        trees, steps: those of the actions, and of the step properties.
        units: a tuple as long as a row, so that loops over it are unrolled.

    Returns:
        DONE, MISSED or MISSED_STEPS (grow the trees of `work.misses`), TABLE_FULL, ROWS_FULL or PAUSED. After all but DONE, the batch at
        hand is kept in `work.counts` and run again by the next call.
    """
    counts = work.counts
    while True:
        if counts[FIRST] == counts[LAST]:
            if load(shared, _STOP) or load(shared, _CURSOR) >= pause_at:
                return PAUSED
            first = fetch_add(shared, _CURSOR, len(work.moves))
            if first >= end:
                return DONE
            counts[FIRST] = first
            counts[LAST] = min(end, first + len(work.moves))
        first, last = counts[FIRST], counts[LAST]
        for at in range(last - first):
            read_row(rows, first + at, work.words, at, units)
        hits, resolved = list_hits(first, last - first, False, trees, work)
        if not resolved:
            return MISSED
        if len(work.broken):
            missed = check_steps(first, hits, effects, steps, work, units)
            if missed:
                counts[MISSES] = max(0, missed)
                return MISSED_STEPS
        claimed = fetch_add(shared, _CLAIMED, hits) + hits
        if 4 * (load(shared, _ROWS) + claimed) > 3 * len(table):
            fetch_add(shared, _CLAIMED, -hits)
            fetch_add(shared, _STOP, 1)
            return TABLE_FULL

        work.moves[: last - first] = 0
        for at in range(last - first):
            work.orbits[at] = orbit_size(work.words, at, symmetry, work.made, units)
        successors = apply_hits(hits, effects, symmetry, table, work, units)
        ask_for_rows(successors, rows, table, work, units)
        entered = True
        for number in range(successors):
            entered = entered and insert(number, rows, table, shared, capacity, block, work, units)
        fetch_add(shared, _CLAIMED, -hits)
        if not entered:
            fetch_add(shared, _STOP, 1)
            return ROWS_FULL

        for at in range(last - first):
            counts[EXPANDED] += work.orbits[at]
            if work.moves[at] == 0:
                counts[AT_REST] += work.orbits[at]
            elif work.moves[at] == 1:
                counts[STOPPED_AT_BOUND] += work.orbits[at]
        counts[FIRST] = last
