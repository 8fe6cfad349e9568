"""The same steps in another order: of the orders that lead to the same end, one in which the actor changes least
often.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from highwater.explorer.analysis.causes import instance_of
from highwater.explorer.system import Cut, System, judge_end, successor, taken
from highwater.explorer.trace import violation_at
from highwater.explorer.verdict import DEADLOCK, Step, Violation

MOST_EVALUATIONS = 5_000  # some tenths of a second


def switches(steps: Sequence[Step]) -> int:
    """How often the actor changes along a trace."""
    actors = [step.taken.actor for step in steps if step.action]
    return sum(a != b for a, b in itertools.pairwise(actors))


def with_fewest_switches(system: System, violation: Violation) -> Violation:
    """The violation with its trace reordered, if another order has fewer changes of actor; otherwise as it is.

    Each actor's own steps stay in order. The new trace begins and ends in the same states, was executed step by step,
    and does not violate the property earlier. Where there are too many orders to try, the halves of the trace are put
    in order one after the other.
    """
    if violation.back_to is not None:
        return violation  # a cycle is what it is
    watched = [i for i in system.safety if i.of.name == violation.property]
    violated = instance_of(system, violation.property, violation.arguments, violation.trace)
    if violated is None and violation.property != DEADLOCK:
        return violation  # false for another reason than where the trace ends

    def goes_on(before: Any, after: Any) -> bool:
        """Whether a step may stand in the middle of the trace."""
        return all(judge_end(system, instance, before, after) for instance in watched)

    def ends(before: Any, after: Any) -> bool:
        """Whether a step may be the last one."""
        return violated is None or not judge_end(system, violated, before, after)

    trace = _reordered(system, violation.trace, goes_on, ends)
    if switches(trace) >= switches(violation.trace):
        return violation
    return violation_at(system, violated, trace)


Judgement = Callable[[Any, Any], bool]


@attrs.frozen(order=True)
class _Node:
    """Some steps, done in some order: how often the actor changes at least on any way to the end, and how it came
    about.
    """

    at_least: int
    order: tuple[int, ...]
    so_far: int
    done: tuple[int, ...] = attrs.field(order=False)
    last: int = attrs.field(order=False)
    state: Any = attrs.field(order=False)


def _reordered(system: System, trace: tuple[Step, ...], goes_on: Judgement, ends: Judgement) -> tuple[Step, ...]:
    """The steps in an order with fewest changes of actor that each actor's own order allows, or halves of them so."""
    start, *steps = trace
    if switches(trace) <= len({step.taken.actor for step in steps}) - 1:
        return trace
    try:
        return (start, *_search(system, start.state, steps, goes_on, ends))
    except _TooMany:
        middle = len(steps) // 2
        first = _reordered(system, (start, *steps[:middle]), goes_on, goes_on)
        second = _reordered(system, (first[-1], *steps[middle:]), goes_on, ends)
        return (*first, *second[1:])


class _TooMany(Exception):
    """There are too many orders to try."""


def _search(system: System, start: Any, steps: Sequence[Step], goes_on: Judgement, ends: Judgement) -> list[Step]:
    """A* over how many of its steps each actor has done."""
    names = list(dict.fromkeys(step.taken.actor for step in steps))
    queues = [[number for number, step in enumerate(steps) if step.taken.actor == name] for name in names]
    evaluations = 0
    heap = [_Node(0, (), 0, (0,) * len(names), -1, start)]
    seen = set()
    while heap:
        node = heapq.heappop(heap)
        if len(node.order) == len(steps):
            return _executed(system, start, [steps[number] for number in node.order])
        if (node.done, node.last, node.state) in seen:
            continue
        seen.add((node.done, node.last, node.state))
        for actor, queue in enumerate(queues):
            if node.done[actor] == len(queue):
                continue
            evaluations += 1
            if evaluations > MOST_EVALUATIONS:
                raise _TooMany
            number = queue[node.done[actor]]
            after = taken(system, steps[number].taken, node.state)
            if after is None or isinstance(after, Cut):
                continue
            is_end = len(node.order) + 1 == len(steps)
            if (after != steps[-1].state or not ends(node.state, after)) if is_end else not goes_on(node.state, after):
                continue
            done = (*node.done[:actor], node.done[actor] + 1, *node.done[actor + 1 :])
            so_far = node.so_far + (actor != node.last and node.last >= 0)
            waiting = sum(len(other) > count for other, count in zip(queues, done, strict=True))
            at_least = so_far + waiting - (len(queue) > done[actor])
            heapq.heappush(heap, _Node(at_least, (*node.order, number), so_far, done, actor, after))
    raise AssertionError("the order given is one of those tried")


def _executed(system: System, state: Any, steps: Sequence[Step]) -> list[Step]:
    """Steps executed in this order."""
    trace = []
    for step in steps:
        state = successor(step.taken, state, system.domain)
        trace.append(Step(step.action, state))
    return trace
