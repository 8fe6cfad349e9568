"""Images under permutations of names: of plain values, packed states, instances, and what was learned of them.

Where names are interchangeable, fetch(follower b2, leader b0) does with a state what fetch(follower b1, leader b0) does
with the image of that state under the exchange of b1 and b2. So a path of the first of a *family* of instances, which
are images of one another, serves all members: what it reads, tests and writes, moved to where the names' images are, is
what another member reads, tests and writes. `highwater.explorer.compiler.equivariance` runs the others to see that
this is so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from highwater.explorer.compiler.layout import Layout, Leaf, holders
from highwater.explorer.compiler.tracing import OutOfBounds, Update
from highwater.model.language.declarations import Instance
from highwater.model.language.shape import Domain

Permutation = Mapping[str, Mapping[int, int]]


def permuted(domain: Any, value: Any, permutation: Permutation) -> Any:
    """The image of a plain value under a permutation of names."""
    if domain.names:
        return permutation.get(domain.names, {}).get(value, value)
    image = [permuted(of, part, permutation) for of, part in domain.parts(value)]
    goes_to = permutation.get(domain.by, {}) if domain.by else {}
    if goes_to:
        moved = {goes_to.get(position, position): part for position, part in enumerate(image)}
        image = [moved[position] for position in range(len(image))]
    return domain.rebuilt(value, image)


def names_in(domain: Any, path: str = "") -> Iterator[tuple[str, str, str, range]]:
    """The places of names inside a domain: where it is, whether names are values or positions there, of which set, and
    which ones.
    """
    if domain.names:
        yield path, "room", domain.names, range(domain.low, domain.high + 1)
    if domain.by:
        yield path, "places", domain.by, range(domain.length)
    for name, of in domain.inside().items():
        yield from names_in(of, f"{path}.{name}" if path and name else path or name)


@attrs.frozen(eq=False)
class Image:
    """What a permutation of names does to packed states.

    Attributes:
        permutation: which one.
        moves: for every leaf, the leaf where its image is, and the packed image of each packed value.
        origins: for every leaf, the packed value in a state for each packed value at the leaf's target in the state's
            image.
        holders: for leaves of names that may be absent, the leaf that says so, and the most that it holds where they
            are. What is absent is packed as 0, which is also a name; the image of the name is not that of nothing.
    """

    permutation: Permutation
    moves: Mapping[Leaf, tuple[Leaf, Sequence[int]]]
    origins: Mapping[Leaf, Sequence[int] | Mapping[int, int]]
    holders: Mapping[Leaf, tuple[Leaf, int]]

    @classmethod
    def under(cls, permutation: Permutation, layout: Layout) -> Image:
        codes_of: dict[Any, Sequence[int]] = {}  # once per domain

        def codes(domain: Any) -> Sequence[int]:
            if not any(names_in(domain)):
                return range(domain.size)  # nothing of it moves; a scalar of 20 bits would fill memory
            if domain not in codes_of:
                codes_of[domain] = [domain.encode(permuted(domain, value, permutation)) for value in domain.values()]
            return codes_of[domain]

        moves = dict(_moves(layout.root, layout.root, permutation, codes))
        origins = {leaf: _inverse(codes) for leaf, (_, codes) in moves.items()}
        absent = {leaf: holder for leaf, holder in holders(layout.root) if moves[leaf][1][0]}
        return cls(permutation, moves, origins, absent)

    def of_state(self, words: Sequence[int]) -> list[int]:
        """The image of a packed state."""
        image = [0] * len(words)
        for leaf, (target, codes) in self.moves.items():
            holder, most = self.holders.get(leaf, (leaf, -1))
            if _raw(holder, words) > most:
                image[target.word] |= codes[_raw(leaf, words)] << target.shift
        return image

    def origin_of(self, words: Sequence[int]) -> list[int]:
        """The state whose image the words hold."""
        origin = [0] * len(words)
        for leaf in self.moves:
            holder, most = self.holders.get(leaf, (leaf, -1))
            if _raw(self.moves[holder][0], words) > most:
                origin[leaf.word] |= self.origin_of_leaf(leaf, words) << leaf.shift
        return origin

    def origin_of_leaf(self, leaf: Leaf, words: Sequence[int]) -> int:
        """The packed value of a leaf, which is not absent, in the state whose image the words hold."""
        return self.origins[leaf][_raw(self.moves[leaf][0], words)]

    def of_path(self, path: Iterable[tuple[Leaf, int]]) -> list[tuple[Leaf, int]]:
        """The image of packed values of leaves."""
        return [(target, codes[raw]) for leaf, raw in path for target, codes in (self.moves[leaf],)]

    def of_result(self, result: Update | OutOfBounds) -> Update | OutOfBounds:
        """The image of what a step does."""
        if isinstance(result, OutOfBounds):
            return result
        copies = frozenset((self.moves[target][0], self.moves[source][0]) for target, source in result.copies)
        cleared = frozenset(self.moves[leaf][0] for leaf in result.cleared)
        return Update(frozenset(self.of_path(result.constants)), copies, cleared, result.tops)


def _inverse(codes: Sequence[int]) -> Sequence[int] | Mapping[int, int]:
    return codes if isinstance(codes, range) else {code: value for value, code in enumerate(codes)}


def _moves(
    source: Any, target: Any, permutation: Permutation, codes: Callable[[Any], Sequence[int]]
) -> Iterator[tuple[Leaf, tuple[Leaf, Sequence[int]]]]:
    if isinstance(source, Leaf):
        yield source, (target, codes(source.domain))
    images = target.inside()
    for part, place in zip(source.inside(), source.places(functools.partial(_image, permutation)), strict=True):
        yield from _moves(part, images[place], permutation, codes)


def _image(permutation: Permutation, of: Domain | str, value: Any) -> Any:
    """The image of a value of a domain, or of a position from a set of names."""
    return permutation.get(of, {}).get(value, value) if isinstance(of, str) else permuted(of, value, permutation)


def _raw(leaf: Leaf, words: Sequence[int]) -> int:
    return words[leaf.word] >> leaf.shift & leaf.mask


def families(
    instances: Sequence[Instance], permutations: Sequence[Permutation]
) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """The first of each family of several instances, and the others, each with the position of a permutation that makes
    it of the first.
    """
    numbers = {renamed(instance, {}): number for number, instance in enumerate(instances)}
    placed: set[int] = set()
    for first, instance in enumerate(instances):
        if first in placed:
            continue
        others: dict[int, int] = {}
        for position, permutation in enumerate(permutations):
            number = numbers.get(renamed(instance, permutation), first)
            if number != first and number not in placed:
                others.setdefault(number, position)
        placed |= others.keys()
        if others:
            yield first, list(others.items())


def renamed(instance: Instance, permutation: Permutation) -> tuple[Any, ...]:
    """What an instance is an instance of, and the images of its arguments."""
    return (
        instance.of,
        *(
            permuted(instance.domains[name], value, permutation) if name in instance.domains else value
            for name, value in instance.arguments.items()
        ),
    )
