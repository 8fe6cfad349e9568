"""Committed records are not lost, and deleted ones do not come back."""

from __future__ import annotations

from highwater.invariants.controller.terms import is_going_away
from highwater.model.controller.brokers import Role
from highwater.model.controller.state import Cluster
from highwater.model.language.declarations import Witness, invariant
from highwater.model.log import brokers


@invariant(broker=brokers)
def isr_members_hold_committed_records(cluster: Cluster, broker: int) -> bool | Witness:
    """Every assigned member of the ISR has every committed record. Only these can be elected.

    Kind: state.
    When false: the next election may lose records that consumers have read.
    Source: S3; KAFKA-9539.
    """
    leadership = cluster.zk.leadership
    if leadership is None or broker not in leadership.isr or cluster.brokers[broker].complete or is_going_away(cluster):
        return True
    if broker not in cluster.zk.assignment:
        return True
    if not cluster.history.committed and cluster.brokers[broker].log != cluster.zk.topic_id:
        return True  # it will begin with an empty log, and nothing is committed yet
    return Witness("b{broker} is in the ISR and lacks committed records", broker=broker)


@invariant(leader=brokers)
def leaders_hold_committed_records(cluster: Cluster, leader: int) -> bool | Witness:
    """The leader of the current leader epoch has every committed record.

    Kind: state.
    When false: committed records are lost.
    Source: S1; a reassignment that does not wait for new replicas.
    """
    leadership, broker = cluster.zk.leadership, cluster.brokers[leader]
    if not broker.leads or leadership is None or broker.leader_epoch != leadership.leader_epoch or broker.complete:
        return True
    if cluster.zk.deletion or broker.topic_id != cluster.zk.topic_id:
        return True
    return Witness("b{leader} leads and lacks committed records", leader=leader)


@invariant(broker=brokers)
def deleted_topics_leave_no_replica(cluster: Cluster, broker: int) -> bool | Witness:
    """Once the topic is deleted, no broker has a replica of it.

    Kind: state.
    When false: a log is left, and the next topic of that name finds it.
    Source: kafka.controller.TopicDeletionManager, which waits for every broker.
    """
    zk, ours = cluster.zk, cluster.brokers[broker]
    if zk.assignment or not zk.topic_id or ours.log != zk.topic_id:
        return True
    return Witness("the topic is deleted, and b{broker} has a replica of it", broker=broker)


@invariant(broker=brokers)
def deleted_records_are_not_served(cluster: Cluster, broker: int) -> bool | Witness:
    """No broker leads or follows for one topic with a log of an earlier one.

    Kind: state.
    When false: records of a deleted topic reappear in a new one.
    Source: S20; KIP-516.
    """
    ours = cluster.brokers[broker]
    if ours.role not in (Role.LEADER, Role.FOLLOWER) or ours.log == ours.topic_id:
        return True
    return Witness(
        "b{broker} serves topic t{topic} from a log of t{log}", broker=broker, topic=ours.topic_id, log=ours.log
    )
