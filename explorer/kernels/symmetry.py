"""Images of packed states under permutations of names, by tables. `explorer.symmetry` makes them and says what they are for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from explorer.kernels.rows import read_row


class Symmetry(NamedTuple):
    """Tables that permute packed states.

    Attributes:
        chunks: per run of neighbouring bits, its word, lowest bit and mask.
        images: per permutation but the identity, run and value of the run, the bits of the image.
    """

    chunks: Any
    images: Any


@njit(inline="always")
def _permute(words: Any, at: int, permutation: int, symmetry: Any, room: Any, into: int, units: Any) -> None:
    """Put the image of `words[at]` into `room[into]`."""
    for word in range((len(units) + 1) // 2):
        room[into, word] = np.uint64(0)
    for chunk in range(len(symmetry.chunks)):
        value = (words[at, symmetry.chunks[chunk, 0]] >> symmetry.chunks[chunk, 1]) & symmetry.chunks[chunk, 2]
        for word in range((len(units) + 1) // 2):
            room[into, word] |= symmetry.images[permutation, chunk, value, word]


@njit(inline="always")
def _order(some: Any, i: int, other: Any, j: int, units: Any) -> int:
    """-1, 0 or 1 as `some[i]` is below, equal to or above `other[j]`."""
    order = 0
    for word in range((len(units) + 1) // 2):
        if order == 0 and some[i, word] != other[j, word]:
            order = -1 if some[i, word] < other[j, word] else 1
    return order


@njit(inline="always")
def make_representative(made: Any, at: int, symmetry: Any, units: Any) -> None:
    """Replace `made[at]` by the least of its images. The last two rows of `made` are used as room."""
    if len(symmetry.images) == 0:
        return
    least, image = len(made) - 1, len(made) - 2
    words = (len(units) + 1) // 2
    for word in range(words):
        made[least, word] = made[at, word]
    for permutation in range(len(symmetry.images)):
        _permute(made, at, permutation, symmetry, made, image, units)
        if _order(made, image, made, least, units) < 0:
            for word in range(words):
                made[least, word] = made[image, word]
    for word in range(words):
        made[at, word] = made[least, word]


@njit(inline="always")
def orbit_size(words: Any, at: int, symmetry: Any, room: Any, units: Any) -> int:
    """How many states `words[at]` stands for. The last row of `room` is used."""
    unmoved = 1
    for permutation in range(len(symmetry.images)):
        _permute(words, at, permutation, symmetry, room, len(room) - 1, units)
        unmoved += _order(room, len(room) - 1, words, at, units) == 0
    return (len(symmetry.images) + 1) // unmoved


@njit(cache=True, nogil=True)
def orbit_sizes(rows: Any, begin: int, end: int, symmetry: Any, words: Any, room: Any, units: Any) -> int:
    """How many states the rows begin..end stand for together."""
    total = 0
    for row in range(begin, end):
        read_row(rows, row, words, 0, units)
        total += orbit_size(words, 0, symmetry, room, units)
    return total


@njit(cache=True, nogil=True)
def representative(made: Any, symmetry: Any, units: Any) -> None:
    """Replace `made[0]` by the least of its images; `made` has two more rows of room."""
    make_representative(made, 0, symmetry, units)
