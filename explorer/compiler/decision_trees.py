"""Decision trees, grown path by path, that a kernel walks instead of running Python.

One tree per action or invariant instance. A tree is made of *branches*, one 64-bit number each: `UNKNOWN` (no path learned yet),
`PENDING` (the kernel has asked for it), `NOTHING` (not enabled, or holds), an *effect* from `FIRST_EFFECT` on (what the step writes, which
bounds cut it, or that the invariant is false), or, with the highest bit set, a *node*: the leaf of the layout that is tested next, and
where the branches for its packed values begin.

Trees are caches of pure functions: they may be grown in any order, anywhere, and always mean the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from explorer.compiler.effects import FIRST_EFFECT, Column, Effects
from explorer.compiler.equivariance import Equivariance
from explorer.compiler.layout import Layout, Leaf
from explorer.compiler.permutations import Image, families
from explorer.compiler.tracing import Recorder
from explorer.system import RAISED, Cut, ModelError, impure, judge, line_of, successor, verdict_of, where
from model.language.declarations import Instance

MOST_BRANCHES = 1 << 28

UNKNOWN, NOTHING, PENDING = range(FIRST_EFFECT)
VIOLATED = FIRST_EFFECT

# The fields of a node, from its lowest bit: word, shift and width of the leaf, and the position of its first branch.
WORD_FIELD, SHIFT_FIELD, WIDTH_FIELD = 6, 6, 6
WIDTH_AT = WORD_FIELD + SHIFT_FIELD
BRANCHES_FIELD = WIDTH_AT + WIDTH_FIELD
NODE = 1 << 63
TEST = NODE | (1 << BRANCHES_FIELD) - 1  # what of a node says what it tests


class Program:
    """The trees of some instances.

    Attributes:
        branches: the trees. The first branches are the roots, one per instance.
        layout: that of the states, or of the steps, which the trees read.
        effects: shared among programs over one layout.
        paths: how many paths were learned, which is how often Python ran a function on a traced view.
        examples: for each of them, the instance's number and the packed state on which it was learned.
    """

    def __init__(
        self,
        layout: Layout,
        instances: Sequence[Instance],
        effects: Effects,
        audit: int,
        images: Sequence[Image] = (),
        share: bool = True,
    ) -> None:
        """
        Args:
            audit: how many paths of each function to hold against plain Python.
            images: those of the permutations of interchangeable names, the identity first; every path is tried on all of them.
            share: whether a path that one instance has taken serves the images of the instance, too.

        Raises:
            ModelError: the image of an instance is none of the instances.
        """
        self.instances = instances
        self.effects = effects
        self.branches = Column(np.uint64, most=MOST_BRANCHES)
        self.branches.extend(len(instances))
        self.paths = 0
        self.examples: list[tuple[int, Any]] = []
        self.layout = layout
        self._first: list[tuple[int, Image | None]] = [(number, None) for number in range(len(instances))]
        self._others: list[list[tuple[int, Image]]] = [[] for _ in instances]
        for first, family in families(instances, [image.permutation for image in images]) if share else ():
            for number, position in family:
                self._first[number] = first, images[position]
                self._others[first].append((number, images[position]))
        self._equivariance = Equivariance(self, images[1:]) if len(images) > 1 and instances else None
        self._moved: dict[tuple[int, Image], int] = {}
        self._tests = {
            leaf: NODE | leaf.word | leaf.shift << WORD_FIELD | leaf.width << WIDTH_AT for leaf in layout.root.leaves() if leaf.width
        }
        self._audits = {instance.of.name: audit for instance in instances}
        self._random = random.Random(0)
        self._audited: tuple[Any, Any] = None, None

    def learn(self, number: int, words: Any) -> None:
        """Run an instance on a state, and graft the path that it took onto its tree, unless the path is known.

        It is the first of the instance's family that is run, and the family's other trees take images of its path.

        Raises:
            ModelError: the function raised, returned what it must not, did what cannot be traced, tells interchangeable names apart, or
                took a path that contradicts an earlier one, so that it is no pure function of the state.
        """
        if self._end(number, words) not in (UNKNOWN, PENDING):
            return
        first, image = self._first[number]
        path, reference = self._trace(number, words)
        self.paths += 1
        self.examples.append((number, words))
        self._graft(first, path, reference)
        for other, moved in self._others[first]:
            self._graft(other, moved.of_path(path), self.image_of(reference, moved))
        name = self.instances[number].of.name
        if self._audits[name] > 0:
            self._audits[name] -= 1
            self._audit_family(first, tuple(image.origin_of(words)) if image else words, path, reference)

    def image_of(self, reference: int, image: Image) -> int:
        """The reference of the image of what a reference means."""
        return reference

    @staticmethod
    def node(branch: int) -> tuple[tuple[int, int, int], int]:
        """What a node tests, as word, shift and width, and the position of the first of its branches."""
        return (branch & 63, branch >> WORD_FIELD & 63, branch >> WIDTH_AT & 63), (branch & ~NODE) >> BRANCHES_FIELD

    def path(self, number: int, words: Any) -> tuple[tuple[tuple[tuple[int, int, int], int], ...], int]:
        """The known path of one instance for a packed state: what it tests with which values, and the branch where it ends."""
        position, tests = number, []
        while (reference := self.branches.cells[position]) & NODE:
            field, first = self.node(reference)
            value = int(words[field[0]]) >> field[1] & ((1 << field[2]) - 1)
            tests.append((field, value))
            position = first + value
        return tuple(tests), reference

    def leaf(self, number: int, words: Any) -> int:
        """The position of the branch where the known path of one instance for a packed state ends, in the tree of the first of its
        family: equal for paths that differ by names only."""
        first, image = self._first[number]
        origin = image.origin_of(words) if image else words
        cells, position = self.branches.cells, first
        while (branch := cells[position]) & NODE:
            (word, shift, width), begin = self.node(branch)
            position = begin + (int(origin[word]) >> shift & ((1 << width) - 1))
        return position

    def _end(self, number: int, words: Any) -> int:
        """The branch where the known path of one instance for a packed state ends."""
        cells = self.branches.cells
        branch = cells[number]
        while branch & NODE:
            value = words[branch & 63] >> (branch >> WORD_FIELD & 63) & (1 << (branch >> WIDTH_AT & 63)) - 1
            branch = cells[((branch & ~NODE) >> BRANCHES_FIELD) + value]
        return branch

    def evaluate(self, number: int, words: Any) -> Any:
        """What one instance's tree says of a packed state, growing it where need be.

        Returns:
            For an action None, a `Cut`, or the next state's words; for an invariant whether it holds.
        """
        self.learn(number, words)
        return self.meant(self._end(number, words), words)

    def _trace(self, number: int, words: Any) -> tuple[list[tuple[Leaf, int]], int]:
        """The path of the first of an instance's family, in the state whose image the words hold, and what it leads to."""
        first, image = self._first[number]
        recorder = Recorder(self.layout, words, (lambda leaf: image.origin_of_leaf(leaf, words)) if image else None)
        run = self._equivariance.run if self._equivariance else self.run
        try:
            return recorder.path, run(first, recorder, lambda: image.origin_of(words) if image else words)
        finally:
            recorder.close()

    def run(self, number: int, recorder: Recorder, words: Callable[[], Sequence[int]]) -> int:
        """Run an instance; what its result means, as a reference.

        Args:
            words: gives those of the state, to explain an error.

        Raises:
            ModelError: the function raised, returned what it must not, or did what cannot be traced.
        """
        try:
            return self._reference(self.instances[number], recorder)
        except ModelError:
            raise
        except RAISED as error:
            self._explain(self.instances[number], words(), error)
            raise AssertionError("unreachable") from error

    def _reference(self, instance: Instance, recorder: Recorder) -> int:
        """Run the instance; what its result means, as a reference."""
        raise NotImplementedError

    def _plain(self, instance: Instance, state: Any) -> Any:
        """The same result from plain evaluation on the plain state, in a form that `meant` compares."""
        raise NotImplementedError

    def meant(self, reference: int, words: Any) -> Any:
        """What a reference says of a state, in the form of `_plain`."""
        raise NotImplementedError

    def _explain(self, instance: Instance, words: Any, error: BaseException) -> None:
        """Raise the error of the plain function, if it has one; otherwise say that and where tracing failed."""
        self._plain(instance, self.layout.unpack(words))
        at = line_of(error) or where(instance)
        raise ModelError(f"{instance} cannot be compiled: {type(error).__name__}: {error}\n  {at}") from error

    def _graft(self, number: int, path: Sequence[tuple[Leaf, int]], reference: int) -> None:
        """Add a path. What a kernel may already see is written last."""
        cells, position = self.branches.cells, number
        for leaf, raw in path:
            found, tested = cells[position], self._tests[leaf]
            if found in (UNKNOWN, PENDING):
                found = tested | self.branches.extend(1 << leaf.width) << BRANCHES_FIELD
                cells[position] = found
            elif found & TEST != tested:
                raise impure(self.instances[number])
            position = ((found & ~NODE) >> BRANCHES_FIELD) + raw
        if cells[position] not in (UNKNOWN, PENDING, reference):
            raise impure(self.instances[number])
        cells[position] = reference

    def _audit_family(self, first: int, words: Any, path: Sequence[tuple[Leaf, int]], reference: int) -> None:
        """Hold a path of the first of a family against plain evaluation, on its own state and on one that differs wherever it did not
        look."""
        instance = self.instances[first]
        twin, state = self._twin(words, path)
        for packed, audited in ((words, self._unpacked(words)), (twin, state)):
            if self._plain(instance, audited) != self.meant(reference, packed):
                raise ModelError(
                    f"{instance} does not mean the same when it is traced: plain Python gives another result\n  {where(instance)}\n"
                    f"  in the state {self.layout.domain.show(audited)}\n"
                    "  look for identity tests (`is`), type tests on containers, and anything outside the state"
                )

    def _unpacked(self, words: Any) -> Any:
        """The plain state; many instances are audited on one state in turn."""
        if self._audited[0] != words:
            self._audited = words, self.layout.unpack(words)
        return self._audited[1]

    def _twin(self, words: Any, path: Sequence[tuple[Leaf, int]]) -> tuple[Any, Any]:
        """A state, packed and plain, of random values in place of all that the path did not read; the state itself where packing the
        random one again would change it."""
        read = {leaf for leaf, _ in path}
        twin = list(words)
        for leaf in self._tests:
            if leaf not in read:
                twin[leaf.word] &= ~(leaf.mask << leaf.shift)
                twin[leaf.word] |= int(self._random.random() * leaf.size) << leaf.shift
        try:
            state = self.layout.unpack(twin)
            packed = self.layout.pack(state)
        except RAISED:  # a record's own validation may refuse a random combination
            return words, self._unpacked(words)
        agrees = all(packed[leaf.word] >> leaf.shift & leaf.mask == raw for leaf, raw in path)
        return (packed, state) if agrees else (words, self._unpacked(words))


