"""What each part of a level costs on Spark, in processor seconds and bytes per row: the tasks' own functions, in one
process and in turn, without Spark.

    python bench/level_parts.py 3 2 2 3                       # brokers, log length, records, leader epochs 0..3
    python bench/level_parts.py 3 2 2 4 --folder FOLDER       # 113,065,123 states: some 6 GB below FOLDER meanwhile
    python bench/level_parts.py 3 2 2 3 --partitions 400      # what many small blocks cost
    python bench/level_parts.py --driver                      # what the driver does alone, for each file and task

The model is KIP-320 without symmetry and without properties. A part's time is without that of the parts in it.
`level_loop.py` reckons and simulates clusters from these figures; `docs/large.md` shows both.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

import attrs
from on_spark import recipe

from highwater.explorer.partitioned.visited import Visited
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.states.counts import Counts
from highwater.spark.levels import Level, LevelFile, Levels
from highwater.spark.worker.inbox import Inbox
from highwater.spark.worker.level import Admitted, Block, Expanded, admit_blocks, expand_file
from highwater.spark.worker.shard import Shard, next_digest
from highwater.spark.worker.tasks import PLACE, _as_json, _block, read_report, sent


class Parts:
    """Processor seconds by part. Time in a part within a part is the inner one's."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._running = ["the rest"]
        self._since = time.process_time()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self._turn()
        self._running.append(name)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def _turn(self) -> None:
        now = time.process_time()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def watch(self, owner: Any, function: str, name: str) -> Any:
        """A patch that counts what a function takes."""
        made = getattr(owner, function)

        @functools.wraps(made)
        def watched(*arguments: Any, **more: Any) -> Any:
            with self.part(name):
                return made(*arguments, **more)

        return patch.object(owner, function, watched)

    def watch_each(self, owner: Any, function: str, name: str) -> Any:
        """A patch that counts what a generator takes for its values."""
        made = getattr(owner, function)

        def watched(*arguments: Any, **more: Any) -> Iterator[Any]:
            values = iter(made(*arguments, **more))
            while True:
                with self.part(name):
                    value = next(values, None)
                if value is None:
                    return
                yield value

        return patch.object(owner, function, watched)

    def __str__(self) -> str:
        return ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.seconds.most_common())


WATCHED = (
    (Levels, "words_of", "read"),
    (PartitionWorker, "rows_of", "read"),
    (PartitionWorker, "_learn_what_was_missed", "learn"),
    (Shard, "__init__", "check"),
    (Visited, "admit", "admit"),
    (Shard, "_make_table", "grow the table"),
    (PartitionWorker, "columns_of", "write"),
    (PartitionWorker, "orbits", "write"),
    (Levels, "write_file", "write"),
    (Shard, "note", "note and fold"),
    (Levels, "commit", "commit"),
)


