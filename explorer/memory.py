"""Address space, what of it is used, and how people say it."""

from __future__ import annotations

import math
import mmap
import os
import resource
import sys
from typing import Any

import numpy as np


def reserve(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array of zeros that takes memory page by page as it is written, and never moves."""
    size = max(1, math.prod(shape)) * np.dtype(dtype).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype, math.prod(shape)).reshape(shape)


def process_memory() -> int:
    """The bytes that this process takes now; where the system does not tell, the most that it has taken."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def machine_memory() -> int:
    """The bytes that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def in_bytes(number: int) -> str:
    """A number of bytes, as people say it."""
    for limit, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{number} B"