class ActionProgram(Program):
    """The trees of action instances."""

    def known_successors(self, words: Any) -> list[tuple[int, ...]]:
        """The words of the states after a packed state, as far as paths are known."""
        ends = (self._end(number, words) for number in range(len(self.instances)))
        return [after for end in ends if end >= FIRST_EFFECT and isinstance(after := self.meant(end, words), tuple)]

    def _reference(self, instance: Instance, recorder: Recorder) -> int:
        result = instance.apply(recorder.root())
        if result is None:
            return NOTHING
        return self.effects.reference(recorder.writes(result))

    def image_of(self, reference: int, image: Image) -> int:
        if reference == NOTHING:
            return NOTHING
        found = self._moved.get((reference, image))
        if found is None:
            result = image.of_result(self.effects.results[reference - FIRST_EFFECT])
            found = self._moved[reference, image] = self.effects.reference(result)
        return found

    def _plain(self, instance: Instance, state: Any) -> Any:
        after = successor(instance, state, self.layout.domain)
        return after if after is None or isinstance(after, Cut) else self.layout.pack(after)

    def meant(self, reference: int, words: Any) -> Any:
        if reference == NOTHING:
            return None
        row = reference - FIRST_EFFECT
        effects = self.effects
        if cut := int(effects.cut.array[row]):
            return Cut(effects.bounds[cut - 1])
        return effects.after(row, words)


class InvariantProgram(Program):
    """The trees of invariant instances."""

    def _reference(self, instance: Instance, recorder: Recorder) -> int:
        return NOTHING if verdict_of(instance, instance.apply(recorder.root())) else VIOLATED

    def _plain(self, instance: Instance, state: Any) -> Any:
        return bool(judge(instance, state, self.layout.domain))

    def meant(self, reference: int, words: Any) -> Any:
        return reference == NOTHING
