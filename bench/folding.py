"""What folded rows save, and what they cost: each search in turn with flat and with folded rows, each in a process of
its own.

    python bench/folding.py                 # KIP-320, three searches of `partition`, the KRaft specification
    python bench/folding.py --runs 3 --most 40000000 --only partition-large

Rows are folded here earlier than `highwater.explorer.search.states.store` does by itself. A first search of each kind
is not counted.

"All in" is how much the process grows at its peak, by states that it stores: rows, parts, the visited set, and all else
that a search makes, such as trees. Trees are learned before, by a search that is not counted.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from highwater.claims.spec import load_spec
from highwater.explorer.memory import process_memory
from highwater.explorer.search.levels.breadth_first import explore
from highwater.explorer.search.states import store
from highwater.explorer.verdict import Budget, SearchOptions

ROOT = Path(__file__).parents[1]
KIP_320 = """
model = "reference"
protocol = { variant = "kip-320" }
bounds = { brokers = 3, log_length_max = 2, records_max = 2, leader_epoch_max = 3 }
check = ["weak_isr", "strong_isr"]
expect = { verdict = "holds" }
"""
KRAFT_3_5 = """
model = "kraft-reference"
protocol = { variant = "v3.5", messages = "forgotten" }
check = ["leader_completeness_property", "consistent_read_property"]
expect = { verdict = "holds" }

[bounds]
broker_count = 3
init_replication_factor = 3
values = 1
min_isr = 2
init_isr_size = 2
fence_broker_limit = 1
unclean_shutdown_limit = 1
"""
PARTITION_LARGE = """
model = "partition"
preset = "kafka-4.1"
check = ["acknowledged_records_survive"]
expect = { verdict = "violated" }

[bounds]
brokers = 3
log_length_max = 2
records_max = 2
min_insync_replicas = 2
fetch_steps = 1
leader_epoch_max = 4
partition_epoch_max = 9
controlled_shutdowns = 3
stops_per_broker = 1
down_at_once = 1
"""
QUESTIONS = ROOT / "specs" / "partition" / "questions"
SPECS = {
    "kip-320": KIP_320,
    "partition-3.5": QUESTIONS / "kafka_3_5_keeps_records_over_a_rolling_restart_that_waits_for_the_isr.toml",
    "partition-4.1": QUESTIONS / "kafka_4_1_without_its_metadata_rule_keeps_records_in_a_rolling_restart.toml",
    "kraft-3.5": KRAFT_3_5,
    "partition-large": PARTITION_LARGE,
}


def search(path: Path, most: int, workers: int, *, folds: bool) -> None:
    """One search, every state of it, and a line of what it took."""
    store.FOLD_FROM = 1 << 24 if folds else 1 << 62
    system = load_spec(path).system()
    before = process_memory()
    found = explore(
        system,
        Budget(max_states=most),
        SearchOptions(workers=workers, symmetry=False, keep_going=True, keep_trees=True),
    )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    processor = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    print(found.bits, found.stored_states, found.memory, grown, found.seconds, processor, flush=True)


def measured(path: Path, most: int, workers: int, *, folds: bool) -> list[float]:
    how = "folded" if folds else "flat"
    command = [sys.executable, __file__, "--one", path, how, "--most", most, "--workers", workers]
    kept = os.environ | {"XDG_CACHE_HOME": str(path.parent / how)}  # each goes by the size that its own kind had
    ran = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True, cwd=ROOT, env=kept)
    return [float(each) for each in ran.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often each search is run (default 3)")
    parser.add_argument("--most", type=int, default=20_000_000, help="states to stop at (default 20,000,000)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", choices=SPECS, action="append", help="one of the searches; may be given again")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        search(Path(given.one[0]), given.most, given.workers, folds=given.one[1] == "folded")
        return
    with tempfile.TemporaryDirectory() as folder:
        print("| search | bits | stored states | rows | bytes | all in | wall s | processor s |")
        print("|---|---|---|---|---|---|---|---|")
        for name in given.only or SPECS:
            of = SPECS[name]
            path = Path(folder) / f"{name}.toml"
            path.write_text(of.read_text() if isinstance(of, Path) else of)
            for folds in (False, True):
                measured(path, given.most, given.workers, folds=folds)  # learns the trees, and makes machine code
            runs = [
                {folds: measured(path, given.most, given.workers, folds=folds) for folds in (False, True)}
                for _ in range(given.runs)
            ]
            for folds in (False, True):
                bits, states, memory, grown, wall, processor = map(
                    statistics.median, zip(*(run[folds] for run in runs), strict=True)
                )
                print(
                    f"| {name} | {bits:.0f} | {states:,.0f} | {'folded' if folds else 'flat'} | {memory / states:.1f} "
                    f"| {grown / states:.1f} | {wall:.1f} | {processor:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
