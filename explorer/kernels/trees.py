"""Walking decision trees, and applying what a step does. `explorer.compiler.program` says how both are encoded."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.compiler.program import BRANCHES_FIELD, NODE, SHIFT_FIELD, WIDTH_FIELD, WORD_FIELD
from explorer.compiler.widening import JUMP, KIND_AT, WIDE
from explorer.kernels.compiling import part
from explorer.kernels.intrinsics import lowest_bit, pext

_WORD_MASK = np.uint64((1 << WORD_FIELD) - 1)
_SHIFT_MASK = np.uint64((1 << SHIFT_FIELD) - 1)
_WIDTH_MASK = np.uint64((1 << WIDTH_FIELD) - 1)
_WORD_BITS = np.uint64(WORD_FIELD)
_WIDTH_AT = np.uint64(WORD_FIELD + SHIFT_FIELD)
_BRANCHES_AT = np.uint64(BRANCHES_FIELD)
_NOT_NODE = np.uint64(NODE - 1)
_TOP = np.uint64(63)
_KIND_AT, _INSIDE = np.uint64(KIND_AT), np.uint64((1 << KIND_AT) - 1)
_JUMP, _WIDE = np.uint64(JUMP), np.uint64(WIDE)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@part
def follow(words: Any, at: int, node: int) -> int:
    """The position of the branch that a state takes at a node."""
    value = words[at, node & _WORD_MASK] >> ((node >> _WORD_BITS) & _SHIFT_MASK)
    return ((node & _NOT_NODE) >> _BRANCHES_AT) + (value & ((_ONE << ((node >> _WIDTH_AT) & _WIDTH_MASK)) - _ONE))


@part
def is_wide(entry: int) -> bool:
    return entry >> _KIND_AT == _WIDE


@part
def is_jump(entry: int) -> bool:
    return entry >> _KIND_AT == _JUMP


@part
def inside(entry: int) -> int:
    """The branch, position or number that an entry holds besides its kind."""
    return entry & _INSIDE


@part
def gather(words: Any, at: int, gatherings: Any, number: int) -> int:
    """An index made of bits of a state."""
    low = pext(words[at, gatherings[number, 0]], gatherings[number, 1])
    high = pext(words[at, gatherings[number, 2]], gatherings[number, 3])
    return low | high << gatherings[number, 4]


@part
def follow_wide(words: Any, at: int, entry: int, trees: Any) -> int:
    """The entry that a state takes at a wide node."""
    node = inside(entry)
    return np.uint64(trees.entries[trees.nodes[node, 5] + gather(words, at, trees.nodes, node)])


@part
def is_node(branch: int) -> bool:
    return branch >> _TOP != _ZERO


@part
def walk(words: Any, at: int, tree: int, branches: Any) -> tuple[int, int]:
    """Follow one tree for one state: the branch where it ends, and its position."""
    position = np.uint64(tree)
    branch = branches[position]
    while is_node(branch):
        position = follow(words, at, branch)
        branch = branches[position]
    return branch, position


@part
def candidates_of(words: Any, at: int, group: int, trees: Any) -> int:
    """The trees 64 * group .. 64 * group + 63 that may lead to something for a state, one bit each."""
    last = len(trees.chunks)
    left = trees.candidates[last, 0, group]
    for chunk in range(last):
        left &= trees.candidates[chunk, gather(words, at, trees.chunks, chunk), group]
    return left


@part
def first_of(candidates: int) -> int:
    return lowest_bit(candidates)


@part
def without_first(candidates: int) -> int:
    return candidates & (candidates - _ONE)


@part
def apply(words: Any, at: int, effect: int, effects: Any, made: Any, into: int, units: Any) -> None:
    """Put the state after an effect on `words[at]` into `made[into]`."""
    for word in range((len(units) + 1) // 2):
        made[into, word] = (words[at, word] & effects.keep[effect, word]) | effects.put[effect, word]
    for copy in range(effects.first_copy[effect], effects.first_copy[effect + 1]):
        value = (words[at, effects.copies[copy, 0]] >> effects.copies[copy, 1]) & effects.copies[copy, 2]
        made[into, effects.copies[copy, 3]] |= value << effects.copies[copy, 4]
