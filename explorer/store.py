"""Memory: the rows of states and parents and the visited set, within a budget, and scratch room for the kernel."""

from __future__ import annotations

import mmap
import os
import resource
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from explorer import kernel
from explorer.system import ModelError
from explorer.verdict import Budget

BATCH = 256
MOST_HITS = 1 << 16
MOST_MISSES = 4096
MOST_ROWS = 2**31 - 2
FIRST_TABLE = 1 << 14


class Stopped(Exception):
    """A budget ran out; says which."""


class Room:
    """Scratch arrays for one batch."""

    def __init__(self, trees: int, words: int) -> None:
        batch = max(1, min(BATCH, MOST_HITS // max(1, trees)))
        hits = batch * max(1, trees)
        self.hit_state = np.empty(hits, np.int64)
        self.hit_tree = np.empty(hits, np.int32)
        self.hit_effect = np.empty(hits, np.int32)
        self.made = np.empty((hits, words), np.uint64)
        self.hashes = np.empty(hits, np.uint64)
        self.touched = np.empty(hits, np.int32)
        self.alive = np.empty(batch, np.uint8)
        self.misses = np.empty((MOST_MISSES, 2), np.int64)


class Store:
    """States, parents and the visited set, within a budget.

    Rows are address space reserved at once and taken page by page as they are written, so that growing copies nothing.
    """

    def __init__(self, words: int, budget: Budget) -> None:
        self._row = 8 * words + 4
        self._memory = budget.memory or _machine_memory() * 4 // 5
        self._taken_before = _process_memory()
        if self._memory - self._taken_before < FIRST_TABLE * 64:
            taken = f"the process takes {self._taken_before:,} before it explores"
            raise ModelError(f"a memory budget of {self._memory:,} bytes is too small: {taken}")
        self._most = min(MOST_ROWS, budget.max_states or MOST_ROWS)
        reserved = min(self._most, (self._memory - self._taken_before) // self._row) + 1
        self.states = _reserve(reserved * words, np.uint64).reshape(reserved, words)
        self.parents = _reserve(reserved, np.int32)
        self.table = np.full(0, -1, np.int32)
        self.capacity = 0
        self.what_is_full = ""

    def bytes_for(self, states: int) -> int:
        """Bytes taken by so many states, their parents and the visited set."""
        return states * self._row + self.table.nbytes

    def grow_table(self, count: int, words: Sequence[int]) -> None:
        """Double the visited set (or make the first one), if the budget allows that beside the old one and the rows.

        Raises:
            Stopped: it does not.
        """
        length = max(FIRST_TABLE, 2 * len(self.table))
        while 3 * length < 10 * count:
            length *= 2
        if count * self._row + self.table.nbytes + 4 * length > self._memory - self._taken_before:
            raise Stopped("memory")
        table = np.full(length, -1, np.int32)
        kernel.rehash(self.states, count, table, words)
        self.table = table
        rows = (self._memory - self._taken_before - table.nbytes) // self._row
        self.capacity = min(len(self.parents) - 1, self._most, rows)
        self.what_is_full = "max-states" if self.capacity == self._most else "memory"


def _reserve(length: int, dtype: Any) -> np.ndarray:
    size = max(1, length) * np.dtype(dtype).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype, length)


def _process_memory() -> int:
    """The most bytes that this process has taken so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
