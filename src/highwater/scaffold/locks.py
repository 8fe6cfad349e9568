"""A lock service with leases, in asyncio, and the storage that it protects: `lock_service.py` is the model of both.

`python locks.py FILE` writes a log of a short run.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

LEASE = 10.0
Log = Callable[[dict[str, object]], object]


class Clock:
    """The time, which a test can move on."""

    now = 0.0


class Stale(Exception):
    """A write with an older token than the newest that was seen."""


class LockService:
    """Grants the lock to one client at a time, for as long as its lease runs."""

    def __init__(self, clock: Clock, log: Log = lambda line: None) -> None:
        self.granted = 0
        self._clock, self._log = clock, log
        self._client: int | None = None
        self._until = 0.0
        self._mutex = asyncio.Lock()

    @property
    def holder(self) -> int | None:
        """The client whose lease runs."""
        return self._client if self._clock.now < self._until else None

    async def acquire(self, client: int) -> int | None:
        """Ask for the lock; gives its token, or None if another client has it."""
        async with self._mutex:
            if self.holder is not None:
                return None
            if self._client is not None:
                self._log({"action": "expire"})
            self.granted += 1
            self._client, self._until = client, self._clock.now + LEASE
            self._log({"action": "acquire", "arguments": {"client": client}, "state": {"granted": self.granted}})
            return self.granted

    async def release(self, client: int, token: int) -> None:
        """Give the lock back; nothing happens if it is another client's by now."""
        async with self._mutex:
            if token == self.granted:
                self._client = None
            self._log({"action": "release", "arguments": {"client": client}, "state": {"holder": self.holder}})


class Storage:
    """Takes writes of those who have the lock, and refuses tokens that are too old. It knows no clients."""

    def __init__(self, log: Log = lambda line: None) -> None:
        self.newest = self.last = 0
        self._log = log

    async def write(self, token: int) -> None:
        """Write with a token.

        Raises:
            Stale: a newer token was seen.
        """
        if token < self.newest:
            raise Stale
        self.newest = self.last = token
        self._log({"action": "write", "state": {"last": token}})


async def short_run(log: Log) -> None:
    """Client 0 sleeps for longer than its lease, and then gives back a lock that client 1 has. Client 2 asks for it."""
    clock = Clock()
    service, storage = LockService(clock, log), Storage(log)
    first = await service.acquire(0)
    clock.now += LEASE
    second = await service.acquire(1)
    if first and second:
        await storage.write(second)
        await service.release(0, first)
    if third := await service.acquire(2):
        await storage.write(third)


if __name__ == "__main__":
    lines: list[str] = []
    asyncio.run(short_run(lambda line: lines.append(json.dumps(line) + "\n")))
    Path(sys.argv[1]).write_text("".join(lines), encoding="utf-8")
