"""How the search on Spark compares with a plain anti-join, with itself exchanging columns, and with the local engine,
on KIP-320.

    python bench/on_spark.py --runs 3        # (3, 2, 2, 3): 9,985,570 states, every one stored, local[2]; ten minutes
    python bench/on_spark.py --small         # (3, 2, 2, 2): 737,794 states
    python bench/on_spark.py --huge --only-search --checkpoint FOLDER --rebuild   # (3, 3, 3, 3): 64,739,578 states
    python bench/on_spark.py --bounds 3 2 2 4 --only-search --checkpoint FOLDER   # 113,065,123 states
    python bench/on_spark.py --symmetry      # one state in place of six
    python bench/on_spark.py --master spark://host:7077 --checkpoint /shared/folder
    python bench/on_spark.py --only-search --memory 32    # visited in windows of up to 32 MiB

`rivals_on_spark.py` says what the others do. All run in one session, in turn, after a warm-up that is not counted.
Memory is what /proc says, sampled: the Python driver, its Java machine, and the largest sum over all Python workers (in
local mode; memory-mapped files that are shared count for each of them). "One worker's own" is the most that one of them
takes beside mapped files, which are libraries and visited sets. `--json FILE` adds the levels of each search to a file,
which `level_loop.py --against FILE` compares with what it foresees.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import attrs
import rivals_on_spark
from usage import Usage, processor_seconds_by_kind

from highwater.claims.on_spark import system_of
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.verdict import Budget, Progress, SearchOptions
from highwater.spark.driver import explore as spark_explore
from highwater.spark.driver.explore import explore
from highwater.spark.driver.session import session
from highwater.spark.levels import Levels
from highwater.spark.standalone import Standalone
from highwater.spark.worker.shard import Shard, digests_of

BOUNDS = ("brokers", "log_length_max", "records_max", "leader_epoch_max")
TINY, SMALL, LARGE, HUGE = (3, 2, 2, 1), (3, 2, 2, 2), (3, 2, 2, 3), (3, 3, 3, 3)
DISTINCT = {TINY: 39_619, SMALL: 737_794, LARGE: 9_985_570, HUGE: 64_739_578}
FEW_ROWS = 50_000
FEWEST_ROWS = 10_000  # which executors explore in small searches, so that these have jobs at all
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


@attrs.frozen
class Run:
    """One search, by whoever did it.

    Attributes:
        rows, seconds_of: by level, from the initial states on.
        memory: the most bytes, by kind of process.
        own: the most bytes that one worker takes beside mapped files.
        shuffled: bytes.
    """

    name: str
    seconds: float
    rows: list[int]
    seconds_of: list[float]
    processor: float = 0.0
    processor_of: dict[str, float] = attrs.field(factory=dict)
    memory: dict[str, int] = attrs.field(factory=dict)
    shuffled: int = 0
    own: int = 0

    def __str__(self) -> str:
        parts = " + ".join(f"{seconds:.1f} {kind}" for kind, seconds in self.processor_of.items())
        cells = [f"{self.seconds:.1f}", f"{self.processor:.1f}" + (f" ({parts})" if len(self.processor_of) > 1 else "")]
        cells += [
            f"{self.memory[kind] / 2**20:,.0f}" if kind in self.memory else "" for kind in ("driver", "java", "workers")
        ]
        cells += [f"{size / 2**20:,.0f}" if size else "" for size in (self.own, self.shuffled)] + [late_levels(self)]
        return f"| {self.name} | {' | '.join(cells)} |"


COLUMNS = (
    "",
    "seconds",
    "processor seconds",
    "driver MiB",
    "Java MiB",
    "workers MiB",
    "one worker's own MiB",
    "shuffled MiB",
    "late levels of few rows: median, slowest",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


def late_levels(run: Run) -> str:
    """What levels with few rows take after the largest level, when nearly all is visited."""
    largest = run.rows.index(max(run.rows)) if run.rows else 0
    late = [seconds for rows, seconds in list(zip(run.rows, run.seconds_of, strict=True))[largest:] if rows < FEW_ROWS]
    return f"{statistics.median(late):.2f} s, {max(late):.2f} s of {len(late)}" if late else ""


def recipe(sizes: tuple[int, ...]) -> Callable[[], Any]:
    return functools.partial(
        system_of, "reference", {"variant": "kip-320"}, dict(zip(BOUNDS, sizes, strict=True)), ("no_deadlock",)
    )


class Bench:
    """Everything that is compared, in one session."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.how = arguments
        more = dict(setting.split("=", 1) for setting in arguments.conf)
        self.spark = session(arguments.master, **{"spark.ui.enabled": "false"}, **more)
        self.spark.sparkContext.addPyFile(rivals_on_spark.__file__)

    def search(self, sizes: tuple[int, ...], *, columns: bool = False) -> Run:
        spark, seen, used = session(), list[Progress](), [processor_seconds_by_kind()]
        self.keep(bounds=sizes, master=self.how.master, partitions=self.how.partitions, began=load())

        def note(progress: Progress) -> None:
            seen.append(progress)
            if progress.level_ended and self.how.json:
                used.append(processor_seconds_by_kind())
                taken = {kind: round(now - used[-2].get(kind, 0.0), 3) for kind, now in used[-1].items()}
                self.keep(rows=progress.frontier, at=round(progress.seconds, 3), said=progress.more, **taken)

        units = PartitionWorker(recipe(sizes)(), symmetry=self.how.symmetry).units
        exchanging = rivals_on_spark.exchanging_columns(spark, units) if columns else nullcontext()
        folder = tempfile.TemporaryDirectory(dir=self.how.checkpoint) if self.how.checkpoint else nullcontext()
        with folder as parent:
            how = {"symmetry": self.how.symmetry, "keep_trees": self.how.keep_trees}
            checkpoint = f"{parent}/levels" if parent else None
            options = SearchOptions(checkpoint=checkpoint, on_progress=note, **how)
            budget = Budget(memory=self.how.memory, max_states=self.how.max_states)
            with Usage() as usage, exchanging:
                outcome = explore(recipe(sizes), budget, options, spark=spark, partitions=self.how.partitions)
            if checkpoint and self.how.rebuild:
                self.rebuild(sizes, Levels(checkpoint))
        assert outcome.distinct_states == DISTINCT.get(sizes, outcome.distinct_states) or budget.max_states, outcome
        ends = [progress for progress in seen if progress.level_ended]
        seconds = [
            after.seconds - before.seconds
            for before, after in zip([attrs.evolve(ends[0], seconds=0.0), *ends], ends, strict=False)
        ]
        shuffled = sum(map(shuffled_in, (progress.more for progress in ends)))
        windows = re.search(r"(\d+) windows", ends[-1].more)
        name = f"search{', exchanging columns' if columns else f', {windows[0]}' if windows else ''}"
        return Run(
            name, outcome.seconds, [end.frontier for end in ends], seconds, usage.processor, usage.processor_of,
            usage.most, shuffled, usage.most_of_its_own,
        )  # fmt: skip

    def keep(self, **data: Any) -> None:
        """Add a line to the file of levels, if there is one."""
        if self.how.json:
            with open(self.how.json, "a") as file:
                file.write(json.dumps(data) + "\n")

    def rebuild(self, sizes: tuple[int, ...], levels: Levels) -> None:
        """Make the visited set of one partition anew from its levels, in this process, as after an executor is lost:
        twice, as kernels are loaded the first time.
        """
        worker, stored = PartitionWorker(recipe(sizes)(), symmetry=self.how.symmetry), levels.read()
        partitions = stored[-1].partitions
        last = digests_of(stored, 0, partitions)[-1]
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                shard, began, processor = Shard(Path(folder), worker.layout), time.perf_counter(), time.process_time()
                rows = shard.catch_up(worker, levels, len(stored), last, 0, partitions)
                seconds, processor = time.perf_counter() - began, time.process_time() - processor
                shard.close()
            print(
                f"rebuilt: {rows:,} rows in {seconds:.1f} s, {processor:.1f} processor s: {rows / processor:,.0f} a "
                "processor s"
            )

    def plain(self, sizes: tuple[int, ...]) -> Run:
        with tempfile.TemporaryDirectory(dir=self.how.checkpoint) as folder, Usage() as usage:
            started = time.perf_counter()
            rows, levels = rivals_on_spark.plain(
                self.spark.newSession(), recipe(sizes), folder, symmetry=self.how.symmetry
            )
            seconds = time.perf_counter() - started
        assert self.how.symmetry or 1 + sum(rows) == DISTINCT[sizes], rows
        return Run(
            "plain anti-join", seconds, [1, *rows], [0.0, *levels], usage.processor, usage.processor_of, usage.most
        )

    def local(self, sizes: tuple[int, ...]) -> Run:
        with Usage() as usage:
            one = breadth_first.explore(
                recipe(sizes)(), options=SearchOptions(symmetry=self.how.symmetry, keep_trees=self.how.keep_trees)
            )
        return Run("local engine", one.seconds, [], [], usage.processor)


