"""How fast the checker explores the KIP-320 model, alone or beside another checker in the same run.

    python bench/kip_320.py                      # (3, 2, 2, 2): 737,794 states and (3, 2, 2, 3): 9,985,570 states
    python bench/kip_320.py --small --runs 5
    python bench/kip_320.py --small --tlc 'java -cp tla2tools.jar tlc2.TLC -workers 2 -deadlock -config MC.cfg Kip.tla'

The other checker's command is timed as a whole process, in turn with `highwater check` as a whole process on the same
machine, and must explore the bounds of the smaller row: Replicas = 3 model values, LogSize = 2, MaxRecords = 2,
MaxLeaderEpoch = 2. Its output must name the count of distinct states, so that nobody compares different searches.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from highwater.claims.building import build_system
from highwater.claims.resolving import resolve_model
from highwater.explorer.search.levels.breadth_first import explore
from highwater.explorer.verdict import Outcome, SearchOptions
from highwater.model.catalogue import MODELS

BOUNDS = ("brokers", "log_length_max", "records_max", "leader_epoch_max")
SMALL, LARGE = (3, 2, 2, 2), (3, 2, 2, 3)
PROPERTIES = ("weak_isr", "strong_isr")
DISTINCT = {SMALL: 737_794, LARGE: 9_985_570}


def system(sizes: tuple[int, ...], check: list[str]):
    bounds = dict(zip(BOUNDS, sizes, strict=True))
    protocol, definition, bounds_object, properties = resolve_model(
        MODELS["reference"], {"variant": "kip-320"}, bounds, check
    )
    return build_system(definition, protocol, bounds_object, properties)


Configuration = tuple[int, bool, tuple[str, ...], bool]
"""How to search: threads, whether up to symmetry, which properties are checked, and whether trees are kept from one
search to the next.
"""


def in_turn(sizes: tuple[int, ...], runs: int, processors: int) -> None:
    """All configurations in turn, as often as asked for, so that what disturbs the machine disturbs all of them."""
    ways: list[Configuration] = [
        (1, False, (), False),
        (processors, False, (), False),
        (1, False, (), True),
        (processors, False, (), True),
        (processors, True, (), False),
        (processors, True, PROPERTIES, False),
        (processors, True, PROPERTIES, True),
    ]
    outcomes: dict[Configuration, list[Outcome]] = {way: [] for way in ways}
    for kept_already in (way for way in ways if way[-1]):
        workers, symmetry, check, kept = kept_already
        explore(
            system(sizes, list(check) or ["no_deadlock"]),
            options=SearchOptions(workers=workers, symmetry=symmetry, keep_trees=kept),
        )
    for _ in range(runs):
        for way in outcomes:
            workers, symmetry, check, kept = way
            explored = system(sizes, list(check) or ["no_deadlock"])
            outcomes[way].append(
                explore(explored, options=SearchOptions(workers=workers, symmetry=symmetry, keep_trees=kept))
            )
    for way, found in outcomes.items():
        report(sizes, way, found)
    for one, many, trees in ((ways[0], ways[1], "no trees"), (ways[2], ways[3], "trees")):
        pairs = zip(outcomes[one], outcomes[many], strict=True)
        ratios = sorted(alone.seconds / together.seconds for alone, together in pairs)
        shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(
            f"{sizes} every state, {trees} kept: {processors} threads are {statistics.median(ratios):.2f} times as "
            f"fast as 1, median of pairs ({shown})",
            flush=True,
        )


def report(sizes: tuple[int, ...], way: Configuration, outcomes: list[Outcome]) -> None:
    workers, symmetry, check, kept = way
    searched = "up to symmetry" if symmetry else "every state"
    checked = (f"checking {', '.join(check)}" if check else "no property") + (", with kept trees" if kept else "")
    seconds = [outcome.seconds for outcome in outcomes]
    assert {outcome.distinct_states for outcome in outcomes} == {DISTINCT[sizes]}, outcomes
    median, outcome = statistics.median(seconds), outcomes[-1]
    print(
        f"{sizes} {searched}, {workers} threads, {checked}:"
        f" median {median:.2f} s of {len(seconds)} ({min(seconds):.2f}..{max(seconds):.2f});"
        f" {outcome.distinct_states:,} states, {outcome.stored_states:,} stored, {outcome.generated:,} generated, "
        f"depth {outcome.depth};"
        f" {outcome.distinct_states / median:,.0f} states/s, {median / outcome.generated * 1e9:.0f} ns per generated "
        "successor;"
        f" {outcome.memory / outcome.stored_states:.1f} bytes per stored state of {outcome.bits} bits;"
        f" {outcome.compiled_paths:,} paths compiled",
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
            f'model = "reference"\nprotocol = {{ variant = "kip-320" }}\nbounds = {{ {bounds} }}\ncheck = '
            '["weak_isr", "strong_isr"]\n'
        )
        check = [sys.executable, "-m", "highwater", "check", str(spec)]
        ours = {"as it comes": check, "every state, 1 thread": [*check, "--no-symmetry", "--workers", "1"]}
        ratios: dict[str, list[float]] = {how: [] for how in ours}
        whole_process(check, str(DISTINCT[SMALL]))  # fills the kernel cache
        for _ in range(runs):
            theirs = whole_process(shlex.split(other), str(DISTINCT[SMALL]))
            for how, command in ours.items():
                seconds = whole_process(command, str(DISTINCT[SMALL]))
                ratios[how].append(theirs / seconds)
                print(
                    f"{SMALL} whole process, {how}: {seconds:.2f} s, the other {theirs:.2f} s: "
                    f"{theirs / seconds:.1f} times",
                    flush=True,
                )
        for how, found in ratios.items():
            print(f"median ratio, {how}: {statistics.median(found):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="the smaller bounds only")
    parser.add_argument("--runs", type=int, default=3, help="how often each row is run (default 3)")
    parser.add_argument("--tlc", metavar="COMMAND", help="another checker's command line, to pair with")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # trees of this run alone
        measure(arguments)


def measure(arguments: argparse.Namespace) -> None:
    explore(system(SMALL, list(PROPERTIES)))  # loads or compiles the kernels
    processors = os.cpu_count() or 1
    for sizes in (SMALL,) if arguments.small else (SMALL, LARGE):
        in_turn(sizes, arguments.runs, processors)
    if arguments.tlc:
        paired(arguments.tlc, arguments.runs)


if __name__ == "__main__":
    main()
