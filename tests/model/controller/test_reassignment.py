"""A reassignment step by step: what each step costs, and that a controller may die before any of them."""

from __future__ import annotations

import attrs
import pytest

from highwater.invariants.controller.in_sync_replicas import (
    reassignments_complete_with_the_target_assigned_and_in_sync as completes,
)
from highwater.model.controller.context import Step
from highwater.model.controller.protocol import ControllerProtocol, IsrPath, ReassignmentOrder
from highwater.model.controller.reassignment import BEGINNING, END
from highwater.model.controller.releases import PRESETS, REPAIRED
from highwater.model.controller.replica_states import ReplicaState
from tests.model.controller.walk import Walk


def reassigned(walk: Walk) -> Walk:
    return walk("expand_isr", leader=0, follower=1)("notice_caught_up_replicas", controller=0).steps()


def test_moving_a_single_replica_costs_three_leader_epochs() -> None:
    walk = Walk(replication_factor=1)("request_reassignment", target=(1,))("notice_reassignment", controller=0).steps()
    assert walk.leadership.leader_epoch == 1
    assert walk.cluster.zk.assignment == (1, 0)
    reassigned(walk)
    assert (walk.leadership.leader, walk.leadership.isr, walk.leadership.leader_epoch) == (1, {1}, 3)
    assert (walk.cluster.zk.assignment, walk.cluster.zk.reassignment) == ((1,), None)
    assert walk.cluster.brokers[0].log is None


def test_moving_a_single_replica_costs_one_more_leader_epoch_if_it_stalled() -> None:
    walk = Walk(replication_factor=1)("crash_broker", broker=1)("notice_brokers", controller=0)
    walk("request_reassignment", target=(1,))("notice_reassignment", controller=0).steps()
    assert walk.leadership.leader_epoch == 1
    walk("start_broker", broker=1)("notice_brokers", controller=0).steps()
    assert reassigned(walk).leadership.leader_epoch == 4


def test_a_removed_replica_does_not_wait_for_its_broker() -> None:
    walk = Walk(replication_factor=1)("request_reassignment", target=(1,))("notice_reassignment", controller=0).steps()
    walk("expand_isr", leader=0, follower=1)("notice_caught_up_replicas", controller=0)
    while walk.context.step is not Step.NARROW_ASSIGNMENT:
        walk("take_next_step", controller=0)
    assert walk.context.replicas[0] is ReplicaState.NON_EXISTENT
    assert walk.cluster.brokers[0].log is not None


@pytest.mark.parametrize(
    ("preset", "assignment"), [("kafka-0.9", (0,)), ("kafka-2.3", (1, 0)), ("kafka-3.4.1", (1, 0))]
)
def test_a_new_controller_widens_the_assignment_to_a_dead_target_unless_that_must_be_live(
    preset: str, assignment: tuple[int, ...]
) -> None:
    walk = Walk(PRESETS[preset], replication_factor=1, established=0)("create_topic")
    walk("request_reassignment", target=(1,))("crash_broker", broker=0)("crash_broker", broker=1)
    walk("elect_controller", controller=0)
    assert walk.cluster.zk.assignment == assignment
    assert (walk.cluster.zk.reassignment is None) is not PRESETS[preset].reassignment_overridable


def test_a_reassignment_for_a_topic_that_is_being_deleted_is_refused() -> None:
    walk = Walk(replication_factor=1)("request_reassignment", target=(1,))("request_deletion")(
        "notice_deletion", controller=0
    )
    walk("notice_reassignment", controller=0)
    assert walk.cluster.zk.reassignment is None
    assert walk.context.step is None


ALTER_PARTITION = attrs.evolve(REPAIRED, isr_path=IsrPath.ALTER_PARTITION)


def joined(walk: Walk, controller: int) -> Walk:
    """The new replica comes into the ISR, by whichever way leaders have, and the end of the reassignment begins."""
    walk("expand_isr", leader=0, follower=1)
    by_request = walk.cluster.brokers[0].change is not None
    if by_request:
        return walk("answer_alter_partition", controller=controller, leader=0)
    return walk("notice_caught_up_replicas", controller=controller)


