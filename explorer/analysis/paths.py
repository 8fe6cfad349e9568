"""What to execute: runs from an initial state that together take every reachable path of every mapped action.

A path is one way through an action's decision tree that ends in a step: the same fields read, with the same values.
Actions of brokers that may be exchanged share one tree. Every path was learned on a reachable state; shortest traces to
those states form a tree, each of whose branches is executed once, and each run goes on as long as it meets paths that
are not taken yet.
"""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from highwater.explorer.compiler.permutations import Image, renamed
from highwater.explorer.kernels.arrays import Span
from highwater.explorer.search.levels.breadth_first import reach
from highwater.explorer.system import Cut, System
from highwater.explorer.verdict import Budget

LONGEST_EXTENSION = 40
STATES_KEPT = 50_000
REFUSED_SHARE = 0.25  # of steps that happen: a fifth of all steps

Words = tuple[int, ...]


@attrs.frozen
class Move:
    """One step to execute.

    Attributes:
        number: of the action's instance in the system.
        before, after: the packed states around it; they are the same where the model refuses the step, and it is tried
            all the same.
        path: the path that it takes, as `Program.leaf` names it; -1 if it is refused.
    """

    number: int
    before: Words
    after: Words
    path: int

    @property
    def refused(self) -> bool:
        return self.path < 0


@attrs.frozen
class Run:
    """Steps from an initial state on."""

    start: Words
    moves: tuple[Move, ...]


@attrs.frozen
class _Way:
    """Steps from an initial state to where paths were learned.

    Attributes:
        start: the initial state.
        so_far: the steps.
        end: where they end.
        row: the stored row of it.
    """

    start: Words
    so_far: tuple[Move, ...]
    end: Words
    row: int


