"""Symmetry reduction: if names are interchangeable, one state stands for all its images under their permutations.

The images of a state under a group of permutations are its *orbit*. The search explores the quotient: of each orbit it
keeps one state, the *representative*, which is the canonical form of the others. Every state has a *key* for each name,
made of bits that belong to that name, such as the length of its log; the image of a state has the same keys in another
order. The representative is the image whose keys, in the order of the names, are least. If several images have these
keys, it is the one with the least words; most often the keys decide.

An orbit has as many states as the group has permutations, divided by how many of them leave a state as it is. Every
state of an orbit has as many successors as any other. So all counts without symmetry are recovered exactly.

That is sound only if the initial states, the actions and the properties treat all names alike. Permutations that
move the set of initial states or a prospect are left out. Under the others each path of a function is tried as it is
learned, see `highwater.explorer.compiler.equivariance`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs
import numpy as np

from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import WORD_BITS, Layout, Leaf
from highwater.explorer.compiler.permutations import Image, Permutation, names_in, permuted, renamed
from highwater.explorer.compiler.ranks import numbers_in
from highwater.explorer.kernels.arrays import MOST_KEYS, Symmetry
from highwater.explorer.ranks import Ranks
from highwater.explorer.system import System

MOST_NAMES = 5
MOST_CHUNK_BITS = 8
MOST_PIECES = 4
MOST_BYTES = 1 << 26


def permutations_of(system: System, layout: Layout) -> list[Permutation]:
    """The permutations of interchangeable names that leave the set of initial states and each prospect as they are, the
    identity first.

    A prospect with a parameter that is a name, such as "this client can have a turn", is another one after an exchange:
    whether it is lost is asked of one state after the other, and an image of the state says nothing of it.

    Of a set of more than five names the last five are permuted, or fewer where the kernel's tables would become too
    large; none where what holds a name takes more bits than these tables look at.

    Raises:
        ModelError: a field or parameter has no place for all of the names.
    """
    _refuse_lack_of_places(system)
    bytes_each = 8 * layout.words * len(list(_chunks(layout))) << MOST_CHUNK_BITS
    wide = {names for _, _, names, places in names_in(system.domain) if len(places) >= 1 << MOST_CHUNK_BITS}
    leaves = [leaf for leaf in layout.root.leaves() if leaf.width > MOST_CHUNK_BITS]
    wide |= {names for leaf in leaves for _, _, names, _ in names_in(leaf.domain)}
    movable = {of: names[-MOST_NAMES:] if of not in wide else () for of, names in system.interchangeable.items()}
    while bytes_each * math.prod(math.factorial(len(names)) for names in movable.values()) > MOST_BYTES and any(
        movable.values()
    ):
        most = max(map(len, movable.values()))
        movable = {of: names[-most + 1 :] if most > 1 else () for of, names in movable.items()}
    choices = [
        [dict(zip(names, image, strict=True)) for image in itertools.permutations(names)] for names in movable.values()
    ]
    every = [dict(zip(system.interchangeable, chosen, strict=True)) for chosen in itertools.product(*choices)]
    initial = set(system.initial)
    return [
        found
        for found in every
        if {permuted(system.domain, state, found) for state in system.initial} == initial
        and all(renamed(each, found) == renamed(each, {}) for each in (*system.prospects, *system.liveness))
    ]


def _refuse_lack_of_places(system: System) -> None:
    parameters = [
        (f"{each.of.name}'s {name}", domain) for each in system.functions for name, domain in each.domains.items()
    ]
    values = (place for path, domain in parameters for place in names_in(domain, path) if place[1] == "places")
    for path, kind, of, places in (*names_in(system.domain), *values):
        names = system.interchangeable.get(of, ())
        if 0 < sum(name in places for name in names) < len(names):
            raise ModelError(
                f"{path} has {kind} for {of} {places[0]} to {places[-1]} only, and the model declares"
                f" {', '.join(map(str, names))} interchangeable"
            )


def no_symmetry(layout: Layout, ranks: Ranks | None) -> Symmetry:
    """No names are exchanged."""
    where, images = np.zeros((0, 3), np.uint64), np.zeros((0, 1, 1, layout.words), np.uint64)
    choices = np.zeros(2, np.int64), np.zeros(1, np.int64)
    return Symmetry(where, images, where, images, *_no_keys(1), *choices, *_numbers(layout, ranks))


def _numbers(layout: Layout, ranks: Ranks | None) -> tuple[np.ndarray, np.ndarray]:
    """The leaves that hold numbers of which only the order matters, and where those of each group begin."""
    found = [] if ranks is None else numbers_in(layout, ranks)
    where = [
        (*_place(each.leaf), each.first, *(_place(each.holder) if each.holder else (0, 0, 0)), each.least)
        for each in found
    ]
    groups = np.searchsorted([each.group for each in found], range(len(ranks.groups) + 1 if ranks else 1))
    return groups.astype(np.int64), np.array(where, np.uint64).reshape(len(where), 8)


def _place(leaf: Leaf) -> tuple[int, int, int]:
    return leaf.word, leaf.shift, leaf.mask


def tabulate(layout: Layout, every: Sequence[Image], ranks: Ranks | None = None) -> Symmetry:
    """The kernel's tables for the images under a group of permutations, the identity first."""
    permutations = [image.permutation for image in every]
    moves = [image.moves for image in every]
    chunks = list(_chunks(layout))
    places = [(chunk[0].word, chunk[0].shift, (1 << sum(bits.width for bits in chunk)) - 1) for chunk in chunks]
    images = np.zeros((len(permutations) - 1, len(chunks), 1 << MOST_CHUNK_BITS, layout.words), np.uint64)
    values = np.arange(1 << MOST_CHUNK_BITS)
    for number, move in enumerate(moves[1:]):
        for position, chunk in enumerate(chunks):
            for bits in chunk:
                target, codes = move[bits.leaf]
                image = _codes_in_place(bits, codes) << np.uint64(target.shift + bits.shift - bits.leaf.shift)
                images[number, position, :, target.word] |= image[
                    values >> (bits.shift - chunk[0].shift) & ((1 << bits.width) - 1)
                ]
    keys, goes_to = _keys_of_all(layout, moves, permutations)
    where = np.array(places, np.uint64).reshape(len(chunks), 3)
    return Symmetry(where, images, *_guards(layout, every[1:]), *keys, *_choices(goes_to), *_numbers(layout, ranks))


