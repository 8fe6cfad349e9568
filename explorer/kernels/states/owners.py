"""What the owner of a part of all states has admitted: rows, and a table of them by their hash. The first rows may be
folded: those of levels that are over.

A state's hash says who owns it, and where its owner looks for it. An entry of the table is as that of the local
search's visited set (`highwater.explorer.kernels.states.rows`): a row number plus one, and a tag.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import RECORD_EXTRA, FlatRows
from highwater.explorer.kernels.making.compiling import inlined, inlined_by_type, kernel
from highwater.explorer.kernels.making.intrinsics import prefetch
from highwater.explorer.kernels.states import stored
from highwater.explorer.kernels.states.rows import (
    entry_of,
    is_row,
    may_be,
    next_slot,
    read_row,
    row_at,
    row_bits,
    words_of,
    write_row,
)

_FREE = np.uint32(0)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SHIFT, _TAGS = np.uint64(33), np.uint64(16)
_MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)  # of MurmurHash3's finalizer
TWO_WORDS = 3
"""The units of states of 65 to 96 bits, which are frequent. Loops over single successors are made for them, too: they
take a quarter less time.
"""


@inlined
def owner_hash(words: Any, at: int, units: int) -> int:
    """The hash of `words[at]`: its lower half says who owns the state, its upper half where the owner looks for it."""
    mixed = np.uint64(0)
    for word in range(words_of(units)):
        mixed = (mixed ^ words[at, word]) * _MULTIPLIER
        mixed ^= mixed >> _SHIFT
    mixed *= _MULTIPLIER
    return mixed ^ (mixed >> _SHIFT)


@inlined
def owner_of(hashed: int, owners: int) -> int:
    return np.int64(((hashed & _LOW) * np.uint64(owners)) >> _HALF)


@inlined
def slot_of(hashed: int, slots: int) -> int:
    return ((hashed >> _HALF) * np.uint64(slots)) >> _HALF


@inlined
def tag_of(hashed: int) -> int:
    """The hash with bits that neither owners nor slots depend on where entries have their tags."""
    return hashed << _TAGS


# Rows


@inlined
def _read(rows: Any, row: int, words: Any, at: int, units: int) -> None:
    """Unpack an owner's row into `words[at]`."""
    if row < rows.folded:
        stored.read_state(rows.older, row, words, at, units)
    else:
        stored.read_state(rows.newer, row - rows.folded, words, at, units)


@inlined_by_type
def _prefetch_row(rows: Any, row: int, units: int) -> Any:
    """Ask for the memory of a row."""
    if rows.instance_class is FlatRows:
        return lambda rows, row, units: stored.ask_for_row(rows, row, units)

    def ask(rows: Any, row: int, units: int) -> None:
        if row < rows.folded:
            stored.ask_for_row(rows.older, row, units)
        else:
            stored.ask_for_row(rows.newer, row - rows.folded, units)

    return ask


@inlined_by_type
def _is_state(rows: Any, row: int, words: Any, at: int, units: int) -> Any:
    """Whether a row holds `words[at]`. The last of `words` is room for an owner's row."""
    if rows.instance_class is FlatRows:
        return lambda rows, row, words, at, units: is_row(rows.flat, row, words, at, units)

    def is_state(rows: Any, row: int, words: Any, at: int, units: int) -> bool:
        if row >= rows.folded:
            return is_row(rows.newer.flat, row - rows.folded, words, at, units)
        room, same = len(words) - 1, True
        stored.read_state(rows.older, row, words, room, units)
        for word in range(words_of(units)):
            same &= words[room, word] == words[at, word]
        return same

    return is_state


# The table


@inlined
def ask_for_row(rows: Any, table: Any, hashed: int, units: int) -> None:
    """Ask for the memory of the first row that a state of this hash may be."""
    slot, bits, tag = slot_of(hashed, len(table)), row_bits(len(table)), tag_of(hashed)
    entry = table[slot]
    while entry != _FREE and not may_be(entry, tag, bits):
        slot = next_slot(slot, len(table))
        entry = table[slot]
    if entry != _FREE:
        _prefetch_row(rows, row_at(entry, bits), units)


@inlined
def find_slot(rows: Any, table: Any, words: Any, at: int, hashed: int, units: int) -> int:
    """The slot that holds `words[at]`, which has this hash, or else the free one where it would be."""
    slot, bits, tag = slot_of(hashed, len(table)), row_bits(len(table)), tag_of(hashed)
    entry = table[slot]
    while entry != _FREE and not (may_be(entry, tag, bits) and _is_state(rows, row_at(entry, bits), words, at, units)):
        slot = next_slot(slot, len(table))
        entry = table[slot]
    return slot