class Paths:
    """The paths of a system, and runs that take them.

    Attributes:
        engine: all reachable states and all trees.
        reachable: by path of a mapped action, the action's name.
        mapped: the numbers of mapped actions.
        unseen: why not every reachable state was seen; empty if each was.
    """

    def __init__(
        self,
        system: System,
        mapped: Collection[str],
        refusable: Collection[str],
        budget: Budget,
        seed: int = 0,
        workers: int | None = None,
    ) -> None:
        """
        Args:
            workers: threads; with one, equal systems have equal shortest runs.
        """
        self.system = attrs.evolve(system, invariants=(), step_properties=(), prospects=(), liveness=())
        self.engine, outcome = reach(self.system, budget, workers)
        self.unseen = outcome.reason
        self.program = self.engine.actions
        self.mapped = {number for number, each in enumerate(system.actions) if each.of.name in mapped}
        self._refusable = [number for number, each in enumerate(system.actions) if each.of.name in refusable]
        self._states: dict[Words, tuple[list[Move], list[int]]] = {}
        self._random = random.Random(seed)
        numbers = {renamed(instance, {}): number for number, instance in enumerate(system.actions)}
        self._images = [
            (
                Image.under(permutation, self.engine.layout),
                [numbers[renamed(instance, permutation)] for instance in system.actions],
            )
            for permutation in self.engine.permutations[1:]
        ]
        self.reachable: dict[int, str] = {}
        self._rows: dict[int, int] = {}
        for number, words in list(self.program.examples):
            result = self.program.evaluate(number, words) if number in self.mapped else None
            if result is None or isinstance(result, Cut):
                continue
            leaf = self.path(number, words)
            if leaf not in self.reachable:
                self.reachable[leaf] = system.actions[number].of.name
                self._rows[leaf] = self.engine.store.find(words)

    def runs(self) -> Iterator[Run]:
        """Runs that take every path at least once; those that share a beginning follow each other."""
        taken: set[int] = set()
        for words in self._starts():
            for way in sorted(self._ways(words, taken), key=lambda way: -len(way.so_far)):
                for move in self._last_moves(way):
                    if move.path not in taken:
                        yield self._extended(way.start, (*way.so_far, move), taken)

    def shortest(self) -> dict[int, Run]:
        """For every path, in the order of their lengths, a shortest run that ends by it."""
        found: dict[int, Run] = {}
        for words in self._starts():
            for way in self._ways(words, ()):
                for move in self._last_moves(way):
                    found.setdefault(move.path, Run(way.start, (*way.so_far, move)))
        return dict(sorted(found.items(), key=lambda each: len(each[1].moves)))

    def runs_to(self, ends: Collection[tuple[int, Words]]) -> Iterator[Run]:
        """For each step, by the number of its action and its state, a shortest run that ends by it, or that tries it
        where it is refused; for those whose states are reached, in the order of their lengths.
        """
        wanted: dict[int, list[int]] = defaultdict(list)
        for number, words in ends:
            row = self._row(words)
            if row >= 0:
                wanted[row].append(self._standing_for(number, words, self.engine.store.words(row)))
        children, found = self._tree_to(wanted), []
        for start in self._starts():
            for way in self._ways_along(start, (), children, wanted):
                for number in dict.fromkeys(wanted[way.row]):
                    after = self.program.evaluate(number, way.end)
                    taken = isinstance(after, tuple)
                    path = self.path(number, way.end) if taken else -1
                    move = Move(number, way.end, after if taken else way.end, path)
                    if taken or (after is None and number in self._refusable):
                        found.append(Run(way.start, (*way.so_far, move)))
        yield from sorted(found, key=lambda run: len(run.moves))

    def _standing_for(self, number: int, words: Words, representative: Words) -> int:
        """The number of the step, from the state that stands for a state, that stands for a step from that state."""
        if tuple(words) == representative:
            return number
        return next(t[number] for image, t in self._images if tuple(image.of_state(words)) == representative)

    def _starts(self) -> Iterator[Words]:
        return (tuple(self.engine.layout.pack(state)) for state in self.system.initial)

    def _ways(self, start: Words, taken: Collection[int]) -> Iterator[_Way]:
        """Shortest ways from an initial state to where paths were learned, those to deeper rows first: their runs may
        take what is wanted here.
        """
        return self._ways_along(start, taken, self._tree, self._targets)

    def _ways_along(
        self, start: Words, taken: Collection[int], children: Mapping[int, Sequence[int]], targets: Collection[int]
    ) -> Iterator[_Way]:
        """Shortest ways from an initial state to some rows along a tree of rows."""
        stack: list[tuple[Words, tuple[Move, ...]]] = [(start, ())]
        pending: list[tuple[Words, tuple[Move, ...], int]] = []
        while stack:
            words, so_far = stack.pop()
            row = self._row(words)
            wanted = set(children.get(row, ()))
            moves = self.steps(words) if wanted else []
            for child in sorted(wanted):
                into = [move for move in moves if self._row(move.after) == child]
                move = next((each for each in into if each.path not in taken), into[0])
                stack.append((move.after, (*so_far, move)))
            if row in targets:
                pending.append((words, so_far, row))
        for words, so_far, row in pending:
            learned_at = self.engine.store.words(row)
            first = start
            if words != learned_at:
                first, so_far = self._renamed(start, so_far, learned_at)
            yield _Way(first, so_far, learned_at, row)

    def _last_moves(self, way: _Way) -> Iterator[Move]:
        """The moves from the end of a way that take a path which was learned there."""
        return (move for move in self.steps(way.end) if move.path in self._targets[way.row])

    def _extended(self, start: Words, moves: tuple[Move, ...], taken: set[int]) -> Run:
        """A run that goes on while it meets mapped paths that are not taken yet."""
        found = list(moves)
        taken.update(move.path for move in moves)
        for _ in range(LONGEST_EXTENSION):
            fresh = [
                move for move in self.steps(found[-1].after) if move.path in self.reachable and move.path not in taken
            ]
            if not fresh:
                break
            move = fresh[0]
            taken.add(move.path)
            found.append(move)
        return Run(start, tuple(self._with_refused(found)))

    def walks(self, count: int, depth: int, taken: Collection[int]) -> Iterator[Run]:
        """Random walks that prefer paths that were not taken yet."""
        known = set(taken)
        starts = list(self._starts())
        for _ in range(count):
            start = words = self._random.choice(starts)
            found: list[Move] = []
            while len(found) < depth and (moves := self.steps(words)):
                fresh = [move for move in moves if move.path in self.reachable and move.path not in known]
                move = self._random.choice(fresh or moves)
                known.add(move.path)
                found.append(move)
                words = move.after
            yield Run(start, tuple(self._with_refused(found)))

    def steps(self, words: Words) -> list[Move]:
        """All steps of a state that stay within the bounds."""
        return self._known(words)[0]

    def after(self, number: int, state: Any) -> Any:
        """What an action makes of a state: the next one, None, or that it is out of bounds."""
        result = self.program.evaluate(number, tuple(self.engine.layout.pack(state)))
        return self.engine.layout.unpack(result) if isinstance(result, tuple) else result

    def _known(self, words: Words) -> tuple[list[Move], list[int]]:
        """The steps of a state, and the refusable actions that the model refuses there. Runs meet the same states again
        and again.
        """
        if words not in self._states:
            if len(self._states) >= STATES_KEPT:
                self._states.clear()
            results = [self.program.evaluate(number, words) for number in range(len(self.system.actions))]
            steps = [
                Move(number, words, after, self.path(number, words))
                for number, after in enumerate(results)
                if isinstance(after, tuple)
            ]
            self._states[words] = steps, [number for number in self._refusable if results[number] is None]
        return self._states[words]

    def _renamed(self, words: Words, moves: tuple[Move, ...], wanted: Words) -> tuple[Words, tuple[Move, ...]]:
        """A start and steps from it, with brokers exchanged so that they end in the wanted state."""
        for image, targets in self._images:
            if tuple(image.of_state(moves[-1].after)) == wanted:
                renamed = (
                    (targets[m.number], tuple(image.of_state(m.before)), tuple(image.of_state(m.after))) for m in moves
                )
                found = tuple(
                    Move(number, before, after, self.path(number, before)) for number, before, after in renamed
                )
                return tuple(image.of_state(words)), found
        raise AssertionError("unreachable: the wanted state stands for the one where the steps end")

    def path(self, number: int, words: Words) -> int:
        """The path that a step takes."""
        self.program.learn(number, words)
        return self.program.leaf(number, words)

    def path_of_all(self, number: int, words: Words) -> int:
        """One path for a step and for all that differ from it by an exchange of names: the path of one of these."""
        renamed = ((targets[number], tuple(image.of_state(words))) for image, targets in self._images)
        return min(self.path(each, there) for each, there in ((number, words), *renamed))

    def _with_refused(self, moves: Sequence[Move]) -> Iterator[Move]:
        for move in moves:
            if self._random.random() < REFUSED_SHARE:
                refused = self._known(move.before)[1]
                if refused:
                    yield Move(self._random.choice(refused), move.before, move.before, -1)
            yield move

    def _row(self, words: Words) -> int:
        return self.engine.row_of(self.engine.layout.unpack(words))

    @functools.cached_property
    def _targets(self) -> dict[int, set[int]]:
        """By row, the paths that were learned there."""
        targets: dict[int, set[int]] = defaultdict(set)
        for leaf, row in self._rows.items():
            targets[row].add(leaf)
        return targets

    @functools.cached_property
    def _tree(self) -> dict[int, list[int]]:
        """Shortest traces to the rows where paths were learned."""
        return self._tree_to(self._rows.values())

    def _tree_to(self, rows: Collection[int]) -> dict[int, list[int]]:
        """Shortest traces to some rows, as a tree: by row, the rows that follow it."""
        engine, ends = self.engine, self.engine.store.level_ends
        marks, parents = np.zeros(ends[-1], np.uint8), np.full(ends[-1], -1, np.int64)
        marks[list(rows)] = 1
        for level in range(len(ends) - 3, -1, -1):
            begin, end, next_end = ends[level : level + 3]
            for among in (1, 0):
                span = Span(begin, end, end, next_end)
                while missed := engine.code.note_parents(
                    engine.store.visited, span, marks, among, parents, engine.machine(), engine.works[0],
                    engine.store.units,
                ):  # fmt: skip
                    engine.learn(engine.actions, engine.works[0].misses[:missed])
            found = parents[end:next_end][marks[end:next_end] == 1]
            marks[found[found >= 0]] = 1
        children: dict[int, list[int]] = defaultdict(list)
        for row in np.flatnonzero((parents >= 0) & (marks == 1)).tolist():
            children[int(parents[row])].append(row)
        return children
