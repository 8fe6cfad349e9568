"""Bounds beyond frequency: which brokers are affected, how many at once, when, and from which start."""

from __future__ import annotations

from typing import Any

import pytest

from highwater import api
from highwater.invariants.partition.catalogue import PARTITION
from highwater.model.language.declarations import Invariant
from highwater.model.language.records import domain_of
from highwater.model.partition.definition import initial_states
from highwater.model.partition.releases import PRESETS, REPAIRED
from highwater.model.partition.state import Partition, Process, Standing
from tests.model.partition_story import STEPS, argument, bounds_of, state_after

CRASHES = {"brokers": 3, "process_crashes": 2}
SHUTDOWNS = {"brokers": 3, "controlled_shutdowns": 2}
RESTARTED = "crash b1, fence b1 none, restart b1"


def cut_by(story: str, step: str, given: dict[str, int]) -> frozenset[str]:
    """The bounds that cut a step after a story."""
    bounds, (name, *words) = bounds_of(**given), step.split()
    state = state_after(story, PRESETS["kafka-3.5"], bounds)
    (instance,) = [
        each
        for each in STEPS[name].instances(bounds, PRESETS["kafka-3.5"])
        if list(each.arguments.values()) == [argument(word) for word in words]
    ]
    after = instance.apply(state)
    assert after is not None
    return domain_of(Partition, bounds).exceeded(after)


@pytest.mark.parametrize(
    ("bound", "given", "story", "ruled_out"),
    [
        ("down_at_once", CRASHES, "crash b1", "crash b2"),
        ("down_at_once", {**CRASHES, **SHUTDOWNS}, "begin_controlled_shutdown b1 none", "crash b2"),
        ("stops_per_broker", CRASHES, RESTARTED, "crash b1"),
        ("stopping_brokers", CRASHES, RESTARTED, "crash b2"),
        ("shutdowns_wait_for_isr", {**SHUTDOWNS, "initial_isr": 2}, "", "begin_controlled_shutdown b1 none"),
        ("failures_during_shutdown", {**CRASHES, **SHUTDOWNS}, "", "crash b1"),
        ("failures_during_shutdown", {"brokers": 3, "spurious_fences": 1}, "", "fence b1 none"),
        ("failures_without_leader", CRASHES, "", "crash b1"),
    ],
)
def test_a_bound_cuts_the_steps_it_rules_out_and_is_named(
    bound: str, given: dict[str, int], story: str, ruled_out: str
) -> None:
    assert cut_by(story, ruled_out, {**given, bound: 1}) == {bound}
    assert not cut_by(story, ruled_out, given)


@pytest.mark.parametrize(
    ("bound", "given", "story", "allowed"),
    [
        ("down_at_once", CRASHES, RESTARTED, "crash b2"),
        ("stops_per_broker", CRASHES, RESTARTED, "crash b2"),
        ("stopping_brokers", CRASHES, RESTARTED, "crash b1"),
        ("shutdowns_wait_for_isr", SHUTDOWNS, "", "begin_controlled_shutdown b1 none"),
        ("failures_during_shutdown", {**CRASHES, **SHUTDOWNS}, "begin_controlled_shutdown b2 none", "crash b1"),
        (
            "failures_without_leader",
            {**CRASHES, **SHUTDOWNS, "initial_isr": 1},
            "begin_controlled_shutdown b0 none",
            "crash b1",
        ),
    ],
)
def test_a_bound_leaves_the_rest_alone(bound: str, given: dict[str, int], story: str, allowed: str) -> None:
    assert not cut_by(story, allowed, {**given, bound: 1})


SIZES = {"brokers": 3, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1, "partition_epoch_max": 2}
LIMITED = [
    {"controlled_shutdowns": 2, "down_at_once": 1, "stops_per_broker": 1, "shutdowns_wait_for_isr": 1},
    {"process_crashes": 2, "stopping_brokers": 1, "initial_down": 1, "initial_records": 1},
    {"lossy_crashes": 1, "controlled_shutdowns": 1, "failures_during_shutdown": 1},
    {"spurious_fences": 1, "process_crashes": 1, "failures_without_leader": 1, "initial_isr": 1},
]


