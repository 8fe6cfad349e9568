"""What the search on Spark is compared with: the pipeline that one writes first, and the search itself exchanging
columns.

The plain pipeline: read the level, expand it in `mapInArrow` with the same kernel and the same trees, `distinct`,
`left_anti` join with all levels so far, write the new level as Parquet. It stores words only, no parents, and commits
nothing, which favours it.

The search exchanging columns: the same tasks, with their blocks taken apart into rows (owner, source, number, a
LongType column per word, parent, action) before the exchange and put together after it, by numpy. Partitions, rows and
files are those of the search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.system import System
from highwater.spark.driver import cluster
from highwater.spark.levels import Levels
from highwater.spark.worker.tasks import REPORT, Search, Task, prints_of, received, sent, versions, worker_of

PLACE = ("owner", "source", "number")


def plain(spark: Any, make: Callable[[], System], folder: str, *, symmetry: bool) -> tuple[list[int], list[float]]:
    """The plain pipeline; the rows and the seconds of each level after the first, whose row is the initial state's."""
    engine = PartitionWorker(make(), symmetry=symmetry)
    rows = engine.representative_rows(engine.system.initial)
    for _ in range(10):  # the same warm start that the search's driver gives: its trees after ten levels
        records = [some.reshape(-1, engine.record_width)[:, :-2] for _, some in engine.expand(rows, 1)]
        rows = np.ascontiguousarray(np.unique(np.concatenate(records), axis=0)).reshape(-1)
        engine.take_counts()
    search = Search("plain", make, symmetry, {}, prints_of(engine, {}), versions(), engine.trees(), Levels(folder))
    shared, words = spark.sparkContext.broadcast(search), [f"w{word}" for word in range(engine.layout.words)]
    schema = pa.schema([(name, pa.int64()) for name in words])
    in_spark = ", ".join(f"{name} bigint" for name in words)

    def expand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        worker = worker_of(shared.value)
        found = pa.Table.from_batches(list(batches), schema)
        columns = [column.to_numpy().view(np.uint64) for column in found.columns]
        if len(found):
            for _, records in worker.expand(worker.rows_of(columns), 1):
                made = np.ascontiguousarray(records.reshape(-1, worker.record_width)[:, :-2]).reshape(-1)
                yield pa.record_batch([column.view(np.int64) for column in worker.columns_of(made)], schema=schema)
            worker.take_counts()

    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    first = engine.columns_of(engine.representative_rows(engine.system.initial))
    spark.createDataFrame([tuple(int(c.view(np.int64)[0]) for c in first)], in_spark).write.parquet(f"{folder}/0")
    rows_of, depth, seconds = [], 0, []
    while True:
        started = time.perf_counter()
        visited = spark.read.schema(in_spark).parquet(*(f"{folder}/{level}" for level in range(depth + 1)))
        level = spark.read.schema(in_spark).parquet(f"{folder}/{depth}")
        level.mapInArrow(expand, in_spark).distinct().join(visited, words, "left_anti").write.parquet(
            f"{folder}/{depth + 1}"
        )
        new = spark.read.schema(in_spark).parquet(f"{folder}/{depth + 1}").count()
        seconds.append(time.perf_counter() - started)
        rows_of.append(new)
        if not new:
            return rows_of, seconds
        depth += 1


