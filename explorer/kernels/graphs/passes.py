"""Searching the graph of all rows where its steps do not fit: each kernel looks at the steps of one range of rows,
which are forgotten then. What is kept is a few bytes per row.

Trimming leaves what may be in a component: a row that no open row leads to is in none, nor is one that leads to no open
row. A row where a behaviour may end is noted before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import CUT, ENDS, HELD_BACK, MANY, OPEN, OUT, OUTSIDE
from highwater.explorer.kernels.making.compiling import kernel

_CUT, _OUTSIDE = np.uint32(CUT), np.uint32(OUTSIDE)


@kernel
def measure_range(
    steps: Any, begin: int, end: int, sources: Any, level: int, fairness: Any, measured: Any
) -> tuple[int, int]:
    """Go one step on from the rows begin..end that are sources, whose distance is `level`.

    Args:
        steps: the steps of these rows, the first for `begin`. None leads to a row that is not allowed.
        measured: gets the distances of the rows that are reached, the steps to each, and what is noted of these.

    Returns:
        The first of the rows that were reached, and the one after the last; the latter is 0 if there are none.
    """
    distance, preceding = measured.distance, measured.preceding
    low, high = len(distance), 0
    for row in range(begin, end):
        if not sources[row]:
            continue
        cut, free = False, False
        for edge in range(steps.first[row - begin], steps.first[row - begin + 1]):
            target = steps.targets[edge]
            if fairness.demands[steps.labels[edge]] >= 0:
                cut |= target == _CUT
                free |= target != _CUT
            if target >= _OUTSIDE:
                continue
            preceding[target] += preceding[target] < MANY
            if distance[target] < 0:
                distance[target] = level + 1
                low, high = min(low, np.int64(target)), max(high, np.int64(target) + 1)
        measured.notes[row] = 0 if free else HELD_BACK if cut else ENDS
    return low, high


@kernel
def drop_unpreceded(steps: Any, begin: int, end: int, sources: Any, state: Any, preceding: Any) -> int:
    """Put out the rows begin..end that are sources, to which no open row leads; how many they are.

    Args:
        preceding: how many steps of open rows lead to each row; what has reached `MANY` stays.
    """
    dropped = 0
    for row in range(begin, end):
        if not sources[row]:
            continue
        state[row] = OUT
        dropped += 1
        for edge in range(steps.first[row - begin], steps.first[row - begin + 1]):
            target = steps.targets[edge]
            if target < _OUTSIDE:
                preceding[target] -= preceding[target] < MANY
    return dropped


@kernel
def drop_leading_nowhere(steps: Any, begin: int, end: int, sources: Any, state: Any, leads_to: Any) -> int:
    """Put out the rows begin..end that are sources and lead to no open row, the last one first, as most steps lead to
    later rows; how many they are.

    Args:
        sources: by row, whether it was open when its steps were listed.
        leads_to: gets for each other source the first of the open rows that it leads to. Until that one is put out, the
            source need not be looked at again.
    """
    dropped = 0
    for row in range(end - 1, begin - 1, -1):
        if not sources[row]:
            continue
        first = _OUTSIDE
        for edge in range(steps.first[row - begin], steps.first[row - begin + 1]):
            target = steps.targets[edge]
            if target < first and state[target] == OPEN:
                first = target
        if first < _OUTSIDE:
            leads_to[row] = first
        else:
            state[row] = OUT
            dropped += 1
    return dropped


@kernel
def mark_ways_in(steps: Any, begin: int, end: int, sources: Any, distance: Any, marks: Any) -> None:
    """Mark the rows begin..end that are sources and from which a step leads on to a marked row that is one step
    farther.
    """
    for row in range(begin, end):
        if not sources[row]:
            continue
        for edge in range(steps.first[row - begin], steps.first[row - begin + 1]):
            target = steps.targets[edge]
            if target < _OUTSIDE and distance[target] == distance[row] + 1 and marks[target]:
                marks[row] = 1
