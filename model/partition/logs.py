"""A replica's log and its leader epoch cache: appending, truncating, and finding where two logs diverge.

The cache has the start offset of each leader epoch. Most entries follow from the records; the exception is the entry
that a new leader makes before it has written anything (KAFKA-7415).
"""

from __future__ import annotations

from typing import TypeVar, cast

from highwater.model.language.records import evolve
from highwater.model.log import NO_EPOCH
from highwater.model.partition.batches import DELETED, Place, Record, cut
from highwater.model.partition.protocol import HighWatermarkCheckpoint, PartitionProtocol
from highwater.model.partition.state import UNKNOWN_FOLLOWER, Process, Replica

AnyReplica = TypeVar("AnyReplica", bound=Replica)
EpochEnd = tuple[int, int]  # a leader epoch, and its end offset (exclusive)


def latest_epoch(replica: Replica) -> int:
    """The newest epoch in the cache, or -1.

    Source: kafka.server.epoch.LeaderEpochFileCache#latestEpoch (0.11 to 3.4), since then in
        org.apache.kafka.storage.internals.epoch.
    """
    for epoch in reversed(range(len(replica.epoch_starts))):
        if replica.epoch_starts[epoch] is not None:
            return epoch
    return NO_EPOCH


def elections_are_noted(protocol: PartitionProtocol) -> bool:
    """Whether the cache is that of KAFKA-7415.

    A new leader then notes its epoch, a new entry replaces those that contradict it, and an epoch older than all
    entries has an end offset.
    """
    return protocol.epoch_entry_on_election


def with_epoch(replica: AnyReplica, epoch: int, offset: int, protocol: PartitionProtocol) -> AnyReplica:
    """The replica after its cache has noted the start offset of an epoch.

    Entries that contradict the new one are dropped. Until 2.0.0 the new one was dropped if it contradicted the newest.
    Source: kafka.server.epoch.LeaderEpochFileCache#assign (0.11 to 2.0.0), #truncateAndAppend (2.0.1 to 2.6),
        which is part of #assign since.
    """
    newest = latest_epoch(replica)
    if newest != NO_EPOCH:
        start = cast("int", replica.epoch_starts[newest])
        if newest == epoch and start <= offset:
            return replica
        if not elections_are_noted(protocol) and (newest >= epoch or start > offset):
            return replica
    replaces = elections_are_noted(protocol)
    starts = tuple(
        offset
        if each == epoch
        else None
        if replaces and (each > epoch or (start is not None and start >= offset))
        else start
        for each, start in enumerate(replica.epoch_starts)
    )
    return evolve(replica, epoch_starts=starts)


def with_epoch_of_election(replica: Replica, epoch: int, protocol: PartitionProtocol) -> Replica:
    """A new leader's replica, which notes the start offset of its epoch. Source: kafka.cluster.Partition#makeLeader
    (2.1, KAFKA-7415).
    """
    return with_epoch(replica, epoch, replica.log_end_offset, protocol) if elections_are_noted(protocol) else replica


def appended(replica: AnyReplica, record: Record, protocol: PartitionProtocol) -> AnyReplica:
    """The replica with one more record, and its epoch in the cache; a gap has none."""
    if record.place is not Place.GAP:
        replica = with_epoch(replica, record.leader_epoch, replica.log_end_offset, protocol)
    return evolve(replica, log=replica.log + (record,))


def truncated(replica: Replica, offset: int, protocol: PartitionProtocol) -> Replica:
    """The replica truncated to an offset. Under some protocols its high watermark is lowered to that offset.

    Source: kafka.log.Log#truncateTo (2.0.1, 2.3.1; 2.4.1), which until 2.6.0 did not change the cache if there was
        nothing to truncate (KAFKA-10706).
    """
    if offset < replica.log_end_offset:
        high_watermark = (
            min(replica.high_watermark, offset) if protocol.truncation_lowers_high_watermark else replica.high_watermark
        )
        replica = evolve(replica, log=cut(replica.log, replica.log_start, offset), high_watermark=high_watermark)
        if replica.log_start > offset:
            replica = evolve(replica, log_start=offset)
        return without_epochs_from(replica, offset)
    return (
        without_epochs_from(replica, offset)
        if protocol.epoch_cache_clean_at_end and offset == replica.log_end_offset
        else replica
    )


