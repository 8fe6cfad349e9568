"""Folding rows, unfolding them, and making room for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import NUMBER_BITS, ROW_BYTES, Likenesses
from highwater.explorer.kernels.making.compiling import kernel
from highwater.explorer.kernels.states.folding import fold_batch, key_at, put_key
from highwater.explorer.kernels.states.parts import hash_of_part
from highwater.explorer.kernels.states.rows import (
    entry_of,
    home_slot,
    next_slot,
    read_row,
    row_bits,
    words_of,
    write_row,
)
from highwater.explorer.kernels.states.stored import read_state

_FREE = np.uint32(0)


@kernel
def fold_rows(flat: Any, begin: int, end: int, rows: Any, first: int, batch: Any, sources: Any, units: int) -> None:
    """Fold the flat rows begin..end into the rows from `first` on, while other threads may fold others.

    Args:
        batch: room for one; behind its states and their numbers are those of the last state of the batch before: all 0
            before the first one.
        sources: which state each one of a batch is like: the one before it.
    """
    words, numbers, size = batch.words, batch.numbers, len(batch.keys)
    for done in range(0, end - begin, size):
        states = min(end - begin - done, size)
        for at in range(states):
            read_row(flat, begin + done + at, words, at, units)
        fold_batch(rows, states, batch, Likenesses(sources, words, numbers), units, enters=True, chained=True)
        for at in range(states):
            put_key(rows, first + done + at, batch.keys[at], rows.sizes[ROW_BYTES])
        for word in range(words_of(units)):
            words[size, word] = words[states - 1, word]
        for place in range(len(rows.plan) - 1):
            numbers[place, size] = numbers[place, states - 1]


@kernel
def copy_rows(rows: Any, numbers: Any, flat: Any, words: Any, units: int) -> None:
    """Write the rows with some numbers into flat ones, one after the other."""
    for place in range(len(numbers)):
        read_state(rows, numbers[place], words, 0, units)
        write_row(flat, place, words, 0, units)


@kernel
def enter_parts(parts: Any, begin: int, end: int, index: Any) -> None:
    """Enter parts into a table that has none behind them: of those whose words are all 0 the first is found."""
    bits = row_bits(len(index))
    for number in range(begin, end):
        hashed = hash_of_part(parts, number)
        slot = home_slot(hashed, len(index))
        while index[slot] != _FREE:
            slot = next_slot(slot, len(index))
        index[slot] = entry_of(number, hashed, bits)


@kernel
def widen_rows(rows: Any, count: int, size: int) -> None:
    """Give each of so many folded rows more bytes than it has, in place: `size`, half of them for each number. Python
    may be interrupted right after this, so that it is noted here.
    """
    for row in range(count - 1, -1, -1):
        put_key(rows, row, key_at(rows, row), size)
    rows.sizes[ROW_BYTES], rows.sizes[NUMBER_BITS] = size, 4 * size
