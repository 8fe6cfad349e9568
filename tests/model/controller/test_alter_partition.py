"""How a controller answers a leader that asks for another ISR, case by case as KafkaController#tryProcessAlterPartition
(3.5) does.
"""

from __future__ import annotations

import attrs
import pytest

from highwater.invariants.controller.recovery import isr_changes_can_be_settled
from highwater.model.controller.brokers import IsrChange
from highwater.model.controller.protocol import IsrPath
from highwater.model.controller.releases import PRESETS, REPAIRED
from highwater.model.partition_rules import AheadOfController
from tests.model.controller.walk import Walk

RULES = attrs.evolve(REPAIRED, isr_path=IsrPath.ALTER_PARTITION)
FENCING = attrs.evolve(RULES, ahead_of_controller_error=AheadOfController.FENCED)


def asked(walk: Walk) -> Walk:
    return walk("shrink_isr", leader=0, follower=1)


def answered(walk: Walk, controller: int = 0) -> Walk:
    return walk("answer_alter_partition", controller=controller, leader=0)


def test_an_isr_that_is_asked_for_counts_only_once_it_is_granted() -> None:
    walk = asked(Walk(RULES))
    assert (walk.leadership.isr, walk.cluster.brokers[0].isr, walk.cluster.brokers[0].maximal_isr) == (
        {0, 1},
        {0, 1},
        {0, 1},
    )
    answered(walk)
    leader = walk.cluster.brokers[0]
    assert (walk.leadership.isr, walk.context.leadership, leader.isr, leader.change) == (
        {0},
        walk.leadership,
        {0},
        None,
    )
    assert (walk.leadership.leader_epoch, walk.leadership.partition_epoch, leader.partition_epoch) == (0, 1, 1)


def test_a_member_that_is_asked_for_is_waited_for_at_once() -> None:
    walk = answered(asked(Walk(RULES)))("expand_isr", leader=0, follower=1)
    assert (walk.cluster.brokers[0].isr, walk.cluster.brokers[0].maximal_isr) == ({0}, {0, 1})
    walk("crash_broker", broker=1)
    assert walk.try_("commit", leader=0) is None


def test_a_leader_asks_for_one_change_at_a_time() -> None:
    walk = asked(Walk(RULES, brokers=3, replication_factor=3))
    assert walk.try_("shrink_isr", leader=0, follower=2) is None


def test_a_member_that_is_not_live_is_refused_and_the_leader_takes_it_back() -> None:
    walk = answered(asked(Walk(RULES)))("expand_isr", leader=0, follower=1)("shut_down_broker", controller=0, broker=1)
    walk = walk("answer_alter_partition", controller=0, leader=0)
    assert (walk.cluster.brokers[0].change, walk.leadership.isr) == (None, {0})


def test_a_leader_of_an_older_leader_epoch_gives_up_and_learns_of_the_newer_one() -> None:
    walk = asked(Walk(RULES, brokers=3, replication_factor=3))("crash_broker", broker=2)("notice_brokers", controller=0)
    answered(walk)
    assert walk.cluster.brokers[0].change == IsrChange(frozenset({0, 2}), given_up=True)
    assert walk.try_("answer_alter_partition", controller=0, leader=0) is None
    assert walk.deliver_all().cluster.brokers[0].change is None


def test_a_leader_with_an_older_version_gives_up() -> None:
    walk = asked(Walk(RULES))
    newer = attrs.evolve(walk.leadership, partition_epoch=1)
    walk.cluster = walk.cluster.with_zk(leadership=newer).with_context(0, leadership=newer)
    assert answered(walk).cluster.brokers[0].change.given_up


def test_a_leader_with_another_broker_epoch_than_the_controller_knows_asks_again() -> None:
    walk = asked(Walk(RULES))("expire_broker_session", broker=0)("register_broker_again", broker=0)
    assert walk.try_("answer_alter_partition", controller=0, leader=0) is None


def test_a_leader_that_asks_a_deposed_controller_asks_again() -> None:
    """The write fails, and KafkaController#processAlterPartition answers UNKNOWN_SERVER_ERROR; it does not resign."""
    walk = asked(Walk(RULES, controllers=2, controller_epoch_max=2))("depose_controller", controller=0)(
        "elect_controller", controller=1
    )
    assert walk.try_("answer_alter_partition", controller=0, leader=0) is None
    assert answered(walk, 1).leadership.isr == {0}


@pytest.mark.parametrize("idempotent", [True, False])
def test_idempotent_alter_partition(idempotent: bool) -> None:
    """testIdempotentAlterPartition: the ISR that is there already is a success, whatever the partition epoch."""
    walk = asked(Walk(attrs.evolve(RULES, repeated_change_succeeds=idempotent)))
    walk("lose_isr_answer", controller=0, leader=0)
    assert (walk.leadership.isr, walk.leadership.partition_epoch) == ({0}, 1)
    assert (walk.cluster.brokers[0].isr, walk.cluster.brokers[0].partition_epoch) == ({0, 1}, 0)
    answered(walk)
    leader = walk.cluster.brokers[0]
    if idempotent:
        assert (leader.isr, leader.partition_epoch, leader.change) == ({0}, 1, None)
    else:
        assert leader.change.given_up
    assert walk.leadership.partition_epoch == 1, "nothing is written again"


def test_only_an_answer_to_a_write_is_worth_losing() -> None:
    walk = asked(Walk(RULES))("lose_isr_answer", controller=0, leader=0)
    assert walk.try_("lose_isr_answer", controller=0, leader=0) is None


@pytest.mark.parametrize(("release", "isr"), [("kafka-2.7", {0, 1}), ("kafka-3.0", {0, 1}), ("kafka-3.3", {0})])
def test_shutdown_broker_not_added_to_isr(release: str, isr: set[int]) -> None:
    """testShutdownBrokerNotAddedToIsr (3.3): until 3.2 a member that shuts down or is dead is written."""
    walk = answered(asked(Walk(PRESETS[release])))("expand_isr", leader=0, follower=1)
    walk("crash_broker", broker=1)("notice_brokers", controller=0)
    assert answered(walk).leadership.isr == isr


@pytest.mark.parametrize("rules", [RULES, FENCING], ids=["not-controller", "fenced"])
def test_a_deposed_controller_that_is_asked_about_newer_epochs(rules: object) -> None:
    """testAlterPartitionErrors and KAFKA-14154: NOT_CONTROLLER, after which the leader looks for the controller."""
    walk = Walk(rules, controllers=2, controller_epoch_max=2)("depose_controller", controller=0)(
        "elect_controller", controller=1
    )
    answered(asked(walk), 1)("expand_isr", leader=0, follower=1)
    late = walk.try_("answer_alter_partition", controller=0, leader=0)
    if rules is RULES:
        assert late is None
        assert answered(walk, 1).leadership.isr == {0, 1}
    else:
        assert late.brokers[0].change.given_up
        assert not isr_changes_can_be_settled(late, 0)


def test_no_answer_comes_between_two_steps_of_a_reassignment() -> None:
    walk = asked(Walk(RULES))("request_reassignment", target=(1,))("notice_reassignment", controller=0)
    assert walk.try_("answer_alter_partition", controller=0, leader=0) is None
