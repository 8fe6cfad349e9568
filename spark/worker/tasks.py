"""A level as two tasks of Spark with one exchange between them, as Arrow batches that a Python worker maps.

`expand_task` reads a part of the level, walks the trees and sends blocks of records to the partitions that own them; it
sends most equal records once. `admit_task` admits the records that its partition has not visited, checks the
properties, and writes the next level's part. Both are pure functions of committed parts. Spark runs a task again if an
executor is lost or a fetch fails. The second run makes the same blocks and rows in the same order, under new file
names, and the driver commits the names that arrive.

Counts travel with the data, as rows of the blocks' stream, because each row arrives exactly once. Spark's accumulators
would count an expansion twice if its task ran twice: Spark promises exact ones only for the last stage of a job.

A block is a binary column of packed records. Levels are stored as a row per state with a LongType column per word, but
Spark copies rows one by one on both sides of the exchange, and a block at once. With 9,985,570 states of KIP-320, a
search that exchanges rows takes 1.8 times as long and shuffles 1.3 times as much (`bench/on_spark.py` measures both).

Each worker process keeps an engine. Its trees begin as the driver's and grow on their own.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from explorer.partitioned.worker import PartitionWorker
from explorer.search.counts import Counts
from explorer.search.durable import CheckpointError
from explorer.search.fingerprint import Fingerprint, differences, in_one_line
from explorer.system import ModelError, System
from spark.levels import Levels, Part
from spark.worker.level import Admitted, Block, Expanded, admit_blocks, expand_part
from spark.worker.shard import Shard, forget_mapped

BLOCKS = pa.schema([("owner", pa.int32()), ("source", pa.int32()), ("number", pa.int32()), ("block", pa.binary())])
BLOCKS_IN_SPARK = "owner int, source int, number int, block binary"
REPORTS = pa.schema([("report", pa.string())])
REPORTS_IN_SPARK = "report string"
REPORT = -1  # as the number of a block: the block is the report of the task that has expanded
Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
WORTH_A_BATCH = 1 << 18  # bytes


@attrs.frozen
class Search:
    """What every task needs of a search.

    Attributes:
        name: unique to the search, so that worker processes know whether their engine belongs to it.
        make_system: makes the system, on any machine that has the package.
        prints: must be equal on every machine; see `explorer.search.fingerprint`.
        trees: the decision trees that the driver has learned.
    """

    name: str
    make_system: Callable[[], System]
    symmetry: bool
    options: dict[str, Any]
    prints: Fingerprint
    trees: dict[str, Any]
    levels: Levels


def expand_task(shared: Any, sources: Sequence[tuple[int, Part]], owners: int, known: Sequence[str]) -> Task:
    """A task that expands the parts at the positions in its input."""

    def blocks(source: int, part: Part) -> Iterator[tuple[int, int, int, Any]]:
        try:
            search, engine = shared.value, engine_of(shared.value)
            rows = engine.rows_of(search.levels.words_of(part, engine.layout.words))
            for found in expand_part(engine, rows, source, owners, known):
                if isinstance(found, Expanded):
                    yield source % owners, source, REPORT, _as_json(found).encode()
                else:
                    yield found.owner, source, found.number, memoryview(found.records).cast("B")
        except ModelError as error:
            yield source % owners, source, REPORT, _as_json(error).encode()

    def expand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting, size = [], 0
        for position in (position for batch in batches for position in batch.column(0).to_pylist()):
            for block in blocks(*sources[position]):
                if len(block[3]) > WORTH_A_BATCH:
                    yield _batch_of_one(*block)
                    continue
                waiting.append(block)
                size += len(block[3])
                if size > WORTH_A_BATCH:
                    yield _batch(waiting)
                    waiting, size = [], 0
        if waiting:
            yield _batch(waiting)

    return ready_for_more(expand)


def admit_task(shared: Any, depth: int, digests: Sequence[str], known: Sequence[str]) -> Task:
    """A task that admits the blocks of its partition."""

    def admit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        partition = TaskContext.get().partitionId()
        blocks: list[Block] = []
        for batch in batches:
            for owner, source, number, block in zip(*batch.columns, strict=True):
                if number.as_py() == REPORT:
                    yield _report(block.as_py().decode())
                else:
                    records = np.frombuffer(block.as_buffer(), np.uint32)
                    records = records if records.flags.aligned else records.copy()
                    blocks.append(Block(owner.as_py(), source.as_py(), number.as_py(), records))
        try:
            yield _report(_as_json(_admit(shared.value, blocks, depth, partition, digests, known)))
        except (ModelError, OverflowError) as error:  # Spark may attempt all other errors again
            yield _report(_as_json(error))

    return ready_for_more(admit)


def _admit(
    search: Search, blocks: list[Block], depth: int, partition: int, digests: Sequence[str], known: Sequence[str]
) -> Admitted:
    engine = engine_of(search)
    shard = shard_of(search, partition)
    try:
        caught_up = shard.catch_up(engine, search.levels, depth, digests[partition], partition, len(digests))
        admitted = admit_blocks(engine, shard, blocks, search.levels, depth, partition, known)
        shard.note(digests[partition], admitted.part)
        return attrs.evolve(admitted, caught_up=caught_up)
    finally:
        shard.close()


_kept: tuple[str, PartitionWorker] | None = None


def engine_of(search: Search) -> PartitionWorker:
    """This process's engine for a search.

    Raises:
        ModelError: this machine makes another system from the same spec.
    """
    global _kept
    if _kept is None or _kept[0] != search.name:
        forget_mapped()
        engine = PartitionWorker(search.make_system(), search.symmetry)
        if different := differences(search.prints, engine.fingerprint(search.options)):
            here = f"the executor {os.uname().nodename}"
            raise ModelError(
                f"{here} has another version of highwater or of the model than the driver: {in_one_line(different)}"
            )
        engine.take_trees(search.trees)
        _kept = (search.name, engine)
    return _kept[1]


_settled: tuple[str, int] = "", 0


def ready_for_more(task: Task) -> Task:
    """The same task, which leaves its process quick to begin the next one, and to end if there is none.

    Spark collects garbage after each task, among all that the process has ever made. What an engine has learned stays,
    so it is taken out of what is collected. Before each task Spark invalidates what Python knows of importable modules.
    Python reads the table of each archive on its path again then, of which pyspark itself is one; so archives are
    forgotten, and opened again if anything is imported. Without this, both take longer than a small task.

    A process that waits for a task while Spark ends would show a traceback, as nobody listens to its last words. The
    signal ends it first.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        try:
            yield from task(batches)
        finally:
            settle()  # which knows this process; what is written here comes from the driver with its globals
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    return run


