"""In how many windows a partition keeps what it has visited. A task takes them one after the other, so that the visited
set may outgrow memory: what is looked up at random is one window, and all others are read and written as a whole.

A window is what a partition would be if there were so many more of them, so that levels name windows as partitions.
There are more of them as the visited set grows, never fewer. Then executors make their shards anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from highwater.explorer.memory import in_bytes
from highwater.spark.driver.session import ClusterError
from highwater.spark.levels import Level

MOST_WINDOWS = 256
ROOM_TO_GROW = 2  # as many more states fit into new windows before there are more


def windows_before(levels: Sequence[Level], partitions: int) -> int:
    """In how many windows the last level was made."""
    windows, rest = divmod(levels[-1].partitions, partitions)
    return 1 if rest else max(1, windows)


def windows_for(levels: Sequence[Level], partitions: int, room: int | None) -> int:
    """In how many windows to make the next level.

    Args:
        room: bytes of the visited set that a task may have at a time; None if that is not known yet.

    Raises:
        ClusterError: not even with the most windows there is room.
    """
    windows = windows_before(levels, partitions)
    visited = expected_bytes(levels) // partitions
    if room is None or visited <= room * windows:
        return windows
    while ROOM_TO_GROW * visited > room * windows and windows < MOST_WINDOWS:
        windows *= 2
    if visited > room * windows:
        raise ClusterError(
            f"a partition is to visit {in_bytes(visited)}, and a task may have {in_bytes(room)} of it in memory, which "
            f"is too little even for one of {windows} windows: raise --memory, or give more --partitions"
        )
    return windows


def expected_bytes(levels: Sequence[Level]) -> int:
    """What the visited sets will take after the next level, if it has as many rows as the last one has."""
    stored, last = sum(level.rows for level in levels), levels[-1]
    return last.visited * (stored + last.rows) // max(1, stored)
