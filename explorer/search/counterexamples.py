"""Which properties the rows of a level violate, and the first of the shortest traces that lead there.

Rows have no parents. Predecessors are found by expanding one level after the other backwards; then plain Python takes,
step by step, the first action that leads to a marked state. So a trace is in real names, was executed, and is the same
for any number of threads.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from highwater.explorer.blame import Contradiction
from highwater.explorer.kernels.arrays import Span, Work
from highwater.explorer.search.engine.engine import Engine, mask_of
from highwater.explorer.system import taken
from highwater.explorer.trace import broken_step, order_of, violation_at
from highwater.explorer.verdict import Step, Violation
from highwater.model.language.declarations import Instance

MOST_FLAGS = 1 << 18  # bytes that stay in a processor's cache


def violations_in(engine: Engine, level: int, known: Container[str]) -> list[Violation]:
    """The violations among the rows of a level, one per property that is not known to be violated, in the order of
    their traces.
    """
    invariants = engine.system.invariants
    if all(instance.of.name in known for instance in invariants):
        return []
    begin, end = engine.store.level(level)
    wanted = mask_of(instance.of.name not in known for instance in invariants)
    counts = sum(
        engine.spread(lambda first, last: engine.count_violations(engine.invariants, wanted, first, last), begin, end)
    )
    names = {instance.of.name: None for instance, count in zip(invariants, counts.tolist(), strict=True) if count}
    return in_order(engine, (_violation(engine, name, level) for name in names))


def broken_steps_in(engine: Engine, level: int, known: Container[str]) -> list[Violation]:
    """The violations among the steps from a level that was expanded, one per step property that is not known to be
    violated.
    """
    broken = np.sum([work.broken for work in engine.works], axis=0, dtype=int).tolist()
    names = {each.of.name: None for each, count in zip(engine.system.step_properties, broken, strict=True) if count}
    return in_order(engine, (_broken_step(engine, name, level) for name in names if name not in known))


def in_order(engine: Engine, violations: Iterable[Violation]) -> list[Violation]:
    """Violations in the order of their traces."""
    return sorted(violations, key=lambda violation: order_of(engine.system, violation))


def deadlock_in(engine: Engine, level: int) -> Violation:
    """The first state at rest among the rows of a level that was expanded, and that has one."""
    begin, end = engine.store.level(level)
    marks = np.zeros(end, np.uint8)
    _learn_walks_from(engine, begin, end)
    engine.code.mark_at_rest(
        engine.store.rows, begin, end, marks, engine.trees(engine.actions), engine.works[0], engine.store.units
    )
    if not marks.any():
        raise not_replayed("no state of its level is at rest", ())
    return violation_at(engine.system, None, first_trace(engine, marks, level))


def _violation(engine: Engine, name: str, level: int) -> Violation:
    """The violation of a property at the end of the first of the shortest traces to one, judged again in plain
    Python.
    """
    begin, end = engine.store.level(level)
    marks = np.zeros(end, np.uint8)
    numbers = [number for number, instance in enumerate(engine.system.invariants) if instance.of.name == name]
    wanted = mask_of(number in numbers for number in range(len(engine.system.invariants)))
    room, trees = np.zeros((1, engine.layout.words), np.uint64), engine.trees(engine.invariants)
    engine.code.mark_violating(engine.store.rows, begin, end, wanted, marks, trees, room, engine.store.units)
    trace = first_trace(engine, marks, level)
    words = engine.words_of(trace[-1].state)
    number = next((number for number in numbers if not engine.invariants.evaluate(number, words)), numbers[0])
    return violation_at(engine.system, engine.system.invariants[number], trace)


def _broken_step(engine: Engine, name: str, level: int) -> Violation:
    """The violation of a step property by the last step of the first of the shortest traces to one, judged again in
    plain Python.
    """
    system, store = engine.system, engine.store
    begin, end = store.level(level)
    marks = np.zeros(end, np.uint8)
    wanted = np.array([each.of.name == name for each in system.step_properties])
    _learn_walks_from(engine, begin, end)
    while missed := engine.code.mark_breaking(
        store.rows, begin, end, wanted, marks, engine.machine(), engine.works[0], store.units
    ):
        engine.learn_steps(engine.works[0].misses[:missed])
    trace = first_trace(engine, marks, level)
    found = broken_step(system, name, trace)
    if found is None:
        raise not_replayed(f"no step from there violates {name}", trace)
    return found


def _learn_walks_from(engine: Engine, begin: int, end: int) -> None:
    """Learn what actions do in the rows begin..end, of which the process that wrote a checkpoint may have expanded
    some.
    """
    marks = np.ones(end, np.uint8)  # of what is marked already, no step is looked up
    _mark_predecessors(engine, begin, end, end, marks)


def _mark_predecessors(engine: Engine, begin: int, end: int, next_end: int, marks: np.ndarray) -> None:
    """Mark the rows begin..end that have a marked successor among the rows end..next_end, with all threads if they are
    many.
    """
    works = engine.works_for(end - begin)
    ends = np.linspace(begin, end, len(works) + 1).astype(int).tolist()
    flags = 1 << (min(MOST_FLAGS, 8 * (next_end - end)) - 1).bit_length()

    def mark(work: Work, first: int, last: int) -> None:
        near = np.zeros(flags, bool)
        span = Span(first, last, end, next_end)
        while missed := engine.code.mark_predecessors(
            engine.store.visited, span, marks, near, engine.machine(), work, engine.store.units
        ):
            engine.learn(engine.actions, work.misses[:missed])

    each = engine.pool.map if engine.pool else map
    list(each(mark, works, ends[:-1], ends[1:]))


def first_trace(engine: Engine, marks: np.ndarray, depth: int) -> tuple[Step, ...]:
    """The first of the shortest traces to a marked row of the level at that depth, in the order of initial states and
    actions.
    """
    system, store = engine.system, engine.store
    for level in range(depth - 1, -1, -1):
        _mark_predecessors(engine, *store.level(level), store.level(level + 1)[1], marks)

    def is_marked(state: Any, level: int) -> bool:
        row, (begin, end) = engine.row_of(state), store.level(level)
        return begin <= row < end and bool(marks[row])

    trace: list[Step] = [Step(None, state) for state in system.initial if is_marked(state, 0)][:1]
    if not trace:
        raise not_replayed("no initial state is its beginning", trace)
    for level in range(1, depth + 1):
        possible = _possible(engine, trace[-1].state)
        after = ((action, taken(system, action, trace[-1].state)) for action in possible)
        step = next(
            (
                Step(each, state)
                for each, state in after
                if isinstance(state, system.domain.cls) and is_marked(state, level)
            ),
            None,
        )
        if step is None:
            raise not_replayed(f"no action leads on after step {level - 1}", trace)
        trace.append(step)
    return tuple(trace)


def _possible(engine: Engine, state: Any) -> Iterator[Instance]:
    """The actions that may be enabled in a plain state, in their order: those that the trees do not rule out."""
    words = engine.words_of(state)
    for number, action in enumerate(engine.system.actions):
        if words is None or not engine.actions.is_idle(number, words):
            yield action


def not_replayed(why: str, trace: Sequence[Step]) -> Contradiction:
    """What to say of a counterexample that the trees have and plain Python has not."""
    at = f"\n  in the state {trace[-1].state}" if trace else ""
    return Contradiction(f"a counterexample was found that plain Python does not replay: {why}{at}")
