"""Checking invariants on rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.encoding import FIRST_EFFECT, NOTHING, PENDING
from highwater.explorer.kernels.making.compiling import inlined, kernel
from highwater.explorer.kernels.states.stored import read_state, read_states
from highwater.explorer.kernels.steps.batches import filter_all
from highwater.explorer.kernels.steps.trees import ask_for, candidates_of, first_of, walk, without_first

_NOTHING, _PENDING, _FIRST_EFFECT = np.uint64(NOTHING), np.uint64(PENDING), np.uint64(FIRST_EFFECT)


@kernel
def check(
    rows: Any,
    begin: int,
    end: int,
    wanted: Any,
    violations: Any,
    trees: Any,
    room: Any,
    units: int,
) -> int:
    """Walk the wanted invariants' trees for the rows begin..end, and count in `violations` the rows that violate each.

    Returns:
        0, or -1 where a walk waits for a branch that another thread has asked for, or the number of misses. Unless it
        is 0, all must be checked again once the trees have grown.
    """
    words, left, misses = room.words, room.left, room.misses
    missed, waiting = 0, False
    for first in range(begin, end, len(words)):
        states = min(end - first, len(words))
        read_states(rows, first, states, words, room.numbers, units)
        filter_all(states, words, trees, left, units)
        for at in range(states):
            for group in range(len(wanted)):
                candidates = left[at, group] & wanted[group]
                while candidates:
                    tree = np.int64(first_of(candidates)) + 64 * group
                    candidates = without_first(candidates)
                    branch, position = walk(words, at, tree, trees.branches)
                    if branch == _NOTHING:
                        continue
                    if branch >= _FIRST_EFFECT:
                        violations[tree] += 1
                    elif branch == _PENDING:
                        waiting = True
                    elif missed < len(misses) and ask_for(trees.branches, position):
                        misses[missed, 0] = first + at
                        misses[missed, 1] = tree
                        missed += 1
                    else:
                        waiting = True  # another thread has asked meanwhile, or has its answer
    return -1 if waiting and missed == 0 else missed


@inlined
def violates(words: Any, wanted: Any, trees: Any, units: int) -> tuple[bool, bool]:
    """Whether `words[0]` violates any of the wanted invariants, and whether all walks are known that say so."""
    found, known = False, True
    for group in range(len(wanted)):
        left = candidates_of(words, 0, group, trees, units) & wanted[group]
        while left and not found:
            tree = np.int64(first_of(left)) + 64 * group
            left = without_first(left)
            branch = walk(words, 0, tree, trees.branches)[0]
            found = branch >= _FIRST_EFFECT
            known &= found or branch == _NOTHING
    return found, known


@kernel
def mark_violating(rows: Any, begin: int, end: int, wanted: Any, marks: Any, trees: Any, words: Any, units: int) -> int:
    """Mark the rows begin..end that violate any of the wanted invariants.

    Returns:
        How many rows have walks that are not known. Unless it is 0, all must be marked again once `check` knows them.
    """
    unknown = 0
    for row in range(begin, end):
        read_state(rows, row, words, 0, units)
        found, known = violates(words, wanted, trees, units)
        unknown += not known
        if found:
            marks[row] = 1
    return unknown
