"""The audit at the end of a search: a second judge is given some of the rows, drawn so that every path that was learned
is met, and is answered from the engine's own books.
"""

from __future__ import annotations

import gc
import random
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import attrs
import numpy as np

from highwater.explorer.blame import JudgedOtherwise
from highwater.explorer.compiler.comparison import PlainStates
from highwater.explorer.kernels import arrays
from highwater.explorer.kernels.arrays import SPARE
from highwater.explorer.kernels.statuses import DONE, MISSED, MISSED_STEPS, NOT_NEW, PARTS_FULL, ROWS_FULL
from highwater.explorer.search.engine.compiled import Compiled
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.search.states.scratch import make_work
from highwater.explorer.second_judge import SecondJudge, Tally
from highwater.explorer.system import Cut, System
from highwater.explorer.verdict import Audit, Auditing

FEWEST_STATES, FEWEST_PATHS = 64, 1 << 9
MOST_OF_THE_TIME, MOST_SECONDS = 0.1, 0.5  # of the search; but for the fewest
STATES_BETWEEN_REPORTS = 1000
WITHOUT_LIMIT = 1 << 62
MOST_REMEMBERED, MOST_STATES_REMEMBERED = 1 << 16, 1 << 10


def audit(
    engine: Engine,
    extent: Auditing,
    counts: Counts,
    levels: tuple[int, ...],
    *,
    expanded: int,
    no_deadlock: bool,
    seconds: float,
    on_progress: Callable[[str], None] = lambda text: None,
) -> Audit:
    """Judge some of what was found a second time.

    Args:
        counts, levels: what the search has counted.
        expanded: how many rows were expanded: the first ones.
        no_deadlock: whether a state at rest is a violation.
        seconds: how long the search took.
        on_progress: called now and then by an audit of every state.

    Raises:
        JudgedOtherwise: plain Python does not agree.
    """
    started = time.perf_counter()
    rows = engine.store.count
    judge = SecondJudge(
        engine.system,
        EngineBooks(engine),
        permutations=engine.permutations,
        rows=rows,
        expanded=expanded,
        no_deadlock=no_deadlock,
    )
    judge.judge_initial()
    draw = _Draw(engine, expanded)
    ends_at = started + min(MOST_SECONDS, MOST_OF_THE_TIME * seconds)
    if extent is Auditing.FULL:
        for number, row in enumerate(range(rows), 1):
            judge.judge(row)
            if number % STATES_BETWEEN_REPORTS == 0:
                on_progress(f"{number:,} of {rows:,} states judged twice")
    else:
        with without_collecting():
            _judge_some(judge, draw, ends_at)
    complete = len(judge.states) == rows
    hold_sums(judge, engine.system, counts, levels, complete=complete)
    if complete and (row := judge.reached.find(0)) >= 0:
        judge.contest_lonely(row)
    return Audit(len(judge.states), draw.judged(judge.states), draw.walked, time.perf_counter() - started)


def _judge_some(judge: SecondJudge, draw: _Draw, ends_at: float) -> None:
    """Judge the fewest states, and each path that was learned in others, as long as there is time."""
    for row in draw.rows(FEWEST_STATES):
        judge.judge(row)
    for number, path in enumerate(draw.paths(judge.states)):
        if number >= FEWEST_PATHS and time.perf_counter() > ends_at:
            break
        draw.judge(judge, path)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Let Python look for no garbage meanwhile, among all that a search has learned."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def hold_sums(judge: SecondJudge, system: System, counts: Counts, levels: Sequence[int], *, complete: bool) -> None:
    """What was counted of all states must be what all come to; or no less than what those that were judged come to.

    Raises:
        JudgedOtherwise: it is not.
    """
    for what, mine, its in _compared(judge, system, counts, levels):
        if mine > its or (complete and mine != its):
            least = "" if complete else "at least "
            raise JudgedOtherwise("", f"the number of {what}", "", f"{least}{mine:,}", f"{its:,}")


