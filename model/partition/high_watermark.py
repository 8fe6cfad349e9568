"""The high watermark of a leader: the replicas that it waits for, and what clients learn when it moves.

Kafka moves it in the middle of other work: on a follower's fetch, on an append to a lone leader, on a committed ISR
change, on becoming leader. So moving it is part of these actions here.
"""

from __future__ import annotations

from collections.abc import Set

from highwater.model.language.records import evolve
from highwater.model.partition.batches import Place
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.protocol import Acks, HighWatermarkSet, PartitionProtocol, WaitsForNonIsr
from highwater.model.partition.state import Clients, Follower, Leader, Leadership, Partition, Replica, Standing


def high_watermark_set(protocol: PartitionProtocol) -> HighWatermarkSet:
    """Which replicas the high watermark waits for, for the two functions that depend on it."""
    return protocol.high_watermark_set


def maximal_isr(leadership: Leadership, protocol: PartitionProtocol) -> frozenset[int]:
    """The replicas that the high watermark waits for: the maximal ISR, unless the protocol waits for others. With
    `majority` it is the maximal ISR that has to be large enough, and what is committed is `majority_end`.

    Source: kafka.cluster.IsrState#maximalIsr (2.7; KIP-497), PartitionState#maximalIsr (3.2 to 3.8): the committed ISR
    and every member of a proposed one.
    """
    rule = high_watermark_set(protocol)
    if rule is HighWatermarkSet.ASSIGNED:
        return leadership.assignment
    if leadership.pending is None or rule is HighWatermarkSet.COMMITTED:
        return leadership.isr
    if rule is HighWatermarkSet.PROPOSED:
        return leadership.pending
    return leadership.isr | leadership.pending


def min_isr(assignment: Set[int], protocol: PartitionProtocol, bounds: PartitionBounds) -> int:
    """How large an ISR has to be for acks=all.

    Source: kafka.cluster.Partition#effectiveMinIsr (3.7.0); ReplicationControlManager#getTopicEffectiveMinIsr (3.7.0).
    """
    if bounds.min_insync_replicas == 1 or not protocol.effective_min_isr:
        return bounds.min_insync_replicas
    return min(bounds.min_insync_replicas, len(assignment))


def counted(follower: Follower) -> int:
    """The log end offset that a leader may count for a follower, or -1 if it knows none."""
    return -1 if follower.log_end_offset is None or not follower.for_high_watermark else follower.log_end_offset


def waits_for_non_member(partition: Partition, replica: Replica, broker: int, protocol: PartitionProtocol) -> bool:
    """Whether a replica outside the ISR that has caught up lately holds the high watermark back.

    Source: kafka.cluster.Partition#maybeIncrementLeaderHW (0.10.2, KAFKA-4485; 3.6, KAFKA-15021).
    """
    if protocol.high_watermark_waits_for_non_isr is WaitsForNonIsr.NO or not replica.followers[broker].caught_up:
        return False
    if protocol.high_watermark_waits_for_non_isr is WaitsForNonIsr.ANY_RECENT:
        return True
    return partition.quorum.registrations[broker].standing is Standing.ACTIVE


def majority_end(leader: int, replica: Leader) -> int:
    """The offset that a majority of the assigned replicas has reached, as far as their leader knows.

    Abstracts: that a leader of the metadata log commits nothing before a record of its own epoch.
    Source: org.apache.kafka.raft.LeaderState#maybeUpdateHighWatermark (3.5.0), by which the metadata log is
        committed. Its voters elect by their logs; here the controller elects, from the ISR.
    """
    ends = sorted(
        replica.log_end_offset if broker == leader else counted(known)
        for broker, known in enumerate(replica.followers)
        if broker in replica.leadership.assignment
    )
    return ends[(len(ends) - 1) // 2]


def committed_end(
    partition: Partition, leader: int, replica: Leader, protocol: PartitionProtocol, bounds: PartitionBounds
) -> int:
    """The offset that the leader's high watermark moves to; never below the present one.

    Source: kafka.cluster.Partition#maybeIncrementLeaderHW (0.8 to 3.7; from 3.7 it does not move below
        min.insync.replicas, KAFKA-15583).
    """
    leadership, end = replica.leadership, replica.log_end_offset
    if end == replica.high_watermark:
        return end
    if leadership.candidate is not None:
        return replica.high_watermark  # maybeExpandIsr, which is about to propose the candidate, holds the lock
    if protocol.high_watermark_requires_min_isr and len(leadership.isr) < min_isr(
        leadership.assignment, protocol, bounds
    ):
        return replica.high_watermark
    if high_watermark_set(protocol) is HighWatermarkSet.MAJORITY:
        return max(replica.high_watermark, majority_end(leader, replica))
    waiting = maximal_isr(leadership, protocol)
    for broker in range(len(replica.followers)):
        if broker != leader and (broker in waiting or waits_for_non_member(partition, replica, broker, protocol)):
            end = min(end, counted(replica.followers[broker]))
            if end <= replica.high_watermark:
                return replica.high_watermark
    return end


def with_leader(
    partition: Partition, leader: int, replica: Leader, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition:
    """The state with a changed replica of a leader, after its high watermark has moved as far as it may."""
    end = committed_end(partition, leader, replica, protocol, bounds)
    if end == replica.high_watermark:
        return partition.with_replica(leader, replica)
    clients = exposed(partition.clients, replica, end, protocol, bounds)
    return evolve(partition.with_replica(leader, evolve(replica, high_watermark=end)), clients=clients)


def exposed(
    clients: Clients, replica: Leader, end: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Clients:
    """What clients know after a leader's high watermark has moved up to `end`.

    With acks=all a producer waits until the leader's high watermark is above its record. The leader then acknowledges
    the record, or refuses it if the ISR is too small. The leader epoch may have changed, as long as the broker leads.
    Source: kafka.cluster.Partition#checkEnoughReplicasReachOffset (0.8 to 3.8), which checks only whether the broker
        leads.
    """
    seen, acked, rejected = clients.exposed, clients.acked, clients.rejected
    leadership = replica.leadership
    enough = len(maximal_isr(leadership, protocol)) >= min_isr(leadership.assignment, protocol, bounds)
    for offset in range(replica.high_watermark, end):
        record = replica.log[offset]
        if offset >= len(seen):
            seen = seen + (record,)
        waited_for = offset >= leadership.waiting_from and record.place is not Place.GAP
        if protocol.acks is Acks.ALL and waited_for and record.id not in rejected:
            acked, rejected = (acked | {record.id}, rejected) if enough else (acked, rejected | {record.id})
    epoch = max(clients.commit_epoch, replica.leader_epoch)
    return evolve(clients, exposed=seen, acked=acked, rejected=rejected, commit_epoch=epoch)
