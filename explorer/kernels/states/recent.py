"""What a thread has met just before. A third of all successors were made shortly before by a neighbour of their parent.

A thread keeps some states whose representatives it knows to be in the visited set, each in the place that its hash
gives: few enough that they stay in the processor's cache, where those of the visited set do not. Of a successor that is
among them no representative is made, and none is looked up.

Successors are remembered before their representatives are entered. Where there is no room to enter all of them, what is
remembered is not true any more, and the search must end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from highwater.explorer.kernels.making.compiling import inlined
from highwater.explorer.kernels.states.rows import words_of

_SHIFT, _ONE = np.uint64(20), np.uint64(1)


@inlined
def moved_unless_recent(number: int, kept: int, work: Any, units: int) -> bool:
    """Move a successor, and its hash, to the place of those that are kept, and remember it. False if it was among those
    met just before.
    """
    hashed = work.hashes[number]
    place = hashed >> _SHIFT & np.uint64(len(work.recent)) - _ONE
    known = True
    for word in range(words_of(units)):
        value = work.made[number, word]
        known &= work.recent[place, word] == value
        work.recent[place, word] = work.made[kept, word] = value
    work.hashes[kept] = hashed
    return not known


@inlined
def drop_recent(successors: int, work: Any, units: int) -> int:
    """Keep the successors that are not among those met just before, and the steps that lead to them; how many."""
    kept = 0
    for number in range(successors):
        work.hit_state[kept], work.hit_tree[kept] = work.hit_state[number], work.hit_tree[number]
        kept += moved_unless_recent(number, kept, work, units)
    return kept
