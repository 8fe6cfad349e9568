"""What each task of a level costs on a cluster, from what was measured, and the closed form: no core ever waits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import attrs
import numpy as np

ROWS_OF_A_FILE = 1 << 20
MOST_SUCCESSORS = 1 << 20  # that a task sorts by owner at a time
FOLDED_FROM = 128 << 20  # bytes that are saved by folding a partition's rows
FEW = 1 << 20
FIRST_TABLE = 5350.0  # slots; doubled, and then more by half: as many as there were of 32 million rows
GB = 1e9
JAVA, WORKERS = 2 * GB, 0.6 * GB  # what an executor's Java takes, and the worker of each core, beside visited sets
MOVED = 1.8  # how often a visited set beyond memory is read or written in each level
MEASURED = (
    1, 6, 30, 138, 594, 1_854, 5_673, 13_923, 31_362, 64_401, 119_877, 200_070, 305_475, 435_318, 580_302,
    733_053, 875_298, 993_060, 1_055_667, 1_049_577, 964_737, 824_421, 649_389, 465_660, 300_801, 173_901,
    88_686, 36_948, 11_952, 3_000, 390, 6,
)  # fmt: skip
"""The rows of each level of KIP-320 with 3 brokers, 2 records and leader epochs 0..3."""
LEVELS_MORE = 5 / math.log(113_065_123 / 9_985_570)  # than 32, for the logarithm of how many times the states


@attrs.frozen
class Costs:
    """Seconds of one core, and bytes: see docs/large.md for what measured them.

    Attributes:
        expand, write, fold: for each row that is expanded, for each new one, and for each new one that is folded.
        admit: for each record, while a partition has no more than `FEW` rows.
        missed: how much more each doubling of the rows takes, as they leave the processor's caches behind.
        unfold: how much more a record takes once rows are folded.
        enter, enter_folded: for each row that is entered into a larger table.
        pack: for each record, in the tasks that send and get it.
        java: for each byte that is exchanged, both ends together.
        check: for each byte of a visited set, which every task that admits compares.
        rebuild: for each row that is read again.
        task, block: for each task, and each block that is sent, both ends together.
        launch, job: of the driver alone, for each task and each level.
        commit: of the driver alone, for each file.
        records: for each row that is expanded.
        row, record, wire, stored: bytes of a row in memory, of a record, of a record as it is sent, of a row in files.
        folded: bytes of a folded row.
        manifest: bytes for each file of a level.
    """

    expand: float = 300e-9
    write: float = 90e-9
    fold: float = 130e-9
    admit: float = 60e-9
    missed: float = 12e-9
    unfold: float = 200e-9
    enter: float = 29e-9
    enter_folded: float = 336e-9
    pack: float = 20e-9
    java: float = 3.7e-9
    check: float = 0.07e-9
    rebuild: float = 200e-9
    task: float = 8e-3
    block: float = 28e-6
    launch: float = 2e-3
    job: float = 0.1
    commit: float = 6e-6
    records: float = 2.8
    row: float = 16.0
    record: float = 24.0
    wire: float = 14.5
    stored: float = 11.2
    folded: float = 6.0
    manifest: float = 184.0

    def is_folded(self, rows: np.ndarray) -> np.ndarray:
        """Whether partitions of so many rows have folded them."""
        return rows * (self.row - 5) >= FOLDED_FROM

    def admitting(self, rows: np.ndarray) -> np.ndarray:
        """Seconds for each record in partitions of so many rows."""
        misses = np.log2(np.maximum(rows, FEW) / FEW)
        return self.admit + self.missed * misses + np.where(self.is_folded(rows), self.unfold, 0.0)

    def shard(self, rows: np.ndarray) -> np.ndarray:
        """Bytes of the visited sets of partitions."""
        full, slots, _ = self._tables
        slot = np.array(slots)[np.searchsorted(full, rows)]
        return rows * np.where(self.is_folded(rows), self.folded, self.row) + 4 * slot

    def entering(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Seconds to make the tables of partitions larger, which have so many rows before and after a level."""
        full, _, taken = self._tables
        sums = np.array([0.0, *np.cumsum(taken)])
        return sums[np.searchsorted(full, after)] - sums[np.searchsorted(full, before)]

    @property
    def _tables(self) -> tuple[list[float], list[float], list[float]]:
        """How many rows fill each table, its slots, and the seconds to enter these rows into the next one."""
        full, slots, taken = [], [FIRST_TABLE], []
        while slots[-1] < 1 << 33:
            full.append(0.75 * slots[-1])
            is_folded = bool(self.is_folded(np.array(0.75 * full[-1])))  # as they are once a level is over
            taken.append(full[-1] * (self.enter_folded if is_folded else self.enter))
            slots.append(slots[-1] * (1.5 if is_folded else 2.0))
        return full, slots, taken


ON_CLUSTERS = Costs(java=8e-9, job=0.3)  # with compression and checksums


