"""Wide nodes: tables that take many tests of a tree at once.

A walk through a tree makes one test after the other, and each waits for the one before. Where a sample of states shows
that walks come by often, the tests that they make most there, of some ten bits together, become one *wide node*: an
index gathered from the state, and an entry for each index. An entry is the branch where the tests lead, another wide
node, or a *jump* to the tree itself, where a path is unknown yet or walks seldom come by. So wide nodes stay right
while trees grow, and lose only some of their use. Every walk begins at a wide node, if need be at one without tests, so
that all walks make their first step alike.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import numpy as np

from highwater.explorer.compiler.decision_trees import DecisionTrees
from highwater.explorer.compiler.prefilter import Field, fits, gathering
from highwater.explorer.encoding import (
    FIRST_EFFECT,
    JUMPS,
    NODE,
    PENDING,
    UNKNOWN,
    WIDENS,
)

MOST_ENTRIES = 1 << 20
FEWEST_VISITS = 2


@attrs.frozen
class Widened:
    """The arrays that the kernel reads.

    Attributes:
        nodes: per wide node, how the index is gathered, see `highwater.explorer.compiler.prefilter.gathering`, and
            where its entries begin. The walks of tree i begin at node i.
        entries: the entries.
    """

    nodes: np.ndarray
    entries: np.ndarray


def not_widened(trees: int) -> Widened:
    """Every walk goes through the trees themselves."""
    count = max(1, trees)
    return Widened(
        np.array([(*gathering(()), tree) for tree in range(count)], np.uint64),
        np.arange(count, dtype=np.uint32) | np.uint32(JUMPS),
    )


def widened(program: DecisionTrees, states: np.ndarray) -> Widened:
    """Wide nodes for the walks that lead to something from a sample of states, rows of words."""
    return _Widening(program, _visits(program, states)).result()


def _visits(program: DecisionTrees, states: np.ndarray) -> Counter[int]:
    """How many walks come by each position, of those that lead to something."""
    branches = program.branches.array
    found: Counter[int] = Counter()
    for tree in range(len(program.instances)):
        ends, passed = program.walks(tree, states)
        leads = branches[ends] >= FIRST_EFFECT
        for walking, positions in passed:
            found.update(positions[leads[walking]].tolist())
    return found


class _Widening:
    """Builds the tables."""

    def __init__(self, program: DecisionTrees, visits: Counter[int]) -> None:
        self._cells = program.branches.cells
        self._trees = len(program.instances)
        self._visits = {position: count for position, count in visits.items() if count >= FEWEST_VISITS}
        self._nodes = [(0,) * 4] * max(1, self._trees)
        self._tables: list[np.ndarray] = []
        self._entries = 0

    def result(self) -> Widened:
        for tree in range(len(self._nodes)):
            entry = self._entry(tree, tree)
            if entry != WIDENS | tree:
                self._place(tree, [], np.full(1, entry, np.uint32))
        return Widened(np.array(self._nodes, np.uint64), np.concatenate(self._tables))

    def _place(self, number: int, fields: list[Field], table: np.ndarray) -> None:
        """Make a wide node the one of that number."""
        self._nodes[number] = (*gathering(fields), self._entries)
        self._tables.append(table.reshape(-1))
        self._entries += table.size

    def _entry(self, position: int, number: int | None = None) -> int:
        """What stands for a branch of the trees; if it is a wide node, that of a number if one is given."""
        branch = self._cells[position]
        if branch < NODE:
            return JUMPS | position if branch in (UNKNOWN, PENDING) else branch
        fields = self._fields(position) if position in self._visits else []
        if not fields or self._entries > MOST_ENTRIES:
            return JUMPS | position
        # the first field's values lie side by side
        table = np.zeros([1 << width for _, _, width in reversed(fields)], np.uint32)
        if number is None:
            number = len(self._nodes)
            self._nodes.append((0,) * 4)
        self._place(number, fields, table)
        axes: dict[Field | None, int] = {field: -1 - place for place, field in enumerate(fields)}
        ahead: list[tuple[int, tuple[Any, ...]]] = [(position, (slice(None),) * len(fields))]
        while ahead:
            at, index = ahead.pop()
            branch = self._cells[at]
            tested, first = DecisionTrees.node(branch) if branch >= NODE else (None, 0)
            axis = axes.get(tested)
            if axis is None:
                table[index] = self._entry(at)
                continue
            place = axis + len(fields)
            ahead += [
                (first + value, (*index[:place], value, *index[place + 1 :])) for value in range(table.shape[axis])
            ]
        return WIDENS | number

    def _fields(self, position: int) -> list[Field]:
        """The fields that walks from a position on test most, as many as fit, in the order of their bits; none if not
        even one does.
        """
        weights: Counter[Field] = Counter()
        ahead = [position]
        while ahead:
            at = ahead.pop()
            tested, first = DecisionTrees.node(self._cells[at])
            weights[tested] += self._visits[at]
            ahead += [below for below in range(first, first + (1 << tested[2])) if below in self._visits]
        chosen = {DecisionTrees.node(self._cells[position])[0]}
        for field, _ in weights.most_common():
            if fits(chosen | {field}):
                chosen.add(field)
        return sorted(chosen) if fits(chosen) else []
