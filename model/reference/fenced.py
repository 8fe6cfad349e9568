"""Replication with leader epochs in every fetch: KIP-320 as released, and its first try.

Source of all: github.com/hachikuji/kafka-specification, modules Kip320 and Kip320FirstTry; the action's name there is
given with each.
"""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers, epochs
from highwater.model.reference.controlling import with_isr
from highwater.model.reference.state import Cluster
from highwater.model.reference.unfenced import end_of_matching_log, fetched, followed, new_leader_of


def high_watermark_is_in_leaders_epoch(cluster: Cluster, leader: int) -> bool:
    """Whether all that the leader has from earlier epochs lies below its high watermark."""
    replica = cluster.replicas[leader]
    if replica.high_watermark == replica.log_end_offset:
        return True
    return (
        replica.has_offset(replica.high_watermark)
        and replica.log[replica.high_watermark].leader_epoch == replica.leader_epoch
    )


# KIP-320 as released


@action(actor="follower", follower=brokers, leader=brokers)
def fenced_fetch(cluster: Cluster, follower: int, leader: int) -> Cluster | None:
    """A follower fetches the next record from a leader in the same leader epoch.

    Actor: the follower.
    Enabled: both are in the same epoch of that leader, and the leader has a record at the follower's log end offset.
    Effect: the record is appended; the follower's high watermark is the leader's, but not beyond its own log end
        offset.
    Source: FencedFollowerFetch; kafka.cluster.Partition#readRecords (2.1); KIP-320.
    """
    if leader == follower or not cluster.follows_in_same_epoch(follower, leader):
        return None
    return fetched(cluster, follower, leader)


@action(actor="leader", leader=brokers)
def fenced_advance_high_watermark(cluster: Cluster, leader: int) -> Cluster | None:
    """A presumed leader commits the record at its high watermark, counting followers in its own epoch only.

    Actor: the leader.
    Enabled: it has that record; every member of its ISR is in its epoch and has that offset.
    Effect: its high watermark goes up by one.
    Abstracts: the fetches that would carry it; they could all have come.
    Source: FencedLeaderIncHighWatermark; kafka.cluster.Partition#maybeIncrementLeaderHW (2.1); KIP-320.
    """
    replica = cluster.replicas[leader]
    if not cluster.presumes_leadership(leader) or not replica.has_offset(replica.high_watermark):
        return None
    for member in replica.isr:
        if not (
            cluster.follows_in_same_epoch(member, leader)
            and cluster.replicas[member].has_offset(replica.high_watermark)
        ):
            return None
    return cluster.with_replica(leader, evolve(replica, high_watermark=replica.high_watermark + 1))


