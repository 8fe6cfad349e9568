"""How the search on Spark compares with a plain anti-join and with the local engine, on the KIP-320 model.

    python bench/on_spark.py                 # (3, 2, 2, 3): 9,985,570 states, every one stored, local[2], no properties
    python bench/on_spark.py --small         # (3, 2, 2, 2): 737,794 states
    python bench/on_spark.py --symmetry      # one state in place of six
    python bench/on_spark.py --master spark://host:7077 --checkpoint /shared/folder

The plain pipeline is what one writes first: read the level, expand it in `mapInArrow` with the same kernel and the same trees, `distinct`,
`left_anti` join with all levels so far, write the new level as Parquet. It stores words only, no parents, and commits nothing, which
favours it. Both run in the same session, in turn, after a warm-up that is not counted. Memory is what /proc says, sampled: the Python
driver, its Java machine, and the largest sum over all Python workers (in local mode; memory-mapped files that are shared count for each).
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa

from explorer.search import local
from explorer.search.parts import PartEngine
from explorer.verdict import Progress
from highwater.on_spark import system_of
from spark.explore import explore
from spark.level import Search, engine_of
from spark.session import session
from spark.store import Levels

BOUNDS = ("brokers", "log_length_max", "records_max", "leader_epoch_max")
TINY, SMALL, LARGE = (3, 2, 2, 1), (3, 2, 2, 2), (3, 2, 2, 3)
DISTINCT = {TINY: 39_619, SMALL: 737_794, LARGE: 9_985_570}


def recipe(sizes: tuple[int, ...]) -> Callable[[], Any]:
    return functools.partial(system_of, "reference", {"variant": "kip-320"}, dict(zip(BOUNDS, sizes, strict=True)), ("no_deadlock",))


def plain(spark: Any, sizes: tuple[int, ...], symmetry: bool, folder: str) -> tuple[int, list[float]]:
    """The plain pipeline; how many states it stores, and the seconds of each level."""
    make = recipe(sizes)
    engine = PartEngine(make(), symmetry)
    rows = engine.representative_rows(engine.system.initial)
    for _ in range(10):  # the same warm start that the search's driver gives: its trees after ten levels
        records = [some.reshape(-1, engine.record_width)[:, :-2] for _, some in engine.expand(rows, 1)]
        rows = np.ascontiguousarray(np.unique(np.concatenate(records), axis=0)).reshape(-1)
        engine.take_counts()
    search = Search("plain", make, symmetry, {}, engine.fingerprint({}), engine.trees(), Levels(folder))
    shared, words = spark.sparkContext.broadcast(search), [f"w{word}" for word in range(engine.layout.words)]
    schema = pa.schema([(name, pa.int64()) for name in words])
    in_spark = ", ".join(f"{name} bigint" for name in words)

    def expand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        engine = engine_of(shared.value)
        found = pa.Table.from_batches(list(batches), schema)
        columns = [column.to_numpy().view(np.uint64) for column in found.columns]
        if len(found):
            for _, records in engine.expand(engine.rows_of(columns), 1):
                made = np.ascontiguousarray(records.reshape(-1, engine.record_width)[:, :-2]).reshape(-1)
                yield pa.record_batch([column.view(np.int64) for column in engine.columns_of(made)], schema=schema)
            engine.take_counts()

    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    first = engine.columns_of(engine.representative_rows(engine.system.initial))
    spark.createDataFrame([tuple(int(c.view(np.int64)[0]) for c in first)], in_spark).write.parquet(f"{folder}/0")
    total, depth, seconds = 1, 0, []
    while True:
        started = time.perf_counter()
        visited = spark.read.schema(in_spark).parquet(*(f"{folder}/{level}" for level in range(depth + 1)))
        level = spark.read.schema(in_spark).parquet(f"{folder}/{depth}")
        level.mapInArrow(expand, in_spark).distinct().join(visited, words, "left_anti").write.parquet(f"{folder}/{depth + 1}")
        new = spark.read.schema(in_spark).parquet(f"{folder}/{depth + 1}").count()
        seconds.append(time.perf_counter() - started)
        if not new:
            return total, seconds
        total, depth = total + new, depth + 1


class Usage:
    """The most memory that the processes below this one have taken, by kind, while it watches, and their processor time."""

    def __init__(self) -> None:
        self.processor = 0.0
        self.most: dict[str, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Usage:
        self._before = processor_seconds()
        self._thread.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._over.set()
        self._thread.join()
        self.processor = processor_seconds() - self._before

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            now: dict[str, int] = {}
            for pid, kind in processes_below().items():
                now[kind] = now.get(kind, 0) + resident(pid)
            for kind, size in now.items():
                self.most[kind] = max(self.most.get(kind, 0), size)

    def __str__(self) -> str:
        memory = ", ".join(f"{kind} {size / 2**20:,.0f} MiB" for kind, size in sorted(self.most.items()))
        return f"{self.processor:.1f} processor seconds; {memory}"


def processes_below() -> dict[int, str]:
    """This process and those that it has started, by what they are."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            names[int(entry.name)] = stat[stat.index("(") + 1 : stat.rindex(")")]
            parents[int(entry.name)] = int(stat[stat.rindex(")") + 2 :].split()[1])
    found = {os.getpid(): "driver"}
    changed = True
    while changed:
        above = {pid: names[pid] for pid, parent in parents.items() if parent in found and pid not in found}
        more = {pid: "java" if name == "java" else "workers" for pid, name in above.items()}
        found |= more
        changed = bool(more)
    return found


