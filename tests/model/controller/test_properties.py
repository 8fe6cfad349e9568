"""States made by hand in which properties are false that no claim shows violated: see `test_every_property`."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from highwater.invariants.controller import fencing, goals, in_sync_replicas, records, recovery
from highwater.invariants.controller.in_sync_replicas import (
    reassignments_complete_with_the_target_assigned_and_in_sync as completes,
)
from highwater.model.controller.brokers import Role
from highwater.model.controller.releases import REPAIRED
from highwater.model.controller.state import Cluster
from tests.model.controller.walk import Walk


def changed(cluster: Cluster, broker: int, **changes: object) -> Cluster:
    return cluster.with_broker(broker, attrs.evolve(cluster.brokers[broker], **changes))


def with_leadership(cluster: Cluster, **changes: object) -> Cluster:
    """ZooKeeper and the controller with another leadership."""
    leadership = attrs.evolve(cluster.zk.leadership, **changes)
    return cluster.with_zk(leadership=leadership).with_context(0, leadership=leadership)


START = Walk().cluster
ALIKE = changed(START, 1, role=Role.LEADER)
FALSE: list[tuple[Callable, tuple]] = [
    (fencing.one_leader_per_epoch, (ALIKE, 0, 1)),
    (fencing.a_leader_epoch_keeps_its_leader, (START, ALIKE, 1)),
    (fencing.a_leader_epoch_keeps_its_leader, (START, with_leadership(START, leader=1), 0)),
    (in_sync_replicas.online_partition_has_live_leader_in_isr, (with_leadership(START, leader=None), 0)),
    (in_sync_replicas.online_partition_has_live_leader_in_isr, (with_leadership(START, isr=frozenset({1})), 0)),
    (in_sync_replicas.online_partition_has_live_leader_in_isr, (START.with_context(0, live=(None, 0)), 0)),
    (
        completes,
        (START.with_zk(reassignment=Walk()("request_reassignment", target=(1,)).cluster.zk.reassignment), START),
    ),
    (recovery.assigned_brokers_can_join_the_isr, (with_leadership(START, isr=frozenset({0})), 1)),
    (
        recovery.metadata_can_converge,
        (changed(START, 1, metadata=None), 1, attrs.evolve(REPAIRED, update_metadata=True)),
    ),
]


@pytest.mark.parametrize(("holds", "given"), FALSE, ids=lambda each: getattr(each, "name", ""))
def test_a_property_is_false_in_the_bad_state_and_has_a_witness(holds: Callable, given: tuple) -> None:
    witness = holds(*given)
    assert not witness
    assert str(witness)


@pytest.mark.parametrize(("committed", "good"), [(False, True), (True, False)])
def test_a_log_of_an_earlier_topic_lacks_what_was_committed_since_and_nothing_else(committed: bool, good: bool) -> None:
    cluster = changed(START.with_zk(topic_id=2), 1, complete=False)
    cluster = attrs.evolve(cluster, history=attrs.evolve(cluster.history, committed=committed))
    assert bool(records.isr_members_hold_committed_records(cluster, 1)) is good


def test_a_reassignment_lacks_nothing_as_long_as_one_member_of_the_isr_runs() -> None:
    assert not goals.lacks_what_a_reassignment_needs(changed(START, 1, running=False))
    nobody = changed(changed(START, 0, running=False), 1, running=False)
    assert goals.lacks_what_a_reassignment_needs(nobody)
