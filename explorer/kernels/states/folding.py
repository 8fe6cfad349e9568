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

from highwater.explorer.kernels.arrays import (
    BEHIND_CUT,
    FIRST_WORD,
    HELD,
    LAST_WORD,
    LEFT,
    LOWEST,
    NUMBER_BITS,
    RIGHT,
    ROW_BYTES,
    SHIFT,
    STEPS,
    WAY,
    WORDS,
)
from highwater.explorer.kernels.making.compiling import inlined
from highwater.explorer.kernels.making.intrinsics import prefetch, prefetch_at, put_half_word, word_at
from highwater.explorer.kernels.states.parts import content_of, hash_in, look_up, shape_at
from highwater.explorer.kernels.states.rows import hash_of_mixed, home_slot, mixed_with, words_of

_BEHIND_CUT = np.uint64(BEHIND_CUT)
_ZERO, _ONE, _BYTE, _WIDTH, _TOP = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(64), np.uint64(63)
_LOW, _HALF, _ALL = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(0xFFFFFFFFFFFFFFFF)


# Rows


@inlined
def key_at(rows: Any, row: int) -> int:
    """The numbers of both halves of a row as a word, the left one in its lower half."""
    size, bits = np.uint64(rows.sizes[ROW_BYTES]), np.uint64(rows.sizes[NUMBER_BITS])
    numbers = word_at(rows.folded, np.uint64(row) * size) & (_ALL >> (_WIDTH - _BYTE * size))
    return numbers & (_ALL >> (_WIDTH - bits)) | numbers >> bits << _HALF


@inlined
def put_key(rows: Any, row: int, key: int, size: int) -> None:
    """Write a row of so many bytes, and no others: another thread may write the next row. Of four bytes or more, the
    first four are written at once, and then the last four, some of them again.
    """
    first = np.uint64(row) * np.uint64(size)
    numbers = key & _LOW | key >> _HALF << np.uint64(4 * size)
    if size >= 4:
        put_half_word(rows.folded, first, numbers)
        put_half_word(rows.folded, first + np.uint64(size - 4), numbers >> np.uint64(8 * (size - 4)))
        return
    for byte in range(size):
        rows.folded[first + np.uint64(byte)] = np.uint8((numbers >> (_BYTE * np.uint64(byte))) & np.uint64(0xFF))


@inlined
def hash_of_key(key: int) -> int:
    return hash_of_mixed(mixed_with(_ZERO, key))


# Reading


@inlined
def _half(pair: int, way: int) -> int:
    return pair >> _HALF if way & _ONE else pair & _LOW


@inlined
def _number_at(rows: Any, key: int, place: int) -> int:
    """The number of the part of a row that the plan has at a place."""
    way = rows.plan[place, WAY]
    number = _half(key, way)
    for _ in range(rows.plan[place, STEPS]):
        way >>= _ONE
        number = _half(rows.parts[number, 0], way)
    return number


@inlined
def _put_piece(rows: Any, number: int, place: int, words: Any, at: int) -> None:
    """Add a piece to `words[at]`, whose bits are 0 there."""
    first = rows.plan[place, FIRST_WORD]
    if rows.plan[place, WORDS] == _ONE:
        shift = rows.plan[place, SHIFT]
        words[at, first] |= rows.parts[number, 0] << shift
        words[at, rows.plan[place, LAST_WORD]] |= rows.parts[number, 0] >> _ONE >> (_TOP - shift)
        return
    for column in range(rows.plan[place, WORDS]):
        words[at, first + column] |= rows.parts[number, column]


@inlined
def unfold(rows: Any, row: int, words: Any, at: int, units: int) -> None:
    """Unpack a row into `words[at]`."""
    key = key_at(rows, row)
    for word in range(words_of(units)):
        words[at, word] = _ZERO
    for place in range(len(rows.plan)):
        if rows.plan[place, WORDS]:
            _put_piece(rows, _number_at(rows, key, place), place, words, at)


@inlined
def unfold_batch(rows: Any, first: int, states: int, words: Any, numbers: Any, units: int) -> None:
    """Unpack rows from `first` on, and note the numbers of all their parts: place by place, from the last one on."""
    root = len(rows.plan) - 1
    left, right = rows.plan[root, LEFT], rows.plan[root, RIGHT]
    for at in range(states):
        key = key_at(rows, first + at)
        prefetch_at(rows.parts, key & _LOW)
        prefetch_at(rows.parts, key >> _HALF)
        numbers[left, at], numbers[right, at] = np.uint32(key & _LOW), np.uint32(key >> _HALF)
        for word in range(words_of(units)):
            words[at, word] = _ZERO
    for place in range(root - 1, -1, -1):
        if rows.plan[place, WORDS]:
            for at in range(states):
                _put_piece(rows, numbers[place, at], place, words, at)
        else:
            left, right = rows.plan[place, LEFT], rows.plan[place, RIGHT]
            for at in range(states):
                pair = rows.parts[numbers[place, at], 0]
                numbers[left, at], numbers[right, at] = np.uint32(pair & _LOW), np.uint32(pair >> _HALF)


