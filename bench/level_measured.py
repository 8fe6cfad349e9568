"""Levels that `on_spark.py --json` has measured, beside what was foreseen of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs
import numpy as np
from level_costs import ON_CLUSTERS, Cluster, Costs, spread, tasks_of

LEVELS = Path(__file__).with_name("measured_levels.jsonl")
FEWEST_COMPARED = 400_000  # new rows: smaller levels are the job's own seconds


@attrs.frozen
class Compared:
    """A level, foreseen and measured, in processor seconds of Java and Python workers, and in seconds."""

    rows: int
    foreseen: float
    measured: float
    foreseen_seconds: float
    seconds: float

    @property
    def ratio(self) -> float:
        return self.foreseen / self.measured


def compared(lines: Iterable[str], costs: Costs) -> dict[str, list[Compared]]:
    """The levels of each search in a file of `on_spark.py --json` that executors made."""
    found: dict[str, list[Compared]] = {}
    for line in lines:
        data = json.loads(line)
        if "bounds" in data:
            where = "two executors" if data["master"].startswith("spark") else data["master"]
            name = f"{where}, {tuple(data['bounds'])}, load {data['began'].split()[-1]}"
            own = found[name] = []
            partitions, old, visited, at = data["partitions"] or 2, 0, 0, 0.0
            cluster = Cluster(1, partitions, network=math.inf, storage=math.inf, request=0.0)
            java = ON_CLUSTERS.java if data["master"].startswith("spark") else costs.java
            continue
        shuffled, new = re.search(r"shuffle ([\d.,]+) ([KMG]iB)", data["said"]), data["rows"]
        if shuffled and new >= FEWEST_COMPARED:
            size = float(shuffled[1].replace(",", "")) * {"K": 2**10, "M": 2**20, "G": 2**30}[shuffled[2][0]]
            here = attrs.evolve(costs, java=java, records=size / costs.record / old, row=costs.record - 8)
            rows = [np.full(partitions, each / partitions) for each in (old, new, visited)]
            tasks = tasks_of(rows[0], rows[1], rows[2], cluster, here)
            foreseen = float(tasks.expanding.sum() + tasks.admitting.sum())
            seconds = sum(spread(stage, cluster, here) for stage in (tasks.expanding, tasks.admitting)) + tasks.commits
            measured = (
                data["java"] + data["workers"] if "workers" in data else math.nan
            )  # executors are not its children
            own.append(Compared(new, foreseen, measured, seconds, data["at"] - at))
        old, visited, at = new, visited + new, data["at"]
    return found


def comparison(lines: Iterable[str], costs: Costs = Costs()) -> Iterator[str]:  # noqa: B008 - frozen
    """A row for each search: foreseen and measured in all, and the levels that differ most. Other work on a machine
    stretches seconds, so those of each level are compared as parts of the whole.
    """
    yield (
        "| search | levels | processor seconds: foreseen, measured | ratio in all | of levels | seconds: foreseen, "
        "measured | ratio of levels, as parts of the whole |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, levels in compared(lines, costs).items():
        foreseen, measured = (sum(getattr(level, which) for level in levels) for which in ("foreseen", "measured"))
        ratios = [level.ratio for level in levels]
        waited, lasted = sum(level.foreseen_seconds for level in levels), sum(level.seconds for level in levels)
        parts = [level.foreseen_seconds / waited / (level.seconds / lasted) for level in levels]
        cells = [
            f"{foreseen:.1f}, {measured:.1f}",
            f"{foreseen / measured:.2f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
        ]
        cells = [cell if measured == measured else "" for cell in cells]
        cells += [f"{waited:.1f}, {lasted:.1f}", f"{min(parts):.2f} to {max(parts):.2f}"]
        yield f"| {name} | {len(levels)} | {' | '.join(cells)} |"
