"""The graph of all states as tasks of Spark, from the shards: a row per state, with what liveness properties or a
prospect say of it, and a row per step.

A state's `id` is its partition and its row in the partition's shard, as upper and lower half. A shard that is lost is
made again from the levels with the same rows, so that these tasks are pure functions of the levels, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import attrs
import numpy as np
import pyarrow as pa

from highwater.explorer.blame import ModelError
from highwater.explorer.kernels.arrays import ONLY_CUT, RECORD_EXTRA
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.graph_properties.orbits import exact_fairness
from highwater.explorer.search.graph_properties.owed import Marks, false_in
from highwater.spark.worker.level import LARGEST_BLOCK
from highwater.spark.worker.shard import Shard
from highwater.spark.worker.tasks import Search, Task, exhaust, ready_for_more, received, sent, shard_of, worker_of

# What a property says of a state. A path that breaks it may stay there; may begin there; is there again and again. No
# step that it relies on is possible there, so that a behaviour may end; bounds cut all of these steps.
STAYS, BEGINS, RETURNS, ENDS, HELD_BACK = 1, 2, 4, 8, 16
# What a prospect says of one: it is true there; a bound cuts a step there along which it may come true.
TRUE, CUT = 1, 2
STEPS = pa.schema([("source", pa.int64()), ("target", pa.int64())])
STEPS_IN_SPARK = "source bigint, target bigint"
ROWS_AT_ONCE = 1 << 16


@attrs.frozen
class Wanted:
    """Which part of the graph.

    Attributes:
        properties: the positions of liveness properties. The states are those where a path may lead that breaks one of
            them.
        below: instead of these, all states of levels before this one.
        prospect: the position of a prospect. The states are all states, and the steps those along which it may come
            true.
    """

    properties: tuple[int, ...] = ()
    below: int | None = None
    prospect: int | None = None

    @property
    def asked(self) -> int:
        """Of how many properties a state says something."""
        return len(self.properties) + (self.prospect is not None)


@attrs.frozen
class Shards:
    """What all shards hold: how many levels, and by partition the digest of the last one.

    Attributes:
        windows: how many of these partitions are windows of one of the search's.
    """

    levels: int
    digests: tuple[str, ...]
    windows: int = 1


def states_schema(words: int, wanted: Wanted) -> pa.Schema:
    """The columns of states: `p0`, ... is what the first property says."""
    return pa.schema(
        [("id", pa.int64()), ("level", pa.int32()), ("orbit", pa.int32())]
        + [(f"w{number}", pa.int64()) for number in range(words)]
        + [(f"p{number}", pa.int8()) for number in range(wanted.asked)]
        + [("error", pa.string())]
    )


def in_spark(schema: pa.Schema) -> str:
    """A schema as Spark spells it."""
    spelled = {pa.int64(): "bigint", pa.int32(): "int", pa.int8(): "tinyint", pa.string(): "string"}
    return ", ".join(f"{field.name} {spelled[field.type]}" for field in schema)


def states_task(shared: Any, shards: Shards, wanted: Wanted) -> Task:
    """A task that lists the states of the partitions in its input. What a model raises is a row with an `error`."""

    def states(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for partition in _partitions(batches):
            with _opened(shared.value, shards, partition) as (worker, shard):
                schema = states_schema(worker.layout.words, wanted)
                try:
                    yield from _states(worker, shard, partition, wanted, schema)
                except ModelError as error:
                    yield pa.record_batch([[None]] * (len(schema) - 1) + [[str(error)]], schema=schema)

    return ready_for_more(states)


def _states(
    worker: PartitionWorker, shard: Shard, partition: int, wanted: Wanted, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    slice_ = _slice(worker, shard, wanted)
    for _ in worker.steps(slice_.sources, slice_.relied_on, slice_.notes, owners=0):
        pass
    chosen = np.flatnonzero(slice_.sources)
    levels = np.searchsorted(shard.level_ends, chosen, side="right") - 1
    for begin in range(0, len(chosen), ROWS_AT_ONCE):
        some = chosen[begin : begin + ROWS_AT_ONCE]
        rows = worker.chosen(some)
        columns: list[Any] = [some + (partition << 32), levels[begin : begin + len(some)], worker.orbits(rows)]
        columns += [column.view(np.int64) for column in worker.columns_of(rows)]
        columns += [flags[some] for flags in slice_.flags()] + [[None] * len(some)]
        yield pa.record_batch(
            [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
        )


def _slice(worker: PartitionWorker, shard: Shard, wanted: Wanted) -> _Slice | _ProspectSlice:
    worker.use(shard.whole, shard.end, shard.level_ends)
    return _Slice(worker, shard, wanted) if wanted.prospect is None else _ProspectSlice(worker, shard, wanted.prospect)


class _Slice:
    """The chosen rows of one shard, which the engine uses, and what liveness properties say of them."""

    def __init__(self, worker: PartitionWorker, shard: Shard, wanted: Wanted) -> None:
        properties = [worker.system.liveness[number] for number in wanted.properties]
        self._marks = [Marks(worker.search, each) for each in properties]
        self.sources = np.zeros(shard.end, np.uint8)
        if wanted.below is not None:
            self.sources[: shard.level_ends[wanted.below]] = 1
        for each in self._marks:
            self.sources |= each.allowed
        self.relied_on = np.zeros((len(properties), len(worker.system.actions)), np.uint8)
        for number, of in enumerate(properties):
            self.relied_on[number] = exact_fairness(worker.system, of).demands >= 0
        self.notes = np.zeros((len(properties), shard.end), np.uint8)

    def flags(self) -> Iterator[np.ndarray]:
        """By property, what it says of each row whose steps were listed."""
        for marks, notes in zip(self._marks, self.notes, strict=True):
            yield (
                STAYS * marks.allowed
                + BEGINS * marks.born
                + RETURNS * marks.returned
                + ENDS * (notes == 0).astype(np.uint8)
                + HELD_BACK * (notes == ONLY_CUT).astype(np.uint8)
            ).astype(np.int8)

    def chosen(self, records: np.ndarray, width: int) -> np.ndarray:
        """Of the steps that are listed, those that are wanted."""
        return records


class _ProspectSlice:
    """All rows of one shard, which the engine uses, and what a prospect says of them."""

    def __init__(self, worker: PartitionWorker, shard: Shard, number: int) -> None:
        along = worker.system.prospects[number].of.along
        self._true = 1 - false_in(worker.search, worker.search.prospects, number)
        self.sources = np.ones(shard.end, np.uint8)
        self.relied_on = np.array([[action.of in along for action in worker.system.actions]], np.uint8)
        self.notes = np.zeros((1, shard.end), np.uint8)

    def flags(self) -> Iterator[np.ndarray]:
        """What the prospect says of each row whose steps were listed."""
        yield (TRUE * self._true + CUT * (self.notes[0] & ONLY_CUT != 0)).astype(np.int8)

    def chosen(self, records: np.ndarray, width: int) -> np.ndarray:
        """Of the steps that are listed, those along which the prospect may come true."""
        kept: np.ndarray = records.reshape(-1, width)[self.relied_on[0, records[width - 1 :: width]] != 0]
        return kept.reshape(-1)


def steps_task(shared: Any, shards: Shards, wanted: Wanted) -> Task:
    """A task that sends the steps of the states of its partition to where they lead."""

    def steps(partition: int, nothing: Iterator[Any]) -> Iterator[bytes]:
        exhaust(nothing)
        with _opened(shared.value, shards, partition) as (worker, shard):
            slice_, width = _slice(worker, shard, wanted), worker.record_width
            most = LARGEST_BLOCK // (4 * width) * width
            listed = worker.steps(slice_.sources, slice_.relied_on, slice_.notes, len(shards.digests))
            for owner, every in listed:
                records = slice_.chosen(every, width)
                for first in range(0, len(records), most):
                    yield from sent(owner, partition, 0, records[first : first + most].data.cast("B"))

    return ready_for_more(steps)


def premises_task(shared: Any, shards: Shards) -> Task:
    """A task that says of each premise of the system, in order, whether it is true in a state of its partition."""

    def premises(partition: int, nothing: Iterator[Any]) -> Iterator[list[bool]]:
        exhaust(nothing)
        with _opened(shared.value, shards, partition) as (worker, shard):
            worker.use(shard.whole, shard.end, shard.level_ends)
            program = worker.search.premises
            yield [not false_in(worker.search, program, number).all() for number in range(len(program.instances))]

    return ready_for_more(premises)


def targets_task(shared: Any, shards: Shards) -> Task:
    """A task that finds where the steps lead that were sent to its partition."""

    def targets(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        partition = cast("TaskContext", TaskContext.get()).partitionId()
        with _opened(shared.value, shards, partition) as (worker, shard):
            width = worker.record_width
            for batch in batches:
                for block in batch.column("block"):
                    source, _, content = received(block.as_py())
                    records = np.frombuffer(content, np.uint32)
                    sources = records.reshape(-1, width)[:, width - RECORD_EXTRA].astype(np.int64)
                    ids = [sources + (source << 32), shard.find(records) + (partition << 32)]
                    yield pa.record_batch([pa.array(each, pa.int64()) for each in ids], schema=STEPS)

    return ready_for_more(targets)


@contextmanager
def _opened(search: Search, shards: Shards, partition: int) -> Iterator[tuple[PartitionWorker, Shard]]:
    """This process's engine, and a partition's shard with all levels."""
    worker, shard, digests = worker_of(search), shard_of(search, partition, shards.windows), shards.digests
    try:
        shard.catch_up(worker, search.levels, shards.levels, digests[partition], partition, len(digests))
        shard.settle()
        yield worker, shard
    finally:
        shard.close()


def _partitions(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    return (number for batch in batches for number in batch.column(0).to_pylist())
