"""The fault injector: what a disk, the system and the memory do wrong, at every place where they can.

It counts the calls that write to one folder, and lets one of them fail, or the machine die there. After a death what
was not synced is lost, torn in the middle, or has arrived; and a file that was renamed has its old name again unless
its folder was synced.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CALLS = ("open", "write", "fsync", "replace")


class Died(BaseException):
    """The machine has died. Nothing of the program runs after this."""


class Disk:
    """The folder below which calls are counted, and what becomes of one of them.

    Attributes:
        fails: the number of the call that goes wrong, from 1; 0 for none.
        how: an errno's number, or `died`.
        calls: how many there were.
        most: the most bytes that a write takes at once.
    """

    def __init__(self, folder: Path, fails: int = 0, how: int | str = errno.EIO, most: int = 1 << 30) -> None:
        self.folder, self.fails, self.how, self.most, self.calls = folder, fails, how, most, 0
        self.dead = False
        self._files: dict[int, str] = {}
        self._unsynced: set[str] = set()
        self._renamed: list[tuple[str, bytes | None]] = []
        self._real = {name: getattr(os, name) for name in (*CALLS, "unlink", "close")}

    @contextmanager
    def inserted(self) -> Iterator[Disk]:
        """Have the disk between the program and the real one."""
        for name in self._real:
            setattr(os, name, getattr(self, f"_{name}"))
        try:
            yield self
        except Died:
            for file in self._files:  # as the system does for a process that ends; with them go its locks
                self._real["close"](file)
        finally:
            for name, real in self._real.items():
                setattr(os, name, real)

    def lose(self, part: float) -> None:
        """After a death: keep that part of each file that was not synced, and undo renames that were not."""
        for name, before in reversed(self._renamed) if part < 1 else ():
            self._unsynced.discard(name)
            Path(name).unlink(missing_ok=True)
            if before is not None:
                Path(name).write_bytes(before)
        for name in self._unsynced:
            if os.path.exists(name):
                os.truncate(name, int(os.path.getsize(name) * part))

    def _count(self) -> None:
        if self.dead:
            raise Died
        self.calls += 1
        if self.calls == self.fails:
            if self.how == "died":
                self.dead = True
                raise Died
            raise OSError(self.how, os.strerror(int(self.how)))

    def _is_below(self, path: Any) -> bool:
        return isinstance(path, str | Path) and Path(path).is_relative_to(self.folder)

    def _open(self, path: Any, flags: int, *rest: Any, **more: Any) -> int:
        below = self._is_below(path)
        if below and flags & os.O_CREAT:
            self._count()
        file = self._real["open"](path, flags, *rest, **more)
        if below:
            self._files[file] = str(path)
            if flags & os.O_CREAT and os.path.getsize(file) == 0:
                self._unsynced.add(str(path))
        return file

    def _close(self, file: int) -> None:
        self._files.pop(file, None)
        self._real["close"](file)

    def _write(self, file: int, data: Any) -> int:
        if file in self._files:
            self._count()
            data = memoryview(data)[: self.most]
        return self._real["write"](file, data)

    def _fsync(self, file: int) -> None:
        name = self._files.get(file)
        if name is not None:
            self._count()
            self._unsynced.discard(name)
            if os.path.isdir(name):
                self._renamed = [each for each in self._renamed if os.path.dirname(each[0]) != name]
        self._real["fsync"](file)

    def _replace(self, source: Any, target: Any) -> None:
        if self._is_below(target):
            self._count()
            before = Path(target).read_bytes() if os.path.exists(target) else None
            self._renamed.append((str(target), before))
            if str(source) in self._unsynced:
                self._unsynced.remove(str(source))
                self._unsynced.add(str(target))
        self._real["replace"](source, target)

    def _unlink(self, path: Any, *rest: Any, **more: Any) -> None:
        if self.dead and self._is_below(path):
            raise Died
        self._real["unlink"](path, *rest, **more)
