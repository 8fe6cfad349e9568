"""What one thread works in: its counters, and room for a batch of states and all that comes of them."""

from __future__ import annotations

import numpy as np

from highwater.explorer.compiler.effects import MOST_CUTS
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.kernels.arrays import COUNTS, SPARE, Work
from highwater.explorer.search.states.cuts import most_parts

BATCH = 256
MOST_HITS = 1 << 16
MOST_MISSES = 4096
RECENT = 1 << 12


def make_work(trees: int, step_trees: int, layout: Layout, most: int | None = None, recent: int | None = None) -> Work:
    """Counters and scratch room for one thread, for so many actions and step properties.

    Args:
        most: how many states a batch may have.
        recent: how many states the thread keeps of those that it has met just before.
    """
    batch = max(1, min(most or BATCH, MOST_HITS // max(1, trees)))
    hits = batch * max(1, trees)
    return Work(
        counts=np.zeros(COUNTS, np.int64),
        enabled=np.zeros(max(1, trees), np.int64),
        steps=np.zeros(1 + MOST_CUTS, np.int64),
        words=np.zeros((batch, layout.words), np.uint64),
        left=np.zeros((batch, -(-max(1, trees) // 64)), np.uint64),
        hit_state=np.zeros(hits, np.uint32),
        hit_tree=np.zeros(hits, np.uint32),
        hit_effect=np.zeros(hits, np.uint32),
        position=np.zeros(hits, np.uint64),
        branch=np.zeros(hits, np.uint32),
        walking=np.zeros(hits, np.uint32),
        made=np.zeros((hits + SPARE, layout.words), np.uint64),
        hashes=np.zeros(hits, np.uint64),
        slots=np.zeros(hits, np.uint64),
        numbers=np.zeros((most_parts(layout), batch), np.uint32),
        made_numbers=np.zeros((most_parts(layout), hits), np.uint32),
        keys=np.zeros(hits, np.uint64),
        recent=np.zeros((recent or RECENT, layout.words), np.uint64),
        orbits=np.ones(batch, np.int64),
        moves=np.zeros(batch, np.uint8),
        pair=np.zeros((1, 2 * layout.words), np.uint64),
        broken=np.zeros(step_trees, np.uint8),
        misses=np.zeros((MOST_MISSES, 3), np.int64),
    )
