"""Brokers learn of elections and of ISR changes: they become leader or follower, or stop hosting the partition.

The controller publishes elections in order. A broker may learn of them late, and may miss some: LeaderAndIsr requests
are delayed, overtaken or repeated, and several records of the metadata log are read at once. A broker ignores what is
older than what it knows. A broker that starts learns only the newest election.
"""

from __future__ import annotations

from collections.abc import Set
from typing import cast

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import NO_EPOCH, brokers, epochs
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.controlling import election_of
from highwater.model.partition.fetching import late, must_cut_first, without_fetch
from highwater.model.partition.high_watermark import with_leader
from highwater.model.partition.logs import restarted_at, truncated, with_epoch_of_election
from highwater.model.partition.messages import Election
from highwater.model.partition.protocol import FollowerReset, PartitionProtocol, TruncationSkip
from highwater.model.partition.state import (
    UNKNOWN_FOLLOWER,
    Follower,
    Leader,
    Leadership,
    Partition,
    Quorum,
    Replica,
    Standing,
)


def learned(partition: Partition, broker: int, epoch: int) -> Election | None:
    """The election of a leader epoch as a broker learns it, or None if the broker would ignore it.

    Source: kafka.server.ReplicaManager#becomeLeaderOrFollower (0.10.2 to 3.5), #applyDelta (3.0 to 3.7).
    """
    replica = partition.replicas[broker]
    if not replica.is_up or epoch > partition.leader_epoch:
        return None
    if epoch == partition.leader_epoch:
        quorum = partition.quorum
        added_again = replica.leader_epoch == epoch and replica.leader is None and quorum.leader is not None
        if replica.leader_epoch >= epoch and not (added_again and broker in quorum.assignment):
            return None
        return election_of(quorum)
    if replica.leader_epoch >= epoch or replica.leader_epoch == NO_EPOCH:
        return None
    return partition.elections[epoch]


def skips_truncation(replica: Replica, leader: int, epoch: int, protocol: PartitionProtocol) -> bool:
    """Whether a follower does not look for divergence in a new epoch, because its leader stays the same.

    Source: kafka.cluster.Partition#makeFollower, whose answer decides what ReplicaManager#makeFollowers truncates
    (0.10.2; 2.1 with KAFKA-7164).
    """
    if protocol.truncation_skip is TruncationSkip.NEVER or replica.leader != leader:
        return False
    return protocol.truncation_skip is TruncationSkip.SAME_LEADER or epoch == replica.leader_epoch + 1


def as_follower(replica: Replica, leader: int | None, epoch: int, protocol: PartitionProtocol) -> Replica:
    """The replica that follows a leader in a new epoch.

    It truncates its log at its high watermark, or first asks its leader where, or waits for a fetch response that says
    where. Source: kafka.server.ReplicaManager #makeFollowers (0.10.2; 2.1), #applyLocalFollowersDelta (3.5).
    """
    skips = leader is None or skips_truncation(replica, leader, epoch, protocol)
    if not skips and protocol.truncation_rules.cuts_at_high_watermark:
        replica = truncated(replica, min(replica.high_watermark, replica.log_end_offset), protocol)
    fetch = late(replica.fetch, protocol)
    return evolve(
        replica,
        leader=leader,
        leader_epoch=epoch,
        leadership=None,
        truncating=replica.truncating if skips else must_cut_first(replica, fetch, protocol),
        followers=remembered_followers(replica, protocol, leads_again=False),
        fetch=fetch,
    )


def remembered_followers(replica: Replica, protocol: PartitionProtocol, *, leads_again: bool) -> tuple[Follower, ...]:
    """What a broker still knows of followers in a new leader epoch, in which it leads again or not.

    Kafka forgets their offsets if the broker begins to lead, but keeps them if it goes on leading. 0.8 forgets them in
    both cases.
    Source: kafka.cluster.Partition#makeLeader (0.8.0; 0.9.0.0, KAFKA-2721; 0.10.2 to 3.8), Replica#resetReplicaState
    (3.3 to 3.8), #resetLastCaughtUpTime before.
    """
    rule = protocol.reset_follower_state
    if rule is FollowerReset.NEVER or (leads_again and rule is FollowerReset.NEW_LEADER):
        return not_heard_since(replica.followers)
    return (UNKNOWN_FOLLOWER,) * len(replica.followers)


def not_heard_since(followers: tuple[Follower, ...]) -> tuple[Follower, ...]:
    """What a leader knows of followers whose offsets it keeps, until they fetch again."""
    return tuple(evolve(each, since_change=False, caught_up=False, leader_end=None) for each in followers)


def with_grace(followers: tuple[Follower, ...], isr: Set[int], bounds: PartitionBounds) -> tuple[Follower, ...]:
    """What a leader knows of followers as its epoch begins: members of the ISR count as caught up.

    Before 3.3 a follower outside the ISR also counts from its first fetch on, if it has all of the log as of then.
    Source: kafka.cluster.Replica#resetLastCaughtUpTime (0.10.2 to 3.2), #resetReplicaState (3.3 to 3.8).
    """
    if not bounds.caught_up_times:
        return followers
    return tuple(evolve(known, caught_up=broker in isr) for broker, known in enumerate(followers))


def assigned(followers: tuple[Follower, ...], assignment: Set[int]) -> tuple[Follower, ...]:
    """What a leader knows of assigned followers; it forgets the others.

    Source: kafka.cluster.Partition#updateAssignmentAndIsr (2.4 to 3.8), #makeLeader (0.10.2).
    """
    return tuple(known if broker in assignment else UNKNOWN_FOLLOWER for broker, known in enumerate(followers))


