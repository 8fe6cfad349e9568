"""Where one system steps otherwise than another over the same states: runs of the one that show it.

A run that both systems take says nothing about what tells them apart. So a run counts only if one of its steps is taken
otherwise, or by one system only.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from highwater.explorer.analysis.paths import Move, Paths, Run, Words
from highwater.explorer.compiler.permutations import renamed
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.settings import Noting
from highwater.explorer.encoding import NOTHING
from highwater.explorer.search.levels.difference import field_of, words_of
from highwater.explorer.system import Cut

REFUSED = -1  # in place of a path, or of where it ends


class Differing:
    """Steps of one system, `theirs`, beside those of another, `ours`."""

    def __init__(self, ours: Paths, theirs: Paths, fields: Collection[str] | None = None) -> None:
        """
        Args:
            fields: those of a state that count; all of them if None.
        """
        self._ours, self._theirs, self._fields = ours, theirs, fields
        numbers = {renamed(instance, {}): number for number, instance in enumerate(ours.system.actions)}
        named = [(number, numbers.get(renamed(each, {}))) for number, each in enumerate(theirs.system.actions)]
        self._known = {number: other for number, other in named if other is not None}
        self._back = {other: number for number, other in self._known.items()}
        self._differs: dict[tuple[int, Words], bool] = {}
        self._cuts_more = False  # whether bounds cut a step of the one system that the other takes

    def runs(self) -> Iterator[Run]:
        """Runs of the one system with steps that the other takes otherwise or not at all: first those that end by such
        a step, shortest first, then whatever else takes its paths. They try steps that the one system refuses and the
        other, after the same steps, takes. There are none if there are no targets.
        """
        tried = set[int]()
        yield from self._theirs.runs_to(self.targets)
        for run in self._theirs.runs() if self.targets else ():
            found = self._telling(run, tried)
            if found is not None:
                yield found

    def _telling(self, run: Run, tried: set[int]) -> Run | None:
        """A run with the steps to try, or None if the other system takes all of it and no more."""
        ours, theirs = self._ours.engine.layout, self._theirs.engine.layout
        mine: Any = ours.pack(theirs.unpack(run.start))
        moves, tells = list[Move](), False
        for move in (each for each in run.moves if not each.refused):
            refused = self._refused(move.before, mine, tried)
            mine = self._after(move.number, mine)
            goes_on = isinstance(mine, tuple)
            alike = goes_on and self._compared(ours.unpack(mine)) == self._compared(theirs.unpack(move.after))
            mine = mine if goes_on else None
            tells |= bool(refused) or not alike
            moves += [*refused, move]
        last = self._refused(moves[-1].after, mine, tried) if moves else []
        return Run(run.start, (*moves, *last)) if tells or last else None

    def _refused(self, words: Words, mine: Words | None, tried: set[int]) -> list[Move]:
        """Steps that the one system refuses in a state, and the other takes in its own; each path of the other once."""
        found = []
        for move in self._ours.steps(tuple(mine)) if mine is not None else ():
            number = self._back.get(move.number, -1)
            known = number not in self._theirs.mapped or move.path in tried
            if not known and self._theirs.program.evaluate(number, words) is None:
                tried.add(move.path)
                found.append(Move(number, words, words, -1))
        return found

    def _after(self, number: int, mine: Words | None) -> Any:
        """What the other system makes of its own state by a step of the one."""
        other = self._known.get(number)
        return None if other is None or mine is None else self._ours.program.evaluate(other, tuple(mine))

    @functools.cached_property
    def targets(self) -> list[tuple[int, Words]]:
        """Mapped steps that differ, by number and state: for each two paths that steps take in the systems, or one
        where a system refuses them, the first of all states of the one system in which that makes another step.

        Where the systems have different domains: of all states in which one of the two took a path first, those where
        the step differs.
        """
        if not self._alike:
            return [each for each in dict.fromkeys(self._examples()) if self.differs(*each)]
        engine, found = self._theirs.engine, dict[tuple[int, int], tuple[int, int]]()
        states = words_of(engine.layout, engine.store.cells(0, engine.store.count))
        for number in sorted(self._theirs.mapped):
            for row, paths in self._parting(number, states):
                found[paths] = min(found.get(paths, (row, number)), (row, number))
        return [(number, tuple(states[row].tolist())) for row, number in sorted(found.values())]

    @property
    def is_nowhere(self) -> bool:
        """Whether no mapped step differs in any state of the one system, and the other system takes none that the one
        lacks, or that bounds cut there; False if that is not known.
        """
        ours = self._ours.program
        gone = (each for each in ours.examples if each[0] in self._ours.mapped and each[0] not in self._back)
        knows_all = self._alike and not self._theirs.unseen
        if not knows_all or self.targets or self._cuts_more:  # targets first: they tell what is cut
            return False
        return not any(isinstance(ours.evaluate(*each), tuple) for each in gone)

    @property
    def _alike(self) -> bool:
        """Whether a state is packed alike in both systems."""
        return bool(self._ours.engine.layout.domain == self._theirs.engine.layout.domain)

    def _examples(self) -> Iterator[tuple[int, Words]]:
        """Mapped steps, by number and state, of all states in which one of the two systems took a path first."""
        mapped, back = self._theirs.mapped, self._back
        yield from (each for each in self._theirs.program.examples if each[0] in mapped)
        learned = list(self._ours.program.examples)
        yield from ((back[number], words) for number, words in learned if back.get(number) in mapped)

    def _parting(self, number: int, states: np.ndarray) -> Iterator[tuple[int, tuple[int, int]]]:
        """For each two paths of a step, or one where a system refuses it, the first state in which it is another step;
        and the paths, `REFUSED` for none.
        """
        theirs, ours, other = self._theirs.program, self._ours.program, self._known.get(number)
        there = _ends(theirs, number, states)
        here = np.full_like(there, REFUSED) if other is None else _ends(ours, other, states)
        rows = np.flatnonzero(np.maximum(there, here) != REFUSED)
        rows = rows[np.lexsort((here[rows], there[rows]))]
        for alike in np.split(rows, np.flatnonzero(np.diff(there[rows]) | np.diff(here[rows])) + 1):
            if not len(alike):
                continue
            columns = list(states[alike].T)
            after, otherwise = _meant(theirs, there[alike[0]], columns), _meant(ours, here[alike[0]], columns)
            if isinstance(after, Cut):
                self._cuts_more |= isinstance(otherwise, tuple)
                continue  # no step within the bounds
            if isinstance(after, tuple) and isinstance(otherwise, tuple):
                alike = alike[self._apart(after, otherwise)]
            if len(alike):
                words = tuple(states[alike[0]].tolist())
                path = REFUSED if after is None else theirs.leaf(number, words)
                other_path = REFUSED if other is None or otherwise is None else ours.leaf(other, words)
                yield int(alike[0]), (path, other_path)

    def _apart(self, some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> np.ndarray:
        """Which of some packed states, an array for each word, differ from others in what counts."""
        apart = [(one ^ other) & mask for one, other, mask in zip(some, others, self._masks, strict=True)]
        return np.asarray(np.bitwise_or.reduce(apart) != 0)

    @functools.cached_property
    def _masks(self) -> list[int]:
        """By word of a packed state, the bits that count."""
        layout = self._theirs.engine.layout
        masks = [0] * layout.words
        for leaf in layout.root.leaves():
            if self._fields is None or field_of(leaf.path).partition(".")[0] in self._fields:
                masks[leaf.word] |= leaf.mask << leaf.shift
        return masks

    def _compared(self, state: Any) -> Any:
        """What counts of a state, or of what a step came to instead of one."""
        is_state = isinstance(state, self._theirs.system.domain.cls)
        return state if self._fields is None or not is_state else [getattr(state, name) for name in self._fields]

    def differs(self, number: int, words: Words) -> bool:
        """Whether a step of the one system is another one in the other system."""
        key = number, tuple(words)
        if key not in self._differs:
            other, state = self._known.get(number), self._theirs.engine.layout.unpack(words)
            here = self._compared(self._theirs.after(number, state))
            self._differs[key] = other is None or here != self._compared(self._ours.after(other, state))
        return self._differs[key]


def _ends(program: Program, number: int, states: np.ndarray) -> np.ndarray:
    """By state the position of the branch where a step's path ends; `REFUSED` where it is not enabled."""
    ends = program.ends(number, states)
    ends[program.branches.array[ends] == NOTHING] = REFUSED
    return ends


def _meant(program: Program, end: int, columns: Sequence[np.ndarray]) -> Any:
    """What a step's path that ends at a branch makes of packed states, an array for each word; None or a `Cut` of
    all.
    """
    return None if end == REFUSED else program.meant(int(program.branches.array[end]), columns)


def settings_read(paths: Paths, settings: Any) -> frozenset[str]:
    """The fields of an object, such as a protocol, that paths of any action read of it; all of them where they may know
    it as a whole. Under another value of any other field every path is the same.
    """
    read, layout = set[str](), paths.engine.layout
    with Noting({"": settings}, read.add):
        for number, words in list(paths.program.examples):
            paths.system.actions[number].apply(layout.unpack(words))
    fields = frozenset(field.name for field in attrs.fields(type(settings)))
    return fields if "" in read else frozenset(each.removeprefix(".") for each in read)
