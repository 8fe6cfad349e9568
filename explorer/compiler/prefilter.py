"""A filter in front of the trees: for most states, most trees lead to nothing, and a few bits of the state prove it.

A *chunk* is a set of leaves of at most ten bits in at most two words. For every value of a chunk, a bit per tree says
whether the tree may still lead to something; the sets of all chunks are intersected, and only what is left is walked. A
tree is ruled out by a value only if all its known paths that agree with the value lead to nothing and no path that
agrees is unknown, so a filter stays right while trees grow. Chunks are chosen from what rules trees out in a sample of
states.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs
import numpy as np

from highwater.explorer.compiler.decision_trees import DecisionTrees, tested_sizes
from highwater.explorer.encoding import GATHER_FIELD, NODE, NOTHING

MOST_BITS = 10
MOST_CHUNKS = 14
MOST_PROOFS = 1 << 8

Field = tuple[int, int, int]  # word, shift, width


def _width(fields: Iterable[Field]) -> int:
    return sum(width for _, _, width in fields)


def fits(fields: Iterable[Field]) -> bool:
    """Whether an index can be gathered from the fields."""
    return _width(fields) <= MOST_BITS and len({word for word, _, _ in fields}) <= 2


def gathering(fields: Iterable[Field]) -> tuple[int, int, int]:
    """How to gather fields of one or two words into an index, those that lie lowest at its low end.

    Returns:
        The masks of its low and of its high part; and where the high part goes, the word of the low part and that of
        the high part, `GATHER_FIELD` bits each from the lowest. If both words are among the first two, the low part is
        of the first.
    """
    masks: dict[int, int] = {}
    for word, shift, width in sorted(fields):
        masks[word] = masks.get(word, 0) | ((1 << width) - 1) << shift
    parts = [*masks.items()]
    if len(parts) == 1 and parts[0][0] == 1:
        parts.insert(0, (0, 0))
    (low, low_mask), (high, high_mask), *_ = (*parts, (0, 0), (0, 0))
    return low_mask, high_mask, low_mask.bit_count() | low << GATHER_FIELD | high << 2 * GATHER_FIELD


@attrs.frozen
class Filter:
    """The arrays that the kernel reads; see `highwater.explorer.kernels.arrays.Trees`."""

    chunks: np.ndarray
    candidates: np.ndarray


def filter_of(program: DecisionTrees, sample: Sequence[Sequence[int]] = ()) -> Filter:
    """A filter for a program, its chunks chosen by a sample of states; without one it rules out what never leads to
    anything.
    """
    choice = _Choice(program, sample)
    return Filter(choice.chunks, choice.candidates)


class _Choice:
    """Chooses chunks, and tabulates them."""

    def __init__(self, program: DecisionTrees, sample: Sequence[Sequence[int]]) -> None:
        self._program = program
        self._cells = program.branches.cells
        chunks = self._choose(sample)
        groups = max(1, -(-len(program.instances) // 64))
        self.chunks = np.array([gathering(chunk) for chunk in chunks], np.uint64).reshape(len(chunks), 3)
        self.candidates = np.full((len(chunks) + 1, 1 << MOST_BITS if chunks else 1, groups), ~np.uint64(0), np.uint64)
        for number, chunk in enumerate(chunks):
            self._tabulate(number, sorted(chunk))
        for tree in range(64 * groups):
            if tree >= len(program.instances) or self._cells[tree] == NOTHING:
                self.candidates[-1, 0, tree // 64] &= ~(np.uint64(1) << np.uint64(tree % 64))

    @functools.cached_property
    def _sizes(self) -> dict[Field, int]:
        return tested_sizes(self._program.layout)

    def _choose(self, sample: Sequence[Sequence[int]]) -> list[set[Field]]:
        """Pack the sets of fields that rule most trees out into few chunks."""
        ruled_out: Counter[frozenset[Field]] = Counter()
        paths = Counter(
            (tree, path)
            for words in sample
            for tree in range(len(self._program.instances))
            for path, reference in (self._program.path(tree, words),)
            if reference == NOTHING and path
        )
        for (tree, path), count in paths.most_common(MOST_PROOFS):
            ruled_out[self._proof(tree, dict(path))] += count
        chunks: list[set[Field]] = []
        for fields, _ in ruled_out.most_common():
            if not fits(fields):
                continue
            grown = [
                (_width(chunk | fields) - _width(chunk), number)
                for number, chunk in enumerate(chunks)
                if fits(chunk | fields)
            ]
            _, number = min(grown, default=(0, -1))
            if number >= 0:
                chunks[number] |= fields
            elif len(chunks) < MOST_CHUNKS:
                chunks.append(set(fields))
        return chunks

    def _proof(self, tree: int, path: dict[Field, int]) -> frozenset[Field]:
        """A small part of a path's tests that alone proves that the tree leads to nothing."""
        for field, value in path.items():
            if self._leads_to_nothing(tree, {field: value}):
                return frozenset((field,))
        for field in list(path):
            rest = {other: value for other, value in path.items() if other != field}
            if self._leads_to_nothing(tree, rest):
                path = rest
        return frozenset(path)

    def _leads_to_nothing(self, position: int, known: Mapping[Field, int]) -> bool:
        branch = self._cells[position]
        while branch >= NODE:
            field, first = DecisionTrees.node(branch)
            if field not in known:
                return all(self._leads_to_nothing(below, known) for below in range(first, first + self._sizes[field]))
            branch = self._cells[first + known[field]]
        return branch == NOTHING

    def _tabulate(self, number: int, chunk: list[Field]) -> None:
        """The trees that each value of a chunk rules out. Sets of values are whole numbers, a bit per value."""
        bits = _width(chunk)
        everything = (1 << (1 << bits)) - 1
        values: dict[Field, list[int]] = {}
        place = 0
        indices = np.arange(1 << bits)
        for field in chunk:
            width = field[2]
            inside = (indices >> place) & ((1 << width) - 1)
            values[field] = [
                int.from_bytes(np.packbits(inside == value, bitorder="little"), "little") for value in range(1 << width)
            ]
            place += width

        def nothing(position: int) -> int:
            """For which values the tree below a branch is known to lead to nothing."""
            branch = self._cells[position]
            if branch < NODE:
                return everything if branch == NOTHING else 0
            field, first = DecisionTrees.node(branch)
            if field in values:
                possible = range(self._sizes[field])
                out = sum(mask for value, mask in enumerate(values[field]) if value not in possible)
                for value in possible:
                    out |= values[field][value] & nothing(first + value)
                return out
            out = everything
            for value in range(self._sizes[field]):
                out &= nothing(first + value)
                if not out:
                    break
            return out

        for tree in range(len(self._program.instances)):
            if out := nothing(tree):
                bytes_ = out.to_bytes(max(1, (1 << bits) // 8), "little")
                ruled_out = np.unpackbits(np.frombuffer(bytes_, np.uint8), bitorder="little")[: 1 << bits].astype(bool)
                self.candidates[number, : 1 << bits, tree // 64][ruled_out] &= ~(np.uint64(1) << np.uint64(tree % 64))
