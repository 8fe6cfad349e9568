"""Breadth-first search on a Spark cluster, level by level: one job with one exchange per level, and a commit after it.

The visited set is a shard per partition on an executor's disk, rebuilt from committed levels where it is missing,
rather than a join with all levels: a level then costs what it has itself. With 9,985,570 states, `local[2]` and a
machine of its own, a plain `left_anti` join with Parquet took 77 s where this took 15 s; its last levels, of a few
rows, took 2.8 to 2.9 s, and these 0.3 to 0.4 s. `docs/spark.md` has more figures, and the other choices that were
tried.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from pyspark.sql import SparkSession

from explorer.partitioned.visited import Visited
from explorer.partitioned.worker import PartitionWorker
from explorer.search.counts import Counts, by_bound, by_bound_alone
from explorer.search.durable import CheckpointError
from explorer.system import System
from explorer.verdict import DEADLOCK, Budget, Outcome, Progress, Verdict, Violation
from spark.driver.cluster import Cluster
from spark.driver.traces import Traces
from spark.levels import Found, Level, Levels
from spark.worker.level import Admitted, Expanded, admit_blocks, expand_part, write_rows

ROWS_WORTH_A_JOB = 50_000
ROWS_IN_THE_DRIVER = 1 << 22


def explore(
    make_system: Callable[[], System],
    budget: Budget = Budget(),  # noqa: B008 - frozen
    *,
    spark: SparkSession,
    name: str = "search",
    checkpoint: str | None = None,
    resume: bool = False,
    check_deadlock: bool = False,
    keep_going: bool = False,
    symmetry: bool = True,
    partitions: int | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Outcome:
    """Explore every state that the system reaches, level by level, on a Spark cluster, and check every invariant on
    each.

    Verdict, counts and the lengths of traces are those of `explorer.search.breadth_first.explore`, for any number of
    executors and partitions. The traces themselves are the same for the same number of partitions. Prospects are not
    judged: they speak of the graph of all states.

    Args:
        make_system: makes the system; it is called on every machine, so it must be picklable, and give the same
            everywhere.
        budget: when to stop early; `max_states` ends the search at the end of the level that goes beyond it. `memory`
            is Spark's business.
        spark: the session.
        name: what to call the search in manifests and in Spark's web pages.
        checkpoint: the folder for levels, a path or URI that driver and executors all reach; a temporary one if None.
        resume: go on from the last whole level in that folder.
        partitions: how many partitions a level has; as many as the cluster has cores if None.

    Raises:
        ModelError: the model is wrong in itself.
        CheckpointError: the folder cannot be used, or is not of this search.
        ClusterError: Spark gave up.
    """
    options = Options(name, check_deadlock, keep_going, symmetry, partitions, on_progress)
    if checkpoint is not None:
        return _Search(make_system, budget, spark, checkpoint, options, resume=resume).run()
    if not spark.sparkContext.master.startswith("local"):
        raise CheckpointError(
            f"{spark.sparkContext.master} needs --checkpoint URI, a folder that driver and executors all reach"
        )
    with tempfile.TemporaryDirectory(prefix="highwater-") as folder:
        search = _Search(make_system, budget, spark, folder, options, resume=False)
        search.store.temporary = True
        return search.run()


@attrs.frozen
class Options:
    """How to search; `explore` says what each means."""

    name: str
    check_deadlock: bool
    keep_going: bool
    symmetry: bool
    partitions: int | None
    on_progress: Callable[[Progress], None]


class _Search:
    """One search: its levels, what ends it early, and its progress."""

    def __init__(
        self,
        make_system: Callable[[], System],
        budget: Budget,
        spark: SparkSession,
        folder: str,
        options: Options,
        *,
        resume: bool,
    ) -> None:
        self.started = time.perf_counter()
        self.budget = budget
        self.options = options
        self.system = make_system()
        self.engine = PartitionWorker(self.system, options.symmetry)
        self.levels: list[Level] = []
        self.violations: list[Violation] = []
        self.counts = Counts.none(len(self.system.actions))
        self.found: tuple[Found, ...] = ()
        self.paths = 0
        self.took = ""
        self.visited: Visited | None = None
        known = {"check_deadlock": options.check_deadlock, "keep_going": options.keep_going}
        self.prints = self.engine.fingerprint(known)
        self.store = Levels(folder)
        self.traces = Traces(self.engine, self.store)
        self.cluster = Cluster(
            spark, options.name, make_system, options.symmetry, known, self.engine, self.store, options.partitions
        )
        try:
            header = {
                "spec": options.name,
                "fingerprint": self.prints,
                "symmetry": options.symmetry,
                "layout": _layout(self.engine),
            }
            self._go_on() if resume else self.store.begin(header)
        except BaseException:
            self.store.release()
            raise
        self.restored, self.rows_restored = (
            sum(level.states for level in self.levels),
            sum(level.rows for level in self.levels),
        )

    def _go_on(self) -> None:
        """Take over the levels that are there."""
        self.store.refuse_unless_of(self.prints)
        self.store.lock()
        self.levels = self.store.read()
        self.store.remove_leftovers(len(self.levels))
        if not self.levels:
            return
        last = self.levels[-1]
        self.counts, self.found, self.paths = last.counts, last.found, last.paths
        self.violations = [self.traces.violation(found, self.levels) for found in self.found]
        if last.rows < ROWS_WORTH_A_JOB and sum(level.rows for level in self.levels) < ROWS_IN_THE_DRIVER:
            self.visited = Visited(self.engine.units)
            for level in self.levels:
                for part in filter(None, level.parts):
                    self.visited.add(self.engine.rows_of(self.store.words_of(part, self.engine.layout.words)))

    def run(self) -> Outcome:
        try:
            reason = self._explore()
        except KeyboardInterrupt:
            reason = "interrupted"
        finally:
            self.cluster.close()
            self.store.release()
        return self._outcome(reason)

    def _explore(self) -> str:
        """Go from level to level; what ended it early, if anything did."""
        if not self.levels:
            self._begin()
        while True:
            if self.violations and not self.options.keep_going:
                return ""
            depth, stored = len(self.levels) - 1, sum(level.rows for level in self.levels)
            if self.budget.max_states is not None and stored > self.budget.max_states:
                return "max-states"
            if self.budget.max_depth is not None and depth >= self.budget.max_depth:
                return f"depth {self.budget.max_depth}"
            if not self._next_level():
                self.store.note_end(depth)
                return ""

    def _begin(self) -> None:
        """The level of the initial states."""
        self.visited = Visited(self.engine.units)
        rows = self.engine.representative_rows(self.system.initial)
        self.visited.add(rows)
        none = np.full(self.visited.end, -1, np.int64)
        self._end_level([], [write_rows(self.engine, rows, none, none, self.store, 0, 0, ())], partitions=1)

    def _next_level(self) -> bool:
        """Expand the last level; False if that led nowhere new."""
        level, started = self.levels[-1], time.perf_counter()
        known = [found.property for found in self.found]
        if self.visited is not None and level.rows < ROWS_WORTH_A_JOB and self.visited.end < ROWS_IN_THE_DRIVER:
            expanded, admitted = self._in_driver(level, known)
            partitions, more = 1, ""
        else:
            self.visited = None
            expanded, admitted, more = self.cluster.run(self.levels, known, self._tell)
            partitions = self.cluster.partitions
        self.took = f"level {len(self.levels)} took {time.perf_counter() - started:.2f} s{more}"
        return self._end_level(expanded, admitted, partitions)

    def _in_driver(self, level: Level, known: Sequence[str]) -> tuple[list[Expanded], list[Admitted]]:
        assert self.visited is not None
        blocks, expanded = [], []
        for source, part in enumerate(level.parts):
            if part:
                rows = self.engine.rows_of(self.store.words_of(part, self.engine.layout.words))
                for found in expand_part(self.engine, rows, source, 1, known):
                    (expanded if isinstance(found, Expanded) else blocks).append(found)
        return expanded, [admit_blocks(self.engine, self.visited, blocks, self.store, level.depth + 1, 0, known)]

    def _end_level(self, expanded: list[Expanded], admitted: list[Admitted], partitions: int) -> bool:
        """Add up what was counted, and commit the level if it has rows."""
        depth = len(self.levels)
        self.counts = sum((report.counts for report in expanded), self.counts)
        self.paths += sum(report.paths for report in [*expanded, *admitted])
        self._look_for_violations(expanded)
        parts = {report.partition: report.part for report in admitted}
        level = Level(
            depth,
            tuple(parts.get(partition) for partition in range(partitions)),
            sum(report.states for report in admitted),
            self.counts,
            paths=self.paths,
            visited=sum(report.visited for report in admitted),
        )
        if not level.rows:
            return False
        violated = _first([(report.partition, report.violated) for report in admitted])
        self._add_violations([Found(name, depth, *at) for name, at in violated.items()], [*self.levels, level])
        level = attrs.evolve(level, found=self.found)
        self.store.commit(level)
        self.levels.append(level)
        self._tell(level_ended=True)
        return True

    def _look_for_violations(self, expanded: list[Expanded]) -> None:
        """Note what expanding the last level has met: steps that violate a step property, and states at rest."""
        depth = len(self.levels) - 1
        broken = _first([(report.source, report.broken) for report in expanded])
        self._add_violations([Found(name, depth, *at) for name, at in broken.items()], self.levels)
        at_rest = _first([(report.source, {DEADLOCK: report.at_rest}) for report in expanded if report.at_rest >= 0])
        if self.options.check_deadlock and at_rest and not any(found.property == DEADLOCK for found in self.found):
            self._add_violations([Found(DEADLOCK, depth, *at_rest[DEADLOCK])], self.levels)

    def _add_violations(self, found: list[Found], levels: list[Level]) -> None:
        """Tell violations in the order of their traces."""
        told = self.traces.in_order(found, levels)
        self.violations += [violation for _, violation in told]
        self.found += tuple(each for each, _ in told)

    # Telling

    def _tell(self, now: str = "", level_ended: bool = False) -> None:
        """Tell how far it is: what the cluster does now, if it does, and what the last level took."""
        level, stored, distinct = (
            self.levels[-1],
            sum(each.rows for each in self.levels),
            sum(each.states for each in self.levels),
        )
        self.options.on_progress(
            Progress(
                depth=level.depth,
                frontier=level.rows,
                stored_states=stored,
                generated=self.counts.generated,
                compiled_paths=self.paths,
                seconds=time.perf_counter() - self.started,
                memory=self._bytes,
                level_ended=level_ended,
                restored=self.rows_restored,
                more="; ".join(filter(None, [now, self.took, f"{distinct:,} distinct" if distinct != stored else ""])),
            )
        )

    @property
    def _bytes(self) -> int:
        """Bytes of the levels, which hold states and parents, and of the visited sets."""
        return sum(level.bytes for level in self.levels) + (self.levels[-1].visited if self.levels else 0)

    def _outcome(self, reason: str) -> Outcome:
        verdict = Verdict.after(bool(self.violations), reason)
        enabled: Counter[str] = Counter()
        for instance, count in zip(self.system.actions, self.counts.enabled, strict=True):
            enabled[instance.of.name] += count
        return Outcome(
            verdict=verdict,
            reason=reason,
            violations=tuple(self.violations),
            levels=tuple(level.states for level in self.levels),
            generated=self.counts.generated,
            enabled=dict(enabled),
            bounds_cut=by_bound(self.counts.cut_steps),
            cut_alone=by_bound_alone(self.counts.cut_steps),
            deadlocks=self.counts.at_rest,
            stopped_at_bound=self.counts.stopped_at_bound,
            stored_states=sum(level.rows for level in self.levels),
            compiled_paths=self.paths,
            seconds=time.perf_counter() - self.started,
            memory=self._bytes,
            bits=self.engine.layout.bits,
            restored=self.restored,
        )


def _first(found: list[tuple[int, dict[str, int]]]) -> dict[str, tuple[int, int]]:
    """By property, the first part where it was found violated, and the row there."""
    first: dict[str, tuple[int, int]] = {}
    for number, rows in sorted(found, key=lambda pair: pair[0]):
        for name, row in rows.items():
            first.setdefault(name, (number, row))
    return first


def _layout(engine: PartitionWorker) -> list[dict[str, Any]]:
    """The layout, for readers of the manifest."""
    return [
        {"path": leaf.path, "word": leaf.word, "shift": leaf.shift, "width": leaf.width, "domain": str(leaf.domain)}
        for leaf in engine.layout.root.leaves()
    ]
