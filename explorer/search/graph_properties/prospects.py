"""Whether what should stay possible does: from every state, along steps that may be relied on, to a state where it is
so.

This is weaker than "eventually": it does not ask that the steps are taken. It finds the states from which no such step
helps any more, whatever happens: a deletion that cannot complete, a partition that will never have a leader again. A
state where a bound cuts one of the steps is given the benefit of the doubt. Such properties can be judged only once
every state is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

import numpy as np

from highwater.explorer.kernels.arrays import Machine
from highwater.explorer.search.counterexamples import first_trace, in_order
from highwater.explorer.search.engine.engine import Engine, mask_of
from highwater.explorer.search.graph_properties.orbits import states_in
from highwater.explorer.trace import violation_at
from highwater.explorer.verdict import Violation
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Prospect


def hopeless_states(engine: Engine, known: Container[str]) -> tuple[list[Violation], dict[str, int]]:
    """For each prospect that is not known to be violated and that some state lacks: a shortest trace to the first such
    state. And, by prospect, from how many states it is possible only because a bound cuts a step.

    All states must have been expanded.
    """
    first: dict[str, Violation] = {}
    lost: list[Violation] = []
    held_back: Counter[str] = Counter()
    for number, each in enumerate(engine.system.prospects):
        if each.of.name not in known:
            certain, possible = _reaching(engine, number, each)
            held_back[each.of.name] += states_in(engine, possible & (1 - certain))
            if not possible.all():
                lost.append(_lost(engine, each, possible))
    for violation in in_order(engine, lost):
        first.setdefault(violation.property, violation)
    return list(first.values()), {name: count for name, count in held_back.items() if count}


def _reaching(engine: Engine, number: int, prospect: Instance[Prospect]) -> tuple[np.ndarray, np.ndarray]:
    """The rows from which a prospect can be reached along steps within the bounds, marked, and those from which it can
    be if steps that bounds cut may lead there, too.
    """
    marks = _reached(engine, number)
    _mark_reaching(engine, prospect, marks, beyond=False)
    certain = marks.copy()
    if engine.effects.bounds:
        _mark_reaching(engine, prospect, marks, beyond=True)
    return certain, marks


def _mark_reaching(engine: Engine, prospect: Instance[Prospect], marks: np.ndarray, *, beyond: bool) -> None:
    """Mark the rows from which steps along a prospect's actions lead to marked ones.

    Args:
        beyond: whether steps that bounds cut lead there, too; else they lead nowhere.
    """
    store, end = engine.store, engine.store.rows_of_levels
    along = np.array([action.of in prospect.of.along for action in engine.system.actions], np.uint8)
    while marked := engine.code.mark_reaching(
        store.visited, end, marks, along, _machine(engine, beyond=beyond), engine.works[0], store.units
    ):
        engine.learn(engine.actions, engine.works[0].misses[: max(0, -marked)])  # of levels that came from a checkpoint


def _machine(engine: Engine, *, beyond: bool) -> Machine:
    """What is known of the model. If nothing lies beyond the bounds, steps that they cut change nothing. Zeros take no
    time: the column has room for many more effects than there are.
    """
    machine = engine.machine()
    cut = machine.effects.cut if beyond else np.zeros(machine.effects.cut.shape, machine.effects.cut.dtype)
    return machine._replace(effects=machine.effects._replace(cut=cut))


def _lost(engine: Engine, prospect: Instance[Prospect], marks: np.ndarray) -> Violation:
    """The first of the shortest traces to a state from which a prospect is lost."""
    store = engine.store
    level = store.level_of(int(np.argmin(marks)))
    begin, level_end = store.level(level)
    lost = np.zeros(level_end, np.uint8)
    lost[begin:] = marks[begin:level_end] == 0
    return violation_at(engine.system, prospect, first_trace(engine, lost, level))


def _reached(engine: Engine, number: int) -> np.ndarray:
    """The rows where a prospect is reality, marked."""
    store, end = engine.store, engine.store.rows_of_levels
    wanted = mask_of(each == number for each in range(len(engine.system.prospects)))
    engine.count_violations(engine.prospects, wanted, 0, end)  # so that all walks are known
    marks, room = np.zeros(end, np.uint8), np.zeros((1, engine.layout.words), np.uint64)
    engine.code.mark_violating(store.rows, 0, end, wanted, marks, engine.trees(engine.prospects), room, store.units)
    return 1 - marks