@pytest.mark.parametrize("protocol", [REPAIRED, ALTER_PARTITION], ids=["zookeeper", "alter-partition"])
@pytest.mark.parametrize(
    "crashing", [*BEGINNING, None, *END], ids=lambda step: step.value if step else "while it waits"
)
def test_a_controller_may_crash_before_any_step(protocol: ControllerProtocol, crashing: Step | None) -> None:
    """Its successor completes the reassignment: exactly the target is assigned and in the ISR, and has what was
    committed.
    """
    walk = Walk(protocol, replication_factor=1, controllers=2, controller_epoch_max=2)("commit", leader=0)
    walk("request_reassignment", target=(1,))("notice_reassignment", controller=0)
    for step in (*BEGINNING, None, *END):
        assert walk.context.step is step
        if step is crashing:
            break
        walk = walk.deliver_all()("take_next_step", controller=0) if step else walk.deliver_all()
        if step is None:
            joined(walk("catch_up", follower=1, leader=0), 0)
    walk("crash_controller", controller=0)("elect_controller", controller=1)
    if walk.cluster.zk.reassignment is not None:
        walk.steps(1).deliver_all()
    if walk.cluster.zk.reassignment is not None:
        if not walk.cluster.brokers[1].complete:
            walk("catch_up", follower=1, leader=0)
        joined(walk, 1).steps(1)
    walk.deliver_all()
    assert (walk.cluster.zk.assignment, walk.leadership.isr, walk.leadership.leader) == ((1,), {1}, 1)
    assert walk.cluster.brokers[1].leads
    assert walk.cluster.brokers[1].complete
    assert not walk.cluster.history.illegal_edges


@pytest.mark.parametrize(
    ("order", "good"), [(ReassignmentOrder.PUBLISHED, True), (ReassignmentOrder.CLOSING_FIRST, False)]
)
def test_a_reassignment_that_completes_too_early_is_seen(order: ReassignmentOrder, good: bool) -> None:
    walk = Walk(attrs.evolve(REPAIRED, reassignment_order=order), replication_factor=1)
    walk("request_reassignment", target=(1,))("notice_reassignment", controller=0).steps()
    walk("expand_isr", leader=0, follower=1)("notice_caught_up_replicas", controller=0)
    while walk.context.step is not Step.CLOSE_REASSIGNMENT:
        walk("take_next_step", controller=0).deliver_all()
    before = walk.cluster
    assert bool(completes(before, walk("take_next_step", controller=0).cluster)) is good


def test_a_broker_that_bounces_starts_no_deletion_between_two_steps_of_a_reassignment() -> None:
    walk = Walk(brokers=3, target_size=2)("request_reassignment", target=(0, 2))(
        "notice_reassignment", controller=0
    ).steps()
    walk("request_deletion")("notice_deletion", controller=0)("crash_broker", broker=2)("notice_brokers", controller=0)
    for broker in (2, 1):
        if walk.cluster.brokers[broker].running:
            walk("crash_broker", broker=broker)
        walk("start_broker", broker=broker)
    walk("notice_brokers", controller=0)
    assert walk.context.step is Step.UPDATE_ASSIGNMENT
    assert not walk.context.deletion_begun


@pytest.mark.parametrize("release", ["kafka-2.3", "kafka-2.4.0"])
def test_a_reassignment_that_goes_on_can_be_overridden_since_2_4(release: str) -> None:
    """KIP-455: until 2.3 the listener leaves partitions alone that are being reassigned."""
    walk = Walk(PRESETS[release], replication_factor=1)
    walk("request_reassignment", target=(1,))("notice_reassignment", controller=0).steps()
    assert (walk.try_("request_reassignment", target=(0,)) is not None) == (release == "kafka-2.4.0")


@pytest.mark.parametrize("release", ["kafka-0.9", "kafka-0.10.1.0"])
def test_a_reassignment_to_a_dead_broker_is_dropped_until_0_10_0(release: str) -> None:
    """KafkaController#initiateReassignReplicasForTopicPartition (0.10.0): "Only ... are alive. Failing partition
    reassignment", whether it was just asked for or is found by a new controller.
    """
    walk = Walk(PRESETS[release], replication_factor=1)("crash_broker", broker=1)("notice_brokers", controller=0)
    walk("request_reassignment", target=(1,))("notice_reassignment", controller=0)
    assert (walk.cluster.zk.reassignment is None) == (release == "kafka-0.9")
