"""How fast random walks go: steps per second from the first path on, and once as many walks were made.

    python bench/simulate.py
    python bench/simulate.py --walks 500000 --runs 5 --workers 1

The model is KIP-320, with weak_isr and strong_isr checked on every state: with bounds whose paths are soon all
compiled, and with bounds where walks go on meeting new ones. `whole` counts everything; `second half` the second half
of the walks only.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from highwater.claims.building import build_system
from highwater.claims.resolving import resolve_model
from highwater.explorer.analysis.simulate import Simulation, simulate
from highwater.explorer.verdict import Walking
from highwater.model.catalogue import MODELS

BOUNDS = ("brokers", "log_length_max", "records_max", "leader_epoch_max")
SIZES = ((3, 2, 2, 2), (3, 3, 3, 4))
CHECK = ["weak_isr", "strong_isr"]
DEPTH = 100


def run(sizes: tuple[int, ...], walks: int, workers: int) -> tuple[Simulation, float]:
    """Make the walks; also the steps per second of the second half of them."""
    bounds = dict(zip(BOUNDS, sizes, strict=True))
    protocol, definition, made, properties = resolve_model(MODELS["reference"], {"variant": "kip-320"}, bounds, CHECK)
    noted = [(0, 0, 0.0)]
    system = build_system(definition, protocol, made, properties)
    found = simulate(
        system,
        Walking(walks=walks, depth=DEPTH, seed=1),
        workers=workers,
        on_progress=lambda *progress: noted.append(progress),
    )
    assert found.violation is None
    _, steps, seconds = min(noted, key=lambda progress: abs(2 * progress[0] - walks))
    return found, (noted[-1][1] - steps) / (noted[-1][2] - seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walks", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, os.cpu_count() or 1])
    options = parser.parse_args()
    for sizes in SIZES:
        run(sizes, 1000, 1)  # numba's own compilation
        for workers in options.workers:
            runs = [run(sizes, options.walks, workers) for _ in range(options.runs)]
            whole, late = [found.steps / found.seconds for found, _ in runs], [rate for _, rate in runs]
            found = runs[-1][0]
            print(
                f"{sizes}, {workers} threads: whole {statistics.median(whole):,.0f} steps/s "
                f"({min(whole):,.0f}..{max(whole):,.0f}); "
                f"second half {statistics.median(late):,.0f} steps/s ({min(late):,.0f}..{max(late):,.0f}); "
                f"{found.walks:,} walks, {found.steps:,} steps, "
                f"{found.compiled_paths:,} paths compiled, {found.late_paths:,} of them in the second half",
                flush=True,
            )


if __name__ == "__main__":
    main()