def settle() -> None:
    """Take what the engine has learned out of what is collected, and forget archives."""
    global _settled
    if _kept is not None and _settled != (_kept[0], _kept[1].paths):
        gc.collect()
        gc.freeze()
        _settled = _kept[0], _kept[1].paths
    for path in [path for path in sys.path_importer_cache if path.endswith(".zip")]:
        del sys.path_importer_cache[path]


def shard_of(search: Search, partition: int) -> Shard:
    """A partition's shard, in the folder of this executor's shuffle files, which Spark removes."""
    shards = Path(os.environ["SPARK_LOCAL_DIRS"].partition(",")[0]) / "highwater-shards"
    return Shard(shards / search.name / f"{partition:05d}", engine_of(search).units)


def _batch(blocks: Sequence[tuple[int, int, int, Any]]) -> pa.RecordBatch:
    columns = list(zip(*blocks, strict=True))
    return pa.record_batch(
        [pa.array(column, of.type) for column, of in zip(columns, BLOCKS, strict=True)], schema=BLOCKS
    )


def _batch_of_one(owner: int, source: int, number: int, block: Any) -> pa.RecordBatch:
    """A batch of one block, which is not copied."""
    ends = pa.py_buffer(np.array([0, len(block)], np.int32))
    column = pa.Array.from_buffers(pa.binary(), 1, [None, ends, pa.py_buffer(block)])
    return pa.record_batch([pa.array([each], pa.int32()) for each in (owner, source, number)] + [column], schema=BLOCKS)


def _report(text: str) -> pa.RecordBatch:
    return pa.record_batch([[text]], schema=REPORTS)


def _as_json(report: Expanded | Admitted | Exception) -> str:
    if isinstance(report, Exception):
        return json.dumps({"error" if isinstance(report, ModelError) else "failure": str(report)})
    if isinstance(report, Admitted):
        return json.dumps({"admitted": attrs.asdict(report)})
    return json.dumps({"expanded": {**attrs.asdict(report, recurse=False), "counts": report.counts.as_data()}})


def read_report(text: str) -> Expanded | Admitted:
    """A task's report as the driver reads it.

    Raises:
        ModelError: the model failed there.
        CheckpointError: a partition has too many states.
    """
    ((kind, data),) = json.loads(text).items()
    if kind in ("error", "failure"):
        raise ModelError(data) if kind == "error" else CheckpointError(data)
    data["learned"] = [(program, instance, tuple(words)) for program, instance, words in data["learned"]]
    if kind == "admitted":
        return Admitted(**{**data, "part": Part(**data["part"]) if data["part"] else None})
    return Expanded(**{**data, "counts": Counts.from_data(data["counts"])})