@attrs.frozen
class Cluster:
    """Executors, each on a host of its own.

    Attributes:
        memory: bytes of a host.
        network, storage, disk: bytes a second of each host: to others, to the levels, and to its local disks.
        request: seconds until storage answers.
        partitions: a multiple of all cores, by default one for each.
    """

    executors: int
    cores: int = 4
    memory: float = 32 * GB
    network: float = 1.25 * GB
    storage: float = 0.25 * GB
    disk: float = 1.0 * GB
    request: float = 0.05
    partitions: int = 0

    @property
    def slots(self) -> int:
        return self.executors * self.cores

    @property
    def owners(self) -> int:
        return self.partitions or self.slots

    @property
    def room(self) -> float:
        """Bytes of a host that are left for visited sets."""
        return self.memory - JAVA - self.cores * WORKERS


@attrs.frozen
class Tasks:
    """The tasks of one level, by what they take alone.

    Attributes:
        expanding, admitting: seconds of each task.
        files: rows of each file that is expanded.
        commits: seconds of the driver after them.
        rebuilding: by partition, the seconds to read its rows again.
    """

    expanding: np.ndarray
    admitting: np.ndarray
    files: np.ndarray
    commits: float
    rebuilding: np.ndarray


def files_of(rows: np.ndarray) -> np.ndarray:
    """The rows of each file of partitions that have so many."""
    full, rest = np.divmod(rows.astype(np.int64), ROWS_OF_A_FILE)
    counts = full + (rest > 0)
    sizes = np.full(int(counts.sum()), ROWS_OF_A_FILE, np.int64)
    last = np.cumsum(counts)[rest > 0] - 1
    sizes[last] = rest[rest > 0]
    return sizes


def tasks_of(old: np.ndarray, new: np.ndarray, visited: np.ndarray, cluster: Cluster, costs: Costs) -> Tasks:
    """The tasks of a level.

    Args:
        old, new, visited: by partition, the rows that are expanded, those that are new, and those from before.
    """
    files, owners = files_of(old), cluster.owners
    sent = files * costs.records
    blocks = np.ceil(sent / MOST_SUCCESSORS) * np.minimum(owners, np.maximum(sent, 1))
    blocks = np.maximum(blocks, np.ceil(sent * costs.record / (1 << 20)))
    expanding = costs.task + files * costs.expand + sent * (costs.pack + costs.java * costs.record / 2)
    expanding += blocks * costs.block / 2 + files * costs.stored * cluster.cores / cluster.storage + cluster.request
    got = sent.sum() * (new / new.sum() if new.any() else np.full(owners, 1 / owners))
    abroad, folded = 1 - 1 / cluster.executors, costs.is_folded(visited)
    per_record = costs.admitting(visited) + costs.pack + costs.java * costs.record / 2
    per_record += costs.wire * abroad * cluster.cores / cluster.network
    per_row = costs.write + np.where(folded, costs.fold, 0.0) + costs.stored * cluster.cores / cluster.storage
    admitting = costs.task + got * per_record + new * per_row + costs.entering(visited, visited + new)
    written = np.ceil(new / ROWS_OF_A_FILE)
    shards = costs.shard(visited)
    beyond = MOVED * cluster.cores / cluster.disk if shards.sum() / cluster.executors > cluster.room else 0.0
    admitting += shards * (costs.check + beyond) + blocks.sum() / owners * costs.block / 2
    admitting += np.maximum(written, 1) * cluster.request
    commits = costs.job + costs.commit * float(written.sum()) + cluster.request
    rebuilding = visited * (costs.rebuild + costs.stored * cluster.cores / cluster.storage)
    return Tasks(expanding, admitting, files, commits, rebuilding)


def reckoned(levels: Sequence[float], cluster: Cluster, costs: Costs) -> list[float]:
    """Seconds of each level after the first, in closed form: no core ever waits, but for the driver's launches."""
    found, visited = [], 0.0
    for old, new in itertools.pairwise(levels):
        visited += old
        each = [np.full(cluster.owners, rows / cluster.owners) for rows in (old, new, visited)]
        tasks = tasks_of(each[0], each[1], each[2], cluster, costs)
        stages = (tasks.expanding, tasks.admitting)
        found.append(sum(spread(stage, cluster, costs) for stage in stages) + tasks.commits)
    return found


def spread(tasks: np.ndarray, cluster: Cluster, costs: Costs) -> float:
    """The seconds of a stage whose work is spread evenly: no less than its longest task, or than its launches take."""
    longest = float(tasks.max(initial=0))
    return max(float(tasks.sum()) / cluster.slots, longest, len(tasks) * costs.launch)


def levels_of(states: float) -> list[float]:
    """The rows of each level of a search with so many states: in the shape of the measured one, with more levels, as
    further epochs have had.
    """
    measured = np.array(MEASURED, float)
    count = round(len(MEASURED) - 1 + LEVELS_MORE * math.log(states / measured.sum())) + 1
    places = np.linspace(0, len(MEASURED) - 1, count)
    shape = np.exp(np.interp(places, np.arange(len(MEASURED)), np.log(measured)))
    return [max(1.0, float(rows)) for rows in np.round(shape / shape.sum() * states)]
