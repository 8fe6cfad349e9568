"""A compiled system and the rows found so far, with what every pass over rows needs: trees, filters, symmetry,
threads.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import numpy as np

from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.prefilter import Filter, filter_of
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.wide_nodes import Widened, not_widened, widened
from highwater.explorer.kernels.arrays import AT_REST, SPARE, STOP, STOPPED_AT_BOUND, Checking, Machine, Trees, Work
from highwater.explorer.kernels.making.entry_points import Together
from highwater.explorer.search.engine.compiled import Compiled, as_arrays
from highwater.explorer.search.engine.symmetry import no_symmetry, permutations_of, tabulate
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.search.states.rows import Rows, spread
from highwater.explorer.search.states.scratch import make_work
from highwater.explorer.search.states.store import Store
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget

ROWS_WORTH_A_SECOND_THREAD = 1 << 12
ROWS_WORTH_A_FILTER = 1 << 15
FILTERS_LAST_UNTIL = 64  # times as many rows
SAMPLE = 64
WIDE_SAMPLE = 1024


if TYPE_CHECKING:  # plain `Engine` has found its rows itself; typing has defaults from Python 3.13
    import typing_extensions

    Held = typing_extensions.TypeVar("Held", bound=Rows, default=Store)
else:
    Held = TypeVar("Held")


class Engine(Compiled, Generic[Held]):
    """What the passes of a search share.

    Attributes:
        permutations, symmetry: the group of permutations, the identity first, and its tables; empty without symmetry.
        store: the rows.
        works: counters and scratch room, one per thread.
        pool: the threads, if there is more than one.
        has_renewed: whether filters were chosen anew from states.
    """

    store: Held

    @overload
    def __init__(
        self: Engine[Store], system: System, budget: Budget, audit: int, workers: int, *, symmetry: bool
    ) -> None: ...
    @overload
    def __init__(
        self: Engine[Rows], system: System, budget: None, audit: int, workers: int, *, symmetry: bool
    ) -> None: ...
    def __init__(self, system: System, budget: Budget | None, audit: int, workers: int, *, symmetry: bool) -> None:
        """An engine whose store keeps all states within a budget; without one, rows come from outside."""
        layout = Layout(system.class_domain)
        self.permutations = permutations_of(system, layout) if symmetry else []
        super().__init__(system, layout, audit, self.permutations)
        self.symmetry = (
            tabulate(layout, self.images, system.ranks)
            if len(self.permutations) > 1
            else no_symmetry(layout, system.ranks)
        )
        self.pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self.code.together = Together(bool(system.liveness), workers)
        self.code.apart = budget is not None and budget.memory is not None
        rows = Rows(layout, self.code) if budget is None else Store(layout, budget, self.pool, self.code)
        self.store = cast("Held", rows)
        self.works = [make_work(len(system.actions), len(system.step_properties), layout) for _ in range(workers)]
        self._filters = {program: filter_of(program) for program in self.programs}
        self._not_widened = not_widened(len(system.actions))
        self._widened: dict[Program, Widened] = {self.actions: self._not_widened}
        self._next_filter_at = ROWS_WORTH_A_FILTER
        self.has_renewed = False

    def close(self) -> None:
        """Stop all threads, and wait until they have. What is left to do goes without them."""
        self.store.shared[STOP] = 1
        if self.pool is not None:
            self.pool.shutdown()
            self.pool = None
            if isinstance(self.store, Store):
                self.store.pool = None

    def works_for(self, rows: int) -> list[Work]:
        """The threads that so many rows are worth."""
        many = rows >= ROWS_WORTH_A_SECOND_THREAD and not self.code.stand_ins
        return self.works if many else self.works[:1]

    def total(self, position: int) -> int:
        """One of the counts of `highwater.explorer.kernels.arrays`, of all threads together."""
        return sum(int(work.counts[position]) for work in self.works)

    @property
    def generated(self) -> int:
        """How many steps happened."""
        return sum(int(work.steps[0]) for work in self.works)

    def cut_steps(self) -> Counter[frozenset[str]]:
        """How many steps each set of bounds has cut, of those that have cut any."""
        counts = (sum(int(work.steps[1 + number]) for work in self.works) for number in itertools.count())
        return +Counter(dict(zip(self.effects.bounds, counts, strict=False)))

    def counts(self, cut_steps: Counter[frozenset[str]]) -> Counts:
        """All counts, with steps that were cut as they are given: a run before this one may have cut some."""
        enabled = tuple(np.sum([work.enabled for work in self.works], axis=0).tolist())
        return Counts(self.generated, self.total(AT_REST), self.total(STOPPED_AT_BOUND), enabled, cut_steps)

    def trees(self, program: Program) -> Trees:
        """A program as the kernels read it."""
        return as_arrays(program, self._filters[program], self._widened.get(program, self._not_widened))

    def machine(self) -> Machine:
        """All that is known of the model, as the kernels read it."""
        return Machine(self.trees(self.actions), self.trees(self.steps), self.effect_arrays(), self.symmetry)

    def remember_first(self) -> None:
        """Let all that threads have met just before be the first row."""
        for work in self.works:
            work.recent[:] = self.store.words(0)

    def learn(self, program: Program, misses: np.ndarray) -> None:
        """Grow trees by the (row, tree) pairs that a kernel missed. Only one thread does at a time."""
        with self.growing:
            for row, tree, *_ in misses.tolist():
                program.learn(tree, self.store.words(row))

    def learn_steps(self, misses: np.ndarray) -> None:
        """Grow the step properties' trees by the (row, action, step property) triples that a kernel missed."""
        with self.growing:
            for row, action, tree in misses.tolist():
                words = self.store.words(row)
                self.steps.learn(tree, (*words, *self.actions.evaluate(action, words)))

    def renew_filters(self) -> None:
        """Choose filters and wide nodes by samples of the states, each time there are `FILTERS_LAST_UNTIL` times as
        many.
        """
        if self.store.count < self._next_filter_at:
            return
        self._next_filter_at, self.has_renewed = FILTERS_LAST_UNTIL * self.store.count, True
        sample = [self.store.words(row) for row in self._spread_rows(SAMPLE)]
        steps = (
            [(*words, *after) for words in sample for after in self.actions.known_successors(words)]
            if self.steps.instances
            else []
        )
        self._filters = {
            program: filter_of(program, steps if program is self.steps else sample) for program in self.programs
        }
        states = np.array([self.store.words(row) for row in self._spread_rows(WIDE_SAMPLE)], np.uint64)
        self._widened = {self.actions: widened(self.actions, states)}

    def tables(self, program: Program) -> dict[str, np.ndarray]:
        """A program's filter, and of the actions the wide nodes and when the next ones are to be chosen."""
        found = {"chunks": self._filters[program].chunks, "candidates": self._filters[program].candidates}
        if program is self.actions:
            wide = self._widened[program]
            found |= {"nodes": wide.nodes, "entries": wide.entries, "next": np.array(self._next_filter_at)}
        return found

    def take_tables(self, program: Program, tables: Mapping[str, np.ndarray]) -> None:
        """Go by tables that were made when the program's trees were the same, or smaller."""
        self._filters[program] = Filter(tables["chunks"], tables["candidates"])
        if program is self.actions:
            self._widened = {program: Widened(tables["nodes"], tables["entries"])}
            self._next_filter_at = int(tables["next"])

    def forget(self, program: Program) -> None:
        """Begin anew with a program, its filter and its wide nodes."""
        program.forget()
        self._filters[program] = filter_of(program)
        if program is self.actions:
            self.effects.clear()
            self._widened = {program: self._not_widened}
            self._next_filter_at = ROWS_WORTH_A_FILTER

    def _spread_rows(self, count: int) -> list[int]:
        """Rows of the last two levels, if there are two, evenly spread."""
        rows = np.linspace(self.store.level_ends[-3:][0], self.store.count - 1, count)
        return list(map(int, rows))

    def spread(self, function: Callable[[int, int], Any], begin: int, end: int) -> list[Any]:
        """What a function gives for the parts of a range of rows, by all threads."""
        return spread(self.pool, function, begin, end)

    def count_violations(self, program: Program, wanted: np.ndarray, begin: int, end: int) -> np.ndarray:
        """How many of the rows violate each of a program's invariants that are wanted; all walks are known then."""
        work = self.works[0]
        left = np.zeros((len(work.words), len(wanted)), np.uint64)
        room = Checking(np.zeros_like(work.words), np.zeros_like(work.numbers), left, np.zeros_like(work.misses))
        while True:
            found = np.zeros(len(program.instances), np.int64)
            missed = self.code.check(
                self.store.rows, begin, end, wanted, found, self.trees(program), room, self.store.units
            )
            if not missed:
                return found
            self.learn(program, room.misses[: max(0, missed)])  # or waits there for the thread that learns

    def states_in(self, begin: int, end: int) -> int:
        """How many states the rows begin..end stand for."""
        return sum(self.spread(self._orbit_sizes, begin, end)) if len(self.permutations) > 1 else end - begin

    def _orbit_sizes(self, begin: int, end: int) -> int:
        room = np.zeros((1 + SPARE, self.layout.words), np.uint64)
        return int(self.code.orbit_sizes(self.store.rows, begin, end, self.symmetry, room, self.store.units))

    def words_of(self, state: Any) -> tuple[int, ...] | None:
        """The words of a plain state, in ranks; None if it is in no class that the bounds allow."""
        found = self.system.class_of(state)
        if self.system.ranks is not None and self.layout.domain.exceeded(found):
            return None
        return self.layout.pack(found)

    def representative(self, state: Any) -> tuple[int, ...] | None:
        """The words of the state that stands for a plain state; None if the bounds do not allow any."""
        words = self.words_of(state)
        if words is None:
            return None
        room = np.zeros((1 + SPARE, self.layout.words), np.uint64)
        room[0] = words
        self.code.representative(room, self.symmetry, self.store.units)
        return tuple(map(int, room[0]))

    def row_of(self: Engine[Store], state: Any) -> int:
        """The row that stands for a plain state, or -1."""
        words = self.representative(state)
        return -1 if words is None else self.store.find(words)


def mask_of(bits: Iterable[bool]) -> np.ndarray:
    """Bits in words of 64, the first one lowest."""
    packed = np.packbits(np.fromiter(bits, bool), bitorder="little")
    mask = np.zeros(max(1, -(-len(packed) // 8)) * 8, np.uint8)
    mask[: len(packed)] = packed
    return mask.view(np.uint64)
