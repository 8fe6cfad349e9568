"""How long `highwater ask` takes for each question: the first time, and again. The slowest again come first.

    python bench/asking.py
    python bench/asking.py 3.9.2 rolling-restart power-loss

Each question is asked three times, each time in a process of its own: once for its machine code, which is not counted;
then with a new folder for all else that is kept, the first time; and again with what this one has kept. Processor
seconds do not depend on what else the machine does.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from highwater.asking.questions import catalogue
from highwater.asking.settings import LAST


def measured(name: str, release: str, folder: str) -> tuple[float, float]:
    """Processor seconds and seconds of one answer."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "highwater", "ask", name, "--release", release]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "XDG_CACHE_HOME": folder})
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds


def main(release: str = LAST, *names: str) -> None:
    """Measure and print."""
    found = []
    for name in names or tuple(catalogue()):
        with tempfile.TemporaryDirectory() as compiling, tempfile.TemporaryDirectory() as folder:
            measured(name, release, compiling)
            first, again = measured(name, release, folder), measured(name, release, folder)
        found.append((*again, *first, name))
        print(f"{name}: {first[0]:.1f} and {again[0]:.1f} s of processor time", file=sys.stderr, flush=True)
    print("processor s  again   first | seconds  again   first")
    for again_processor, again_seconds, first_processor, first_seconds, name in sorted(found, reverse=True):
        print(f"{again_processor:18.1f}{first_processor:8.1f}{again_seconds:17.1f}{first_seconds:8.1f}  {name}")
    for when, column in (("again", 0), ("the first time", 2)):
        taken = [each[column] for each in found]
        within = ", ".join(f"{sum(each <= most for each in taken)} within {most} s" for most in (2, 10))
        print(f"{when}: {within}, median {statistics.median(taken):.1f} s of processor time, of {len(taken)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