@pytest.mark.parametrize("limits", LIMITED, ids=lambda limits: " ".join(limits))
def test_limits_name_no_broker_so_that_symmetry_and_both_engines_agree(limits: dict[str, int]) -> None:
    def outcome(**options: Any) -> tuple[Any, ...]:
        bounds = {**SIZES, "fetch_steps": 1, **limits}
        check = [each.name for each in PARTITION if isinstance(each, Invariant)]
        spec = api.claim(model="partition", preset="repaired", bounds=bounds, check=check)
        found = api.check(spec, max_depth=6, **options).outcome
        return found.levels, found.generated, found.bounds_cut, [each.property for each in found.violations]

    plain = outcome(engine="python")
    assert outcome() == plain
    assert outcome(symmetry=False) == plain
    assert set(plain[2]) & {key for key in limits if not key.startswith("initial")}


@pytest.mark.parametrize("protocol", [PRESETS["kafka-0.8.0"], PRESETS["kafka-3.5"], PRESETS["kafka-4.1"], REPAIRED])
def test_a_start_may_have_records_and_brokers_that_are_down(protocol: Any) -> None:
    bounds = bounds_of(brokers=4, initial_records=2, initial_down=1, initial_isr=2, process_crashes=1)
    (state,) = initial_states(bounds, protocol)
    assert not domain_of(Partition, bounds).exceeded(state)
    assert [len(replica.log) for replica in state.replicas] == [2, 2, 0, 0]
    assert [replica.high_watermark for replica in state.replicas] == [2, 2, 0, 0]
    assert [replica.process for replica in state.replicas] == [*[Process.UP] * 3, Process.DOWN]
    assert state.quorum.isr == {0, 1}
    assert state.quorum.registrations[3].standing is Standing.FENCED
    assert (state.clients.acked, len(state.clients.exposed), state.next_record_id) == ({0, 1}, 2, 2)


def test_a_broker_that_is_down_at_the_start_comes_back_and_joins_the_isr() -> None:
    bounds = bounds_of(brokers=2, initial_records=1, initial_down=1, fetch_steps=1)
    state = state_after(
        "restart b1, unfence b1, learn_leadership b1 e0, not propose_expansion b0 b1, fetch_at_once b1, "
        "fetch_at_once b1, propose_expansion b0 b1, alter_partition b0",
        PRESETS["kafka-4.1"],
        bounds,
    )
    assert state.quorum.isr == {0, 1}
    assert state.replicas[1].log == state.replicas[0].log


def test_more_records_at_the_start_than_a_log_can_hold_are_refused() -> None:
    bounds = {**SIZES, "initial_records": 2}
    with pytest.raises(api.SpecError, match="initial"):
        api.check(
            api.claim(model="partition", preset="repaired", bounds=bounds, check=["acknowledged_records_survive"])
        )


def test_a_request_of_an_earlier_incarnation_is_lost_once_the_broker_has_registered_again() -> None:
    """ClusterControlManager#checkBrokerEpoch refuses it: STALE_BROKER_EPOCH (3.5.1)."""
    bounds = bounds_of(process_crashes=1, isr_shrinks=1)
    proposed = "produce b0, propose_shrink b0 b1, crash b0"
    granted = state_after(f"{proposed}, alter_partition b0", PRESETS["kafka-3.5"], bounds)
    assert granted.quorum.isr == {0}
    refused = state_after(f"{proposed}, restart b0, not alter_partition b0", PRESETS["kafka-3.5"], bounds)
    assert refused.quorum.isr == {0, 1}


def test_a_leader_that_registered_again_loses_leadership_with_the_next_member_that_leaves_the_isr() -> None:
    """PartitionChangeBuilder#tryElection asks whether the leader may lead, and it is fenced (3.5.1)."""
    bounds = bounds_of(brokers=3, process_crashes=2)
    registered = state_after("crash b0, restart b0", PRESETS["kafka-3.5"], bounds)
    assert registered.quorum.leader == 0
    assert registered.quorum.registrations[0].standing is Standing.FENCED
    after = state_after("crash b0, restart b0, crash b2, not fence b2 none, fence b2 b1", PRESETS["kafka-3.5"], bounds)
    assert (after.quorum.leader, after.leader_epoch, after.quorum.isr) == (1, 1, {0, 1})
    unfenced = state_after("crash b0, restart b0, unfence b0, crash b2, fence b2 none", PRESETS["kafka-3.5"], bounds)
    assert unfenced.quorum.leader == 0
