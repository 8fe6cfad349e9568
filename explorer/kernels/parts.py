"""Levels in parts: expanding rows whose successors belong elsewhere, sending them there, and admitting those that are new there.

One thread has a part. Successors of a part are told apart among themselves by a table of their own; which of them are new only the
owner of their hash can tell. What travels is a *record* of 32-bit units: a row, then the place of its parent in the part, then its action.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from explorer.kernels.expand import (
    AT_REST,
    DONE,
    EXPANDED,
    FIRST,
    MISSED,
    ROWS_FULL,
    STOPPED_AT_BOUND,
    apply_hits,
    list_hits,
)
from explorer.kernels.intrinsics import prefetch
from explorer.kernels.rows import home_slot, is_row, next_slot, read_row, write_row
from explorer.kernels.symmetry import orbit_size

RECORD_EXTRA = 2  # units of a record beyond its row: parent and action

_FREE = np.uint32(0)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SHIFT = np.uint64(33)
_MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)  # of MurmurHash3's finalizer; owners must not depend on the bits that `home_slot` uses


@njit(inline="always")
def owner(words: Any, at: int, owners: int, units: Any) -> int:
    """Which of so many owners `words[at]` belongs to."""
    mixed = np.uint64(0)
    for word in range((len(units) + 1) // 2):
        mixed = (mixed ^ words[at, word]) * _MULTIPLIER
        mixed ^= mixed >> _SHIFT
    mixed *= _MULTIPLIER
    mixed ^= mixed >> _SHIFT
    return np.int64(((mixed & _LOW) * np.uint64(owners)) >> _HALF)


@njit(cache=True, nogil=True)
def successors(
    rows: Any, begin: int, end: int, made: Any, parents: Any, actions: Any, taken: int, table: Any, rest: Any, trees: Any, effects: Any,
    symmetry: Any, work: Any, units: Any,
) -> tuple[int, int]:  # fmt: skip
    """Expand the rows begin..end, and keep each successor once with its first parent and action.

    Args:
        made, parents, actions: room for successors, of which `taken` are there.
        table: the successors that are there, by their hash.
        rest: its first element becomes the first row at rest, if it is -1.

    Returns:
        DONE, MISSED (grow the trees of `work.misses`) or ROWS_FULL (make room), and how many successors are there. Go on at
        `work.counts[FIRST]` then.
    """
    counts = work.counts
    for first in range(begin, end, len(work.moves)):
        last = min(end, first + len(work.moves))
        counts[FIRST] = first
        for at in range(last - first):
            read_row(rows, first + at, work.words, at, units)
        hits, resolved = list_hits(first, last - first, True, trees, work, units)
        if not resolved:
            return MISSED, taken
        if taken + hits > len(parents):
            return ROWS_FULL, taken
        work.moves[: last - first] = 0
        for at in range(last - first):
            work.orbits[at] = orbit_size(work.words, at, symmetry, work.made, units)
        apply_hits(hits, effects, symmetry, table, work, units)
        number = 0
        for hit in range(hits):
            if effects.cut[work.hit_effect[hit]]:
                continue
            slot = work.slots[number]
            while table[slot] != _FREE and not is_row(made, np.int64(table[slot]) - 1, work.made, number, units):
                slot = next_slot(slot, len(table))
            if table[slot] == _FREE:
                write_row(made, taken, work.made, number, units)
                parents[taken] = first + work.hit_state[hit]
                actions[taken] = work.hit_tree[hit]
                taken += 1
                table[slot] = np.uint32(taken)
            number += 1
        for at in range(last - first):
            counts[EXPANDED] += work.orbits[at]
            if work.moves[at] == 0:
                counts[AT_REST] += work.orbits[at]
                if rest[0] < 0:
                    rest[0] = first + at
            elif work.moves[at] == 1:
                counts[STOPPED_AT_BOUND] += work.orbits[at]
    return DONE, taken


@njit(cache=True, nogil=True)
def route(made: Any, parents: Any, actions: Any, taken: int, owners: Any, starts: Any, records: Any, words: Any, units: Any) -> None:
    """Sort successors into records by owner; those of owner p are then the records `starts[p]` .. `starts[p + 1]`."""
    width, most = len(units) + RECORD_EXTRA, len(starts) - 1
    starts[:] = 0
    for number in range(taken):
        read_row(made, number, words, 0, units)
        owners[number] = owner(words, 0, most, units)
        starts[owners[number] + 1] += 1
    for number in range(most):
        starts[number + 1] += starts[number]
    for number in range(taken):
        at = starts[owners[number]] * width
        starts[owners[number]] += 1
        for unit in range(len(units)):
            records[at + unit] = made[number * len(units) + unit]
        records[at + len(units)] = parents[number]
        records[at + len(units) + 1] = actions[number]
    for number in range(most, 0, -1):
        starts[number] = starts[number - 1]
    starts[0] = 0


@njit(cache=True, nogil=True)
def admit(
    records: Any, source: int, rows: Any, end: int, table: Any, parents: Any, actions: Any, admitted: int, words: Any, slots: Any, units: Any
) -> int:
    """Enter records that are not known yet behind the rows 0..end; the table and the rows must have room for all of them.

    Args:
        source: which part the records' parents are in.
        parents, actions: room for what is said of new rows, of which `admitted` are there.
        words, slots: room for a batch.

    Returns:
        How many are there then.
    """
    width = len(units) + RECORD_EXTRA
    count = len(records) // width
    for first in range(0, count, len(slots)):
        batch = min(count - first, len(slots))
        for number in range(batch):
            read_row(records[(first + number) * width :], 0, words, number, units)
            slots[number] = home_slot(words, number, len(table), units)
            prefetch(table, slots[number])
        for number in range(batch):
            found = table[slots[number]]
            if found != _FREE:
                prefetch(rows, np.uint64((np.int64(found) - 1) * len(units)))
        for number in range(batch):
            slot = slots[number]
            while table[slot] != _FREE and not is_row(rows, np.int64(table[slot]) - 1, words, number, units):
                slot = next_slot(slot, len(table))
            if table[slot] == _FREE:
                write_row(rows, end, words, number, units)
                end += 1
                table[slot] = np.uint32(end)
                at = (first + number) * width + len(units)
                parents[admitted] = (np.int64(source) << np.int64(32)) | np.int64(records[at])
                actions[admitted] = records[at + 1]
                admitted += 1
    return admitted


@njit(cache=True, nogil=True)
def keep_owned(rows: Any, count: int, mine: int, owners: int, words: Any, units: Any) -> int:
    """Move the rows of one owner to the front; how many there are."""
    kept = 0
    for row in range(count):
        read_row(rows, row, words, 0, units)
        if owner(words, 0, owners, units) == mine:
            write_row(rows, kept, words, 0, units)
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def orbits_of(rows: Any, count: int, symmetry: Any, orbits: Any, words: Any, room: Any, units: Any) -> None:
    """How many states each of the first rows stands for."""
    for row in range(count):
        read_row(rows, row, words, 0, units)
        orbits[row] = orbit_size(words, 0, symmetry, room, units)
