"""What to execute: runs from an initial state that together take every reachable path of every mapped action.

A path is one way through an action's decision tree that ends in a step: the same fields read, with the same values.
Actions of brokers that may be exchanged share one tree. Every path was learned on a reachable state; shortest traces to
those states form a tree, each of whose branches is executed once, and each run goes on as long as it meets paths that
are not taken yet.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import attrs
import numpy as np

from explorer.compiler.permutations import Image, renamed
from explorer.kernels import entry_points
from explorer.search.breadth_first import reach
from explorer.search.engine import Engine
from explorer.system import Cut, System
from explorer.verdict import Budget

LONGEST_EXTENSION = 40
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


class Paths:
    """The paths of a system, and runs that take them.

    Attributes:
        engine: all reachable states and all trees.
        reachable: by path of a mapped action, the action's name.
        complete: whether every reachable state was seen.
    """

    def __init__(
        self, system: System, mapped: Collection[str], refusable: Collection[str], budget: Budget, seed: int = 0
    ) -> None:
        self.system = attrs.evolve(system, invariants=(), step_properties=(), prospects=())
        self.engine: Engine = reach(self.system, budget)
        self.program = self.engine.actions
        self.complete = budget.max_states is None or self.engine.store.count < budget.max_states
        self._mapped = {number for number, each in enumerate(system.actions) if each.of.name in mapped}
        self._refusable = {number for number, each in enumerate(system.actions) if each.of.name in refusable}
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
            result = self.program.evaluate(number, words) if number in self._mapped else None
            if result is None or isinstance(result, Cut):
                continue
            leaf = self._path(number, words)
            if leaf not in self.reachable:
                self.reachable[leaf] = system.actions[number].of.name
                self._rows[leaf] = self.engine.store.find(words)

    def runs(self) -> Iterator[Run]:
        """Runs that take every path at least once; those that share a beginning follow each other."""
        children = self._tree()
        taken: set[int] = set()
        targets: dict[int, set[int]] = defaultdict(set)
        for leaf, row in self._rows.items():
            targets[row].add(leaf)
        for state in self.system.initial:
            words = tuple(self.engine.layout.pack(state))
            yield from self._below(words, (), children, targets, taken, words)

    def _below(
        self,
        start: Words,
        so_far: tuple[Move, ...],
        children: dict[int, list[int]],
        targets: dict[int, set[int]],
        taken: set[int],
        words: Words,
    ) -> Iterator[Run]:
        """The runs through one node of the tree. Deeper nodes come first: their runs may take what is wanted here."""
        stack = [(words, so_far)]
        pending: list[tuple[Words, tuple[Move, ...], int]] = []
        while stack:
            words, so_far = stack.pop()
            row = self._row(words)
            wanted = set(children.get(row, ()))
            moves = self.steps(words) if wanted or targets.get(row) else []
            for child in sorted(wanted):
                into = [move for move in moves if self._row(move.after) == child]
                move = next((each for each in into if each.path not in taken), into[0])
                stack.append((move.after, (*so_far, move)))
            if targets.get(row):
                pending.append((words, so_far, row))
        for words, so_far, row in sorted(pending, key=lambda each: -len(each[1])):
            first, learned_at = start, self.engine.store.words(row)
            if words != learned_at:
                first, so_far = self._renamed(start, so_far, learned_at)
                words = learned_at
            for move in self.steps(words):
                if move.path in targets[row] and move.path not in taken:
                    yield self._extended(first, (*so_far, move), taken)

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
        for _ in range(count):
            start = words = tuple(self.engine.layout.pack(self._random.choice(self.system.initial)))
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
        found = []
        for number in range(len(self.system.actions)):
            after = self.program.evaluate(number, words)
            if isinstance(after, tuple):
                found.append(Move(number, words, after, self._path(number, words)))
        return found

    def _renamed(self, words: Words, moves: tuple[Move, ...], wanted: Words) -> tuple[Words, tuple[Move, ...]]:
        """A start and steps from it, with brokers exchanged so that they end in the wanted state."""
        for image, targets in self._images:
            if tuple(image.of_state(moves[-1].after)) == wanted:
                renamed = (
                    (targets[m.number], tuple(image.of_state(m.before)), tuple(image.of_state(m.after))) for m in moves
                )
                found = tuple(
                    Move(number, before, after, self._path(number, before)) for number, before, after in renamed
                )
                return tuple(image.of_state(words)), found
        raise AssertionError("unreachable: the wanted state stands for the one where the steps end")

    def _path(self, number: int, words: Words) -> int:
        self.program.learn(number, words)
        return self.program.leaf(number, words)

    def _with_refused(self, moves: Sequence[Move]) -> Iterator[Move]:
        for move in moves:
            if self._random.random() < REFUSED_SHARE:
                refused = [number for number in self._refusable if self.program.evaluate(number, move.before) is None]
                if refused:
                    yield Move(self._random.choice(sorted(refused)), move.before, move.before, -1)
            yield move

    def _row(self, words: Words) -> int:
        return self.engine.store.find(self.engine.representative(self.engine.layout.unpack(words)))

    def _tree(self) -> dict[int, list[int]]:
        """Shortest traces to the rows where paths were learned, as a tree: by row, the rows that follow it."""
        engine, ends = self.engine, self.engine.store.level_ends
        marks, parents = np.zeros(ends[-1], np.uint8), np.full(ends[-1], -1, np.int64)
        marks[list(self._rows.values())] = 1
        for level in range(len(ends) - 3, -1, -1):
            begin, end, next_end = ends[level : level + 3]
            for among in (1, 0):
                while missed := entry_points.note_parents(
                    engine.store.rows, engine.store.table, begin, end, next_end, marks, among, parents,
                    engine.trees(engine.actions), engine.effect_arrays(), engine.symmetry, engine.works[0],
                    engine.store.units,
                ):  # fmt: skip
                    engine.learn(engine.actions, engine.works[0].misses[:missed])
            found = parents[end:next_end][marks[end:next_end] == 1]
            marks[found[found >= 0]] = 1
        children: dict[int, list[int]] = defaultdict(list)
        for row in np.flatnonzero((parents >= 0) & (marks == 1)).tolist():
            children[int(parents[row])].append(row)
        return children
