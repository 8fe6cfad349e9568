"""What stands in for machine code that is not compiled yet: passes over the same rows and trees in plain Python.

A search begins with these while compilers run beside it, and goes on in machine code from the state that it is at.
Rows, counts and trees are those of the search, so nothing is handed over but the visited set: it is a dictionary here,
and made of the rows then.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from highwater.explorer.compiler.decision_trees import end_of
from highwater.explorer.compiler.programs import Program
from highwater.explorer.encoding import FIRST_EFFECT, NOTHING
from highwater.explorer.kernels.arrays import AT_REST, CURSOR, FIRST, LAST, ROWS, STOP, STOPPED_AT_BOUND, FlatRows
from highwater.explorer.kernels.statuses import DONE, NOT_NEW, PAUSED, ROWS_FULL, TABLE_FULL
from highwater.explorer.search.engine.engine import Engine

ROWS_BEFORE_COMPILING = 1000
"""Rows that a process expands, in all of its searches, before compilers begin: what ends before compiles nothing."""
MOST_ROWS = 1 << 17
"""Rows that plain Python finds in a minute or two: where nothing is compiled until then, something is wrong."""

Words = tuple[int, ...]
Hit = tuple[int, int]
"""The number of an action instance that happens or is cut in a state, and of what it does there."""


class StandIns:
    """The kernels of one search in plain Python.

    Attributes:
        expanded: how many rows were expanded so far.
        expanded_before: how many rows were in earlier searches of this process.
    """

    expanded_before = 0

    def __init__(self, engine: Engine, until: int | None) -> None:
        """
        Args:
            until: how many rows to expand before machine code takes over; None is as many as it is compiled meanwhile.
        """
        self._engine, self._store, self._until = engine, engine.store, until
        self._rows: dict[Words, int] = {}
        self._representatives: dict[Words, Words] = {}
        self._others = [image.of_state for image in engine.images[1:]]
        self._moves = bool(self._others) or engine.system.ranks is not None
        self.expanded = 0
        engine.code.begin_with(
            {
                each.__name__: each
                for each in (
                    self.expand, self.check, self.mark_violating, self.mark_predecessors, self.mark_at_rest,
                    self.mark_breaking, self.mark_reaching, self.orbit_sizes, self.representative, self.find,
                    self.enter_rows,
                )
            },
            self._make_visited_set,
        )  # fmt: skip

    @property
    def serve(self) -> bool:
        """Whether they still do."""
        return bool(self._engine.code.stand_ins)

    @property
    def are_over(self) -> bool:
        """Whether machine code is to take over."""
        if self._until is not None:
            return self.expanded >= self._until
        return self._engine.code.is_compiled or self._store.is_folded or self._store.count > MOST_ROWS

    def give_way(self) -> None:
        """Let machine code take over if it is time to, and compilers begin if it is time for that."""
        if self.serve and self.are_over:
            self._engine.code.hand_over()
        elif self.serve and self._until is None and StandIns.expanded_before + self.expanded >= ROWS_BEFORE_COMPILING:
            self._engine.code.compile_beside()

    def end(self) -> None:
        """Remember, at the end of the search, how much was done."""
        StandIns.expanded_before += self.expanded

    def _make_visited_set(self) -> None:
        self._store.enter_all()

    # What is known

    def _known_rows(self) -> dict[Words, int]:
        for row in range(len(self._rows), self._store.count):
            self._rows[self._store.words(row)] = row
        return self._rows

    def _end(self, program: Program, number: int, words: Words) -> int:
        """Where the path of an instance ends in a state, which is learned if need be."""
        found = end_of(program.branches.cells, number, words)
        if found < FIRST_EFFECT and found != NOTHING:
            with self._engine.growing:
                program.learn(number, words)
            found = end_of(program.branches.cells, number, words)
        return found

    def _hits(self, words: Words) -> list[Hit]:
        """The action instances that happen in a state, or are cut, and what each does."""
        actions = self._engine.actions
        ends = ((number, self._end(actions, number, words)) for number in range(len(actions.instances)))
        return [(number, end - FIRST_EFFECT) for number, end in ends if end >= FIRST_EFFECT]

    # Representatives

    def _representative(self, words: Words) -> Words:
        if not self._moves:
            return words
        if words not in self._representatives:
            ranked = self._in_ranks(words)
            images = [ranked, *(tuple(image(ranked)) for image in self._others)]
            self._representatives[words] = min(images, key=lambda image: (self._keys(image), image))
        return self._representatives[words]

    def _keys(self, words: Words) -> tuple[int, ...]:
        """The keys of the names, in their order."""
        return tuple(sum(_gathered(words[at], mask) << place for at, mask, place in key) for key in self._pieces)

    @functools.cached_property
    def _pieces(self) -> list[list[tuple[int, int, int]]]:
        """By name, the pieces of its key: the word that each is in, its bits there, and its place in the key."""
        found = self._engine.symmetry
        places = found.key_places.tolist()
        names = zip(found.key_words.T.tolist(), found.key_masks.T.tolist(), strict=True)
        return [list(zip(words, masks, places, strict=True)) for words, masks in names]

    @functools.cached_property
    def _numbers(self) -> list[list[list[int]]]:
        """By group of which only the order matters, the leaves that hold its numbers, as kernels read them."""
        found = self._engine.symmetry
        ends = found.groups.tolist()
        numbers = found.numbers.tolist()
        return [numbers[begin:end] for begin, end in itertools.pairwise(ends)]

    def _live(self, group: int, words: Words) -> set[int]:
        """The ranks that the numbers of a group have in a state."""
        return {
            raw - first
            for word, shift, mask, first, holder, holder_shift, holder_mask, least in self._numbers[group]
            if (raw := words[word] >> shift & mask) >= first and words[holder] >> holder_shift & holder_mask >= least
        }

    def _in_ranks(self, words: Words) -> Words:
        made = list(words)
        for group, leaves in enumerate(self._numbers):
            live = self._live(group, words)
            for word, shift, mask, first, *_ in leaves:
                raw = words[word] >> shift & mask
                if raw > first:
                    rank = sum(each < raw - first for each in live)
                    made[word] ^= (raw ^ first + rank) << shift
        return tuple(made)

    def _orbit(self, words: Words) -> int:
        """How many states a representative stands for."""
        return (1 + len(self._others)) // (1 + sum(tuple(image(words)) == words for image in self._others))

    # The kernels, see those of their names

    def expand(self, visited: Any, shared: Any, limits: Any, machine: Any, work: Any, units: Any) -> int:
        counts = work.counts
        while True:
            if counts[FIRST] == counts[LAST]:
                over = shared is self._store.shared and self.are_over
                if shared[STOP] or over or shared[CURSOR] >= limits.pause_at:
                    return PAUSED
                if shared[CURSOR] >= limits.end:
                    return DONE
                counts[FIRST], counts[LAST] = shared[CURSOR], shared[CURSOR] + 1
                shared[CURSOR] += 1
            status = self._expand_row(int(counts[FIRST]), shared, limits, machine, work)
            if status != DONE:
                return status
            counts[FIRST] += 1

    def _expand_row(self, row: int, shared: Any, limits: Any, machine: Any, work: Any) -> int:
        """Expand one row; what happens, as `expand` returns it, and nothing is changed unless that is DONE or
        ROWS_FULL.
        """
        rows, words = self._known_rows(), self._store.words(row)
        hits = self._hits(words)
        happen = [hit for hit in hits if not machine.effects.cut[hit[1]]]
        broken = {number for _, effect in happen for number in self._broken(words, effect)}
        for number, effect in hits:
            if not self._is_new(machine, words, effect):
                work.misses[0, 0], work.misses[0, 1] = row, number
                return NOT_NEW
        if shared[ROWS] + len(hits) > limits.entries:
            return TABLE_FULL
        work.orbits[0] = self._orbit(words)
        self._count(hits, machine, work, int(work.orbits[0]))
        for number in broken:
            work.broken[number] = 1
        for place, (_, effect) in enumerate(happen):
            after = self._representative(self._engine.effects.after(effect, words))
            work.made[place] = after
            if after not in rows:
                if shared[ROWS] >= limits.capacity or shared is not self._store.shared:
                    return ROWS_FULL
                self._write(after)
        self.expanded += shared is self._store.shared
        return DONE

    def _broken(self, words: Words, effect: int) -> Iterator[int]:
        """The step properties that a step violates."""
        steps = self._engine.steps
        if not steps.instances:
            return
        pair = (*words, *self._engine.effects.after(effect, words))
        for number in range(len(steps.instances)):
            if self._end(steps, number, pair) >= FIRST_EFFECT:
                yield number

    def _is_new(self, machine: Any, words: Words, effect: int) -> bool:
        """Whether a step counts up from the greatest rank of its state, if it counts up."""
        for group, top in enumerate(machine.effects.tops[effect].tolist() if self._numbers else ()):
            live = self._live(group, words) if top else set()
            if top and (max(live, default=-1) >= top - 1 or (top > 1 and max(live, default=-1) < top - 2)):
                return False
        return True

    def _count(self, hits: Sequence[Hit], machine: Any, work: Any, orbit: int) -> None:
        happened = False
        for number, effect in hits:
            cut = machine.effects.cut[effect]
            work.steps[cut] += orbit
            if not cut:
                work.enabled[number] += orbit
                happened = True
        if not hits:
            work.counts[AT_REST] += orbit
        elif not happened:
            work.counts[STOPPED_AT_BOUND] += orbit

    def _write(self, words: Words) -> None:
        """Make a state the next row."""
        row, units = self._store.count, self._store.units
        cast("FlatRows", self._store.rows).flat[row * units : (row + 1) * units] = [
            words[unit >> 1] >> 32 * (unit & 1) & (1 << 32) - 1 for unit in range(units)
        ]
        self._rows[words] = row
        self._store.shared[ROWS] += 1

    def check(
        self, rows: Any, begin: int, end: int, wanted: Any, violations: Any, trees: Any, room: Any, units: Any
    ) -> int:
        missed, most, numbers = 0, len(room.misses), _bits_of(wanted)
        for row in range(begin, end):
            words = self._store.words(row)
            for number in numbers:
                found = end_of(trees.branches.data, number, words)
                if found >= FIRST_EFFECT:
                    violations[number] += 1
                elif found != NOTHING and missed < most:
                    room.misses[missed, 0], room.misses[missed, 1] = row, number
                    missed += 1
        return missed

    def mark_violating(
        self, rows: Any, begin: int, end: int, wanted: Any, marks: Any, trees: Any, room: Any, units: Any
    ) -> int:
        numbers, unknown = _bits_of(wanted), 0
        for row in range(begin, end):
            words = self._store.words(row)
            ends = [end_of(trees.branches.data, number, words) for number in numbers]
            violated = any(each >= FIRST_EFFECT for each in ends)
            unknown += not violated and any(each != NOTHING for each in ends)
            if violated:
                marks[row] = 1
        return unknown

    def _targets(self, row: int, machine: Any) -> Iterator[tuple[int, int]]:
        """The action instances that happen in a row, each with the row that stands for where it leads, or -1."""
        rows, words = self._known_rows(), self._store.words(row)
        for number, effect in self._hits(words):
            if not machine.effects.cut[effect]:
                yield number, rows.get(self._representative(self._engine.effects.after(effect, words)), -1)

    def mark_predecessors(
        self, visited: Any, span: Any, marks: Any, near: Any, machine: Any, work: Any, units: Any
    ) -> int:
        for row in range(span.begin, span.end):
            targets = [target for _, target in self._targets(row, machine)]
            if any(span.next_begin <= target < span.next_end and marks[target] for target in targets):
                marks[row] = 1
        return 0

    def mark_at_rest(self, rows: Any, begin: int, end: int, marks: Any, trees: Any, work: Any, units: Any) -> None:
        for row in range(begin, end):
            if not self._hits(self._store.words(row)):
                marks[row] = 1

    def mark_breaking(
        self, rows: Any, begin: int, end: int, wanted: Any, marks: Any, machine: Any, work: Any, units: Any
    ) -> int:
        for row in range(begin, end):
            words = self._store.words(row)
            happen = [effect for _, effect in self._hits(words) if not machine.effects.cut[effect]]
            if any(wanted[number] for effect in happen for number in self._broken(words, effect)):
                marks[row] = 1
        return 0

    def mark_reaching(self, visited: Any, end: int, marks: Any, along: Any, machine: Any, work: Any, units: Any) -> int:
        rows, marked = self._known_rows(), 0
        for row in range(end - 1, -1, -1):
            if marks[row]:
                continue
            words = self._store.words(row)
            for number, effect in self._hits(words):
                if along[number] and (
                    machine.effects.cut[effect]
                    or marks[rows[self._representative(self._engine.effects.after(effect, words))]]
                ):
                    marks[row] = 1
                    marked += 1
                    break
        return marked

    def orbit_sizes(self, rows: Any, begin: int, end: int, symmetry: Any, room: Any, units: Any) -> int:
        return sum(self._orbit(self._store.words(row)) for row in range(begin, end))

    def representative(self, room: Any, symmetry: Any, units: Any) -> None:
        room[0] = self._representative(tuple(room[0].tolist()))

    def find(self, rows: Any, table: Any, room: Any, numbers: Any, units: Any) -> int:
        return self._known_rows().get(tuple(room[0].tolist()), -1)

    def enter_rows(self, *arguments: Any) -> None:
        """The visited set is made when machine code takes over."""


def _gathered(word: int, mask: int) -> int:
    """The bits of a word that a mask chooses, side by side."""
    found = place = 0
    while mask:
        found |= bool(word & mask & -mask) << place
        place, mask = place + 1, mask & mask - 1
    return found


def _bits_of(wanted: np.ndarray) -> list[int]:
    """The numbers of the bits that are set in words."""
    return np.flatnonzero(np.unpackbits(wanted.view(np.uint8), bitorder="little")).tolist()
