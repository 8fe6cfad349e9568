"""Liveness on Spark is judged as on one machine: verdicts, lassos step by step, states held back by bounds."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import promises
import pytest

from highwater.explorer.blame import ModelError
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.states.store import Store
from highwater.explorer.system import System
from highwater.explorer.verdict import NO_PREMISE, Budget, Outcome, SearchOptions, Verdict
from highwater.spark.driver.explore import explore
from highwater.spark.driver.tables import Rows, Waiting

Moves = list[tuple[str, int]]
LOCKS = {
    "promised to all": promises.lock_for_all,
    "promised to each": promises.lock_for_each,
    "never owed": promises.lock_for_nobody,
}
PAIRS = (
    "a_follower_that_remembers_an_epoch_without_records_truncates_for_ever",
    "a_follower_that_forgets_epochs_without_records_catches_up",
    "kafka_2_8_0_leaves_the_high_watermark_where_it_is",
    "kafka_3_0_moves_the_high_watermark",
)

BY_ORDER = (
    "a_flapping_isr_keeps_a_replacement_from_completing",
    "the_isr_holds_no_fenced_broker_after_any_number_of_elections",
)


def judged(outcome: Outcome) -> dict[str, Any]:
    """All that was found out about liveness, each lasso with all its steps."""
    return {
        "verdict": outcome.verdict,
        "states": outcome.distinct_states,
        "held back": outcome.held_back,
        "vacuous": outcome.vacuous,
        "lassos": {
            each.property: (
                each.arguments,
                each.witness,
                each.back_to,
                [(str(step.action), step.state) for step in each.trace],
            )
            for each in outcome.violations
        },
    }


def locally(make: Callable[[], System], symmetry: bool) -> dict[str, Any]:
    return judged(breadth_first.explore(make(), options=SearchOptions(symmetry=symmetry, keep_going=True)))


@pytest.mark.parametrize("symmetry", [True, False], ids=["up to symmetry", "every state"])
@pytest.mark.parametrize("make", LOCKS.values(), ids=LOCKS)
def test_a_graph_that_fits_the_driver_is_judged_as_by_the_local_search(
    make: Callable[[], System], symmetry: bool, tmp_path: Path
) -> None:
    found = explore(
        make, options=SearchOptions(checkpoint=str(tmp_path), symmetry=symmetry, keep_going=True), spark=None
    )
    assert judged(found) == locally(make, symmetry)
    again = explore(
        make,
        options=SearchOptions(checkpoint=str(tmp_path), symmetry=symmetry, keep_going=True, resume=True),
        spark=None,
    )
    assert judged(again) == judged(found)


@pytest.mark.parametrize("name", PAIRS[1:3])
def test_claims_of_the_gallery_are_judged_in_the_driver_as_the_local_search_does(name: str, tmp_path: Path) -> None:
    make = promises.of_gallery(name)
    found = explore(make, options=SearchOptions(checkpoint=str(tmp_path), keep_going=True), spark=None)
    assert judged(found) == locally(make, symmetry=True)


@pytest.mark.parametrize("name", BY_ORDER)
def test_claims_by_order_are_judged_in_the_driver_as_the_local_search_does(name: str, tmp_path: Path) -> None:
    make = promises.of_gallery(name)
    found = explore(make, options=SearchOptions(checkpoint=str(tmp_path)), spark=None)
    here = breadth_first.explore(make())
    assert judged(found) == judged(here)
    assert (found.by_order, found.any_number_of) == (here.by_order, here.any_number_of) != ((), ())


# On the cluster: no search is small enough for the driver, and trimming goes on as long as it removes anything


@pytest.fixture
def trimming(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highwater.spark.driver.explore.ROWS_WORTH_A_JOB", 1000)
    monkeypatch.setattr("highwater.spark.driver.liveness.ROWS_IN_THE_DRIVER", 0)
    monkeypatch.setattr("highwater.spark.driver.tables.STEPS_IN_THE_DRIVER", 0)


# A round takes seconds, however few states it looks at: each claim once, some of them up to symmetry
TRIMMED = [
    pytest.param(promises.lock_in_short, True, id="in short", marks=pytest.mark.slow),
    pytest.param(promises.lock_for_all, True, id="promised to all", marks=pytest.mark.slow),
    pytest.param(promises.of_gallery(PAIRS[1]), True, id=PAIRS[1], marks=pytest.mark.slow),
    pytest.param(promises.of_gallery(PAIRS[3]), False, id=PAIRS[3], marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("make", "symmetry"), TRIMMED)
def test_a_trimmed_graph_is_judged_as_by_the_local_search(
    spark: Any, trimming: None, make: Callable[[], System], symmetry: bool
) -> None:
    found = explore(make, options=SearchOptions(symmetry=symmetry, keep_going=True), spark=spark, partitions=2)
    assert judged(found) == locally(make, symmetry)


def test_a_round_that_measures_moves_what_it_has_found_alone(spark: Any, trimming: None, moves: Moves) -> None:
    """Neither the steps, nor the states that are known."""
    explore(promises.lock_in_short, spark=spark, partitions=2)
    assert {tables for what, tables in moves if "states at distance" in what} == {0, 1}, "the first round moves nothing"


def test_a_premise_that_is_never_true_is_found_by_the_executors(spark: Any, trimming: None) -> None:
    found = explore(promises.lock_for_nobody, options=SearchOptions(symmetry=False), spark=spark, partitions=2)
    assert (found.verdict, found.vacuous) == (Verdict.HOLDS, {"nothing_is_asked_of_it": NO_PREMISE})


@pytest.mark.slow
def test_the_same_is_judged_where_shards_fold_their_rows(spark: Any, trimming: None, shards_fold: None) -> None:
    make = promises.of_gallery(PAIRS[0])
    found = explore(make, options=SearchOptions(symmetry=False, keep_going=True), spark=spark, partitions=2)
    assert judged(found) == locally(make, symmetry=False)


def test_a_property_that_raises_on_an_executor_is_reported_as_on_one_machine(spark: Any, trimming: None) -> None:
    with pytest.raises(ModelError) as expected:
        breadth_first.explore(promises.lock_that_raises())
    with pytest.raises(ModelError) as raised:
        explore(promises.lock_that_raises, spark=spark, partitions=2)
    assert str(raised.value) == str(expected.value)
    assert "ZeroDivisionError" in str(raised.value)


@pytest.mark.slow
def test_a_trimming_that_takes_states_out_of_a_cycle_would_be_noticed(
    spark: Any, trimming: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = promises.lock_for_the_clock

    def trimmed_too_much(waiting: Waiting) -> Rows:
        left = trimmed(waiting)
        return left.where(left.distances > 0)

    trimmed = Waiting.trimmed
    monkeypatch.setattr(Waiting, "trimmed", trimmed_too_much)
    found = explore(make, options=SearchOptions(keep_going=True), spark=spark, partitions=2)
    assert judged(found) != locally(make, symmetry=True)


@pytest.mark.slow
def test_a_driver_without_room_for_the_trimmed_graph_gives_a_warning(
    spark: Any, trimming: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "room", 0)
    outcome = explore(promises.lock_for_the_clock, spark=spark, partitions=2)
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "memory of the driver")
    (warning,) = outcome.warnings
    assert re.fullmatch(
        r"liveness is not judged: the driver has no room for \d+ states that \d rounds of trimming have left for "
        r"it_is_counted_twice\(\)",
        warning,
    )


def test_a_driver_without_room_for_the_graph_gives_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "room", 0)
    outcome = explore(promises.lock_in_short, options=SearchOptions(checkpoint=str(tmp_path)), spark=None)
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "memory of the driver")
    assert outcome.warnings == ("liveness is not judged: the driver has no room for its graph",)


def test_the_promises_are_broken_kept_and_held_back_and_some_states_stand_for_others() -> None:
    """So that the comparisons say something."""
    to_all = breadth_first.explore(promises.lock_for_all(), options=SearchOptions(keep_going=True))
    assert to_all.stored_states < to_all.distinct_states
    assert {each.property: (each.back_to, each.trace_length) for each in to_all.violations} == {
        "it_is_counted_up": (0, 0),
        "everybody_has_asked": (0, 0),
        "it_is_counted_twice": (0, 9),
        "the_lock_stays_taken": (0, 9),
    }
    assert to_all.held_back == {"it_was_taken_often": 20, "counting_ends": 20}
    to_each = breadth_first.explore(promises.lock_for_each(), options=SearchOptions(keep_going=True))
    assert [each.property for each in to_each.violations] == ["who_asks_gets_in"]


def test_liveness_is_not_judged_before_every_state_is_known(tmp_path: Path) -> None:
    make = promises.lock_for_all
    outcome = explore(make, Budget(max_depth=2), SearchOptions(checkpoint=str(tmp_path)), spark=None)
    assert (outcome.verdict, outcome.violations) == (Verdict.HOLDS_TO_DEPTH, ())
    outcome = explore(make, options=SearchOptions(checkpoint=str(tmp_path), resume=True), spark=None)
    assert judged(outcome) == locally(make, symmetry=True)
