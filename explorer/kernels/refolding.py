"""Folding rows, unfolding them, and making room for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.kernels.arrays import NUMBER_BITS, ROW_BYTES
from explorer.kernels.compiling import kernel
from explorer.kernels.folding import ask_for_pieces, numbers_of, put_numbers, read_state, write_state
from explorer.kernels.rows import entry_of, home_slot, next_slot, read_row, row_bits, write_row

_ZERO, _WIDTH = np.uint64(0), np.uint64(64)
_HALF, _ALL = np.uint64(32), np.uint64(0xFFFFFFFFFFFFFFFF)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)
_FREE = np.uint32(0)


@kernel
def fold_rows(flat: Any, begin: int, end: int, rows: Any, first: int, shared: Any, words: Any, units: Any) -> None:
    """Fold the flat rows begin..end into the rows from `first` on, while other threads may fold others. `words` is room
    for a batch.
    """
    for done in range(0, end - begin, len(words)):
        batch = min(end - begin - done, len(words))
        for number in range(batch):
            read_row(flat, begin + done + number, words, number, units)
            ask_for_pieces(rows, words, number)
        for number in range(batch):
            row = first + done + number
            write_state(rows, row, row - 1 if done + number else -1, words, number, shared, units)


@kernel
def copy_rows(rows: Any, numbers: Any, flat: Any, words: Any, units: Any) -> None:
    """Write the rows with some numbers into flat ones, one after the other."""
    for place in range(len(numbers)):
        read_state(rows, numbers[place], words, 0, units)
        write_row(flat, place, words, 0, units)


@kernel
def enter_parts(parts: Any, begin: int, end: int, index: Any) -> None:
    """Enter parts into a table that has none of them."""
    bits = row_bits(len(index))
    for number in range(begin, end):
        hashed = _ZERO
        for column in range(parts.shape[1]):
            hashed = (hashed ^ parts[number, column]) * _MULTIPLIER
            hashed ^= hashed >> _FOLD
        hashed *= _MULTIPLIER
        slot = home_slot(hashed, len(index))
        while index[slot] != _FREE:
            slot = next_slot(slot, len(index))
        index[slot] = entry_of(number, hashed, bits)


@kernel
def widen_rows(rows: Any, count: int, size: int) -> None:
    """Give each of so many folded rows more bytes than it has, in place: `size`, half of them for each number. Python
    may be interrupted right after this, so that it is noted here.
    """
    bits = np.uint64(rows.sizes[NUMBER_BITS])
    for row in range(count - 1, -1, -1):
        numbers = numbers_of(rows, row)
        low, high = numbers & (_ALL >> (_WIDTH - bits)), numbers >> bits
        put_numbers(rows.folded, row, size, low | high << np.uint64(4 * size))
    rows.sizes[ROW_BYTES], rows.sizes[NUMBER_BITS] = size, 4 * size
