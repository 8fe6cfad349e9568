"""Prospects and liveness once every level is known: what is left to judge comes to the driver, where the functions of
the local search judge it.

If the driver has room for all rows, these are left. Otherwise the states where a property waits, and the steps between
these, become tables, which are trimmed by rounds of joins: a state that no state in question leads to is in no cycle,
and neither is one that leads to none. Trimming ends when a round removes next to nothing, or when the driver has room
for the rest. A component never loses a state by it, so that what is fair is the same.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import cast

import numpy as np

from highwater.explorer.kernels.arrays import FAIR
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.graph_properties.edges import Edges, rows_of
from highwater.explorer.search.graph_properties.lassos import lasso_to
from highwater.explorer.search.graph_properties.liveness import FairRows, lassos_in
from highwater.explorer.search.graph_properties.orbits import exact_fairness
from highwater.explorer.search.graph_properties.owed import Marks
from highwater.explorer.search.graph_properties.prospects import hopeless_states
from highwater.explorer.search.graph_properties.stored_graph import StoredGraph
from highwater.explorer.search.levels.coverage import holds_for_nothing
from highwater.explorer.search.states.store import Stopped
from highwater.explorer.system import System
from highwater.explorer.verdict import NO_PREMISE, Budget, Violation
from highwater.model.language.declarations import Instance
from highwater.model.language.graph_properties import Liveness
from highwater.spark.driver.cluster import Cluster
from highwater.spark.driver.prospects import Judged, Run, lost_on
from highwater.spark.driver.tables import Rows, Tables, Waiting
from highwater.spark.driver.traces import Traces
from highwater.spark.levels import Level
from highwater.spark.worker.graph import RETURNS, Wanted

ROWS_IN_THE_DRIVER = 1 << 22


class NoRoom(Stopped):
    """The driver has no room for what is left of a property. `what` says so in words."""

    def __init__(self, what: str) -> None:
        super().__init__("memory of the driver")
        self.what = what


def judged_on(
    cluster: Cluster,
    levels: Sequence[Level],
    known: Collection[str],
    on_progress: Callable[[str], None],
    *,
    teach: bool = False,
) -> Iterator[Judged]:
    """What `highwater.explorer.search.graph_properties` finds, from levels that hold every state: first the states from
    which prospects are lost, then lassos.

    Args:
        teach: whether the driver's engine is to learn the paths of what the driver judges.

    Raises:
        NoRoom: the driver has no room for what trimming leaves.
        CheckpointError: levels are damaged.
        ClusterError: Spark failed.
    """
    worker, system = cluster.worker, cluster.worker.system
    if not any(each.of.name not in known for each in (*system.prospects, *system.liveness)):
        return
    if is_judged_by_executors(levels):
        yield from _on_the_cluster(cluster, levels, known, functools.partial(cluster.do, on_progress=on_progress))
        return
    with _engine_of(worker) as engine:
        on_progress("prospects and liveness are judged on the driver")
        files = (file for level in levels for file in level.files)
        parts = (worker.rows_of(cluster.store.words_of(file, worker.layout.words)) for file in files)
        hold(engine, parts, [0, *np.cumsum([level.rows for level in levels]).tolist()])
        yield *hopeless_states(engine, known), {}
        yield *lassos_in(engine, known), holds_for_nothing(engine)
        if teach:
            programs = enumerate(engine.programs)
            worker.learn_again((number, *example) for number, program in programs for example in program.examples)


def is_judged_by_executors(levels: Sequence[Level]) -> bool:
    """Whether the driver has no room for all states."""
    return sum(level.rows for level in levels) > ROWS_IN_THE_DRIVER


def _on_the_cluster(cluster: Cluster, levels: Sequence[Level], known: Collection[str], run: Run) -> Iterator[Judged]:
    """The same by joins of tables."""
    system, traces = cluster.worker.system, Traces(cluster.worker, cluster.store)
    yield lost_on(cluster, levels, traces, known, run)
    wanted = [number for number, each in enumerate(system.liveness) if each.of.name not in known]
    if not wanted:
        return
    with _engine_of(cluster.worker) as engine, run(lambda: Tables(cluster, levels, Wanted(tuple(wanted)))) as tables:
        trimmed = _Trimmed(cluster.worker, engine, traces, tables, run)
        found = trimmed.lassos([system.liveness[number] for number in wanted])
        yield *found, run(lambda: _without_premise(system, tables.premises()))


@contextmanager
def _engine_of(worker: PartitionWorker) -> Iterator[Engine]:
    """An engine of the whole graph.

    Raises:
        NoRoom: the driver has no room for it.
    """
    engine = Engine(worker.system, Budget(), 8, os.cpu_count() or 1, symmetry=bool(worker.permutations))
    try:
        yield engine
    except Stopped as stopped:
        if isinstance(stopped, NoRoom):
            raise
        raise NoRoom("its graph") from None
    finally:
        engine.close()


def _without_premise(system: System, premises: Sequence[bool]) -> dict[str, str]:
    """The properties of which no instance has a premise that is ever true."""
    of_premise = {each.premise: each.of.name for each in system.liveness if each.premise is not None}
    met = {of_premise[premise] for premise, is_met in zip(system.premises, premises, strict=True) if is_met}
    return {name: NO_PREMISE for name in of_premise.values() if name not in met}


def hold(engine: Engine, parts: Iterable[np.ndarray], level_ends: Sequence[int]) -> None:
    """Give an engine the rows that it is to know, all of which differ, in place of those that it knew.

    Raises:
        Stopped: there is no room for them.
    """
    engine.store.hold_instead(parts, level_ends)
    engine.renew_filters()


class _Trimmed:
    """Judges one property after the other by trimming on the cluster."""

    def __init__(self, worker: PartitionWorker, engine: Engine, traces: Traces, tables: Tables, run: Run) -> None:
        self._worker, self._engine, self._traces, self._tables, self._run = worker, engine, traces, tables, run

    def lassos(self, wanted: Sequence[Instance[Liveness]]) -> tuple[list[Violation], dict[str, int]]:
        """The shortest lasso of each property, the shortest first; and what is held back."""
        found: dict[str, Violation] = {}
        held_back: Counter[str] = Counter()
        for position, each in enumerate(wanted):
            waiting = self._run(functools.partial(Waiting, self._tables, position, each))
            held_back[each.of.name] += waiting.held_back
            lasso = self._lasso(each, waiting)
            if lasso and (each.of.name not in found or lasso.trace_length < found[each.of.name].trace_length):
                found[each.of.name] = lasso
        lassos = sorted(found.values(), key=lambda each: each.trace_length)
        return lassos, {name: count for name, count in held_back.items() if count}

    def _lasso(self, of: Instance[Liveness], waiting: Waiting) -> Violation | None:
        """The first of the lassos with a shortest path to the cycle."""
        left = self._run(waiting.trimmed)
        try:
            graph, judged = self._judged(of, left)
        except Stopped:
            what = f"{len(left):,} states that {waiting.rounds} rounds of trimming have left for {of}"
            raise NoRoom(what) from None
        fair = left.where(graph.state == FAIR)
        ends = [] if waiting.nearest_end is None else [waiting.nearest_end]
        least = min([*fair.distances.tolist(), *ends], default=None)
        if least is None:
            return None
        nearest = fair.where(fair.distances == least)
        prefix = self._traces.along(self._run(lambda: waiting.ways(nearest, least)))
        last = prefix[-1].state
        row = self._engine.row_of(last)
        around = judged.around(last) if row >= 0 and graph.state[row] == FAIR else last.__eq__
        return lasso_to(self._engine.system, of, prefix, around)

    def _judged(self, of: Instance[Liveness], left: Rows) -> tuple[StoredGraph, FairRows]:
        """What the functions of the local search say of the states that are left, which become the engine's rows.

        Raises:
            Stopped: there is no room for them and their steps.
        """
        engine, exact, every = self._engine, exact_fairness(self._engine.system, of), np.ones(len(left), np.uint8)
        hold(engine, [self._worker.rows_of(left.words)], [0, len(left)])
        edges = Edges(engine, rows_of(engine), every, (exact.demands >= 0).astype(np.uint8), engine.store.room)
        graph = StoredGraph(engine, edges, cast("Marks", SimpleNamespace(allowed=every, born=every)), exact)
        needs = of.of.form.asks_to_return
        needed = (left.says & RETURNS != 0).astype(np.uint8) if needs else np.zeros(0, np.uint8)
        return graph, FairRows(engine, of, graph, needed)
