"""A level as two tasks of Spark with one exchange of blocks between them.

`expand_task` reads a file of the level, walks the trees and sends blocks of records to the partitions that own them; it
sends most equal records once. `admit_task` admits the records that its partition has not visited, checks the
properties, and writes the next level's file. Both are pure functions of committed files. Spark runs a task again if an
executor is lost or a fetch fails. The second run makes the same blocks and rows in the same order, under new file
names, and the driver commits the names that arrive.

Counts travel with the data, as rows of the blocks' stream, because each row arrives exactly once. Spark's accumulators
would count an expansion twice if its task ran twice: Spark promises exact ones only for the last stage of a job.

A block is a byte string of packed records. Levels are stored as a row per state with a LongType column per word, but
Spark copies rows one by one on both sides of the exchange, and a block at once. `bench/on_spark.py` measures both.

Each worker process keeps an engine. Its trees begin as the driver's and grow on their own.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import shutil
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import attrs
import numpy as np

from highwater.explorer.blame import ModelError
from highwater.explorer.memory import address_limit, machine_memory
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.search.keeping.fingerprint import Fingerprint, differences, in_one_line
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.sources import digest, files_of, forget_models
from highwater.explorer.system import System
from highwater.spark.levels import LevelFile, Levels
from highwater.spark.worker.inbox import Inbox
from highwater.spark.worker.level import Admitted, Block, Expanded, admit_blocks, expand_file
from highwater.spark.worker.shard import Shard, checksum, forget_mapped

LONG = struct.Struct("!q")  # as Java reads an owner
PLACE = struct.Struct("=iii4x16s")  # the owner of a block, its source, its number there, the checksum of what follows
REPORT = -1  # as the number of a block: the block is the report of the task that has expanded
Task = Callable[..., Iterator[Any]]
Report = TypeVar("Report", Expanded, Admitted)


class DamagedBlock(Exception):
    """What one task has sent is not what another one gets. Spark attempts the task again."""


@attrs.frozen
class Search:
    """What every task needs of a search.

    Attributes:
        name: unique to the search, so that worker processes know whether their engine belongs to it.
        make_system: makes the system, on any machine that has the package.
        prints: must be equal on every machine; see `highwater.explorer.search.keeping.fingerprint`.
        versions: of what the engine is built on; must be equal on every machine, too.
        trees: the decision trees that the driver has learned.
        every_path: whether each task reports all paths that its process has learned, lest those be missing that a task
            has learned which was lost.
        sharers: how many tasks may run at once on one machine; as many as it has processors if None.
    """

    name: str
    make_system: Callable[[], System]
    symmetry: bool
    options: dict[str, Any]
    prints: Fingerprint
    versions: dict[str, str]
    trees: dict[str, Any]
    levels: Levels
    every_path: bool = False
    sharers: int | None = None


def expand_task(
    shared: Any, sources: Sequence[tuple[int, LevelFile]], owners: int, known: Sequence[str], windows: int = 1
) -> Task:
    """A task that expands the file at its position, and yields partitions and blocks in turn."""

    def expand(position: int, nothing: Iterator[Any]) -> Iterator[bytes]:
        exhaust(nothing)
        source, file = sources[position]
        try:
            search, worker = shared.value, _ready(shared.value)
            rows = worker.rows_of(search.levels.words_of(file, worker.layout.words))
            for found in expand_file(worker, rows, source, owners, known):
                if isinstance(found, Expanded):
                    yield from sent(source % owners, source, REPORT, _as_json(_signed(found)).encode(), windows)
                else:
                    yield from sent(found.owner, source, found.number, found.records.data.cast("B"), windows)
        except ModelError as error:
            yield from sent(source % owners, source, REPORT, _as_json(error).encode(), windows)

    return ready_for_more(expand)


def exhaust(nothing: Iterator[Any]) -> None:
    """Read an input to its end. Spark ends a process that has not, and the next task would need a new engine."""
    for _ in nothing:
        pass


def sent(owner: int, source: int, number: int, block: Any, windows: int = 1) -> tuple[bytes, bytes]:
    """A block for its owner, which is one of so many windows of a partition, as Spark's shuffle takes it: its place is
    its first bytes.
    """
    place = PLACE.pack(owner, source, number, _checksum(block))
    return LONG.pack(owner // windows), b"".join((place, block))


def received(block: bytes) -> tuple[int, int, memoryview]:
    """Source, number and content of a block.

    Raises:
        DamagedBlock: it is not what was sent.
    """
    (_, source, number, summed), content = PLACE.unpack_from(block), memoryview(block)[PLACE.size :]
    if _checksum(content) != summed:
        raise DamagedBlock(f"block {number} of file {source} has changed on its way, on a disk or in a network")
    return source, number, content


def _checksum(content: Any) -> bytes:
    return checksum(np.frombuffer(content, np.uint8)).encode("ascii")


def admit_task(shared: Any, depth: int, digests: Sequence[str], known: Sequence[str], windows: int = 1) -> Task:
    """A task that admits the blocks of its partition, window by window, and yields a report of each.

    Windows are taken upwards and downwards in turn, so that those come first which the page cache still has.
    """

    def admit(partition: int, sent_here: Iterator[bytes]) -> Iterator[str]:
        with Inbox(executors_folder()) as inbox:
            yield from _put(sent_here, inbox)
            for owner in range(partition * windows, (partition + 1) * windows)[:: 1 if depth % 2 else -1]:
                blocks = (_block(owner, block) for block in inbox.in_order(owner))
                try:
                    yield _as_json(_signed(_admit(shared.value, blocks, depth, owner, digests, known, windows)))
                except (ModelError, OverflowError) as error:  # Spark may attempt all other errors again
                    yield _as_json(error)
                    return

    return ready_for_more(admit)


def admit_here_task(blocks: Mapping[int, Sequence[bytes]], admit: Task) -> Task:
    """A task that admits the blocks of its partition that the driver has made; they come along with it.

    Args:
        admit: what `admit_task` gives.
    """

    def admit_here(partition: int, nothing: Iterator[Any]) -> Iterator[str]:
        exhaust(nothing)
        return admit(partition, iter(blocks.get(partition, ())))

    return admit_here


def _put(sent_here: Iterator[bytes], inbox: Inbox) -> Iterator[str]:
    """Put blocks into an inbox; yields the reports among them."""
    for block in filter(None, sent_here):
        owner, source, number, _ = PLACE.unpack_from(block)
        if number == REPORT:
            yield str(received(block)[2], "utf-8")
        else:
            inbox.put(owner, (source, number), block)


def _block(owner: int, block: bytes) -> Block:
    """A block as it was sent, taken from an inbox."""
    source, number, content = received(block)
    return Block(owner, source, number, np.frombuffer(content, np.uint32))


def _admit(
    search: Search,
    blocks: Iterator[Block],
    depth: int,
    owner: int,
    digests: Sequence[str],
    known: Sequence[str],
    windows: int,
) -> Admitted:
    worker = _ready(search)
    shard = shard_of(search, owner, windows)
    try:
        caught_up = shard.catch_up(worker, search.levels, depth, digests[owner], owner, len(digests))
        admitted = admit_blocks(worker, shard, blocks, search.levels, depth, owner, known)
        shard.note(digests[owner], admitted.files)
        return attrs.evolve(admitted, caught_up=caught_up, room=room_of(search))
    finally:
        shard.close()


def room_of(search: Search) -> int:
    """Bytes of the visited set that a task may have in memory here: half of the machine's, by the tasks that may run at
    once. Where address space is limited, a quarter of it.
    """
    room, limit = machine_memory() // 2 // (search.sharers or os.cpu_count() or 1), address_limit()
    return room if limit is None else min(room, limit // 4)


_kept: tuple[str, PartitionWorker] | None = None


OF_TASKS = (
    "highwater", "highwater.claims", "highwater.explorer", "highwater.explorer.partitioned", "highwater.model",
    "highwater.model.language", "highwater.spark", "highwater.spark.worker",
)  # fmt: skip
"""The packages that a task imports, besides the engine's and those of models."""


