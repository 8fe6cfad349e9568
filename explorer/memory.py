"""Address space, what of it is used, and words for it."""

from __future__ import annotations

import math
import mmap
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

UNLIMITED = 1 << 60  # version 1 says about as much where there is no limit


# Python names it from 3.13 on. Without it, Linux refuses to fork a process that has reserved more than the machine has.
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
SMALL_PAGES_UP_TO = 1 << 22  # bytes of an array; what few searches go beyond is worth huge pages


def reserve(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array of zeros that takes memory page by page as it is written, and never moves.

    Behind the first few MiB pages are huge, where the system has such. A search looks up each state in another page,
    and the processor remembers where few pages are.

    Raises:
        MemoryError: there is not that much address space.
    """
    import numpy as np  # here, since the plain-Python engine does without it

    size = max(1, math.prod(shape)) * np.dtype(dtype).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    try:
        pages = mmap.mmap(-1, size, flags=flags)
    except (OSError, OverflowError) as error:
        raise MemoryError(f"{in_bytes(size)} of address space cannot be reserved: {error}") from None
    if size > SMALL_PAGES_UP_TO and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE, SMALL_PAGES_UP_TO)
    return np.frombuffer(pages, dtype, math.prod(shape)).reshape(shape)


def address_limit() -> int | None:
    """The bytes of address space that any one process may take, as with `ulimit -v`; None if nothing limits them."""
    import resource  # here, since a browser has none

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def address_space() -> int | None:
    """The bytes of address space that this process may still take; None if nothing limits them."""
    limit = address_limit()
    if limit is None:
        return None
    try:
        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        taken = process_memory()
    return max(0, limit - taken)


def process_memory() -> int:
    """The bytes that this process takes now; if the system does not say, the most that it has taken."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def machine_memory() -> int:
    """The bytes that this machine has, or that the container that it runs in may take."""
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *container_limits()])


def container_limits(groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> list[int]:
    """The limits on memory of the control groups that this process is in, and of those around them; of version 1 and 2.

    Inside a container its own group may be what is mounted, whatever path the kernel gives.
    """
    found = []
    try:
        lines = groups.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        root, name = (mounted / "memory", "memory.limit_in_bytes") if controllers else (mounted, "memory.max")
        inside = root / path.lstrip("/")
        for group in (inside, *inside.parents):
            if group.is_relative_to(root):
                found += _limit(group / name)
    return found


def _limit(file: Path) -> list[int]:
    try:
        text = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return []
    return [int(text)] if text.isdecimal() and 0 < int(text) < UNLIMITED else []


def in_bytes(number: int) -> str:
    """A number of bytes, in words."""
    for limit, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{number} B"
