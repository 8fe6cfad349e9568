"""Where the numbers of which only the order matters are in packed states.

The trees are of classes, whose numbers are ranks. A function sees these as opaque numbers, see
`highwater.explorer.opaque`, so that its path is the same for all states of a class.

A step may count the greatest number up. What it writes then is a rank above all others, and right only in states whose
greatest live number has that rank. The path does not know all numbers of a state. So the effect names the rank, and a
kernel looks at each state that the step is taken in, or cut in. A path that has no effect reads them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from highwater.explorer.compiler.layout import Layout, Leaf, holders
from highwater.explorer.opaque import Numbers, written_in
from highwater.explorer.ranks import Group, Ranks
from highwater.model.language.domain import Maybe


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
        group = ranks.group_of(_number_of(leaf))
        if group is not None:
            holder, most = held.get(leaf, (None, -1))
            found.append(Number(leaf, groups.index(group.name), leaf.domain.encode(group.first), holder, most + 1))
    return sorted(found, key=lambda each: each.group)


def _number_of(leaf: Leaf) -> Any:
    """The domain of what a leaf holds, if it is not None."""
    return leaf.domain.of if isinstance(leaf.domain, Maybe) else leaf.domain


class OrderedLeaves:
    """What runs on views know of the numbers of a layout.

    Attributes:
        group_of: by leaf, the group of the numbers that it may hold.
    """

    def __init__(self, layout: Layout, ranks: Ranks) -> None:
        self.group_of = {
            leaf: group for leaf in layout.root.leaves() if (group := ranks.declared(_number_of(leaf))) is not None
        }
        self._ranks = ranks
        self._numbers = numbers_in(layout, ranks)

    def greatest(self, group: Group, words: Sequence[int]) -> int:
        """The greatest number of a group that a packed state holds; the one before the first if it holds none."""
        return group.first + max(
            (raw - number.first for number, raw in self._there(group, lambda leaf: _raw(leaf, words))), default=-1
        )

    def read(self, group: Group, raw: Callable[[Leaf], int]) -> None:
        """Read all numbers of a group, and what says whether they are there."""
        for _ in self._there(group, raw):
            pass

    def ranks_of(self, counted_up: Mapping[Group, int]) -> Iterator[tuple[int, int]]:
        """By the number of each group, the rank of the greatest."""
        names = list(self._ranks.groups)
        return ((names.index(group.name), greatest - group.first) for group, greatest in counted_up.items())

    def exceeded(self, domain: Any, value: Any, numbers: Numbers) -> frozenset[str]:
        """The bounds that cut a value which a function has made."""
        keys: frozenset[str] = domain.exceeded(written_in(self._ranks, domain, value, numbers))
        return keys

    def _there(self, group: Group, raw: Callable[[Leaf], int]) -> Iterator[tuple[Number, int]]:
        """The numbers of a group that are there and no constants, with what is packed for them."""
        place = list(self._ranks.groups).index(group.name)
        for number in self._numbers:
            if number.group == place and (number.holder is None or raw(number.holder) >= number.least):
                found = raw(number.leaf)
                if found >= number.first:
                    yield number, found


def _raw(leaf: Leaf, words: Sequence[int]) -> int:
    return int(words[leaf.word]) >> leaf.shift & leaf.mask
