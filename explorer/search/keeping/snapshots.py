"""Which snapshots a search writes into its checkpoint, and when; and how it goes on from the last one."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from highwater.explorer.descriptions import Indescribable
from highwater.explorer.kernels import arrays
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.keeping.checkpoint import Checkpoint, Inside, Snapshot
from highwater.explorer.search.keeping.durable import CheckpointError
from highwater.explorer.search.keeping.fingerprint import fingerprint
from highwater.explorer.search.states.counts import Counts
from highwater.explorer.search.states.store import Stopped
from highwater.explorer.sources import is_as_imported

SECONDS_BETWEEN_SNAPSHOTS = 5.0
MOST_OF_THE_TIME = 0.05  # that writing may take


def deeper_than(max_depth: int | None, depth: int) -> CheckpointError | None:
    """The refusal to go on from a depth that is more than what was asked for: its counts would not be those."""
    if max_depth is None or depth <= max_depth:
        return None
    return CheckpointError(
        f"the checkpoint is of depth {depth}, more than max_depth {max_depth}: raise that, or leave --resume out"
    )


class Snapshots:
    """The snapshots of one search.

    Attributes:
        warning: why there are no more of them; empty while there are.
    """

    def __init__(self, engine: Engine, folder: Path, options: dict[str, Any]) -> None:
        try:
            prints = fingerprint(engine.system, engine.layout, len(engine.permutations), options)
        except Indescribable as error:
            raise CheckpointError(f"{folder}: no search can go on with this one: {error}; leave it out") from None
        for module in prints["modules"]:
            if not is_as_imported(module):  # no other process has what this one has imported
                prints["modules"][module] += f", written after process {os.getpid()} had imported it"
        self._engine = engine
        self._checkpoint = Checkpoint(folder, prints, engine.layout.units)
        self._whole_levels: Snapshot | None = None
        self._written: Snapshot | None = None
        self._due = time.perf_counter() + SECONDS_BETWEEN_SNAPSHOTS
        self._cut_before: Counter[frozenset[str]] = Counter()
        self.warning = ""

    def begin(self) -> None:
        """Begin a checkpoint."""
        self._checkpoint.begin()

    def close(self) -> None:
        """Let others write to the folder."""
        self._checkpoint.release()

    def restore(self, max_depth: int | None) -> Snapshot:
        """Put the search where the last snapshot was taken, or at the end of its last level if it is not to
        go deeper.

        Raises:
            CheckpointError: the snapshot cannot be read, does not fit, or is deeper than that.
        """
        store, work = self._engine.store, self._engine.works[0]
        snapshot = self._checkpoint.read(store.add)
        if (deeper := deeper_than(max_depth, len(snapshot.level_ends) - 2)) is not None:
            self.close()
            raise deeper
        self._whole_levels = attrs.evolve(snapshot, inside=None)
        if max_depth is not None and len(snapshot.level_ends) - 2 >= max_depth:
            snapshot = self._whole_levels
        self._written = snapshot
        try:
            store.restore(snapshot.level_ends, snapshot.rows)
        except Stopped:
            self.close()
            raise self._checkpoint.too_large(snapshot) from None
        counts = snapshot.inside.counts if snapshot.inside else snapshot.counts
        work.steps[0] = counts.generated
        work.counts[arrays.AT_REST] = counts.at_rest
        work.counts[arrays.STOPPED_AT_BOUND] = counts.stopped_at_bound
        work.enabled[:] = counts.enabled
        if snapshot.inside:
            work.broken[:] = snapshot.inside.broken
        self._cut_before = counts.cut_steps
        return snapshot

    def note(self, level_sizes: list[int]) -> None:
        """Remember the search as it is now, at the end of a level."""
        self._whole_levels = Snapshot(list(self._engine.store.level_ends), list(level_sizes), self._counts())

    def write(self, *, at_once: bool) -> None:
        """Write what was noted last, unless that was done already, or just now."""
        if self._whole_levels is not None and (at_once or self._is_due()):
            self._write(self._whole_levels)

    def write_inside(self, pending: Sequence[tuple[int, int]], *, at_once: bool) -> None:
        """Write the search as it is now, inside a level, while no thread runs and there are no holes among the rows.

        Args:
            pending: ranges of rows that no thread has expanded, besides the batches that threads have at hand.
        """
        if self._whole_levels is None or not (at_once or self._is_due()):
            return
        engine = self._engine
        batches = ((int(work.counts[arrays.FIRST]), int(work.counts[arrays.LAST])) for work in engine.works)
        ranges = (*pending, *((first, last) for first, last in batches if first < last))
        broken = tuple(np.any([work.broken for work in engine.works], axis=0).astype(int).tolist())
        cursor = min(int(engine.store.shared[arrays.CURSOR]), engine.store.rows_of_levels)
        self._write(
            attrs.evolve(self._whole_levels, inside=Inside(engine.store.count, cursor, ranges, self._counts(), broken))
        )

    def _is_due(self) -> bool:
        return time.perf_counter() > self._due

    def _write(self, snapshot: Snapshot) -> None:
        """Write a snapshot. Where the disk takes no more, the search goes on without."""
        if self.warning or snapshot == self._written or snapshot.rows < self._checkpoint.rows_written:
            return
        started = time.perf_counter()
        try:
            self._checkpoint.write(self._engine.store.cells, snapshot)
            self._written = snapshot
        except CheckpointError as error:
            self.warning = f"{error}; the search goes on without snapshots, and the last one is {self._last()}"
        now = time.perf_counter()
        self._due = now + max(SECONDS_BETWEEN_SNAPSHOTS, (now - started) / MOST_OF_THE_TIME)

    def _last(self) -> str:
        return f"of {self._checkpoint.rows_written:,} states" if self._written else "still to be written"

    def _counts(self) -> Counts:
        return self._engine.counts(self.cut_steps())

    def cut_steps(self) -> Counter[frozenset[str]]:
        """How many steps each set of bounds has cut, in this run and in those that it goes on from."""
        return self._cut_before + self._engine.cut_steps()
