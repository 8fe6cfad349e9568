"""What a broker makes of a controller's requests, and what becomes of its answers, as ReplicaManager and
ControllerChannelManager (3.5) have it.
"""

from __future__ import annotations

import attrs
import pytest

from highwater.model.controller.brokers import Role
from highwater.model.controller.context import Answer
from highwater.model.controller.protocol import IsrPath
from highwater.model.controller.releases import PRESETS, REPAIRED
from tests.model.controller.walk import Walk

KRAFT_LIKE = attrs.evolve(REPAIRED, leaving_broker_fetches=True)


def demoted(rules: object) -> Walk:
    """b0 led, shuts down, and is told of its successor b1."""
    return Walk(rules)("shut_down_broker", controller=0, broker=0).deliver_all()


@pytest.mark.parametrize(
    ("rules", "role"), [(REPAIRED, Role.STOPPED), (KRAFT_LIKE, Role.FOLLOWER)], ids=["zk", "kraft"]
)
def test_a_broker_that_shuts_down_starts_no_fetcher_when_it_is_demoted(rules: object, role: Role) -> None:
    """ReplicaManager#makeFollowers: "skipped the adding-fetcher step ... since it is shutting down"."""
    walk = demoted(rules)
    broker = walk.cluster.brokers[0]
    assert (broker.role, broker.leader, broker.leader_epoch) == (role, 1, 1)
    assert (walk.try_("expand_isr", leader=1, follower=0) is not None) == (role is Role.FOLLOWER)


def test_a_broker_that_is_back_follows_like_any_other() -> None:
    walk = demoted(REPAIRED)("exit_broker", broker=0)("notice_brokers", controller=0)("start_broker", broker=0)
    walk("notice_brokers", controller=0).deliver_all()
    assert walk.cluster.brokers[0].role is Role.FOLLOWER


def leaderless(isr: int) -> Walk:
    """Three replicas; the only ISR member loses its session, and the others are told that nobody leads."""
    walk = Walk(brokers=3, replication_factor=3)
    for follower in (1, 2):
        walk("shrink_isr", leader=0, follower=follower)
    walk("expire_broker_session", broker=isr)("notice_brokers", controller=0)
    assert walk.leadership.leader is None
    return walk


def test_followers_go_on_where_the_new_leader_is_unavailable() -> None:
    """ReplicaManager#makeFollowers: "cannot become follower since the new leader -1 is unavailable"."""
    walk = leaderless(0)
    before = walk.cluster.brokers
    after = walk.deliver_all().cluster.brokers
    assert [(each.role, each.leader, each.leader_epoch) for each in after] == [
        (each.role, each.leader, each.leader_epoch) for each in before
    ]
    assert [each.leader_epoch for each in after] == [0, 0, 0]


def test_a_leader_whose_session_ended_keeps_leading_in_its_old_epoch() -> None:
    """The one whose session ended leads on in its old leader epoch, and cannot change the ISR."""
    walk = leaderless(0).deliver_all()
    assert walk.cluster.brokers[0].leads
    assert walk.try_("expand_isr", leader=0, follower=1) is None


def test_a_replica_has_a_log_even_if_the_leader_is_unavailable() -> None:
    """KAFKA-1647: "Create the local replica even if the leader is unavailable"."""
    walk = leaderless(0)("crash_broker", broker=1)("start_broker", broker=1)
    walk.cluster = walk.cluster.with_broker(1, attrs.evolve(walk.cluster.brokers[1], log=None, complete=False))
    walk("notice_brokers", controller=0).deliver_all()
    broker = walk.cluster.brokers[1]
    assert (broker.role, broker.leader_epoch, broker.log) == (Role.NONE, -1, 1)


@pytest.mark.parametrize(
    ("release", "told"),
    [("kafka-0.11", [0, 1]), ("kafka-1.1", [1]), ("kafka-2.0", [1]), ("kafka-2.1", [0, 1]), ("kafka-3.4.1", [0, 1])],
)
def test_online_partition_to_online_transition_for_controlled_shutdown(release: str, told: list[int]) -> None:
    """testOnlinePartitionToOnlineTransitionForControlledShutdown, which KAFKA-7482 mended in 2.1."""
    walk = Walk(PRESETS[release])("shut_down_broker", controller=0, broker=0)
    assert [broker for broker in (0, 1) if walk.cluster.queues[0][broker]] == told


def test_an_offline_election_sends_nothing_to_a_broker_that_shuts_down() -> None:
    """Election#leaderForOffline: recipients are live replicas, brokers that shut down left out."""
    walk = Walk(brokers=3, replication_factor=3)("shut_down_broker", controller=0, broker=2).deliver_all()
    walk("crash_broker", broker=0)("notice_brokers", controller=0)
    assert walk.leadership.leader == 1
    assert [broker for broker in (1, 2) if walk.cluster.queues[0][broker]] == [1, 2], "the dead replica leaves the ISR"
    assert len(walk.cluster.queues[0][2]) == 1


def answered(*, deletion: bool) -> Walk:
    """b0's replica was reassigned away; its answer comes before or after the topic's deletion has begun."""
    rules = attrs.evolve(REPAIRED, isr_path=IsrPath.ZOOKEEPER)
    walk = Walk(rules, replication_factor=1)("request_reassignment", target=(1,))("notice_reassignment", controller=0)
    walk.steps()("expand_isr", leader=0, follower=1)("notice_caught_up_replicas", controller=0)
    while walk.context.step is not None:
        walk("take_next_step", controller=0)
    if deletion:
        walk("request_deletion")("notice_deletion", controller=0)
    while walk.cluster.queues[0][0]:
        walk("receive", controller=0, broker=0)
    return walk


@pytest.mark.parametrize(("deletion", "answer"), [(False, Answer.NONE), (True, Answer.DELETED)])
def test_stop_replica_requests_while_topic_deletion_started(deletion: bool, answer: Answer) -> None:
    """testStopReplicaRequestsWhileTopicDeletionStarted, testStopReplicaRequestSent: whether the answer counts is asked
    when it arrives.
    """
    assert answered(deletion=deletion).context.answers[0] is answer


def test_a_coordinator_that_resigns_late_coordinates_until_then() -> None:
    walk = Walk(REPAIRED, replication_factor=1)("request_deletion")("notice_deletion", controller=0)
    while not walk.cluster.queues[0][0][0].delete:
        walk("receive", controller=0, broker=0)
    assert walk("delete_replica_and_resign_late", controller=0, broker=0).cluster.brokers[0].coordinates
    assert not walk("resign_as_coordinator", broker=0).cluster.brokers[0].coordinates
