"""How states are cut into parts, chosen by a sample of them.

A state is a run of bits. It is cut in two where the sample has about as many different left halves as right ones: the
sum is least about there, since the one number grows with the cut and the other one shrinks. A half of more than a word
is cut in two in the same way, and what is then longer than a few words again. Quarters of states are so few that to cut
them saves little.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from explorer.compiler.layout import WORD_BITS, Layout
from explorer.kernels.arrays import BITS, COLUMNS, PAIR, SHIFT, STEPS, WAY, WORD

MOST_WORDS = 4  # of a part
MOST_WAITING = 8  # numbers of parts that `explorer.kernels.folding.write_state` can hold
_MULTIPLIER, _FOLD = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


def plan_of(layout: Layout, sample: np.ndarray) -> np.ndarray | None:
    """How to cut states, by some of them, a row of words each; None for states of a word or so many parts that they
    cannot be folded.
    """
    bits = max((WORD_BITS * leaf.word + leaf.shift + leaf.width for leaf in layout.root.leaves()), default=0)
    if bits <= WORD_BITS:
        return None
    cut = _cut(sample, 0, bits)
    plan = [*_parts(sample, 0, cut, 0, 0), *_parts(sample, cut, bits, 1, 0)]
    return np.array(plan, np.uint64) if _most_waiting(plan) <= MOST_WAITING else None


def _parts(sample: np.ndarray, begin: int, end: int, way: int, steps: int) -> Iterator[list[int]]:
    """The parts of some bits, those below a part before it."""
    part = [0] * COLUMNS
    part[WAY], part[STEPS] = way, steps
    if end - begin <= WORD_BITS * (MOST_WORDS if steps else 1):
        part[WORD], part[SHIFT] = divmod(begin, WORD_BITS)
        part[BITS] = end - begin
    else:
        _, firsts = np.unique(_hashes(sample, begin, end), return_index=True)
        cut, part[PAIR] = _cut(sample[firsts], begin, end), 1
        yield from _parts(sample[firsts], begin, cut, way, steps + 1)
        yield from _parts(sample[firsts], cut, end, way | 2 << steps, steps + 1)
    yield part


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
    return len(np.unique(_hashes(sample, begin, end)))


def _hashes(sample: np.ndarray, begin: int, end: int) -> np.ndarray:
    mixed = np.zeros(len(sample), np.uint64)
    for word in range(begin // WORD_BITS, -(-end // WORD_BITS)):
        low, high = max(0, begin - WORD_BITS * word), min(WORD_BITS, end - WORD_BITS * word)
        mixed = (mixed ^ sample[:, word] & np.uint64((1 << high) - (1 << low))) * _MULTIPLIER
        mixed ^= mixed >> _FOLD
    return mixed


def _most_waiting(plan: list[list[int]]) -> int:
    """The most numbers of parts that no pair has taken yet."""
    waiting = np.cumsum([-1 if part[PAIR] else 1 for part in plan])
    return int(waiting.max())
