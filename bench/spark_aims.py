"""What is aimed at on Spark, and what this machine takes, in one run.

    python bench/spark_aims.py          # ten minutes on a machine that has nothing else to do
    python bench/spark_aims.py --small

Each search is by `on_spark.py` in a process of its own, with kept trees, every state stored, and followed there by the
local engine. Processor time is that of all processes. Starting up is from the start of a process to the end of the
first level that tasks have made.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from usage import processor_seconds_by_kind

from highwater.claims.on_spark import session
from highwater.explorer.verdict import Budget, Progress, SearchOptions

BENCH = Path(__file__).parent
AIMS = {"local[2]": 2.0, "a standalone cluster of two": 2.5}
OPTIONS = {"local[2]": ["--master", "local[2]"], "a standalone cluster of two": ["--standalone", "2"]}


def search(where: str, more: list[str]) -> None:
    """Print a search's processor time over that of the local engine, and what its late levels took."""
    command = [sys.executable, str(BENCH / "on_spark.py"), "--only-search", "--keep-trees", *OPTIONS[where], *more]
    shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {
        name: [cell.strip() for cell in cells.split("|")]
        for name, cells in re.findall(r"^\| (search|local engine) \|(.*)\|$", shown, re.MULTILINE)
    }
    spark, local = (float(found[name][1].split()[0]) for name in ("search", "local engine"))
    print(
        f"{where}: {spark / local:.1f} times the processor time of the local engine, aim {AIMS[where]} ({spark:.1f} s: "
        f"{found['search'][1].partition('(')[2].rstrip(')')}; local {local:.1f} s); {found['search'][0]} s, local "
        f"{found['local engine'][0]} s\n    late levels: {found['search'][-1]}, aim 0.3 s",
        flush=True,
    )


def start_up() -> None:
    """Print how long this process has taken when tasks have made the first level."""

    def note(progress: Progress) -> None:
        if progress.level_ended and progress.depth == 1:
            used = processor_seconds_by_kind()
            parts = " + ".join(f"{seconds:.1f} {kind}" for kind, seconds in used.items())
            print(
                f"start-up to the first level: {age():.1f} s, aim 8 s; {sum(used.values()):.1f} processor s ({parts})"
            )

    spark = session("local[2]")  # imports the search while Java starts, as the command does
    from on_spark import SMALL, recipe

    from highwater.spark.driver.explore import explore

    options = SearchOptions(keep_trees=True, on_progress=note)
    explore(recipe(SMALL), Budget(max_depth=1), options, spark=spark, rows_worth_a_job=0)


def age() -> float:
    """Seconds since this process began."""
    began = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="737,794 states in place of 9,985,570")
    parser.add_argument("--start-up", action="store_true", help="only what starting up takes, of this process")
    arguments = parser.parse_args()
    if arguments.start_up:
        start_up()
        return
    from on_spark import load

    print(f"begins {load()}", flush=True)
    for _ in range(3):
        subprocess.run([sys.executable, __file__, "--start-up"], check=True)
    for where in AIMS:
        search(where, ["--small"] if arguments.small else [])
    print(f"ends {load()}")


if __name__ == "__main__":
    main()