def processor_seconds() -> float:
    """What this process, those that it has started and those that these have seen end have used."""
    total = 0
    for pid in processes_below():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        total += sum(map(int, stat[stat.rindex(")") + 2 :].split()[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="the smaller bounds")
    parser.add_argument("--symmetry", action="store_true", help="store one state for all that differ by broker names")
    parser.add_argument("--runs", type=int, default=1, help="how often both are run in turn")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--partitions", type=int)
    parser.add_argument("--checkpoint", help="a folder that driver and executors reach; a temporary one by default")
    parser.add_argument("--without-plain", action="store_true", help="the search only")
    arguments = parser.parse_args()
    sizes = SMALL if arguments.small else LARGE
    spark = session(arguments.master, **{"spark.ui.enabled": "false"})

    def ours(sizes: tuple[int, ...], tell: Callable[[Progress], None] = lambda progress: None) -> Any:
        with tempfile.TemporaryDirectory(dir=arguments.checkpoint) as folder:
            how = {"partitions": arguments.partitions, "symmetry": arguments.symmetry, "on_progress": tell}
            return explore(recipe(sizes), spark=spark, checkpoint=f"{folder}/levels", **how)

    def theirs(sizes: tuple[int, ...]) -> tuple[float, list[float]]:
        with tempfile.TemporaryDirectory(dir=arguments.checkpoint) as folder:
            started = time.perf_counter()
            stored, levels = plain(spark.newSession(), sizes, arguments.symmetry, folder)
            seconds = time.perf_counter() - started
        if not arguments.symmetry:
            assert stored == DISTINCT[sizes], stored
        return seconds, levels

    ours(SMALL)
    if not arguments.without_plain:
        theirs(TINY)
    for _ in range(arguments.runs):
        print(time.strftime("%H:%M:%S"), "load", Path("/proc/loadavg").read_text().strip(), flush=True)
        seen: list[Progress] = []
        with Usage() as usage:
            outcome = ours(sizes, seen.append)
        assert outcome.distinct_states == DISTINCT[sizes], outcome
        searched = usage.processor
        print(f"search: {outcome.seconds:.1f} s, {outcome.stored_states:,} stored, {outcome.generated:,} generated, depth {outcome.depth}")
        print(f"  {outcome.stored_states / outcome.seconds:,.0f} stored states/s; {usage}; {outcome.compiled_paths:,} paths", flush=True)
        for progress in (each for each in seen if each.level_ended):
            print(f"  level {progress.depth:3} {progress.frontier:12,} rows of {progress.stored_states:12,} stored  {progress.more}")
        if not arguments.without_plain:
            with Usage() as usage:
                seconds, levels = theirs(sizes)
            ratios = f"ratio {seconds / outcome.seconds:.2f}, of processor seconds {usage.processor / searched:.2f}"
            print(f"plain anti-join: {seconds:.1f} s; {usage}; {ratios}", flush=True)
            print("  seconds per level: " + " ".join(f"{level:.2f}" for level in levels))
        one = local.explore(recipe(sizes)(), symmetry=arguments.symmetry)
        print(f"local engine: {one.seconds:.2f} s; ratio {outcome.seconds / one.seconds:.1f}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