def _guards(layout: Layout, images: Sequence[Image]) -> tuple[np.ndarray, np.ndarray]:
    """For each leaf that tells whether names are absent, where it is, and for each of its values which bits an image
    keeps.
    """
    holders = list(dict.fromkeys(holder for image in images for holder, _ in image.holders.values()))
    kept = np.full(
        (len(images), len(holders), max((holder.mask + 1 for holder in holders), default=1), layout.words),
        ~np.uint64(0),
    )
    for number, image in enumerate(images):
        for leaf, (holder, most) in image.holders.items():
            target = image.moves[leaf][0]
            kept[number, holders.index(holder), : most + 1, target.word] &= np.uint64(
                ~(target.mask << target.shift) & (1 << WORD_BITS) - 1
            )
    return np.array([(holder.word, holder.shift, holder.mask) for holder in holders], np.uint64).reshape(
        len(holders), 3
    ), kept


@attrs.frozen
class _Bits:
    """A leaf, or some bits of one that is wider than a table."""

    leaf: Leaf
    word: int
    shift: int
    width: int


def _bits_of(layout: Layout) -> Iterator[_Bits]:
    for leaf in sorted(layout.root.leaves(), key=lambda leaf: (leaf.word, leaf.shift)):
        for low in range(0, leaf.width, MOST_CHUNK_BITS):
            yield _Bits(leaf, leaf.word, leaf.shift + low, min(MOST_CHUNK_BITS, leaf.width - low))


def _codes_in_place(bits: _Bits, codes: Sequence[int]) -> np.ndarray:
    """The packed images of the values of bits. Values of a leaf that is wider than a table are no names, and stay."""
    found = np.arange(1 << bits.width, dtype=np.uint64)
    if bits.width == bits.leaf.width:
        found[: len(codes)] = codes
    return found


def _chunks(layout: Layout) -> Iterator[list[_Bits]]:
    """The leaves in runs of neighbouring bits."""
    chunk: list[_Bits] = []
    for bits in _bits_of(layout):
        if chunk and (bits.word != chunk[0].word or bits.shift + bits.width - chunk[0].shift > MOST_CHUNK_BITS):
            yield chunk
            chunk = []
        chunk.append(bits)
    if chunk:
        yield chunk


Keys: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
"""What `Symmetry` calls `key_words`, `key_masks` and `key_places`."""


def _no_keys(names: int) -> Keys:
    return np.zeros((0, names), np.uint64), np.zeros((0, names), np.uint64), np.zeros(0, np.uint64)


