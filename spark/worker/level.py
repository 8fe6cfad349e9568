"""From one level to the next, on executors and on the driver: expanding a file makes blocks of records, sorted by
owner, and admitting blocks makes the next level's files.

A file has a limited number of rows, and is written as soon as it has them. So what a task takes does not grow with its
level: a larger level is more files, each of which is a task to expand and a pass of those that admit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import attrs
import numpy as np

from highwater.explorer.partitioned.visited import Visited
from highwater.explorer.partitioned.worker import Example, PartitionWorker
from highwater.explorer.search.states.counts import Counts
from highwater.spark.levels import LevelFile, Levels

LARGEST_BLOCK = 1 << 20
ROWS_OF_A_FILE = 1 << 20  # and those of one block more


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
        files: the files with the new rows.
        states: the number of states that the new rows stand for.
        violated: by property, the first of the new rows that violates it: which of the files, and the row there.
        learned: the paths of functions that were learned meanwhile, by their examples.
        visited: bytes of the visited set.
        caught_up: how many rows the visited set had to read from storage first.
        room: bytes of the visited set that a task may have in memory there, if nothing else is wanted.
        executor: the name of the executor where it ran; empty in the driver.
    """

    partition: int
    files: tuple[LevelFile, ...]
    states: int
    violated: dict[str, tuple[int, int]]
    learned: list[Example]
    visited: int
    caught_up: int = 0
    room: int = 0
    seconds: float = 0.0
    executor: str = ""

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


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


Pass = tuple[np.ndarray, np.ndarray, np.ndarray]
"""New rows, and of each its parent and its action."""


def in_order(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks in the order in which they are admitted. It decides parents and positions, so it is always the same."""
    return iter(sorted(blocks, key=lambda block: (block.source, block.number)))


def admit_blocks(
    worker: PartitionWorker,
    visited: Visited,
    blocks: Iterator[Block],
    levels: Levels,
    depth: int,
    partition: int,
    known: Sequence[str],
) -> Admitted:
    """Admit the records that are new, check them, and write them as files of the level at that depth.

    Args:
        blocks: in their order, see `in_order`.
    """
    started = time.perf_counter()
    records = ((block.source, block.records) for block in blocks)
    admitted = write_passes(worker, _passes(visited, records), levels, depth, partition, known)
    return attrs.evolve(
        admitted,
        learned=worker.new_examples(),
        visited=visited.bytes_taken,
        seconds=time.perf_counter() - started,
    )


def _passes(visited: Visited, records: Iterator[tuple[int, np.ndarray]]) -> Iterator[Pass]:
    for first in records:  # as long as there are any
        begin = visited.end
        parents, actions = visited.admit(chain([first], records), ROWS_OF_A_FILE)
        yield visited.since(begin), parents, actions


def write_passes(
    worker: PartitionWorker, passes: Iterable[Pass], levels: Levels, depth: int, partition: int, known: Sequence[str]
) -> Admitted:
    """Check new rows, and write those of each pass as a file of the level at that depth."""
    files: list[LevelFile] = []
    states, violated = 0, dict[str, tuple[int, int]]()
    for rows, parents, actions in passes:
        if len(rows):
            orbits = worker.orbits(rows)
            states += int(orbits.sum())
            found = worker.violated(rows, {*known, *violated})
            violated |= {name: (len(files), row) for name, row in found.items()}
            files.append(levels.write_file(depth, partition, worker.columns_of(rows), parents, actions, orbits))
    return Admitted(partition, tuple(files), states, violated, [], 0)
