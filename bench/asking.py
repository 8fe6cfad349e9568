"""How long `highwater ask` takes for each question, once its paths are known: the slowest first.

    python bench/asking.py
    python bench/asking.py 3.9.2 rolling-restart power-loss

Each question is asked twice, each time in a process of its own, and measured the second time. Processor seconds do not
depend on what else the machine does.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from highwater.asking.questions import catalogue
from highwater.asking.settings import LAST


def measured(name: str, release: str) -> tuple[float, float]:
    """Processor seconds and seconds of one answer."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "highwater", "ask", name, "--release", release]
    subprocess.run(command, check=True, capture_output=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds


def main(release: str = LAST, *names: str) -> None:
    """Measure and print."""
    found = []
    for name in names or tuple(catalogue()):
        measured(name, release)
        found.append((*measured(name, release), name))
        print(f"{name}: {found[-1][0]:.1f} s of processor time", file=sys.stderr, flush=True)
    for processor, seconds, name in sorted(found, reverse=True):
        print(f"{processor:6.1f} s of processor time  {seconds:6.1f} s  {name}")
    quick = sum(processor <= 2 for processor, _, _ in found)
    print(f"{quick} of {len(found)} within 2 s of processor time, {sum(p <= 10 for p, _, _ in found)} within 10 s")


if __name__ == "__main__":
    main(*sys.argv[1:])
