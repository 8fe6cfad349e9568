"""Membership in the ISR: which followers a leader counts as in sync, and what a committed change means to it.

This is the same for both ways to change the ISR: by ZooKeeper (`zookeeper_isr`) and by AlterPartition
(`in_sync_replicas`).
"""

from __future__ import annotations

from collections.abc import Set

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.log import brokers
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.high_watermark import min_isr, with_leader
from highwater.model.partition.protocol import ExpandRequiresCaughtUp, PartitionProtocol
from highwater.model.partition.state import Leader, Partition, Quorum


def has_caught_up_as_needed(
    replica: Leader, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> bool:
    """Whether a follower that has reached the high watermark is near enough to the log end to join the ISR.

    Kafka asks nothing more. But below min.insync.replicas the high watermark stays where it is, and a follower that is
    slower than producers is beyond it for ever: it joins the ISR and leaves it, again and again. A proposed repair asks
    below min.insync.replicas what `maybeShrinkIsr` asks.
    Source: KAFKA-19996; kafka.cluster.Partition#isFollowerInSync (3.7 to 4.3), ReplicaState#isCaughtUp.
    """
    rule, leadership, known = protocol.expand_requires_caught_up, replica.leadership, replica.followers[follower]
    if rule is ExpandRequiresCaughtUp.NEVER:
        return True
    enough = len(leadership.isr) >= min_isr(leadership.assignment, protocol, bounds)
    if enough and rule is ExpandRequiresCaughtUp.BELOW_MIN_ISR:
        return True
    return known.caught_up or known.log_end_offset == replica.log_end_offset


def is_in_sync(replica: Leader, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds) -> bool:
    """Whether a leader may take a follower into the ISR, as far as its log goes.

    Kafka checks this when a fetch arrives, so that a fetch before the last change of leadership does not count: that is
    `expand_requires_fetch_in_epoch`.
    Source: kafka.cluster.Partition#maybeExpandIsr (0.10.2; 2.1), #isFollowerInSync (3.5).
    """
    known = replica.followers[follower]
    if known.log_end_offset is None or known.log_end_offset < replica.high_watermark:
        return False
    if not known.for_isr:
        return False
    if protocol.expand_requires_fetch_in_epoch and not known.since_change:
        return False
    if protocol.expand_requires_epoch_start and known.log_end_offset < replica.leadership.start_offset:
        return False
    return has_caught_up_as_needed(replica, follower, protocol, bounds)


def may_join(replica: Leader, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds) -> bool:
    """Whether a leader may add a follower to the ISR."""
    leadership = replica.leadership
    if follower in leadership.isr or follower not in leadership.assignment:
        return False
    return is_in_sync(replica, follower, protocol, bounds)


def shrinkable(replica: Leader, leader: int, follower: int, protocol: PartitionProtocol) -> bool:
    """Whether a leader may find that a follower in its ISR lags.

    Until 2.0 it only compared the time since the follower was last caught up.
    Source: kafka.cluster.Partition#getOutOfSyncReplicas (0.10.2; 2.1 to 3.8).
    """
    if leader == follower or follower not in replica.leadership.isr:
        return False
    return not protocol.shrink_spares_caught_up or replica.followers[follower].log_end_offset != replica.log_end_offset


def all_shrinkable(replica: Leader, leader: int, protocol: PartitionProtocol) -> frozenset[int] | None:
    """The followers that a leader may find lagging, if there are several."""
    found = frozenset(
        follower for follower in range(len(replica.followers)) if shrinkable(replica, leader, follower, protocol)
    )
    return found if len(found) > 1 else None


def judged_epoch(partition_epoch: int, quorum: Quorum, protocol: PartitionProtocol) -> int:
    """The partition epoch that a change of the ISR is judged by: the one that it was made for, or the present one if
    versions are not compared.
    """
    return partition_epoch if protocol.isr_cas else quorum.partition_epoch


def is_outdated(partition_epoch: int, quorum: Quorum, protocol: PartitionProtocol) -> bool:
    """Whether a change is refused because it was made for another version of the ISR."""
    return judged_epoch(partition_epoch, quorum, protocol) != quorum.partition_epoch


def committed(
    partition: Partition,
    leader: int,
    isr: Set[int],
    partition_epoch: int,
    protocol: PartitionProtocol,
    bounds: PartitionBounds,
    replica: Leader,
) -> Partition:
    """The state after a leader has learned that an ISR is committed. Source:
    kafka.cluster.Partition#handleAlterPartitionUpdate (3.5).
    """
    leadership = evolve(replica.leadership, isr=isr, pending=None, partition_epoch=partition_epoch, candidate=None)
    leadership = evolve(leadership, ahead_of_metadata=metadata_end_proposals(protocol))
    replica = evolve(replica, leadership=leadership)
    if commits_move_high_watermark(protocol):
        return with_leader(partition, leader, replica, protocol, bounds)
    return partition.with_replica(leader, replica)


def commits_move_high_watermark(protocol: PartitionProtocol) -> bool:
    """Whether a leader moves its high watermark when an ISR change is committed, rather than when it is proposed, which
    is too early.

    Source: kafka.cluster.Partition#maybeShrinkIsr (2.7 to 3.0), #submitAlterIsr (3.1, KAFKA-13091).
    """
    return protocol.high_watermark_recheck_on_isr_commit


def metadata_end_proposals(protocol: PartitionProtocol) -> bool:
    """Whether metadata of a partition epoch that a leader knows from the controller's answer end its next proposal.

    Source: kafka.cluster.Partition#makeLeader (3.0; 3.3 to 3.8), which takes over an equal partition epoch
    (KAFKA-13790) and the committed ISR with it.
    """
    return protocol.metadata_end_proposals


@action(actor="time", needs=lambda bounds: bounds.caught_up_times, leader=brokers, follower=brokers)
def outlast_lag_time(partition: Partition, leader: int, follower: int) -> Partition | None:
    """A follower has lagged for replica.lag.time.max.ms, and the leader no longer counts it as caught up.

    Actor: time.
    Enabled: the leader counts the follower as caught up, and the follower may lack records as far as the leader knows.
    Effect: the high watermark no longer waits for the follower, unless it is in the ISR.
    Source: kafka.cluster.Partition#isFollowerOutOfSync (2.7 to 3.8), ReplicaState#isCaughtUp (3.3 to 3.8).
    """
    replica = partition.presumed_leader(leader)
    if leader == follower or replica is None:
        return None
    known = replica.followers[follower]
    if not known.caught_up or known.log_end_offset == replica.log_end_offset:
        return None
    followers = replaced(replica.followers, follower, evolve(known, caught_up=False))
    return partition.with_replica(leader, evolve(replica, followers=followers))
