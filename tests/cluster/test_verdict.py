"""What a run shows, from what producers, consumers and logs showed. The readings are those of a run on 4.3.1."""

from __future__ import annotations

import attrs
import pytest

from highwater.claims.reproduction import Counterexample
from highwater.cluster.runs import Observed, Reading, Run, words_of
from highwater.cluster.schedule import Schedule
from highwater.cluster.verdict import verdict

BEFORE, AFTER = Reading(((0, "r0", 0),), 1), Reading((), 0)


@pytest.fixture
def schedule(planned: tuple[Schedule, int]) -> Schedule:
    return planned[0]


@pytest.fixture
def run(schedule: Schedule) -> Run:
    logs = tuple(tuple(map(str, replica.log)) for replica in schedule.deeds[-1].state.replicas)
    observed = tuple(Observed(words_of(deed, 3), (), logs, 0.1) for deed in schedule.deeds)
    return Run(observed, {"r0": "acknowledged at offset 0"}, BEFORE, AFTER)


def test_an_acknowledged_record_that_no_consumer_reads_any_more_is_gone(
    flaw: Counterexample, schedule: Schedule, run: Run
) -> None:
    said = verdict(schedule, flaw.violation.trace, run)
    assert said.reproduced
    assert said.sentence == (
        "acknowledged record r0 is gone: it was acknowledged at offset 0, and a consumer read it at offset 0; now a "
        "consumer reads nothing (end offset 0) from b1"
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"after": BEFORE}, "acknowledged record r0 is still there: a consumer reads r0 at offset 0 (end offset 1)"),
        ({"acknowledged": {"r0": "waiting"}}, "r0 was not acknowledged: waiting"),
        ({"acknowledged": {}}, "r0 was not acknowledged: was never produced"),
        ({"after": None}, "no consumer can read from the leader"),
    ],
)
def test_a_record_that_is_there_or_was_never_acknowledged_is_not_a_loss(
    flaw: Counterexample, schedule: Schedule, run: Run, changes: dict, why: str
) -> None:
    said = verdict(schedule, flaw.violation.trace, attrs.evolve(run, **changes))
    assert not said.reproduced
    assert said.sentence == why


def test_a_deed_without_its_effect_is_named_with_the_steps_of_the_trace(
    flaw: Counterexample, schedule: Schedule, run: Run
) -> None:
    failed = attrs.evolve(run.observed[5], failed="after 17 s b1's log has r0 and not none")
    stopped = attrs.evolve(run, observed=(*run.observed[:5], failed), before=None, after=None)
    said = verdict(schedule, flaw.violation.trace, stopped)
    assert not said.reproduced
    assert said.sentence == (
        "deed 5, resume b2 (SIGCONT) (steps 4, 8 of the trace), could not be brought about, because after 17 s b1's "
        "log has r0 and not none"
    )


def test_two_records_of_one_offset_and_epoch_are_shown_by_the_logs(
    flaw: Counterexample, schedule: Schedule, run: Run
) -> None:
    nothing_lost = attrs.evolve(schedule, deeds=schedule.deeds[:9])
    same, other = (("r0@e0",), ("r0@e0",)), (("r1@e0",), ("r0@e0",))
    for logs, reproduced in ((same, False), (other, True)):
        observed = tuple(attrs.evolve(each, logs=logs) for each in run.observed[:9])
        said = verdict(nothing_lost, flaw.violation.trace, attrs.evolve(run, observed=observed))
        assert said.reproduced is reproduced
    assert said.sentence == "offset 0 of leader epoch 0 is r1 in b0's log, and r0 in b1's"