def shuffled_in(more: str) -> int:
    found = re.search(r"shuffle ([\d.,]+) ([KMG]iB)", more)
    return round(float(found[1].replace(",", "")) * UNITS[found[2]]) if found else 0


def mebibytes(text: str) -> int:
    return int(text) << 20


def load() -> str:
    return f"{time.strftime('%H:%M:%S')}, load {Path('/proc/loadavg').read_text().split()[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="the smaller bounds")
    parser.add_argument("--symmetry", action="store_true", help="store one state for all that differ by broker names")
    parser.add_argument("--runs", type=int, default=1, help="how often all are run in turn")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--partitions", type=int)
    parser.add_argument(
        "--memory", type=mebibytes, metavar="MIB", help="what a task may have visited in memory at a time"
    )
    parser.add_argument("--keep-trees", action="store_true", help="begin with the trees of earlier searches")
    parser.add_argument(
        "--checkpoint",
        help="a folder that driver and executors reach; a temporary one, which is not synced, by default",
    )
    parser.add_argument(
        "--only-search", action="store_true", help="without the plain pipeline and the exchange of columns"
    )
    parser.add_argument("--bounds", type=int, nargs=4, help="brokers, log length, records and the last leader epoch")
    parser.add_argument("--max-states", type=int, help="end after the level with which more are stored")
    parser.add_argument("--json", help="a file to which the levels of each search are added")
    parser.add_argument("--alone", action="store_true", help="without the local engine, too")
    parser.add_argument("--huge", action="store_true", help="the largest bounds, for --only-search")
    parser.add_argument(
        "--rebuild", action="store_true", help="make one visited set anew from the levels, which --checkpoint keeps"
    )
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark's, KEY=VALUE")
    parser.add_argument("--standalone", type=int, metavar="N", help="on a cluster of N workers of a core, started here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="highwater-cluster-") as folder:
        cluster = Standalone(Path(folder))
        try:
            if arguments.standalone:
                cluster.start_master()
                for number in range(arguments.standalone):
                    cluster.start_worker(f"worker-{number}")
                arguments.master, arguments.checkpoint = cluster.url, folder
            compare(arguments)
        finally:
            cluster.end()


def compare(arguments: argparse.Namespace) -> None:
    """Run all in turn, and print what each took."""
    sizes, bench = SMALL if arguments.small else HUGE if arguments.huge else LARGE, Bench(arguments)
    sizes = tuple(arguments.bounds or sizes)
    rows_worth_a_job, spark_explore.ROWS_WORTH_A_JOB = spark_explore.ROWS_WORTH_A_JOB, FEWEST_ROWS
    kept, arguments.json = arguments.json, None
    warm_up(bench, only_search=arguments.only_search)
    arguments.json = kept
    if not arguments.small:
        spark_explore.ROWS_WORTH_A_JOB = rows_worth_a_job
    layout = PartitionWorker(recipe(sizes)(), symmetry=arguments.symmetry).layout
    print(f"KIP-320 {sizes}: {DISTINCT.get(sizes, 0):,} states of {layout.bits} bits; {arguments.master}")
    for number in range(arguments.runs):
        print(f"\nrun {number + 1} begins {load()}\n\n{HEAD}", flush=True)
        found = []
        for run in (
            lambda: bench.search(sizes),
            *([] if arguments.only_search else [lambda: bench.search(sizes, columns=True), lambda: bench.plain(sizes)]),
            *([] if arguments.alone else [lambda: bench.local(sizes)]),
        ):
            found.append(run())
            print(found[-1], flush=True)
        print(f"\nrun {number + 1} ends {load()}; over the search: ", end="")
        ratios = [(run.name, run.seconds / found[0].seconds, run.processor / found[0].processor) for run in found[1:]]
        print(
            "; ".join(f"{name} {seconds:.2f} (processor {processor:.2f})" for name, seconds, processor in ratios),
            flush=True,
        )
    show_levels(found[: 1 if arguments.only_search else 3])
    bench.spark.stop()


def warm_up(bench: Bench, *, only_search: bool) -> None:
    """Let Java and Python workers begin and load what they need."""
    bench.search(SMALL)
    if not only_search:
        bench.search(SMALL, columns=True)
        bench.plain(TINY)
    bench.local(TINY)


def show_levels(runs: list[Run]) -> None:
    """What each level took in the last run."""
    print(
        f"\n| level | rows | visited before | {' | '.join(run.name for run in runs)} |\n|---|---|---|"
        + "---|" * len(runs)
    )
    for depth, rows in enumerate(runs[0].rows):
        seconds = " | ".join(f"{run.seconds_of[depth]:.2f}" for run in runs)
        print(f"| {depth} | {rows:,} | {sum(runs[0].rows[:depth]):,} | {seconds} |")


if __name__ == "__main__":
    main()
