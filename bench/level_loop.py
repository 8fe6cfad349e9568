"""What a search by levels costs on a cluster: reckoned in closed form, and simulated with stragglers, skew and losses.

    python bench/level_loop.py --tables                # the tables of docs/large.md
    python bench/level_loop.py --states 1e11 --executors 100 --slow 0.01 --losses 0.1 --seed 1
    python bench/level_loop.py --against FILE          # levels that on_spark.py --json has measured

A level is two stages and a commit, as `docs/spark.md` has it. Tasks that expand take any free core. A task that admits
runs where its partition's visited set is; another executor would have to read all of it again. The next stage begins
when the last task of this one has ended. The driver launches tasks and commits levels one by one.

The reckoning takes the work of a stage, evenly spread over all cores. The simulation lets each task take a core in
turn. It differs by what is left over: cores that wait for the last tasks.
"""

from __future__ import annotations

import argparse
import math
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import numpy as np
from level_costs import (
    GB,
    JAVA,
    ON_CLUSTERS,
    ROWS_OF_A_FILE,
    WORKERS,
    Cluster,
    Costs,
    Tasks,
    levels_of,
    reckoned,
    tasks_of,
)
from level_measured import LEVELS, comparison
from level_stage import Hosts, Seen, Stage


@attrs.frozen
class Chances:
    """What the reckoning leaves out. Without any of it, and with equal tasks, both agree.

    Attributes:
        skew: the relative standard deviation of a partition's rows, beside that of a hash.
        jitter: the standard deviation of the logarithm of a task's time.
        slow, tail, most: the part of tasks that take longer, by a factor of Pareto's distribution with that exponent,
            at most so much.
        speculation: whether a second attempt begins once a task takes `patience` times the median.
        losses: for each executor and hour.
        noticed, replaced: seconds until the driver knows of a loss, and until another executor has come.
        wait: seconds for which a task that admits waits for its own executor (spark.locality.wait).
        hashed: whether rows spread over partitions as by a hash, rather than evenly.
    """

    seed: int = 0
    skew: float = 0.0
    jitter: float = 0.0
    slow: float = 0.0
    tail: float = 1.5
    most: float = 20.0
    speculation: bool = False
    patience: float = 3.0
    losses: float = 0.0
    noticed: float = 120.0
    replaced: float = 30.0
    wait: float = math.inf
    hashed: bool = True


EVEN = Chances(hashed=False)


@attrs.frozen
class Simulated:
    """What a simulation has seen.

    Attributes:
        seconds: of each level after the first.
        expanded: rows whose expansion counted.
        seen: see `level_stage.Seen`.
    """

    seconds: list[float]
    expanded: int
    seen: Seen


def simulated(levels: Sequence[float], cluster: Cluster, costs: Costs, chances: Chances = EVEN) -> Simulated:
    """Let every task of every level take a core in turn."""
    random = np.random.default_rng(chances.seed)
    homes = [partition % cluster.executors for partition in range(cluster.owners)]
    losses = deque(_losses(cluster, chances))
    hosts = Hosts(cluster.cores, [0.0] * cluster.executors, homes, losses, chances.noticed, chances.replaced)
    shares = 1 + chances.skew * random.standard_normal(cluster.owners)
    shares = np.clip(shares, 0.01, None) / np.clip(shares, 0.01, None).mean()
    old, visited, now, found, expanded = _spread_out(levels[0], shares, random, chances), 0.0, 0.0, [], 0
    for rows in levels[1:]:
        new, began, visited = _spread_out(rows, shares, random, chances), now, visited + old
        tasks = tasks_of(old, new, visited, cluster, costs)
        now, ended = _level(tasks, hosts, now, costs, chances, random)
        found.append(now - began)
        expanded, old = expanded + int(tasks.files[ended].sum()), new
    return Simulated(found, expanded, hosts.seen)


