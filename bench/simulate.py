"""How fast random walks go, alone: steps per second once the paths are compiled, and with compiling them.

    python bench/simulate.py
    python bench/simulate.py --walks 100000 --runs 5 --workers 1

The model is KIP-320 with bounds far beyond what can be exhausted. Each run makes the same walks, with weak_isr and strong_isr checked on
every state. `whole` is the simulation from the first path on; `second half` is the time that the same number of walks takes more once
as many were made.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from explorer.simulate import Simulation, simulate
from highwater.spec import build_system, resolve_model
from model.catalogue import MODELS

BOUNDS = {"brokers": 5, "log_length_max": 6, "records_max": 12, "leader_epoch_max": 10}
CHECK = ["weak_isr", "strong_isr"]
DEPTH = 200


def run(walks: int, workers: int) -> Simulation:
    protocol, definition, bounds, properties = resolve_model(MODELS["reference"], {"variant": "kip-320"}, BOUNDS, CHECK)
    system = build_system(definition, protocol, bounds, properties)
    found = simulate(system, walks=walks, depth=DEPTH, seed=1, workers=workers)
    assert found.violation is None
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walks", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, os.cpu_count() or 1])
    options = parser.parse_args()
    run(100, 1)  # numba's own compilation
    for workers in options.workers:
        whole, late = [], []
        for _ in range(options.runs):
            once, twice = run(options.walks, workers), run(2 * options.walks, workers)
            whole.append(once.steps / once.seconds)
            late.append((twice.steps - once.steps) / max(twice.seconds - once.seconds, 1e-9))
        print(
            f"{workers} threads: whole {statistics.median(whole):,.0f} steps/s ({min(whole):,.0f}..{max(whole):,.0f}); second half "
            f"{statistics.median(late):,.0f} steps/s ({min(late):,.0f}..{max(late):,.0f}); {once.walks:,} walks, {once.steps:,} steps,"
            f" {once.compiled_paths:,} paths compiled",
            flush=True,
        )


if __name__ == "__main__":
    main()
