"""What a first check compiles: claims with rows of every width that the gallery has, with nothing kept.

    python bench/first_check.py
    python bench/first_check.py OTHER     # another checkout first, and then this one

Of each width, and of claims with liveness and without, it takes the claim with the fewest states. Time is that of the
processors, for the process and for those that compile.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from highwater.claims.spec import Spec, find_specs, load_spec
from highwater.explorer.compiler.layout import Layout

ROOT = Path(__file__).parents[1]
CODE = """
import pathlib, sys
from highwater.explorer.kernels.making import code_cache
code_cache.BESIDE_SOURCES = pathlib.Path("/nowhere/site-packages")  # so that what is kept there is not found
from highwater.__main__ import main
main()
"""


def claims() -> list[str]:
    """The claim with the fewest states of each kind."""
    found: dict[tuple[int, bool], tuple[int, str]] = {}
    for path in find_specs([ROOT / "specs"]):
        spec = load_spec(path)
        system = spec.system()
        kind = Layout(system.domain).units, bool(system.liveness)
        found[kind] = min(found.get(kind, (1 << 62, "")), (states(spec), str(path)))
    return [path for _, path in found.values()]


def states(spec: Spec) -> int:
    return spec.file.expect.distinct_states or 1 << 61


def first_check(checkout: Path, files: list[str]) -> str:
    """What a first check of some claims takes, by the code of a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "XDG_CACHE_HOME": folder}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", CODE, "check", *files], env=environment, capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        kernels = len(list(Path(folder).glob("highwater/kernels-*/*")))
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return f"{checkout}: {done.stdout.splitlines()[-1]}; {kernels} kernels compiled, {seconds:.1f} s of processors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?", help="another checkout, to compare with")
    other, files = parser.parse_args().other, claims()
    for checkout in filter(None, (other, ROOT)):
        print(first_check(checkout.resolve(), files), flush=True)


if __name__ == "__main__":
    main()