def _level(
    tasks: Tasks, hosts: Hosts, now: float, costs: Costs, chances: Chances, random: np.random.Generator
) -> tuple[float, list[int]]:
    """When a level that begins now is committed, and the files that tasks have expanded for it."""
    patience = chances.patience if chances.speculation else math.inf
    ended: list[list[int]] = []
    redo: list[list[float]] = []
    for alone, again in ((tasks.expanding, None), (tasks.admitting, tasks.rebuilding.tolist())):
        seconds = alone * _luck(len(alone), chances, random)

        def anew(task: int, alone: np.ndarray = alone) -> float:
            return float(alone[task] * _luck(1, chances, random)[0])

        stage = Stage(
            hosts, now, seconds.tolist(), again, launch=costs.launch, wait=chances.wait, patience=patience, anew=anew,
            redo=redo,
        )  # fmt: skip
        now, ended = stage.run(), ended or stage.made
        redo = [[float(seconds[task]) for task in tasks_there] for tasks_there in stage.made]
    return now + tasks.commits, [task for tasks_there in ended for task in tasks_there]


def _spread_out(rows: float, shares: np.ndarray, random: np.random.Generator, chances: Chances) -> np.ndarray:
    """Rows by partition: as many as a hash gives each of them, in the end `rows` in all."""
    mean = rows * shares / len(shares)
    if not chances.hashed:
        return np.diff(np.round(np.cumsum(mean)), prepend=0.0)
    if rows < 1 << 62:
        return random.multinomial(int(rows), mean / mean.sum()).astype(float)
    return mean


def _luck(count: int, chances: Chances, random: np.random.Generator) -> np.ndarray:
    """The factor by which each task is slower."""
    factors = np.exp(chances.jitter * random.standard_normal(count)) if chances.jitter else np.ones(count)
    if chances.slow:
        is_slow = random.random(count) < chances.slow
        factors = np.where(is_slow, factors * np.minimum(1 + random.pareto(chances.tail, count), chances.most), factors)
    return factors


def _losses(cluster: Cluster, chances: Chances, most: int = 10_000) -> Iterator[tuple[float, int]]:
    """When an executor is lost, and which."""
    if chances.losses:
        random = np.random.default_rng([chances.seed, 1])
        times = np.cumsum(random.exponential(3600 / chances.losses / cluster.executors, most))
        yield from zip(times.tolist(), random.integers(cluster.executors, size=most).tolist(), strict=True)


# What docs/large.md shows

SIZES, EXECUTORS = (1e10, 1e11, 1e12), (20, 100, 1000)
AT_ONCE = 0.1  # the part of all rows that the largest levels have
LARGEST_PARTITION = 1 << 30  # rows, half of what their numbers hold
STRAGGLING = Chances(jitter=0.1, slow=0.01)
LOSING = Chances(jitter=0.1, slow=0.01, losses=0.1)


def cluster_for(states: float, executors: int, each: int = 1) -> Cluster:
    """A cluster with so many partitions for each core, and more where they would be too large."""
    one = Cluster(executors)
    each = max(each, math.ceil(states / one.slots / LARGEST_PARTITION))
    return attrs.evolve(one, partitions=each * one.slots)


def memory_of(states: float, cluster: Cluster, costs: Costs = ON_CLUSTERS) -> float:
    """Bytes of an executor: visited sets, the rows of the level that is admitted, workers and Java."""
    rows = states / cluster.owners
    visited = float(costs.shard(np.array(rows))) + AT_ONCE * rows * costs.row
    return visited * cluster.owners / cluster.executors + cluster.cores * WORKERS + JAVA


def lost_executor(states: float, cluster: Cluster, costs: Costs = ON_CLUSTERS) -> float:
    """Seconds that one loss takes when all is visited: until it is noticed, what it has expanded of the largest level,
    and its partitions, which others read again, each on a core.
    """
    rows, chances = states / cluster.owners, Chances()
    each = rows * (costs.rebuild + costs.stored * cluster.cores / cluster.storage)
    cores_left = max(1, cluster.slots - cluster.cores)
    rounds = math.ceil(cluster.owners / cluster.executors / cores_left)
    return chances.noticed + rounds * each + AT_ONCE * states / cluster.executors * costs.expand / cores_left


