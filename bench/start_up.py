"""How long it takes from process start to exit where there is little to explore: 957 states, or none.

    python bench/start_up.py --runs 9

Cold runs come last, and begin without machine code: what is kept beside the sources and in the user's own folder is
deleted for them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from highwater.explorer.kernels.making import code_cache

SPEC = """
model = "reference"
protocol = { variant = "kip-320" }
bounds = { brokers = 2, log_length_max = 2, records_max = 2, leader_epoch_max = 1 }
check = ["weak_isr", "strong_isr"]
expect = { distinct_states = 957 }
"""


def seconds(*arguments: str) -> float:
    """One run, as users have it: with byte code."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "highwater", *arguments], env=environment, capture_output=True, check=True)
    return time.perf_counter() - started


def forget() -> None:
    for folder in code_cache.folders():
        for made in folder.glob("kernels-*"):
            shutil.rmtree(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="how often each row is run (default 5)")
    runs = range(parser.parse_args().runs)
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "small.toml"
        spec.write_text(SPEC, encoding="utf-8")
        seconds("check", str(spec))  # fills what is kept
        found = {
            "highwater --help": [seconds("--help") for _ in runs],
            "957 states, warm": [seconds("check", str(spec)) for _ in runs],
        }
        cold = found["957 states, cold"] = []
        for _ in runs:
            forget()
            cold.append(seconds("check", str(spec)))
    for what, each in found.items():
        print(f"{what}: median {statistics.median(each):.2f} s of {len(each)} ({min(each):.2f}..{max(each):.2f})")


if __name__ == "__main__":
    main()
