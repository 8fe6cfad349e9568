"""Liveness once every level is known: what is left to judge comes to the driver, where the functions of the local
search judge it.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence

import numpy as np

from explorer.partitioned.worker import PartitionWorker
from explorer.search.engine import Engine
from explorer.search.liveness import lassos_in
from explorer.search.store import Stopped
from explorer.verdict import Budget, Violation
from spark.levels import Level, Levels

ROWS_IN_THE_DRIVER = 1 << 22


def lassos_on(
    worker: PartitionWorker, store: Levels, levels: Sequence[Level], known: Container[str]
) -> tuple[list[Violation], dict[str, int]]:
    """What `explorer.search.liveness.lassos_in` finds, from levels that hold every state.

    Raises:
        Stopped: the driver has no room for what is left to judge.
        CheckpointError: levels are damaged.
    """
    if all(each.of.name in known for each in worker.system.liveness):
        return [], {}
    if sum(level.rows for level in levels) > ROWS_IN_THE_DRIVER:
        raise Stopped("memory")
    engine = Engine(worker.system, Budget(), 8, os.cpu_count() or 1, symmetry=bool(worker.permutations))
    try:
        parts = (worker.rows_of(store.words_of(part, worker.layout.words)) for part in _parts(levels))
        hold(engine, parts, [0, *np.cumsum([level.rows for level in levels]).tolist()])
        return lassos_in(engine, known)
    finally:
        engine.close()


def _parts(levels: Sequence[Level]) -> Iterator:
    return (part for level in levels for part in level.parts if part)


def hold(engine: Engine, parts: Iterable[np.ndarray], level_ends: Sequence[int]) -> None:
    """Give an engine the rows that it is to know, all of which differ.

    Raises:
        Stopped: there is no room for them.
    """
    store, begin = engine.store, 0
    if level_ends[-1] * len(store.units) > len(store.rows):
        raise Stopped("memory")
    for rows in parts:
        store.rows[begin : begin + len(rows)] = rows
        begin += len(rows)
    store.restore(level_ends, level_ends[-1])
    engine.renew_filters()
