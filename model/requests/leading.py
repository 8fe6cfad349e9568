"""What happens to the broker's partitions: records are committed, and leadership comes and goes."""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.requests.protocol import RequestsProtocol
from highwater.model.requests.state import ELSEWHERE, Broker, Role, offsets, partition_ids
from highwater.model.requests.waiting import answers_without_leadership, notified


@action(actor="broker", partition=partition_ids)
def commit(broker: Broker, partition: int, protocol: RequestsProtocol) -> Broker | None:
    """The ISR has the next record of a partition, and the high watermark moves.

    Actor: the broker.
    Enabled: it leads the partition, and has a record that is not committed. Below min.insync.replicas it depends on the
        protocol.
    Effect: the record is committed, and whoever waits for the partition is looked at.
    Source: kafka.cluster.Partition#maybeIncrementLeaderHW, #tryCompleteDelayedRequests (0.9 to 4.4).
    """
    hosted = broker.partitions[partition]
    if hosted.role is not Role.LEADER or not hosted.tail:
        return None
    if protocol.high_watermark_requires_min_isr and not hosted.enough:
        return None
    moved = evolve(hosted, committed=hosted.committed + hosted.tail[:1], tail=hosted.tail[1:])
    return notified(broker.with_partition(partition, moved), partition, protocol)


@action(actor="broker", needs=lambda bounds: bounds.isr_changes, partition=partition_ids)
def change_isr(broker: Broker, partition: int) -> Broker | None:
    """The ISR of a partition falls below min.insync.replicas, or is large enough again.

    Actor: the broker.
    Enabled: it leads the partition; the budget allows it.
    Effect: producers with acks=all are refused, or are not any more.
    Source: kafka.cluster.Partition#maybeShrinkIsr, #maybeExpandIsr (0.9 to 3.8).
    """
    hosted = broker.partitions[partition]
    if hosted.role is not Role.LEADER:
        return None
    return broker.with_partition(partition, evolve(hosted, enough=not hosted.enough)).spent("isr_changes")


@action(actor="controller", needs=lambda bounds: bounds.leadership_losses, partition=partition_ids, kept=offsets)
def lose_leadership(broker: Broker, partition: int, kept: int, protocol: RequestsProtocol) -> Broker | None:
    """Another broker leads a partition, and this one learns it.

    Actor: the controller.
    Enabled: the broker leads the partition; the budget allows it.
    Effect: the new leader commits the records that it has of those that were not committed; the broker cuts the others
        off. It looks at what waits for the partition, or does not, by the protocol.
    Abstracts: when the broker learns that, and what the new leader commits in between.
    Source: kafka.server.ReplicaManager#makeFollowers (0.9 to 3.8), #applyLocalFollowersDelta (3.0 to 3.8).
    """
    hosted = broker.partitions[partition]
    if hosted.role is not Role.LEADER or kept > len(hosted.tail):
        return None
    follower = evolve(hosted, role=Role.FOLLOWER, committed=hosted.committed + hosted.tail[:kept], tail=())
    after = broker.with_partition(partition, follower).spent("leadership_losses")
    return notified(after, partition, protocol) if answers_without_leadership(Role.FOLLOWER, protocol) else after


@action(actor="leader", needs=lambda bounds: bounds.leadership_losses, partition=partition_ids)
def write_elsewhere(broker: Broker, partition: int) -> Broker | None:
    """The leader of a partition that the broker follows commits a record of another producer.

    Actor: that leader.
    Enabled: the broker follows.
    Effect: the broker's log has the record.
    Source: kafka.server.ReplicaFetcherThread#processPartitionData (0.9 to 3.8).
    """
    hosted = broker.partitions[partition]
    if hosted.role is not Role.FOLLOWER:
        return None
    return broker.with_partition(partition, evolve(hosted, committed=hosted.committed + (ELSEWHERE,)))


@action(actor="controller", needs=lambda bounds: bounds.leadership_losses, partition=partition_ids)
def lead_again(broker: Broker, partition: int, protocol: RequestsProtocol) -> Broker | None:
    """The broker leads a partition again.

    Actor: the controller.
    Enabled: it follows.
    Effect: it leads. As the others fetch, its high watermark moves to what is committed, and whoever waits for the
        partition is looked at.
    Source: kafka.cluster.Partition#makeLeader (0.9 to 3.8), which looks too if it moves the high watermark itself.
    """
    hosted = broker.partitions[partition]
    if hosted.role is not Role.FOLLOWER:
        return None
    return notified(broker.with_partition(partition, evolve(hosted, role=Role.LEADER)), partition, protocol)


@action(actor="controller", needs=lambda bounds: bounds.stops, partition=partition_ids)
def stop(broker: Broker, partition: int, protocol: RequestsProtocol) -> Broker | None:
    """A broker stops its replica and deletes it.

    Actor: the controller.
    Enabled: it has one; the budget allows it.
    Effect: it has none. It looks at what waits for the partition, or does not, by the protocol.
    Source: kafka.server.ReplicaManager#stopReplica (0.9 to 2.6), #stopPartitions (3.0 to 3.8).
    """
    hosted = broker.partitions[partition]
    if hosted.role is Role.NOTHING:
        return None
    after = broker.with_partition(partition, evolve(hosted, role=Role.NOTHING, tail=())).spent("stops")
    return notified(after, partition, protocol) if answers_without_leadership(Role.NOTHING, protocol) else after
