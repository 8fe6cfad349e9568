"""Breadth-first search on one machine: threads of machine code explore, Python grows their trees and keeps the books."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path

from explorer.kernels import arrays, entry_points
from explorer.kernels.arrays import Work
from explorer.search.counterexamples import broken_steps_in, deadlock_in, violations_in
from explorer.search.coverage import unreached
from explorer.search.engine import Engine
from explorer.search.liveness import lassos_in
from explorer.search.progress import Pace
from explorer.search.prospects import hopeless_states
from explorer.search.snapshots import Snapshots
from explorer.search.store import RESERVED_ROWS, Stopped
from explorer.system import System
from explorer.verdict import DEADLOCK, Budget, Outcome, Progress, Unreached, Verdict, Violation

ROWS_WORTH_A_SECOND_THREAD = 1 << 12


def explore(
    system: System,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    *,
    check_deadlock: bool = False,
    keep_going: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    audit: int = 8,
    workers: int | None = None,
    symmetry: bool = True,
    checkpoint: Path | None = None,
    resume: bool = False,
    coverage: bool = False,
) -> Outcome:
    """Explore every state that the system reaches, level by level; check each state's invariants and each step's properties.

    Verdict, counts and traces depend neither on the number of workers nor on symmetry.

    Args:
        system: what to explore.
        budget: when to stop early.
        check_deadlock: treat a state without successors that no bound explains as a violation of `no_deadlock`.
        keep_going: go on after the first level with a violation, until every state is seen.
        on_progress: called after each level and now and then in between; a KeyboardInterrupt, from it or from the keyboard, ends the
            search with what was learned so far and verdict UNKNOWN.
        audit: how many paths of each function to hold against plain Python evaluation.
        workers: threads to explore with; as many as there are processors if None.
        checkpoint: a folder for snapshots at the ends of levels, the last one when the search ends early; see `explorer.search.checkpoint`.
        resume: go on from the last snapshot in that folder.
        symmetry: keep one state for all that differ by interchangeable names only, where the system declares any and no prospect is
            about one of them.
        coverage: find the statements of actions, too, that ran on no reached state.

    Raises:
        ModelError: a function of the model is not a pure function of the state, raised, or gave what lies outside its domain.
        CheckpointError: the checkpoint cannot be written, or is not one of this search.
    """
    engine = Engine(system, budget, audit, workers or os.cpu_count() or 1, symmetry)
    search = _Search(engine, budget, check_deadlock, keep_going, on_progress, coverage)
    if checkpoint is not None:
        options = {"check_deadlock": check_deadlock, "keep_going": keep_going}
        search.keep(Snapshots(engine, checkpoint, options), resume)
    return search.run()


def reach(system: System, budget: Budget = Budget(), workers: int | None = None) -> Engine:  # noqa: B008 - frozen
    """Explore without a verdict, and hand back all rows and trees: what is reachable, and along which paths of functions.

    Raises:
        ModelError: as `explore` says.
    """
    engine = Engine(system, budget, 8, workers or os.cpu_count() or 1, symmetry=True)
    _Search(engine, budget, False, True, lambda progress: None, False).run()
    return engine


class _Search:
    """One search: its levels, what ends it early, its snapshots, and what it tells."""

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        check_deadlock: bool,
        keep_going: bool,
        on_progress: Callable[[Progress], None],
        coverage: bool,
    ) -> None:
        self.engine = engine
        self.store = engine.store
        self.budget = budget
        self.check_deadlock = check_deadlock
        self.keep_going = keep_going
        self.pace = Pace(engine, on_progress)
        self.violations: list[Violation] = []
        self.level_sizes: list[int] = []
        self.held_back: dict[str, int] = {}
        self.snapshots: Snapshots | None = None
        self.resumed = False
        self.saw_everything = True
        self.coverage = coverage

    def keep(self, snapshots: Snapshots, resume: bool) -> None:
        """Write snapshots from now on; first go on from the last one, if asked to."""
        self.snapshots, self.resumed = snapshots, resume
        if resume:
            self.level_sizes, self.saw_everything = snapshots.restore(), False
        else:
            snapshots.begin()

    def run(self) -> Outcome:
        reason = ""
        try:
            reason = self._explore()
            if not reason and (self.keep_going or not self.violations):  # every state is known
                self.violations += hopeless_states(self.engine, {violation.property for violation in self.violations})
                reason = self._judge_liveness()
        except KeyboardInterrupt:
            reason = "interrupted"
            self._snapshot(at_once=True)
            self.store.close_holes(self.engine.works)
            self.store.end_level()
            self._size_levels()
        finally:
            self.store.shared[arrays.STOP] = 1
            if self.engine.pool:
                self.engine.pool.shutdown()
        return self._outcome(reason)

    def _judge_liveness(self) -> str:
        """Look for lassos; what kept it from doing so, if anything did."""
        try:
            found, self.held_back = lassos_in(self.engine, {violation.property for violation in self.violations})
        except Stopped as stopped:
            return str(stopped)
        self.violations += found
        return ""

    def _explore(self) -> str:
        """Go from level to level; what ended it early, if anything did."""
        try:
            if not self.resumed:
                self.store.add_initial(self.engine.representative(state) for state in self.engine.system.initial)
            self.engine.remember_first()
            while self.resumed or self._end_level():
                self.resumed = False
                if self.violations and not self.keep_going:
                    break
                at_depth = self.budget.max_depth is not None and self.store.depth >= self.budget.max_depth
                self._note_whole_levels()
                self._snapshot(at_once=at_depth)
                if at_depth:
                    return f"depth {self.budget.max_depth}"
                self._expand_level()
                self._look_for_broken_steps()
                self._look_for_deadlocks()
        except Stopped as stopped:
            self._snapshot(at_once=True)
            self._look_for_broken_steps()
            self._end_level()
            return str(stopped)
        return ""

    def _end_level(self) -> bool:
        """Check what the last expansion added; False if that was nothing."""
        if not self.store.end_level():
            return False
        self.engine.renew_filters()
        self._size_levels()
        self.violations += violations_in(self.engine, self.store.depth, {violation.property for violation in self.violations})
        self.pace.report(level_ended=True)
        return True

    def _size_levels(self) -> None:
        """Count the states that the rows of new levels stand for."""
        ends = self.store.level_ends
        for level in range(len(self.level_sizes), len(ends) - 1):
            self.level_sizes.append(self.engine.states_in(ends[level], ends[level + 1]))

    def _look_for_broken_steps(self) -> None:
        """Look for violated step properties in the level that was expanded last."""
        self.violations += broken_steps_in(self.engine, self.store.depth, {violation.property for violation in self.violations})

    def _look_for_deadlocks(self) -> None:
        """Look for a state at rest in the level that was expanded last."""
        known = any(violation.property == DEADLOCK for violation in self.violations)
        if self.check_deadlock and not known and self.engine.total(arrays.AT_REST):
            found = deadlock_in(self.engine, self.store.depth)
            self.violations += [found] if found else []

    # Expanding

    def _expand_level(self) -> None:
        begin, end = self.store.begin_level()
        works = self.engine.works if end - begin >= ROWS_WORTH_A_SECOND_THREAD else self.engine.works[:1]
        pause_at = begin + self.pace.rows_between_reports
        while True:
            self.store.resume()
            statuses = self._run_all(works, end, pause_at)
            self.store.close_holes(self.engine.works)
            if all(status == arrays.DONE for status in statuses):
                return
            if arrays.ROWS_FULL in statuses:
                self._fill_up(works, end)
            if arrays.TABLE_FULL in statuses:
                self.store.grow_table()
            if arrays.PAUSED in statuses and self.store.shared[arrays.CURSOR] >= pause_at:
                self.pace.adapt()
                pause_at += self.pace.rows_between_reports
                self.pace.report(level_ended=False)

    def _run_all(self, works: list[Work], end: int, pause_at: int) -> list[int]:
        if self.engine.pool is None or len(works) == 1:
            return [self._run_one(work, end, pause_at) for work in works]
        running: list[Future[int]] = []
        try:
            running += [self.engine.pool.submit(self._run_one, work, end, pause_at) for work in works]
            return [each.result() for each in running]
        except BaseException:
            self.store.shared[arrays.STOP] = 1
            wait(running)
            raise

    def _run_one(self, work: Work, end: int, pause_at: int) -> int:
        engine, store = self.engine, self.store
        try:
            while True:
                status = entry_points.expand(
                    store.rows, store.table, store.shared, end, pause_at, store.capacity, RESERVED_ROWS, engine.trees(engine.actions),
                    engine.trees(engine.steps), engine.effect_arrays(), engine.symmetry, work, store.units,
                )  # fmt: skip
                if status == arrays.MISSED:
                    engine.learn(engine.actions, work.misses[: work.counts[arrays.MISSES]])
                elif status == arrays.MISSED_STEPS:
                    engine.learn_steps(work.misses[: work.counts[arrays.MISSES]])
                else:
                    return status
                if store.shared[arrays.STOP]:  # what this thread waits for may never be learned
                    return arrays.PAUSED
        except BaseException:
            store.shared[arrays.STOP] = 1
            raise

    def _fill_up(self, works: list[Work], end: int) -> None:
        """Use the rows that threads left over, one thread after the other, and stop."""
        for work in works:
            self.store.resume()
            self._run_one(work, end, end)
            self.store.close_holes(self.engine.works)
        raise Stopped(self.store.what_is_full)

    def _note_whole_levels(self) -> None:
        """Remember what to write if the search ends before the next level does. What lies behind a violation is not remembered."""
        if self.snapshots is not None and not self.violations:
            self.snapshots.note(self.level_sizes)

    def _snapshot(self, at_once: bool) -> None:
        if self.snapshots is not None:
            self.snapshots.write(at_once)

    # Telling

    def _outcome(self, reason: str) -> Outcome:
        engine = self.engine
        verdict = Verdict.after(bool(self.violations), reason)
        enabled: Counter[str] = Counter()
        for number, instance in enumerate(engine.system.actions):
            enabled[instance.of.name] += sum(int(work.enabled[number]) for work in engine.works)
        bounds_cut: Counter[str] = Counter()
        for bounds, count in (self.snapshots or engine).cut_steps().items():
            bounds_cut.update(dict.fromkeys(bounds, count))
        return Outcome(
            verdict=verdict,
            reason=reason,
            violations=tuple(self.violations),
            levels=tuple(self.level_sizes),
            generated=engine.generated,
            enabled=dict(enabled),
            bounds_cut=dict(sorted(bounds_cut.items())),
            deadlocks=engine.total(arrays.AT_REST),
            stopped_at_bound=engine.total(arrays.STOPPED_AT_BOUND),
            stored_states=self.store.count,
            compiled_paths=engine.paths,
            seconds=self.pace.seconds,
            memory=self.store.bytes_taken,
            bits=engine.layout.bits,
            held_back=self.held_back,
            unreached=self._unreached() if verdict is Verdict.HOLDS and self.saw_everything else (),
        )

    def _unreached(self) -> tuple[Unreached, ...]:
        engine = self.engine
        programs = (engine.invariants, engine.steps, *([engine.actions] if self.coverage else []))
        return tuple(missed for program in programs for missed in unreached(program))
