"""What `bench/level_loop.py` foresees of clusters: by hand, against its closed form, and against measured levels."""

from __future__ import annotations

import math
import sys
from collections import deque
from pathlib import Path

import attrs
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from level_costs import MEASURED, Cluster, Costs, files_of, levels_of, reckoned  # noqa: E402
from level_loop import (  # noqa: E402
    EVEN,
    LOSING,
    STRAGGLING,
    Chances,
    reckoning,
    simulated,
    simulations,
)
from level_measured import LEVELS, compared  # noqa: E402
from level_stage import Hosts, Stage  # noqa: E402

PAGE = (ROOT / "docs" / "large.md").read_text()
FREE = Costs(launch=0.0)
CLUSTER = Cluster(5, 4)
EQUAL = [20 * (1 << 20)] * 6  # a file for each core
SMALL = levels_of(1e8)


def hosts(executors: int, *homes: int, losses: tuple[tuple[float, int], ...] = ()) -> Hosts:
    return Hosts(1, [0.0] * executors, list(homes), deque(losses), noticed=3.0, replaced=1.0)


def test_without_skew_stragglers_and_losses_the_simulation_is_the_closed_form() -> None:
    assert simulated(EQUAL, CLUSTER, FREE).seconds == pytest.approx(reckoned(EQUAL, CLUSTER, FREE), rel=1e-12)


@pytest.mark.parametrize("chances", [Chances(skew=0.05), Chances(slow=0.02), Chances(jitter=0.1)], ids=str)
def test_any_unevenness_is_dearer_than_the_closed_form(chances: Chances) -> None:
    assert sum(simulated(EQUAL, CLUSTER, FREE, chances).seconds) > 1.01 * sum(reckoned(EQUAL, CLUSTER, FREE))


@pytest.mark.parametrize("chances", [EVEN, Chances(), attrs.evolve(LOSING, losses=500.0, speculation=True)], ids=str)
def test_every_row_is_expanded_once_whatever_is_lost(chances: Chances) -> None:
    run = simulated(SMALL, CLUSTER, Costs(), chances)
    assert run.expanded == sum(SMALL[:-1])
    assert (run.seen.lost > 0) == (chances.losses > 0)


def test_a_task_is_attempted_once_unless_what_it_makes_is_lost() -> None:
    even = attrs.evolve(STRAGGLING, hashed=False)
    run = simulated(EQUAL, CLUSTER, FREE, even)
    assert run.seen.attempts == 5 * (20 + CLUSTER.owners)
    lossy = simulated(EQUAL, CLUSTER, FREE, attrs.evolve(even, losses=500.0))
    assert lossy.seen.lost and lossy.seen.repeated and lossy.seen.attempts > run.seen.attempts


def test_a_seed_decides_everything() -> None:
    runs = [simulated(SMALL, CLUSTER, Costs(), attrs.evolve(LOSING, seed=seed, losses=100.0)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] and runs[0] != runs[2]


def test_more_losses_and_more_stragglers_take_longer() -> None:
    levels = levels_of(1e9)

    def middle(**more: float) -> float:
        runs = [simulated(levels, CLUSTER, Costs(), Chances(seed=seed, **more)) for seed in range(3)]
        return float(np.median([sum(run.seconds) for run in runs]))

    assert middle() < middle(slow=0.01) < middle(slow=0.1)
    assert middle() < middle(losses=3.0) < middle(losses=20.0)


def test_more_executors_and_quicker_parts_take_less_time() -> None:
    large = levels_of(1e10)
    times = [sum(reckoned(large, Cluster(executors), Costs())) for executors in (20, 40, 80)]
    assert times == sorted(times, reverse=True)
    assert sum(reckoned(large, Cluster(20), Costs(expand=1e-9))) < times[0]


def test_the_driver_launches_tasks_one_by_one() -> None:
    assert Stage(hosts(4), 0.0, [1.0] * 4, launch=2.0).run() == 7.0


def test_what_a_lost_executor_has_expanded_is_expanded_again() -> None:
    lossy = hosts(2, losses=((12.0, 1),))
    assert Stage(lossy, 0.0, [10.0, 10.0, 20.0, 5.0]).run() == 31.0  # back at 16: task 3, then 1
    assert (lossy.seen.lost, lossy.seen.repeated) == (1, 1)


def test_a_partition_of_a_lost_executor_is_read_again_where_it_runs_next() -> None:
    lossy = hosts(2, 0, 1, losses=((5.0, 1),))
    assert Stage(lossy, 0.0, [10.0, 10.0], [4.0, 4.0]).run() == 23.0  # noticed at 8, another executor at 9
    assert lossy.home == [0, 1] and lossy.seen.read_again == 1


def test_tasks_that_admit_wait_for_what_was_expanded_on_a_lost_executor() -> None:
    lossy = hosts(2, 0, 0, losses=((5.0, 1),))
    assert Stage(lossy, 0.0, [10.0, 10.0], [4.0, 4.0], redo=[[], [7.0]]).run() == 25.0  # made anew at 15


def test_a_task_that_runs_elsewhere_reads_its_partition_first() -> None:
    busy = hosts(2, 0, 0)
    assert Stage(busy, 0.0, [10.0, 10.0], [4.0, 4.0], wait=3.0).run() == 17.0
    assert busy.seen.stolen == 1
    assert Stage(hosts(2, 0, 0), 0.0, [10.0, 10.0], [4.0, 4.0]).run() == 20.0


def test_a_second_attempt_ends_a_straggler() -> None:
    slow = [1.0, 1.0, 1.0, 100.0]
    assert Stage(hosts(4), 0.0, slow, patience=3.0, anew=lambda task: 1.0).run() == 4.0
    assert Stage(hosts(4), 0.0, slow).run() == 100.0


def test_a_partition_is_cut_into_files() -> None:
    assert files_of(np.array([0, 5, 1 << 20, (2 << 20) + 7])).tolist() == [5, 1 << 20, 1 << 20, 1 << 20, 7]


def test_scaled_levels_have_the_shape_of_larger_measured_ones() -> None:
    assert [round(rows) for rows in levels_of(sum(MEASURED))] == list(MEASURED)
    levels = levels_of(113_065_123)
    assert len(levels) == 37
    assert max(levels) == pytest.approx(11_108_754, rel=0.15)


def test_what_was_measured_is_foreseen() -> None:
    lines = LEVELS.read_text().splitlines()
    assert not too_far(lines, Costs())
    assert too_far(lines, Costs(expand=1.5e-6))  # a comparison that can fail
    assert too_far(lines, Costs(enter_folded=5e-6))


def too_far(lines: list[str], costs: Costs) -> list[str]:
    """Searches whose tasks take a quarter more or less than foreseen, of those whose processor seconds are known."""
    found = []
    for name, levels in compared(lines, costs).items():
        if math.isnan(levels[0].measured):
            continue
        whole = sum(level.foreseen for level in levels) / sum(level.measured for level in levels)
        if not 0.75 < whole < 1.25:
            found.append(f"{name}: {whole:.2f}")
    return found


def test_the_page_shows_what_is_reckoned() -> None:
    assert "\n".join(reckoning()) in PAGE


def test_the_page_shows_what_is_simulated() -> None:
    assert "\n".join(simulations(((1e10, 20),))) in PAGE
