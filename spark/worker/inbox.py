"""Blocks that have arrived, in the order of where they come from, however they came: the first ones in memory, all
others on this executor's disk.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST_IN_MEMORY = 1 << 26  # bytes


class Inbox:
    """What one task has been sent. Its file has no name, so that it goes with the task, however that ends."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `__exit__`
        self._room = MOST_IN_MEMORY
        self._held: defaultdict[int, list[tuple[tuple[int, int], bytes | None, int, int]]] = defaultdict(list)

    def __enter__(self) -> Inbox:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._file.close()

    def put(self, owner: int, place: tuple[int, int], block: bytes) -> None:
        """Keep a block for an owner, whose place is unique."""
        size = len(block)
        if self._room >= size:
            self._room -= size
            self._held[owner].append((place, block, 0, size))
        else:
            self._held[owner].append((place, None, self._file.tell(), size))
            self._file.write(block)

    def in_order(self, owner: int) -> Iterator[bytes]:
        """All blocks of an owner by their places. Each is forgotten once the next one is asked for."""
        held = sorted(self._held.pop(owner, []), key=lambda each: each[0], reverse=True)
        while held:
            _, block, at, size = held.pop()
            if block is None:
                self._file.seek(at)
                block = self._file.read(size)
            yield block