@inlined
def entry_for(row: int, hashed: int, table: Any) -> int:
    return entry_of(row, tag_of(hashed), row_bits(len(table)))


@inlined
def read_batch(records: Any, first: int, batch: int, table: Any, words: Any, hashes: Any, units: int) -> None:
    """Read records and hash them, and ask for the slots where the search for each begins."""
    width = units + RECORD_EXTRA
    for number in range(batch):
        read_row(records[(first + number) * width :], 0, words, number, units)
        hashes[number] = owner_hash(words, number, units)
        prefetch(table, slot_of(hashes[number], len(table)))


@kernel
def find_records(records: Any, rows: Any, table: Any, found: Any, words: Any, hashes: Any, units: int) -> int:
    """Find the row of each record; how many have none, for which `found` gets -1. `words` is room for a batch and one
    more, `hashes` for a batch.
    """
    bits, missing = row_bits(len(table)), 0
    for first in range(0, len(found), len(hashes)):
        batch = min(len(found) - first, len(hashes))
        read_batch(records, first, batch, table, words, hashes, units)
        for number in range(batch):
            slot = find_slot(rows, table, words, number, hashes[number], units)
            found[first + number] = row_at(table[slot], bits)
            missing += table[slot] == _FREE
    return missing


@inlined
def _admitted(records: Any, source: int, visited: Any, end: int, new: Any, admitted: int, room: Any, units: int) -> int:
    """What `admit` does."""
    rows, table, words, hashes = visited.rows, visited.table, room.words, room.hashes
    width = units + RECORD_EXTRA
    count = len(records) // width
    for first in range(0, count, len(hashes)):
        batch = min(count - first, len(hashes))
        read_batch(records, first, batch, table, words, hashes, units)
        for number in range(batch):
            ask_for_row(rows, table, hashes[number], units)
        for number in range(batch):
            slot = find_slot(rows, table, words, number, hashes[number], units)
            if table[slot] == _FREE:
                write_row(rows.newer.flat, end - rows.folded, words, number, units)
                table[slot] = entry_for(end, hashes[number], table)
                end += 1
                at = (first + number) * width + units
                new.parents[admitted] = (np.int64(source) << np.int64(32)) | np.int64(records[at])
                new.actions[admitted] = records[at + 1]
                admitted += 1
    return admitted


@kernel
def admit(records: Any, source: int, visited: Any, end: int, new: Any, admitted: int, room: Any, units: int) -> int:
    """Enter records that are not known yet behind the rows 0..end; the table and the rows must have room for all of
    them.

    Args:
        source: which part the records' parents are in.
        new: room for what is said of new rows, of which `admitted` are there.

    Returns:
        How many are there then.
    """
    if units == TWO_WORDS:
        return _admitted(records, source, visited, end, new, admitted, room, TWO_WORDS)
    return _admitted(records, source, visited, end, new, admitted, room, units)


@inlined
def _entered(rows: Any, begin: int, end: int, table: Any, words: Any, hashes: Any, units: int) -> None:
    """What `enter` does."""
    for first in range(begin, end, len(hashes)):
        batch = min(end - first, len(hashes))
        for number in range(batch):
            _read(rows, first + number, words, 0, units)
            hashes[number] = owner_hash(words, 0, units)
            prefetch(table, slot_of(hashes[number], len(table)))
        for number in range(batch):
            slot = slot_of(hashes[number], len(table))
            while table[slot] != _FREE:
                slot = next_slot(slot, len(table))
            table[slot] = entry_for(first + number, hashes[number], table)


@kernel
def enter(rows: Any, begin: int, end: int, table: Any, words: Any, hashes: Any, units: int) -> None:
    """Enter rows that are known to differ into a table with room for them."""
    if units == TWO_WORDS:
        _entered(rows, begin, end, table, words, hashes, TWO_WORDS)
    else:
        _entered(rows, begin, end, table, words, hashes, units)


@kernel
def remove_after(end: int, table: Any) -> None:
    """Take the rows from `end` on out of a table. They were entered last and stand behind the others, so that nothing
    else moves.
    """
    bits = row_bits(len(table))
    for slot in range(len(table)):
        if row_at(table[slot], bits) >= end:
            table[slot] = _FREE


@kernel
def keep_owned(rows: Any, count: int, mine: int, owners: int, words: Any, units: int) -> int:
    """Move the rows of one owner to the front; how many there are."""
    kept = 0
    for row in range(count):
        read_row(rows, row, words, 0, units)
        if owner_of(owner_hash(words, 0, units), owners) == mine:
            write_row(rows, kept, words, 0, units)
            kept += 1
    return kept
