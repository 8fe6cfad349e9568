"""Reassignments: replicas that are taken away, and added again."""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.controlling import (
    SUCCESSOR,
    ineligible,
    may_lead,
    published,
    waits_for_all,
    with_elr,
    with_members,
    with_successor,
)
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Partition, Quorum, Standing


@action(actor="controller", needs=lambda bounds: bounds.reassignments, broker=brokers)
def remove_replica(
    partition: Partition, broker: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A reassignment removes a replica.

    Actor: the controller.
    Enabled: the replica is assigned and does not lead; the ISR has another member, or every other replica where the
        protocol waits for these; the record would leave leadership as it is.
    Effect: the replica leaves the assignment and the ISR in a new leader epoch. A reassignment in progress is replaced.
        The broker deletes its log once it learns of that. Below min.insync.replicas the replica is in the ELR all the
        same.
    Abstracts: all but the last step of a reassignment; a record that elects another leader in passing.
    Source: org.apache.kafka.controller.PartitionChangeBuilder#triggerLeaderEpochBumpForReplicaReassignmentIfNeeded
        (3.8), #maybePopulateTargetElr (3.8.0 to 4.3.1), PartitionReassignmentReplicas#maybeCompleteReassignment (3.5.1
        to 4.3.1), kafka.controller.KafkaController#isReassignmentComplete (2.4.0 to 3.9).
    """
    quorum = partition.quorum
    if broker not in quorum.assignment or quorum.leader == broker or not quorum.isr - {broker}:
        return None
    if not leads_on(quorum):
        return None
    if waits_for_all(protocol) and not quorum.assignment - {broker} <= quorum.isr:
        return None
    removed = frozenset({broker})
    changed = with_elr(quorum, quorum.isr - removed, ineligible(removed, protocol), protocol, bounds)
    after = published(partition, evolve(changed, assignment=quorum.assignment - removed, removing=frozenset()))
    return evolve(after, used=partition.spent("reassignments"))


@action(actor="controller", needs=lambda bounds: bounds.reassignments, broker=brokers)
def add_replica(
    partition: Partition, broker: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A reassignment adds a replica that another one removed.

    Actor: the controller.
    Enabled: the replica is not assigned, and only `remove_replica` has taken replicas away: whether one that is added
        is in sync yet, on which another reassignment depends, is not followed up. With KRaft the record would leave
        leadership as it is. If the replica would be elected at once, the request fails: the controller looks for its
        directory among those of the present replicas.
    Effect: the replica is assigned again, in a new partition epoch. With ZooKeeper the leader epoch is new, too: the
        leader learns of the replica in no other way.
    Source: org.apache.kafka.controller.ReplicationControlManager#changePartitionReassignment (3.5), LeaderAcceptor#test
        (3.7.0 to 4.3.1); kafka.controller.KafkaController#updateLeaderEpochAndSendRequest (0.10.2 to 3.5).
    """
    quorum = partition.quorum
    if broker in quorum.assignment or partition.used.removals:
        return None
    changed = evolve(
        with_elr(quorum, quorum.isr, frozenset(), protocol, bounds), assignment=quorum.assignment | {broker}
    )
    if protocol.by_zookeeper:
        return published(partition, changed)
    if not leads_on(quorum) or (quorum.leader is None and may_lead(changed, broker)):
        return None
    return evolve(partition, quorum=evolve(changed, partition_epoch=quorum.partition_epoch + 1))


def leads_on(quorum: Quorum) -> bool:
    """Whether a record of the controller's leaves leadership as it is: nobody leads, or an active member of the ISR.

    A broker that has registered again before it was fenced leads on until there is a record.
    Source: org.apache.kafka.controller.PartitionChangeBuilder#electAnyLeader (3.5.1 to 4.4.0).
    """
    leader = quorum.leader
    return leader is None or (leader in quorum.isr and quorum.registrations[leader].standing is Standing.ACTIVE)


def with_removal(quorum: Quorum, broker: int, protocol: PartitionProtocol, bounds: PartitionBounds) -> Quorum:
    """The record with a reassignment that takes a replica away, in progress or complete."""
    asked = evolve(quorum, removing=frozenset({broker}))
    return with_members(asked, quorum.isr, frozenset(), protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.removals, broker=brokers, successor=SUCCESSOR)
def begin_removal(
    partition: Partition, broker: int, successor: int | None, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """An operator asks for a reassignment that takes a replica away. It may be the leader's.

    Actor: the controller.
    Enabled: the replica is assigned, is not yet to be taken away, and is not the only one; no replica was taken away by
        `remove_replica`; the budget allows it. If that takes the leader away at once, the successor is one that a clean
        election may choose, or none if there is none.
    Effect: a reassignment that is in progress is replaced. The new one is complete at once if another replica is in the
        ISR, or every other one where the protocol waits for these: the replica leaves assignment and ISR in a new
        leader epoch, and if it led, its successor leads in the same record. Else it waits for a record that has such an
        ISR, in most cases one that a leader asks for: see `alter_partition` and `complete_removal`.
    Abstracts: replicas that are added in the same request, and cancellation. A record that completes a reassignment of
        a partition without a leader, and elects nobody.
    Source: org.apache.kafka.controller.ReplicationControlManager#changePartitionReassignment (3.5.1 to 4.4.0),
        PartitionReassignmentReplicas, its constructor of two assignments (3.5.1 to 4.4.0); KIP-455.
    """
    quorum = partition.quorum
    if broker not in quorum.assignment or broker in quorum.removing or not quorum.assignment - {broker}:
        return None
    if partition.used.reassignments:
        return None
    changed = with_removal(quorum, broker, protocol, bounds)
    if not leads_on(changed):
        after = with_successor(partition, changed, successor, protocol, bounds)
    elif successor is not None:
        after = None
    elif changed.removing:
        after = evolve(partition, quorum=evolve(changed, partition_epoch=quorum.partition_epoch + 1))
    else:
        after = published(partition, changed)
    return None if after is None else evolve(after, used=partition.spent("removals"))
