"""How fast the checker explores the KIP-320 model, alone or beside another checker in the same run.

    python bench/kip_320.py                      # (3, 2, 2, 2): 737,794 states and (3, 2, 2, 3): 9,985,570 states
    python bench/kip_320.py --small --runs 5
    python bench/kip_320.py --small --tlc 'java -cp tla2tools.jar tlc2.TLC -workers 2 -deadlock -config MC.cfg Kip320.tla'

The other checker's command is timed as a whole process, in turn with `highwater check` as a whole process on the same machine, and must
explore the bounds of the smaller row: Replicas = 3 model values, LogSize = 2, MaxRecords = 2, MaxLeaderEpoch = 2. Its output must
name the count of distinct states, so that nobody compares different searches.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from explorer.local import explore
from highwater.spec import build_system, resolve_model
from model.catalogue import MODELS

BOUNDS = ("brokers", "log_length_max", "records_max", "leader_epoch_max")
SMALL, LARGE = (3, 2, 2, 2), (3, 2, 2, 3)
DISTINCT = {SMALL: 737_794, LARGE: 9_985_570}


def system(sizes: tuple[int, ...], check: list[str]):
    bounds = dict(zip(BOUNDS, sizes, strict=True))
    protocol, definition, bounds_object, properties = resolve_model(MODELS["reference"], {"variant": "kip-320"}, bounds, check)
    return build_system(definition, protocol, bounds_object, properties)


def in_process(sizes: tuple[int, ...], check: list[str], runs: int) -> None:
    label = f"{sizes} " + (f"checking {', '.join(check)}" if check != ["no_deadlock"] else "no property")
    seconds = []
    for _ in range(runs):
        outcome = explore(system(sizes, check))
        assert outcome.distinct_states == DISTINCT[sizes], outcome
        seconds.append(outcome.seconds)
    best = statistics.median(seconds)
    print(
        f"{label}: {outcome.distinct_states:,} states, {outcome.generated:,} generated, depth {outcome.depth}; median {best:.2f} s of"
        f" {runs} ({min(seconds):.2f}..{max(seconds):.2f}); {outcome.distinct_states / best:,.0f} states/s,"
        f" {best / outcome.generated * 1e9:.0f} ns per generated successor; {outcome.memory / outcome.distinct_states:.1f} bytes per state"
        f" of {outcome.bits} bits; {outcome.compiled_paths:,} paths compiled",
        flush=True,
    )


def whole_process(command: list[str], expected: str) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if expected not in done.stdout.replace(",", ""):
        sys.exit(f"{shlex.join(command)} did not report {expected} states:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return seconds


def paired(other: str, runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "kip_320.toml"
        bounds = ", ".join(f"{key} = {value}" for key, value in zip(BOUNDS, SMALL, strict=True))
        spec.write_text(
            f'model = "reference"\nprotocol = {{ variant = "kip-320" }}\nbounds = {{ {bounds} }}\ncheck = ["weak_isr", "strong_isr"]\n'
        )
        ours_command = [sys.executable, "-m", "highwater.cli", "check", str(spec)]
        ratios = []
        whole_process(ours_command, str(DISTINCT[SMALL]))  # fills the kernel cache
        for _ in range(runs):
            ours = whole_process(ours_command, str(DISTINCT[SMALL]))
            theirs = whole_process(shlex.split(other), str(DISTINCT[SMALL]))
            ratios.append(theirs / ours)
            print(f"{SMALL} whole process: ours {ours:.2f} s, the other {theirs:.2f} s: {theirs / ours:.1f} times", flush=True)
        print(f"median ratio {statistics.median(ratios):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="the smaller bounds only")
    parser.add_argument("--runs", type=int, default=3, help="how often each row is run (default 3)")
    parser.add_argument("--tlc", metavar="COMMAND", help="another checker's command line, to pair with")
    arguments = parser.parse_args()
    explore(system((2, 2, 2, 1), ["weak_isr"]))  # loads or compiles the kernel
    for sizes in (SMALL,) if arguments.small else (SMALL, LARGE):
        in_process(sizes, ["no_deadlock"], arguments.runs)
        in_process(sizes, ["weak_isr", "strong_isr"], arguments.runs)
    if arguments.tlc:
        paired(arguments.tlc, arguments.runs)


if __name__ == "__main__":
    main()
