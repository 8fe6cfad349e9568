"""Expanding states: the inner loop of the search, for any number of threads at once.

Threads take batches of rows from a shared cursor. A batch goes through passes: read the rows; walk the trees that the
filter leaves and list the hits; count them; apply their effects; drop the results that the thread has met just before;
make representatives of the others, and hash them; ask for the memory where they would be found; insert what is new. A
walk that meets an unknown branch marks it and reports a miss; the batch then changes nothing, and the thread runs it
again once Python has grown the trees.

New rows are written before a compare-and-swap publishes them in the table, so that no thread sees half a row. Each
thread writes into rows that it reserves in blocks; what is left of the blocks at the end of a level is closed up by
`highwater.explorer.search.states.store`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import (
    AT_REST,
    CLAIMED,
    CURSOR,
    FIRST,
    LAST,
    LAST_ROW,
    MISSES,
    NEXT_ROW,
    ROWS,
    STOP,
    STOPPED_AT_BOUND,
)
from highwater.explorer.kernels.making.compiling import inlined, kernel
from highwater.explorer.kernels.making.intrinsics import fetch_add, load, prefetch, swap_if
from highwater.explorer.kernels.states.canonical import (
    live_numbers,
    make_representative,
    orbit_size,
    stand_for_themselves,
)
from highwater.explorer.kernels.states.recent import drop_recent
from highwater.explorer.kernels.states.rows import (
    entry_of,
    hash_of,
    home_slot,
    may_be,
    next_slot,
    probe,
    row_at,
    row_bits,
    words_of,
)
from highwater.explorer.kernels.states.stored import (
    ask_for_row,
    fold_successors,
    holds,
    read_states,
    room_for_parts,
    write_state,
)
from highwater.explorer.kernels.statuses import (
    DONE,
    MISSED,
    MISSED_STEPS,
    NOT_NEW,
    PARTS_FULL,
    PAUSED,
    ROWS_FULL,
    TABLE_FULL,
)
from highwater.explorer.kernels.steps.batches import list_hits
from highwater.explorer.kernels.steps.steps import check_steps
from highwater.explorer.kernels.steps.trees import apply

_CURSOR, _ROWS, _STOP, _CLAIMED = map(np.uint64, (CURSOR, ROWS, STOP, CLAIMED))
_FREE = np.uint32(0)
_NONE, _ABOVE = np.uint64(0), np.uint64(1)
_HAPPENS = np.uint32(0)


@inlined
def first_not_new(hits: int, effects: Any, symmetry: Any, work: Any) -> int:
    """The first hit that writes a number above a rank that is not the greatest in its state; -1 if there is none."""
    for hit in range(hits):
        for group in range(len(symmetry.groups) - 1):
            top = effects.tops[work.hit_effect[hit], group]
            if top != _NONE:
                live = live_numbers(work.words, work.hit_state[hit], group, symmetry)
                if live >> (top - _ABOVE) != _NONE or (top > _ABOVE and live >> (top - _ABOVE - _ABOVE) == _NONE):
                    return hit
    return -1


@inlined
def count_steps(hits: int, effects: Any, work: Any) -> int:
    """Count the hits, and keep those that no bound cuts; how many."""
    kept = 0
    for hit in range(hits):
        effect, at, tree = work.hit_effect[hit], work.hit_state[hit], work.hit_tree[hit]
        cut, orbit = effects.cut[effect], work.orbits[at]
        happens = cut == _HAPPENS
        work.steps[cut] += orbit
        work.enabled[tree] += orbit * happens
        work.moves[at] |= 1 + happens
        work.hit_state[kept], work.hit_tree[kept], work.hit_effect[kept] = at, tree, effect
        kept += happens
    return kept


@inlined
def _made(hits: int, effects: Any, symmetry: Any, work: Any, units: int) -> int:
    """What `make_successors` makes."""
    for hit in range(hits):
        apply(work.words, work.hit_state[hit], work.hit_effect[hit], effects, work.made, hit, units)
    for hit in range(hits):
        work.hashes[hit] = hash_of(work.made, hit, units)
    successors = drop_recent(hits, work, units)
    if stand_for_themselves(symmetry):
        return successors
    for number in range(successors):
        make_representative(work.made, number, symmetry, units)
    for number in range(successors):
        work.hashes[number] = hash_of(work.made, number, units)
    return successors


@inlined
def make_successors(hits: int, effects: Any, symmetry: Any, work: Any, units: int) -> int:
    """Make the successors of the hits and their hashes, without those that the thread has met just before; how many.

    Loops over two words, the most frequent number, are made for that number: a search of such states takes a tenth
    less time.
    """
    if words_of(units) == 2:
        return _made(hits, effects, symmetry, work, 2 * 2)
    return _made(hits, effects, symmetry, work, units)


@inlined
def take_steps(states: int, hits: int, effects: Any, symmetry: Any, work: Any, units: int) -> int:
    """Count the steps of a batch, and make the successors that no bound cuts and that the thread has not met just
    before; how many.
    """
    work.moves[:states] = 0
    for at in range(states):
        work.orbits[at] = orbit_size(work.words, at, symmetry, work.made, units)
    return make_successors(count_steps(hits, effects, work), effects, symmetry, work, units)


@inlined
def count_moves(states: int, work: Any) -> int:
    """Count the states of a batch without a successor, and those that only a bound stops; the first of the former, or
    -1.
    """
    first = -1
    for at in range(states):
        if work.moves[at] == 0:
            work.counts[AT_REST] += work.orbits[at]
            if first < 0:
                first = at
        elif work.moves[at] == 1:
            work.counts[STOPPED_AT_BOUND] += work.orbits[at]
    return first


@inlined
def ask_for_slots(successors: int, table: Any, work: Any) -> None:
    """Ask for the memory where the search for each successor begins."""
    for number in range(successors):
        prefetch(table, home_slot(work.hashes[number], len(table)))


@inlined
def ask_for_rows(successors: int, rows: Any, table: Any, work: Any, units: int) -> None:
    """Find the first entry that each successor may be, and ask for the memory of its row."""
    bits = row_bits(len(table))
    for number in range(successors):
        work.slots[number], entry = probe(table, work.hashes[number], bits)
        if entry != _FREE:
            ask_for_row(rows, row_at(entry, bits), units)


@inlined
def insert(number: int, visited: Any, shared: Any, limits: Any, work: Any, units: int) -> bool:
    """Enter one successor unless it is known. False if there is no row left for it."""
    counts, rows, table = work.counts, visited.rows, visited.table
    slot, hashed, bits = work.slots[number], work.hashes[number], row_bits(len(table))
    while True:
        found = load(table, slot)
        if found == _FREE:
            if counts[NEXT_ROW] == counts[LAST_ROW]:
                counts[NEXT_ROW] = fetch_add(shared, _ROWS, limits.block)
                counts[LAST_ROW] = counts[NEXT_ROW] + limits.block
            row = counts[NEXT_ROW]
            if row >= limits.capacity:
                return False
            write_state(rows, row, work.made, number, work.keys[number], units)
            found = swap_if(table, slot, _FREE, entry_of(row, hashed, bits))
            if found == _FREE:
                counts[NEXT_ROW] += 1
                return True
        if may_be(found, hashed, bits) and holds(
            rows, row_at(found, bits), work.made, number, work.keys[number], units
        ):
            return True
        slot = next_slot(slot, len(table))


@kernel
def expand(visited: Any, shared: Any, limits: Any, machine: Any, work: Any, units: int) -> int:
    """Expand rows up to a limit batch by batch, until none is left or until Python has to step in.

    Args:
        shared: the cursor and the rows taken, for all threads.
        units: how many 32-bit units a row has.

    Returns:
        DONE, MISSED or MISSED_STEPS (grow the trees of `work.misses`), NOT_NEW (refuse the step of the first of them),
        TABLE_FULL, PARTS_FULL, ROWS_FULL or PAUSED. After all but DONE, the batch at hand is kept in `work.counts` and
        run again by the next call.
    """
    counts, rows, table = work.counts, visited.rows, visited.table
    effects, symmetry = machine.effects, machine.symmetry
    while True:
        if counts[FIRST] == counts[LAST]:
            if load(shared, _STOP) or load(shared, _CURSOR) >= limits.pause_at:
                return PAUSED
            first = fetch_add(shared, _CURSOR, len(work.moves))
            if first >= limits.end:
                return DONE
            counts[FIRST] = first
            counts[LAST] = min(limits.end, first + len(work.moves))
        first, last = counts[FIRST], counts[LAST]
        read_states(rows, first, last - first, work.words, work.numbers, units)
        hits, resolved = list_hits(first, last - first, machine.trees, work, units, alone=False)
        if not resolved:
            return MISSED
        if len(work.broken):
            missed = check_steps(first, hits, effects, machine.steps, work, units)
            if missed:
                counts[MISSES] = max(0, missed)
                return MISSED_STEPS
        wrong = first_not_new(hits, effects, symmetry, work)
        if wrong >= 0:
            work.misses[0, 0], work.misses[0, 1] = first + work.hit_state[wrong], work.hit_tree[wrong]
            return NOT_NEW
        claimed = fetch_add(shared, _CLAIMED, hits) + hits
        if load(shared, _ROWS) + claimed > limits.entries:
            fetch_add(shared, _CLAIMED, -hits)
            fetch_add(shared, _STOP, 1)
            return TABLE_FULL
        if not room_for_parts(rows, claimed):
            fetch_add(shared, _CLAIMED, -hits)
            fetch_add(shared, _STOP, 1)
            return PARTS_FULL

        successors = take_steps(last - first, hits, effects, symmetry, work, units)
        fold_successors(rows, successors, work, units, enters=True)
        ask_for_slots(successors, table, work)
        ask_for_rows(successors, rows, table, work, units)
        entered = True
        for number in range(successors):
            entered = entered and insert(number, visited, shared, limits, work, units)
        fetch_add(shared, _CLAIMED, -hits)
        if not entered:
            fetch_add(shared, _STOP, 1)
            return ROWS_FULL

        count_moves(last - first, work)
        counts[FIRST] = last
