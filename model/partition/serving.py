"""Serving: a leader handles a follower's fetch."""

from __future__ import annotations

from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH
from highwater.model.partition.batches import fetched
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.high_watermark import with_leader
from highwater.model.partition.logs import end_of_epoch
from highwater.model.partition.messages import Fetch, Stage
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Follower, Partition, Replica


def served(
    partition: Partition, follower: int, request: Fetch, protocol: PartitionProtocol, bounds: PartitionBounds
) -> tuple[Partition, Fetch | None]:
    """The state after a broker has handled a fetch, and the response; None for an error that changes nothing.

    A broker that the leader does not know to be assigned gets an error. The offset of a fetch is the follower's log end
    offset: the leader notes it, and the high watermark may move. The fences of KIP-320 are separate toggles: whether a
    fetch from another epoch gets records, and whether it counts for the high watermark and for the ISR. Until
    KAFKA-9338 a fetch session forgot the epoch, so that only its first fetch was fenced; here every fetch is an
    incremental one. A response with a record has the high watermark from before the fetch. A fetch that has to wait for
    new records is read again, so that its response has the high watermark from after it.
    Source: kafka.server.ReplicaManager#readFromLocalLog before #updateFollowerLogReadResults (0.10.2) and
        #updateFollowerFetchState (2.8; 3.2); kafka.cluster.Partition#fetchRecords (3.3 to 3.8).
    """
    leader = request.leader
    replica = partition.presumed_leader(leader)
    if replica is None or follower not in replica.leadership.assignment:
        return partition, None
    sees_epoch = protocol.truncation_rules.fetches_are_fenced and protocol.fetch_sessions_keep_epochs
    in_epoch = request.leader_epoch == replica.leader_epoch or not sees_epoch
    for_high_watermark = in_epoch or not protocol.fence_high_watermark
    for_isr = in_epoch or not protocol.fence_isr
    response = response_to(replica, request, protocol, bounds)
    noted = response.stage is not Stage.DIVERGING or protocol.diverging_fetch_updates_leo
    if noted and response.stage is not Stage.OUT_OF_RANGE and (for_high_watermark or for_isr):
        known = caught_up_to(partition, replica, follower, request, bounds)
        known = evolve(known, for_high_watermark=for_high_watermark, for_isr=for_isr)
        moved = known.log_end_offset != replica.followers[follower].log_end_offset
        replica = evolve(replica, followers=replaced(replica.followers, follower, known))
        if moved or protocol.high_watermark_recheck_on_every_fetch:
            partition = with_leader(partition, leader, replica, protocol, bounds)
        else:
            partition = partition.with_replica(leader, replica)
        if response.stage is Stage.NOTHING_NEW:
            response = evolve(response, high_watermark=partition.replicas[leader].high_watermark)
    return partition, response if in_epoch or not protocol.fence_fetch else None


def caught_up_to(
    partition: Partition, replica: Replica, follower: int, request: Fetch, bounds: PartitionBounds
) -> Follower:
    """What a leader knows of a follower that fetches.

    The follower has caught up if it has the whole log, or the log as it was at the follower's last fetch.
    Source: kafka.cluster.Replica#updateLogReadResult (0.10.2 to 2.3), #updateFetchState (2.4 to 3.5).
    """
    known, offset = replica.followers[follower], request.offset
    if not bounds.caught_up_times:
        caught_up, leader_end = False, None
    else:
        caught_up = offset >= replica.log_end_offset or (known.leader_end is not None and offset >= known.leader_end)
        caught_up, leader_end = caught_up or known.caught_up, replica.log_end_offset
    return Follower(
        log_end_offset=offset,
        for_high_watermark=True,
        for_isr=True,
        since_change=True,
        caught_up=caught_up,
        leader_end=leader_end,
        broker_epoch=partition.quorum.registrations[follower].broker_epoch,
        log_start=request.log_start if bounds.deletions_answered else 0,
    )


def response_to(replica: Replica, request: Fetch, protocol: PartitionProtocol, bounds: PartitionBounds) -> Fetch:
    """A leader's response. Source: kafka.log.Log#read (0.10.2); kafka.cluster.Partition#readRecords (2.8)."""
    offset, high_watermark, log_start = request.offset, replica.high_watermark, replica.log_start
    if request.epoch != NO_EPOCH:
        end = end_of_epoch(replica, request.epoch, protocol)
        if end is None or offset < replica.log_start:
            return evolve(request, stage=Stage.OUT_OF_RANGE, epoch=NO_EPOCH)
        if end[0] < request.epoch or end[1] < offset:
            return evolve(
                request, stage=Stage.DIVERGING, epoch=end[0], end_offset=end[1], high_watermark=high_watermark
            )
    if offset > replica.log_end_offset or offset < replica.log_start:
        return evolve(request, stage=Stage.OUT_OF_RANGE, epoch=NO_EPOCH)
    if offset == replica.log_end_offset:
        return evolve(
            request, stage=Stage.NOTHING_NEW, epoch=NO_EPOCH, high_watermark=high_watermark, log_start=log_start
        )
    records = fetched(replica.log, offset, bounds)
    return evolve(
        request, stage=Stage.RECORD, epoch=NO_EPOCH, high_watermark=high_watermark, log_start=log_start, records=records
    )
