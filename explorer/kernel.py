"""The machine code: walk trees, apply effects, find new states. Knows words and numbers only.

States are rows of 64-bit words in the order in which breadth-first search finds them, so a level is a range of rows and a state's
number is its row. The visited set is an open-addressing table of row numbers; equality is decided by comparing the words themselves.

A batch of states is expanded in passes: walk every tree and list the hits; apply the hits' effects and hash the results; look at the
table and at the rows it names, so that their memory is on its way; insert. A walk that meets an unknown branch marks it and reports a
miss; the batch then changes nothing, and is run again once Python has grown the trees. Row order therefore does not depend on which
paths were known before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from explorer.program import BRANCHES_FIELD, FIRST_EFFECT, NOTHING, PENDING, SHIFT_FIELD, UNKNOWN, WIDTH_FIELD, WORD_FIELD

DONE, MISSED, TABLE_FULL, STATES_FULL, PAUSED = range(5)

# What `expand` counts, by position in its `counts`.
NEXT, STATES, GENERATED, MISSES, DEADLOCKS, FIRST_DEADLOCK, STOPPED_AT_BOUND, COUNTS = range(8)

_WORD_MASK = np.uint64((1 << WORD_FIELD) - 1)
_SHIFT_MASK = np.uint64((1 << SHIFT_FIELD) - 1)
_WIDTH_MASK = np.uint64((1 << WIDTH_FIELD) - 1)
_WORD_BITS = np.uint64(WORD_FIELD)
_WIDTH_AT = np.uint64(WORD_FIELD + SHIFT_FIELD)
_BRANCHES_AT = np.uint64(BRANCHES_FIELD)
_ONE = np.uint64(1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)
_EMPTY = np.int32(-1)


@njit(inline="always")
def _walk(states: Any, row: int, tree: int, nodes: Any, branches: Any) -> tuple[int, int]:
    """Follow one tree for one state: where it ends, and the branch that led there."""
    position = np.uint64(tree)
    reference = branches[position]
    while reference > 0:
        node = nodes[np.uint64(reference)]
        word = states[row, node & _WORD_MASK]
        value = (word >> ((node >> _WORD_BITS) & _SHIFT_MASK)) & ((_ONE << ((node >> _WIDTH_AT) & _WIDTH_MASK)) - _ONE)
        position = (node >> _BRANCHES_AT) + value
        reference = branches[position]
    return reference, position


@njit(inline="always")
def _hash(rows: Any, row: int, words: Any) -> int:
    mixed = np.uint64(0)
    for word in range(len(words)):
        mixed = (mixed ^ rows[row, word]) * _MULTIPLIER
        mixed ^= mixed >> _FOLD
    return mixed * _MULTIPLIER >> np.uint64(20)


@njit(inline="always")
def _equal(some: Any, i: int, others: Any, j: int, words: Any) -> bool:
    same = True
    for word in range(len(words)):
        same &= some[i, word] == others[j, word]
    return same


@njit(cache=True, nogil=True)
def rehash(states: Any, count: int, table: Any, words: Any) -> None:
    """Enter the first `count` rows into an empty table whose length is a power of two."""
    mask = np.uint64(len(table) - 1)
    for row in range(count):
        slot = _hash(states, row, words) & mask
        while table[slot] != _EMPTY:
            slot = (slot + _ONE) & mask
        table[slot] = row


@njit(cache=True, nogil=True)
def expand(
    states: Any, parents: Any, table: Any, counts: Any, enabled: Any, cut_steps: Any, end: int, pause_at: int, capacity: int,
    trees: int, nodes: Any, branches: Any, keep: Any, put: Any, copies: Any, first_copy: Any, cut: Any,
    hit_state: Any, hit_tree: Any, hit_effect: Any, made: Any, hashes: Any, touched: Any, alive: Any, misses: Any, words: Any,
) -> int:  # fmt: skip
    """Expand rows from `counts[NEXT]` to `end` batch by batch, until done or until Python has to step in.

    Args:
        states, parents, table: the rows, each row's parent row, and the visited set.
        counts, enabled, cut_steps: totals; successors per tree; cut steps per set of bounds.
        pause_at: return at the first batch that begins here or later, for progress and interrupts.
        capacity: how many rows may be used.
        hit_state .. alive: room for one batch, which is as long as `alive`.
        misses: room for (row, tree) pairs.
        words: a tuple as long as a state, so that loops over words are unrolled.

    Returns:
        DONE, MISSED (grow the trees of `misses[:counts[MISSES]]`), TABLE_FULL, STATES_FULL or PAUSED.
    """
    mask = np.uint64(len(table) - 1)
    batch = len(alive)
    while counts[NEXT] < end:
        first = counts[NEXT]
        if first >= pause_at:
            return PAUSED
        last = min(end, first + batch)

        # Walk every tree for every state of the batch.
        hits = 0
        missed = 0
        unresolved = False
        for row in range(first, last):
            for tree in range(trees):
                reference, position = _walk(states, row, tree, nodes, branches)
                if reference == NOTHING:
                    continue
                if reference <= FIRST_EFFECT:
                    hit_state[hits] = row
                    hit_tree[hits] = tree
                    hit_effect[hits] = FIRST_EFFECT - reference
                    hits += 1
                    continue
                unresolved = True
                if reference == UNKNOWN and missed < len(misses):
                    branches[position] = PENDING
                    misses[missed, 0] = row
                    misses[missed, 1] = tree
                    missed += 1
        if unresolved:
            counts[MISSES] = missed
            return MISSED
        if 5 * (counts[STATES] + hits) > 3 * len(table):
            return TABLE_FULL

        # Apply the hits' effects.
        successors = 0
        alive[: last - first] = 0
        for hit in range(hits):
            effect = hit_effect[hit]
            row = hit_state[hit]
            if cut[effect]:
                cut_steps[cut[effect] - 1] += 1
                alive[row - first] |= 1
                continue
            alive[row - first] |= 2
            enabled[hit_tree[hit]] += 1
            for word in range(len(words)):
                made[successors, word] = (states[row, word] & keep[effect, word]) | put[effect, word]
            for copy in range(first_copy[effect], first_copy[effect + 1]):
                value = (states[row, copies[copy, 0]] >> copies[copy, 1]) & copies[copy, 2]
                made[successors, copies[copy, 3]] |= value << copies[copy, 4]
            hashes[successors] = _hash(made, successors, words) & mask
            hit_state[successors] = row
            successors += 1
        counts[GENERATED] += successors

        # A state without successors has come to rest, unless only a bound stops it.
        for row in range(first, last):
            if alive[row - first] == 0:
                if counts[DEADLOCKS] == 0:
                    counts[FIRST_DEADLOCK] = row
                counts[DEADLOCKS] += 1
            elif alive[row - first] == 1:
                counts[STOPPED_AT_BOUND] += 1

        # Look ahead: independent loads overlap, where a probe at a time would wait for each.
        for number in range(successors):
            touched[number] = table[hashes[number]]
        seen = np.uint64(0)
        for number in range(successors):
            if touched[number] >= 0:
                seen ^= states[touched[number], 0]
        touched[0] = np.int32(seen & _ONE)

        # Insert what is new.
        for number in range(successors):
            slot = hashes[number]
            found = table[slot]
            while found != _EMPTY and not _equal(states, found, made, number, words):
                slot = (slot + _ONE) & mask
                found = table[slot]
            if found == _EMPTY:
                row = counts[STATES]
                if row >= capacity:
                    return STATES_FULL
                for word in range(len(words)):
                    states[row, word] = made[number, word]
                parents[row] = hit_state[number]
                table[slot] = row
                counts[STATES] += 1
        counts[NEXT] = last
    return DONE


@njit(cache=True, nogil=True)
def check(
    states: Any, begin: int, end: int, violated_at: Any, found: Any, nodes: Any, branches: Any, misses: Any
) -> int:  # fmt: skip
    """Walk every invariant's tree for the rows begin..end; note in `violated_at` the first row that violates each.

    Invariants whose entry is not negative are known to be violated and are skipped. Returns the number of misses; if there are any,
    nothing was noted, and the same rows must be checked again once the trees have grown.
    """
    missed = 0
    unresolved = False
    found[:] = violated_at
    for row in range(begin, end):
        for tree in range(len(found)):
            if found[tree] >= 0:
                continue
            reference, position = _walk(states, row, tree, nodes, branches)
            if reference == NOTHING:
                continue
            if reference <= FIRST_EFFECT:
                found[tree] = row
                continue
            unresolved = True
            if reference == UNKNOWN and missed < len(misses):
                branches[position] = PENDING
                misses[missed, 0] = row
                misses[missed, 1] = tree
                missed += 1
    if not unresolved:
        violated_at[:] = found
    return missed
