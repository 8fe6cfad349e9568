"""Random walks: from an initial state, one random enabled step after the other, every property checked on the way.

A walk's random numbers follow from the seed and the walk's number alone (SplitMix64), and the choice is among the
enabled steps in their order. So a walk is the same whoever runs it, whatever trees are known, and however often it is
interrupted to grow them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.encoding import FIRST_EFFECT, NOTHING
from highwater.explorer.kernels.making.compiling import inlined, kernel
from highwater.explorer.kernels.statuses import (
    BROKEN_INVARIANT,
    BROKEN_STEP,
    DEADLOCK,
    DONE,
    MISSED_ACTION,
    MISSED_INVARIANT,
    MISSED_STEP,
)
from highwater.explorer.kernels.steps.trees import apply, candidates_of, first_of, walk, without_first
from highwater.explorer.kernels.walk_arrays import AT_BOUND, AT_DEPTH, AT_REST, STEP, STEPS, TREE, UNWEIGHTED, WALK

_NOTHING, _FIRST_EFFECT = np.uint64(NOTHING), np.uint64(FIRST_EFFECT)
_GAMMA, _ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_TO_UNIT = 1.0 / (1 << 53)


@inlined
def mixed(value: int) -> int:
    value = (value ^ (value >> _30)) * _MIX_1
    value = (value ^ (value >> _27)) * _MIX_2
    return value ^ (value >> _31)


@inlined
def next_unit(random: Any) -> float:
    """A random number in 0..1, without 1."""
    random[0] += _GAMMA
    return np.float64(mixed(random[0]) >> _11) * _TO_UNIT


@inlined
def begin_walk(seed: int, initial: Any, walker: Any) -> None:
    place, words = walker.place, walker.words
    place[STEP] = 0
    walker.random[0] = mixed(mixed(np.uint64(seed) + _GAMMA) + np.uint64(place[WALK]) * _GAMMA + _ONE)
    first = min(len(initial) - 1, np.int64(next_unit(walker.random) * len(initial)))
    for word in range(words.shape[1]):
        words[0, word] = initial[first, word]


@inlined
def judge_all(words: Any, count: int, trees: Any, walker: Any) -> int:
    """Walk all of so many properties' trees for `words[0]`: 0 if all hold, 1 where a branch is missing, 2 where one is
    violated.
    """
    for tree in range(count):
        branch, _ = walk(words, 0, tree, trees.branches)
        if branch != _NOTHING:
            walker.place[TREE] = tree
            return 2 if branch >= _FIRST_EFFECT else 1
    return 0


@inlined
def list_hits(trees: Any, walker: Any, units: int) -> int:
    """List the steps of the walk's state, cut ones too; -1 where a branch is missing."""
    hits = 0
    for group in range(trees.candidates.shape[2]):
        left = candidates_of(walker.words, 0, group, trees, units)
        while left:
            tree = np.int64(first_of(left)) + 64 * group
            left = without_first(left)
            branch, _ = walk(walker.words, 0, tree, trees.branches)
            if branch >= _FIRST_EFFECT:
                walker.hit_tree[hits] = tree
                walker.hit_effect[hits] = np.int64(branch - _FIRST_EFFECT)
                hits += 1
            elif branch != _NOTHING:
                walker.place[TREE] = tree
                return -1
    return hits


@inlined
def keep_enabled(hits: int, effects: Any, walker: Any) -> int:
    """Count the hits, and keep those that no bound cuts; how many."""
    kept = 0
    for hit in range(hits):
        effect = walker.hit_effect[hit]
        if effects.cut[effect]:
            walker.cut_steps[effects.cut[effect] - 1] += 1
            continue
        walker.enabled[walker.hit_tree[hit]] += 1
        walker.hit_tree[kept] = walker.hit_tree[hit]
        walker.hit_effect[kept] = effect
        kept += 1
    return kept


@inlined
def choose(enabled: int, weights: Any, walker: Any) -> int:
    """One of the enabled steps, by the weights of their trees; -1 if none of them has any."""
    total = 0.0
    for hit in range(enabled):
        total += weights[walker.hit_tree[hit]]
    left = next_unit(walker.random) * total
    last = -1
    for hit in range(enabled):
        weight = weights[walker.hit_tree[hit]]
        if weight > 0.0:
            last = hit
            left -= weight
            if left < 0.0:
                break
    return last


@kernel
def walk_on(end: int, walks: Any, programs: Any, walker: Any, units: int) -> int:
    """Go on from `walker.place` until the walks up to `end` are done, or until Python has to step in.

    Returns:
        DONE; or MISSED_ACTION, MISSED_INVARIANT, MISSED_STEP: grow the tree `place[TREE]` for the state in `words[0]`,
        or for the step in `pair`, and call again; or BROKEN_INVARIANT, BROKEN_STEP, DEADLOCK: the steps in `path` lead
        to a violation.
    """
    place, words = walker.place, walker.words
    while place[WALK] < end:
        if place[STEP] < 0:
            begin_walk(walks.seed, walks.initial, walker)
        while True:
            judged = judge_all(words, walks.properties, programs.invariants, walker)
            if judged:
                return MISSED_INVARIANT if judged == 1 else BROKEN_INVARIANT
            if place[STEP] >= walks.depth:
                place[AT_DEPTH] += 1
                break
            hits = list_hits(programs.trees, walker, units)
            if hits < 0:
                return MISSED_ACTION
            enabled = 1
            if walker.pending[0] == 0:  # chosen once, also where a step property's branch is missing
                walker.pending[1] = -1
                enabled = keep_enabled(hits, programs.effects, walker)
                if enabled == 0 and hits == 0 and walks.deadlock:
                    return DEADLOCK
                chosen = choose(enabled, walks.weights, walker)
                if chosen >= 0:
                    walker.pending[0], walker.pending[1] = 1, walker.hit_tree[chosen]
                    walker.pending[2] = walker.hit_effect[chosen]
            if walker.pending[0] == 0:
                place[AT_REST if hits == 0 else AT_BOUND if enabled == 0 else UNWEIGHTED] += 1
                break
            apply(words, 0, walker.pending[2], programs.effects, words, 1, units)
            for word in range(words.shape[1]):
                walker.pair[0, word] = words[0, word]
                walker.pair[0, words.shape[1] + word] = words[1, word]
            judged = judge_all(walker.pair, walks.step_properties, programs.steps, walker)
            if judged == 1:
                return MISSED_STEP
            walker.path[place[STEP]] = walker.pending[1]
            walker.taken[walker.pending[1]] += 1
            walker.pending[0] = 0
            place[STEP] += 1
            place[STEPS] += 1
            for word in range(words.shape[1]):
                words[0, word] = words[1, word]
            if judged == 2:
                return BROKEN_STEP
        for word in range(words.shape[1]):
            walker.ends[place[WALK] % len(walker.ends), word] = words[0, word]
        place[WALK] += 1
        place[STEP] = -1
    return DONE