def _compared(judge: SecondJudge, system: System, counts: Counts, levels: Sequence[int]) -> list[tuple[str, int, int]]:
    """What is counted, in words; what the rows that were judged come to; and what the search has counted."""
    sums, actions = judge.sums, system.actions
    found = [(f"steps of {action}", sums.enabled[n], counts.enabled[n]) for n, action in enumerate(actions)]
    found += [
        (f"steps that {' and '.join(sorted(bounds))} cut", sums.cut[bounds], counts.cut_steps[bounds])
        for bounds in {**sums.cut, **counts.cut_steps}
    ]
    found += [(f"states at depth {depth}", judge.levels[depth], count) for depth, count in enumerate(levels)]
    found += [
        ("steps", sum(sums.enabled.values()), counts.generated),
        ("states at rest", sums.at_rest, counts.at_rest),
        ("states that only a bound stops", sums.at_bound, counts.stopped_at_bound),
    ]
    return found


@attrs.frozen
class _Path:
    """A path that was learned: of which program, which instance, and in which row."""

    program: int
    number: int
    row: int


class _Draw:
    """Which rows and paths to judge.

    A path is met in the state in which it was learned, or was seen to be what another search has learned. Where that
    state was not found, as a search for something else has learned the path, it is not known whether it was walked.

    Attributes:
        walked: how many paths were walked.
    """

    def __init__(self, engine: Engine, expanded: int, seed: int = 0) -> None:
        self._engine, self._expanded = engine, expanded
        self._random = random.Random(seed)
        self._kinds = (engine.actions, engine.invariants, engine.steps)
        rows: dict[Any, int] = {}
        found = []
        for program in self._kinds:
            for number, words in program.examples:
                words = tuple(words[: engine.layout.words])  # of a step, those of the state before
                if words not in rows:
                    rows[words] = engine.store.find(words)
                row = rows[words]
                if 0 <= row < (engine.store.count if program is engine.invariants else expanded):
                    found.append(_Path(self._kinds.index(program), number, row))
        self._paths = found
        self._alone: set[_Path] = set()
        self.walked = len(found)

    def rows(self, count: int) -> Iterator[int]:
        """So many rows: half of them those in which most was learned, the others at random."""
        every = self._engine.store.count
        if count >= every:
            yield from self._random.sample(range(every), every)
            return
        learned = Counter(path.row for path in self._paths)
        rich = [row for row, _ in learned.most_common(count // 2)]
        yield from rich
        others = (row for row in self._random.sample(range(every), min(every, 2 * count)) if row not in rich)
        yield from islice(others, count - len(rich))

    def paths(self, judged: set[int]) -> list[_Path]:
        """The paths that were learned in other rows than those."""
        rows = list({path.row for path in self._paths} - judged)
        self._random.shuffle(rows)
        order = {row: place for place, row in enumerate(rows)}
        return sorted((path for path in self._paths if path.row in order), key=lambda path: order[path.row])

    def judge(self, judge: SecondJudge, path: _Path) -> None:
        """Judge a path alone; one of step properties with the row that it was learned in."""
        program = self._kinds[path.program]
        if program is self._engine.actions:
            judge.judge_step(path.row, path.number)
        elif program is self._engine.invariants:
            judge.judge_invariant(path.row, path.number)
        else:
            judge.judge(path.row)
        self._alone.add(path)

    def judged(self, states: set[int]) -> int:
        """How many of the walked paths were judged, alone or with one of these rows."""
        return sum(path in self._alone or path.row in states for path in self._paths)


class TreeBooks:
    """What trees answer a second judge, wherever the rows are."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._plain = PlainStates(compiled.layout)
        self._states: dict[int, Any] = {}

    def words(self, row: int) -> tuple[int, ...]:
        """The words of a row."""
        raise NotImplementedError

    def state(self, row: int) -> Any:
        if row not in self._states:
            if len(self._states) >= MOST_STATES_REMEMBERED:
                self._states.clear()
            self._states[row] = self._plain.unpacked(self.words(row))
        return self._states[row]

    def path(self, number: int, row: int) -> str:
        actions = self._compiled.actions
        tests, _ = actions.path(number, self.words(row))
        shown: dict[Any, int] = {}
        for test, value in tests:
            leaf, low = actions.leaves_by_test[test]
            shown[leaf] = shown.get(leaf, 0) | value << low
        return ", ".join(f"{leaf.path} = {leaf.domain.show(leaf.domain.decode(raw))}" for leaf, raw in shown.items())

    def says(self, number: int, row: int) -> Any:
        after = self._compiled.actions.evaluate(number, self.words(row))
        if after is None or isinstance(after, Cut):
            return after
        return self._compiled.system.class_of(self._plain.unpacked(after))


class EngineBooks(TreeBooks):
    """What the engine of a search on one machine answers a second judge."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._engine = engine
        self._work = make_work(len(engine.system.actions), len(engine.system.step_properties), engine.layout, 1, 1)
        self._room = np.zeros((1 + SPARE, engine.layout.words), np.uint64)
        self._ends = engine.store.level_ends[1:]
        self._moves = len(engine.permutations) > 1 or engine.system.ranks is not None
        self._rows: dict[tuple[int, ...], int] = {}

    def words(self, row: int) -> tuple[int, ...]:
        return self._engine.store.words(row)

    def row_of(self, state: Any, beside: int | None = None) -> int:
        if beside is None:
            return self._row_of_words(self._engine.layout.pack(state))
        # most parts of the state are those of the one before, and packed already
        words = self._plain.packed(self._engine.store.words(beside), self.state(beside), state)
        return self._row_of_words(words) if isinstance(words, tuple) else -1

    def _row_of_words(self, words: tuple[int, ...]) -> int:
        """The row that stands for a packed state."""
        if len(self._rows) >= MOST_REMEMBERED:
            self._rows.clear()
        if words not in self._rows:
            representative = words
            if self._moves:
                self._room[0] = words
                self._engine.code.representative(self._room, self._engine.symmetry, self._engine.store.units)
                representative = tuple(self._room[0].tolist())
            if representative not in self._rows:
                self._rows[representative] = self._engine.store.find(representative)
            self._rows[words] = self._rows[representative]
        return self._rows[words]

    def depth_of(self, row: int) -> int:
        return bisect_right(self._ends, row)

    def again(self, row: int) -> Tally:
        """What machine code counts as it expands the row again, where no other row may be added."""
        engine, store, work = self._engine, self._engine.store, self._work
        for counted in (work.counts, work.enabled, work.steps, work.broken):
            counted[:] = 0
        work.recent[:] = ~np.uint64(0)  # no state was met just before
        shared = np.zeros_like(store.shared)
        shared[arrays.CURSOR], shared[arrays.ROWS] = row, store.count
        while True:
            limits = arrays.Limits(row + 1, row + 2, entries=WITHOUT_LIMIT, capacity=store.count, block=0)
            status = engine.code.expand(store.visited, shared, limits, engine.machine(), work, store.units)
            shared[arrays.STOP] = 0
            if status == MISSED:
                engine.learn(engine.actions, work.misses[: work.counts[arrays.MISSES]])
            elif status == MISSED_STEPS:
                engine.learn_steps(work.misses[: work.counts[arrays.MISSES]])
            elif status == PARTS_FULL:
                store.grow_parts()
            else:
                assert status in (DONE, ROWS_FULL, NOT_NEW), status
                return self._tally(row, status)

    def _tally(self, row: int, status: int) -> Tally:
        work, orbit = self._work, int(self._work.orbits[0])
        enabled = {int(number): int(work.enabled[number]) for number in np.flatnonzero(work.enabled)}
        bounds = self._engine.effects.bounds
        cut = Counter({bounds[number]: int(work.steps[1 + number]) for number in np.flatnonzero(work.steps[1:])})
        rows = {self._row_of_words(tuple(words)) for words in work.made[: len(enabled)].tolist()}
        if status != DONE:
            rows.add(-1)
        return Tally(
            states=orbit,
            enabled=Counter(enabled),
            cut=cut,
            at_rest=int(work.counts[arrays.AT_REST]),
            at_bound=int(work.counts[arrays.STOPPED_AT_BOUND]),
            leads_to=frozenset(rows - {row}),
            breaks=bool(work.broken.any()),
        )
