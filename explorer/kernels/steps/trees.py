"""Walking decision trees, and applying what a step does. `highwater.explorer.encoding` says how both are encoded."""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.encoding import (
    BRANCHES_FIELD,
    COPY_FIELD,
    GATHER_FIELD,
    JUMP,
    KIND_AT,
    NODE,
    PENDING,
    SHIFT_FIELD,
    UNKNOWN,
    WIDE,
    WIDTH_FIELD,
    WORD_FIELD,
)
from highwater.explorer.kernels.making.compiling import inlined
from highwater.explorer.kernels.making.intrinsics import lowest_bit, pext, swap_if
from highwater.explorer.kernels.states.rows import words_of

_WORD_MASK = np.uint64((1 << WORD_FIELD) - 1)
_SHIFT_MASK = np.uint64((1 << SHIFT_FIELD) - 1)
_WIDTH_MASK = np.uint64((1 << WIDTH_FIELD) - 1)
_WORD_BITS = np.uint64(WORD_FIELD)
_WIDTH_AT = np.uint64(WORD_FIELD + SHIFT_FIELD)
_BRANCHES_AT = np.uint64(BRANCHES_FIELD)
_NOT_NODE = np.uint64(NODE - 1)
_TOP = np.uint64(63)
_KIND_AT, _INSIDE = np.uint32(KIND_AT), np.uint32((1 << KIND_AT) - 1)
_JUMP, _WIDE = np.uint32(JUMP), np.uint32(WIDE)
_GATHER, _2_GATHER = np.uint64(GATHER_FIELD), np.uint64(2 * GATHER_FIELD)
_GATHER_MASK = np.uint64((1 << GATHER_FIELD) - 1)
_COPY, _2_COPY, _3_COPY, _4_COPY = (np.uint64(place * COPY_FIELD) for place in (1, 2, 3, 4))
_COPY_MASK = np.uint64((1 << COPY_FIELD) - 1)
_HALF, _64, _LOW, _ALL = np.uint64(32), np.uint64(64), np.uint64(2**32 - 1), np.uint64(2**64 - 1)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_UNKNOWN, _PENDING = np.uint64(UNKNOWN), np.uint64(PENDING)

ANY_LENGTH = 5
"""In place of a row's units, for words that may be of any number."""


@inlined
def follow(words: Any, at: int, node: int) -> int:
    """The position of the branch that a state takes at a node."""
    value = words[at, node & _WORD_MASK] >> ((node >> _WORD_BITS) & _SHIFT_MASK)
    return ((node & _NOT_NODE) >> _BRANCHES_AT) + (value & ((_ONE << ((node >> _WIDTH_AT) & _WIDTH_MASK)) - _ONE))


@inlined
def is_wide(entry: int) -> bool:
    return entry >> _KIND_AT == _WIDE


@inlined
def is_jump(entry: int) -> bool:
    return entry >> _KIND_AT == _JUMP


@inlined
def inside(entry: int) -> int:
    """The branch, position or number that an entry holds besides its kind."""
    return entry & _INSIDE


@inlined
def gather(words: Any, at: int, low: int, high: int, where: int, units: int) -> int:
    """An index made of bits of a state, see `highwater.explorer.compiler.prefilter.gathering`."""
    if units <= 2:
        return pext(words[at, 0], low)
    if units <= 4:
        return pext(words[at, 0], low) | pext(words[at, 1], high) << (where & _GATHER_MASK)
    below = pext(words[at, where >> _GATHER & _GATHER_MASK], low)
    return below | pext(words[at, where >> _2_GATHER], high) << (where & _GATHER_MASK)


@inlined
def follow_wide(words: Any, at: int, node: int, trees: Any, units: int) -> int:
    """The entry that a state takes at a wide node."""
    index = gather(words, at, trees.nodes[node, 0], trees.nodes[node, 1], trees.nodes[node, 2], units)
    return trees.entries[trees.nodes[node, 3] + index]


@inlined
def is_node(branch: int) -> bool:
    return branch >> _TOP != _ZERO


@inlined
def walk(words: Any, at: int, tree: int, branches: Any) -> tuple[int, int]:
    """Follow one tree for one state: the branch where it ends, and its position."""
    position = np.uint64(tree)
    branch = branches[position]
    while is_node(branch):
        position = follow(words, at, branch)
        branch = branches[position]
    return branch, position


@inlined
def ask_for(branches: Any, position: int) -> bool:
    """Mark a branch as asked for; whether it was unknown, so that this thread is the one to ask.

    The mark is set atomically: Python may just have put there what another thread has asked for, and a plain store
    would lose it.
    """
    return swap_if(branches, position, _UNKNOWN, _PENDING) == _UNKNOWN


@inlined
def candidates_of(words: Any, at: int, group: int, trees: Any, units: int) -> int:
    """The trees 64 * group .. 64 * group + 63 that may lead to something for a state, one bit each."""
    last = len(trees.chunks)
    left = trees.candidates[last, 0, group]
    for chunk in range(last):
        index = gather(words, at, trees.chunks[chunk, 0], trees.chunks[chunk, 1], trees.chunks[chunk, 2], units)
        left &= trees.candidates[chunk, index, group]
    return left


@inlined
def first_of(candidates: int) -> int:
    return lowest_bit(candidates)


@inlined
def without_first(candidates: int) -> int:
    return candidates & (candidates - _ONE)


@inlined
def apply(words: Any, at: int, effect: int, effects: Any, made: Any, into: int, units: int) -> None:
    """Put the state after an effect on `words[at]` into `made[into]`."""
    length = words_of(units)
    for word in range(length):
        made[into, word] = (words[at, word] & effects.writes[effect, word]) | effects.writes[effect, length + word]
    copies = effects.writes[effect, 2 * length]
    for number in range(copies >> _HALF, copies & _LOW):
        copy = effects.copies[number]
        width = copy >> _2_COPY & _COPY_MASK
        value = words[at, copy & _COPY_MASK] >> (copy >> _COPY & _COPY_MASK) & (_ALL >> (_64 - width))
        made[into, copy >> _3_COPY & _COPY_MASK] |= value << (copy >> _4_COPY)
