"""From a trace to deeds: the planner's schedules and refusals."""

from __future__ import annotations

import attrs
import pytest

from highwater.claims.reproduction import Counterexample, _planner, plan
from highwater.claims.resolving import define, find_model
from highwater.cluster.planner import NoSchedule
from highwater.cluster.schedule import Kind, Schedule, missing
from highwater.cluster.verdict import not_taken, numbers_of
from highwater.explorer.system import successor
from highwater.explorer.verdict import Step, Violation
from highwater.model.partition.protocol import FollowerReset
from tests.cluster.conftest import about, claim, counterexample, steps_of

Planned = tuple[Schedule, int]


def test_the_offsets_of_before_an_election_are_reached_with_pauses_and_elections_alone(planned: Planned) -> None:
    schedule, min_isr = planned
    assert min_isr == 2
    assert [str(deed) for deed in schedule.deeds] == [
        "begin",
        "pause b2",
        "produce(leader b0)",
        "pause b0",
        "move_leadership(candidate b2)",
        "resume b2",
        "pause b1",
        "move_leadership(candidate b0)",
        "resume b0",
        "move_leadership(candidate b1)",
        "resume b1",
    ]
    assert schedule.shows_from == 9
    assert schedule.violated.of.name == "candidates_are_complete"
    assert missing(schedule.deeds[8].state, schedule.deeds[8].paused) == ()
    assert missing(schedule.deeds[-1].state, schedule.deeds[-1].paused) == (0,)


def test_every_step_of_a_schedule_is_a_step_of_the_model(flaw: Counterexample, planned: Planned) -> None:
    system = _planner(flaw, 2)._system
    schedule, _ = planned
    (state,) = system.initial
    for deed in schedule.deeds:
        for action in ([deed.decided] if deed.decided else []) + [step.action for step in deed.eager]:
            state = successor(action, state, system.domain)
            assert isinstance(state, system.domain.cls)
        assert state == deed.state


def test_no_step_of_a_schedule_needs_a_paused_broker(planned: Planned) -> None:
    schedule, _ = planned
    for deed in schedule.deeds:
        for step in deed.eager:
            acting = {step.action.arguments[key] for key in ("broker", "follower") if key in step.action.arguments}
            assert not acting & deed.paused, (str(deed), str(step.action))


def test_a_follower_is_not_paused_while_its_fetch_waits_at_a_paused_leader(planned: Planned) -> None:
    before = None
    for deed in planned[0].deeds:
        if deed.kind is Kind.PAUSE:
            assert before.state.replicas[deed.broker].leader not in before.paused
        before = deed


def test_the_repaired_rule_leaves_no_schedule(flaw: Counterexample) -> None:
    protocol = attrs.evolve(flaw.protocol, reset_follower_state=FollowerReset.NEW_EPOCH)
    repaired = attrs.evolve(flaw, protocol=protocol, definition=define(find_model("partition"), protocol))
    repaired = attrs.evolve(repaired, bounds=attrs.evolve(flaw.bounds, isr_shrinks=0))  # fewer schedules to try
    with pytest.raises(NoSchedule, match="own steps could not be brought about"):
        _planner(repaired, 2).plan()


def test_a_deed_names_the_steps_of_the_trace_that_it_takes(flaw: Counterexample, planned: Planned) -> None:
    schedule, _ = planned
    numbers = numbers_of(schedule, flaw.violation.trace)
    assert numbers == ((), (), (1, 5, 6), (), (2, 7), (4, 8), (), (3,), (9,), (), ())
    assert list(not_taken(numbers, flaw.violation.trace)) == [10, 11, 12]


def test_a_late_response_cannot_be_brought_about_and_is_named() -> None:
    spec = claim(
        "kafka-4.1",
        "candidates_are_complete",
        {"fetch_response_checks": "leader"},
        brokers=2, log_length_max=1, records_max=1, leader_epoch_max=1, leader_moves=1, fetch_steps=2,
    )  # fmt: skip
    system = spec.system()
    trace = steps_of(system, "produce(leader b0)\nfetch(follower b1)\nmove_leadership(candidate b1)\n"
                             "receive_fetch(follower b1)")  # fmt: skip
    late = about(spec, Violation("candidates_are_complete", {}, "", {}, trace))
    with pytest.raises(
        NoSchedule, match=r"step 4, receive_fetch\(follower b1\), could not be brought about: a running"
    ):
        plan(late)


def test_a_paused_follower_leaves_the_isr_and_a_lossy_crash_of_the_last_member_loses_a_record() -> None:
    rules = {"high_watermark_requires_min_isr": False, "elr": False, "isr_may_be_empty": False}
    spec = claim(
        "repaired",
        "acknowledged_records_survive",
        {**rules, "unclean_shutdown_removes_from_elr": False},
        brokers=2, log_length_max=1, records_max=1, leader_epoch_max=2, partition_epoch_max=4, fetch_steps=1,
        isr_shrinks=1, lossy_crashes=1,
    )  # fmt: skip
    lost = counterexample(
        spec,
        """
        propose_shrink(leader b0, follower b1)
        alter_partition(leader b0)
        receive_isr_answer(leader b0)
        produce(leader b0)
        crash_with_loss(broker b0, kept 0)
        fence(broker b0, successor none)
        restart(broker b0)
        unfence(broker b0)
        elect(candidate b0)
        learn_leadership(broker b0, epoch e2)
        """,
    )
    schedule, min_isr = plan(lost)
    assert min_isr == 2
    names = [deed.name for deed in schedule.deeds]
    assert names.index("produce") < names.index("lag") < names.index("crash_with_loss") < names.index("restart")
    lag = next(deed for deed in schedule.deeds if deed.kind is Kind.LAG)
    assert str(lag.decided) == "produce(leader b0)"  # a follower that has all records does not lag
    assert lag.paused == {1}
    assert lag.state.quorum.isr == {0}
    fence = next((number for number, deed in enumerate(schedule.deeds) if deed.name == "fence"), None)
    assert fence is None or not schedule.deeds[fence - 1].paused  # who is paused would be fenced, too


def test_steps_of_a_schedule_remember_the_states_between(planned: Planned) -> None:
    for deed in planned[0].deeds:
        assert all(isinstance(step, Step) for step in deed.eager)
        assert not deed.eager or deed.eager[-1].state == deed.state


def test_a_planner_that_gives_up_reports_its_limit(flaw: Counterexample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highwater.cluster.planner.MOST_NODES", 3)
    with pytest.raises(NoSchedule, match="none was found among the first 3 states; there are more"):
        plan(flaw)
