"""Counterexamples: along parents through the stored levels, then step by step in plain Python before anybody sees
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from explorer.partitioned.worker import PartitionWorker
from explorer.search.durable import CheckpointError
from explorer.system import Contradiction, judge, successor
from explorer.trace import broken_step, order_of, violation_at
from explorer.verdict import DEADLOCK, Step, Violation
from spark.levels import Found, Level, Levels


class Traces:
    """The traces of one search.

    Raises:
        CheckpointError: levels are damaged, or their trace does not replay. So do all methods.
        Contradiction: plain evaluation does not find violated what the kernels did. So do all methods.
    """

    def __init__(self, engine: PartitionWorker, store: Levels) -> None:
        self._engine = engine
        self._store = store

    def in_order(self, found: Iterable[Found], levels: Sequence[Level]) -> list[tuple[Found, Violation]]:
        """Violations of one level, with where they were found, in the order of their traces."""
        violations = ((each, self.violation(each, levels)) for each in found)
        return sorted(violations, key=lambda pair: order_of(self._engine.system, pair[1]))

    def violation(self, found: Found, levels: Sequence[Level]) -> Violation:
        """A violation with the trace along the parents of the state that it was found in, executed and judged again in
        plain Python.
        """
        system = self._engine.system
        trace = self._replay(self._ancestors(found, levels))
        if found.property == DEADLOCK:
            return violation_at(system, None, trace)
        last = trace[-1].state
        for instance in system.invariants:
            if instance.of.name == found.property and not judge(instance, last, system.domain):
                return violation_at(system, instance, trace)
        broken = broken_step(system, found.property, trace)
        if broken is None:
            raise Contradiction(
                f"{found.property} was found violated, but plain evaluation of the trace's end does not agree"
            )
        return broken

    def _ancestors(self, found: Found, levels: Sequence[Level]) -> list[tuple[int, ...]]:
        """The words of a state and of its ancestors, the initial one first."""
        names = [*(f"w{number}" for number in range(self._engine.layout.words)), "parent"]
        number, row, chain = found.part, found.row, []
        for level in levels[found.depth :: -1]:
            part = level.parts[number]
            if part is None or row >= part.rows:
                raise CheckpointError(
                    f"{self._store.uri}: level {level.depth} does not hold the state that level {level.depth + 1} names"
                )
            *words, parents = self._store.read_part(part, names)
            chain.append(tuple(int(column.view(np.uint64)[row]) for column in words))
            number, row = int(parents[row]) >> 32, int(parents[row]) & 0xFFFFFFFF
        return chain[::-1]

    def _replay(self, chain: list[tuple[int, ...]]) -> tuple[Step, ...]:
        """The steps whose states are represented by those of a chain: the first action in the system's order that leads
        on, each time.
        """
        system, representative = self._engine.system, self._engine.representative
        steps = [next((Step(None, state) for state in system.initial if representative(state) == chain[0]), None)]
        for words in chain[1:]:
            if steps[-1] is None:
                break
            after = ((action, successor(action, steps[-1].state, system.domain)) for action in system.actions)
            leads_on = (
                Step(each, s) for each, s in after if isinstance(s, system.domain.cls) and representative(s) == words
            )
            steps.append(next(leads_on, None))
        if steps[-1] is None:
            raise CheckpointError(
                f"{self._store.uri}: the trace in its levels does not replay: no action leads to step {len(steps) - 1}"
            )
        return tuple(steps)
