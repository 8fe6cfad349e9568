"""Snapshots of a search on disk, from which it goes on after whatever ended it.

A checkpoint is a folder with a manifest and the rows of whole levels in parts. Parts are written, synced and renamed before the manifest
that names them replaces the one before, so that a kill at any moment leaves the newer or the older snapshot, whole. The manifest holds
the counts up to its last level, a checksum per part, and a fingerprint of what is explored: a checkpoint of another system, other
bounds, other code of the model or another layout is refused, and so is a damaged one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from explorer.search.fingerprint import Fingerprint, differences, in_one_line

FORMAT, VERSION = "highwater-checkpoint", 3
MANIFEST = "manifest.json"


class CheckpointError(Exception):
    """A checkpoint cannot be written, read, or used for this search."""


@attrs.frozen
class Counted:
    """What a search had counted when the snapshot was taken."""

    generated: int
    at_rest: int
    stopped_at_bound: int
    enabled: list[int]
    cut_steps: Counter[frozenset[str]]


@attrs.frozen
class Snapshot:
    """Whole levels: where each ends among the rows, how many states each stands for, and the counts."""

    level_ends: list[int]
    level_sizes: list[int]
    counts: Counted


class Checkpoint:
    """A folder of snapshots of one search."""

    def __init__(self, folder: Path, prints: Fingerprint, units: int) -> None:
        self._folder = folder
        self._prints = prints
        self._units = units
        self._parts: list[dict[str, Any]] = []

    @property
    def rows_written(self) -> int:
        return sum(part["rows"] for part in self._parts)

    def begin(self) -> None:
        """Make the folder.

        Raises:
            CheckpointError: it cannot be made, or holds a checkpoint already.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if (self._folder / MANIFEST).exists():
                raise CheckpointError(f"{self._folder}: holds a checkpoint already; go on from it with --resume, or name another folder")
            (self._folder / MANIFEST).with_suffix(".try").write_bytes(b"")
            (self._folder / MANIFEST).with_suffix(".try").unlink()
        except OSError as error:
            raise CheckpointError(f"{self._folder}: cannot be written: {error.strerror}") from None

    def write(self, rows: np.ndarray, snapshot: Snapshot) -> None:
        """Add a snapshot: the rows since the last one, then a new manifest.

        Raises:
            CheckpointError: the disk does not take it.
        """
        first, end = self.rows_written, snapshot.level_ends[-1]
        data = memoryview(rows[first * self._units : end * self._units]).cast("B")
        name = f"rows-{first:012d}-{end:012d}.bin"
        counts = snapshot.counts
        parts = [*self._parts, {"file": name, "rows": end - first, "sha256": hashlib.sha256(data).hexdigest()}]
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "fingerprint": self._prints,
            "units": self._units,
            "parts": parts,
            "level_ends": snapshot.level_ends,
            "level_sizes": snapshot.level_sizes,
            "counts": {
                **attrs.asdict(counts, filter=lambda field, _: field.name != "cut_steps"),
                "cut_steps": [[sorted(bounds), count] for bounds, count in counts.cut_steps.items()],
            },
        }
        text = json.dumps(manifest)
        manifest_bytes = json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "manifest": manifest}).encode()
        try:
            self._put(name, data)
            self._put(MANIFEST, manifest_bytes)
        except OSError as error:
            raise CheckpointError(f"{self._folder}: cannot be written: {error.strerror}") from None
        self._parts = parts

    def _put(self, name: str, data: Any) -> None:
        """Write a file so that it is there whole or not at all."""
        temporary = self._folder / f"{name}.tmp"
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._folder / name)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def read(self, rows: np.ndarray) -> Snapshot:
        """Read the last snapshot's rows into place.

        Raises:
            CheckpointError: there is none, it is damaged, it is of another search, or there is no room for its rows.
        """
        manifest = self._manifest()
        if different := differences(manifest["fingerprint"], self._prints):
            raise CheckpointError(f"{self._folder}: is a checkpoint of another search: {in_one_line(different)}")
        total = manifest["level_ends"][-1]
        if total * self._units > len(rows):
            raise CheckpointError(f"{self._folder}: holds {total:,} states, for which the budget has no room")
        at = 0
        for part in manifest["parts"]:
            data = self._part(part)
            rows[at : at + len(data)] = data
            at += len(data)
        self._parts = manifest["parts"]
        counts = manifest["counts"]
        cut_steps = Counter({frozenset(bounds): count for bounds, count in counts.pop("cut_steps")})
        return Snapshot(manifest["level_ends"], manifest["level_sizes"], Counted(**counts, cut_steps=cut_steps))

    def _manifest(self) -> dict[str, Any]:
        path = self._folder / MANIFEST
        try:
            whole = json.loads(path.read_bytes())
            text = json.dumps(whole["manifest"])
        except FileNotFoundError:
            raise CheckpointError(f"{self._folder}: holds no checkpoint (there is no {MANIFEST})") from None
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise CheckpointError(f"{path}: is damaged, or no manifest of a checkpoint") from None
        if hashlib.sha256(text.encode()).hexdigest() != whole.get("sha256"):
            raise CheckpointError(f"{path}: is damaged: its checksum does not match")
        manifest = whole["manifest"]
        if (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
            raise CheckpointError(f"{path}: is a checkpoint of another version of highwater")
        return manifest

    def _part(self, part: dict[str, Any]) -> np.ndarray:
        path = self._folder / part["file"]
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise CheckpointError(f"{path}: is missing from the checkpoint") from None
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}") from None
        if len(data) != 4 * self._units * part["rows"]:
            raise CheckpointError(f"{path}: is cut short: {len(data):,} of {4 * self._units * part['rows']:,} bytes")
        if hashlib.sha256(data).hexdigest() != part["sha256"]:
            raise CheckpointError(f"{path}: is damaged: its checksum does not match")
        return np.frombuffer(data, np.uint32)
