"""Breadth-first search on one machine: the kernel explores, Python grows its trees and keeps the books."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from explorer import kernel
from explorer.layout import Layout
from explorer.program import ActionProgram, Effects, InvariantProgram, Program
from explorer.store import MOST_ROWS, Room, Stopped, Store
from explorer.system import System
from explorer.trace import retrace, violation_at
from explorer.verdict import DEADLOCK, Budget, Outcome, Progress, Verdict, Violation
from model.domain import Instance

CHECKED_AT_ONCE = 1 << 16
ROWS_BETWEEN_REPORTS = 1 << 17


def explore(
    system: System,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    *,
    check_deadlock: bool = False,
    keep_going: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    audit: int = 8,
) -> Outcome:
    """Explore every state that the system reaches, level by level, and check every invariant on each.

    Args:
        system: what to explore.
        budget: when to stop early.
        check_deadlock: treat a state without successors that no bound explains as a violation of `no_deadlock`.
        keep_going: go on after the first level with a violation, until every property is violated or every state is seen.
        on_progress: called after each level and about twice a second in between; an exception it raises (such as KeyboardInterrupt)
            ends the search with what was learned so far and verdict UNKNOWN.
        audit: how many paths of each function to hold against plain Python evaluation.

    Raises:
        ModelError: a function of the model is not a pure function of the state, raised, or gave what lies outside its domain.
    """
    return _Search(system, budget, check_deadlock, keep_going, on_progress, audit).run()


class _Search:
    def __init__(
        self, system: System, budget: Budget, check_deadlock: bool, keep_going: bool, on_progress: Callable[[Progress], None], audit: int
    ) -> None:
        self.started = time.perf_counter()
        self.system = system
        self.budget = budget
        self.check_deadlock = check_deadlock
        self.keep_going = keep_going
        self.on_progress = on_progress
        self.layout = Layout(system.domain)
        effects = Effects(self.layout.words)
        self.actions = ActionProgram(self.layout, system.actions, effects, audit)
        self.invariants = InvariantProgram(self.layout, system.invariants, effects, audit)
        self.store = Store(self.layout.words, budget)
        self.room = Room(len(system.actions), self.layout.words)
        self.counts = np.zeros(kernel.COUNTS, np.int64)
        self.enabled = np.zeros(len(system.actions), np.int64)
        self.cut_steps = np.zeros(64, np.int64)
        self.violated_at = np.full(len(system.invariants), -1, np.int64)
        self.level_ends = [0]
        self.word_tuple = (0,) * self.layout.words

    def run(self) -> Outcome:
        reason = ""
        try:
            self._enter_initial_states()
            while not self._finished():
                self._end_level()
                if self._violated() and not self.keep_going:
                    break
                if self.budget.max_depth is not None and len(self.level_ends) - 2 >= self.budget.max_depth:
                    reason = f"depth {self.budget.max_depth}"
                    break
                self._expand_level()
        except Stopped as stopped:
            reason = str(stopped)
            self._end_level()
        except KeyboardInterrupt:
            reason = "interrupted"
            self._close_level()
        return self._outcome(reason)

    def _enter_initial_states(self) -> None:
        rows = dict.fromkeys(self.layout.pack(state) for state in self.system.initial)
        for row, words in enumerate(rows):
            self.store.states[row] = words
            self.store.parents[row] = -1
        self.counts[kernel.STATES] = len(rows)
        self.store.grow_table(len(rows), self.word_tuple)

    def _finished(self) -> bool:
        return self.level_ends[-1] == self.counts[kernel.STATES]

    def _close_level(self) -> None:
        if self.level_ends[-1] != self.counts[kernel.STATES]:
            self.level_ends.append(int(self.counts[kernel.STATES]))

    def _end_level(self) -> None:
        """Check what the level added, and tell."""
        begin = self.level_ends[-1]
        self._close_level()
        self._check(begin, self.level_ends[-1])
        self._report(level_ended=True)

    def _check(self, begin: int, end: int) -> None:
        found = np.empty_like(self.violated_at)
        for first in range(begin, end, CHECKED_AT_ONCE):
            last = min(end, first + CHECKED_AT_ONCE)
            program = self.invariants
            while missed := kernel.check(
                self.store.states, first, last, self.violated_at, found, program.nodes.array, program.branches.array, self.room.misses
            ):
                self._learn(program, missed)

    def _violated(self) -> bool:
        deadlocked = self.check_deadlock and self.counts[kernel.DEADLOCKS] > 0
        return bool(deadlocked or (self.violated_at >= 0).any())

    def _expand_level(self) -> None:
        end = self.level_ends[-1]
        pause_at = self.counts[kernel.NEXT] + ROWS_BETWEEN_REPORTS
        while True:
            status = self._kernel(end, pause_at)
            if status == kernel.DONE:
                return
            if status == kernel.MISSED:
                self._learn(self.actions, self.counts[kernel.MISSES])
                self._make_room_for_bounds()
            elif status == kernel.TABLE_FULL:
                self.store.grow_table(int(self.counts[kernel.STATES]), self.word_tuple)
            elif status == kernel.STATES_FULL:
                raise Stopped(self.store.what_is_full)
            else:
                self._report(level_ended=False)
                pause_at = self.counts[kernel.NEXT] + ROWS_BETWEEN_REPORTS

    def _kernel(self, end: int, pause_at: int) -> int:
        store, room, program, effects = self.store, self.room, self.actions, self.actions.effects
        return kernel.expand(
            store.states, store.parents, store.table, self.counts, self.enabled, self.cut_steps, end, pause_at, store.capacity,
            len(self.system.actions), program.nodes.array, program.branches.array,
            effects.keep.array, effects.put.array, effects.copies.array, effects.first_copy.array, effects.cut.array,
            room.hit_state, room.hit_tree, room.hit_effect, room.made, room.hashes, room.touched, room.alive, room.misses, self.word_tuple,
        )  # fmt: skip

    def _learn(self, program: Program, missed: int) -> None:
        for row, tree in self.room.misses[:missed].tolist():
            program.learn(tree, self.store.states[row])

    def _make_room_for_bounds(self) -> None:
        if len(self.actions.effects.bounds) > len(self.cut_steps):
            self.cut_steps = np.concatenate([self.cut_steps, np.zeros_like(self.cut_steps)])

    def _report(self, level_ended: bool) -> None:
        self.on_progress(
            Progress(
                depth=len(self.level_ends) - 2,
                frontier=self.level_ends[-1] - self.level_ends[-2],
                distinct_states=int(self.counts[kernel.STATES]),
                generated=int(self.counts[kernel.GENERATED]),
                compiled_paths=self.actions.paths + self.invariants.paths,
                seconds=time.perf_counter() - self.started,
                memory=self.store.bytes_for(int(self.counts[kernel.STATES])),
                level_ended=level_ended,
            )
        )

    def _outcome(self, reason: str) -> Outcome:
        violations = self._violations()
        if violations:
            verdict, reason = Verdict.VIOLATED, ""
        elif reason.startswith("depth"):
            verdict = Verdict.HOLDS_TO_DEPTH
        else:
            verdict = Verdict.UNKNOWN if reason else Verdict.HOLDS
        enabled: Counter[str] = Counter()
        for instance, count in zip(self.system.actions, self.enabled.tolist(), strict=True):
            enabled[instance.of.name] += count
        bounds_cut: Counter[str] = Counter()
        for bounds, count in zip(self.actions.effects.bounds, self.cut_steps.tolist(), strict=False):
            bounds_cut.update(dict.fromkeys(bounds, count))
        states = int(self.counts[kernel.STATES])
        return Outcome(
            verdict=verdict,
            reason=reason,
            violations=violations,
            levels=tuple(end - begin for begin, end in zip(self.level_ends, self.level_ends[1:], strict=False)),
            generated=int(self.counts[kernel.GENERATED]),
            enabled=dict(enabled),
            bounds_cut=dict(sorted(bounds_cut.items())),
            deadlocks=int(self.counts[kernel.DEADLOCKS]),
            stopped_at_bound=int(self.counts[kernel.STOPPED_AT_BOUND]),
            compiled_paths=self.actions.paths + self.invariants.paths,
            seconds=time.perf_counter() - self.started,
            memory=self.store.bytes_for(states),
            words=self.layout.words,
            bits=self.layout.bits,
        )

    def _violations(self) -> tuple[Violation, ...]:
        """The first violation of each property, in the order in which the search met them."""
        first: dict[str, tuple[int, Instance | None]] = {}
        for instance, row in zip(self.system.invariants, self.violated_at.tolist(), strict=True):
            if row >= 0 and row < first.get(instance.of.name, (MOST_ROWS + 1, None))[0]:
                first[instance.of.name] = (row, instance)
        if self.check_deadlock and self.counts[kernel.DEADLOCKS]:
            first[DEADLOCK] = (int(self.counts[kernel.FIRST_DEADLOCK]), None)
        return tuple(
            violation_at(self.system, instance, retrace(self.system, self._states_to(row)))
            for row, instance in sorted(first.values(), key=lambda found: found[0])
        )

    def _states_to(self, row: int) -> list[Any]:
        rows = [row]
        while (row := int(self.store.parents[row])) >= 0:
            rows.append(row)
        return [self.layout.unpack(self.store.states[row]) for row in reversed(rows)]
