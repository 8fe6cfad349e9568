"""Prospects on Spark are judged as on one machine: verdicts, traces step by step, states held back by bounds."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import promises
import pytest
import toys

from highwater.explorer.search.levels import breadth_first
from highwater.explorer.system import System
from highwater.explorer.verdict import NO_GOAL, Outcome, SearchOptions
from highwater.spark.driver.explore import explore

INVARIANT = "the_bad_place_is_not_reached_late"
ON_EXECUTORS = 17
SEEDS = range(40)


def judged(outcome: Outcome) -> list[Any]:
    """All that was found out about prospects, each trace with all its steps; and of invariants, the traces' lengths."""
    found = {}
    for each in outcome.violations:
        steps = [(str(step.action), step.state) for step in each.trace]
        found[each.property] = each.trace_length if each.property == INVARIANT else steps
    return [outcome.verdict, outcome.levels, outcome.held_back, outcome.vacuous, found]


@functools.cache
def locally(seed: int) -> Outcome:
    return breadth_first.explore(toys.random_system(seed), options=SearchOptions(keep_going=True))


def in_driver(make: Callable[[], System], folder: Any, **how: Any) -> Outcome:
    return explore(make, options=SearchOptions(checkpoint=str(folder), keep_going=True, **how), spark=None)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_systems_are_judged_in_the_driver_as_the_local_search_does(seed: int, tmp_path: Any) -> None:
    assert judged(in_driver(functools.partial(toys.random_system, seed), tmp_path)) == judged(locally(seed))


def test_the_prospects_of_random_systems_are_lost_kept_and_held_back() -> None:
    """So that the comparisons say something."""
    found = [locally(seed) for seed in SEEDS]
    lost = [{each.property for each in outcome.violations if "goal" in each.property} for outcome in found]
    assert {len(names) for names in lost} == {0, 1, 2}
    assert any(outcome.held_back for outcome in found)
    assert any(len(each.trace) > 3 for outcome in found for each in outcome.violations if "goal" in each.property)
    assert any(NO_GOAL in outcome.vacuous.values() for outcome in found)
    of_executors = locally(ON_EXECUTORS)
    assert lost[ON_EXECUTORS] and of_executors.held_back


@pytest.mark.parametrize("symmetry", [True, False], ids=["up to symmetry", "every state"])
def test_a_claim_of_the_gallery_is_judged_in_the_driver_as_the_local_search_does(symmetry: bool, tmp_path: Any) -> None:
    make = promises.of_gallery("a_half_deleted_topic_can_be_deleted")
    here = breadth_first.explore(make(), options=SearchOptions(keep_going=True, symmetry=symmetry))
    assert judged(in_driver(make, tmp_path, symmetry=symmetry)) == judged(here)


def test_executors_judge_a_random_system_as_the_local_search_does(
    spark: Any, monkeypatch: pytest.MonkeyPatch, moves: list[tuple[str, int]]
) -> None:
    """Each partition in two windows. Rounds do not move the steps that they follow."""
    monkeypatch.setattr("highwater.spark.driver.liveness.ROWS_IN_THE_DRIVER", 0)
    monkeypatch.setattr("highwater.spark.driver.cluster.windows_before", lambda *_: 2)
    make = functools.partial(toys.random_system, ON_EXECUTORS)
    found = explore(make, options=SearchOptions(keep_going=True), spark=spark, partitions=2)
    assert judged(found) == judged(locally(ON_EXECUTORS))
    of_rounds = {tables for what, tables in moves if "steps before" in what}
    assert of_rounds == {1, 2}, "what is found, and but in the first round what is known"