def reckoning() -> Iterator[str]:
    """A row for each search and cluster, in closed form."""
    yield (
        "| states | executors | partitions | reckoned | memory of an executor | shuffled, each executor | levels | "
        "files | manifests | one lost executor |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for states in SIZES:
        levels = levels_of(states)
        for executors in EXECUTORS:
            cluster = cluster_for(states, executors)
            memory = memory_of(states, cluster)
            seconds = sum(reckoned(levels, cluster, ON_CLUSTERS))
            shuffled = states * ON_CLUSTERS.records * ON_CLUSTERS.wire
            files = sum(
                cluster.owners * math.ceil(rows / cluster.owners / ROWS_OF_A_FILE) if rows > cluster.owners else rows
                for rows in levels
            )
            fits = f"{memory / GB:,.0f} GB" if memory <= cluster.memory else f"**{memory / GB:,.0f} GB**"
            yield (
                f"| 10^{math.log10(states):.0f} | {executors:,} | {cluster.owners:,} | {in_time(seconds)} | {fits} | "
                f"{shuffled / 1e12:,.2f} TB, {shuffled / executors / GB:,.0f} GB | "
                f"{states * ON_CLUSTERS.stored / 1e12:,.2f} TB | {files:,.0f} | "
                f"{files * ON_CLUSTERS.manifest / 1e6:,.0f} MB | {in_time(lost_executor(states, cluster))} |"
            )


CASES = (
    ("nothing", EVEN, 1),
    ("hash", Chances(), 1),
    ("stragglers", STRAGGLING, 1),
    ("stragglers, speculation", attrs.evolve(STRAGGLING, speculation=True), 1),
    ("stragglers, 3 partitions a core", STRAGGLING, 3),
    ("stragglers, 3 a core, speculation", attrs.evolve(STRAGGLING, speculation=True), 3),
    ("stragglers, 3 a core, wait 3 s", attrs.evolve(STRAGGLING, wait=3.0), 3),
    ("losses, 3 a core, speculation", attrs.evolve(LOSING, speculation=True), 3),
)
SIMULATED = ((1e10, 20), (1e11, 100))
SEEDS = range(3)


def simulations(searches: Sequence[tuple[float, int]] = SIMULATED) -> Iterator[str]:
    """A row for each search and cluster: what the simulation takes, as a multiple of what was reckoned."""
    yield "| states | executors | reckoned | " + " | ".join(name for name, _, _ in CASES) + " |"
    yield "|---|---|---|" + "---|" * len(CASES)
    for states, executors in searches:
        levels = levels_of(states)
        alone = sum(reckoned(levels, cluster_for(states, executors), ON_CLUSTERS))
        cells = [f"{ratio(levels, executors, chances, each) / alone:.2f}" for _, chances, each in CASES]
        yield f"| 10^{math.log10(states):.0f} | {executors:,} | {in_time(alone)} | {' | '.join(cells)} |"


def ratio(levels: Sequence[float], executors: int, chances: Chances, each: int) -> float:
    """The seconds of the middle one of some simulations."""
    cluster = cluster_for(sum(levels), executors, each)
    seeds = SEEDS if chances != EVEN else (0,)
    runs = [simulated(levels, cluster, ON_CLUSTERS, attrs.evolve(chances, seed=seed)) for seed in seeds]
    return float(np.median([sum(run.seconds) for run in runs]))


def in_time(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 5400 else f"{seconds / 60:.1f} min"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", action="store_true", help="the tables of docs/large.md; a few minutes")
    parser.add_argument("--against", type=Path, help="levels that on_spark.py --json has measured")
    parser.add_argument("--states", type=float, default=1e10)
    parser.add_argument("--executors", type=int, default=20)
    parser.add_argument("--each", type=int, default=1, help="partitions for each core")
    for field in attrs.fields(Chances):
        if field.name in ("speculation", "hashed"):
            continue
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    parser.add_argument("--speculation", action="store_true")
    asked = parser.parse_args()
    if asked.against:
        print(*comparison(asked.against.read_text().splitlines()), sep="\n")
    elif asked.tables:
        for table in (comparison(LEVELS.read_text().splitlines()), reckoning(), simulations()):
            print(*table, sep="\n", end="\n\n", flush=True)
    else:
        names = [field.name for field in attrs.fields(Chances) if field.name != "hashed"]
        one(asked.states, asked.executors, asked.each, Chances(**{name: getattr(asked, name) for name in names}))


def one(states: float, executors: int, each: int, chances: Chances) -> None:
    """Simulate one search, and say what happened."""
    levels, cluster = levels_of(states), cluster_for(states, executors, each)
    run = simulated(levels, cluster, ON_CLUSTERS, chances)
    print(f"reckoned {in_time(sum(reckoned(levels, cluster, ON_CLUSTERS)))}, simulated {in_time(sum(run.seconds))}")
    print(run.seen)


if __name__ == "__main__":
    main()
