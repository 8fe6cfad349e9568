"""From one level to the next, wherever the rows are: expanding a part gives blocks of records, sorted by owner, and
admitting blocks gives the next level's part.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import attrs
import numpy as np

from explorer.partitioned.visited import Visited
from explorer.partitioned.worker import PartitionWorker
from explorer.search.counts import Counts
from spark.levels import Levels, Part

LARGEST_BLOCK = 1 << 20


@attrs.frozen
class Block:
    """Records for one owner, with where they come from: the part that was expanded, and their number among its
    blocks.
    """

    owner: int
    source: int
    number: int
    records: np.ndarray


@attrs.frozen
class Expanded:
    """What a task that expanded a part has counted.

    Attributes:
        at_rest: the first row at rest, or -1.
        broken: by step property, the first row with a step that violates it.
    """

    source: int
    counts: Counts
    at_rest: int
    broken: dict[str, int]
    paths: int
    seconds: float


@attrs.frozen
class Admitted:
    """What a task that admitted records has done.

    Attributes:
        part: the file with the new rows, if there are any.
        states: how many states the new rows stand for.
        violated: by property, the first of the new rows that violates it.
        visited: bytes of the visited set.
        caught_up: rows that the visited set was behind and read from storage.
    """

    partition: int
    part: Part | None
    states: int
    violated: dict[str, int]
    paths: int
    visited: int
    caught_up: int
    seconds: float


def expand_part(
    engine: PartitionWorker, rows: np.ndarray, source: int, owners: int, known: Sequence[str]
) -> Iterator[Block | Expanded]:
    """The blocks of a part, then what was counted."""
    started, paths, number = time.perf_counter(), engine.paths, 0
    most = LARGEST_BLOCK // 4
    for owner, records in engine.expand(rows, owners):
        width = engine.record_width
        for first in range(0, len(records), most - most % width):
            yield Block(owner, source, number, records[first : first + most - most % width])
            number += 1
    counts, at_rest = engine.take_counts()
    yield Expanded(
        source, counts, at_rest, engine.broken(rows, known), engine.paths - paths, time.perf_counter() - started
    )


def admit_blocks(
    engine: PartitionWorker,
    visited: Visited,
    blocks: Iterable[Block],
    levels: Levels,
    depth: int,
    partition: int,
    known: Sequence[str],
) -> Admitted:
    """Admit the new among the records, check them, and write them as a part of the level at that depth.

    The order in which rows are admitted decides parents and positions, so blocks are taken in an order that is always
    the same.
    """
    started, paths, begin = time.perf_counter(), engine.paths, visited.end
    ordered = sorted(blocks, key=lambda block: (block.source, block.number))
    parents, actions = visited.admit([(block.source, block.records) for block in ordered])
    rows = visited.rows[begin * len(visited.units) : visited.end * len(visited.units)].copy()
    admitted = write_rows(engine, rows, parents, actions, levels, depth, partition, known)
    return attrs.evolve(
        admitted,
        paths=engine.paths - paths,
        visited=4 * visited.end * len(visited.units) + visited.table.nbytes,
        seconds=time.perf_counter() - started,
    )


def write_rows(
    engine: PartitionWorker, rows: np.ndarray, parents: np.ndarray, actions: np.ndarray, levels: Levels, depth: int,
    partition: int, known: Sequence[str],
) -> Admitted:  # fmt: skip
    """Check new rows, and write them as a part of the level at that depth."""
    if not len(rows):
        return Admitted(partition, None, 0, {}, 0, 0, 0, 0.0)
    words, orbits = engine.columns_of(rows), engine.orbits(rows)
    violated = engine.violated(rows, known)
    part = levels.write_part(depth, f"part-{partition:05d}", words, parents, actions, orbits)
    return Admitted(partition, part, int(orbits.sum()), violated, 0, 0, 0, 0.0)
