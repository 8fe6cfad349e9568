"""What it takes to judge liveness on the KIP-320 model, every state stored: seconds and bytes per state after the
search.

    python bench/liveness.py                     # (3, 2, 2, 3): 9,985,570 states, 26,629,362 steps
    python bench/liveness.py --small             # (3, 2, 2, 2): 737,794 states
    python bench/liveness.py --small --symmetry
    python bench/liveness.py --again             # steps are not stored but made again

The property says that logs agree again and again, and relies on every action: weakly, or strongly with `--strong`.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import attrs

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.kip_320 import LARGE, SMALL, system
from highwater.explorer.search.graph_properties import liveness, recomputed_graph, stored_graph
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.system import System
from highwater.explorer.verdict import SearchOptions
from highwater.model.language.graph_properties import Liveness, always_eventually


def promise(actions: list[Any], *, strong: bool) -> Liveness:
    fair: dict[str, Any] = {"strongly_fair" if strong else "fair": actions}

    @always_eventually(**fair)
    def logs_agree(cluster: Any) -> bool:
        return all(replica.log == cluster.replicas[0].log for replica in cluster.replicas)

    return logs_agree


def judged(sizes: tuple[int, ...], *, strong: bool) -> System:
    plain = system(sizes, ["no_deadlock"])
    actions = list(dict.fromkeys(instance.of for instance in plain.actions))
    return attrs.evolve(plain, liveness=tuple(promise(actions, strong=strong).instances(plain.bounds, plain.protocol)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--symmetry", action="store_true")
    parser.add_argument("--strong", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if options.again:
        liveness.all_steps = lambda engine, marks: None
    for _ in range(options.runs):
        took: dict[str, float] = {}
        measure(took)
        outcome = breadth_first.explore(
            judged(SMALL if options.small else LARGE, strong=options.strong),
            options=SearchOptions(workers=options.workers, symmetry=options.symmetry),
        )
        rest = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in took.items())
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found = [(each.trace_length, each.back_to) for each in outcome.violations]
        print(
            f"{outcome.distinct_states:,} states: {outcome.verdict.value} {found} in {outcome.seconds:.2f} s, of "
            f"which {rest}; "
            f"at most {rss / outcome.stored_states:.0f} bytes a state with the process",
            flush=True,
        )


def measure(took: dict[str, float]) -> None:
    """Note how long judging takes, and listing steps within it."""

    def timed(name: str, function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                took[name] = took.get(name, 0.0) + time.perf_counter() - begun

        return call

    breadth_first.lassos_in = timed("liveness", liveness.lassos_in)
    for place, name, what, function in INSIDE:
        setattr(place, name, timed(what, function))


INSIDE = [
    (place, name, what, getattr(place, name))
    for place, name, what in (
        (liveness, "Marks", "marks"),
        (liveness, "Edges", "edges"),
        (stored_graph, "judge_all", "components"),
        (recomputed_graph.RecomputedGraph, "_measure", "measuring"),
        (recomputed_graph.RecomputedGraph, "_trim", "trimming"),
        (recomputed_graph, "Edges", "edges of what is left"),
        (recomputed_graph, "judge_all", "components"),
    )
]

if __name__ == "__main__":
    main()
