"""Levels as Spark jobs: the driver sends a level, and gets reports and Spark's figures."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import attrs
from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.keeping.fingerprint import Fingerprint
from highwater.explorer.system import System
from highwater.spark.driver.audit import Found, as_words
from highwater.spark.driver.exchange import exchanged, homes_of, java_class, numbers_at_home
from highwater.spark.driver.rows import rows_of
from highwater.spark.driver.session import SPARK_ERRORS, ClusterError, reason_with_setting
from highwater.spark.driver.small_levels import expand_level
from highwater.spark.driver.windows import windows_before, windows_for
from highwater.spark.driver.work import Moved
from highwater.spark.files import Damaged
from highwater.spark.levels import Level, Levels
from highwater.spark.worker.graph import (
    STEPS_IN_SPARK,
    Shards,
    Wanted,
    in_spark,
    premises_task,
    states_schema,
    states_task,
    steps_task,
    targets_task,
)
from highwater.spark.worker.level import Admitted, Block, Expanded
from highwater.spark.worker.shard import next_digest
from highwater.spark.worker.tasks import (
    Search,
    Task,
    admit_here_task,
    admit_task,
    expand_task,
    read_report,
    sent,
    versions,
)

SECONDS_BETWEEN_REPORTS = 1.0

Result = TypeVar("Result")


@attrs.frozen
class Made:
    """What executors make their engines from.

    Attributes:
        options: those of the search that its results depend on.
        prints: what must be equal in every process.
        every_path: see `highwater.spark.worker.tasks.Search`.
    """

    make_system: Callable[[], System]
    symmetry: bool
    options: dict[str, Any]
    prints: Fingerprint
    every_path: bool


class Cluster:
    """The jobs of one search.

    Attributes:
        worker: the driver's engine.
        store: the levels.
        partitions: how many tasks admit a level.
        windows: how many partitions of a level each of these admits, one after the other.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        made: Made,
        worker: PartitionWorker,
        store: Levels,
        partitions: int | None,
        memory: int | None = None,
    ) -> None:
        """The jobs of a search.

        Args:
            memory: bytes of the visited set that a task may have at a time. If None, half of the least machine's,
                by the tasks that may run there at once.
        """
        self._spark = spark
        self._name = name
        self._made = made
        self.worker = worker
        self.store = store
        self._partitions = partitions
        self._memory, self._room = memory, memory
        self.windows = 1
        self._shared: Any = None
        self._homes: dict[int, Any] = {}
        self._digests: list[str] = []
        self._depth = -1
        self._group = f"highwater-{uuid.uuid4().hex[:12]}"
        self._pool = ThreadPoolExecutor(1)
        self._does, self._since, self._interrupted = "", 0.0, False

    @property
    def partitions(self) -> int:
        if self._partitions is None:
            self._partitions = max(1, self._spark.sparkContext.defaultParallelism)
        return self._partitions

    @property
    def owners(self) -> int:
        """How many partitions a level has."""
        return self.partitions * self.windows

    def run(
        self, levels: Sequence[Level], known: Sequence[str], on_progress: Callable[[str], None], *, few: bool
    ) -> tuple[list[Expanded], list[Admitted], Moved]:
        """Expand the last level and write the files of the next one.

        Args:
            levels: all levels so far.
            known: properties that need no check any more.
            on_progress: called from time to time with the progress, in words.
            few: whether the last level has so few rows that the driver expands them. What they lead to goes along with
                the tasks that admit: a job of one stage, without an exchange.

        Returns:
            The reports of the tasks, and what Spark moved between them.

        Raises:
            ModelError, CheckpointError: a task has raised it.
            ClusterError: Spark failed.
        """
        self._choose_windows(levels)
        self._share(levels)
        made = expand_level(self.worker, self.store, levels[-1], self.owners, known) if few else None
        texts = self._wait_for(
            lambda: self._collect(levels[-1], known, made and made[1]),
            lambda seconds: on_progress(f"level {levels[-1].depth + 1} runs for {seconds:.0f} s{self._tasks()}"),
        )
        reports = [read_report(text) for text in texts]
        expanded = sorted((each for each in reports if isinstance(each, Expanded)), key=lambda each: each.source)
        expanded += made[0] if made else []
        admitted = sorted((each for each in reports if isinstance(each, Admitted)), key=lambda each: each.partition)
        self._room = self._memory or min(each.room for each in admitted)
        return expanded, admitted, self._moved()

    def do(self, job: Callable[[], Result], on_progress: Callable[[str], None]) -> Result:
        """Run what makes tables, and says by `begin` what each of its jobs does.

        All calls of Spark are in a thread of its own, so that Ctrl-C meets none of them.

        Raises:
            ClusterError: Spark failed.
        """
        try:
            return self._wait_for(
                job, lambda _: on_progress(f"{self._does} for {time.perf_counter() - self._since:.0f} s")
            )
        except SPARK_ERRORS as error:
            raise ClusterError(
                f"Spark gave up on {self._does}: {self._reason_of(error)}\n  {self._advice('all levels are')}"
            ) from error

    def begin(self, what: str) -> None:
        """Describe the next jobs, for progress and for Spark's web pages."""
        if self._interrupted:
            raise CancelledError
        self._does, self._since = what, time.perf_counter()
        self._describe(what)

    def graph(self, levels: Sequence[Level], wanted: Wanted) -> tuple[DataFrame, DataFrame]:
        """States and steps as tables; see `highwater.spark.worker.graph`. Nothing is computed yet, but where shards
        are at home.

        Args:
            levels: all levels.
        """
        self._spark.conf.set("spark.sql.shuffle.partitions", self.owners)
        shards, homes, numbers = self._shards(levels)
        schema = states_schema(self.worker.layout.words, wanted)
        states = self._table(numbers, "number int").mapInArrow(
            states_task(self._shared, shards, wanted), in_spark(schema)
        )
        sent = numbers.mapPartitionsWithIndex(steps_task(self._shared, shards, wanted))
        blocks = exchanged(sent, self.owners, homes).filter(bool)
        steps = self._table(blocks, "block binary").mapInArrow(targets_task(self._shared, shards), STEPS_IN_SPARK)
        return states, steps

    def premises(self, levels: Sequence[Level]) -> list[bool]:
        """Whether each of the system's premises is true in any state.

        Args:
            levels: all levels.
        """
        shards, _, numbers = self._shards(levels)
        found = numbers.mapPartitionsWithIndex(premises_task(self._shared, shards)).collect()
        return [any(of_partitions) for of_partitions in zip(*found, strict=True)]

    def stored(self, levels: Sequence[Level], first_words: Collection[int]) -> list[Found]:
        """The rows of levels whose first word is one of some."""
        words = [f"w{number}" for number in range(self.worker.layout.words)]
        signed = [word - (word >> 63 << 64) for word in first_words]
        rows = rows_of(self._spark, self.store, levels, len(words)).where(col("w0").isin(signed)).collect()
        return [(as_words(row[name] for name in words), row["depth"], row["orbit"]) for row in rows]

    def _shards(self, levels: Sequence[Level]) -> tuple[Shards, Any, RDD[Any]]:
        """What all shards hold, where they are at home, and their numbers there."""
        self.windows = max(self.windows, windows_before(levels, self.partitions))
        self._share(levels)
        homes = self._homes_of(self.owners)
        numbers = numbers_at_home(self._spark.sparkContext, self.owners, homes)
        return Shards(len(levels), tuple(self._digests), self.windows), homes, numbers

    def _table(self, values: RDD[Any], column: str) -> DataFrame:
        """A table of one column."""
        return self._spark.createDataFrame(values.map(lambda value: (value,)), column, verifySchema=False)

    @contextmanager
    def set(self, key: str, value: int) -> Iterator[None]:
        """Change a setting of the session for a while."""
        before = self._spark.conf.get(key)
        self._spark.conf.set(key, value)
        try:
            yield
        finally:
            self._spark.conf.set(key, cast("str", before))

    def _wait_for(self, job: Callable[[], Result], on_progress: Callable[[float], None]) -> Result:
        """Wait for a job, which can be interrupted. `on_progress` is called from time to time with the seconds."""
        started = time.perf_counter()
        running = self._pool.submit(job)
        try:
            while True:
                try:
                    return running.result(SECONDS_BETWEEN_REPORTS)
                except StillRunning:
                    on_progress(time.perf_counter() - started)
        except BaseException:
            self._interrupted = True
            self._spark.sparkContext.cancelJobGroup(self._group)
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        for homes in self._homes.values():
            homes.unpersist()
        if self._shared is not None:
            self._shared.destroy()

    def _share(self, levels: Sequence[Level]) -> None:
        """Broadcast once what every task needs, and note the files of each partition."""
        if self._shared is None:
            search = Search(
                self._group,
                self._made.make_system,
                self._made.symmetry,
                self._made.options,
                self._made.prints,
                versions(),
                self.worker.trees(),
                self.store,
                self._made.every_path,
                self._spark.sparkContext.defaultParallelism if self._is_local else None,
            )
            self._shared = self._spark.sparkContext.broadcast(search)
        if len(self._digests) != self.owners:
            self._digests, self._depth = [""] * self.owners, -1
        for level in levels[self._depth + 1 :]:
            self._digests = [
                next_digest(digest, level.files_for(p, self.owners)) for p, digest in enumerate(self._digests)
            ]
            self._depth = level.depth

    @property
    def _is_local(self) -> bool:
        return cast("str", self._spark.sparkContext.master).startswith("local")

    def _choose_windows(self, levels: Sequence[Level]) -> None:
        try:
            self.windows = windows_for(levels, self.partitions, self._room)
        except ClusterError as error:
            raise self._gave_up(levels[-1], str(error)) from None

    def _gave_up(self, level: Level, reason: str) -> ClusterError:
        gave_up = f"Spark gave up on level {level.depth + 1}: {reason}"
        return ClusterError(f"{gave_up}\n  {self._advice(f'levels up to {level.depth} are')}")

    def _collect(self, level: Level, known: Sequence[str], made: Sequence[Block] | None) -> list[str]:
        """Run the job and return the reports of its tasks.

        Args:
            made: what the level's rows lead to, if the driver has expanded them.
        """
        try:
            homes = self._homes_of(self.partitions)
            admit = admit_task(self._shared, level.depth + 1, list(self._digests), list(known), self.windows)
            if made is not None:
                return self._admit_here(level, made, admit, homes)
            self._describe(
                f"level {level.depth + 1}: expand {level.rows:,} rows of level {level.depth}, exchange, admit"
            )
            sources = list(enumerate(level.files))
            expand = expand_task(self._shared, sources, self.owners, list(known), self.windows)
            blocks = self._spark.sparkContext.parallelize([], len(sources)).mapPartitionsWithIndex(expand)
            arrived = exchanged(blocks, self.partitions, homes)
            reports = arrived.mapPartitionsWithIndex(admit).collect()
            arrived.forget()
            return reports
        except Exception as error:
            raise self._gave_up(level, self._reason_of(error)) from error

    def _admit_here(self, level: Level, made: Sequence[Block], admit: Task, homes: Any) -> list[str]:
        """Have blocks admitted that the driver has made."""
        self._describe(f"level {level.depth + 1}: admit what {level.rows:,} rows of level {level.depth} lead to")
        blocks: dict[int, list[bytes]] = {}
        for block in made:
            _, packed = sent(block.owner, block.source, block.number, block.records.data.cast("B"), self.windows)
            blocks.setdefault(block.owner // self.windows, []).append(packed)
        numbers = numbers_at_home(self._spark.sparkContext, self.partitions, homes)
        return numbers.mapPartitionsWithIndex(admit_here_task(blocks, admit)).collect()

    def _reason_of(self, error: Exception) -> str:
        """Why Spark gave up.

        Raises:
            Damaged: a task has raised it each time. Nothing goes on from there.
        """
        reason = reason_with_setting(error, self._spark.sparkContext.getConf())
        kind, _, fault = reason.partition(": ")
        if kind == f"{Damaged.__module__}.{Damaged.__name__}":
            raise Damaged(fault) from None
        return reason

    def _advice(self, what_is: str) -> str:
        """How to go on after Spark gave up."""
        if self.store.temporary:
            return "nothing is kept of this search: name a --checkpoint folder, from which --resume goes on"
        return f"{what_is} whole in {self.store.uri}: go on with --resume"

    def _describe(self, what: str) -> None:
        """Describe the next jobs in Spark's web pages. These cut a description after some seventy letters, so the
        search's name comes last.
        """
        self._spark.sparkContext.setJobGroup(self._group, f"{what} ({self._name})", interruptOnCancel=True)

    def _homes_of(self, partitions: int) -> Any:
        """Where each of so many partitions has its shard; None on one machine."""
        if partitions not in self._homes and not self._is_local:
            self._describe(f"before level {self._depth + 1}: choose where each of {partitions} partitions is at home")
            self._homes[partitions] = homes_of(self._spark.sparkContext, partitions)
        return self._homes.get(partitions)

    def _tasks(self) -> str:
        """The progress of the running stages. In a job with two stages, the last one admits."""
        tracker = self._spark.sparkContext.statusTracker()
        job = tracker.getJobInfo(self._last_job())
        active = set(tracker.getActiveStageIds())
        numbers = sorted(job.stageIds) if job else []
        stages = [tracker.getStageInfo(stage) for stage in numbers if stage in active]
        phases = [("admit" if stage.stageId == numbers[-1] else "expand", stage) for stage in stages if stage]
        done = "".join(f", {phase} {stage.numCompletedTasks} of {stage.numTasks} tasks" for phase, stage in phases)
        return done or self._missing()

    def _last_job(self) -> int:
        """The job that began last, -1 before the first one. Java looks for it: each number would be a call."""
        context: Any = self._spark.sparkContext
        numbers = context._jsc.statusTracker().getJobIdsForGroup(self._group)
        return cast("int", java_class(context._jvm, "java.util.Arrays").stream(numbers).max().orElse(-1))

    def _missing(self) -> str:
        """That there is no executor, if there is none."""
        context = self._spark.sparkContext
        if self._is_local or context._jsc.sc().getExecutorMemoryStatus().size() > 1:
            return ""  # the driver counts as one
        return ", awaiting executors: none has come yet"

    def _moved(self) -> Moved:
        """What the stages of the last job have moved."""
        try:
            context = self._spark.sparkContext
            job = context.statusTracker().getJobInfo(self._last_job())
            store = context._jsc.sc().statusStore()
            stages = [store.lastStageAttempt(stage) for stage in cast("Any", job).stageIds]
            shuffled = sum(stage.shuffleWriteBytes() for stage in stages)
            return Moved(shuffled, sum(stage.diskBytesSpilled() for stage in stages))
        except Exception:  # what Spark keeps for its web pages may be gone, or have another name in another version
            return Moved()
