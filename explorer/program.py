"""Decision trees, grown path by path, that a kernel walks instead of running Python.

One tree per action or invariant instance. A node tests one leaf of the layout and branches on its packed value; a *reference* says
where a branch leads: `UNKNOWN` (no path learned yet), `PENDING` (the kernel has asked for it), `NOTHING` (not enabled, or holds),
a node (positive), or an *effect* (below `NOTHING`): what the step writes, which bounds cut it, or that the invariant is false.

Trees are caches of pure functions: they may be grown in any order, anywhere, and always mean the same.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from explorer.layout import Layout, Leaf
from explorer.system import Cut, ModelError, judge, line_of, successor, verdict_of, where
from explorer.tracing import OutOfBounds, Recorder, Update
from model.domain import Instance

UNKNOWN, NOTHING, PENDING = 0, -1, -2
FIRST_EFFECT = -3
VIOLATED = FIRST_EFFECT

# A node is one 64-bit number: the first of its branches, then shift, width and word of the leaf it tests.
WORD_FIELD, SHIFT_FIELD, WIDTH_FIELD = 6, 6, 6
BRANCHES_FIELD = WORD_FIELD + SHIFT_FIELD + WIDTH_FIELD


class Column:
    """A numpy array that grows at its end."""

    def __init__(self, dtype: Any, *row: int) -> None:
        self._array = np.zeros((64, *row), dtype)
        self.length = 0

    @property
    def array(self) -> np.ndarray:
        """All that was allocated; the same object until the column has to grow."""
        return self._array

    def extend(self, count: int) -> int:
        """Make room for `count` more rows of zeros; returns the position of the first."""
        first = self.length
        self.length += count
        if self.length > len(self._array):
            grown = np.zeros((max(self.length, 2 * len(self._array)), *self._array.shape[1:]), self._array.dtype)
            grown[:first] = self._array[:first]
            self._array = grown
        return first

    def append(self, row: Any) -> int:
        """Add one row; returns its position."""
        position = self.extend(1)
        self._array[position] = row
        return position


class Effects:
    """What a step does, once for all trees: row i of each column belongs to reference `FIRST_EFFECT - i`.

    Attributes:
        keep, put: per word, the bits that stay and the bits that are set.
        copies, first_copy: rows (word, shift, mask, word, shift) from the state before to the state after; row i of `first_copy` is
            where effect i's copies begin, row i + 1 where they end.
        cut: the number of the set of bounds that cuts the step, plus one; 0 for a step that happens.
        bounds: the sets of bounds, by number.
    """

    def __init__(self, words: int) -> None:
        self.keep = Column(np.uint64, words)
        self.put = Column(np.uint64, words)
        self.copies = Column(np.uint64, 5)
        self.first_copy = Column(np.int64)
        self.first_copy.append(0)
        self.cut = Column(np.int32)
        self.bounds: list[frozenset[str]] = []
        self._numbers: dict[Any, int] = {}

    def reference(self, result: Update | OutOfBounds) -> int:
        """The reference of an effect; equal effects share one."""
        number = self._numbers.get(result)
        if number is None:
            number = self._numbers[result] = self._add(result)
        return FIRST_EFFECT - number

    def _add(self, result: Update | OutOfBounds) -> int:
        row = self.keep.extend(1)
        self.put.extend(1)
        self.cut.extend(1)
        self.keep.array[row] = ~np.uint64(0)
        if isinstance(result, OutOfBounds):
            if result.bounds not in self.bounds:
                self.bounds.append(result.bounds)
            self.cut.array[row] = self.bounds.index(result.bounds) + 1
        else:
            for leaf, raw in result.constants:
                self.keep.array[row, leaf.word] &= np.uint64(~(leaf.mask << leaf.shift) & (2**64 - 1))
                self.put.array[row, leaf.word] |= np.uint64(raw << leaf.shift)
            for source, target in _joined(result.copies):
                self.keep.array[row, target[0]] &= np.uint64(~(target[2] << target[1]) & (2**64 - 1))
                self.copies.append((*source, *target[:2]))
        self.first_copy.append(self.copies.length)
        return row


def _joined(copies: Sequence[tuple[Leaf, Leaf]]) -> list[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """Copies as (word, shift, mask) pairs, neighbours that move together made one."""
    joined: list[list[int]] = []  # target word, target shift, source word, source shift, width
    for target, source in sorted(copies, key=lambda copy: (copy[0].word, copy[0].shift)):
        last = joined[-1] if joined else [-1] * 5
        if (last[0], last[1] + last[4], last[2], last[3] + last[4]) == (target.word, target.shift, source.word, source.shift):
            last[4] += target.width
        else:
            joined.append([target.word, target.shift, source.word, source.shift, target.width])
    return [((sw, ss, (1 << width) - 1), (tw, ts, (1 << width) - 1)) for tw, ts, sw, ss, width in joined]


class Program:
    """The trees of some instances.

    Attributes:
        nodes, branches: the trees. The first branches are the roots, one per instance.
        effects: shared among programs over one layout.
        paths: how many paths were learned, which is how often Python ran a function on a traced view.
    """

    def __init__(self, layout: Layout, instances: Sequence[Instance], effects: Effects, audit: int) -> None:
        self.instances = instances
        self.effects = effects
        self.nodes = Column(np.uint64)
        self.nodes.extend(1)  # so that a node's reference is positive
        self.branches = Column(np.int32)
        self.branches.extend(len(instances))
        self.paths = 0
        self._layout = layout
        self._audits = {instance.of.name: audit for instance in instances}
        self._random = random.Random(0)

    def learn(self, number: int, words: Any) -> None:
        """Run one instance on one state, and graft the path that it took onto its tree.

        Raises:
            ModelError: the function raised, returned what it must not, did what cannot be traced, or took a path that contradicts an
                earlier one, so that it is no pure function of the state.
        """
        instance = self.instances[number]
        path, reference = self._trace(instance, words)
        self._graft(number, path, reference)
        self.paths += 1
        if self._audits[instance.of.name] > 0:
            self._audits[instance.of.name] -= 1
            self._audit(instance, words, path, reference)

    def evaluate(self, number: int, words: Any) -> Any:
        """What one instance's tree says of a packed state, growing it where need be.

        Returns:
            For an action None, a `Cut`, or the next state's words; for an invariant whether it holds.
        """
        position = number
        while (reference := int(self.branches.array[position])) > 0:
            word, shift, width = self._tested(reference)
            value = int(words[word]) >> shift & ((1 << width) - 1)
            position = (int(self.nodes.array[reference]) >> BRANCHES_FIELD) + value
        if reference in (UNKNOWN, PENDING):
            self.learn(number, words)
            return self.evaluate(number, words)
        return self._meant(reference, words)

    def _trace(self, instance: Instance, words: Any) -> tuple[list[tuple[Leaf, int]], int]:
        recorder = Recorder(self._layout, words)
        try:
            return recorder.path, self._reference(instance, recorder)
        except ModelError:
            raise
        except Exception as error:
            self._explain(instance, words, error)
            raise AssertionError("unreachable") from error
        finally:
            recorder.close()

    def _reference(self, instance: Instance, recorder: Recorder) -> int:
        """Run the instance; what its result means, as a reference."""
        raise NotImplementedError

    def _plain(self, instance: Instance, words: Any) -> Any:
        """The same result from plain evaluation on the unpacked state, in a form that `_meant` compares."""
        raise NotImplementedError

    def _meant(self, reference: int, words: Any) -> Any:
        """What a reference says of a state, in the form of `_plain`."""
        raise NotImplementedError

    def _explain(self, instance: Instance, words: Any, error: Exception) -> None:
        """Raise the error of the plain function, if it has one; otherwise say that and where tracing failed."""
        self._plain(instance, words)
        at = line_of(error) or where(instance)
        raise ModelError(f"{instance} cannot be compiled: {type(error).__name__}: {error}\n  {at}") from error

    def _graft(self, number: int, path: Sequence[tuple[Leaf, int]], reference: int) -> None:
        position = number
        for leaf, raw in path:
            found = int(self.branches.array[position])
            if found in (UNKNOWN, PENDING):
                found = self.nodes.extend(1)
                first = self.branches.extend(1 << leaf.width)
                fields = leaf.word | leaf.shift << WORD_FIELD | leaf.width << (WORD_FIELD + SHIFT_FIELD)
                self.nodes.array[found] = fields | first << BRANCHES_FIELD
                self.branches.array[position] = found
            elif found < 0 or self._tested(found) != (leaf.word, leaf.shift, leaf.width):
                raise self._impure(number)
            position = (int(self.nodes.array[found]) >> BRANCHES_FIELD) + raw
        if int(self.branches.array[position]) not in (UNKNOWN, PENDING, reference):
            raise self._impure(number)
        self.branches.array[position] = reference

    def _tested(self, node: int) -> tuple[int, int, int]:
        code = int(self.nodes.array[node])
        return code & 63, code >> WORD_FIELD & 63, code >> (WORD_FIELD + SHIFT_FIELD) & 63

    def _impure(self, number: int) -> ModelError:
        instance = self.instances[number]
        return ModelError(
            f"{instance} is not a pure function of the state: with equal values read it went on differently\n  {where(instance)}\n"
            "  look for randomness, time, globals, caches and iteration in an order that varies"
        )

    def _audit(self, instance: Instance, words: Any, path: Sequence[tuple[Leaf, int]], reference: int) -> None:
        """Hold a path against plain evaluation: on its own state, and on one that differs wherever the path did not look."""
        for state in (words, self._twin(words, path)):
            if state is not None and self._plain(instance, state) != self._meant(reference, state):
                raise ModelError(
                    f"{instance} does not mean the same when it is traced: plain Python gives another result\n  {where(instance)}\n"
                    f"  in the state {self._layout.domain.show(self._layout.unpack(state))}\n"
                    "  look for identity tests (`is`), type tests on containers, and anything outside the state"
                )

    def _twin(self, words: Any, path: Sequence[tuple[Leaf, int]]) -> Any:
        """A state of random values in place of all that the path did not read, or None where packing it again would change it."""
        read = {leaf for leaf, _ in path}
        twin = [int(word) for word in words]
        for leaf in self._layout.root.leaves():
            if leaf not in read and leaf.width:
                twin[leaf.word] &= ~(leaf.mask << leaf.shift)
                twin[leaf.word] |= self._random.randrange(leaf.domain.size) << leaf.shift
        packed = self._layout.pack(self._layout.unpack(twin))
        agrees = all(packed[leaf.word] >> leaf.shift & leaf.mask == raw for leaf, raw in path)
        return packed if agrees else None


class ActionProgram(Program):
    """The trees of action instances."""

    def _reference(self, instance: Instance, recorder: Recorder) -> int:
        result = instance.apply(recorder.root())
        if result is None:
            return NOTHING
        return self.effects.reference(recorder.writes(result))

    def _plain(self, instance: Instance, words: Any) -> Any:
        after = successor(instance, self._layout.unpack(words), self._layout.domain)
        return after if after is None or isinstance(after, Cut) else self._layout.pack(after)

    def _meant(self, reference: int, words: Any) -> Any:
        if reference == NOTHING:
            return None
        row = FIRST_EFFECT - reference
        effects = self.effects
        if cut := int(effects.cut.array[row]):
            return Cut(effects.bounds[cut - 1])
        after = [int(w) & int(k) | int(p) for w, k, p in zip(words, effects.keep.array[row], effects.put.array[row], strict=True)]
        for copy in range(int(effects.first_copy.array[row]), int(effects.first_copy.array[row + 1])):
            word, shift, mask, to, to_shift = map(int, effects.copies.array[copy])
            after[to] |= (int(words[word]) >> shift & mask) << to_shift
        return tuple(after)


class InvariantProgram(Program):
    """The trees of invariant instances."""

    def _reference(self, instance: Instance, recorder: Recorder) -> int:
        return NOTHING if verdict_of(instance, instance.apply(recorder.root())) else VIOLATED

    def _plain(self, instance: Instance, words: Any) -> Any:
        return bool(judge(instance, self._layout.unpack(words), self._layout.domain))

    def _meant(self, reference: int, words: Any) -> Any:
        return reference == NOTHING
