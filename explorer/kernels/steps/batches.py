"""Walking the trees for many states at once, in passes over all of them: what one walk waits for, the others' work
hides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.encoding import FIRST_EFFECT, NOTHING, PENDING, UNKNOWN
from highwater.explorer.kernels.arrays import MISSES
from highwater.explorer.kernels.making.compiling import inlined
from highwater.explorer.kernels.steps.trees import (
    ask_for,
    first_of,
    follow,
    follow_wide,
    gather,
    inside,
    is_jump,
    is_node,
    is_wide,
    without_first,
)

_UNKNOWN, _NOTHING, _PENDING = np.uint32(UNKNOWN), np.uint32(NOTHING), np.uint32(PENDING)
_FIRST_EFFECT = np.uint32(FIRST_EFFECT)


@inlined
def filter_all(states: int, words: Any, trees: Any, left: Any, units: int) -> None:
    """Put the trees that may lead to something for `words[at]` into `left[at]`, one bit each: chunk by chunk, each for
    all states.
    """
    last = len(trees.chunks)
    for group in range(trees.candidates.shape[2]):
        for at in range(states):
            left[at, group] = trees.candidates[last, 0, group]
        for chunk in range(last):
            low, high, where = trees.chunks[chunk, 0], trees.chunks[chunk, 1], trees.chunks[chunk, 2]
            candidates = trees.candidates[chunk]
            for at in range(states):
                left[at, group] &= candidates[gather(words, at, low, high, where, units), group]


@inlined
def begin_walks(states: int, trees: Any, work: Any, units: int) -> tuple[int, int]:
    """List the trees that the filter leaves, state by state, and make the first step of each walk: how many there are,
    and how many go on through wide nodes.
    """
    listed, walking = 0, 0
    for at in range(states):
        for group in range(work.left.shape[1]):
            left = work.left[at, group]
            while left:
                tree = first_of(left) + np.uint64(64 * group)
                left = without_first(left)
                branch = follow_wide(work.words, at, tree, trees, units)
                work.hit_state[listed] = at
                work.hit_tree[listed] = tree
                work.branch[listed] = branch
                work.walking[walking] = listed
                walking += is_wide(branch)
                listed += 1
    return listed, walking


@inlined
def walk_all(listed: int, walking: int, trees: Any, work: Any, units: int) -> None:
    """Walk on: first all walks go through wide nodes, one step of each at a time; then those that jump go on through
    the trees.
    """
    while walking:
        still = 0
        for number in range(walking):
            walker = work.walking[number]
            branch = follow_wide(work.words, work.hit_state[walker], inside(work.branch[walker]), trees, units)
            work.branch[walker] = branch
            work.walking[still] = walker
            still += is_wide(branch)
        walking = still
    for number in range(listed):
        work.walking[walking] = number
        walking += is_jump(work.branch[number])
    for number in range(walking):
        walker = work.walking[number]
        position = np.uint64(inside(work.branch[walker]))
        branch = trees.branches[position]
        while is_node(branch):
            position = follow(work.words, work.hit_state[walker], branch)
            branch = trees.branches[position]
        work.position[walker] = position
        work.branch[walker] = branch


@inlined
def is_known(branch: int) -> bool:
    return branch != _UNKNOWN and branch != _PENDING


@inlined
def list_hits(first: int, states: int, trees: Any, work: Any, units: int, alone: bool) -> tuple[int, bool]:
    """Walk the trees for the batch's states: the number of hits, and whether every walk ended.

    A thread that is not alone leaves branches that another one has asked for to that one.
    """
    filter_all(states, work.words, trees, work.left, units)
    listed, walking = begin_walks(states, trees, work, units)
    walk_all(listed, walking, trees, work, units)
    resolved = True
    for number in range(listed):
        resolved &= is_known(work.branch[number])
    if not resolved:
        work.counts[MISSES] = _list_misses(first, listed, alone, trees, work)
        return 0, False
    hits = 0
    for number in range(listed):
        branch = work.branch[number]
        work.hit_state[hits] = work.hit_state[number]
        work.hit_tree[hits] = work.hit_tree[number]
        work.hit_effect[hits] = branch - _FIRST_EFFECT
        hits += branch != _NOTHING
    return hits, True


@inlined
def _list_misses(first: int, listed: int, alone: bool, trees: Any, work: Any) -> int:
    """List walks whose branch is not known, as far as there is room, and mark the branches; how many."""
    missed = 0
    for number in range(listed):
        if not is_known(work.branch[number]) and missed < len(work.misses):
            position = work.position[number]
            if ask_for(trees.branches, position) or alone:
                work.misses[missed, 0] = first + work.hit_state[number]
                work.misses[missed, 1] = work.hit_tree[number]
                missed += 1
    return missed