@inlined
def note_numbers(rows: Any, row: int, numbers: Any, at: int) -> None:
    """Note the numbers of all parts of a row."""
    key = key_at(rows, row)
    for place in range(len(rows.plan) - 1):
        numbers[place, at] = np.uint32(_number_at(rows, key, place))


# Folding


@inlined
def _note_changes(rows: Any, states: int, words: Any, keys: Any, sources: Any, source_words: Any, units: int) -> None:
    """Put the words in which a batch's states are not as their sources into `keys`, a bit each. There are no branches,
    since which words these are is hard to predict.
    """
    whole = rows.plan[len(rows.plan) - 1]
    cut, before, own = whole[FIRST_WORD], whole[LOWEST], whole[HELD]
    for at in range(states):
        source, changed = sources[at], _ZERO
        for word in range(words_of(units)):
            changed |= np.uint64(words[at, word] != source_words[source, word]) << np.uint64(word)
        differ = words[at, cut] ^ source_words[source, cut]
        changed = changed & ~own | (own if differ & before else _ZERO)
        keys[at] = changed | np.uint64(differ & ~before != _ZERO) << _BEHIND_CUT


@inlined
def _list_changed(
    held: int, place: int, states: int, numbers: Any, keys: Any, sources: Any, source_numbers: Any, listed: Any
) -> int:
    """List the states of a batch whose part at a place, which has bits in some words, is not as in their sources; how
    many. The others have the numbers of their sources.
    """
    count = _ZERO
    for at in range(states):
        numbers[place, at] = source_numbers[place, sources[at]]
        listed[count] = np.uint32(at)
        count += np.uint64(keys[at] & held != _ZERO)
    return np.int64(count)


@inlined
def _follow_sources(held: int, place: int, states: int, numbers: Any, keys: Any, sources: Any) -> None:
    """Give states the numbers of their sources, which are in the same batch, where the part at a place is the same."""
    for at in range(states):
        own, other = numbers[place, at], numbers[place, sources[at]]
        numbers[place, at] = own if keys[at] & held else other


@inlined
def _look_up_listed(rows: Any, place: int, shape: Any, count: int, listed: Any, batch: Any, enters: bool) -> None:
    """Find the numbers of the parts at a place of so many states that are listed."""
    words, numbers, hashes = batch.words, batch.numbers, batch.hashes
    for each in range(count):
        hashes[each] = hash_in(shape, words, numbers, listed[each])
        prefetch(rows.index, home_slot(hashes[each], len(rows.index)))
    for each in range(count):
        at = listed[each]
        numbers[place, at] = np.uint32(look_up(rows, hashes[each], shape, words, numbers, at, enters))


@inlined
def fold_batch(rows: Any, states: int, batch: Any, like: Any, units: int, enters: bool, chained: bool) -> None:
    """Find the numbers of the parts of a batch of states, and of their halves, their keys.

    Args:
        batch, like: see `highwater.explorer.kernels.arrays`.
        chained: whether a state may be like one before it in the same batch.
        enters: whether to enter parts that are new. Otherwise states with such have a key that no row has.
    """
    root, words, numbers, keys = len(rows.plan) - 1, batch.words, batch.numbers, batch.keys
    _note_changes(rows, states, words, keys, like.sources, like.words, units)
    for place in range(root):
        columns, held = rows.plan[place, WORDS], rows.plan[place, HELD]
        count = _list_changed(held, place, states, numbers, keys, like.sources, like.numbers, numbers[root])
        if columns == _ZERO:  # the same three times, so that machine code knows how many words there are
            shape = shape_at(rows.plan, place, 0)
            _look_up_listed(rows, place, shape, count, numbers[root], batch, enters)
        elif columns == _ONE:
            shape = shape_at(rows.plan, place, 1)
            _look_up_listed(rows, place, shape, count, numbers[root], batch, enters)
        else:
            shape = shape_at(rows.plan, place, columns)
            _look_up_listed(rows, place, shape, count, numbers[root], batch, enters)
        if chained:
            _follow_sources(held, place, states, numbers, keys, like.sources)
    for at in range(states):
        keys[at] = content_of(shape_at(rows.plan, root, 0), 0, words, numbers, at)


@inlined
def key_of(rows: Any, words: Any, numbers: Any, at: int) -> int:
    """The numbers of the halves of `words[at]`, in a word that no row has if it has new parts; `numbers` is room."""
    root = len(rows.plan) - 1
    for place in range(root):
        shape = shape_at(rows.plan, place, rows.plan[place, WORDS])
        hashed = hash_in(shape, words, numbers, at)
        numbers[place, at] = np.uint32(look_up(rows, hashed, shape, words, numbers, at, enters=False))
    return content_of(shape_at(rows.plan, root, 0), 0, words, numbers, at)
