"""Representatives of packed states under permutations of names, and under renamings of numbers of which only the order
matters, by tables. `highwater.explorer.search.engine.symmetry` makes them; it and `highwater.explorer.ranks` say what
for.

A renaming of numbers does not notice an exchange of names. So the ranks come first, and the exchanges after them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.arrays import IMAGE, KEYS, LEAST
from highwater.explorer.kernels.making.compiling import inlined, kernel
from highwater.explorer.kernels.making.intrinsics import count_bits, pext
from highwater.explorer.kernels.states.rows import words_of
from highwater.explorer.kernels.states.stored import read_state

_ZERO, _ONE = np.uint64(0), np.uint64(1)


@inlined
def permute(words: Any, at: int, permutation: int, symmetry: Any, room: Any, into: int, units: int) -> None:
    """Put the image of `words[at]` under a permutation, the identity not counted, into `room[into]`."""
    for word in range(words_of(units)):
        room[into, word] = np.uint64(0)
    for chunk in range(len(symmetry.chunks)):
        value = (words[at, symmetry.chunks[chunk, 0]] >> symmetry.chunks[chunk, 1]) & symmetry.chunks[chunk, 2]
        for word in range(words_of(units)):
            room[into, word] |= symmetry.images[permutation, chunk, value, word]
    for guard in range(len(symmetry.guards)):
        value = (words[at, symmetry.guards[guard, 0]] >> symmetry.guards[guard, 1]) & symmetry.guards[guard, 2]
        for word in range(words_of(units)):
            room[into, word] &= symmetry.kept[permutation, guard, value, word]


@inlined
def _order(some: Any, i: int, other: Any, j: int, units: int) -> int:
    """-1, 0 or 1 as `some[i]` is below, equal to or above `other[j]`."""
    order = 0
    for word in range(words_of(units)):
        if order == 0 and some[i, word] != other[j, word]:
            order = -1 if some[i, word] < other[j, word] else 1
    return order


@inlined
def _order_of_keys(words: Any, at: int, symmetry: Any, room: Any) -> int:
    """A number for the order of the names' keys: a digit for each pair of names, 0, 1 or 2 as the first one's key is
    below, equal or above.

    The keys of an image are those of the state, in the order of the image's names.
    """
    names = symmetry.key_words.shape[1]
    order = 0
    for name in range(names):
        key = np.uint64(0)
        for piece in range(len(symmetry.key_words)):
            bits = pext(words[at, symmetry.key_words[piece, name]], symmetry.key_masks[piece, name])
            key |= bits << symmetry.key_places[piece]
        room[len(room) - KEYS - name, 0] = key
        for other in range(name):
            before = room[len(room) - KEYS - other, 0]
            order = 3 * order + np.int64(before >= key) + np.int64(before > key)
    return order


@inlined
def live_numbers(words: Any, at: int, group: int, symmetry: Any) -> int:
    """The ranks that the numbers of a group have in `words[at]`, one bit each."""
    live = _ZERO
    for number in range(symmetry.groups[group], symmetry.groups[group + 1]):
        raw = _number(words, at, number, symmetry)
        if raw >= symmetry.numbers[number, 3] and _is_there(words, at, number, symmetry):
            live |= _ONE << (raw - symmetry.numbers[number, 3])
    return live


@inlined
def _number(words: Any, at: int, number: int, symmetry: Any) -> int:
    """What a leaf holds; 0 if it is not there."""
    of = symmetry.numbers
    return (words[at, of[number, 0]] >> of[number, 1]) & of[number, 2]


@inlined
def _is_there(words: Any, at: int, number: int, symmetry: Any) -> bool:
    of = symmetry.numbers
    return (words[at, of[number, 4]] >> of[number, 5]) & of[number, 6] >= of[number, 7]


@inlined
def put_in_ranks(made: Any, at: int, symmetry: Any) -> None:
    """Replace each number of `made[at]` of which only the order matters by its rank."""
    for group in range(len(symmetry.groups) - 1):
        live = live_numbers(made, at, group, symmetry)
        if live & (live + _ONE) == _ZERO:
            continue  # they are ranks
        for number in range(symmetry.groups[group], symmetry.groups[group + 1]):
            raw, first = _number(made, at, number, symmetry), symmetry.numbers[number, 3]
            if raw > first:
                rank = count_bits(live & ((_ONE << (raw - first)) - _ONE))
                word, shift = symmetry.numbers[number, 0], symmetry.numbers[number, 1]
                made[at, word] ^= (raw ^ (first + rank)) << shift


@inlined
def stand_for_themselves(symmetry: Any) -> bool:
    """Whether each state is its own representative."""
    return len(symmetry.images) == 0 and len(symmetry.groups) == 1


@inlined
def make_representative(made: Any, at: int, symmetry: Any, units: int) -> None:
    """Replace `made[at]` by its representative: in ranks, the least of the images whose keys are in the least order.
    The last rows are room.
    """
    put_in_ranks(made, at, symmetry)
    if len(symmetry.images) == 0:
        return
    order = _order_of_keys(made, at, symmetry, made)
    begin, end = symmetry.first[order], symmetry.first[order + 1]
    image, least = len(made) - IMAGE, len(made) - LEAST
    words = words_of(units)
    if end == begin + 1:
        if symmetry.chosen[begin]:
            permute(made, at, symmetry.chosen[begin] - 1, symmetry, made, image, units)
            for word in range(words):
                made[at, word] = made[image, word]
        return
    for number in range(begin, end):
        permutation = symmetry.chosen[number]
        if permutation:
            permute(made, at, permutation - 1, symmetry, made, image, units)
        else:
            for word in range(words):
                made[image, word] = made[at, word]
        if number == begin or _order(made, image, made, least, units) < 0:
            for word in range(words):
                made[least, word] = made[image, word]
    for word in range(words):
        made[at, word] = made[least, word]


@inlined
def orbit_size(words: Any, at: int, symmetry: Any, room: Any, units: int) -> int:
    """How many states the representative `words[at]` stands for. The last rows of `room` are room.

    A permutation that leaves it as it is leaves the order of its keys, too.
    """
    if len(symmetry.images) == 0:
        return 1
    order = _order_of_keys(words, at, symmetry, room)
    begin, end = symmetry.first[order], symmetry.first[order + 1]
    unmoved = 1
    if end > begin + 1:
        unmoved = 0
        for number in range(begin, end):
            permutation = symmetry.chosen[number]
            if permutation:
                permute(words, at, permutation - 1, symmetry, room, len(room) - IMAGE, units)
                unmoved += _order(room, len(room) - IMAGE, words, at, units) == 0
            else:
                unmoved += 1
    return (len(symmetry.images) + 1) // unmoved


@kernel
def orbit_sizes(rows: Any, begin: int, end: int, symmetry: Any, room: Any, units: int) -> int:
    """How many states the rows begin..end, representatives all, stand for together."""
    total = 0
    for row in range(begin, end):
        read_state(rows, row, room, 0, units)
        total += orbit_size(room, 0, symmetry, room, units)
    return total


@kernel
def representative(room: Any, symmetry: Any, units: int) -> None:
    """Replace `room[0]` by its representative; `room` has `SPARE` more rows."""
    make_representative(room, 0, symmetry, units)
