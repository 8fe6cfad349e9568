"""Rows of states as a search keeps them, flat or folded. Machine code is for the one kind or for the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import MOST_PARTS, PARTS, ROW_BYTES, Batch, FlatRows, Likenesses
from highwater.explorer.kernels.making.compiling import inlined, inlined_by_type, kernel
from highwater.explorer.kernels.making.intrinsics import load, prefetch, swap_if
from highwater.explorer.kernels.states import folding
from highwater.explorer.kernels.states.rows import (
    entry_of,
    hash_of,
    home_slot,
    is_row,
    may_be,
    next_slot,
    read_row,
    row_at,
    row_bits,
    write_row,
)

_FREE, _PARTS = np.uint32(0), np.uint64(PARTS)


def _is_flat(rows: Any) -> bool:
    """Whether rows of such a type are flat."""
    return rows.instance_class is FlatRows


@inlined_by_type
def read_state(rows: Any, row: int, words: Any, at: int, units: int) -> Any:
    """Unpack a row into `words[at]`."""
    if _is_flat(rows):
        return lambda rows, row, words, at, units: read_row(rows.flat, row, words, at, units)
    return lambda rows, row, words, at, units: folding.unfold(rows, row, words, at, units)


@inlined_by_type
def read_states(rows: Any, first: int, states: int, words: Any, numbers: Any, units: int) -> Any:
    """Unpack so many rows from `first` on into `words`, and note the numbers of the parts of folded ones."""
    if _is_flat(rows):

        def read(rows: Any, first: int, states: int, words: Any, numbers: Any, units: int) -> None:
            for at in range(states):
                read_row(rows.flat, first + at, words, at, units)

        return read
    return lambda rows, first, states, words, numbers, units: folding.unfold_batch(
        rows, first, states, words, numbers, units
    )


@inlined_by_type
def note_parts(rows: Any, row: int, work: Any, at: int) -> Any:
    """Note the numbers of the parts of a row whose state is `work.words[at]`."""
    if _is_flat(rows):
        return lambda rows, row, work, at: None
    return lambda rows, row, work, at: folding.note_numbers(rows, row, work.numbers, at)


@inlined_by_type
def write_state(rows: Any, row: int, words: Any, at: int, key: int, units: int) -> Any:
    """Pack `words[at]` into a row; a folded one takes its key only."""
    if _is_flat(rows):
        return lambda rows, row, words, at, key, units: write_row(rows.flat, row, words, at, units)
    return lambda rows, row, words, at, key, units: folding.put_key(rows, row, key, rows.sizes[ROW_BYTES])


@inlined_by_type
def holds(rows: Any, row: int, words: Any, at: int, key: int, units: int) -> Any:
    """Whether a row holds `words[at]`; a folded one goes by its key."""
    if _is_flat(rows):
        return lambda rows, row, words, at, key, units: is_row(rows.flat, row, words, at, units)
    return lambda rows, row, words, at, key, units: folding.key_at(rows, row) == key


@inlined_by_type
def ask_for_row(rows: Any, row: int, units: int) -> Any:
    """Ask for the memory of a row."""
    if _is_flat(rows):
        return lambda rows, row, units: prefetch(rows.flat, np.uint64(row * units))
    return lambda rows, row, units: prefetch(rows.folded, np.uint64(row * rows.sizes[ROW_BYTES]))


@inlined_by_type
def room_for_parts(rows: Any, states: int) -> Any:
    """Whether there is room for the parts of so many states more."""
    if _is_flat(rows):
        return lambda rows, states: True
    return lambda rows, states: load(rows.sizes, _PARTS) + states * len(rows.plan) <= rows.sizes[MOST_PARTS]


@inlined_by_type
def fold_successors(rows: Any, successors: int, work: Any, units: int, enters: bool) -> Any:
    """Find the keys of successors, and by these their hashes; flat rows have no keys."""
    if _is_flat(rows):
        return lambda rows, successors, work, units, enters: None

    def fold(rows: Any, successors: int, work: Any, units: int, enters: bool) -> None:
        batch = Batch(work.made, work.made_numbers, work.keys, work.hashes)
        like = Likenesses(work.hit_state, work.words, work.numbers)
        folding.fold_batch(rows, successors, batch, like, units, enters=enters, chained=False)
        for number in range(successors):
            work.hashes[number] = folding.hash_of_key(work.keys[number])

    return fold


@inlined_by_type
def _hash_of_row(rows: Any, row: int, words: Any, units: int) -> Any:
    """The hash of a row; `words` is room for a state."""
    if _is_flat(rows):

        def unpacked(rows: Any, row: int, words: Any, units: int) -> int:
            read_row(rows.flat, row, words, 0, units)
            return hash_of(words, 0, units)

        return unpacked
    return lambda rows, row, words, units: folding.hash_of_key(folding.key_at(rows, row))


@inlined_by_type
def _known_by(rows: Any, words: Any, numbers: Any, units: int) -> Any:
    """The hash and the key of `words[0]`; `numbers` is room for those of parts."""
    if _is_flat(rows):
        return lambda rows, words, numbers, units: (hash_of(words, 0, units), np.uint64(0))

    def folded(rows: Any, words: Any, numbers: Any, units: int) -> tuple[int, int]:
        key = folding.key_of(rows, words, numbers, 0)
        return folding.hash_of_key(key), key

    return folded


@inlined_by_type
def _copy_row(rows: Any, source: int, target: int, words: Any, units: int) -> Any:
    """Write a row to another place; `words` is room for a state."""
    if _is_flat(rows):

        def copy(rows: Any, source: int, target: int, words: Any, units: int) -> None:
            read_row(rows.flat, source, words, 0, units)
            write_row(rows.flat, target, words, 0, units)

        return copy
    return lambda rows, source, target, words, units: folding.put_key(
        rows, target, folding.key_at(rows, source), rows.sizes[ROW_BYTES]
    )


# The visited set


@inlined
def find_row(rows: Any, table: Any, words: Any, numbers: Any, units: int) -> int:
    """The row that holds `words[0]`, or -1; `numbers` is room for those of parts."""
    bits, (hashed, key) = row_bits(len(table)), _known_by(rows, words, numbers, units)
    slot = home_slot(hashed, len(table))
    entry = load(table, slot)
    while entry != _FREE:
        if may_be(entry, hashed, bits) and holds(rows, row_at(entry, bits), words, 0, key, units):
            return row_at(entry, bits)
        slot = next_slot(slot, len(table))
        entry = load(table, slot)
    return np.int64(-1)


@kernel
def find(rows: Any, table: Any, words: Any, numbers: Any, units: int) -> int:
    """The row that holds `words[0]`, or -1; `numbers` is room for those of parts."""
    return find_row(rows, table, words, numbers, units)


@kernel
def enter_rows(rows: Any, begin: int, end: int, table: Any, words: Any, hashes: Any, units: int) -> None:
    """Enter rows that are known to differ into a table, while other threads may enter other rows.

    `hashes` is room for a batch, whose memory is asked for before it is used.
    """
    bits = row_bits(len(table))
    for first in range(begin, end, len(hashes)):
        batch = min(end - first, len(hashes))
        for number in range(batch):
            hashes[number] = _hash_of_row(rows, first + number, words, units)
            prefetch(table, home_slot(hashes[number], len(table)))
        for number in range(batch):
            slot = home_slot(hashes[number], len(table))
            entry = entry_of(first + number, hashes[number], bits)
            while swap_if(table, slot, _FREE, entry) != _FREE:
                slot = next_slot(slot, len(table))


@kernel
def move_row(rows: Any, source: int, target: int, table: Any, words: Any, units: int) -> None:
    """Move a row to another place, and change its entry in the table."""
    _copy_row(rows, source, target, words, units)
    bits, hashed = row_bits(len(table)), _hash_of_row(rows, source, words, units)
    slot = home_slot(hashed, len(table))
    while table[slot] != entry_of(source, hashed, bits):
        slot = next_slot(slot, len(table))
    table[slot] = entry_of(target, hashed, bits)
