"""Replication without fencing, as Kafka had it before KIP-320: fetches do not compare leader epochs.

Truncation on becoming a follower is what KIP-101 and KIP-279 changed. Source of all:
github.com/hachikuji/kafka-specification, modules KafkaReplication, KafkaTruncateToHighWatermark, Kip101 and Kip279; the
action's name there is given with each.
"""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers, epochs
from highwater.model.reference.controlling import with_isr
from highwater.model.reference.state import Cluster, Replica


def caught_up(cluster: Cluster, leader: int, follower: int, end: int) -> bool:
    """Whether the follower follows the leader and both logs reach `end`."""
    if not cluster.follows(follower, leader):
        return False
    return end == 0 or (cluster.replicas[leader].has_offset(end - 1) and cluster.replicas[follower].has_offset(end - 1))


@action(actor="leader", leader=brokers, follower=brokers)
def shrink_isr(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """The true leader takes a lagging follower out of the ISR.

    Actor: the leader.
    Enabled: it is the true leader; the follower is in its ISR and does not follow it up to its log end offset.
    Effect: the follower leaves the ISR, in the quorum and at the leader.
    Abstracts: replica.lag.time.max.ms; any lagging follower may go at any moment. ZooKeeper's compare-and-set always
        succeeds.
    Source: LeaderShrinkIsr; kafka.cluster.Partition#maybeShrinkIsr (0.11).
    """
    replica = cluster.replicas[leader]
    if follower == leader or not cluster.is_true_leader(leader) or follower not in replica.isr:
        return None
    if caught_up(cluster, leader, follower, replica.log_end_offset):
        return None
    return with_isr(cluster, leader, replica.isr - {follower})


@action(actor="leader", leader=brokers, follower=brokers)
def expand_isr(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """The true leader takes a follower that has reached its high watermark into the ISR.

    Actor: the leader.
    Enabled: it is the true leader; the follower is not in its ISR and follows it up to its high watermark.
    Effect: the follower is in the ISR, in the quorum and at the leader.
    Source: LeaderExpandIsr; kafka.cluster.Partition#maybeExpandIsr (0.11).
    """
    replica = cluster.replicas[leader]
    if follower == leader or not cluster.is_true_leader(leader) or follower in replica.isr:
        return None
    if not caught_up(cluster, leader, follower, replica.high_watermark):
        return None
    return with_isr(cluster, leader, replica.isr | {follower})


@action(actor="leader", leader=brokers)
def advance_high_watermark(cluster: Cluster, leader: int) -> Cluster | None:
    """A presumed leader commits the record at its high watermark.

    Actor: the leader.
    Enabled: it presumes leadership; every member of its ISR follows it and has that offset.
    Effect: its high watermark goes up by one.
    Abstracts: the fetches that would carry it; they could all have come.
    Source: LeaderIncHighWatermark; kafka.cluster.Partition#maybeIncrementLeaderHW (0.11).
    """
    replica = cluster.replicas[leader]
    if not cluster.presumes_leadership(leader):
        return None
    for member in replica.isr:
        if not (cluster.follows(member, leader) and cluster.replicas[member].has_offset(replica.high_watermark)):
            return None
    return cluster.with_replica(leader, evolve(replica, high_watermark=replica.high_watermark + 1))


@action(actor="follower", follower=brokers, leader=brokers)
def fetch(cluster: Cluster, follower: int, leader: int) -> Cluster | None:
    """A follower fetches the next record from the leader that it believes in.

    Actor: the follower.
    Enabled: the leader presumes leadership, the follower follows it, and the leader has a record at the follower's log
        end offset.
    Effect: the record is appended; the follower's high watermark is the leader's, but not beyond its own log end
        offset.
    Source: FollowerReplicate; kafka.server.ReplicaFetcherThread#processPartitionData (0.11).
    """
    if leader == follower or not cluster.presumes_leadership(leader) or not cluster.follows(follower, leader):
        return None
    return fetched(cluster, follower, leader)


def fetched(cluster: Cluster, follower: int, leader: int) -> Cluster | None:
    """The follower has the leader's record at its log end offset, and the high watermark that came with it; None if
    there is none.
    """
    replica, source = cluster.replicas[follower], cluster.replicas[leader]
    end = replica.log_end_offset
    if not source.has_offset(end):
        return None
    high_watermark = min(source.high_watermark, end + 1)
    return cluster.with_replica(
        follower, evolve(replica, log=replica.log + (source.log[end],), high_watermark=high_watermark)
    )


def new_leader_of(cluster: Cluster, broker: int, epoch: int) -> int | None:
    """The other broker that the broker is to follow by the request of that epoch; None if there is no such request or
    it is not newer.
    """
    if epoch <= cluster.replicas[broker].leader_epoch or epoch > cluster.leader_epoch:
        return None
    leader = cluster.requests[epoch].leader
    return None if leader == broker else leader


def followed(cluster: Cluster, broker: int, epoch: int, truncate_to: int) -> Cluster | None:
    """The broker follows by the request of that epoch, its log cut at an offset; None where the log does not reach so
    far.
    """
    replica, request = cluster.replicas[broker], cluster.requests[epoch]
    if truncate_to > replica.log_end_offset:
        return None
    changed = evolve(
        replica,
        leader=request.leader,
        leader_epoch=epoch,
        isr=request.isr,
        log=replica.log[:truncate_to],
        high_watermark=min(truncate_to, replica.high_watermark),
    )
    return cluster.with_replica(broker, changed)


@action(actor="broker", broker=brokers, epoch=epochs)
def become_follower_truncating_to_high_watermark(cluster: Cluster, broker: int, epoch: int) -> Cluster | None:
    """A replica reads a request that makes it follow another, and cuts its log at its own high watermark.

    Actor: the replica.
    Enabled: the request of that epoch names another leader, and the epoch is newer than the replica's.
    Effect: it follows with the request's ISR; records from its high watermark on are gone.
    Source: BecomeFollowerTruncateToHighWatermark; kafka.server.ReplicaManager#makeFollowers (0.10.2).
    """
    if new_leader_of(cluster, broker, epoch) is None:
        return None
    return followed(cluster, broker, epoch, cluster.replicas[broker].high_watermark)


@action(actor="broker", broker=brokers, epoch=epochs)
def become_follower_truncating_by_kip_101(cluster: Cluster, broker: int, epoch: int) -> Cluster | None:
    """A replica reads a request that makes it follow another, and asks that one where the epoch of its last record
    ends.

    Actor: the replica.
    Enabled: the request of that epoch names another leader, the epoch is newer than the replica's, and the answer is
        not beyond its log.
    Effect: it follows with the request's ISR; records from the answered offset on are gone. Where the leader's log is
        empty or knows no larger epoch, it falls back on its own high watermark.
    Abstracts: the answer is read from the leader's log at this moment, whether or not that broker already leads.
    Source: BecomeFollowerTruncateKip101; kafka.server.epoch.LeaderEpochFileCache#endOffsetFor (0.11); KIP-101.
    """
    leader = new_leader_of(cluster, broker, epoch)
    if leader is None:
        return None
    replica = cluster.replicas[broker]
    if replica.log_end_offset == 0:
        return followed(cluster, broker, epoch, 0)
    end = end_offset_for(cluster.replicas[leader], replica.log[-1].leader_epoch)
    return followed(cluster, broker, epoch, replica.high_watermark if end is None else end)


def end_offset_for(leader: Replica, epoch: int) -> int | None:
    """Where an epoch ends in a leader's log by KIP-101: at its end for the last epoch, else where a larger one starts;
    None if unknown.
    """
    if leader.log_end_offset == 0:
        return None
    if leader.log[-1].leader_epoch == epoch:
        return leader.log_end_offset
    for offset, record in enumerate(leader.log):
        if record.leader_epoch > epoch:
            return offset
    return None


def end_of_matching_log(leader: Replica, follower: Replica) -> int:
    """One past the last offset at which both logs hold the same record; 0 where there is none."""
    for offset in reversed(range(min(leader.log_end_offset, follower.log_end_offset))):
        if leader.log[offset] == follower.log[offset]:
            return offset + 1
    return 0


@action(actor="broker", broker=brokers, epoch=epochs)
def become_follower_truncating_by_kip_279(cluster: Cluster, broker: int, epoch: int) -> Cluster | None:
    """A replica reads a request that makes it follow another, and cuts its log behind the last record that both have.

    Actor: the replica.
    Enabled: the request of that epoch names another leader, and the epoch is newer than the replica's.
    Effect: it follows with the request's ISR; records behind the last match are gone.
    Abstracts: the rounds of OffsetsForLeaderEpoch; the leader's log is read at this moment, whether or not that broker
        already leads.
    Source: BecomeFollowerTruncateKip279; kafka.server.AbstractFetcherThread#getOffsetTruncationState (2.0); KIP-279.
    """
    leader = new_leader_of(cluster, broker, epoch)
    if leader is None:
        return None
    return followed(cluster, broker, epoch, end_of_matching_log(cluster.replicas[leader], cluster.replicas[broker]))
