"""A compiled system that works on parts of levels, wherever they are: what one process of a distributed search needs of
the engine.

A part is some rows. Expanding it gives records of successors, sorted by owner; checking it gives what its rows violate.
Nothing is remembered between parts but the trees, which are caches of pure functions: they can be taken along to other
processes, and grow there.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from highwater.explorer.blame import Contradiction, ModelError
from highwater.explorer.comparisons import refuse_while_it_lives
from highwater.explorer.compiler.programs import Program
from highwater.explorer.descriptions import Indescribable
from highwater.explorer.kernels import arrays
from highwater.explorer.kernels.arrays import SPARE, FlatRows, FoldedRows
from highwater.explorer.kernels.statuses import DONE, MISSED, MISSED_STEPS
from highwater.explorer.memory import reserve
from highwater.explorer.search.engine.engine import Engine, mask_of
from highwater.explorer.search.keeping.fingerprint import Fingerprint, fingerprint
from highwater.explorer.search.keeping.kept_trees import ACTIONS, PROPERTIES, KeptTrees, learned, restore
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.system import System

FEWEST_SUCCESSORS, MOST_SUCCESSORS = 1 << 17, 1 << 20

Trees = dict[str, dict[str, np.ndarray]]
Example = tuple[int, int, tuple[int, ...]]


class PartitionWorker:
    """One thread's engine over parts.

    Attributes:
        system, layout: what is explored, and its bits.
        units: how many 32-bit units a row has.
    """

    def __init__(self, system: System, audit: int = 8, *, symmetry: bool) -> None:
        self.system = system
        self.search = Engine(system, None, audit, workers=1, symmetry=symmetry)
        refuse_while_it_lives(self, system)
        self._audit = audit
        self._told = self._taken = [0] * len(self.search.programs)
        self.layout = self.search.layout
        self.units = self.search.store.units
        self._work = self.search.works[0]
        self._words = np.zeros((1, self.layout.words), np.uint64)
        self._room = np.zeros((1 + SPARE, self.layout.words), np.uint64)
        self._made = self._parents = self._actions = self._table = np.zeros(0, np.uint32)
        self._at_rest = np.full(1, -1, np.int64)

    def fingerprint(self, options: dict[str, Any]) -> Fingerprint:
        """What must be equal in every process of a search.

        Raises:
            ModelError: the search depends on what cannot be described to another process.
        """
        try:
            return fingerprint(self.system, self.layout, len(self.search.permutations), options)
        except Indescribable as error:
            raise ModelError(f"no other process can know what this one has: {error}; use --engine local") from None

    @property
    def permutations(self) -> Sequence[Any]:
        """The permutations of interchangeable names, the identity first."""
        return self.search.permutations

    def representative(self, state: Any) -> tuple[int, ...]:
        """The words of the canonical form of a plain state."""
        return cast("tuple[int, ...]", self.search.representative(state))

    @property
    def record_width(self) -> int:
        """How many units a record has."""
        return self.units + arrays.RECORD_EXTRA

    # Trees

    @property
    def paths(self) -> int:
        """How many paths of functions are known, each of which was run in Python once, here or elsewhere."""
        return self.search.paths

    def trees(self) -> Trees:
        """All that is known so far, as arrays."""
        return {which: learned(self.search, which) for which in (ACTIONS, PROPERTIES)}

    def take_trees(self, trees: Trees) -> None:
        """Begin with what was learned elsewhere. Only an engine that has learned nothing can.

        Raises:
            ModelError: a sample of it does not agree with plain Python here.
        """
        for which, found in trees.items():
            restore(self.search, which, found)
        self.new_examples()
        self._taken = self._told

    def new_examples(self) -> list[Example]:
        """For each path that was learned here since this was asked last, the program, the instance and the state."""
        found = [
            (number, instance, tuple(map(int, words)))
            for number, program in enumerate(self.search.programs)
            for instance, words in program.examples[self._told[number] :]
        ]
        self._told = [len(program.examples) for program in self.search.programs]
        return found

    def tell_again(self) -> None:
        """Let `new_examples` give again all that was learned here. What gave it before may have been lost."""
        self._told = list(self._taken)

    def take_kept(self) -> KeptTrees:
        """Begin with what earlier searches have kept; returns what keeps for later ones what is known then."""
        kept = KeptTrees(self.search, self._audit)
        kept.load()
        self.new_examples()
        return kept

    def learn_again(self, examples: Iterable[Example]) -> None:
        """Learn the paths that were learned elsewhere, unless they are known."""
        for number, instance, words in examples:
            self.search.programs[number].learn(instance, words)

    # Rows

    def representative_rows(self, states: Iterable[Any]) -> np.ndarray:
        """The rows that stand for some plain states, each once."""
        words = dict.fromkeys(self.search.representative(state) for state in states)
        return self.rows_of([np.array(column, np.uint64) for column in zip(*words, strict=True)])

    def rows_of(self, columns: list[np.ndarray]) -> np.ndarray:
        """Rows from a column per word."""
        rows = np.empty((len(columns[0]), self.units), np.uint32)
        for unit in range(self.units):
            rows[:, unit] = np.ascontiguousarray(columns[unit // 2]).view(np.uint32)[unit % 2 :: 2]
        return rows.reshape(-1)

    def columns_of(self, rows: np.ndarray) -> list[np.ndarray]:
        """A column per word from rows."""
        columns = np.zeros((self.layout.words, 2 * self._count(rows)), np.uint32)
        for unit in range(self.units):
            columns[unit // 2, unit % 2 :: 2] = rows[unit :: self.units]
        return list(columns.view(np.uint64))

    def state(self, rows: np.ndarray, row: int) -> Any:
        """The plain state that a row holds."""
        return self.layout.unpack(
            [int(column[0]) for column in self.columns_of(rows[row * self.units : (row + 1) * self.units])]
        )

    def _count(self, rows: np.ndarray) -> int:
        return len(rows) // self.units

    def orbits(self, rows: np.ndarray) -> np.ndarray:
        """How many states each row stands for."""
        orbits = np.ones(self._count(rows), np.int64)
        if not len(self.search.symmetry.images):
            return orbits
        self.search.code.orbits_of(rows, len(orbits), self.search.symmetry, orbits, self._words, self._room, self.units)
        return orbits

    def owned(self, rows: np.ndarray, owner: int, owners: int) -> np.ndarray:
        """The rows that belong to one owner."""
        kept = rows.copy()
        return kept[
            : self.units * self.search.code.keep_owned(kept, self._count(rows), owner, owners, self._words, self.units)
        ]

    # Expanding

    def expand(self, rows: np.ndarray, owners: int) -> Iterator[tuple[int, np.ndarray]]:
        """The successors of rows as records, by owner; equal ones mostly once. What was counted waits in
        `take_counts`.
        """
        engine, work = self.search, self._work
        self.use(FlatRows(rows), self._count(rows))
        if len(rows):
            engine.remember_first()
        self._make_room()
        self._at_rest = np.full(1, -1, np.int64)
        first = taken = 0
        while True:
            status, taken = self.search.code.successors(
                rows, first, self._count(rows), self._gathered(), taken, engine.machine(), work, self.units
            )
            first = int(work.counts[arrays.FIRST])
            if status in (MISSED, MISSED_STEPS):
                self._learn_what_was_missed(engine.actions if status == MISSED else engine.steps)
            else:
                yield from self._sorted_by_owner(taken, owners)
                if status == DONE:
                    return
                taken = 0
                self._table[:] = 0

    def steps(
        self, sources: np.ndarray, relied_on: np.ndarray, notes: np.ndarray, owners: int
    ) -> Iterator[tuple[int, np.ndarray]]:
        """The steps of the rows in use that change something, as records by the owner of where they lead; without
        owners, they are noted only.

        Args:
            sources: by row, whether to list its steps.
            relied_on: by property and action, whether the property relies on it.
            notes: by property and row, 0; gets what is seen of the steps that are relied on.
        """
        engine, work, taken, first = self.search, self._work, 0, 0
        self._make_room()
        room = len(self._parents) if owners else 0
        noted = arrays.Noted(sources, relied_on, notes)
        while True:
            span, found = arrays.Span(first, engine.store.count, 0, 0), self._gathered(room)
            status, taken = self.search.code.list_steps(
                engine.store.rows, span, noted, found, taken, engine.machine(), work, self.units
            )
            first = int(work.counts[arrays.FIRST])
            if status == MISSED:
                self._learn_what_was_missed(engine.actions)
            else:
                yield from self._sorted_by_owner(taken, owners)
                if status == DONE:
                    return
                taken = 0

    def _learn_what_was_missed(self, program: Program) -> None:
        """Grow the trees, of which a kernel has missed a branch.

        Raises:
            Contradiction: nothing was missing there, so that the kernel would miss it again for ever.
        """
        engine, known = self.search, self.search.paths
        misses = self._work.misses[: self._work.counts[arrays.MISSES]]
        if program is engine.steps:
            engine.learn_steps(misses)
        else:
            engine.learn(program, misses)
        if engine.paths == known:
            instance = program.instances[int(misses[-1][-1])]
            raise Contradiction(f"machine code does not find a branch of {instance} that the trees have")

    def _sorted_by_owner(self, taken: int, owners: int) -> Iterator[tuple[int, np.ndarray]]:
        width = self.record_width
        starts, records = np.zeros(owners + 1, np.int64), np.empty(taken * width, np.uint32)
        places = np.empty(taken, np.int32)
        self.search.code.route(self._gathered(), taken, places, starts, records, self._words, self.units)
        for owner in range(owners):
            if starts[owner] < starts[owner + 1]:
                yield owner, records[starts[owner] * width : starts[owner + 1] * width]

    def use(self, rows: FlatRows | FoldedRows, count: int, level_ends: Sequence[int] | None = None) -> None:
        """Make so many rows those of the engine, for misses and filters; all of one level, or of those that end
        there.
        """
        self.search.store.use(rows, count, level_ends)
        self.search.renew_filters()

    def chosen(self, numbers: np.ndarray) -> np.ndarray:
        """Those of the rows in use that have some numbers."""
        return self.search.store.chosen(numbers).reshape(-1)

    def _gathered(self, room: int | None = None) -> arrays.Gathered:
        """Room for successors; for so many if it is said."""
        parents, actions = self._parents[:room], self._actions[:room]
        return arrays.Gathered(FlatRows(self._made), parents, actions, self._table, self._at_rest)

    def _make_room(self) -> None:
        """Room for some successors per row, which is kept for the next part; for all of one batch at least."""
        count = min(MOST_SUCCESSORS, max(FEWEST_SUCCESSORS, 4 * self.search.store.count))
        count = max(count, len(self._work.hit_state))
        if len(self._parents) < count:
            self._made = reserve((count * self.units,), np.uint32)
            self._parents, self._actions = reserve((2, count), np.uint32)
            self._table = reserve((2 * count,), np.uint32)
        else:
            self._table[:] = 0

    def take_counts(self) -> tuple[Counts, int]:
        """What was counted since the last time, and the first row at rest of the last part or -1."""
        work, totals = self._work, self._work.counts
        counts = Counts(
            self.search.generated,
            int(totals[arrays.AT_REST]),
            int(totals[arrays.STOPPED_AT_BOUND]),
            tuple(work.enabled[: len(self.system.actions)].tolist()),
            self.search.cut_steps(),
        )
        for array in (totals, work.enabled, work.steps):
            array[:] = 0
        return counts, int(self._at_rest[0])

    def broken(self, rows: np.ndarray, known: Container[str]) -> dict[str, int]:
        """After expanding rows, the first with a step that violates each step property, by name; without those known to
        be violated.
        """
        engine, work, found = self.search, self._work, {}
        broken = zip(self.system.step_properties, work.broken.tolist(), strict=True)
        for name in sorted({each.of.name for each, is_broken in broken if is_broken and each.of.name not in known}):
            wanted = np.array([each.of.name == name for each in self.system.step_properties])
            trees, steps = engine.trees(engine.actions), engine.trees(engine.steps)
            found[name] = int(
                self.search.code.first_breaking(
                    rows, self._count(rows), wanted, trees, steps, engine.effect_arrays(), work, self.units
                )
            )
        work.broken[:] = 0
        return found

    # Checking

    def violated(self, rows: np.ndarray, known: Container[str]) -> dict[str, int]:
        """The first of the rows that violates each property, by name; without properties that are known to
        be violated.
        """
        invariants = self.search.system.invariants
        if all(instance.of.name in known for instance in invariants) or not len(rows):
            return {}
        self.use(FlatRows(rows), self._count(rows))
        found = self.search.count_violations(
            self.search.invariants,
            mask_of(instance.of.name not in known for instance in invariants),
            0,
            self._count(rows),
        )
        names = {instance.of.name for instance, count in zip(invariants, found.tolist(), strict=True) if count}
        return {name: self._first_violating(rows, name) for name in sorted(names)}

    def _first_violating(self, rows: np.ndarray, name: str) -> int:
        wanted = mask_of(instance.of.name == name for instance in self.system.invariants)
        trees = self.search.trees(self.search.invariants)
        return int(self.search.code.first_violating(rows, self._count(rows), wanted, trees, self._words, self.units))
