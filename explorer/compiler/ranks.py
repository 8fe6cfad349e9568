"""Whether functions look at nothing but the order of numbers, tried on everything that is reached; and where those
numbers are in packed states. `explorer.ranks` says what for.

The trees are of classes, whose numbers are ranks. Each path that is learned is run on renamings of its state, too, in
which numbers lie apart. There a step must write the renamed numbers, a property must say the same. What these runs
read is recorded into the path, so that what holds for one of its states holds for all.

A step may also write a *new* number, such as the greatest plus 1: it lies above the renamed number of some rank, and
below that of the next, whatever the renaming. So it is new only in states whose greatest live number has that rank.
The path does not know all numbers of a state. So the effect names the rank, and a kernel looks at each state that the
step is taken in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import attrs

from explorer.classes import class_after, judge_class, refuse
from explorer.compiler.effects import FIRST_EFFECT
from explorer.compiler.layout import Layout, Leaf
from explorer.compiler.permutations import holders
from explorer.compiler.tracing import OutOfBounds, Recorder, Update
from explorer.ranks import MOST_RANKS, RENAMINGS, Ranks
from explorer.system import System
from model.language.declarations import Action
from model.language.domain import Maybe

ABSENT = object()
"""What a leaf holds that a step clears."""


@attrs.frozen
class Number:
    """A leaf that holds a number of a group.

    Attributes:
        group: the number of the group.
        first: what is packed for rank 0; what is below is a constant, or None.
        holder, least: the leaf that says whether the number is there, and the least that it holds then; None and 0 for
            one that always is.
    """

    leaf: Leaf
    group: int
    first: int
    holder: Leaf | None
    least: int


def numbers_in(layout: Layout, ranks: Ranks) -> list[Number]:
    """The leaves that hold numbers, group by group."""
    held = dict(holders(layout.root))
    groups = list(ranks.groups)
    found = []
    for leaf in layout.root.leaves():
        domain = leaf.domain.of if isinstance(leaf.domain, Maybe) else leaf.domain
        group = ranks.group_of(domain)
        if group is not None:
            holder, most = held.get(leaf, (None, -1))
            found.append(Number(leaf, groups.index(group.name), leaf.domain.encode(group.first), holder, most + 1))
    return sorted(found, key=lambda each: each.group)


@attrs.frozen
class New:
    """A number that a step writes, and that is none of the renamed numbers."""

    packed: int


class Renamings:
    """Runs the instances of a program on renamings of states."""

    def __init__(self, program: Any, wide: Any, system: System) -> None:
        """
        Args:
            program: the program of classes.
            wide: a program of the same instances over the layout of real states.
        """
        self._program, self._wide, self._system = program, wide, system
        ranks = system.ranks
        leaves, wide_leaves = program.layout.root.leaves(), wide.layout.root.leaves()
        self._narrow = dict(zip(wide_leaves, leaves, strict=True))
        self._wide_leaves = list(zip(leaves, wide_leaves, strict=True))
        self._numbers = {each.leaf: each for each in numbers_in(program.layout, ranks)}
        self._holders = dict(holders(program.layout.root))
        self._keys = frozenset().union(*(group.keys for group in ranks.groups.values()))
        self._ranks_of = [{renaming(rank): rank for rank in range(MOST_RANKS + 1)} for renaming in RENAMINGS]

    def run(self, number: int, base: Recorder, words: Callable[[], Sequence[int]], reference: int) -> int:
        """Try an instance on renamings of a state; the reference of its result there, with the ranks above which it
        writes new numbers.

        Args:
            base: records what any of the runs reads, as it is in the class.
            words: gives those of the class.
            reference: what the instance does there.

        Raises:
            ModelError: it looks at more than the order of the numbers.
        """
        found = [self._run(number, base, words, renaming) for renaming in RENAMINGS]
        is_step = isinstance(self._program.instances[number].of, Action)
        if not is_step or min(reference, *found) < FIRST_EFFECT:
            if set(found) != {reference}:
                self._refuse(number, words, ())
            return reference
        ours = self._program.effects.results[reference - FIRST_EFFECT]
        theirs = [self._wide.effects.results[each - FIRST_EFFECT] for each in found]
        if isinstance(ours, OutOfBounds):
            for each in theirs:
                cut = each.bounds if isinstance(each, OutOfBounds) else frozenset()
                if not ours.bounds - self._keys <= cut <= ours.bounds:
                    self._refuse(number, words, ())
            return reference
        if any(isinstance(each, OutOfBounds) for each in theirs):
            self._refuse(number, words, ())
        tops = self._tops(ours, theirs, base)
        if isinstance(tops, Leaf):
            touched = (leaf for each in (ours, *map(self._narrowed, theirs)) for leaf in _touched(each))
            for leaf in sorted(set(touched), key=lambda leaf: (leaf.word, leaf.shift)):
                if not self._is_absent(leaf, base.raw):
                    base.raw(leaf)  # let the path hold all that is copied or overwritten
            tops = self._tops(ours, theirs, base)
        if isinstance(tops, Leaf):
            self._refuse(number, words, (tops.path,))
        return self._program.effects.reference(attrs.evolve(ours, tops=tops)) if tops else reference

    def _run(
        self, number: int, base: Recorder, words: Callable[[], Sequence[int]], renaming: Callable[[int], int]
    ) -> int:
        def read(wide: Leaf) -> int:
            leaf = self._narrow[wide]
            return self._renamed(leaf, base.raw(leaf), renaming)

        def renamed() -> tuple[int, ...]:
            narrow = words()
            made = [0] * self._wide.layout.words
            for leaf, wide in self._wide_leaves:
                raw = narrow[leaf.word] >> leaf.shift & leaf.mask
                if not self._is_absent(leaf, lambda each: narrow[each.word] >> each.shift & each.mask):
                    made[wide.word] |= self._renamed(leaf, raw, renaming) << wide.shift
            return tuple(made)

        return self._wide.run_with_images(number, Recorder(self._wide.layout, (), read), renamed)

    def _renamed(self, leaf: Leaf, raw: int, renaming: Callable[[int], int]) -> int:
        number = self._numbers.get(leaf)
        return raw if number is None or raw < number.first else number.first + renaming(raw - number.first)

    def _is_absent(self, leaf: Leaf, value_of: Callable[[Leaf], int | None]) -> bool:
        """Whether a leaf holds nothing in the state before, if that can be said."""
        holder, most = self._holders.get(leaf, (leaf, -1))
        value = value_of(holder) if most >= 0 else None
        return value is not None and value <= most

    # What steps write

    def _tops(self, ours: Update, theirs: Sequence[Update], base: Recorder) -> frozenset[tuple[int, int]] | Leaf:
        """By group with new numbers, the rank above which they are; or a leaf that does not come out the same."""
        done = self._done(ours, base)
        others = [
            self._done(self._narrowed(each), base, back) for each, back in zip(theirs, self._ranks_of, strict=True)
        ]
        new: dict[int, list[tuple[Leaf, int, list[int]]]] = {}
        for leaf in dict.fromkeys(leaf for each in (done, *others) for leaf in each):
            value, *values = (self._after(each, leaf, base) for each in (done, *others))
            if all(isinstance(each, New) for each in values) and isinstance(value, int):
                number = self._numbers[leaf]
                apart = [each.packed - number.first for each in values]
                new.setdefault(number.group, []).append((leaf, value - number.first, apart))
            elif any(each != value for each in values):
                return leaf
        for written in new.values():
            if not _in_one_order(written):
                return written[0][0]
        return frozenset((group, _top(0, written[0][2][0])) for group, written in new.items())

    def _narrowed(self, update: Update) -> Update:
        """The same of the leaves of classes; values are still those of real states."""
        narrow = self._narrow
        return Update(
            frozenset((narrow[leaf], raw) for leaf, raw in update.constants),
            frozenset((narrow[target], narrow[source]) for target, source in update.copies),
            frozenset(narrow[leaf] for leaf in update.cleared),
        )

    def _done(self, update: Update, base: Recorder, back: Mapping[int, int] | None = None) -> dict[Leaf, Any]:
        """What a step does to each leaf that it changes, in packed ranks where it is a renamed number.

        Args:
            back: from renamed ranks to ranks.
        """
        done: dict[Leaf, Any] = dict.fromkeys(
            (leaf for leaf in update.cleared if not self._is_absent(leaf, base.known)), ABSENT
        )
        for leaf, raw in update.constants:
            number = self._numbers.get(leaf)
            if number is None or back is None or raw < number.first:
                done[leaf] = raw
            else:
                rank = back.get(raw - number.first)
                done[leaf] = New(raw) if rank is None else number.first + rank
        for target, source in update.copies:
            raw = base.known(source)
            done[target] = source if raw is None else raw
        return done

    @staticmethod
    def _after(done: Mapping[Leaf, Any], leaf: Leaf, base: Recorder) -> Any:
        """What a leaf holds after the step: what is known of it, or the leaf that it is copied from."""
        if leaf in done:
            return done[leaf]
        raw = base.known(leaf)
        return leaf if raw is None else raw

    def _refuse(self, number: int, words: Callable[[], Sequence[int]], paths: Sequence[str]) -> NoReturn:
        """Say it with two plain states, if there are two; otherwise by what the path says."""
        refuse_by_states(self._system, self._program, number, words(), paths)


def refuse_by_states(system: System, program: Any, number: int, words: Sequence[int], paths: Sequence[str]) -> NoReturn:
    """Refuse an instance that looks at more than the order of numbers in the state that the words hold."""
    instance, state = program.instances[number], program.layout.unpack(tuple(words))
    if isinstance(instance.of, Action):
        class_after(system, instance, state)
    else:
        judge_class(system, instance, state)
    refuse(system.ranks, instance, paths, f"  in the state {program.layout.domain.show(state)}\n")


def _touched(update: Update) -> Iterator[Leaf]:
    yield from (leaf for leaf, _ in update.constants)
    yield from update.cleared
    for copy in update.copies:
        yield from copy


def _top(renaming: int, value: int) -> int:
    """The greatest rank whose renamed number is below a value; -1 if none is."""
    return sum(RENAMINGS[renaming](rank) < value for rank in range(MOST_RANKS + 1)) - 1


def _in_one_order(written: Sequence[tuple[Leaf, int, list[int]]]) -> bool:
    """Whether the new numbers of a group lie above one rank, and in one order, in the class and in all renamings."""
    tops = {_top(renaming, value) for _, _, values in written for renaming, value in enumerate(values)}
    if len(tops) > 1 or any(value <= min(tops) for _, value, _ in written):
        return False
    orders = {
        tuple(sorted(set(column)).index(value) for value in column)
        for column in zip(*((value, *values) for _, value, values in written), strict=True)
    }
    return len(orders) == 1
