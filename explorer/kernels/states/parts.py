"""The parts of folded rows, see `highwater.explorer.kernels.states.folding`: what they hold, and their numbers, which
are looked up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import (
    FIRST_WORD,
    HIGHEST,
    LAST_WORD,
    LEFT,
    LOWEST,
    OWN_BITS,
    PARTS,
    RIGHT,
    SHIFT,
)
from highwater.explorer.kernels.making.compiling import inlined
from highwater.explorer.kernels.making.intrinsics import fetch_add, load, swap_if
from highwater.explorer.kernels.states.rows import (
    entry_of,
    hash_of_mixed,
    home_slot,
    may_be,
    mixed_with,
    next_slot,
    row_at,
    row_bits,
)

NONE = np.int64(2**32 - 1)  # the number of a part that is not there, and so of all pairs with it

_PARTS = np.uint64(PARTS)
_ZERO, _ONE, _HALF, _TOP = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(63)
_FREE = np.uint32(0)


@inlined
def shape_at(plan: Any, place: int, count: int) -> tuple[int, int, int, int, int]:
    """The *shape* of the part that the plan has at a place: what it says of where the part is in a state. `count` is
    how many words it takes; where machine code knows that, it needs no loop.
    """
    row = plan[place]
    if count == 0:
        return _ZERO, row[LEFT], row[RIGHT], _ZERO, _ZERO
    if count == 1:
        return _ONE, row[FIRST_WORD], row[LAST_WORD], row[SHIFT], row[OWN_BITS]
    return np.uint64(count), row[FIRST_WORD], row[LAST_WORD], row[LOWEST], row[HIGHEST]


@inlined
def content_of(shape: Any, column: int, words: Any, numbers: Any, at: int) -> int:
    """One word of the part of `words[at]` that has a shape; of a pair, its numbers."""
    count, first, last, lowest, highest = shape
    if np.uint64(column) >= max(count, _ONE):
        return _ZERO
    if count == _ZERO:
        return np.uint64(numbers[first, at]) | np.uint64(numbers[last, at]) << _HALF
    if count == _ONE:
        shift, taken = lowest, highest
        return (words[at, first] >> shift | words[at, last] << _ONE << (_TOP - shift)) & taken
    word = words[at, first + np.uint64(column)]
    if column == 0:
        word &= lowest
    return word & highest if np.uint64(column) + _ONE == count else word


@inlined
def hash_of_part(parts: Any, number: int) -> int:
    """The hash of a part. Words that are 0 at its end make no difference."""
    mixed = _ZERO
    for column in range(parts.shape[1] - 1, -1, -1):
        mixed = mixed_with(mixed, parts[number, column])
    return hash_of_mixed(mixed)


@inlined
def hash_in(shape: Any, words: Any, numbers: Any, at: int) -> int:
    """The hash of the part of `words[at]` that has a shape."""
    mixed = _ZERO
    for column in range(max(np.int64(shape[0]), 1) - 1, -1, -1):
        mixed = mixed_with(mixed, content_of(shape, column, words, numbers, at))
    return hash_of_mixed(mixed)


@inlined
def _is_part(rows: Any, number: int, shape: Any, words: Any, numbers: Any, at: int) -> bool:
    """Whether a part is that of `words[at]` that has a shape."""
    for column in range(rows.parts.shape[1]):
        if rows.parts[number, column] != content_of(shape, column, words, numbers, at):
            return False
    return True


@inlined
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


@inlined
def look_up(rows: Any, hashed: int, shape: Any, words: Any, numbers: Any, at: int, enters: bool) -> int:
    """The number of the part of `words[at]` that has a shape. If it is new, it is entered, for which there must be
    room; or NONE.
    """
    bits = row_bits(len(rows.index))
    slot, number = _seek(rows, home_slot(hashed, len(rows.index)), hashed, shape, words, numbers, at)
    if not enters or number != NONE:
        return number
    own = fetch_add(rows.sizes, _PARTS, 1)
    for column in range(rows.parts.shape[1]):
        rows.parts[own, column] = content_of(shape, column, words, numbers, at)
    while swap_if(rows.index, slot, _FREE, entry_of(own, hashed, bits)) != _FREE:
        slot, number = _seek(rows, slot, hashed, shape, words, numbers, at)
        if number != NONE:
            for column in range(rows.parts.shape[1]):
                rows.parts[own, column] = _ZERO  # so that no part has two numbers once all are entered anew
            return number
    return own