@functools.cache
def tasks_code() -> str:
    """A hash of all of Highwater that a task imports, as it is when this is first asked for."""
    return digest(file.read_bytes() for file in files_of(*OF_TASKS))


def versions() -> dict[str, str]:
    """What the engine is built on. Spark itself compares the versions of Python."""
    return {name: metadata.version(name) for name in ("numpy", "pyarrow", "numba", "llvmlite")}


def prints_of(worker: PartitionWorker, options: dict[str, Any]) -> Fingerprint:
    """What must be equal in every process of a search, and in one that goes on with its levels.

    Raises:
        ModelError: as `PartitionWorker.fingerprint`.
    """
    prints = worker.fingerprint(options)
    return prints | {"engine": prints["engine"] | {"the code on executors": tasks_code()}}


def worker_of(search: Search) -> PartitionWorker:
    """This process's engine for a search. Spark uses processes again: one that has loaded another version of the model
    for an earlier search loads it anew.

    Raises:
        ModelError: this machine makes another system from the same spec.
    """
    global _kept
    if _kept is None or _kept[0] != search.name:
        forget_mapped()
        _kept = None
        here = f"the executor {os.uname().nodename}"
        if others := [f"{name} {version}" for name, version in versions().items() if search.versions[name] != version]:
            driver = ", ".join(f"{name} {version}" for name, version in search.versions.items())
            raise ModelError(f"{here} has {', '.join(others)}, and the driver {driver}: install the same everywhere")
        worker = _loaded(search)
        if different := differences(search.prints, prints_of(worker, search.options)):
            raise ModelError(
                f"{here} has another version of highwater or of the model than the driver: {in_one_line(different)}"
            )
        worker.take_trees(search.trees)
        _kept = (search.name, worker)
    return _kept[1]


