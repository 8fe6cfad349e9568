"""How fast random walks go: steps per second from the first path on, and once as many walks were made.

    python bench/simulate.py
    python bench/simulate.py --walks 500000 --runs 5 --workers 1

The model is KIP-320, with weak_isr and strong_isr checked on every state: with bounds whose paths are soon all compiled, and with bounds
where walks go on meeting new ones. `whole` counts everything; `second half` is what so many walks more take.
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

BOUNDS = ("brokers", "log_length_max", "records_max", "leader_epoch_max")
SIZES = ((3, 2, 2, 2), (3, 3, 3, 4))
CHECK = ["weak_isr", "strong_isr"]
DEPTH = 100


def run(sizes: tuple[int, ...], walks: int, workers: int) -> Simulation:
    bounds = dict(zip(BOUNDS, sizes, strict=True))
    protocol, definition, made, properties = resolve_model(MODELS["reference"], {"variant": "kip-320"}, bounds, CHECK)
    found = simulate(build_system(definition, protocol, made, properties), walks=walks, depth=DEPTH, seed=1, workers=workers)
    assert found.violation is None
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walks", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, os.cpu_count() or 1])
    options = parser.parse_args()
    for sizes in SIZES:
        run(sizes, 100, 1)  # numba's own compilation
        for workers in options.workers:
            whole, late = [], []
            for _ in range(options.runs):
                once, twice = run(sizes, options.walks, workers), run(sizes, 2 * options.walks, workers)
                whole.append(once.steps / once.seconds)
                late.append((twice.steps - once.steps) / max(twice.seconds - once.seconds, 1e-9))
            print(
                f"{sizes}, {workers} threads: whole {statistics.median(whole):,.0f} steps/s ({min(whole):,.0f}..{max(whole):,.0f}); second half "
                f"{statistics.median(late):,.0f} steps/s ({min(late):,.0f}..{max(late):,.0f}); {once.walks:,} walks, {once.steps:,} steps, "
                f"{once.compiled_paths:,} paths compiled, then {twice.compiled_paths - once.compiled_paths:,} more",
                flush=True,
            )


if __name__ == "__main__":
    main()
