"""What random walks and their callers share: what a walk goes by, and what it counts. Without machine code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from highwater.explorer.kernels.arrays import EffectArrays, Numbers, Trees, Words

# Positions in `place`: the walk, the step, and the tree that missed or was violated; then how walks ended, and steps
# taken.
WALK, STEP, TREE, AT_DEPTH, AT_REST, AT_BOUND, UNWEIGHTED, STEPS, PLACE = range(9)


class Walks(NamedTuple):
    """Which walks are made.

    Attributes:
        depth: how many steps a walk takes at most.
        weights: of each tree.
        deadlock: 1 if a state at rest is a violation.
        properties, step_properties: how many of them there are.
    """

    depth: int
    seed: int
    initial: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float64]
    deadlock: int
    properties: int
    step_properties: int


class Programs(NamedTuple):
    """What walks go by: the trees of actions, invariants and step properties, and what steps do."""

    trees: Trees
    invariants: Trees
    steps: Trees
    effects: EffectArrays


class Walker(NamedTuple):
    """What one thread needs for its walks, and what it counts.

    Attributes:
        place: see above.
        random: the generator's state.
        words: the walk's state, and the next one.
        pair: both side by side.
        pending: whether a step was chosen that is not taken yet, its tree, and its effect.
        path: the trees taken, by step.
        hit_tree, hit_effect: the enabled steps.
        enabled, taken: per tree, in how many states it was enabled, and how often it was chosen.
        cut_steps: per set of bounds, how many steps it cut.
        ends: the last states of the last walks, which filters are chosen by.
    """

    place: Numbers
    random: Words
    words: Words
    pair: Words
    pending: Numbers
    path: Numbers
    hit_tree: Numbers
    hit_effect: Numbers
    enabled: Numbers
    taken: Numbers
    cut_steps: Numbers
    ends: Words