class Columns:
    """Blocks as rows with a column per word, and back.

    Attributes:
        units: 32-bit units of a row; a record has two more, parent and action.
    """

    def __init__(self, units: int) -> None:
        self.units = units
        words = [(f"w{word}", pa.int64()) for word in range((units + 1) // 2)]
        place = [(name, pa.int32()) for name in PLACE]
        self.schema = pa.schema(
            [*place, *words, ("parent", pa.int32()), ("action", pa.int32()), ("report", pa.binary())]
        )

    @property
    def in_spark(self) -> str:
        return ", ".join(
            f"{each.name} { {'int64': 'bigint', 'int32': 'int'}.get(str(each.type), 'binary') }" for each in self.schema
        )

    def apart(self, task: Task) -> Task:
        """A task that yields rows where the other yields blocks."""

        def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for position in (position for batch in batches for position in batch.column(0).to_pylist()):
                found = task(position, iter(()))
                for owner, block in zip(found, found, strict=True):
                    yield self._rows(int.from_bytes(owner, "big"), *received(block))

        return rows

    def together(self, task: Task) -> Task:
        """A task that takes rows where the other takes blocks."""

        def reports(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            for report in task(TaskContext.get().partitionId(), self._blocks(list(batches))):
                yield pa.record_batch([[report]], names=["report"])

        return reports

    def _rows(self, owner: int, source: int, number: int, block: Any) -> pa.RecordBatch:
        if number == REPORT:
            empty = [[0]] * (len(self.schema) - len(PLACE) - 1)
            return pa.record_batch([[owner], [source], [number], *empty, [bytes(block)]], schema=self.schema)
        records = np.frombuffer(block, np.uint32).reshape(-1, self.units + 2)
        padded = np.zeros((len(records), self.units + self.units % 2), np.uint32)
        padded[:, : self.units] = records[:, : self.units]
        words = np.ascontiguousarray(padded.view(np.int64).T)
        place = [np.full(len(records), value, np.int32) for value in (owner, source, number)]
        rest = [np.ascontiguousarray(records[:, self.units + extra]).view(np.int32) for extra in range(2)]
        return pa.record_batch(
            [*map(pa.array, [*place, *words, *rest]), pa.nulls(len(records), pa.binary())], schema=self.schema
        )

    def _blocks(self, batches: list[pa.RecordBatch]) -> Iterator[bytes]:
        table = pa.Table.from_batches(batches, self.schema)
        columns = [column.to_numpy() for column in table.columns[:-1]]
        owners, sources, numbers = columns[:3]
        order = np.lexsort((numbers, sources))
        ends = np.flatnonzero(np.diff(sources[order]) | np.diff(numbers[order])) + 1
        for rows in np.split(order, ends) if len(order) else ():
            place = [int(column[rows[0]]) for column in (owners, sources, numbers)]
            if numbers[rows[0]] == REPORT:
                yield from (sent(*place, table["report"][int(row)].as_py())[1] for row in rows)
                continue
            units = np.stack([column[rows] for column in columns[3:-2]], axis=1).view(np.uint32)[:, : self.units]
            rest = np.stack([column[rows].view(np.uint32) for column in columns[-2:]], axis=1)
            yield sent(*place, np.concatenate([units, rest], axis=1).tobytes())[1]


@attrs.define
class Exchange:
    """Stands for the RDD of exchanged blocks."""

    spark: Any
    columns: Columns
    expand: Task
    sources: int
    partitions: int
    admit: Task | None = None

    def mapPartitionsWithIndex(self, admit: Task) -> Exchange:
        return attrs.evolve(self, admit=admit)

    def collect(self) -> list[str]:
        rows = (
            self.spark.range(0, self.sources, 1, self.sources)
            .mapInArrow(self.columns.apart(self.expand), self.columns.in_spark)
            .repartitionById(self.partitions, "owner")
            .mapInArrow(self.columns.together(self.admit), "report string")
        )
        return [row.report for row in rows.collect()]

    def forget(self) -> None:
        """Leave what was exchanged to Spark."""


@contextmanager
def exchanging_columns(spark: Any, units: int) -> Iterator[None]:
    """Make searches exchange columns meanwhile, on one machine."""
    columns, before = Columns(units), cluster.exchanged
    cluster.exchanged = lambda blocks, partitions, _: Exchange(
        spark, columns, blocks.func, blocks.getNumPartitions(), partitions
    )
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
    try:
        yield
    finally:
        cluster.exchanged = before
