"""How fast `highwater conform` goes: steps a second on Kafka's own classes, of a claim that restarts brokers and of one
that restarts none.

    python bench/conforming.py
    python bench/conforming.py --kafka 4.3.1 --walks 8000

Each claim is executed several times in the same Java processes: at first, Java loads and compiles Kafka's classes. The
time of the processor is that of Highwater's process, and of all of Java's, while steps are executed.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

from highwater.claims.conformance import Wanted, paths_of, with_another_preset
from highwater.claims.spec import load_spec
from highwater.conformance.distribution import NEWEST_KAFKA, find
from highwater.conformance.harnesses import Harnesses
from highwater.conformance.lockstep import LockStep

ROOT = Path(__file__).parents[1]
CLAIMS = {
    "restarts": "releases/a_controlled_shutdown_hands_leadership_over",
    "no restart": "isr_agreement/a_proposal_stays_open_until_its_outcome_is_known",
}
TICKS = os.sysconf("SC_CLK_TCK")


def of_java(harness: Harnesses) -> float:
    """Seconds of the processor that all Java processes have taken, those that have ended among them."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in harness.pids]
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(int(each[11]) + int(each[12]) for each in fields) / TICKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", default=NEWEST_KAFKA)
    parser.add_argument("--preset", default="kafka-4.1")
    parser.add_argument("--walks", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    for words, claim in CLAIMS.items():
        spec = with_another_preset(load_spec(ROOT / "specs" / "partition" / f"{claim}.toml"), options.preset)
        with Harnesses(find(options.kafka), options.processes) as harness:
            for run in range(options.runs):
                paths = paths_of(spec, Wanted(seed=run))
                lockstep = LockStep(harness, paths.system.actions, paths.engine.layout, spec.protocol, spec.bounds)
                java, python = of_java(harness), time.process_time()
                found = lockstep.execute(paths.walks(options.walks, 40, set()))
                java, python = of_java(harness) - java, time.process_time() - python
                print(
                    f"{words}, run {run + 1}: {found.steps:,} steps, {len(found.divergences)} divergences, "
                    f"{found.steps / found.seconds:,.0f} a second on {harness.at_once} Java processes; of the "
                    f"processor {1000 * python / found.steps:.3f} ms a step by Highwater, "
                    f"{1000 * java / found.steps:.3f} by Java",
                    flush=True,
                )


if __name__ == "__main__":
    main()
