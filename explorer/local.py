"""Breadth-first search on one machine: threads of machine code explore, Python grows their trees and keeps the books."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from explorer.checkpoint import Checkpoint, Counts, Snapshot, fingerprint
from explorer.filters import Filter
from explorer.kernels import check as check_kernels
from explorer.kernels import expand as kernel
from explorer.kernels import symmetry as symmetry_kernels
from explorer.kernels.expand import Work
from explorer.kernels.trees import Effects as EffectArrays
from explorer.kernels.trees import Trees
from explorer.layout import Layout
from explorer.program import ActionProgram, Effects, InvariantProgram, Program
from explorer.store import MOST_MISSES, RESERVED_ROWS, Stopped, Store, make_work
from explorer.symmetry import no_symmetry, permutations_of, refuse_unless_sound, tabulate
from explorer.system import System, successor
from explorer.trace import violation_at
from explorer.verdict import DEADLOCK, Budget, Outcome, Progress, Step, Verdict, Violation

ROWS_AT_ONCE = 1 << 14
ROWS_BETWEEN_REPORTS = 1 << 18
ROWS_WORTH_A_SECOND_THREAD = 1 << 12
ROWS_WORTH_A_FILTER = 1 << 14
SAMPLE = 64
LEVELS_TRIED = 12
SECONDS_BETWEEN_SNAPSHOTS = 5.0


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
) -> Outcome:
    """Explore every state that the system reaches, level by level, and check every invariant on each.

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
        checkpoint: a folder for snapshots at the ends of levels, the last one when the search ends early; see `explorer.checkpoint`.
        resume: go on from the last snapshot in that folder.
        symmetry: keep one state for all that differ by interchangeable names only, where the system declares any.

    Raises:
        ModelError: a function of the model is not a pure function of the state, raised, or gave what lies outside its domain.
        CheckpointError: the checkpoint cannot be written, or is not one of this search.
    """
    search = _Search(system, budget, check_deadlock, keep_going, on_progress, audit, workers or os.cpu_count() or 1, symmetry)
    if checkpoint is not None:
        search.keep_snapshots(checkpoint, resume)
    return search.run()


class _Search:
    def __init__(
        self,
        system: System,
        budget: Budget,
        check_deadlock: bool,
        keep_going: bool,
        on_progress: Callable[[Progress], None],
        audit: int,
        workers: int,
        symmetry: bool,
    ) -> None:
        self.started = time.perf_counter()
        self.system = system
        self.budget = budget
        self.check_deadlock = check_deadlock
        self.keep_going = keep_going
        self.on_progress = on_progress
        self.layout = Layout(system.domain)
        self.effects = Effects(self.layout.words)
        self.actions = ActionProgram(self.layout, system.actions, self.effects, audit)
        self.invariants = InvariantProgram(self.layout, system.invariants, self.effects, audit)
        self.filters = {program: Filter(program, self.layout) for program in (self.actions, self.invariants)}
        self.filtered_at = ROWS_WORTH_A_FILTER // 8
        self.permutations = permutations_of(system, self.layout) if symmetry else []
        self.symmetry = tabulate(self.layout, self.permutations) if len(self.permutations) > 1 else no_symmetry(self.layout)
        self.level_sizes: list[int] = []
        self.store = Store(self.layout, budget)
        self.works = [make_work(len(system.actions), self.layout) for _ in range(workers)]
        self.pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self.growing = threading.Lock()
        self.checkpoint: Checkpoint | None = None
        self.snapshot_at = self.started
        self.whole_levels: Snapshot | None = None
        self.cut_before: Counter[frozenset[str]] = Counter()
        self.resumed = False
        self.traces: list[Violation] = []

    def keep_snapshots(self, folder: Path, resume: bool) -> None:
        """Write snapshots into a folder from now on; first go on from the last one there, if asked to."""
        options = {"check_deadlock": self.check_deadlock, "keep_going": self.keep_going}
        prints = fingerprint(self.system, self.layout, len(self.permutations), options)
        self.checkpoint = Checkpoint(folder, prints, self.layout.units)
        if not resume:
            self.checkpoint.begin()
            return
        snapshot = self.checkpoint.read(self.store.rows)
        self.store.restore(snapshot.level_ends)
        self.level_sizes = list(snapshot.level_sizes)
        work, counts = self.works[0], snapshot.counts
        work.counts[kernel.GENERATED] = counts.generated
        work.counts[kernel.AT_REST] = counts.at_rest
        work.counts[kernel.STOPPED_AT_BOUND] = counts.stopped_at_bound
        work.enabled[:] = counts.enabled
        self.cut_before = counts.cut_steps
        self.resumed = True

    def _snapshot(self, at_once: bool) -> None:
        """Write the whole levels noted last into the checkpoint, unless that was done just now."""
        due = at_once or time.perf_counter() - self.snapshot_at > SECONDS_BETWEEN_SNAPSHOTS
        if self.checkpoint and self.whole_levels and due and self.checkpoint.rows_written < self.whole_levels.level_ends[-1]:
            self.checkpoint.write(self.store.rows, self.whole_levels)
            self.snapshot_at = time.perf_counter()

    def _note_whole_levels(self) -> None:
        """Remember what to write if the search ends before the next level does. What lies behind a violation is not remembered."""
        if self.checkpoint is None or self.traces:
            return
        enabled = sum(work.enabled for work in self.works).tolist()
        totals = map(self._total, (kernel.GENERATED, kernel.AT_REST, kernel.STOPPED_AT_BOUND))
        self.whole_levels = Snapshot(list(self.store.level_ends), list(self.level_sizes), Counts(*totals, enabled, self._cut_steps()))

    def _cut_steps(self) -> Counter[frozenset[str]]:
        """How many steps each set of bounds has cut."""
        cut = Counter(self.cut_before)
        for number, bounds in enumerate(self.effects.bounds):
            cut[bounds] += sum(int(work.cut_steps[number]) for work in self.works)
        return cut

    def run(self) -> Outcome:
        reason = ""
        try:
            reason = self._explore()
        except KeyboardInterrupt:
            reason = "interrupted"
            self._snapshot(at_once=True)
            self.store.close_holes(self.works)
            if self.store.end_level():
                self._size_level(*self.store.level_ends[-2:])
        finally:
            self.store.shared[kernel.STOP] = 1
            if self.pool:
                self.pool.shutdown()
        return self._outcome(reason)

    def _explore(self) -> str:
        """Go from level to level; what ended it early, if anything did."""
        try:
            if not self.resumed:
                self.store.add_initial(self._representative(state) for state in self.system.initial)
            while self.resumed or self._end_level():
                self.resumed = False
                if self.traces and not self.keep_going:
                    break
                at_depth = self.budget.max_depth is not None and len(self.store.level_ends) - 2 >= self.budget.max_depth
                self._note_whole_levels()
                self._snapshot(at_once=at_depth)
                if at_depth:
                    return f"depth {self.budget.max_depth}"
                self._expand_level()
                if self.check_deadlock:
                    self._look_for_deadlocks()
        except Stopped as stopped:
            self._snapshot(at_once=True)
            self._end_level()
            return str(stopped)
        return ""

    def _end_level(self) -> bool:
        """Check what the last expansion added; False if that was nothing."""
        if not self.store.end_level():
            return False
        self._renew_filters()
        begin, end = self.store.level_ends[-2:]
        self._size_level(begin, end)
        self._look_for_violations(begin, end)
        self._report(level_ended=True)
        return True

    def _size_level(self, begin: int, end: int) -> None:
        """Count the states that the level's rows stand for, and try on a few whether symmetry is sound."""
        if len(self.permutations) < 2:
            self.level_sizes.append(end - begin)
            return
        self.level_sizes.append(sum(self._spread(self._orbit_sizes, begin, end)))
        depth = len(self.level_sizes)
        if depth < LEVELS_TRIED:
            states = [self.layout.unpack(self.store.words(row)) for row in (begin, end - 1)]
            refuse_unless_sound(self.system, self.permutations, states)

    def _orbit_sizes(self, begin: int, end: int) -> int:
        words, room = np.zeros((2, 1, self.layout.words), np.uint64)
        return symmetry_kernels.orbit_sizes(self.store.rows, begin, end, self.symmetry, words, room, self.store.units)

    def _spread(self, function: Callable[[int, int], Any], begin: int, end: int) -> list[Any]:
        """What a function gives for the parts of a range of rows, by all threads."""
        parts = [(first, min(end, first + ROWS_AT_ONCE)) for first in range(begin, end, ROWS_AT_ONCE)]
        spread = self.pool.map if self.pool and len(parts) > 1 else map
        return list(spread(lambda part: function(*part), parts))

    # Expanding

    def _expand_level(self) -> None:
        begin, end = self.store.begin_level()
        works = self.works if end - begin >= ROWS_WORTH_A_SECOND_THREAD else self.works[:1]
        pause_at = begin + ROWS_BETWEEN_REPORTS
        while True:
            self.store.resume()
            statuses = self._run_all(works, end, pause_at)
            if all(status == kernel.DONE for status in statuses):
                break
            self.store.close_holes(self.works)
            if kernel.ROWS_FULL in statuses:
                self._fill_up(works, end)
            if kernel.TABLE_FULL in statuses:
                self.store.grow_table()
            if kernel.PAUSED in statuses and self.store.shared[kernel.CURSOR] >= pause_at:
                pause_at += ROWS_BETWEEN_REPORTS
                self._report(level_ended=False)
        self.store.close_holes(self.works)

    def _run_all(self, works: list[Work], end: int, pause_at: int) -> list[int]:
        if self.pool is None or len(works) == 1:
            return [self._run_one(work, end, pause_at) for work in works]
        running: list[Future[int]] = []
        try:
            running += [self.pool.submit(self._run_one, work, end, pause_at) for work in works]
            return [each.result() for each in running]
        except BaseException:
            self.store.shared[kernel.STOP] = 1
            wait(running)
            raise

    def _run_one(self, work: Work, end: int, pause_at: int) -> int:
        store = self.store
        try:
            while True:
                status = kernel.expand(
                    store.rows, store.table, store.shared, end, pause_at, store.capacity, RESERVED_ROWS, self._trees(self.actions),
                    self._effects(), self.symmetry, work, store.units,
                )  # fmt: skip
                if status != kernel.MISSED:
                    return status
                self._learn(self.actions, work.misses[: work.counts[kernel.MISSES]])
                if store.shared[kernel.STOP]:  # what this thread waits for may never be learned
                    return kernel.PAUSED
        except BaseException:
            store.shared[kernel.STOP] = 1
            raise

    def _fill_up(self, works: list[Work], end: int) -> None:
        """Use the rows that threads left over, one thread after the other, and stop."""
        for work in works:
            self.store.resume()
            self._run_one(work, end, end)
            self.store.close_holes(self.works)
        raise Stopped(self.store.what_is_full)

    def _learn(self, program: Program, misses: np.ndarray) -> None:
        with self.growing:
            for row, tree in misses.tolist():
                program.learn(tree, self.store.words(row))

    def _trees(self, program: Program) -> Trees:
        found = self.filters[program]
        return Trees(program.branches.array, found.masks, found.places, found.candidates)

    def _effects(self) -> EffectArrays:
        effects = self.effects
        return EffectArrays(effects.keep.array, effects.put.array, effects.copies.array, effects.first_copy.array, effects.cut.array)

    def _renew_filters(self) -> None:
        """Choose filters by a sample of the states, each time their number has grown eightfold."""
        if self.store.count < 8 * self.filtered_at:
            return
        self.filtered_at = self.store.count
        rows = np.linspace(self.store.level_ends[-3], self.store.count - 1, SAMPLE).astype(int)
        sample = [self.store.words(row) for row in rows.tolist()]
        self.filters = {program: Filter(program, self.layout, sample) for program in self.filters}

    # Checking

    def _look_for_violations(self, begin: int, end: int) -> None:
        known = {violation.property for violation in self.traces}
        if all(instance.of.name in known for instance in self.system.invariants):
            return
        wanted = self._mask(instance.of.name not in known for instance in self.system.invariants)
        violations = sum(self._spread(lambda first, last: self._violations(wanted, first, last), begin, end))
        names = {i.of.name: None for i, n in zip(self.system.invariants, violations.tolist(), strict=True) if n}
        found = [self._violation(name, begin, end) for name in names]
        self.traces += sorted(found, key=self._order)

    def _violations(self, wanted: np.ndarray, begin: int, end: int) -> np.ndarray:
        """How many of the rows violate each of the wanted invariants."""
        room, misses = np.zeros((1, self.layout.words), np.uint64), np.zeros((MOST_MISSES, 2), np.int64)
        while True:
            found = np.zeros(len(self.system.invariants), np.int64)
            trees = self._trees(self.invariants)
            missed = check_kernels.check(self.store.rows, begin, end, wanted, found, trees, room, misses, self.store.units)
            if not missed:
                return found
            self._learn(self.invariants, misses[: max(0, missed)])  # or waits there for the thread that learns

    def _order(self, violation: Violation) -> tuple[int, ...]:
        """What makes one of two equally long traces the first: its initial state, then its actions."""
        first, *rest = violation.trace
        return (self.system.initial.index(first.state), *(self.system.actions.index(step.action) for step in rest))

    def _mask(self, bits: Iterable[bool]) -> np.ndarray:
        packed = np.packbits(np.fromiter(bits, bool), bitorder="little")
        mask = np.zeros(max(1, -(-len(packed) // 8)) * 8, np.uint8)
        mask[: len(packed)] = packed
        return mask.view(np.uint64)

    def _violation(self, name: str, begin: int, end: int) -> Violation:
        """The violation of a property at the end of the first shortest trace that leads to one."""
        marks = np.zeros(end, np.uint8)
        wanted = self._mask(instance.of.name == name for instance in self.system.invariants)
        room = np.zeros((1, self.layout.words), np.uint64)
        check_kernels.mark_violating(self.store.rows, begin, end, wanted, marks, self._trees(self.invariants), room, self.store.units)
        trace = self._first_trace(marks, len(self.store.level_ends) - 2)
        words = self.layout.pack(trace[-1].state)
        numbers = [number for number, instance in enumerate(self.system.invariants) if instance.of.name == name]
        number = next(number for number in numbers if not self.invariants.evaluate(number, words))
        return violation_at(self.system, self.system.invariants[number], trace)

    def _look_for_deadlocks(self) -> None:
        """Whether the level that was expanded last has a state at rest."""
        if not any(work.counts[kernel.AT_REST] for work in self.works) or any(v.property == DEADLOCK for v in self.traces):
            return
        begin, end = self.store.level_ends[-2:]
        marks = np.zeros(end, np.uint8)
        kernel.mark_at_rest(self.store.rows, begin, end, marks, self._trees(self.actions), self.works[0], self.store.units)
        if marks.any():
            self.traces.append(violation_at(self.system, None, self._first_trace(marks, len(self.store.level_ends) - 2)))

    def _first_trace(self, marks: np.ndarray, depth: int) -> tuple[Step, ...]:
        """The first of the shortest traces to a marked row of the level at that depth, in the order of initial states and actions.

        Rows have no parents. Predecessors are found by expanding one level after the other backwards; then plain Python takes, step by
        step, the first action that leads to a marked state, so that the trace is in real names and was executed.
        """
        store, ends = self.store, self.store.level_ends
        for level in range(depth - 1, -1, -1):
            while missed := kernel.mark_predecessors(
                store.rows, store.table, ends[level], ends[level + 1], ends[level + 2], marks, self._trees(self.actions), self._effects(),
                self.symmetry, self.works[0], store.units,
            ):  # fmt: skip
                self._learn(self.actions, self.works[0].misses[:missed])
        state = next(state for state in self.system.initial if self._is_marked(state, marks, 0))
        trace = [Step(None, state)]
        for level in range(1, depth + 1):
            trace.append(
                next(
                    Step(action, after)
                    for action in self.system.actions
                    if isinstance(after := successor(action, trace[-1].state, self.system.domain), self.system.domain.cls)
                    and self._is_marked(after, marks, level)
                )
            )
        return tuple(trace)

    def _is_marked(self, state: Any, marks: np.ndarray, level: int) -> bool:
        row = self.store.find(self._representative(state))
        return self.store.level_ends[level] <= row < self.store.level_ends[level + 1] and bool(marks[row])

    def _representative(self, state: Any) -> tuple[int, ...]:
        room = np.zeros((3, self.layout.words), np.uint64)
        room[0] = self.layout.pack(state)
        symmetry_kernels.representative(room, self.symmetry, self.store.units)
        return tuple(map(int, room[0]))

    # Telling

    def _total(self, position: int) -> int:
        return sum(int(work.counts[position]) for work in self.works)

    def _report(self, level_ended: bool) -> None:
        self.store.watch_memory()
        ends = self.store.level_ends
        self.on_progress(
            Progress(
                depth=len(ends) - 2,
                frontier=ends[-1] - ends[-2],
                distinct_states=self.store.count,
                generated=self._total(kernel.GENERATED),
                compiled_paths=self.actions.paths + self.invariants.paths,
                seconds=time.perf_counter() - self.started,
                memory=self.store.bytes_taken,
                level_ended=level_ended,
            )
        )

    def _outcome(self, reason: str) -> Outcome:
        if self.traces:
            verdict = Verdict.VIOLATED
        elif reason.startswith("depth"):
            verdict = Verdict.HOLDS_TO_DEPTH
        else:
            verdict = Verdict.UNKNOWN if reason else Verdict.HOLDS
        enabled: Counter[str] = Counter()
        for number, instance in enumerate(self.system.actions):
            enabled[instance.of.name] += sum(int(work.enabled[number]) for work in self.works)
        bounds_cut: Counter[str] = Counter()
        for bounds, count in self._cut_steps().items():
            bounds_cut.update(dict.fromkeys(bounds, count))
        return Outcome(
            verdict=verdict,
            reason=reason,
            violations=tuple(self.traces),
            levels=tuple(self.level_sizes),
            stored_states=self.store.count,
            generated=self._total(kernel.GENERATED),
            enabled=dict(enabled),
            bounds_cut={bound: count for bound, count in sorted(bounds_cut.items()) if count},
            deadlocks=self._total(kernel.AT_REST),
            stopped_at_bound=self._total(kernel.STOPPED_AT_BOUND),
            compiled_paths=self.actions.paths + self.invariants.paths,
            seconds=time.perf_counter() - self.started,
            memory=self.store.bytes_taken,
            words=self.layout.words,
            bits=self.layout.bits,
        )
