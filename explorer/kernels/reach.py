"""Marking, backwards, the rows from which marked ones can be reached."""

from __future__ import annotations

from typing import Any

from numba import njit

from explorer.kernels.expand import MISSES, list_hits
from explorer.kernels.rows import find_row, read_row
from explorer.kernels.symmetry import make_representative
from explorer.kernels.trees import apply


@njit(cache=True, nogil=True)
def mark_reaching(
    rows: Any, table: Any, end: int, marks: Any, along: Any, trees: Any, effects: Any, symmetry: Any, work: Any, units: Any
) -> int:
    """Mark the unmarked rows below `end` that have a marked successor by one of the actions `along`, or such a step that a bound cuts.

    Goes from the last row to the first, as most steps lead to later rows.

    Returns:
        How many rows were marked: call again until that is none. If below 0, the number of misses: call again once the trees have grown.
    """
    marked = 0
    for row in range(end - 1, -1, -1):
        if marks[row]:
            continue
        read_row(rows, row, work.words, 0, units)
        hits, resolved = list_hits(row, 1, True, trees, work, units)
        if not resolved:
            return -work.counts[MISSES]
        for hit in range(hits):
            if not along[work.hit_tree[hit]]:
                continue
            effect = work.hit_effect[hit]
            if not effects.cut[effect]:
                apply(work.words, 0, effect, effects, work.made, 0, units)
                make_representative(work.made, 0, symmetry, units)
                if not marks[find_row(rows, table, work.made, 0, units)]:
                    continue
            marks[row] = 1
            marked += 1
            break
    return marked
