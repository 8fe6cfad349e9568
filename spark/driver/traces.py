"""Counterexamples: along parents through the stored levels, then replayed step by step in plain Python."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import attrs
import numpy as np

from highwater.explorer.blame import Contradiction
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.system import judge, taken
from highwater.explorer.trace import broken_step, order_of, violation_at
from highwater.explorer.verdict import DEADLOCK, Step, Violation
from highwater.spark.levels import Found, Level, Levels
from highwater.spark.worker.level import Admitted, Expanded


class Traces:
    """The traces of one search.

    Raises:
        CheckpointError: from all methods: levels are damaged, or their trace does not replay.
        Contradiction: from all methods: the kernels have found a violation, and plain Python does not.
    """

    def __init__(self, worker: PartitionWorker, store: Levels) -> None:
        self._worker = worker
        self._store = store

    def in_order(self, found: Iterable[Found], levels: Sequence[Level]) -> list[tuple[Found, Violation]]:
        """Violations of one level, with the rows that show them, in the order of their traces."""
        violations = ((each, self.violation(each, levels)) for each in found)
        return sorted(violations, key=lambda pair: order_of(self._worker.system, pair[1]))

    def violation(self, found: Found, levels: Sequence[Level]) -> Violation:
        """A violation with its trace, which follows parents from the violating row, replayed in plain Python."""
        system = self._worker.system
        trace = self.along([{words} for words in self._ancestors(found, levels)])
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
        names = [*(f"w{number}" for number in range(self._worker.layout.words)), "parent"]
        number, row, chain = found.file, found.row, []
        for level in levels[found.depth :: -1]:
            file = level.files[number] if number < len(level.files) else None
            if file is None or row >= file.rows:
                raise CheckpointError(
                    f"{self._store.uri}: level {level.depth} does not hold the state that level {level.depth + 1} names"
                )
            *words, parents = self._store.read_file(file, names)
            chain.append(tuple(int(column.view(np.uint64)[row]) for column in words))
            number, row = int(parents[row]) >> 32, int(parents[row]) & 0xFFFFFFFF
        return chain[::-1]

    def along(self, chain: Sequence[Container[tuple[int, ...]]]) -> tuple[Step, ...]:
        """The steps whose states have one of the given representatives, step by step. Each takes the first action that
        fits.
        """
        system, representative = self._worker.system, self._worker.representative
        steps: list[Step | None] = [
            next((Step(None, state) for state in system.initial if representative(state) in chain[0]), None)
        ]
        for words in chain[1:]:
            if steps[-1] is None:
                break
            after = ((action, taken(system, action, steps[-1].state)) for action in system.actions)
            leads_on = (
                Step(each, s) for each, s in after if isinstance(s, system.domain.cls) and representative(s) in words
            )
            steps.append(next(leads_on, None))
        if steps[-1] is None:
            raise CheckpointError(
                f"{self._store.uri}: the trace in its levels does not replay: no action leads to step {len(steps) - 1}"
            )
        return tuple(step for step in steps if step is not None)


@attrs.frozen
class Violations:
    """The violations that one search has found so far, in the order in which it reports them.

    Attributes:
        found: the rows that show them.
        all: the violations with their traces.
    """

    _traces: Traces
    found: tuple[Found, ...] = ()
    all: tuple[Violation, ...] = ()

    def restored(self, found: tuple[Found, ...], levels: Sequence[Level]) -> Violations:
        """Those that a committed level names."""
        return Violations(self._traces, found, tuple(self._traces.violation(each, levels) for each in found))

    def with_those_of_steps(
        self, expanded: Sequence[Expanded], levels: Sequence[Level], *, check_deadlock: bool
    ) -> Violations:
        """With what the expansion of the last level has found: violated step properties, and deadlocks if asked for."""
        depth = len(levels) - 1
        broken = _first((report.source, report.broken) for report in expanded)
        after = self._with([Found(name, depth, *at) for name, at in broken.items()], levels)
        at_rest = _first((report.source, {DEADLOCK: report.at_rest}) for report in expanded if report.at_rest >= 0)
        if check_deadlock and at_rest and not any(found.property == DEADLOCK for found in after.found):
            return after._with([Found(DEADLOCK, depth, *at_rest[DEADLOCK])], levels)
        return after

    def with_those_of_states(self, admitted: Sequence[Admitted], levels: Sequence[Level]) -> Violations:
        """With the violated invariants of the last level's states."""
        first, found = 0, list[tuple[int, dict[str, int]]]()
        for report in admitted:
            found += [(first + number, {name: row}) for name, (number, row) in report.violated.items()]
            first += len(report.files)
        violated = _first(found)
        return self._with([Found(name, len(levels) - 1, *at) for name, at in violated.items()], levels)

    def _with(self, found: list[Found], levels: Sequence[Level]) -> Violations:
        ordered = self._traces.in_order(found, levels)
        return Violations(
            self._traces,
            (*self.found, *(each for each, _ in ordered)),
            (*self.all, *(violation for _, violation in ordered)),
        )


def _first(found: Iterable[tuple[int, dict[str, int]]]) -> dict[str, tuple[int, int]]:
    """By property, the first file with a row that violates it, and that row."""
    first: dict[str, tuple[int, int]] = {}
    for number, rows in sorted(found, key=lambda pair: pair[0]):
        for name, row in rows.items():
            first.setdefault(name, (number, row))
    return first
