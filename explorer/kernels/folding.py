"""Rows of states as a search keeps them: flat, or *folded*.

A folded row is two numbers of parts. A part is a piece of the state, of a few words, or the numbers of two parts. Many
states share few pieces, and few pairs of them: a million states often have ten thousand halves. So a row takes five or
six bytes. The *plan* says how states are cut: it lists all parts of a state, each after those below it.

Parts are found by an open-addressing table, like that of the visited set. If two threads enter the same part at once,
it gets two numbers. That costs some bytes and is right all the same: what is compared are states, never numbers. The
visited set goes by the hashes of states, so that it does not notice whether rows are folded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.kernels.arrays import BITS, NUMBER_BITS, PAIR, PARTS, ROW_BYTES, SHIFT, STEPS, WAY, WORD
from explorer.kernels.compiling import kernel, part
from explorer.kernels.intrinsics import fetch_add, load, prefetch, prefetch_at, swap_if, word_at
from explorer.kernels.rows import (
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

FEW_PIECES = 2  # of a plan without pairs

_PARTS = np.uint64(PARTS)
_ZERO, _ONE, _BYTE, _WIDTH = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(64)
_LOW, _HALF, _ALL = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(0xFFFFFFFFFFFFFFFF)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)
_FREE = np.uint32(0)


@part
def numbers_of(rows: Any, row: int) -> int:
    """The two numbers of a folded row, as a word."""
    size = np.uint64(rows.sizes[ROW_BYTES])
    return word_at(rows.folded, np.uint64(row) * size) & (_ALL >> (_WIDTH - _BYTE * size))


@part
def put_numbers(folded: Any, row: int, size: int, numbers: int) -> None:
    first = np.uint64(row) * np.uint64(size)
    for byte in range(size):
        folded[first + np.uint64(byte)] = np.uint8((numbers >> (_BYTE * np.uint64(byte))) & np.uint64(0xFF))


@part
def _part_of(rows: Any, numbers: int, at: int) -> int:
    """The number of the part of a folded row that the plan has at a place."""
    bits, way = np.uint64(rows.sizes[NUMBER_BITS]), rows.plan[at, WAY]
    number = numbers >> bits if way & _ONE else numbers & (_ALL >> (_WIDTH - bits))
    for _ in range(rows.plan[at, STEPS]):
        way >>= _ONE
        pair = rows.parts[number, 0]
        number = pair >> _HALF if way & _ONE else pair & _LOW
    return number


@part
def _content(words: Any, at: int, place: int, plan: Any, column: int, pair: int) -> int:
    """One word of the part of `words[at]` that the plan has at a place: of a pair, its numbers."""
    if plan[place, PAIR]:
        return pair if column == 0 else _ZERO
    skipped, bits = _WIDTH * np.uint64(column), plan[place, BITS]
    if bits <= skipped:
        return _ZERO
    word, shift = plan[place, WORD] + np.uint64(column), plan[place, SHIFT]
    found = words[at, word] >> shift
    if shift + bits - skipped > _WIDTH and shift:
        found |= words[at, word + _ONE] << (_WIDTH - shift)
    return found & (_ALL >> (_WIDTH - min(_WIDTH, bits - skipped)))


@part
def _is_part(rows: Any, number: int, words: Any, at: int, place: int, pair: int) -> bool:
    """Whether a part is that of `words[at]` which the plan has at a place."""
    for column in range(rows.parts.shape[1]):
        if rows.parts[number, column] != _content(words, at, place, rows.plan, column, pair):
            return False
    return True


@part
def read_state(rows: Any, row: int, words: Any, at: int, units: Any) -> None:
    """Unpack a row into `words[at]`."""
    if len(rows.folded) == 0:
        read_row(rows.flat, row, words, at, units)
        return
    numbers, plan = numbers_of(rows, row), rows.plan
    for word in range((len(units) + 1) // 2):
        words[at, word] = _ZERO
    for place in range(len(plan)):
        if plan[place, PAIR] == _ZERO:
            number, word, shift, bits = (
                _part_of(rows, numbers, place),
                plan[place, WORD],
                plan[place, SHIFT],
                plan[place, BITS],
            )
            for column in range((bits + _WIDTH - _ONE) // _WIDTH):
                found = rows.parts[number, column]
                words[at, word] |= found << shift
                word += _ONE
                if shift and found >> (_WIDTH - shift):
                    words[at, word] |= found >> (_WIDTH - shift)


@part
def is_state(rows: Any, row: int, words: Any, at: int, units: Any) -> bool:
    """Whether a row holds `words[at]`."""
    if len(rows.folded) == 0:
        return is_row(rows.flat, row, words, at, units)
    numbers, plan = numbers_of(rows, row), rows.plan
    for place in range(len(plan)):
        if plan[place, PAIR] == _ZERO and not _is_part(rows, _part_of(rows, numbers, place), words, at, place, _ZERO):
            return False
    return True


@part
def _hash_of_part(rows: Any, words: Any, at: int, place: int, pair: int) -> int:
    mixed = _ZERO
    for column in range(rows.parts.shape[1]):
        mixed = (mixed ^ _content(words, at, place, rows.plan, column, pair)) * _MULTIPLIER
        mixed ^= mixed >> _FOLD
    return mixed * _MULTIPLIER


@part
def _number_of(guess: int, words: Any, at: int, place: int, pair: int, rows: Any, shared: Any) -> int:
    """The number of the part of `words[at]` that the plan has at a place. It is entered if it is new, and there must be
    room for it.
    """
    if _is_part(rows, guess, words, at, place, pair):
        return guess
    hashed, slots = _hash_of_part(rows, words, at, place, pair), len(rows.index)
    bits, slot, own, entered = row_bits(slots), home_slot(hashed, slots), _ZERO, False
    while True:
        entry = load(rows.index, slot)
        if entry == _FREE:
            if not entered:
                own, entered = np.uint64(fetch_add(shared, _PARTS, 1)), True
                for column in range(rows.parts.shape[1]):
                    rows.parts[own, column] = _content(words, at, place, rows.plan, column, pair)
            entry = swap_if(rows.index, slot, _FREE, entry_of(np.int64(own), hashed, bits))
            if entry == _FREE:
                return own
        if may_be(entry, hashed, bits):
            number = np.uint64(row_at(entry, bits))
            if _is_part(rows, number, words, at, place, pair):
                return number
        slot = next_slot(slot, slots)


@part
def write_state(rows: Any, row: int, like: int, words: Any, at: int, shared: Any, units: Any) -> None:
    """Pack `words[at]` into a row, which is probably `like` another one, if that is not below 0."""
    if len(rows.folded) == 0:
        write_row(rows.flat, row, words, at, units)
        return
    before, plan = _ZERO, rows.plan
    if like >= 0:
        before = numbers_of(rows, like)
    # the numbers of parts that no pair has taken yet, the last one first; `explorer.search.cuts` sees that these do
    first = second = third = fourth = fifth = sixth = seventh = eighth = _ZERO
    for place in range(len(plan)):
        guess = _part_of(rows, before, place)
        if plan[place, PAIR]:
            first = _number_of(guess, words, at, place, second | first << _HALF, rows, shared)
            second, third, fourth, fifth, sixth, seventh = third, fourth, fifth, sixth, seventh, eighth
        else:
            second, third, fourth, fifth, sixth, seventh, eighth = first, second, third, fourth, fifth, sixth, seventh
            first = _number_of(guess, words, at, place, _ZERO, rows, shared)
    put_numbers(rows.folded, row, rows.sizes[ROW_BYTES], second | first << np.uint64(rows.sizes[NUMBER_BITS]))


@part
def ask_for_state(rows: Any, row: int, units: Any) -> None:
    """Ask for the memory of a row."""
    if len(rows.folded) == 0:
        prefetch(rows.flat, np.uint64(row * len(units)))
    else:
        prefetch(rows.folded, np.uint64(row * rows.sizes[ROW_BYTES]))


@part
def ask_for_parts(rows: Any, row: int) -> None:
    """Ask for the memory of the two parts that a folded row holds the numbers of."""
    if len(rows.folded) > 0:
        numbers, bits = numbers_of(rows, row), np.uint64(rows.sizes[NUMBER_BITS])
        prefetch_at(rows.parts, numbers & (_ALL >> (_WIDTH - bits)))
        prefetch_at(rows.parts, numbers >> bits)


@part
def ask_for_pieces(rows: Any, words: Any, at: int) -> None:
    """Ask for the memory where the search for the pieces of `words[at]` begins, if these are few: most of many pieces
    are those of a row before.
    """
    plan = rows.plan
    if len(plan) <= FEW_PIECES:
        for place in range(len(plan)):
            hashed = _hash_of_part(rows, words, at, place, _ZERO)
            prefetch(rows.index, home_slot(hashed, len(rows.index)))


@part
def find_row(rows: Any, table: Any, words: Any, at: int, units: Any) -> int:
    """The row that holds `words[at]`, or -1."""
    bits, hashed = row_bits(len(table)), hash_of(words, at, units)
    slot = home_slot(hashed, len(table))
    entry = load(table, slot)
    while entry != _FREE:
        if may_be(entry, hashed, bits) and is_state(rows, row_at(entry, bits), words, at, units):
            return row_at(entry, bits)
        slot = next_slot(slot, len(table))
        entry = load(table, slot)
    return np.int64(-1)


@kernel
def find(rows: Any, table: Any, words: Any, units: Any) -> int:
    """The row that holds `words[0]`, or -1."""
    return find_row(rows, table, words, 0, units)


@kernel
def enter_rows(rows: Any, begin: int, end: int, table: Any, words: Any, hashes: Any, units: Any) -> None:
    """Enter rows that are known to differ into a table, while other threads may enter other rows.

    `hashes` is room for a batch, whose memory is asked for before it is used.
    """
    bits = row_bits(len(table))
    for first in range(begin, end, len(hashes)):
        batch = min(end - first, len(hashes))
        for number in range(batch):
            ask_for_parts(rows, first + number)
        for number in range(batch):
            read_state(rows, first + number, words, 0, units)
            hashes[number] = hash_of(words, 0, units)
            prefetch(table, home_slot(hashes[number], len(table)))
        for number in range(batch):
            slot = home_slot(hashes[number], len(table))
            entry = entry_of(first + number, hashes[number], bits)
            while swap_if(table, slot, _FREE, entry) != _FREE:
                slot = next_slot(slot, len(table))


@kernel
def move_row(rows: Any, source: int, target: int, table: Any, words: Any, units: Any) -> None:
    """Move a row to another place, and change its entry in the table."""
    read_state(rows, source, words, 0, units)
    if len(rows.folded) == 0:
        write_row(rows.flat, target, words, 0, units)
    else:
        put_numbers(rows.folded, target, rows.sizes[ROW_BYTES], numbers_of(rows, source))
    bits, hashed = row_bits(len(table)), hash_of(words, 0, units)
    slot = home_slot(hashed, len(table))
    while table[slot] != entry_of(source, hashed, bits):
        slot = next_slot(slot, len(table))
    table[slot] = entry_of(target, hashed, bits)
