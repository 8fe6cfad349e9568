"""Snapshots of a search on disk, from which it goes on after any end.

A checkpoint is a folder with a manifest and the rows of the levels in files. Files are written, synced and renamed
before the manifest that names them replaces the one before, so that a kill at any moment leaves the newer or the older
snapshot, whole. The manifest holds the counts up to its last level, those inside the level that was being expanded, a
checksum per file, and the search's fingerprint: a checkpoint of another search is refused, and so is a damaged one. One
process at a time writes to the folder.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from highwater.explorer.search.keeping.durable import (
    CheckpointError,
    Lock,
    remove_but,
    remove_temporary,
    seal,
    unseal,
    write_whole,
)
from highwater.explorer.search.keeping.fingerprint import Fingerprint, differences, in_one_line
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.search.states.store import Stopped

FORMAT, VERSION = "highwater-checkpoint", 4
MANIFEST = "manifest.json"
ROWS_A_FILE = 1 << 20  # at most


@attrs.frozen
class Inside:
    """How far a search was inside a level.

    Attributes:
        rows: how many rows there are, those of the level that is not whole yet included.
        cursor: the first row that no thread has taken.
        pending: ranges of rows before it that are not expanded.
        counts: what was counted, those parts of the level included that were expanded.
        broken: per step property, whether a step of the level has violated it.
    """

    rows: int
    cursor: int
    pending: tuple[tuple[int, int], ...]
    counts: Counts
    broken: tuple[int, ...]


@attrs.frozen
class Snapshot:
    """Whole levels: where each ends among the rows, how many states each stands for, and the counts; then what is
    inside the next one.
    """

    level_ends: list[int]
    level_sizes: list[int]
    counts: Counts
    inside: Inside | None = None

    @property
    def rows(self) -> int:
        return self.inside.rows if self.inside else self.level_ends[-1]

    def as_data(self) -> dict[str, Any]:
        """The snapshot as JSON holds it."""
        inside = self.inside and {**attrs.asdict(self.inside, recurse=False), "counts": self.inside.counts.as_data()}
        return {**attrs.asdict(self, recurse=False), "counts": self.counts.as_data(), "inside": inside}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Snapshot:
        """The snapshot that `as_data` made that of."""
        inside = data["inside"]
        if inside is not None:
            pending = tuple((first, last) for first, last in inside["pending"])
            inside = Inside(
                inside["rows"], inside["cursor"], pending, Counts.from_data(inside["counts"]), tuple(inside["broken"])
            )
        return cls(data["level_ends"], data["level_sizes"], Counts.from_data(data["counts"]), inside)


class Checkpoint:
    """A folder of snapshots of one search."""

    def __init__(self, folder: Path, prints: Fingerprint, units: int) -> None:
        self._folder = folder
        self._prints = prints
        self._units = units
        self._files: list[dict[str, Any]] = []
        self._lock: Lock | None = None

    @property
    def rows_written(self) -> int:
        return sum(file["rows"] for file in self._files)

    def begin(self) -> None:
        """Make the folder, and keep others from writing there.

        Raises:
            CheckpointError: it cannot be made, holds a checkpoint already, or another search writes there.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{self._folder}: cannot be written: {error.strerror}") from None
        self._take()
        if (self._folder / MANIFEST).exists():
            self.release()
            raise CheckpointError(
                f"{self._folder}: holds a checkpoint already; go on from it with --resume, or name another folder"
            )
        self._clean()

    def _take(self) -> None:
        try:
            self._lock = Lock(self._folder)
        except OSError as error:
            raise CheckpointError(f"{self._folder}: cannot be written: {error.strerror}") from None

    def release(self) -> None:
        """Let others write there."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _clean(self) -> None:
        """Remove what a process that was killed has left and no manifest names."""
        remove_temporary(self._folder)
        remove_but(self._folder, "rows-*.bin", [file["file"] for file in self._files])

    def write(self, cells: Callable[[int, int], np.ndarray], snapshot: Snapshot) -> None:
        """Add a snapshot: the rows since the last one, then a new manifest.

        Args:
            cells: gives the units of a range of rows.

        Raises:
            CheckpointError: the disk does not take it; the last snapshot is still there.
        """
        ends = [*range(self.rows_written, snapshot.rows, ROWS_A_FILE), snapshot.rows]
        try:
            files = [*self._files, *(self._write_file(cells, *each) for each in itertools.pairwise(ends))]
            manifest = {
                "format": FORMAT,
                "version": VERSION,
                "fingerprint": self._prints,
                "units": self._units,
                "files": files,
                "snapshot": snapshot.as_data(),
            }
            write_whole(self._folder / MANIFEST, seal(manifest)[0])
        except OSError as error:
            raise CheckpointError(f"{self._folder}: cannot be written: {error.strerror}") from None
        self._files = files

    def _write_file(self, cells: Callable[[int, int], np.ndarray], first: int, end: int) -> dict[str, Any]:
        data = cells(first, end).reshape(-1).data.cast("B")
        name = f"rows-{first:012d}-{end:012d}.bin"
        write_whole(self._folder / name, data)
        return {"file": name, "rows": end - first, "sha256": hashlib.sha256(data).hexdigest()}

    def read(self, add: Callable[[np.ndarray], None]) -> Snapshot:
        """Read the last snapshot, and keep others from writing to the folder.

        Args:
            add: takes its rows, one file after the other, and raises `Stopped` if there is no room for them.

        Raises:
            CheckpointError: there is none, it is damaged, it is of another search, there is no room for its rows, or
                another search writes there.
        """
        if not (self._folder / MANIFEST).exists():
            raise CheckpointError(f"{self._folder}: holds no checkpoint (there is no {MANIFEST})")
        self._take()
        try:
            return self._read(add)
        except BaseException:
            self.release()
            raise

    def _read(self, add: Callable[[np.ndarray], None]) -> Snapshot:
        manifest = self._manifest()
        if different := differences(manifest["fingerprint"], self._prints):
            raise CheckpointError(f"{self._folder}: is a checkpoint of another search: {in_one_line(different)}")
        snapshot = Snapshot.from_data(manifest["snapshot"])
        try:
            for file in manifest["files"]:
                add(self._rows_in(file))
        except Stopped:
            raise self.too_large(snapshot) from None
        self._files = manifest["files"]
        self._clean()
        return snapshot

    def too_large(self, snapshot: Snapshot) -> CheckpointError:
        """The refusal of a snapshot that does not fit."""
        return CheckpointError(f"{self._folder}: holds {snapshot.rows:,} states, for which the budget has no room")

    def _manifest(self) -> dict[str, Any]:
        path = self._folder / MANIFEST
        try:
            manifest, _ = unseal(path.read_bytes(), path, "a checkpoint")
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}") from None
        if (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
            raise CheckpointError(f"{path}: is no checkpoint of this version of highwater and this engine")
        return manifest

    def _rows_in(self, file: dict[str, Any]) -> np.ndarray:
        path = self._folder / file["file"]
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise CheckpointError(f"{path}: is missing from the checkpoint") from None
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}") from None
        if len(data) != 4 * self._units * file["rows"]:
            raise CheckpointError(f"{path}: is cut short: {len(data):,} of {4 * self._units * file['rows']:,} bytes")
        if hashlib.sha256(data).hexdigest() != file["sha256"]:
            raise CheckpointError(f"{path}: is damaged: its checksum does not match")
        return np.frombuffer(data, np.uint32)
