"""Packed states as rows of 32-bit units, and the visited set over them.

A state of w 64-bit words takes 2w units, or one less where the last word's upper half is never used: a state of 84 bits takes 12 bytes.
The visited set is an open-addressing table of row numbers plus one (0 is free). Equality is decided by comparing the rows themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from explorer.kernels.intrinsics import load, prefetch

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)
_FREE = np.uint32(0)


@njit(inline="always")
def read_row(rows: Any, row: int, words: Any, at: int, units: Any) -> None:
    """Unpack a row into `words[at]`."""
    first = row * len(units)
    for word in range(len(units) // 2):
        words[at, word] = np.uint64(rows[first + 2 * word]) | np.uint64(rows[first + 2 * word + 1]) << _HALF
    if len(units) % 2:
        words[at, len(units) // 2] = np.uint64(rows[first + len(units) - 1])


@njit(inline="always")
def write_row(rows: Any, row: int, words: Any, at: int, units: Any) -> None:
    """Pack `words[at]` into a row."""
    first = row * len(units)
    for unit in range(len(units)):
        rows[first + unit] = np.uint32((words[at, unit // 2] >> (_HALF * np.uint64(unit % 2))) & _LOW)


@njit(inline="always")
def is_row(rows: Any, row: int, words: Any, at: int, units: Any) -> bool:
    """Whether a row holds `words[at]`."""
    first = row * len(units)
    same = True
    for unit in range(len(units)):
        same &= rows[first + unit] == np.uint32((words[at, unit // 2] >> (_HALF * np.uint64(unit % 2))) & _LOW)
    return same


@njit(inline="always")
def home_slot(words: Any, at: int, slots: int, units: Any) -> int:
    """Where the search for `words[at]` begins in a table with so many slots."""
    mixed = np.uint64(0)
    for word in range((len(units) + 1) // 2):
        mixed = (mixed ^ words[at, word]) * _MULTIPLIER
        mixed ^= mixed >> _FOLD
    mixed *= _MULTIPLIER
    return ((mixed >> _HALF) * np.uint64(slots)) >> _HALF


@njit(inline="always")
def next_slot(slot: int, slots: int) -> int:
    following = slot + np.uint64(1)
    return following if following < np.uint64(slots) else np.uint64(0)


@njit(cache=True, nogil=True)
def enter_rows(rows: Any, begin: int, end: int, table: Any, words: Any, slots: Any, units: Any) -> None:
    """Enter rows that are known to differ into a table. `slots` is room for a batch, whose memory is asked for before it is used."""
    for first in range(begin, end, len(slots)):
        batch = min(end - first, len(slots))
        for number in range(batch):
            read_row(rows, first + number, words, 0, units)
            slots[number] = home_slot(words, 0, len(table), units)
            prefetch(table, slots[number])
        for number in range(batch):
            slot = slots[number]
            while table[slot] != _FREE:
                slot = next_slot(slot, len(table))
            table[slot] = np.uint32(first + number + 1)


@njit(inline="always")
def find_row(rows: Any, table: Any, words: Any, at: int, units: Any) -> int:
    """The row that holds `words[at]`, or -1."""
    slot = home_slot(words, at, len(table), units)
    found = load(table, slot)
    while found != _FREE:
        if is_row(rows, np.int64(found) - 1, words, at, units):
            return np.int64(found) - 1
        slot = next_slot(slot, len(table))
        found = load(table, slot)
    return np.int64(-1)


@njit(cache=True, nogil=True)
def find(rows: Any, table: Any, words: Any, units: Any) -> int:
    """The row that holds `words[0]`, or -1."""
    return find_row(rows, table, words, 0, units)


@njit(cache=True, nogil=True)
def move_row(rows: Any, source: int, target: int, table: Any, words: Any, units: Any) -> None:
    """Put a row into another place, and tell the table."""
    read_row(rows, source, words, 0, units)
    write_row(rows, target, words, 0, units)
    slot = home_slot(words, 0, len(table), units)
    while table[slot] != np.uint32(source + 1):
        slot = next_slot(slot, len(table))
    table[slot] = np.uint32(target + 1)
