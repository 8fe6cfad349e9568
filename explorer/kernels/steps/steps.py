"""Checking step properties on steps: their trees read the state before and the state after, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.encoding import FIRST_EFFECT, NOTHING, PENDING
from highwater.explorer.kernels.making.compiling import inlined
from highwater.explorer.kernels.states.rows import words_of
from highwater.explorer.kernels.steps.trees import (
    ANY_LENGTH,
    apply,
    ask_for,
    candidates_of,
    first_of,
    walk,
    without_first,
)

_NOTHING, _PENDING, _FIRST_EFFECT = np.uint64(NOTHING), np.uint64(PENDING), np.uint64(FIRST_EFFECT)


@inlined
def put_step(words: Any, at: int, effect: int, effects: Any, made: Any, pair: Any, units: int) -> None:
    """Put a state and its successor by an effect side by side into `pair[0]`."""
    apply(words, at, effect, effects, made, 0, units)
    half = words_of(units)
    for word in range(half):
        pair[0, word] = words[at, word]
        pair[0, half + word] = made[0, word]


@inlined
def check_steps(first: int, hits: int, effects: Any, trees: Any, work: Any, units: int) -> int:
    """Walk the step properties' trees for the batch's steps, and note in `work.broken` which are violated.

    Returns:
        0, or -1 where a walk waits for a branch that another thread has asked for, or the number of misses (row,
        action, property). Unless it is 0, all must be checked again once the trees have grown.
    """
    missed, waiting = 0, False
    for hit in range(hits):
        effect, at = work.hit_effect[hit], work.hit_state[hit]
        if effects.cut[effect]:
            continue
        put_step(work.words, at, effect, effects, work.made, work.pair, units)
        for group in range(trees.candidates.shape[2]):
            left = candidates_of(work.pair, 0, group, trees, ANY_LENGTH)
            while left:
                tree = np.int64(first_of(left)) + 64 * group
                left = without_first(left)
                branch, position = walk(work.pair, 0, tree, trees.branches)
                if branch == _NOTHING:
                    continue
                if branch >= _FIRST_EFFECT:
                    work.broken[tree] = 1
                elif branch == _PENDING:
                    waiting = True
                elif missed < len(work.misses) and ask_for(trees.branches, position):
                    work.misses[missed, 0] = first + at
                    work.misses[missed, 1] = work.hit_tree[hit]
                    work.misses[missed, 2] = tree
                    missed += 1
                else:
                    waiting = True  # another thread has asked meanwhile, or has its answer
    return -1 if waiting and missed == 0 else missed


@inlined
def breaks(hit: int, wanted: Any, effects: Any, trees: Any, work: Any, units: int) -> int:
    """1 if one step of the batch violates any of the wanted step properties, 0 if not. Negative if that is not known:
    -1 less the number of a tree whose walk is unknown.
    """
    effect, at = work.hit_effect[hit], work.hit_state[hit]
    if effects.cut[effect]:
        return 0
    unknown = 0
    put_step(work.words, at, effect, effects, work.made, work.pair, units)
    for tree in range(len(wanted)):
        if wanted[tree]:
            branch, _ = walk(work.pair, 0, tree, trees.branches)
            if branch >= _FIRST_EFFECT:
                return 1
            if branch != _NOTHING:
                unknown = -1 - tree
    return unknown
