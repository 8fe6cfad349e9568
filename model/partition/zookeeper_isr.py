"""Changes of the ISR by conditional writes to ZooKeeper, until 2.6: the leader writes the ISR itself."""

from __future__ import annotations

from collections.abc import Set

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.membership import all_shrinkable, committed, is_outdated, may_join, shrinkable
from highwater.model.partition.protocol import CasConflict, PartitionProtocol
from highwater.model.partition.state import Leader, Partition


def written(
    partition: Partition,
    leader: int,
    replica: Leader,
    isr: Set[int],
    protocol: PartitionProtocol,
    bounds: PartitionBounds,
) -> Partition | None:
    """The state after a leader has written another ISR to ZooKeeper, or has found a version there that it did not know.

    The write is one step. Kafka also leaves a notification for the controller; it refreshes caches that no election
    reads.
    Source: kafka.cluster.Partition#updateIsr, kafka.utils.ReplicationUtils#updateLeaderAndIsr, #checkLeaderAndIsrZkData
    (0.10.2).
    """
    quorum = partition.quorum
    if is_outdated(replica.leadership.partition_epoch, quorum, protocol):
        return refreshed(partition, leader, replica, isr, protocol, bounds)
    return committed(
        recorded(partition, leader, isr), leader, isr, quorum.partition_epoch + 1, protocol, bounds, replica
    )


def recorded(partition: Partition, leader: int, isr: Set[int]) -> Partition:
    """The state after a leader's write to ZooKeeper, before the leader knows that it succeeded."""
    quorum = partition.quorum
    return evolve(partition, quorum=evolve(quorum, leader=leader, isr=isr, partition_epoch=quorum.partition_epoch + 1))


def refreshed(
    partition: Partition,
    leader: int,
    replica: Leader,
    isr: Set[int],
    protocol: PartitionProtocol,
    bounds: PartitionBounds,
) -> Partition | None:
    """The state after a leader's conditional write has failed: the leader takes over the version if that is safe.

    None if it does not take it over. Source: kafka.utils.ReplicationUtils#checkLeaderAndIsrZkData (0.8.2; KAFKA-1382),
    which takes over a version whose data are what the leader wanted to write.
    """
    quorum = partition.quorum
    same_epoch = quorum.leader == leader and replica.leader_epoch == partition.leader_epoch
    if protocol.cas_conflict is CasConflict.SKIP or not same_epoch or quorum.isr != isr:
        return None
    return committed(partition, leader, quorum.isr, quorum.partition_epoch, protocol, bounds, replica)


@action(actor="leader", leader=brokers, follower=brokers)
def expand_isr(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader adds a caught-up follower to the ISR in ZooKeeper.

    Actor: the leader.
    Enabled: it presumes leadership; as far as it knows, the follower is assigned, not in the ISR, and has caught up.
    Effect: see `written`.
    Source: kafka.cluster.Partition#updateLeaderHWAndMaybeExpandIsr (0.8), #maybeExpandIsr (0.10.2 to 2.6).
    """
    replica = partition.presumed_leader(leader)
    if leader == follower or replica is None or not may_join(replica, follower, protocol, bounds):
        return None
    return written(partition, leader, replica, replica.leadership.isr | {follower}, protocol, bounds)


@action(actor="network", needs=lambda bounds: bounds.alter_failures, leader=brokers, follower=brokers)
def lose_written_isr(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader's expansion reaches ZooKeeper, but the connection is lost before the answer; its client writes again.

    Actor: the network.
    Enabled: as `expand_isr`, and the leader knows the present version; the budget allows it.
    Effect: the second write fails on the version of the first. The leader finds the ISR that it wanted and takes it
        over, or it goes on with the ISR that it had: see `refreshed`.
    Abstracts: lost answers to a shrink: the leader then waits for too many replicas, not for too few.
    Source: KAFKA-1382; kafka.utils.ZkUtils#conditionalUpdatePersistentPath (0.8.1; 0.8.2 with a checker).
    """
    replica = partition.presumed_leader(leader)
    if leader == follower or replica is None:
        return None
    if is_outdated(replica.leadership.partition_epoch, partition.quorum, protocol) or not may_join(
        replica, follower, protocol, bounds
    ):
        return None
    isr = replica.leadership.isr | {follower}
    wrote = evolve(recorded(partition, leader, isr), used=partition.spent("alter_failures"))
    after = refreshed(wrote, leader, replica, isr, protocol, bounds)
    return wrote if after is None else after


@action(actor="leader", needs=lambda bounds: bounds.isr_shrinks, leader=brokers, follower=brokers)
def shrink_isr(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader removes a lagging follower from the ISR in ZooKeeper.

    Actor: the leader.
    Enabled: it presumes leadership; the follower is in its ISR and may lag as far as the leader knows; the budget
        allows it.
    Effect: see `written`.
    Abstracts: replica.lag.time.max.ms, and replica.lag.max.messages before 0.9.
    Source: kafka.cluster.Partition#maybeShrinkIsr (0.8 to 2.6).
    """
    replica = partition.presumed_leader(leader)
    if replica is None or not shrinkable(replica, leader, follower, protocol):
        return None
    after = written(partition, leader, replica, replica.leadership.isr - {follower}, protocol, bounds)
    return None if after is None else evolve(after, used=partition.spent("isr_shrinks"))


@action(actor="leader", needs=lambda bounds: bounds.joint_shrinks, leader=brokers)
def shrink_isr_jointly(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader removes several lagging followers from the ISR in ZooKeeper, with one write.

    Actor: the leader.
    Enabled: as `shrink_isr`, for several followers; the budget allows it.
    Effect: see `written`.
    Abstracts: that some of them may lag and others not.
    Source: kafka.cluster.Partition#maybeShrinkIsr (0.8 to 2.6).
    """
    replica = partition.presumed_leader(leader)
    lagging = None if replica is None else all_shrinkable(replica, leader, protocol)
    if replica is None or lagging is None:
        return None
    after = written(partition, leader, replica, replica.leadership.isr - lagging, protocol, bounds)
    return None if after is None else evolve(after, used=partition.spent("joint_shrinks"))