@action(actor="leader", leader=brokers, follower=brokers)
def fenced_shrink_isr(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """The true leader takes a follower out of the ISR that lags or is not in its epoch.

    Actor: the leader.
    Enabled: it is the true leader; the follower is in its ISR, and is in another epoch or below the leader's log end
        offset.
    Effect: the follower leaves the ISR, in the quorum and at the leader.
    Source: FencedLeaderShrinkIsr; kafka.cluster.Partition#maybeShrinkIsr (2.1).
    """
    replica = cluster.replicas[leader]
    if follower == leader or not cluster.is_true_leader(leader) or follower not in replica.isr:
        return None
    if (
        cluster.follows_in_same_epoch(follower, leader)
        and cluster.replicas[follower].log_end_offset >= replica.log_end_offset
    ):
        return None
    return with_isr(cluster, leader, replica.isr - {follower})


@action(actor="leader", leader=brokers, follower=brokers)
def fenced_expand_isr(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """The true leader takes a follower into the ISR that has all records of earlier epochs.

    Actor: the leader.
    Enabled: it is the true leader; the follower is not in its ISR, is in its epoch and has reached its high watermark;
        that high watermark has reached the leader's own epoch.
    Effect: the follower is in the ISR, in the quorum and at the leader.
    Source: FencedLeaderExpandIsr; kafka.cluster.Partition#maybeExpandIsr (2.1); KAFKA-7128.
    """
    replica = cluster.replicas[leader]
    if follower == leader or not cluster.is_true_leader(leader) or follower in replica.isr:
        return None
    if not cluster.follows_in_same_epoch(follower, leader):
        return None
    if replica.high_watermark > cluster.replicas[follower].log_end_offset or not high_watermark_is_in_leaders_epoch(
        cluster, leader
    ):
        return None
    return with_isr(cluster, leader, replica.isr | {follower})


@action(actor="broker", broker=brokers, epoch=epochs)
def fenced_become_follower(cluster: Cluster, broker: int, epoch: int) -> Cluster | None:
    """A replica reads a request that makes it follow another, and cuts its log by a leader that is in that very epoch.

    Actor: the replica.
    Enabled: the request of that epoch names another leader, the epoch is newer than the replica's, and that leader
        leads in it.
    Effect: it follows with the request's ISR; records behind the last that both have are gone.
    Source: FencedBecomeFollowerAndTruncate; kafka.cluster.Partition#lastOffsetForLeaderEpoch (2.1); KIP-320.
    """
    leader = new_leader_of(cluster, broker, epoch)
    if leader is None or not cluster.presumes_leadership(leader) or cluster.replicas[leader].leader_epoch != epoch:
        return None
    return followed(cluster, broker, epoch, end_of_matching_log(cluster.replicas[leader], cluster.replicas[broker]))


# KIP-320, first try: only the epoch of the last fetched record is compared


def caught_up_with_epoch(cluster: Cluster, leader: int, follower: int, end: int) -> bool:
    """Whether the follower follows a presumed leader, and both have a record of the same epoch right before `end`."""
    if not (cluster.presumes_leadership(leader) and cluster.follows(follower, leader)):
        return False
    if end == 0:
        return True
    ours, theirs = cluster.replicas[leader], cluster.replicas[follower]
    return (
        ours.has_offset(end - 1)
        and theirs.has_offset(end - 1)
        and ours.log[end - 1].leader_epoch == theirs.log[end - 1].leader_epoch
    )


@action(actor="follower", follower=brokers, leader=brokers)
def first_try_fetch(cluster: Cluster, follower: int, leader: int) -> Cluster | None:
    """A follower fetches the next record from a leader that has its last record's epoch at the same offset.

    Actor: the follower.
    Enabled: the leader presumes leadership, the follower follows it, the epochs of the record before the follower's log
        end offset agree, and the leader has a record there.
    Effect: the record is appended; the follower's high watermark is the leader's, but not beyond its own log end
        offset.
    Source: FollowerFetch; never released.
    """
    if leader == follower or not caught_up_with_epoch(
        cluster, leader, follower, cluster.replicas[follower].log_end_offset
    ):
        return None
    return fetched(cluster, follower, leader)


@action(actor="follower", follower=brokers, leader=brokers)
def first_try_truncate(cluster: Cluster, follower: int, leader: int) -> Cluster | None:
    """A follower learns from its leader that their logs differ, and cuts its own.

    Actor: the follower.
    Enabled: the leader presumes leadership, the follower follows it, and the follower's log is longer or its last
        record has another epoch than the leader's record at that offset.
    Effect: records behind the last that both have are gone.
    Source: FollowerTruncate; never released.
    """
    if leader == follower or not (cluster.presumes_leadership(leader) and cluster.follows(follower, leader)):
        return None
    ours, theirs = cluster.replicas[follower], cluster.replicas[leader]
    end = ours.log_end_offset
    if end <= theirs.log_end_offset and (
        end == 0 or theirs.log[end - 1].leader_epoch == ours.log[end - 1].leader_epoch
    ):
        return None
    truncate_to = end_of_matching_log(theirs, ours)
    changed = evolve(ours, log=ours.log[:truncate_to], high_watermark=min(truncate_to, ours.high_watermark))
    return cluster.with_replica(follower, changed)


@action(actor="leader", leader=brokers)
def first_try_advance_high_watermark(cluster: Cluster, leader: int) -> Cluster | None:
    """A presumed leader commits the record at its high watermark, counting followers that have its epoch at that
    offset.

    Actor: the leader.
    Enabled: it presumes leadership and has that record; every member of its ISR follows it and has a record of that
        epoch there.
    Effect: its high watermark goes up by one.
    Source: ImprovedLeaderIncHighWatermark; never released.
    """
    replica = cluster.replicas[leader]
    if not cluster.presumes_leadership(leader) or not replica.has_offset(replica.high_watermark):
        return None
    for member in replica.isr:
        if not caught_up_with_epoch(cluster, leader, member, replica.high_watermark + 1):
            return None
    return cluster.with_replica(leader, evolve(replica, high_watermark=replica.high_watermark + 1))


@action(actor="leader", leader=brokers, follower=brokers)
def first_try_shrink_isr(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """The true leader takes a follower out of the ISR that is not caught up by epoch and offset.

    Actor: the leader.
    Enabled: it is the true leader; the follower is in its ISR and does not have its last record's epoch at that offset.
    Effect: the follower leaves the ISR, in the quorum and at the leader.
    Source: LeaderShrinkIsrBetterFencing; never released.
    """
    replica = cluster.replicas[leader]
    if follower == leader or not cluster.is_true_leader(leader) or follower not in replica.isr:
        return None
    if caught_up_with_epoch(cluster, leader, follower, replica.log_end_offset):
        return None
    return with_isr(cluster, leader, replica.isr - {follower})


@action(actor="leader", leader=brokers, follower=brokers)
def first_try_expand_isr(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """The true leader takes a follower into the ISR that has reached its high watermark by epoch and offset.

    Actor: the leader.
    Enabled: it is the true leader; the follower is not in its ISR and has its epoch right below its high watermark,
        which has reached the leader's own epoch.
    Effect: the follower is in the ISR, in the quorum and at the leader.
    Source: LeaderExpandIsrBetterFencing; never released.
    """
    replica = cluster.replicas[leader]
    if follower == leader or not cluster.is_true_leader(leader) or follower in replica.isr:
        return None
    if not caught_up_with_epoch(cluster, leader, follower, replica.high_watermark):
        return None
    if not high_watermark_is_in_leaders_epoch(cluster, leader):
        return None
    return with_isr(cluster, leader, replica.isr | {follower})


@action(actor="broker", broker=brokers, epoch=epochs)
def first_try_become_follower(cluster: Cluster, broker: int, epoch: int) -> Cluster | None:
    """A replica reads a request that makes it follow another, and leaves truncation to fetching.

    Actor: the replica.
    Enabled: the request of that epoch names another leader, and the epoch is newer than the replica's.
    Effect: it follows with the request's ISR; log and high watermark stay.
    Source: BecomeFollower of Kip320FirstTry; never released.
    """
    if new_leader_of(cluster, broker, epoch) is None:
        return None
    request = cluster.requests[epoch]
    changed = evolve(cluster.replicas[broker], leader=request.leader, leader_epoch=epoch, isr=request.isr)
    return cluster.with_replica(broker, changed)
