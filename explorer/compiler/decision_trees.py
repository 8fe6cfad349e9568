"""Decision trees, grown path by path, that a kernel walks instead of running Python.

One tree per action or invariant instance. `highwater.explorer.encoding` says what a tree is made of.

Trees are caches of pure functions: they may be grown in any order, anywhere, and always mean the same.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from highwater.explorer.blame import impure
from highwater.explorer.compiler.effects import Column
from highwater.explorer.compiler.layout import Layout, Leaf
from highwater.explorer.encoding import BRANCHES_FIELD, NODE, PENDING, TEST, UNKNOWN, WIDTH_AT, WORD_FIELD
from highwater.model.language.declarations import Instance

MOST_BRANCHES = 1 << 28
MOST_TESTED_BITS = 10


class DecisionTrees:
    """The trees of some instances.

    Attributes:
        instances, layout: whose trees they are, and the layout of the states, or of the steps, that they read.
        branches: the trees. The first branches are the roots, one per instance.
    """

    def __init__(self, layout: Layout, instances: Sequence[Instance]) -> None:
        self.instances = instances
        self.layout = layout
        self.branches = Column(np.uint64, most=MOST_BRANCHES)
        self.branches.extend(len(instances))

    @functools.cached_property
    def _tests(self) -> dict[Leaf, list[tuple[int, int, int]]]:
        """By leaf, the nodes that test it."""
        return {leaf: list(_tests_of(leaf)) for leaf in self.layout.root.leaves() if leaf.width}

    @functools.cached_property
    def leaves_by_test(self) -> dict[tuple[int, int, int], tuple[Leaf, int]]:
        """By what a node may test, the leaf that it tests, and the lowest bit of it that it tests."""
        return {self.node(tested)[0]: (leaf, low) for leaf, tests in self._tests.items() for tested, low, _ in tests}

    @staticmethod
    def node(branch: int) -> tuple[tuple[int, int, int], int]:
        """What a node tests, as word, shift and width, and the position of the first of its branches."""
        return (branch & 63, branch >> WORD_FIELD & 63, branch >> WIDTH_AT & 63), (branch & ~NODE) >> BRANCHES_FIELD

    def path(self, number: int, words: Any) -> tuple[tuple[tuple[tuple[int, int, int], int], ...], int]:
        """The known path of one instance for a packed state: what it tests with which values, and the branch where it
        ends.
        """
        position, tests = number, []
        while (reference := self.branches.cells[position]) & NODE:
            field, first = self.node(reference)
            value = int(words[field[0]]) >> field[1] & ((1 << field[2]) - 1)
            tests.append((field, value))
            position = first + value
        return tuple(tests), reference

    def walks(self, number: int, states: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """Walk through the tree of an instance from many states at once, as far as it is known.

        Args:
            states: a row of words each.

        Returns:
            By state the position of the branch where its walk ends; and on the way there, for each test the numbers of
            the states that make it and the positions where they do.
        """
        branches = self.branches.array
        position, walking = np.full(len(states), number), np.arange(len(states))
        passed = []
        while len(walking):
            branch = branches[position[walking]]
            walking, branch = walking[branch >= NODE], branch[branch >= NODE]
            passed.append((walking, position[walking]))
            word, shift, width = branch & 63, branch >> WORD_FIELD & 63, branch >> WIDTH_AT & 63
            value = states[walking, word] >> shift & ((np.uint64(1) << width) - np.uint64(1))
            position[walking] = ((branch & np.uint64(NODE - 1)) >> BRANCHES_FIELD) + value
        return position, passed

    def _end(self, number: int, words: Any) -> int:
        """The branch where the known path of one instance for a packed state ends."""
        return end_of(self.branches.cells, number, words)

    def _graft(self, number: int, path: Sequence[tuple[Leaf, int]], reference: int) -> int:
        """Add a path. What a kernel may already see is written last.

        Returns:
            The position of the branch where it ends.
        """
        cells, position = self.branches.cells, number
        for leaf, raw in path:
            for tested, low, width in self._tests[leaf]:
                found = cells[position]
                if found in (UNKNOWN, PENDING):
                    found = tested | self.branches.extend(1 << width) << BRANCHES_FIELD
                    cells[position] = found
                elif found & TEST != tested:
                    raise impure(self.instances[number])
                position = ((found & ~NODE) >> BRANCHES_FIELD) + (raw >> low & (1 << width) - 1)
        if cells[position] not in (UNKNOWN, PENDING, reference):
            raise impure(self.instances[number])
        cells[position] = reference
        return position


def end_of(cells: Any, number: int, words: Sequence[int]) -> int:
    """The branch where the path of an instance ends in a packed state, as far as trees have it.

    Args:
        cells: the trees.
    """
    branch: int = cells[number]
    while branch & NODE:
        value = words[branch & 63] >> (branch >> WORD_FIELD & 63) & (1 << (branch >> WIDTH_AT & 63)) - 1
        branch = cells[((branch & ~NODE) >> BRANCHES_FIELD) + value]
    return branch


def _tests_of(leaf: Leaf) -> Iterator[tuple[int, int, int]]:
    """The nodes that test a leaf, the highest bits first: what each tests, the lowest of its bits in the leaf, and how
    many they are.

    A leaf of many bits takes several, as a node has a branch for every value.
    """
    for low in range((leaf.width - 1) // MOST_TESTED_BITS * MOST_TESTED_BITS, -1, -MOST_TESTED_BITS):
        width = min(MOST_TESTED_BITS, leaf.width - low)
        yield NODE | leaf.word | leaf.shift + low << WORD_FIELD | width << WIDTH_AT, low, width


def tested_sizes(layout: Layout) -> dict[tuple[int, int, int], int]:
    """How many values there are of what each node may test, by word, shift and width."""
    return {
        (leaf.word, leaf.shift + low, width): min(1 << width, (leaf.size - 1 >> low) + 1)
        for leaf in layout.root.leaves()
        if leaf.width
        for _, low, width in _tests_of(leaf)
    }
