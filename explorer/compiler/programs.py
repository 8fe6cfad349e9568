"""Learning decision trees: a function is run on a traced view, and the path that it took is grafted onto its tree.

Each path is run on the images of the state, too, and compared with plain Python, before a kernel walks it.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from highwater.explorer.blame import RAISED, ModelError, impure, line_of, said_by, where
from highwater.explorer.compiler.comparison import PlainStates
from highwater.explorer.compiler.containers import NeededWhole
from highwater.explorer.compiler.decision_trees import DecisionTrees
from highwater.explorer.compiler.effects import Effects
from highwater.explorer.compiler.equivariance import Equivariance
from highwater.explorer.compiler.layout import Layout, Leaf
from highwater.explorer.compiler.permutations import Image, families
from highwater.explorer.compiler.ranks import OrderedLeaves
from highwater.explorer.compiler.settings import Settings
from highwater.explorer.compiler.tracing import OutOfBounds, Recorder, Update
from highwater.explorer.compiler.views import tracing_errors
from highwater.explorer.encoding import NODE, NOTHING, PENDING, UNKNOWN
from highwater.explorer.opaque import more_than_order, refused_by_order, refusing
from highwater.explorer.values import plain
from highwater.model.language.declarations import Instance

TWINS_ALIKE = 8
"""So many paths in a row are tried on the same random values: most parts of such a state need not be made again."""


class Lends(Protocol):
    """What another search has learned of the same actions: see `highwater.explorer.compiler.lending`."""

    def path(
        self, number: int, words: Sequence[int]
    ) -> tuple[list[tuple[Leaf, int]], Update | OutOfBounds | None, frozenset[str]] | None: ...


class Program(DecisionTrees):
    """The trees of some instances, and how they learn.

    Attributes:
        effects: shared among programs over one layout.
        ordered: which leaves hold numbers of which only the order matters, if there are any.
        paths: how many paths were learned, which is how often Python ran a function on a traced view.
        examples: for each of them, the instance's number and the packed state on which it was learned.
        settings: what the instances are given, watched.
        reads: by the branch where a path ends in the tree of the first of a family, which settings it reads; without
            those of which that is not known.
        lenders: trees of other searches, whose paths are taken over where they are the same here.
        lent: how many paths were.
        audits: by function, how many of its next paths to hold against plain Python where they did not look, too.
        is_whole: whether all that was begun to be learned is. It is not while a path is learned, nor after an error or
            an interrupt meanwhile: the path may be in some trees only, or lead to what has no meaning yet.
    """

    def __init__(
        self,
        layout: Layout,
        instances: Sequence[Instance],
        effects: Effects,
        audit: int,
        images: Sequence[Image] = (),
        *,
        share: bool = True,
    ) -> None:
        """
        Args:
            audit: how many paths of each function to hold against plain Python where they did not look, too.
            images: those of the permutations of interchangeable names, the identity first; every path is tried on all
                of them.
            share: whether a path that one instance has taken serves the images of the instance, too.

        Raises:
            ModelError: the image of an instance is none of the instances.
        """
        super().__init__(layout, instances)
        self.effects = effects
        self.paths = 0
        self.examples: list[tuple[int, Any]] = []
        self.settings = Settings()
        self.reads: dict[int, frozenset[str]] = {}
        self.lenders: Sequence[Lends] = ()
        self.lent = 0
        self._first: list[tuple[int, Image | None]] = [(number, None) for number in range(len(instances))]
        self._others: list[list[tuple[int, Image]]] = [[] for _ in instances]
        for first, family in families(instances, [image.permutation for image in images]) if share else ():
            for number, position in family:
                self._first[number] = first, images[position]
                self._others[first].append((number, images[position]))
        self._equivariance = Equivariance(self, images[1:]) if len(images) > 1 and instances else None
        self.ordered: OrderedLeaves | None = None
        self._moved: dict[tuple[int, Image], int] = {}
        self._audit = audit
        self.audits = {instance.of.name: audit for instance in instances}
        self.is_whole = True
        self._failure: BaseException = MemoryError()
        self._random = random.Random(0)
        self._twins, self._drawn = 0, list[int]()
        self._plain_states = PlainStates(layout)

    def learn(self, number: int, words: Any) -> None:
        """Run an instance on a state, and graft the path that it took onto its tree, unless the path is known.

        It is the first of the instance's family that is run, and the family's other trees take images of its path.

        Raises:
            ModelError: the function raised, returned what it must not, did what cannot be traced, distinguishes
                interchangeable names, or took a path that contradicts an earlier one, so that it is no pure function of
                the state. What ended the learning of an earlier path is raised again.
        """
        if self._end(number, words) not in (UNKNOWN, PENDING):
            return
        if not self.is_whole:  # another thread has failed
            raise self._failure
        self.is_whole = False
        try:
            self._learn(number, words)
        except BaseException as error:
            self._failure = error
            raise
        self.is_whole = True

    def _learn(self, number: int, words: Any) -> None:
        lent = self._lent_path(number, words) if self.lenders else None
        path, reference, read = lent or self._new_path(number, words)
        self.paths += 1
        self.examples.append((number, words))
        first, image = self._first[number]
        end = self._graft(first, path, reference)
        for other, moved in self._others[first]:
            self._graft(other, moved.of_path(path), self.image_of(reference, moved))
        if self._end(number, words) != (self.image_of(reference, image) if image else reference):
            raise impure(self.instances[number])
        if read is not None:
            self.reads[end] = read
        name = self.instances[number].of.name
        if lent is not None:
            self.lent += 1
        elif self.audits[name] > 0:
            self.audits[name] -= 1
            self._audit_family(first, tuple(image.origin_of(words)) if image else words, path, reference)

    def _new_path(self, number: int, words: Any) -> tuple[list[tuple[Leaf, int]], int, frozenset[str] | None]:
        """As `_trace`, and which settings the path reads, as `Settings.begin` returns them; held against plain
        Python.
        """
        self.settings.begin()
        path, reference = self._trace(number, words)
        read = self.settings.begin()
        self._hold(number, words, reference)
        return path, reference, read

    def _lent_path(self, number: int, words: Any) -> tuple[list[tuple[Leaf, int]], int, frozenset[str]] | None:
        """The same of a path that another search has learned. If plain Python does not agree, no more are taken
        over.
        """
        first, image = self._first[number]
        origin = image.origin_of(words) if image else words
        found = next(filter(None, (lender.path(first, origin) for lender in self.lenders)), None)
        if found is None:
            return None
        path, result, read = found
        reference = self._reference(result)
        try:
            self._hold(number, words, reference)
        except ModelError:
            self.lenders = ()
            return None
        return path, reference, read

    def _hold(self, number: int, words: Any, reference: int) -> None:
        """Hold what the path of the first of an instance's family leads to against plain Python, in a state of the
        instance.
        """
        _, image = self._first[number]
        self._compare(number, words, self.image_of(reference, image) if image else reference)

    def is_idle(self, number: int, words: Any) -> bool:
        """Whether one instance is known not to be enabled, or not to be violated, in a packed state."""
        return self._end(number, words) == NOTHING

    def verify(self, sample: Iterable[tuple[int, Any]]) -> None:
        """Hold paths that were learned elsewhere against plain Python.

        Args:
            sample: numbers of instances, and packed states whose paths they know.

        Raises:
            ModelError: one of them means something else, or is not known.
        """
        for number, words in sample:
            reference = self._end(number, words)
            if reference in (UNKNOWN, PENDING):
                raise ModelError(f"{self.instances[number]} has no path there")
            self._compare(number, words, reference)

    def forget(self) -> None:
        """Begin anew."""
        self.branches.clear()
        self.branches.extend(len(self.instances))
        self.paths, self.examples, self.is_whole = 0, [], True
        self.reads, self.lenders, self.lent = {}, (), 0
        self.audits = dict.fromkeys(self.audits, self._audit)

    def image_of(self, reference: int, image: Image) -> int:
        """The reference of the image of what a reference means."""
        return reference

    def leaf(self, number: int, words: Any) -> int:
        """The position of the branch where the known path of one instance for a packed state ends, in the tree of the
        first of its family: equal for paths that differ by names only.
        """
        first, image = self._first[number]
        origin = image.origin_of(words) if image else words
        cells, position = self.branches.cells, first
        while (branch := cells[position]) & NODE:
            (word, shift, width), begin = self.node(branch)
            position = begin + (int(origin[word]) >> shift & ((1 << width) - 1))
        return position

    def ends(self, number: int, states: np.ndarray) -> np.ndarray:
        """By state the position of the branch where the path of one instance ends, in the instance's own tree, which
        grows where need be.

        Args:
            states: a row of words each.

        Raises:
            ModelError: as `learn` says.
        """
        ends, branches = self.walks(number, states)[0], self.branches.array
        while len(left := np.flatnonzero(np.isin(branches[ends], (UNKNOWN, PENDING)))):
            for first in np.unique(ends[left], return_index=True)[1].tolist():
                self.learn(number, tuple(states[left[first]].tolist()))
            ends[left] = self.walks(number, states[left])[0]
        return ends

    def evaluate(self, number: int, words: Any) -> Any:
        """What one instance's tree says of a packed state, growing it where need be.

        Returns:
            For an action None, a `Cut`, or the next state's words; for an invariant whether it holds.
        """
        self.learn(number, words)
        return self.meant(self._end(number, words), words)

    def _trace(self, number: int, words: Any) -> tuple[list[tuple[Leaf, int]], int]:
        """The path of the first of an instance's family, in the state whose image the words hold, and what
        it leads to.
        """
        if self._equivariance is None:
            return self.run(number, lambda: words)
        first, image = self._first[number]
        base = Recorder(self.layout, words, (lambda leaf: image.origin_of_leaf(leaf, words)) if image else None)
        origin = functools.cache(lambda: tuple(image.origin_of(words)) if image else words)
        return base.path, self._equivariance.run(first, base, origin)

    def run(
        self,
        number: int,
        words: Callable[[], Sequence[int]],
        read: Callable[[Leaf], int] | None = None,
        *,
        both_orders: bool = True,
    ) -> tuple[list[tuple[Leaf, int]], int]:
        """The path that an instance takes in a state, and what it leads to, as a reference.

        Args:
            words: gives those of the state.
            read: gives the packed value of a leaf there, if not the words do.
            both_orders: whether to run it with the members of sets in the opposite order, too.

        Raises:
            ModelError: the function raised, returned what it must not, or did what cannot be traced.
        """
        recorder, result = self._run(number, words, read)
        if recorder.any_order and both_orders:
            self._try_other_order(number, words, result)
        return recorder.path, self._reference(result)

    def _run(
        self, number: int, words: Callable[[], Sequence[int]], read: Callable[[Leaf], int] | None, **how: Any
    ) -> tuple[Recorder, Any]:
        """A run of an instance, and what came out."""
        tracing_errors().clear()
        more_than_order().clear()
        recorder = Recorder(self.layout, () if read else words(), read, **how, ordered=self.ordered, state=words)
        try:
            result = self._traced(self.instances[number], recorder)
            if more_than_order() or tracing_errors():  # which the function has swallowed
                raise (more_than_order() or tracing_errors())[0]
            if not isinstance(result, Update | OutOfBounds):
                recorder.read_what_was_greatest()
            return recorder, result
        except NeededWhole as needed:
            whole = {*how.get("whole", ()), needed.slot}
            plain(recorder.view(needed.slot))
            known = list(recorder.path)
        except ModelError:
            raise
        except RAISED as error:
            if more_than_order():
                state = self.layout.unpack(tuple(words()))
                raise refused_by_order(self.instances[number], self.layout.domain.show(state)) from error
            self._explain(self.instances[number], tuple(words()), error)
        finally:
            recorder.close()
        return self._run(number, words, read, **{**how, "whole": whole, "known": known})

    def _try_other_order(self, number: int, words: Callable[[], Sequence[int]], result: Any) -> None:
        """Refuse a function that gives something else where the members of sets come in another order."""
        other = self._run(number, words, None, backwards=True)[1]
        if other == result:
            return
        state = tuple(words())
        if self.meant(self._reference(other), state) != self.meant(self._reference(result), state):
            instance = self.instances[number]
            raise ModelError(
                f"{instance} depends on the order in which the members of a set come, which differs between equal "
                f"sets; {where(instance)}; in the state {self.layout.domain.show(self.layout.unpack(state))}; take "
                "min(), max() or sorted() of the set, or the one element of it: (one,) = the_set"
            )

    def _traced(self, instance: Instance, recorder: Recorder) -> Any:
        """Run the instance on the view of a state; what comes out, as `_reference` takes it."""
        raise NotImplementedError

    def _reference(self, result: Any) -> int:
        """The branch for what came out of a run."""
        raise NotImplementedError

    def _plain(self, instance: Instance, state: Any, words: Any) -> Any:
        """The same result from plain evaluation on the plain state that the words hold, in a form that `meant`
        compares.
        """
        raise NotImplementedError

    def meant(self, reference: int, words: Any) -> Any:
        """What a reference says of a state, in the form of `_plain`."""
        raise NotImplementedError

    def _explain(self, instance: Instance, words: Any, error: BaseException) -> NoReturn:
        """Raise the error of the plain function, if it has one; otherwise say that and where tracing failed."""
        self._plain(instance, self._state(words), words)
        raise self._cannot_be_compiled(instance, error) from error

    @staticmethod
    def _cannot_be_compiled(instance: Instance, error: BaseException) -> ModelError:
        return ModelError(f"{instance} cannot be compiled: {said_by(error)}; {line_of(error) or where(instance)}")

    def _audit_family(self, first: int, words: Any, path: Sequence[tuple[Leaf, int]], reference: int) -> None:
        """Hold a path of the first of a family against plain evaluation on a state that differs wherever it did not
        look.
        """
        twin, state = self._twin(words, path)
        self._compare(first, twin, reference, state)

    def _compare(self, number: int, words: Any, reference: int, state: Any = None) -> None:
        """Hold what a path leads to against plain evaluation."""
        instance, state = self.instances[number], self._state(words) if state is None else state
        tracing_errors().clear()
        with refusing(instance, lambda: self.layout.domain.show(state)):
            result = self._plain(instance, state, words)
        if tracing_errors():  # it holds a part of an earlier run's state
            raise self._cannot_be_compiled(instance, tracing_errors()[0])
        if result != self.meant(reference, words):
            raise ModelError(
                f"{instance} does not mean the same when it is traced: plain Python gives another result; "
                f"{where(instance)}; in the state {self.layout.domain.show(state)}; "
                "look for tests of identity or type (`is`, `type(...) is`), and for anything outside the state"
            )

    def _state(self, words: Any) -> Any:
        """The plain state that the words hold.

        Raises:
            ModelError: it is not the state that they were packed from, as its records change what they are made of each
                time.
        """
        state = self._plain_states.unpacked(words)
        if self._plain_states.makes_rules and self.layout.pack(state) != tuple(words):
            raise ModelError(
                "a record of the state changes what it is made of (in __attrs_post_init__ or a converter), and "
                f"changes it again when it is made of its own fields; in the state {self.layout.domain.show(state)}"
            )
        return state

    def _twin(self, words: Any, path: Sequence[tuple[Leaf, int]]) -> tuple[Any, Any]:
        """A state, packed and plain, of random values in place of all that the path did not read; the state itself
        where a record refuses these values, or changes what the path did read.
        """
        if self._plain_states.makes_rules or not self._twins % TWINS_ALIKE:  # a record may refuse them all
            self._drawn = self._plain_states.drawn(self._random.random)
        self._twins += 1
        twin = list(self._drawn)
        for leaf, raw in path:
            twin[leaf.word] = twin[leaf.word] & ~(leaf.mask << leaf.shift) | raw << leaf.shift
        try:
            state = self._plain_states.unpacked(twin)
            packed = self.layout.pack(state) if self._plain_states.makes_rules else self._plain_states.normal(twin)
        except RAISED:  # a record's own validation may refuse a random combination
            return words, self._plain_states.unpacked(words)
        agrees = all(packed[leaf.word] >> leaf.shift & leaf.mask == raw for leaf, raw in path)
        return (packed, state) if agrees else (words, self._plain_states.unpacked(words))