@attrs.define
class Loop:
    """A search by levels as Spark's tasks do it, one after the other.

    Attributes:
        sent: records, blocks and bytes that went from one task to another.
    """

    worker: PartitionWorker
    folder: Path
    partitions: int
    parts: Parts = attrs.field(factory=Parts)
    levels: list[Level] = attrs.field(factory=list)
    digests: list[str] = attrs.field(factory=list)
    sent: Counter[str] = attrs.field(factory=Counter)

    @property
    def store(self) -> Levels:
        return Levels(f"{self.folder}/levels", temporary=True)

    def run(self, most: int) -> None:
        """Make level after level, until there are no more or more states than `most`."""
        rows = self.worker.representative_rows(self.worker.system.initial)
        first = self.store.write_file(
            0, 0, self.worker.columns_of(rows), *[-1 + 0 * rows[: len(rows) // self.worker.units].astype("i8")] * 2,
            self.worker.orbits(rows),
        )  # fmt: skip
        self.digests = [""] * self.partitions
        store = self.store
        self._end(store, [Admitted(0, (first,), 1, {}, [], 0)], 1)
        while self.levels[-1].rows and sum(level.rows for level in self.levels) < most:
            self._next(store)

    def _next(self, store: Levels) -> None:
        level, before, began = self.levels[-1], Counter(self.parts.seconds), Counter(self.sent)
        inboxes = [Inbox(self.folder) for _ in range(self.partitions)]
        for source, file in enumerate(level.files):
            self._expand(store, source, file, inboxes)
        reports = [self._admit(store, partition, inbox) for partition, inbox in enumerate(inboxes)]
        self._end(store, reports, self.partitions)
        took, moved = self.parts.seconds - before, self.sent - began
        stored, new = sum(each.rows for each in self.levels), self.levels[-1]
        print(json.dumps({
            "level": new.depth, "expanded": level.rows, "rows": new.rows, "stored": stored, **moved,
            "files": len(new.files), "bytes": new.bytes, "visited": new.visited,
            "seconds": {name: round(seconds, 4) for name, seconds in took.items()},
        }), flush=True)  # fmt: skip

    def _expand(self, store: Levels, source: int, file: LevelFile, inboxes: list[Inbox]) -> None:
        rows = self.worker.rows_of(store.words_of(file, self.worker.layout.words))
        for found in expand_file(self.worker, rows, source, self.partitions, ()):
            if isinstance(found, Expanded):
                continue
            with self.parts.part("pack"):
                _, block = sent(found.owner, source, found.number, found.records.data.cast("B"))
            with self.parts.part("unpack"):
                inboxes[found.owner].put(found.owner, PLACE.unpack_from(block)[1:3], block)
            self.sent += Counter(records=len(found.records) // self.worker.record_width, blocks=1, moved=len(block))

    def _admit(self, store: Levels, partition: int, inbox: Inbox) -> Admitted:
        depth, digest = len(self.levels), self.digests[partition]
        shard = Shard(self.folder / f"{partition:05d}", self.worker.layout)
        with inbox:
            shard.catch_up(self.worker, store, depth, digest, partition, self.partitions)
            admitted = admit_blocks(self.worker, shard, self._unpacked(partition, inbox), store, depth, partition, ())
            shard.note(digest, admitted.files)
            shard.close()
        return admitted

    def _unpacked(self, partition: int, inbox: Inbox) -> Iterator[Block]:
        blocks = inbox.in_order(partition)
        while True:
            with self.parts.part("unpack"):
                block = next(blocks, None)
                found = _block(partition, block) if block is not None else None
            if found is None:
                return
            yield found

    def _end(self, store: Levels, admitted: Sequence[Admitted], partitions: int) -> None:
        files = tuple(file for report in admitted for file in report.files)
        counts, visited = Counts.none(len(self.worker.system.actions)), sum(report.visited for report in admitted)
        level = Level(
            len(self.levels), files, sum(each.states for each in admitted), counts, partitions, visited=visited
        )
        store.commit(level)
        self.levels.append(level)
        self.digests = [
            next_digest(digest, level.files_for(partition, self.partitions))
            for partition, digest in enumerate(self.digests)
        ]

    def rebuild(self) -> None:
        """Make the shard of the first partition anew, as after an executor is lost, and check it then."""
        with tempfile.TemporaryDirectory(dir=self.folder) as anew:
            for what in ("rebuilt", "checked"):
                wall, began = time.perf_counter(), time.process_time()
                shard = Shard(Path(anew), self.worker.layout)
                depth = len(self.levels)
                shard.catch_up(self.worker, self.store, depth, self.digests[0], 0, self.partitions)
                rows, size = shard.end, shard.bytes_taken
                shard.settle()
                shard.close()
                wall, took = time.perf_counter() - wall, time.process_time() - began
                print(f"{what}: {rows:,} rows, {size:,} bytes, {took:.2f} processor s, {wall:.2f} s, "
                      f"{rows / took:,.0f} rows and {size / took / 1e9:.2f} GB a processor s", flush=True)  # fmt: skip


def measure(sizes: tuple[int, ...], folder: Path, partitions: int, most: int) -> None:
    worker = PartitionWorker(recipe(sizes)(), symmetry=False)
    kept = worker.take_kept()
    loop = Loop(worker, folder, partitions)
    with patched(loop.parts):
        loop.run(most)
    kept.keep()
    show(loop)
    loop.rebuild()


@contextmanager
def patched(parts: Parts) -> Iterator[None]:
    patches = [parts.watch(*each) for each in WATCHED]
    patches.append(parts.watch_each(PartitionWorker, "expand", "expand"))
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def show(loop: Loop) -> None:
    """A row for each part: nanoseconds of a core for each row of the levels."""
    rows, records = sum(level.rows for level in loop.levels), loop.sent["records"]
    files, size = sum(len(level.files) for level in loop.levels), sum(level.bytes for level in loop.levels)
    visited = max(level.visited for level in loop.levels)
    print(f"\n{rows:,} rows of {loop.worker.layout.bits} bits, {loop.partitions} partitions, {len(loop.levels)} levels")
    print(
        f"{records / rows:.2f} records a row, {loop.sent['moved'] / records:.1f} bytes each, "
        f"{loop.sent['blocks']:,} blocks"
    )
    print(f"{size / rows:.2f} bytes a row in {files:,} files; visited {visited / rows:.2f} bytes a row")
    for name, seconds in loop.parts.seconds.most_common():
        print(f"| {name} | {seconds:.2f} s | {seconds / rows * 1e9:.0f} ns a row |", flush=True)


def timed(what: Callable[[], Any], least: float = 0.5) -> float:
    """Processor seconds that it takes, the least of some runs."""
    taken: list[float] = []
    while sum(taken) < least or len(taken) < 3:
        began = time.process_time()
        what()
        taken.append(time.process_time() - began)
    return min(taken)


def driver() -> None:
    """What the driver does alone for a level of so many files and partitions."""
    for partitions, files in ((80, 1_000), (400, 10_000), (4_000, 10_000), (4_000, 100_000)):
        made = [_file(number % partitions) for number in range(files)]
        level = Level(7, tuple(made), files, Counts.none(60), partitions)
        report = _as_json(Admitted(0, tuple(made[: files // partitions]), 1, {}, [], 0))
        with tempfile.TemporaryDirectory() as folder:
            store = Levels(folder, temporary=True)
            commit = timed(functools.partial(store.commit, level))
            read = timed(functools.partial(store.level, 7))
            size = (Path(folder) / "levels" / "00007.json").stat().st_size
        print(
            f"{partitions:,} partitions, {files:,} files: commit {commit:.3f} s, manifest {size:,} bytes, read "
            f"{read:.3f} s, reports {partitions * timed(functools.partial(read_report, report)):.3f} s"
        )


def _file(partition: int) -> LevelFile:
    name = f"00007/part-{partition:05d}-{uuid.uuid4().hex[:12]}.parquet"
    return LevelFile(name, partition, 1 << 20, 12 << 20, uuid.uuid4().hex * 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", default=[3, 2, 2, 3], help="the bounds")
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--most", type=int, default=10**12, help="end once so many states are stored")
    parser.add_argument("--folder", help="where levels and visited sets are meanwhile")
    parser.add_argument("--driver", action="store_true", help="what the driver does alone")
    asked = parser.parse_args()
    if asked.driver:
        driver()
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        measure(tuple(asked.sizes), Path(folder), asked.partitions, asked.most)


if __name__ == "__main__":
    main()
