"""The visited set of one partition as files on an executor's disk: a cache of the partition's rows in the committed
levels.

A shard notes for every level the committed files that it has: a digest of their names. It may be behind or ahead of the
committed levels, or have files that were not committed, after a failed attempt or a task on another executor. A task
then goes back to the last level on which both agree, and reads the rest from storage. If a process is killed while it
changes a shard, the shard drops what it has not noted. So the loss of a shard only costs time.

It notes checksums of the rows of each level, of the table and of what is folded, too. Every task begins by comparing
them, and reads what a bad disk has changed from storage again.

Once that saves much, the rows of each level are folded when the level is over. A shard that is killed meanwhile drops
all that it has.

The files are in a folder of the executor that Spark removes. They are memory-mapped, because consecutive tasks of a
partition run in different processes. Their names have the machine's boot id, because a crash of the machine leaves
their contents unknown.
"""

from __future__ import annotations

import fcntl
import hashlib
import math
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from highwater.explorer.compiler.layout import Layout
from highwater.explorer.partitioned.visited import Visited
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.keeping.durable import CheckpointError, seal, unseal
from highwater.explorer.search.states.folded import Folded
from highwater.spark.levels import Level, LevelFile, Levels

PAGE = 1 << 14  # bytes: numpy adds up long pages faster, and hashes what is left of the last one slowly


def next_digest(before: str, files: Sequence[LevelFile]) -> str:
    """The digest of all levels that a partition has, after one more, of which it has these files."""
    return hashlib.sha256(f"{before}/{' '.join(file.name for file in files)}".encode()).hexdigest()[:16]


def digests_of(levels: Sequence[Level], partition: int, partitions: int) -> list[str]:
    """The digest after each of some levels, the first of which has depth 0."""
    digests = [""]
    for level in levels:
        digests.append(next_digest(digests[-1], level.files_for(partition, partitions)))
    return digests[1:]


