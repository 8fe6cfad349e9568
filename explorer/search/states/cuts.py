"""How states are cut into parts, chosen by a sample of them.

A state is a run of bits. It is cut in two where the sample has about as many different left halves as right ones: the
sum is least about there, since the one number grows with the cut and the other one shrinks. A half of more than a word
is cut in two in the same way, and what is then longer than a few words again. Quarters of states are so few that to cut
them saves little.
"""

from __future__ import annotations

import numpy as np

from highwater.explorer.compiler.layout import WORD_BITS, Layout
from highwater.explorer.kernels.arrays import (
    BEHIND_CUT,
    COLUMNS,
    FIRST_WORD,
    FOLD,
    HELD,
    HIGHEST,
    LAST_WORD,
    LEFT,
    LOWEST,
    MULTIPLIER,
    OWN_BITS,
    RIGHT,
    SHIFT,
    STEPS,
    WAY,
    WORDS,
)

MOST_WORDS = 4  # of a part
_MULTIPLIER, _FOLD = np.uint64(MULTIPLIER), np.uint64(FOLD)


def most_parts(layout: Layout) -> int:
    """How many parts a plan has at most: all cuts but the first are between words, and pairs are fewer than pieces."""
    return 2 * (layout.words + 1)


def plan_of(layout: Layout, sample: np.ndarray) -> np.ndarray | None:
    """How to cut states, by some of them, a row of words each; None for states of a word, which cannot be folded."""
    bits = max((WORD_BITS * leaf.word + leaf.shift + leaf.width for leaf in layout.root.leaves()), default=0)
    if bits <= WORD_BITS:
        return None
    plan: list[list[int]] = []
    _list(plan, sample, 0, bits, 0, 0)
    return np.array(plan, np.uint64)


def _list(plan: list[list[int]], sample: np.ndarray, begin: int, end: int, way: int, depth: int, first: int = 0) -> int:
    """List the parts of some bits, each behind those below it: the place of the last one. The state has depth 0.

    Args:
        first: the first cut, of parts.
    """
    part = [0] * COLUMNS
    part[WAY], part[STEPS], part[HELD] = way, max(0, depth - 1), _held(begin, end, first)
    if depth and end - begin <= WORD_BITS * (1 if depth == 1 else MOST_WORDS):
        part[FIRST_WORD], last = begin // WORD_BITS, (end - 1) // WORD_BITS
        part[WORDS] = last - part[FIRST_WORD] + 1 if end - begin > WORD_BITS else 1
        part[LOWEST] = (1 << WORD_BITS) - (1 << begin % WORD_BITS)
        part[HIGHEST] = (1 << end - WORD_BITS * last) - 1
        part[SHIFT], part[LAST_WORD] = begin % WORD_BITS, last
        part[OWN_BITS] = (1 << min(WORD_BITS, end - begin)) - 1
    else:
        firsts = _firsts(_hashes(sample, begin, end))
        cut = _cut(sample[firsts], begin, end)
        if depth:
            cut = min(max(round(cut / WORD_BITS), begin // WORD_BITS + 1), (end - 1) // WORD_BITS) * WORD_BITS
        else:
            first, word = cut, cut // WORD_BITS
            part[FIRST_WORD], part[LOWEST] = word, (1 << cut % WORD_BITS) - 1
            part[HELD] = 1 << word
        part[LEFT] = _list(plan, sample[firsts], begin, cut, way, depth + 1, first)
        part[RIGHT] = _list(plan, sample[firsts], cut, end, way | 1 << depth, depth + 1, first)
    plan.append(part)
    return len(plan) - 1


def _held(begin: int, end: int, cut: int) -> int:
    """In which words some bits on one side of the first cut are, see `highwater.explorer.kernels.arrays`."""
    held = 0
    for word in range(begin // WORD_BITS, -(-end // WORD_BITS)):
        held |= 1 << (BEHIND_CUT if word == cut // WORD_BITS and begin >= cut else word)
    return held


def _cut(sample: np.ndarray, begin: int, end: int) -> int:
    """Where to cut some bits: in the inner half of them, so that parts are not too many steps away."""
    low, high = begin + (end - begin) // 4, end - (end - begin) // 4
    while low < high:
        middle = (low + high) // 2
        if _different(sample, begin, middle) < _different(sample, middle, end):
            low = middle + 1
        else:
            high = middle
    return low


def _different(sample: np.ndarray, begin: int, end: int) -> int:
    """How many different values some bits have."""
    found = np.sort(_hashes(sample, begin, end))
    return 1 + int(np.count_nonzero(found[1:] != found[:-1]))


def _firsts(hashes: np.ndarray) -> np.ndarray:
    """Where each different value is. numpy's own way to do this imports much that nothing else needs."""
    order = np.argsort(hashes)
    found = hashes[order]
    firsts: np.ndarray = order[np.append(True, found[1:] != found[:-1])]
    return firsts


def _hashes(sample: np.ndarray, begin: int, end: int) -> np.ndarray:
    mixed = np.zeros(len(sample), np.uint64)
    for word in range(begin // WORD_BITS, -(-end // WORD_BITS)):
        low, high = max(0, begin - WORD_BITS * word), min(WORD_BITS, end - WORD_BITS * word)
        mixed = (mixed ^ sample[:, word] & np.uint64((1 << high) - (1 << low))) * _MULTIPLIER
        mixed ^= mixed >> _FOLD
    return mixed