def _keys_of_all(
    layout: Layout, moves: Sequence[Mapping[Leaf, tuple[Leaf, Sequence[int]]]], permutations: Sequence[Permutation]
) -> tuple[Keys, np.ndarray]:
    """The keys of the names of all orbits that have any, the largest orbit first, as far as there is room; and where
    each permutation puts these names.
    """
    (words, masks, places), goes_to = _no_keys(0), np.zeros((len(permutations), 0), np.int64)
    for orbit in sorted(_orbits(permutations), key=lambda orbit: -orbit.shape[1]):
        of_words, of_masks, of_places = _keys(layout, moves, orbit)
        if len(of_places) and goes_to.shape[1] + orbit.shape[1] <= MOST_KEYS:
            words, masks, places = _beside(words, of_words), _beside(masks, of_masks), np.append(places, of_places)
            goes_to = np.hstack([goes_to, orbit + goes_to.shape[1]])
    return (words, masks, places), goes_to


def _orbits(permutations: Sequence[Permutation]) -> Iterator[np.ndarray]:
    """The orbits of names, those of each set: where each permutation puts the names of one, by positions in it. A name
    that no permutation moves is an orbit of its own, and left out.
    """
    for of, names in permutations[0].items():
        positions = {name: position for position, name in enumerate(names)}
        goes_to = np.array([[positions[each[of][name]] for name in names] for each in permutations])
        for orbit in sorted({tuple(sorted(set(column))) for column in goes_to.T.tolist()}):
            if len(orbit) > 1:
                yield np.searchsorted(orbit, goes_to[:, orbit])


def _beside(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What the pieces of some names gather, and those of others: a piece gathers nothing for the names that it is not
    of.
    """
    found = np.zeros((len(some) + len(others), some.shape[1] + others.shape[1]), np.uint64)
    found[: len(some), : some.shape[1]], found[len(some) :, some.shape[1] :] = some, others
    return found


def _keys(layout: Layout, moves: Sequence[Mapping[Leaf, tuple[Leaf, Sequence[int]]]], goes_to: np.ndarray) -> Keys:
    """Bits to compare the names of an orbit by: leaves of which each name has one of its own, such as its log's length,
    piece by piece.

    The leaves of a piece lie in one word and in one order for every name, so that a single instruction gathers them.
    """
    names = goes_to.shape[1]
    pieces: dict[tuple[int, ...], list[dict[int, Leaf]]] = {}
    for leaf in sorted(layout.root.leaves(), key=lambda leaf: leaf.shift):
        images = [(int(to[0]), move[leaf][0]) for move, to in zip(moves, goes_to, strict=True)]
        owned = dict(images)  # the leaf of each name, if this one is the first name's
        if (
            not leaf.width
            or len(set(owned.values())) < names
            or any(owned[name] is not image for name, image in images)
        ):
            continue
        piece = pieces.setdefault(tuple(owned[name].word for name in range(names)), [])
        in_order = not piece or all(piece[-1][name].shift < owned[name].shift for name in range(names))
        if in_order and all(_stays(move[leaf][1]) for move in moves):
            piece.append(owned)
    words, masks, places = _no_keys(names)
    place = 0
    for at, piece in sorted(pieces.items(), key=lambda item: -sum(owned[0].width for owned in item[1]))[:MOST_PIECES]:
        while place + sum(owned[0].width for owned in piece) > WORD_BITS:
            piece.pop()
        if not piece:
            continue
        mask = [sum(owned[name].mask << owned[name].shift for owned in piece) for name in range(names)]
        words = np.vstack([words, np.array([at], np.uint64)])
        masks = np.vstack([masks, np.array([mask], np.uint64)])
        places = np.append(places, np.uint64(min(place, WORD_BITS - 1)))
        place += sum(owned[0].width for owned in piece)
    return words, masks, places


def _stays(codes: Sequence[int]) -> bool:
    """Whether every packed value is its own image."""
    return isinstance(codes, range) or codes == [*range(len(codes))]


def _choices(goes_to: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each order of the names' keys, by the kernel's number for it, the permutations that put the keys into their
    least order.
    """
    names = goes_to.shape[1]
    weights = names ** np.arange(names)[::-1]
    chosen: dict[int, list[int]] = {}
    for ranks in {
        tuple(map(sorted(set(ranks)).index, ranks)) for ranks in itertools.product(range(names), repeat=names)
    }:
        number = 0
        for name in range(names):
            for other in range(name):
                number = 3 * number + (ranks[other] >= ranks[name]) + (ranks[other] > ranks[name])
        image = (np.array(ranks) * weights[goes_to]).sum(axis=1)
        chosen[number] = np.flatnonzero(image == image.min()).tolist()
    lengths = [len(chosen.get(number, ())) for number in range(3 ** math.comb(names, 2))]
    return np.concatenate([[0], np.cumsum(lengths)]), np.array(
        [each for number in sorted(chosen) for each in chosen[number]]
    )