def has_to_recover(metadata: Election | Quorum, protocol: PartitionProtocol) -> bool:
    """Whether a leader takes itself for one that has to recover, if the metadata say so.

    Source: kafka.cluster.Partition#makeLeader (3.2.0 to 4.3.1), which has no recovery yet and notes RECOVERED.
    """
    return metadata.recovering and not protocol.leader_recovers_at_once


def as_leader(
    replica: Replica, broker: int, epoch: int, election: Election, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Leader:
    """The replica that leads a new epoch, which begins at its log end offset.

    Source: kafka.cluster.Partition#makeLeader (0.10.2 to 3.8), kafka.cluster.Replica#convertHWToLocalOffsetMetadata
        (0.10.2 to 2.3.1).
    """
    before = replica.leadership if replica.leader == broker else None
    leads_again = before is not None
    if replica.high_watermark > replica.log_end_offset:  # the log has no record there to begin from
        replica = evolve(replica, high_watermark=replica.log_start)
    leadership = Leadership(
        isr=election.isr,
        assignment=election.assignment,
        pending=None,
        partition_epoch=election.partition_epoch,
        ahead_of_metadata=False,
        start_offset=replica.log_end_offset,
        waiting_from=replica.log_end_offset if before is None else before.waiting_from,
        candidate=None,
        recovering=has_to_recover(election, protocol),
    )
    followers = assigned(remembered_followers(replica, protocol, leads_again=leads_again), election.assignment)
    leading = evolve(
        with_epoch_of_election(replica, epoch, protocol),
        leader=broker,
        leader_epoch=epoch,
        leadership=leadership,
        truncating=False,
        followers=with_grace(followers, election.isr, bounds),
        fetch=late(replica.fetch, protocol),
    )
    return cast("Leader", leading)


@action(actor="broker", broker=brokers, epoch=epochs)
def learn_leadership(
    partition: Partition, broker: int, epoch: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A broker learns of a leader epoch.

    Actor: the broker.
    Enabled: it runs; the epoch was published and is newer than the one it knows. A broker that has just started learns
        only the newest. With ZooKeeper a follower changes nothing, not even the epoch that it knows, unless its new
        leader is alive. Under some protocols a broker that shuts down learns nothing more.
    Effect: the broker leads or follows. If it is no longer assigned, it deletes its replica.
    Source: kafka.server.ReplicaManager#becomeLeaderOrFollower, #makeLeaders, #makeFollowers (0.10.2 to 3.5),
        #applyDelta (3.0 to 3.7), #applyLocalFollowersDelta, which skips all changes during a shutdown (3.3.0, 3.3.1);
        kafka.server.BrokerServer#shutdown, which first ends the listener of metadata (2.8.0 to 3.2.3).
    """
    election = learned(partition, broker, epoch)
    if election is None:
        return None
    leaves = partition.quorum.registrations[broker].standing is Standing.SHUTTING_DOWN
    if leaves and not protocol.demote_during_shutdown:
        return None
    replica = partition.replicas[broker]
    if broker not in election.assignment:
        gone = as_follower(restarted_at(replica, 0), None, epoch, protocol)
        return partition.with_replica(broker, without_fetch(gone, protocol))
    if election.leader == broker:
        return with_leader(
            partition, broker, as_leader(replica, broker, epoch, election, protocol, bounds), protocol, bounds
        )
    if protocol.by_zookeeper and not partition.is_alive(election.leader):
        return None
    return partition.with_replica(broker, as_follower(replica, election.leader, epoch, protocol))


@action(actor="leader", leader=brokers)
def learn_isr(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader learns of a newer ISR in its own leader epoch.

    Actor: the leader.
    Enabled: the leader leads the current epoch, and the metadata log has a newer partition epoch than it knows. Or it
        knows this partition epoch from the controller's answer, and has proposed another ISR since.
    Effect: the leader takes over that ISR as committed and drops its proposal. In releases with KAFKA-13790 its leader
        epoch counts as begun anew at its log end offset; it keeps the offsets that it knows of followers.
    Abstracts: a deposed leader reads the changes of its own epoch before it reads of the election. Until 3.2 a leader
        also took over partition epochs older than its own.
    Source: kafka.cluster.Partition#makeLeader with an unchanged leader epoch (3.0; 3.3, KAFKA-13790).
    """
    replica, quorum = partition.presumed_leader(leader), partition.quorum
    if replica is None:
        return None
    known = replica.leadership
    if replica.leader_epoch != partition.leader_epoch or known.partition_epoch > quorum.partition_epoch:
        return None
    if known.partition_epoch == quorum.partition_epoch and (known.pending is None or not known.ahead_of_metadata):
        return None
    leadership = evolve(known, isr=quorum.isr, assignment=quorum.assignment, pending=None, candidate=None)
    leadership = evolve(leadership, partition_epoch=quorum.partition_epoch, ahead_of_metadata=False)
    leadership = evolve(leadership, recovering=has_to_recover(quorum, protocol))
    followers = replica.followers
    if protocol.newer_isr_restarts_epoch:
        leadership = evolve(leadership, start_offset=replica.log_end_offset)
        followers = with_grace(not_heard_since(followers), quorum.isr, bounds)
    replica = evolve(replica, leadership=leadership, followers=assigned(followers, quorum.assignment))
    return with_leader(partition, leader, replica, protocol, bounds)
