"""Which snapshots a search writes into its checkpoint, and when; and how it goes on from the last one."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

from explorer.kernels import arrays
from explorer.search.checkpoint import Checkpoint, Counted, Snapshot
from explorer.search.engine import Engine
from explorer.search.fingerprint import fingerprint

SECONDS_BETWEEN_SNAPSHOTS = 5.0


class Snapshots:
    """The snapshots of one search."""

    def __init__(self, engine: Engine, folder: Path, options: dict[str, Any]) -> None:
        prints = fingerprint(engine.system, engine.layout, len(engine.permutations), options)
        self._engine = engine
        self._checkpoint = Checkpoint(folder, prints, engine.layout.units)
        self._whole_levels: Snapshot | None = None
        self._written_at = time.perf_counter()
        self._cut_before: Counter[frozenset[str]] = Counter()

    def begin(self) -> None:
        """Begin a checkpoint."""
        self._checkpoint.begin()

    def restore(self) -> list[int]:
        """Put the search where the last snapshot was taken; how many states each of its levels stands for."""
        store, work = self._engine.store, self._engine.works[0]
        snapshot = self._checkpoint.read(store.rows)
        store.restore(snapshot.level_ends)
        counts = snapshot.counts
        work.steps[0] = counts.generated
        work.counts[arrays.AT_REST] = counts.at_rest
        work.counts[arrays.STOPPED_AT_BOUND] = counts.stopped_at_bound
        work.enabled[:] = counts.enabled
        self._cut_before = counts.cut_steps
        return list(snapshot.level_sizes)

    def note(self, level_sizes: list[int]) -> None:
        """Remember the search as it is now, at the end of a level."""
        engine = self._engine
        enabled = sum(work.enabled for work in engine.works).tolist()
        counts = Counted(engine.generated, engine.total(arrays.AT_REST), engine.total(arrays.STOPPED_AT_BOUND), enabled, self.cut_steps())
        self._whole_levels = Snapshot(list(engine.store.level_ends), list(level_sizes), counts)

    def write(self, at_once: bool) -> None:
        """Write what was noted last, unless that was done already, or just now."""
        due = at_once or time.perf_counter() - self._written_at > SECONDS_BETWEEN_SNAPSHOTS
        if due and self._whole_levels and self._checkpoint.rows_written < self._whole_levels.level_ends[-1]:
            self._checkpoint.write(self._engine.store.rows, self._whole_levels)
            self._written_at = time.perf_counter()

    def cut_steps(self) -> Counter[frozenset[str]]:
        """How many steps each set of bounds has cut, in this run and in those that it goes on from."""
        return self._cut_before + self._engine.cut_steps()
