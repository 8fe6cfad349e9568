"""From one level to the next, on executors and on the driver: expanding a file makes blocks of records, sorted by
owner, and admitting blocks makes the next level's file.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import attrs
import numpy as np

from highwater.explorer.partitioned.visited import Visited
from highwater.explorer.partitioned.worker import Example, PartitionWorker
from highwater.explorer.search.states.counts import Counts
from highwater.spark.levels import LevelFile, Levels

LARGEST_BLOCK = 1 << 20


@attrs.frozen
class Block:
    """Records for one owner, with their source: the expanded file, and the block's number there."""

    owner: int
    source: int
    number: int
    records: np.ndarray


@attrs.frozen
class Expanded:
    """The report of a task that has expanded a file.

    Attributes:
        at_rest: the first row at rest, or -1.
        broken: by step property, the first row with a step that violates it.
        learned: the paths of functions that were learned meanwhile, by their examples.
        executor: the name of the executor where it ran; empty in the driver.
    """

    source: int
    counts: Counts
    at_rest: int
    broken: dict[str, int]
    learned: list[Example]
    seconds: float
    executor: str = ""


@attrs.frozen
class Admitted:
    """The report of a task that has admitted records.

    Attributes:
        file: the file with the new rows, if there are any.
        states: the number of states that the new rows stand for.
        violated: by property, the first of the new rows that violates it.
        learned: the paths of functions that were learned meanwhile, by their examples.
        visited: bytes of the visited set.
        caught_up: how many rows the visited set had to read from storage first.
        executor: the name of the executor where it ran; empty in the driver.
    """

    partition: int
    file: LevelFile | None
    states: int
    violated: dict[str, int]
    learned: list[Example]
    visited: int
    caught_up: int
    seconds: float
    executor: str = ""


def expand_file(
    worker: PartitionWorker, rows: np.ndarray, source: int, owners: int, known: Sequence[str]
) -> Iterator[Block | Expanded]:
    """Yield the blocks of a file, then the report."""
    started, number = time.perf_counter(), 0
    most = LARGEST_BLOCK // 4
    for owner, records in worker.expand(rows, owners):
        width = worker.record_width
        for first in range(0, len(records), most - most % width):
            yield Block(owner, source, number, records[first : first + most - most % width])
            number += 1
    counts, at_rest = worker.take_counts()
    broken = worker.broken(rows, known)
    yield Expanded(source, counts, at_rest, broken, worker.new_examples(), time.perf_counter() - started)


def admit_blocks(
    worker: PartitionWorker,
    visited: Visited,
    blocks: Iterable[Block],
    levels: Levels,
    depth: int,
    partition: int,
    known: Sequence[str],
) -> Admitted:
    """Admit the records that are new, check them, and write them as a file of the level at that depth.

    The order of admission decides parents and positions, so blocks are always admitted in the same order.
    """
    started, begin = time.perf_counter(), visited.end
    ordered = sorted(blocks, key=lambda block: (block.source, block.number))
    parents, actions = visited.admit([(block.source, block.records) for block in ordered])
    admitted = write_rows(worker, visited.since(begin), parents, actions, levels, depth, partition, known)
    return attrs.evolve(
        admitted,
        learned=worker.new_examples(),
        visited=visited.bytes_taken,
        seconds=time.perf_counter() - started,
    )


def write_rows(
    worker: PartitionWorker, rows: np.ndarray, parents: np.ndarray, actions: np.ndarray, levels: Levels, depth: int,
    partition: int, known: Sequence[str],
) -> Admitted:  # fmt: skip
    """Check new rows, and write them as a file of the level at that depth."""
    if not len(rows):
        return Admitted(partition, None, 0, {}, [], 0, 0, 0.0)
    words, orbits = worker.columns_of(rows), worker.orbits(rows)
    violated = worker.violated(rows, known)
    file = levels.write_file(depth, f"part-{partition:05d}", words, parents, actions, orbits)
    return Admitted(partition, file, int(orbits.sum()), violated, [], 0, 0, 0.0)
