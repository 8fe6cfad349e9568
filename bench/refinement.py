"""What a refinement costs: states per second with an invariant alone, with a step property, and with a refinement.

    python bench/refinement.py

1,152,106 states of the partition model, one thread, trees kept by a first run that does not count.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from highwater.claims.checking import check_spec
from highwater.claims.spec import make_spec

ONCE = ("isr_shrinks", "leader_moves", "spurious_fences", "process_crashes", "controlled_shutdowns", "fetch_steps")
BOUNDS = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 2, "partition_epoch_max": 4}
BOUNDS |= dict.fromkeys(ONCE, 1)
LOG = {"model": "client-log", "map": "highwater.invariants.refinements:partition_as_log"}
LOG |= {"bounds": {"log_length_max": 1, "records_max": 1}}
WAYS: dict[str, dict[str, Any]] = {
    "an invariant": {"check": ["isr_is_valid"]},
    "and a step property": {"check": ["isr_is_valid", "isr_members_keep_committed_records"]},
    "and a refinement": {"check": ["isr_is_valid"], "refines": LOG},
}


def rate(keys: dict[str, Any]) -> float:
    """The states per second of one search."""
    spec = make_spec("refinement", {"model": "partition", "preset": "repaired", "bounds": BOUNDS, **keys})
    outcome = check_spec(spec, keep_trees=True, workers=1).outcome
    return outcome.distinct_states / outcome.search_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    for number in range(runs + 1):
        for name, keys in WAYS.items():
            found = rate(keys)
            rates[name] += [found] if number else []
    for name, found_rates in rates.items():
        print(f"{name}: {statistics.median(found_rates):,.0f} states/s")


if __name__ == "__main__":
    main()
