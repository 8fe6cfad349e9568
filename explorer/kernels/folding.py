"""Folded rows. A row is two numbers of *parts*, of the halves of a state.

A part is a piece of the state, of a few words, or the numbers of two parts. Many states share few pieces, and few pairs
of them: a million states often have ten thousand halves. So a row takes five or six bytes. The *plan* says how states
are cut: it lists all parts of a state by their *places*, each behind those below it, and then the state itself, a pair
that is no part.

Parts are found by an open-addressing table, like that of the visited set. A part has one number: if two threads enter
it at once, the one that comes second takes the number of the first. So two states are the same if the numbers of their
halves are, and the visited set goes by these. Part 0 is the one whose words are 0.

Most parts of a state are those of the one that it was made from, and have the same numbers. Only the others are looked
up: place by place for all states of a batch, so that what one look-up waits for, the others' work hides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.kernels.arrays import (
    FIRST_WORD,
    HIGHEST,
    LEFT,
    LOWEST,
    NUMBER_BITS,
    PARTS,
    RIGHT,
    ROW_BYTES,
    STEPS,
    WAY,
    WORDS,
)
from explorer.kernels.compiling import part
from explorer.kernels.intrinsics import fetch_add, load, prefetch, prefetch_at, swap_if, word_at
from explorer.kernels.rows import entry_of, hash_of_mixed, home_slot, may_be, mixed_with, next_slot, row_at, row_bits

NONE = np.int64(2**32 - 1)  # the number of a part that is not there, and so of all pairs with it

_PARTS = np.uint64(PARTS)
_ZERO, _ONE, _BYTE, _WIDTH = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(64)
_LOW, _HALF, _ALL = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(0xFFFFFFFFFFFFFFFF)
_SAME = np.uint64(0)  # in place of the hash of a part that need not be looked up
_FREE = np.uint32(0)


# Rows


@part
def key_at(rows: Any, row: int) -> int:
    """The numbers of both halves of a row as a word, the left one in its lower half."""
    size, bits = np.uint64(rows.sizes[ROW_BYTES]), np.uint64(rows.sizes[NUMBER_BITS])
    numbers = word_at(rows.folded, np.uint64(row) * size) & (_ALL >> (_WIDTH - _BYTE * size))
    return numbers & (_ALL >> (_WIDTH - bits)) | numbers >> bits << _HALF


@part
def put_key(rows: Any, row: int, key: int, size: int) -> None:
    """Write a row of so many bytes."""
    first = np.uint64(row) * np.uint64(size)
    numbers = key & _LOW | key >> _HALF << np.uint64(4 * size)
    for byte in range(size):
        rows.folded[first + np.uint64(byte)] = np.uint8((numbers >> (_BYTE * np.uint64(byte))) & np.uint64(0xFF))


@part
def hash_of_key(key: int) -> int:
    return hash_of_mixed(mixed_with(_ZERO, key))


# Reading


@part
def _half(pair: int, way: int) -> int:
    return pair >> _HALF if way & _ONE else pair & _LOW


@part
def _number_at(rows: Any, key: int, place: int) -> int:
    """The number of the part of a row that the plan has at a place."""
    way = rows.plan[place, WAY]
    number = _half(key, way)
    for _ in range(rows.plan[place, STEPS]):
        way >>= _ONE
        number = _half(rows.parts[number, 0], way)
    return number


@part
def _put_piece(rows: Any, number: int, place: int, words: Any, at: int) -> None:
    """Add a piece to `words[at]`, whose bits are 0 there."""
    first = rows.plan[place, FIRST_WORD]
    for column in range(rows.plan[place, WORDS]):
        words[at, first + column] |= rows.parts[number, column]


@part
def unfold(rows: Any, row: int, words: Any, at: int, units: Any) -> None:
    """Unpack a row into `words[at]`."""
    key = key_at(rows, row)
    for word in range((len(units) + 1) // 2):
        words[at, word] = _ZERO
    for place in range(len(rows.plan)):
        if rows.plan[place, WORDS]:
            _put_piece(rows, _number_at(rows, key, place), place, words, at)


@part
def unfold_batch(rows: Any, first: int, states: int, words: Any, units: Any) -> None:
    """Unpack rows from `first` on: place by place, each for all of them."""
    for at in range(states):
        key = key_at(rows, first + at)
        prefetch_at(rows.parts, key & _LOW)
        prefetch_at(rows.parts, key >> _HALF)
        for word in range((len(units) + 1) // 2):
            words[at, word] = _ZERO
    for place in range(len(rows.plan)):
        if rows.plan[place, WORDS]:
            for at in range(states):
                _put_piece(rows, _number_at(rows, key_at(rows, first + at), place), place, words, at)


@part
def note_numbers(rows: Any, row: int, numbers: Any, at: int) -> None:
    """Note the numbers of all parts of a row."""
    key = key_at(rows, row)
    for place in range(len(rows.plan) - 1):
        numbers[place, at] = np.uint32(_number_at(rows, key, place))


# Looking up


@part
def _shape_at(plan: Any, place: int) -> tuple[int, int, int, int, int, int]:
    """The *shape* of the part that the plan has at a place: what it says of where the part is in a state."""
    row = plan[place]
    return row[WORDS], row[FIRST_WORD], row[LOWEST], row[HIGHEST], row[LEFT], row[RIGHT]


@part
def _content(shape: Any, column: int, words: Any, numbers: Any, at: int) -> int:
    """One word of the part of `words[at]` that has a shape; of a pair, its numbers."""
    count, first, lowest, highest, left, right = shape
    if count == _ZERO and column == 0:
        return np.uint64(numbers[left, at]) | np.uint64(numbers[right, at]) << _HALF
    if np.uint64(column) >= count:
        return _ZERO
    word = words[at, first + np.uint64(column)]
    if column == 0:
        word &= lowest
    return word & highest if np.uint64(column) + _ONE == count else word


@part
def hash_of_part(parts: Any, number: int) -> int:
    """The hash of a part: never `_SAME`. Words that are 0 at its end make no difference."""
    mixed = _ZERO
    for column in range(parts.shape[1] - 1, -1, -1):
        mixed = mixed_with(mixed, parts[number, column])
    return hash_of_mixed(mixed) | _ONE


@part
def _hash_of(shape: Any, words: Any, numbers: Any, at: int) -> int:
    """The hash of the part of `words[at]` that has a shape."""
    mixed = _ZERO
    for column in range(max(np.int64(shape[0]), 1) - 1, -1, -1):
        mixed = mixed_with(mixed, _content(shape, column, words, numbers, at))
    return hash_of_mixed(mixed) | _ONE


@part
def _is_part(rows: Any, number: int, shape: Any, words: Any, numbers: Any, at: int) -> bool:
    """Whether a part is that of `words[at]` that has a shape."""
    for column in range(rows.parts.shape[1]):
        if rows.parts[number, column] != _content(shape, column, words, numbers, at):
            return False
    return True


@part
def _seek(rows: Any, slot: int, hashed: int, shape: Any, words: Any, numbers: Any, at: int) -> tuple[int, int]:
    """From a slot on, that of the part of `words[at]` that has a shape, and its number; or the first free one, and
    NONE.
    """
    bits, slots = row_bits(len(rows.index)), len(rows.index)
    entry = load(rows.index, slot)
    while entry != _FREE:
        if may_be(entry, hashed, bits) and _is_part(rows, row_at(entry, bits), shape, words, numbers, at):
            return slot, row_at(entry, bits)
        slot = next_slot(slot, slots)
        entry = load(rows.index, slot)
    return slot, NONE


@part
def _look_up(rows: Any, hashed: int, shape: Any, words: Any, numbers: Any, at: int, enters: bool) -> int:
    """The number of the part of `words[at]` that has a shape. If it is new, it is entered, for which there must be
    room; or NONE.
    """
    bits = row_bits(len(rows.index))
    slot, number = _seek(rows, home_slot(hashed, len(rows.index)), hashed, shape, words, numbers, at)
    if not enters or number != NONE:
        return number
    own = fetch_add(rows.sizes, _PARTS, 1)
    for column in range(rows.parts.shape[1]):
        rows.parts[own, column] = _content(shape, column, words, numbers, at)
    while swap_if(rows.index, slot, _FREE, entry_of(own, hashed, bits)) != _FREE:
        slot, number = _seek(rows, slot, hashed, shape, words, numbers, at)
        if number != NONE:
            for column in range(rows.parts.shape[1]):
                rows.parts[own, column] = _ZERO  # so that no part has two numbers once all are entered anew
            return number
    return own


# Folding


@part
def _is_same(shape: Any, words: Any, numbers: Any, at: int, others: Any, other_numbers: Any, other: int) -> bool:
    """Whether two states have the same part of a shape."""
    changed = _ZERO
    for column in range(max(np.int64(shape[0]), 1)):
        here = _content(shape, column, words, numbers, at)
        changed |= here ^ _content(shape, column, others, other_numbers, other)
    return changed == _ZERO


@part
def fold_batch(
    rows: Any, states: int, words: Any, numbers: Any, keys: Any, sources: Any, source_words: Any, source_numbers: Any,
    hashes: Any, enters: bool,
) -> None:  # fmt: skip
    """Find the numbers of the parts of a batch of states, and of their halves, their `keys`.

    Args:
        sources: for each state, which of `source_words`, whose numbers are known, it is like. It may be one before it
            in the same batch.
        hashes: room.
        enters: whether to enter parts that are new. Otherwise states with such have a key that no row has.
    """
    root = len(rows.plan) - 1
    for place in range(root):
        shape = _shape_at(rows.plan, place)
        for at in range(states):
            hashes[at] = _SAME
            if not _is_same(shape, words, numbers, at, source_words, source_numbers, sources[at]):
                hashes[at] = _hash_of(shape, words, numbers, at)
                prefetch(rows.index, home_slot(hashes[at], len(rows.index)))
        for at in range(states):
            number = np.int64(source_numbers[place, sources[at]])
            if hashes[at] != _SAME:
                number = np.int64(_look_up(rows, hashes[at], shape, words, numbers, at, enters))
            numbers[place, at] = np.uint32(number)
    for at in range(states):
        keys[at] = _content(_shape_at(rows.plan, root), 0, words, numbers, at)


@part
def key_of(rows: Any, words: Any, numbers: Any, at: int) -> int:
    """The numbers of the halves of `words[at]`, in a word that no row has if it has new parts; `numbers` is room."""
    root = len(rows.plan) - 1
    for place in range(root):
        shape = _shape_at(rows.plan, place)
        hashed = _hash_of(shape, words, numbers, at)
        numbers[place, at] = np.uint32(_look_up(rows, hashed, shape, words, numbers, at, False))
    return _content(_shape_at(rows.plan, root), 0, words, numbers, at)
