"""Searching the graph of all rows: how far rows are, which strongly connected components there are,
and which of them are fair.

Every step is looked at a few times at most, whatever the number of demands, but for strong ones:
each may need one more turn over what is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import (
    CLASS_SEEN,
    CUT,
    DEMAND_SEEN,
    FAIR,
    FULL,
    NOW,
    OPEN,
    OUT,
    OUTSIDE,
    SOME,
    TAKEN,
    Question,
)
from highwater.explorer.kernels.making.compiling import inlined, kernel

_CUT, _OUTSIDE = np.uint32(CUT), np.uint32(OUTSIDE)
_JUDGED = np.uint32(2**32 - 1)


@kernel
def measure(graph: Any, ends: Any, allowed: Any, born: Any, distance: Any, queue: Any) -> int:
    """Breadth first, the distance of each allowed row along allowed rows, from those where a path may begin.

    Args:
        ends: where each level ends. A path that begins with a row is as long as the row's level from the start.
        born: by row, whether a path may begin there.
        distance: -1 for each row; gets the distances.
        queue: gets the rows in the order of their distances.

    Returns:
        How many rows were reached.
    """
    done, known, level = 0, 0, 0
    while done < known or level + 1 < len(ends):
        if level + 1 < len(ends):
            for row in range(ends[level], ends[level + 1]):
                if born[row] and distance[row] < 0:
                    distance[row] = level
                    queue[known] = row
                    known += 1
        until = known
        while done < until:
            row = queue[done]
            done += 1
            for edge in range(graph.first[row], graph.first[row + 1]):
                target = graph.targets[edge]
                if target < _OUTSIDE and allowed[target] and distance[target] < 0:
                    distance[target] = level + 1
                    queue[known] = target
                    known += 1
        level += 1
    return known


@kernel
def mark_ways(graph: Any, queue: Any, known: int, distance: Any, marks: Any) -> None:
    """Mark the rows from which a shortest path leads on to a marked row. `queue` has the rows in the order of their
    distances.
    """
    for number in range(known - 1, -1, -1):
        row = queue[number]
        for edge in range(graph.first[row], graph.first[row + 1]):
            target = graph.targets[edge]
            if target < _OUTSIDE and distance[target] == distance[row] + 1 and marks[target]:
                marks[row] = 1


@kernel
def mark_held_back(graph: Any, fairness: Any, state: Any, marks: Any) -> int:
    """Mark the open rows where bounds cut all steps that are relied on, and there is one; how many they are."""
    total = 0
    for row in range(len(state)):
        if state[row] != OPEN:
            continue
        cut, free = False, False
        for edge in range(graph.first[row], graph.first[row + 1]):
            if fairness.demands[graph.labels[edge]] >= 0:
                cut |= graph.targets[edge] == _CUT
                free |= graph.targets[edge] != _CUT
        if cut and not free:
            marks[row] = 1
            total += 1
    return total


@inlined
def _is_inside(target: int, component: int, number: Any, low: Any, state: Any) -> bool:
    """Whether a target belongs to the component that is being judged."""
    return target < _OUTSIDE and state[target] == OPEN and number[target] == _JUDGED and low[target] == component


@inlined
def _count(rows: Any, bottom: int, top: int, component: int, asked: Any, room: Any, state: Any, counted: Any) -> None:
    """Count by class where in a component its demands are enabled, and whether one is taken."""
    graph, fairness = asked.graph, asked.fairness
    for of in range(len(counted)):
        counted[of, FULL] = counted[of, SOME] = counted[of, TAKEN] = 0
        counted[of, DEMAND_SEEN] = counted[of, CLASS_SEEN] = -1
    for place in range(bottom, top):
        row = rows[place]
        for edge in range(graph.first[row], graph.first[row + 1]):
            demand = fairness.demands[graph.labels[edge]]
            if demand < 0:
                continue
            of = fairness.classes[demand]
            counted[of, TAKEN] |= _is_inside(graph.targets[edge], component, room.number, room.low, state)
            if counted[demand, DEMAND_SEEN] == row:
                continue
            counted[demand, DEMAND_SEEN] = row
            if counted[of, CLASS_SEEN] != row:
                counted[of, CLASS_SEEN] = row
                counted[of, NOW] = 0
            counted[of, SOME] = 1
            counted[of, NOW] += 1
            counted[of, FULL] += counted[of, NOW] == fairness.sizes[of]


@inlined
def _owes(row: int, graph: Any, fairness: Any, counted: Any) -> bool:
    """Whether a strong demand is enabled in a row that its component never meets."""
    owes = False
    for edge in range(graph.first[row], graph.first[row + 1]):
        demand = fairness.demands[graph.labels[edge]]
        if demand >= 0:
            of = fairness.classes[demand]
            owes |= fairness.strong[of] != 0 and counted[of, TAKEN] == 0
    return owes


@inlined
def _is_alone(row: int, graph: Any) -> bool:
    """Whether a component of one row has no step to itself. There may be one where rows stand for several states."""
    alone = True
    for edge in range(graph.first[row], graph.first[row + 1]):
        alone &= graph.targets[edge] != row
    return alone


@inlined
def _judge(rows: Any, bottom: int, top: int, component: int, asked: Any, room: Any, state: Any, counted: Any) -> int:
    """Judge one component; how many of its rows are to be looked at again."""
    graph, fairness, needed = asked.graph, asked.fairness, asked.needed
    lacks = len(needed) > 0
    for place in range(bottom, top):
        row = rows[place]
        room.number[row], room.low[row] = _JUDGED, component
        if len(needed):
            lacks &= needed[row] == 0
    out, owing = lacks, 0
    if not lacks and top - bottom == 1 and _is_alone(rows[bottom], graph):
        for edge in range(graph.first[rows[bottom]], graph.first[rows[bottom] + 1]):
            out |= fairness.demands[graph.labels[edge]] >= 0
    elif not lacks:
        _count(rows, bottom, top, component, asked, room, state, counted)
        for of in range(len(fairness.sizes)):
            missed = counted[of, TAKEN] == 0
            out |= missed and fairness.strong[of] == 0 and counted[of, FULL] == top - bottom
            owing |= missed and fairness.strong[of] != 0 and counted[of, SOME] != 0
    again = 0
    for place in range(bottom, top):
        row = rows[place]
        if out or (owing and _owes(row, graph, fairness, counted)):
            state[row] = OUT
        elif owing:
            again += 1
        else:
            state[row] = FAIR
    return again


@kernel
def judge_components(
    graph: Any, fairness: Any, needed: Any, state: Any, todo: Any, named: int, room: Any, counted: Any
) -> tuple[int, int]:
    """Judge the strongly connected components of the open rows, which are among `todo`.

    Tarjan's algorithm, without recursion. A component is out if a weak demand is enabled everywhere in it and
    never taken, and if it has no row that is needed. If a strong demand is enabled in it and never taken, the
    rows where it is are out; its other rows stay open, to be looked at again. Any other component is fair.

    Args:
        needed: by row, whether a component needs one such row; empty if none is needed.
        state: OUT, OPEN or FAIR by row.
        named: how many components have got a number before.
        room: `number` is 0 for each open row. `low` gets the number of each row's component.
        counted: room for `TALLIED` numbers by demand.

    Returns:
        How many rows are still open, and how many components have a number.
    """
    number, low, stack, calls, taken = room.number, room.low, room.stack, room.calls, room.taken
    asked = Question(graph, fairness, needed)
    again, components, clock = 0, named, 0
    for root in range(len(todo)):
        if state[todo[root]] != OPEN or number[todo[root]] != 0:
            continue
        clock += 1
        calls[0] = stack[0] = todo[root]
        number[todo[root]] = low[todo[root]] = clock
        taken[0] = 0
        depth, height = 0, 1
        while depth >= 0:
            row = calls[depth]
            edge = np.int64(graph.first[row]) + taken[depth]
            if edge < graph.first[row + 1]:
                taken[depth] += 1
                target = graph.targets[edge]
                if target >= _OUTSIDE or state[target] != OPEN:
                    continue
                if number[target] == 0:
                    clock += 1
                    number[target] = low[target] = clock
                    stack[height] = target
                    height += 1
                    depth += 1
                    calls[depth] = target
                    taken[depth] = 0
                elif number[target] != _JUDGED:
                    low[row] = min(low[row], number[target])
                continue
            depth -= 1
            if depth >= 0:
                low[calls[depth]] = min(low[calls[depth]], low[row])
            if low[row] == number[row]:
                bottom = height - 1
                while stack[bottom] != row:
                    bottom -= 1
                components += 1
                again += _judge(stack, bottom, height, components, asked, room, state, counted)
                height = bottom
    return again, components
