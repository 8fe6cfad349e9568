"""Random walks through a system whose states are too many to exhaust. What they find is real; what they do not find may
still be there.

Walks run in machine code, on the same trees as the search. They are handed out in chunks, in order, and all chunks up
to the first one that finds a violation are counted. So for a seed and a number of walks, the violation and all counts
are the same for any number of threads.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import numpy as np

from highwater.explorer.comparisons import refusing_what_is_never_equal
from highwater.explorer.compiler.effects import MOST_CUTS
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.prefilter import Filter, filter_of
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.wide_nodes import not_widened
from highwater.explorer.kernels import walk_arrays
from highwater.explorer.kernels.arrays import Trees
from highwater.explorer.kernels.making.compile_times import Stopwatch
from highwater.explorer.kernels.statuses import (
    BROKEN_STEP,
    DEADLOCK,
    DONE,
    MISSED_ACTION,
    MISSED_INVARIANT,
    MISSED_STEP,
)
from highwater.explorer.kernels.walk_arrays import Walker
from highwater.explorer.search.counterexamples import not_replayed
from highwater.explorer.search.engine.compiled import Compiled, as_arrays
from highwater.explorer.search.levels.coverage import look, unreached
from highwater.explorer.system import Cut, System, successor, taken
from highwater.explorer.trace import violation_at
from highwater.explorer.verdict import Step, Unreached, Violation, Walking

STEPS_PER_CHUNK = 1 << 15
CHUNKS_PER_ROUND = 16
SAMPLE = 64


@attrs.frozen
class Simulation:
    """What random walks found.

    Attributes:
        seed, walks, depth: what was asked for, and how many walks were made.
        steps: how many steps they took together.
        violation: the first violation of the first walk that has one, as it was met.
        walk: the number of that walk, from 0.
        taken, enabled: per action, how often it was chosen, and how many of its steps were enabled.
        bounds_cut: how many enabled steps each bound disabled.
        at_depth, at_rest, at_bound, unweighted: how many walks ended for being that deep; for want of any step; because
            bounds cut all steps; because the weights of all others are 0.
        unreached: where that was asked for and nothing violated, the statements of actions and properties that ran in
            no visited state.
        compiled_paths: how many paths of functions were run in Python.
        late_paths: how many of them only in the second half of the walks, if there were enough of them. Where they are
            many, more walks would see more.
        seconds: wall-clock time.
        compile_seconds: how much of that went into compiling machine code, which is kept for later runs.
        interrupted: whether a KeyboardInterrupt ended it.
    """

    seed: int
    walks: int
    depth: int
    steps: int
    violation: Violation | None
    walk: int | None
    taken: dict[str, int]
    enabled: dict[str, int]
    bounds_cut: dict[str, int]
    at_depth: int
    at_rest: int
    at_bound: int
    unweighted: int
    unreached: tuple[Unreached, ...]
    compiled_paths: int
    late_paths: int | None
    seconds: float
    compile_seconds: float
    interrupted: bool

    @property
    def walk_seconds(self) -> float:
        """Wall-clock time without compiling machine code."""
        return max(0.0, self.seconds - self.compile_seconds)


def simulate(
    system: System,
    walking: Walking,
    *,
    check_deadlock: bool = False,
    workers: int | None = None,
    audit: int = 8,
    coverage: bool = False,
    on_progress: Callable[[int, int, float], None] = lambda walks, steps, seconds: None,
) -> Simulation:
    """Walk at random, and check every property on every state and step of each walk.

    Args:
        system: where to walk.
        walking: how often, how far and until when.
        check_deadlock: treat a state without successors that no bound explains as a violation of `no_deadlock`.
        workers: threads; as many as there are processors if None.
        audit: how many paths of each function to compare with plain Python on a random state, too; on its own state
            every path is.
        coverage: find the statements that ran in no visited state.
        on_progress: called now and then with the walks and steps made, and the time without compiling; a
            KeyboardInterrupt ends the simulation early.

    Raises:
        ModelError: a function of the model is not a pure function of the state, raised, or gave what lies outside its
            domain.
    """
    made = _Walks(system, walking, audit, check_deadlock=check_deadlock, coverage=coverage)
    with refusing_what_is_never_equal(system):
        return made.run(walking, workers or os.cpu_count() or 1, on_progress)


class _Walks(Compiled):
    """A compiled system to walk in."""

    def __init__(
        self,
        system: System,
        walking: Walking,
        audit: int,
        *,
        check_deadlock: bool,
        coverage: bool,
    ) -> None:
        self.watch = Stopwatch()
        self.coverage = coverage
        self.interrupted = False
        super().__init__(system, Layout(system.domain), audit)
        self.depth, self.seed, self.check_deadlock = walking.depth, walking.seed, check_deadlock
        self.initial = np.array([self.layout.pack(state) for state in system.initial], np.uint64)
        self.weights = np.array([walking.weights.get(action.of.name, 1.0) for action in system.actions], np.float64)
        self.unfiltered = {program: filter_of(program) for program in (self.invariants, self.steps)}
        self.filter = filter_of(self.actions)

    def run(self, walking: Walking, workers: int, on_progress: Callable[[int, int, float], None]) -> Simulation:
        """Round after round of chunks, each by all threads."""
        walks, seconds = walking.walks, walking.seconds
        size = max(1, STEPS_PER_CHUNK // max(1, self.depth))
        done: list[tuple[Walker, int]] = []
        paths_at = [(0, 0)]
        begin = filtered_at = 0
        try:
            with ThreadPoolExecutor(workers) as pool:
                while walks is None or begin < walks:
                    end = begin + size * min(CHUNKS_PER_ROUND, 1 << len(paths_at) - 1)
                    end = end if walks is None else min(end, walks)
                    parts = [(first, min(first + size, end)) for first in range(begin, end, size)]
                    found = list(pool.map(self._chunk, parts))
                    begin = end
                    for walker, status in found:
                        done.append((walker, status))
                        if status != DONE:
                            return self._simulation(done, paths_at)
                    paths_at.append((begin, self.paths))
                    steps = sum(int(walker.place[walk_arrays.STEPS]) for walker, _ in done)
                    on_progress(begin, steps, self.watch.search_seconds)
                    if begin >= 4 * filtered_at:
                        self.filter = filter_of(self.actions, done[-1][0].ends.tolist())
                        filtered_at = begin
                    done = [(_added(done), DONE)]
                    if seconds is not None and self.watch.seconds >= seconds:
                        break
        except KeyboardInterrupt:
            self.interrupted = True
        return self._simulation(done, paths_at)

    def _chunk(self, part: tuple[int, int]) -> tuple[Walker, int]:
        """Make the walks of a chunk, up to its first violation."""
        walker = self._walker()
        walker.place[walk_arrays.WALK], end = part
        walks = walk_arrays.Walks(
            self.depth, self.seed, self.initial, self.weights, int(self.check_deadlock), len(self.system.invariants),
            len(self.system.step_properties),
        )  # fmt: skip
        while True:
            programs = walk_arrays.Programs(
                self._trees(self.actions, self.filter),
                self._trees(self.invariants, self.unfiltered[self.invariants]),
                self._trees(self.steps, self.unfiltered[self.steps]),
                self.effect_arrays(),
            )
            status = self.code.walk_on(end, walks, programs, walker, self.layout.units)
            missed = {
                MISSED_ACTION: (self.actions, walker.words),
                MISSED_INVARIANT: (self.invariants, walker.words),
                MISSED_STEP: (self.steps, walker.pair),
            }.get(status)
            if missed is None and (status == DONE or not self._is_cut(walker)):
                return walker, status
            if missed is None:  # no behaviour of the claim: on with the next walk
                walker.place[walk_arrays.AT_BOUND] += 1
                walker.place[walk_arrays.WALK] += 1
                walker.place[walk_arrays.STEP] = -1
                continue
            program, words = missed
            with self.growing:
                program.learn(int(walker.place[walk_arrays.TREE]), tuple(map(int, words[0])))

    def _is_cut(self, walker: Walker) -> bool:
        """Whether a bound cuts a step of the walk in its class. Walks are in real numbers, which have room."""
        if self.system.ranks is None:
            return False
        path = walker.path[: int(walker.place[walk_arrays.STEP])].tolist()
        state = next(state for state in self.system.initial if self._leads_here(state, path, walker))
        for tree in path:
            state = taken(self.system, self.system.actions[tree], state)
            if isinstance(state, Cut):
                return True
        return False

    def _walker(self) -> Walker:
        trees, words = max(1, len(self.system.actions)), self.layout.words
        place = np.zeros(walk_arrays.PLACE, np.int64)
        place[walk_arrays.STEP] = -1
        return Walker(
            place=place,
            random=np.zeros(1, np.uint64),
            words=np.zeros((2, words), np.uint64),
            pair=np.zeros((1, 2 * words), np.uint64),
            pending=np.zeros(3, np.int64),
            path=np.zeros(max(1, self.depth), np.int64),
            hit_tree=np.zeros(trees, np.int64),
            hit_effect=np.zeros(trees, np.int64),
            enabled=np.zeros(trees, np.int64),
            taken=np.zeros(trees, np.int64),
            cut_steps=np.zeros(MOST_CUTS, np.int64),
            ends=np.repeat(self.initial[:1], SAMPLE, axis=0),
        )

    def _trees(self, program: Program, found: Filter) -> Trees:
        return as_arrays(program, found, not_widened(len(program.instances)))

    def _simulation(self, done: Sequence[tuple[Walker, int]], paths_at: Sequence[tuple[int, int]]) -> Simulation:
        last, status = done[-1] if done else (self._walker(), DONE)
        walker = _added(done) if done else last
        violated = status != DONE
        made = int(last.place[walk_arrays.WALK]) + violated
        half = next(paths for walks, paths in reversed(paths_at) if 2 * walks <= made)
        bounds_cut: Counter[str] = Counter()
        for number, bounds in enumerate(self.effects.bounds):
            bounds_cut.update({bound: int(walker.cut_steps[number]) for bound in bounds if walker.cut_steps[number]})
        counted = (
            walk_arrays.AT_DEPTH,
            walk_arrays.AT_REST,
            walk_arrays.AT_BOUND,
            walk_arrays.UNWEIGHTED,
            walk_arrays.STEPS,
        )
        at_depth, at_rest, at_bound, unweighted, steps = (int(walker.place[at]) for at in counted)
        programs = (self.invariants, self.steps, self.actions)
        return Simulation(
            seed=self.seed,
            walks=made,
            depth=self.depth,
            steps=steps,
            violation=self._violation(last, status) if violated else None,
            walk=made - 1 if violated else None,
            taken=self._by_action(walker.taken),
            enabled=self._by_action(walker.enabled),
            bounds_cut=dict(sorted(bounds_cut.items())),
            at_depth=at_depth,
            at_rest=at_rest,
            at_bound=at_bound,
            unweighted=unweighted,
            unreached=unreached(map(look, programs)) if self.coverage and not violated else (),
            compiled_paths=self.paths,
            late_paths=self.paths - half if half and not violated else None,
            seconds=self.watch.seconds,
            compile_seconds=self.watch.compile_seconds,
            interrupted=self.interrupted,
        )

    def _by_action(self, counts: Iterable[int]) -> dict[str, int]:
        names: Counter[str] = Counter({action.of.name: 0 for action in self.system.actions})
        for action, count in zip(self.system.actions, counts, strict=False):
            names[action.of.name] += int(count)
        return dict(names)

    def _violation(self, walker: Walker, status: int) -> Violation:
        """The violation at the end of a walk, each of whose steps is executed again in plain Python."""
        domain, length = self.system.domain, int(walker.place[walk_arrays.STEP])
        number = int(walker.place[walk_arrays.TREE])
        states = [
            state for state in self.system.initial if self._leads_here(state, walker.path[:length].tolist(), walker)
        ]
        if not states:
            raise not_replayed(f"its {length} steps do not lead where the walk stands", ())
        steps = [Step(None, states[0])]
        for tree in walker.path[:length].tolist():
            action = self.system.actions[tree]
            steps.append(Step(action, successor(action, steps[-1].state, domain)))
        if status == DEADLOCK:
            return violation_at(self.system, None, steps)
        of = self.system.step_properties if status == BROKEN_STEP else self.system.invariants
        return violation_at(self.system, of[number], steps)

    def _leads_here(self, state: Any, path: Sequence[int], walker: Walker) -> bool:
        """Whether a path leads from an initial state to where the walk stands."""
        for tree in path:
            state = successor(self.system.actions[tree], state, self.system.domain)
            if not isinstance(state, self.system.domain.cls):
                return False
        return tuple(map(int, walker.words[0])) == self.layout.pack(state)


def _added(done: Sequence[tuple[Walker, int]]) -> Walker:
    """The counts of some walkers together, in the last one's place."""
    total = done[-1][0]
    for walker, _ in done[:-1]:
        for counts in ("enabled", "taken", "cut_steps"):
            getattr(total, counts)[:] += getattr(walker, counts)
        total.place[walk_arrays.AT_DEPTH :] += walker.place[walk_arrays.AT_DEPTH :]
    return total
