"""Truncation without a fetch response: after an offset out of range, and by asking for the end offset of an epoch."""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers
from highwater.model.partition.fetching import is_expected, without_fetch
from highwater.model.partition.logs import (
    end_of_epoch,
    latest_epoch,
    restarted_at,
    stopped,
    truncated,
    truncation_point,
)
from highwater.model.partition.messages import Stage
from highwater.model.partition.protocol import OutOfRange, OutOfRangeBehind, PartitionProtocol
from highwater.model.partition.state import Partition, Process


@action(actor="follower", follower=brokers)
def handle_out_of_range(partition: Partition, follower: int, protocol: PartitionProtocol) -> Partition | None:
    """A follower whose fetch was out of range asks for its leader's start and end offsets, and acts on them.

    Actor: the follower.
    Enabled: its fetch offset was out of range; its leader still leads.
    Effect: a follower that has another leader by now, or is refused because its leader is in another epoch, fetches
        again. A follower ahead of its leader truncates to the leader's log end offset, or halts if unclean election is
        off and the protocol prefers that to losing data. A follower below the leader's log start offset begins anew
        there. A follower that its leader has overtaken in between keeps its log or drops all of it, depending on the
        protocol.
    Source: kafka.server.ReplicaFetcherThread#handleOffsetOutOfRange (0.9.0.0; 0.10.2),
        AbstractFetcherThread#fetchOffsetAndTruncate (2.1), ReplicaFetcherThread#fetchOffsetFromLeader (2.1.0),
        RemoteLeaderEndPoint#fetchOffset (3.5.1).
    """
    replica = partition.replicas[follower]
    if replica.fetch is None or replica.fetch.stage is not Stage.OUT_OF_RANGE or not replica.is_up:
        return None
    if replica.leader is None or replica.leader == follower or not partition.leads(replica.leader):
        return None
    leader, late = partition.replicas[replica.leader], not is_expected(replica, replica.fetch)
    replica = without_fetch(replica, protocol)
    if late or (protocol.fence_offset_lookups and leader.leader_epoch != replica.leader_epoch):
        return partition.with_replica(follower, replica)
    if leader.log_end_offset < replica.log_end_offset:
        if protocol.out_of_range_policy is OutOfRange.EXIT and not protocol.unclean_election:
            return partition.with_replica(follower, stopped(replica, protocol, Process.HALTED))
        return partition.with_replica(follower, truncated(replica, leader.log_end_offset, protocol))
    if replica.log_end_offset < leader.log_start or protocol.out_of_range_when_behind is OutOfRangeBehind.TRUNCATE_ALL:
        return partition.with_replica(follower, restarted_at(replica, leader.log_start))
    return partition.with_replica(follower, replica)


@action(actor="follower", follower=brokers)
def ask_where_to_truncate(partition: Partition, follower: int, protocol: PartitionProtocol) -> Partition | None:
    """A follower asks its leader for the end offset of the follower's newest epoch, and truncates to it.

    Actor: the follower.
    Enabled: it has to ask before it may fetch. Its leader leads, in the follower's epoch if the protocol fences that.
        It has no fetch in flight to the same leader: one fetcher thread does both and waits for the response.
    Effect: the follower truncates to where its log diverges from the leader's, as far as one answer shows. If it needs
        another answer, it asks again.
    Abstracts: the time that request and response take.
    Source: kafka.server.AbstractFetcherThread#doWork (0.11.0.2; 2.1), #maybeTruncate (0.11.0.2; 2.0.1),
        kafka.cluster.Partition#lastOffsetForLeaderEpoch (2.1).
    """
    replica = partition.replicas[follower]
    if not replica.truncating or not replica.is_up or replica.leader is None or not partition.leads(replica.leader):
        return None
    if replica.fetch is not None and replica.fetch.leader == replica.leader:
        return None
    leader = partition.replicas[replica.leader]
    if protocol.fence_truncation and leader.leader_epoch != replica.leader_epoch:
        return None
    epoch = latest_epoch(replica)
    point, done = truncation_point(replica, end_of_epoch(leader, epoch, protocol), protocol)
    return partition.with_replica(follower, evolve(truncated(replica, point, protocol), truncating=not done))