def without_epochs_from(replica: Replica, offset: int) -> Replica:
    """The replica without epochs that begin at an offset or later.

    Source: kafka.server.epoch.LeaderEpochFileCache#clearAndFlushLatest (2.0.0), #truncateFromEnd (2.0.1 to 3.7),
        #truncateFromEndAsyncFlush (3.8).
    """
    return evolve(
        replica,
        epoch_starts=tuple(None if start is None or start >= offset else start for start in replica.epoch_starts),
    )


def restarted_at(replica: Replica, offset: int) -> Replica:
    """The replica with an empty log that begins at an offset. Source: kafka.log.Log#truncateFullyAndStartAt (2.4.1;
    KAFKA-9491).
    """
    return evolve(
        replica,
        log=(DELETED,) * offset,
        log_start=offset,
        epoch_starts=(None,) * len(replica.epoch_starts),
        high_watermark=offset,
    )


def end_of_epoch(replica: Replica, epoch: int, protocol: PartitionProtocol) -> EpochEnd | None:
    """The end offset of an epoch as a replica knows it, or None if it does not know one.

    With KIP-101, it is the start offset of the next larger epoch in the cache. With KIP-279, it comes with the largest
    epoch up to the one asked for. If all epochs in the cache are larger, it is from 2.0.1 on the start offset of the
    first: the records before are not in the log.
    Source: kafka.server.epoch.LeaderEpochFileCache#endOffsetFor (0.11.0.2; 2.0.0; 2.0.1).
    """
    latest = latest_epoch(replica)
    if epoch == NO_EPOCH or latest < epoch:
        return None
    if epoch == latest:
        return epoch, replica.log_end_offset
    ends = min(start for each, start in enumerate(replica.epoch_starts) if each > epoch and start is not None)
    known = max((each for each in range(epoch + 1) if replica.epoch_starts[each] is not None), default=NO_EPOCH)
    if known == NO_EPOCH:
        return (epoch, ends) if elections_are_noted(protocol) else None
    return (known, ends) if protocol.truncation_rules.answers_name_epochs else (epoch, ends)


def truncation_point(replica: Replica, leader: EpochEnd | None, protocol: PartitionProtocol) -> tuple[int, bool]:
    """The offset to which a follower truncates after the leader's answer, and whether it is done or has to ask again.

    Without an answer it truncates to its high watermark. With KIP-101 the answer has no epoch.
    Source: kafka.server.AbstractFetcherThread#getOffsetTruncationState (2.0.1); ReplicaFetcherThread#maybeTruncate
        (0.11.0.2).
    """
    end = replica.log_end_offset
    if leader is None:
        return min(replica.high_watermark, end), True
    epoch, offset = leader
    if not protocol.truncation_rules.answers_name_epochs:
        return min(offset, end), True
    own = end_of_epoch(replica, epoch, protocol)
    if own is None:
        return min(offset, end), True
    if own[0] != epoch:
        return min(own[1], end), False
    return min(own[1], offset, end), True


def without_records_below(replica: Replica, offset: int) -> Replica:
    """The replica whose log starts at an offset. Source: Log#maybeIncrementLogStartOffset (2.0.1)."""
    epochs = range(len(replica.epoch_starts))
    first = max(
        (each for each in epochs if (start := replica.epoch_starts[each]) is not None and start <= offset),
        default=NO_EPOCH,
    )
    starts = tuple(None if each < first else offset if each == first else replica.epoch_starts[each] for each in epochs)
    log = (DELETED,) * offset + replica.log[offset:]
    return evolve(replica, log=log, log_start=offset, epoch_starts=starts)


def remembered(replica: Replica, protocol: PartitionProtocol) -> int:
    """The high watermark of a replica after a restart. Source: kafka.cluster.Partition#getOrCreateReplica (0.10.2)."""
    if protocol.high_watermark_checkpoint is HighWatermarkCheckpoint.DURABLE:
        return replica.high_watermark
    if protocol.high_watermark_checkpoint is HighWatermarkCheckpoint.ZEROED:
        return replica.log_start
    return min(max(replica.checkpoint, replica.log_start), replica.log_end_offset)


def stopped(replica: Replica, protocol: PartitionProtocol, process: Process, *, clean: bool = False) -> Replica:
    """The replica of a broker that has stopped: log, epoch cache and checkpoint are left, and its requests for another
    ISR stay in flight.
    """
    return evolve(
        replica,
        process=process,
        clean=clean,
        leader=None,
        leader_epoch=NO_EPOCH,
        leadership=None,
        fetch=None,
        truncating=False,
        high_watermark=remembered(replica, protocol),
        followers=(UNKNOWN_FOLLOWER,) * len(replica.followers),
    )