def checksum(array: np.ndarray) -> str:
    """A checksum, as fast as memory is read: of the sums of all pages."""
    data = array.reshape(-1).view(np.uint8)
    whole = len(data) // PAGE * PAGE
    pages = data[:whole].view(np.uint64).reshape(-1, PAGE // 8).sum(axis=1, dtype=np.uint64)
    return hashlib.sha256(pages.tobytes() + data[whole:].tobytes()).hexdigest()[:16]


class Shard(Visited):
    """The visited set of one partition, held by one process at a time."""

    def __init__(self, folder: Path, layout: Layout, windows: int = 1) -> None:
        folder = (
            folder / Path("/proc/sys/kernel/random/boot_id").read_text().strip()
            if os.path.exists("/proc/sys/kernel")
            else folder
        )
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = open(folder / "lock", "w")  # noqa: SIM115 - held until `close`
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._noted: list[tuple[str, int]] = []
        self._sums: list[str] = []  # of the rows of each level that is noted
        self._summed_as = 0  # the bytes of a folded row then; 0 if they were flat
        self._sum_of_folded = ""
        self._stays_mapped = windows == 1
        super().__init__(layout, windows)
        self._restore()

    def close(self) -> None:
        """Let other processes use the files."""
        self._newer = self.table = np.zeros(0, np.uint32)
        self._older = None
        if not self._stays_mapped:
            for key in [key for key in _mapped if key[0] == self._folder]:
                del _mapped[key]
        _forget_replaced()
        self._lock.close()

    def catch_up(
        self, worker: PartitionWorker, levels: Levels, depth: int, last: str, partition: int, partitions: int
    ) -> int:
        """Bring the shard in line with the committed levels before `depth`, whose digest is `last`.

        Returns:
            The number of rows read from storage.
        """
        del self._noted[depth:]
        stored: list[Level] = []
        digests: list[str] = []
        if not self._noted or len(self._noted) < depth or self._noted[-1][0] != last:
            stored = [levels.level(each) for each in range(depth)]
            digests = digests_of(stored, partition, partitions)
            while self._noted and self._noted[-1][0] != digests[len(self._noted) - 1]:
                self._noted.pop()
        end = self._noted[-1][1] if self._noted else 0
        self._write_note(clean=False)  # from now on, what is not noted is not to be trusted
        if self.end > end:
            self.forget_after(end)
        missing = [(level, level.files_for(partition, partitions)) for level in stored[len(self._noted) :]]
        self.expect(sum(file.rows for level, files in missing for file in files if level.partitions == partitions))
        for level, files in missing:
            for file in files:
                rows = worker.rows_of(levels.words_of(file, worker.layout.words))
                self.add(rows if level.partitions == partitions else worker.owned(rows, partition, partitions))
            self.fold()
            self._noted.append((digests[level.depth], self.end))
        return self.end - end

    @property
    def level_ends(self) -> list[int]:
        """How many rows there are at the end of each level, after a first 0."""
        return [0, *(end for _, end in self._noted)]

    def settle(self) -> None:
        """Note that nothing is changed before the shard is closed."""
        self._write_note(clean=True)

    def note(self, before: str, files: Sequence[LevelFile]) -> None:
        """Note that the shard has one more level as a whole. If its files are not committed, the digests differ."""
        self.fold()
        self._noted.append((next_digest(before, files), self.end))
        self._write_note(clean=True)

    def fold(self) -> None:
        """Fold the rows that are flat. Until that is over the shard is worth nothing, and says so."""
        if self.folds:
            self._write_note(clean=False, whole=False)
            super().fold()
            self._sum_of_folded = self._folded_sum()
            self._write_note(clean=False)

    def _write_note(self, *, clean: bool, whole: bool = True) -> None:
        if whole:
            self._sum_levels()
        note = {
            "noted": self._noted if whole else [],
            "sums": self._sums if whole else [],
            "summed_as": self._summed_as,
            "table": checksum(self.table) if clean else "",
            "fold_from": self._fold_from,
            "folded": self.folded if whole else 0,
            "older": self._older.note() if self._older and whole else None,
            "sum_of_folded": self._sum_of_folded,
        }
        temporary = self._folder / "note.tmp"
        temporary.write_bytes(seal(note)[0])
        os.replace(temporary, self._folder / "note.json")

    def _sum_levels(self) -> None:
        """Bring the checksums in line with the levels that are noted."""
        summed_as = self._older.row_bytes if self._older and self.folded else 0
        if summed_as != self._summed_as:
            self._sums, self._summed_as = [], summed_as
        del self._sums[len(self._noted) :]
        ends = self.level_ends
        self._sums += [self._sum_of(ends[level], ends[level + 1]) for level in range(len(self._sums), len(self._noted))]

    def _sum_of(self, begin: int, end: int) -> str:
        """The checksum of some rows, all of which are folded or none."""
        if self._older and self._summed_as:
            return checksum(self._older.rows.folded[begin * self._summed_as : end * self._summed_as])
        return checksum(self._newer[begin * self.units : end * self.units])

    def _folded_sum(self) -> str:
        """The checksum of what rows are folded with."""
        if not self._older:
            return ""
        rows = self._older.rows
        return checksum(rows.parts[: self._older.parts]) + checksum(rows.index)

    def _restore(self) -> None:
        path = self._folder / "note.json"
        try:
            note, _ = unseal(path.read_bytes(), path, "a shard")
        except (FileNotFoundError, CheckpointError):
            self._drop("folded", "parts", "index")
            self.table[:] = 0
            return
        self._fold_from, self._summed_as = note["fold_from"], note["summed_as"]
        if older := note["older"]:
            plan = np.array(older["plan"], np.uint64)
            self._older = Folded(plan, self.units, self._array, older["sizes"], older["slots"])
            self._sum_of_folded = self._folded_sum()
        if note["sum_of_folded"] == self._sum_of_folded:
            self._take_levels(note)
        if self._older and not self.folded:  # damaged, or killed while rows were folded
            self._older = None
        if not self._older:
            self._drop("folded", "parts", "index")
            self._sum_of_folded = ""
        if len(self._noted) < len(note["noted"]) or checksum(self.table) != note["table"]:
            self.table[:] = 0
            self._enter(0)

    def _take_levels(self, note: dict[str, Any]) -> None:
        """Take the levels whose rows are as they were noted."""
        for (digest, end), kept in zip(note["noted"], note["sums"], strict=True):
            if self._sum_of(self.end, end) != kept:
                return
            self._noted.append((digest, end))
            self._sums.append(kept)
            self.end, self.folded = end, min(end, note["folded"])

    def _array(self, name: str, shape: tuple[int, ...], kind: Any) -> np.ndarray:
        row, wanted = math.prod(shape[1:]) * np.dtype(kind).itemsize, shape[0]
        if name != "index":
            there = self._size(name) // row
            wanted = there if there >= wanted else max(wanted, there * 3 // 2)
        try:
            flat: np.ndarray = self._map(name, wanted * row).view(kind)
            return flat.reshape(-1, *shape[1:])
        except OSError as error:
            if name == "rows":
                raise
            raise MemoryError(f"no room for folded rows: {error}") from None  # those that are flat stay so

    def _drop(self, *names: str) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)
            _mapped.pop((self._folder, name), None)

    def _table_for(self, slots: int) -> np.ndarray:
        if self._size("table") >= 4 * slots and not hasattr(self, "table"):  # as another process left it
            return self._map("table", self._size("table")).view(np.uint32)
        (self._folder / "table.new").unlink(missing_ok=True)
        table = self._map("table.new", 4 * slots).view(np.uint32)
        os.replace(self._folder / "table.new", self._folder / "table")
        return table

    def _size(self, name: str) -> int:
        path = self._folder / name
        return path.stat().st_size if path.exists() else 0

    def _map(self, name: str, size: int) -> np.ndarray:
        """The first bytes of a file."""
        with open(self._folder / name, "a+b") as file:
            if os.fstat(file.fileno()).st_size < size:
                try:
                    _allocate(file.fileno(), size)
                except OSError as error:
                    raise OSError(error.errno, error.strerror, str(self._folder / name)) from None
            key, inode = (self._folder, name.removesuffix(".new")), os.fstat(file.fileno()).st_ino
            if key not in _mapped or (_mapped[key][0], len(_mapped[key][1])) != (inode, size):
                _mapped[key] = inode, np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)
            return _mapped[key][1]


_mapped: dict[tuple[Path, str], tuple[int, np.ndarray]] = {}
"""What this process has mapped, with the file's number. It stays mapped when a shard is closed, because the next task
of the partition would otherwise touch all its pages anew."""


def _forget_replaced() -> None:
    """Unmap files that another process has replaced or removed: they would take memory for nothing."""
    for (folder, name), (inode, _) in list(_mapped.items()):
        try:
            is_there = (folder / name).stat().st_ino == inode
        except FileNotFoundError:
            is_there = False
        if not is_there:
            del _mapped[folder, name]


def forget_mapped() -> None:
    """Unmap the shards of a search that is over."""
    _mapped.clear()


def _allocate(file: int, size: int) -> None:
    """Make a file of that size. A full disk is an error here, not a bus error later."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)
