"""Levels in ranges of rows: expanding them, and sending successors to the partition that owns their hash.

One thread has a range. A table of its own drops successors that occur twice in the range. Only the owner of their hash
knows which of the others are new. What travels is a *record* of 32-bit units: a row, then the place of its parent in
the range, then its action.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import FIRST, MAY_HAPPEN, MISSES, ONLY_CUT, RECORD_EXTRA
from highwater.explorer.kernels.graphs.graph import make_all
from highwater.explorer.kernels.making.compiling import inlined, kernel
from highwater.explorer.kernels.making.intrinsics import prefetch
from highwater.explorer.kernels.states.canonical import make_representative, orbit_size
from highwater.explorer.kernels.states.owners import (
    TWO_WORDS,
    ask_for_row,
    entry_for,
    find_slot,
    owner_hash,
    owner_of,
    slot_of,
)
from highwater.explorer.kernels.states.rows import read_row, write_row
from highwater.explorer.kernels.states.stored import read_state
from highwater.explorer.kernels.statuses import DONE, MISSED, MISSED_STEPS, ROWS_FULL
from highwater.explorer.kernels.steps.batches import list_hits
from highwater.explorer.kernels.steps.check import violates
from highwater.explorer.kernels.steps.expand import count_moves, take_steps
from highwater.explorer.kernels.steps.steps import breaks, check_steps

_FREE = np.uint32(0)


@inlined
def _kept(first: int, count: int, found: Any, taken: int, work: Any, units: int) -> int:
    """Keep the successors of a batch that are not there yet; how many are there then."""
    made, table = found.made, found.table
    for number in range(count):
        prefetch(table, slot_of(work.hashes[number], len(table)))
    for number in range(count):
        ask_for_row(made, table, work.hashes[number], units)
    for number in range(count):
        slot = find_slot(made, table, work.made, number, work.hashes[number], units)
        if table[slot] == _FREE:
            write_row(made.flat, taken, work.made, number, units)
            found.parents[taken] = first + work.hit_state[number]
            found.actions[taken] = work.hit_tree[number]
            table[slot] = entry_for(taken, work.hashes[number], table)
            taken += 1
    return taken


@kernel
def successors(
    rows: Any, begin: int, end: int, found: Any, taken: int, machine: Any, work: Any, units: int
) -> tuple[int, int]:
    """Expand the rows begin..end, and keep each successor once with its first parent and action.

    Args:
        found: room for successors, of which `taken` are there.
        work.recent: only states whose representatives are there, were there before room was made, or were visited in
            earlier levels.

    Returns:
        DONE, MISSED or MISSED_STEPS (grow the trees of `work.misses`) or ROWS_FULL (make room), and how many successors
        are there. Go on at `work.counts[FIRST]` then.
    """
    counts = work.counts
    for first in range(begin, end, len(work.moves)):
        last = min(end, first + len(work.moves))
        counts[FIRST] = first
        for at in range(last - first):
            read_row(rows, first + at, work.words, at, units)
        hits, resolved = list_hits(first, last - first, machine.trees, work, units, alone=True)
        if not resolved:
            return MISSED, taken
        if taken + hits > len(found.parents):
            return ROWS_FULL, taken
        if len(work.broken):
            missed = check_steps(first, hits, machine.effects, machine.steps, work, units)
            if missed:
                counts[MISSES] = missed
                return MISSED_STEPS, taken
        count = take_steps(last - first, hits, machine.effects, machine.symmetry, work, units)
        if units == TWO_WORDS:
            taken = _kept(first, count, found, taken, work, TWO_WORDS)
        else:
            taken = _kept(first, count, found, taken, work, units)
        at_rest = count_moves(last - first, work)
        if at_rest >= 0 and found.at_rest[0] < 0:
            found.at_rest[0] = first + at_rest
    return DONE, taken


@kernel
def list_steps(
    rows: Any, span: Any, noted: Any, found: Any, taken: int, machine: Any, work: Any, units: int
) -> tuple[int, int]:
    """List the steps of the rows of a span that are sources: the row of each, and the state that stands for where it
    leads. Steps that change nothing are left out, and those that a bound cuts are noted only.

    Args:
        found: room for steps, of which `taken` are there; none if steps are to be noted only.

    Returns:
        DONE, MISSED (grow the trees of `work.misses`) or ROWS_FULL (make room), and how many steps are there. Go on at
        `work.counts[FIRST]` then.
    """
    effects, parents, relied_on = machine.effects, found.parents, noted.relied_on
    for first in range(span.begin, span.end, len(work.moves)):
        work.counts[FIRST] = first
        states = 0
        for row in range(first, min(span.end, first + len(work.moves))):
            if noted.sources[row]:
                read_state(rows, row, work.words, states, units)
                work.orbits[states] = row
                states += 1
        hits, resolved = list_hits(0, states, machine.trees, work, units, alone=True)
        if not resolved:
            for number in range(work.counts[MISSES]):
                work.misses[number, 0] = work.orbits[work.misses[number, 0]]
            return MISSED, taken
        if len(parents) and taken + hits > len(parents):
            return ROWS_FULL, taken
        for number in range(make_all(hits, effects, work, units)):
            row, tree = work.orbits[work.hit_state[number]], work.hit_tree[number]
            cut = effects.cut[work.hit_effect[number]] != 0
            for of in range(len(relied_on)):
                if relied_on[of, tree]:
                    noted.notes[of, row] |= ONLY_CUT if cut else MAY_HAPPEN
            if len(parents) and not cut:
                make_representative(work.made, number, machine.symmetry, units)
                write_row(found.made.flat, taken, work.made, number, units)
                parents[taken] = row
                found.actions[taken] = tree
                taken += 1
    return DONE, taken


@inlined
def _routed(found: Any, taken: int, owners: Any, starts: Any, records: Any, words: Any, units: int) -> None:
    """What `route` does."""
    made = found.made.flat
    width, most = units + RECORD_EXTRA, len(starts) - 1
    starts[:] = 0
    for number in range(taken):
        read_row(made, number, words, 0, units)
        owners[number] = owner_of(owner_hash(words, 0, units), most)
        starts[owners[number] + 1] += 1
    for number in range(most):
        starts[number + 1] += starts[number]
    for number in range(taken):
        at = starts[owners[number]] * width
        starts[owners[number]] += 1
        for unit in range(units):
            records[at + unit] = made[number * units + unit]
        records[at + units] = found.parents[number]
        records[at + units + 1] = found.actions[number]
    for number in range(most, 0, -1):
        starts[number] = starts[number - 1]
    starts[0] = 0


@kernel
def route(found: Any, taken: int, owners: Any, starts: Any, records: Any, words: Any, units: int) -> None:
    """Sort successors into records by owner; those of owner p are then the records `starts[p]` .. `starts[p + 1]`."""
    if units == TWO_WORDS:
        _routed(found, taken, owners, starts, records, words, TWO_WORDS)
    else:
        _routed(found, taken, owners, starts, records, words, units)


@kernel
def first_breaking(
    rows: Any, count: int, wanted: Any, trees: Any, steps: Any, effects: Any, work: Any, units: int
) -> int:
    """The first row with a step that violates any of the wanted step properties, or -1. All walks are known."""
    for row in range(count):
        read_row(rows, row, work.words, 0, units)
        hits, _ = list_hits(row, 1, trees, work, units, alone=True)
        for hit in range(hits):
            if breaks(hit, wanted, effects, steps, work, units) > 0:
                return row
    return -1


@kernel
def first_violating(rows: Any, count: int, wanted: Any, trees: Any, words: Any, units: int) -> int:
    """The first row that violates any of the wanted invariants, or -1. All walks are known."""
    for row in range(count):
        read_row(rows, row, words, 0, units)
        if violates(words, wanted, trees, units)[0]:
            return row
    return -1


@kernel
def orbits_of(rows: Any, count: int, symmetry: Any, orbits: Any, words: Any, room: Any, units: int) -> None:
    """How many states each of the first rows stands for."""
    for row in range(count):
        read_row(rows, row, words, 0, units)
        orbits[row] = orbit_size(words, 0, symmetry, room, units)
