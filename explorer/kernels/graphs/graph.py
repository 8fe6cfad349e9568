"""The graph of all rows: for each row its steps, as compressed rows of targets and labels, made
again from the trees.

Steps that change nothing are left out. A step is kept if its target is in the region asked for, or
if its action is relied on: then it counts as enabled wherever it leads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import CUT, MISSES, OUTSIDE
from highwater.explorer.kernels.making.compiling import inlined, kernel
from highwater.explorer.kernels.making.intrinsics import load
from highwater.explorer.kernels.states.canonical import make_representative
from highwater.explorer.kernels.states.rows import hash_of, may_be, next_slot, row_at, row_bits, words_of
from highwater.explorer.kernels.states.stored import fold_successors, holds, note_parts, read_state
from highwater.explorer.kernels.steps.batches import list_hits
from highwater.explorer.kernels.steps.expand import ask_for_rows, ask_for_slots
from highwater.explorer.kernels.steps.trees import apply

_CUT, _OUTSIDE, _FREE = np.uint32(CUT), np.uint32(OUTSIDE), np.uint32(0)


@inlined
def make_all(hits: int, effects: Any, work: Any, units: int) -> int:
    """Make the successors of the hits, and keep those that a bound cuts or that change something; how many."""
    kept = 0
    for hit in range(hits):
        effect, at, tree = work.hit_effect[hit], work.hit_state[hit], work.hit_tree[hit]
        apply(work.words, at, effect, effects, work.made, kept, units)
        changed = effects.cut[effect] != 0
        for word in range(words_of(units)):
            changed |= work.made[kept, word] != work.words[at, word]
        work.hit_state[kept], work.hit_tree[kept], work.hit_effect[kept] = at, tree, effect
        kept += changed
    return kept


@inlined
def _find_from(rows: Any, table: Any, number: int, work: Any, units: int) -> int:
    """The row of a successor, from the slot on where the search for it stands."""
    slot, hashed, bits = work.slots[number], work.hashes[number], row_bits(len(table))
    entry = load(table, slot)
    while entry != _FREE:
        if may_be(entry, hashed, bits) and holds(
            rows, row_at(entry, bits), work.made, number, work.keys[number], units
        ):
            return row_at(entry, bits)
        slot = next_slot(slot, len(table))
        entry = load(table, slot)
    return np.int64(-1)


@kernel
def list_edges(
    visited: Any, begin: int, end: int, asked: Any, room: Any, machine: Any, work: Any, units: int
) -> tuple[int, int, int]:
    """List the steps of the rows begin..end that are asked for, as far as there is room.

    Args:
        room: its counts get the number of steps of each row, the first for `begin`; 0 for one that is no source.

    Returns:
        How many steps were listed, the row to go on with, and 0, or -1 where a walk waits for a branch that
        another thread has asked for, or the number of misses.
    """
    rows, table, effects = visited.rows, visited.table, machine.effects
    targets, labels, counts = room.targets, room.labels, room.counts
    listed = 0
    for first in range(begin, end, len(work.moves)):
        last = min(end, first + len(work.moves))
        if listed + (last - first) * len(asked.relied_on) > len(targets):
            return listed, first, 0
        states = 0
        for row in range(first, last):
            counts[row - begin] = 0
            if asked.sources[row]:
                read_state(rows, row, work.words, states, units)
                work.orbits[states] = row
                states += 1
        hits, resolved = list_hits(0, states, machine.trees, work, units, alone=False)
        if not resolved:
            for number in range(work.counts[MISSES]):
                work.misses[number, 0] = work.orbits[work.misses[number, 0]]
            return listed, first, (work.counts[MISSES] if work.counts[MISSES] else -1)
        made = make_all(hits, effects, work, units)
        for number in range(made):
            make_representative(work.made, number, machine.symmetry, units)
        for number in range(made):
            work.hashes[number] = hash_of(work.made, number, units)
        for at in range(states):
            note_parts(rows, work.orbits[at], work, at)
        fold_successors(rows, made, work, units, enters=False)
        ask_for_slots(made, table, work)
        ask_for_rows(made, rows, table, work, units)
        for number in range(made):
            tree, row = work.hit_tree[number], work.orbits[work.hit_state[number]]
            target = _CUT
            if effects.cut[work.hit_effect[number]] == 0:
                found = _find_from(rows, table, number, work, units)
                target = np.uint32(found) if found >= 0 and asked.region[found] else _OUTSIDE
            if asked.relied_on[tree] or target < _OUTSIDE:
                targets[listed] = target
                labels[listed] = tree
                counts[row - begin] += 1
                listed += 1
    return listed, end, 0
