"""Breadth-first search on a Spark cluster, level by level: one job with one exchange per level, and a commit after it.

Each partition has a shard of the visited set on an executor's disk. An executor rebuilds a missing shard from committed
levels. A level then costs as much as it has rows; a join with all levels would cost more with every level. With
9,985,570 states and `local[2]` on an idle machine, this once took 15 s, and a plain `left_anti` join with Parquet
77 s. The last levels have a few rows: they took 0.3 to 0.4 s, and 2.8 to 2.9 s with the join. `docs/spark.md` has
more figures and the other designs that were tried.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

import attrs
from pyspark.sql import SparkSession

from highwater.explorer.blame import JudgedOtherwise
from highwater.explorer.compiler.programs import Program
from highwater.explorer.partitioned.worker import Example, PartitionWorker
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.search.keeping.snapshots import deeper_than
from highwater.explorer.search.levels.coverage import functions_run, look, unreached
from highwater.explorer.search.states.counts import Counts, by_bound, by_bound_alone
from highwater.explorer.system import System
from highwater.explorer.verdict import (
    Audit,
    Auditing,
    Budget,
    LevelWork,
    Outcome,
    Progress,
    SearchOptions,
    Verdict,
    Violation,
)
from highwater.spark.driver.audit import Found
from highwater.spark.driver.audit import audit as audit_of
from highwater.spark.driver.cluster import Cluster, Made
from highwater.spark.driver.liveness import NoRoom, is_judged_by_executors, judged_on
from highwater.spark.driver.small_levels import SmallLevels
from highwater.spark.driver.traces import Traces, Violations
from highwater.spark.driver.work import in_words, measured
from highwater.spark.levels import Level, Levels
from highwater.spark.worker.level import Admitted, Expanded
from highwater.spark.worker.tasks import prints_of

ROWS_WORTH_A_JOB = 1 << 18
JUDGED_BY_LEVELS = 3  # programs: actions, invariants and step properties


def explore(
    make_system: Callable[[], System],
    budget: Budget = Budget(),  # noqa: B008 - frozen
    options: SearchOptions = SearchOptions(),  # noqa: B008 - frozen
    *,
    spark: SparkSession,
    name: str = "search",
    partitions: int | None = None,
    rows_worth_a_job: int | None = None,
    check_deadlock: bool = False,
) -> Outcome:
    """Explore every reachable state of the system, level by level, on a Spark cluster, and check the invariants there.

    Verdict, counts and the lengths of traces are those of `highwater.explorer.search.levels.breadth_first.explore`,
    for any number of executors and partitions. The traces themselves are the same for the same number of partitions.
    Prospects and liveness are judged once every state is known, with the counterexamples of the local search.

    Args:
        make_system: makes the system. It runs on every machine, so it must be picklable and return the same everywhere.
        budget: when to stop early. `max_states` ends the search after the level that exceeds it. `memory` is what a
            task may have of its partition's visited set at a time; if None, half of its machine's, by the tasks that
            may run there at once.
        options: how to go about it, but for `workers`. An audit never judges every state.
        spark: the session.
        name: the search's name in manifests and in Spark's web pages.
        partitions: the number of partitions; the number of the cluster's cores if None.
        rows_worth_a_job: the driver expands levels of fewer rows by itself; 262,144 if None.
        check_deadlock: see `highwater.explorer.search.levels.breadth_first.explore`.

    Raises:
        JudgedOtherwise: plain Python does not agree with what was found. What was kept of the trees is forgotten.
        ModelError: the model itself is wrong.
        CheckpointError: the folder cannot be used, or belongs to another search.
        ClusterError: Spark failed.
    """
    worth_a_job = ROWS_WORTH_A_JOB if rows_worth_a_job is None else rows_worth_a_job
    job = Job(spark, name, partitions, worth_a_job, check_deadlock)
    if options.checkpoint is not None:
        return _Search(make_system, budget, options, Levels(str(options.checkpoint)), job).run()
    if not cast("str", spark.sparkContext.master).startswith("local"):
        raise CheckpointError(
            f"{spark.sparkContext.master} needs --checkpoint URI, a folder that driver and executors all reach"
        )
    with tempfile.TemporaryDirectory(prefix="highwater-") as folder:
        new = attrs.evolve(options, resume=False)
        return _Search(make_system, budget, new, Levels(folder, temporary=True), job).run()


@attrs.frozen
class Job:
    """What a search is on a cluster; see `explore`."""

    spark: SparkSession
    name: str
    partitions: int | None
    rows_worth_a_job: int
    check_deadlock: bool


class _Search:
    """One search: its levels, its budget and its progress."""

    def __init__(
        self,
        make_system: Callable[[], System],
        budget: Budget,
        options: SearchOptions,
        store: Levels,
        job: Job,
    ) -> None:
        self.started = time.perf_counter()
        self.budget = budget
        self.options = options
        self.job = job
        self.system = make_system()
        self.worker = PartitionWorker(self.system, symmetry=options.symmetry)
        known = {"check_deadlock": job.check_deadlock, "keep_going": options.keep_going}
        self.prints = prints_of(self.worker, known)  # of what was imported, whatever becomes of the files from now on
        self.kept = self.worker.take_kept() if options.keep_trees and not options.coverage else None
        self.paths_known = self.worker.paths
        self.learned: dict[Example, None] = {}
        self.levels: list[Level] = []
        self.of_graph: list[Violation] = []
        self.held_back: dict[str, int] = {}
        self.vacuous: dict[str, str] = {}
        self.warnings: tuple[str, ...] = ()
        self.audit: Audit | None = None
        self.at_the_end: Counts | None = None
        self.took = ""
        self.work: list[LevelWork] = []
        self.store = store
        self.small = SmallLevels(self.worker, store, job.rows_worth_a_job)
        self.violations = Violations(Traces(self.worker, self.store))
        made = Made(make_system, options.symmetry, known, self.prints, options.coverage)
        self.cluster = Cluster(job.spark, job.name, made, self.worker, self.store, job.partitions, budget.memory)
        try:
            header = {
                "spec": job.name,
                "fingerprint": self.prints,
                "symmetry": options.symmetry,
                "layout": _layout(self.worker),
            }
            self._go_on() if options.resume else self.store.begin(header)
        except BaseException:
            self.store.release()
            raise
        self.restored = sum(level.states for level in self.levels)
        self.rows_restored = sum(level.rows for level in self.levels)

    def _go_on(self) -> None:
        """Restore the search from the levels in the folder."""
        self.store.refuse_unless_of(self.prints)
        self.store.lock()
        self.levels = self.store.read()
        self.store.remove_leftovers(len(self.levels))
        if not self.levels:
            return
        last = self.levels[-1]
        if (deeper := deeper_than(self.budget.max_depth, last.depth)) is not None:
            raise deeper
        self.paths_known = max(last.paths, self.worker.paths)
        self.violations = self.violations.restored(last.found, self.levels)
        self.small.go_on(self.levels)

    def run(self) -> Outcome:
        try:
            reason = self._explore()
            if not reason and (self.options.keep_going or not self.violations.all):  # every state is known
                reason = self._judge_graph()
            self._judge_twice(reason)
        except KeyboardInterrupt:
            reason = "interrupted"
        except JudgedOtherwise:
            if self.kept is not None:
                self.kept.forget()
            raise
        finally:
            self.cluster.close()
            self.store.release()
        if self.kept is not None or self.options.coverage:
            self.worker.learn_again(self.learned)
        if self.kept is not None:
            self.kept.keep()
        return self._outcome(reason)

    def _explore(self) -> str:
        """Explore level after level.

        Returns:
            The reason why the search ended early; empty if it did not.
        """
        if not self.levels:
            self._begin()
        while True:
            if self.violations.all and not self.options.keep_going:
                return ""
            depth, stored = len(self.levels) - 1, sum(level.rows for level in self.levels)
            if self.budget.max_states is not None and stored > self.budget.max_states:
                return "max-states"
            if self.budget.max_depth is not None and depth >= self.budget.max_depth:
                return f"depth {self.budget.max_depth}"
            if not self._next_level():
                self.store.note_end(depth)
                return ""

    def _judge_graph(self) -> str:
        """Judge prospects and liveness.

        Returns:
            What kept it from doing so, if anything did.
        """
        known = {violation.property for violation in self.violations.all}
        self.took = ""
        try:
            for found, held_back, vacuous in judged_on(
                self.cluster, self.levels, known, self._report, teach=self.options.coverage
            ):
                self.of_graph += found
                self.held_back |= held_back
                self.vacuous |= vacuous
        except NoRoom as missing:
            self.warnings += (f"liveness is not judged: the driver has no room for {missing.what}",)
            return str(missing)
        return ""

    def _judge_twice(self, reason: str) -> None:
        """Have some of what was found judged a second time, if that is wanted and all is well."""
        verdict = Verdict.after(reason, violated=bool(self.violations.all or self.of_graph))
        if self.options.audit in (None, Auditing.NONE) or verdict not in (Verdict.HOLDS, Verdict.HOLDS_TO_DEPTH):
            return

        def look_up(first_words: Collection[int]) -> list[Found]:
            def job() -> list[Found]:
                self.cluster.begin(f"audit: look for {len(first_words):,} states")
                return self.cluster.stored(self.levels, first_words)

            return self.cluster.do(job, self._report)

        self.audit = audit_of(
            self.worker,
            self.store,
            self.levels,
            self.learned,
            look_up,
            counts=self.counts,
            expanded=len(self.levels) - (verdict is Verdict.HOLDS_TO_DEPTH),
            no_deadlock=self.job.check_deadlock,
        )

    def _begin(self) -> None:
        """Commit the level of the initial states."""
        self._end_level([], [self.small.begin(self.system.initial)], partitions=1)

    def _next_level(self) -> bool:
        """Expand the last level; False if there are no new states."""
        level, started = self.levels[-1], time.perf_counter()
        known = [found.property for found in self.violations.found]
        moved, partitions, tasks = None, 1, 0
        if self.small.takes(level):
            expanded, admitted = self.small.next_level(level, known)
        else:
            few = level.rows < self.job.rows_worth_a_job
            expanded, admitted, moved = self.cluster.run(self.levels, known, self._report, few=few)
            partitions, tasks = self.cluster.owners, self.cluster.partitions + (0 if few else len(level.files))
        seconds = time.perf_counter() - started
        work = measured(len(self.levels), expanded, admitted, moved, tasks, level.rows, seconds)
        self.took = in_words(work, self.cluster.windows, sum(each.caught_up for each in admitted))
        return self._end_level(expanded, admitted, partitions, work)

    def _end_level(self, expanded: list[Expanded], admitted: list[Admitted], partitions: int, *work: LevelWork) -> bool:
        """Add up the counts of the tasks, and commit the level if it has rows. Nothing of it is part of the search
        before all of it is: an interrupt may come at any moment.
        """
        depth = len(self.levels)
        counts = sum((report.counts for report in expanded), self.counts)
        for learned in (*(each.learned for each in expanded), *(each.learned for each in admitted)):
            self.learned |= dict.fromkeys(learned)
        violations = self.violations.with_those_of_steps(expanded, self.levels, check_deadlock=self.job.check_deadlock)
        level = Level(
            depth,
            tuple(file for report in admitted for file in report.files),
            sum(report.states for report in admitted),
            counts,
            partitions,
            paths=self.paths,
            visited=sum(report.visited for report in admitted),
        )
        if not level.rows:
            self.at_the_end, self.violations, self.work = counts, violations, [*self.work, *work]
            return False
        violations = violations.with_those_of_states(admitted, [*self.levels, level])
        level = attrs.evolve(level, found=violations.found)
        self.store.commit(level)
        self.levels, self.violations, self.work = [*self.levels, level], violations, [*self.work, *work]
        self._report(level_ended=True)
        return True

    @property
    def counts(self) -> Counts:
        """The counts of all expansions that have led to the levels, and, at the end, to no new one."""
        if self.at_the_end is not None or not self.levels:
            return self.at_the_end or Counts.none(len(self.system.actions))
        return self.levels[-1].counts

    @property
    def paths(self) -> int:
        """How many paths of functions are known, on whatever machine."""
        return self.paths_known + len(self.learned)

    def _report(self, now: str = "", *, level_ended: bool = False) -> None:
        """Report progress: what the cluster does now, if it does anything, and how long the last level took."""
        level, stored = self.levels[-1], sum(each.rows for each in self.levels)
        distinct = sum(each.states for each in self.levels)
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

    def _covered(self) -> Sequence[Program]:
        """The programs of which all paths that reached states take are known, if coverage is wanted."""
        if not self.options.coverage or self.options.resume:
            return ()
        every = self.worker.search.programs
        if not (self.system.prospects or self.system.liveness) or not is_judged_by_executors(self.levels):
            return every
        self.warnings += ("coverage is without prospects and liveness, which executors have judged",)
        return every[:JUDGED_BY_LEVELS]

    def _outcome(self, reason: str) -> Outcome:
        violations, ranks = (*self.violations.all, *self.of_graph), self.system.ranks
        verdict = Verdict.after(reason, violated=bool(violations))
        looks, holds = [*map(look, self._covered())], verdict is Verdict.HOLDS
        enabled: Counter[str] = Counter()
        for instance, count in zip(self.system.actions, self.counts.enabled, strict=True):
            enabled[instance.of.name] += count
        return Outcome(
            verdict=verdict,
            reason=reason,
            violations=violations,
            held_back=self.held_back,
            vacuous=self.vacuous if holds else {},
            warnings=self.warnings,
            by_order=tuple(ranks.groups) if ranks else (),
            any_number_of=ranks.unlimited(by_bound(self.counts.cut_steps)) if ranks and not reason else (),
            unreached=unreached(looks) if holds else (),
            functions=functions_run(looks),
            audit=self.audit,
            work=tuple(self.work),
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
            bits=self.worker.layout.bits,
            restored=self.restored,
        )


def _layout(worker: PartitionWorker) -> list[dict[str, Any]]:
    """The layout, for readers of the manifest."""
    return [
        {"path": leaf.path, "word": leaf.word, "shift": leaf.shift, "width": leaf.width, "domain": str(leaf.domain)}
        for leaf in worker.layout.root.leaves()
    ]
