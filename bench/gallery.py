"""How long it takes to check a gallery, the first time on a machine and the second, beside another commit.

    python bench/gallery.py                       # specs/, this commit's parent beside it
    python bench/gallery.py --beside v0.1 --specs specs/partition --runs 3

Both commits are unpacked into folders of their own and check the same specs, those of the other commit. The first run
of each finds neither machine code nor trees; the runs after it go in turn.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAST_LINE = re.compile(r"(\d+ claims?): (.*); ([\d,]+) states in")


class Commit:
    """A commit, unpacked, with a folder of its own for what runs keep."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder = name, folder / name.replace("/", "-")
        archive = subprocess.run(["git", "archive", name], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(self._folder, filter="data")

    def seconds(self, specs: list[Path]) -> float:
        """One run as a whole process."""
        # users have byte code
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = {**inherited, "XDG_CACHE_HOME": str(self._folder / "kept"), "PYTHONPATH": str(self._folder)}
        began = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, "-m", "highwater", "check", *map(str, specs)],
            cwd=self._folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        found = LAST_LINE.search(ended.stdout)
        if found is None or found[2] != found[1].replace("claims", "met").replace("claim", "met"):
            sys.exit(f"{self.name}: not every claim is met:\n{ended.stdout[-500:]}{ended.stderr[-2000:]}")
        print(f"{self.name}: {seconds:.1f} s; {found[1]}, {found[3]} states", flush=True)
        return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", default="HEAD~1", help="the other commit (default HEAD~1)")
    parser.add_argument("--specs", nargs="+", default=["specs"], help="which specs of the other commit")
    parser.add_argument("--runs", type=int, default=3, help="how often each runs after its first time (default 3)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commits = [Commit(name, Path(folder)) for name in (arguments.beside, "HEAD")]
        specs = [Path(folder) / commits[0]._folder / each for each in arguments.specs]
        firsts = [commit.seconds(specs) for commit in commits]
        print(f"the first time: {firsts[0]:.1f} s and {firsts[1]:.1f} s, {firsts[0] / firsts[1]:.1f} times as fast")
        pairs = [[commit.seconds(specs) for commit in commits] for _ in range(arguments.runs)]
        before, after = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(one / other for one, other in pairs)
        print(f"after that: medians of {before:.1f} s and {after:.1f} s, {ratio:.1f} times as fast (median of pairs)")


if __name__ == "__main__":
    main()
