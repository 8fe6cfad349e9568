"""How long the metadata log of a large cluster takes to be explained, whole process, and how much memory.

python bench/explaining.py --partitions 100000 --records 1000000
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from highwater.conformance.distribution import find, java
from highwater.conformance.jvm import ALIKE, environment

WRITER = Path(__file__).parent / "MetadataLog.java"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--kafka", default="4.1.1")
    options = parser.parse_args()
    class_path = os.pathsep.join(map(str, find(options.kafka).class_path))
    with tempfile.TemporaryDirectory() as folder:
        sizes = [folder, str(options.partitions), str(options.records)]
        writer = [java(), *ALIKE, "-cp", class_path, WRITER, *sizes]
        subprocess.run(writer, check=True, stderr=subprocess.DEVNULL, env=environment())
        began = time.perf_counter()
        command = [sys.executable, "-m", "highwater", "explain", folder, "--kafka", options.kafka]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(ran.stdout.splitlines()[-1])
    print(
        f"{seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processors, {used.ru_maxrss / 1024:.0f} MiB at most"
    )


if __name__ == "__main__":
    main()