def _loaded(search: Search) -> PartitionWorker:
    """An engine for a search, of what this process has loaded before if that will do. It may lack what is named now."""
    with suppress(ModelError):
        worker = PartitionWorker(search.make_system(), symmetry=search.symmetry)
        if not differences(search.prints, prints_of(worker, search.options)):
            return worker
    forget_models()
    return PartitionWorker(search.make_system(), symmetry=search.symmetry)


def _ready(search: Search) -> PartitionWorker:
    """This process's engine, for a task that reports paths."""
    worker = worker_of(search)
    if search.every_path:
        worker.tell_again()
    return worker


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

    def run(*given: Any) -> Iterator[Any]:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        try:
            yield from task(*given)
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


def executors_folder() -> Path:
    """The folder of this executor's shuffle files, which Spark removes. No other executor has one of this name."""
    return Path(os.environ["SPARK_LOCAL_DIRS"].partition(",")[0])


def _signed(report: Report) -> Report:
    """A report that names its executor."""
    return attrs.evolve(report, executor=executors_folder().name)


def shard_of(search: Search, owner: int, windows: int) -> Shard:
    """The shard of one of so many windows of a partition, on this executor's disk. What is there of the partition in
    fewer windows goes away.
    """
    partition, window = divmod(owner, windows)
    shards = executors_folder() / "highwater-shards" / search.name / f"{partition:05d}"
    if shards.exists():
        for other in (each for each in shards.iterdir() if each.name != f"of-{windows}"):
            shutil.rmtree(other, ignore_errors=True)
    return Shard(shards / f"of-{windows}" / f"{window:03d}", worker_of(search).layout, windows)


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
        files = tuple(LevelFile(**file) for file in data["files"])
        violated = {name: (file, row) for name, (file, row) in data["violated"].items()}
        return Admitted(**{**data, "files": files, "violated": violated})
    return Expanded(**{**data, "counts": Counts.from_data(data["counts"])})
