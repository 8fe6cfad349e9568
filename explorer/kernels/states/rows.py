"""Packed states as rows of 32-bit units, and the visited set over them.

A state of w 64-bit words takes 2w units, or one less where the last word's upper half is never used: a state of 84 bits
takes 12 bytes. The visited set is an open-addressing table. An entry is 0 where it is free; otherwise its low bits are
a row number plus one, as many as row numbers need, and the others, the *tag*, are bits of the row's hash. Rows are
compared only where tags agree, so that most rows that merely stand in the way are not fetched from memory. Equality is
decided by the rows themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import FOLD, MULTIPLIER, ROWS_BEYOND_SLOTS
from highwater.explorer.kernels.making.compiling import inlined
from highwater.explorer.kernels.making.intrinsics import load

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIER, _FOLD = np.uint64(MULTIPLIER), np.uint64(FOLD)
_FREE = np.uint32(0)


@inlined
def words_of(units: int) -> int:
    """How many words a state takes whose row has so many units."""
    return units + 1 >> 1


@inlined
def read_row(rows: Any, row: int, words: Any, at: int, units: int) -> None:
    """Unpack a row into `words[at]`."""
    first, whole = row * units, units >> 1
    for word in range(whole):
        words[at, word] = np.uint64(rows[first + 2 * word]) | np.uint64(rows[first + 2 * word + 1]) << _HALF
    if units & 1:
        words[at, whole] = np.uint64(rows[first + units - 1])


@inlined
def write_row(rows: Any, row: int, words: Any, at: int, units: int) -> None:
    """Pack `words[at]` into a row."""
    first, whole = row * units, units >> 1
    for word in range(whole):
        rows[first + 2 * word] = np.uint32(words[at, word] & _LOW)
        rows[first + 2 * word + 1] = np.uint32(words[at, word] >> _HALF)
    if units & 1:
        rows[first + units - 1] = np.uint32(words[at, whole] & _LOW)


@inlined
def is_row(rows: Any, row: int, words: Any, at: int, units: int) -> bool:
    """Whether a row holds `words[at]`."""
    first, whole = row * units, units >> 1
    same = True
    for word in range(whole):
        same &= rows[first + 2 * word] == np.uint32(words[at, word] & _LOW)
        same &= rows[first + 2 * word + 1] == np.uint32(words[at, word] >> _HALF)
    if units & 1:
        same &= rows[first + units - 1] == np.uint32(words[at, whole] & _LOW)
    return same


@inlined
def mixed_with(mixed: int, word: int) -> int:
    """What words give so far, with one more. Words that are 0 give 0 until another one comes."""
    mixed = (mixed ^ word) * _MULTIPLIER
    return mixed ^ mixed >> _FOLD


@inlined
def hash_of_mixed(mixed: int) -> int:
    """A hash: its upper half says where to look for it, its lower half gives the tag."""
    return mixed * _MULTIPLIER


@inlined
def hash_of(words: Any, at: int, units: int) -> int:
    """The hash of `words[at]`."""
    mixed = np.uint64(0)
    for word in range(words_of(units)):
        mixed = mixed_with(mixed, words[at, word])
    return hash_of_mixed(mixed)


@inlined
def home_slot(hashed: int, slots: int) -> int:
    """Where the search begins in a table with so many slots."""
    return ((hashed >> _HALF) * np.uint64(slots)) >> _HALF


@inlined
def next_slot(slot: int, slots: int) -> int:
    following = slot + np.uint64(1)
    return following if following < np.uint64(slots) else np.uint64(0)


@inlined
def row_bits(slots: int) -> int:
    """The bits of an entry that hold the row number, in a table with so many slots: ones up to the highest that may be
    needed.
    """
    most = np.uint64(slots + ROWS_BEYOND_SLOTS)
    for shift in (1, 2, 4, 8, 16):
        most |= most >> np.uint64(shift)
    return np.uint32(most & _LOW)


@inlined
def entry_of(row: int, hashed: int, bits: int) -> int:
    return np.uint32(row + 1) | (np.uint32(hashed & _LOW) & ~bits)


@inlined
def row_at(entry: int, bits: int) -> int:
    return np.int64(entry & bits) - 1


@inlined
def may_be(entry: int, hashed: int, bits: int) -> bool:
    """Whether the tag of an entry agrees with a hash."""
    return (entry ^ np.uint32(hashed & _LOW)) & ~bits == _FREE


@inlined
def probe(table: Any, hashed: int, bits: int) -> tuple[int, int]:
    """The first slot from the home slot on that is free or whose tag agrees, and what it holds."""
    slot = home_slot(hashed, len(table))
    entry = load(table, slot)
    while entry != _FREE and not may_be(entry, hashed, bits):
        slot = next_slot(slot, len(table))
        entry = load(table, slot)
    return slot, entry
