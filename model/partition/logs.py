"""A replica's log and its leader epoch cache: appending, truncating, and finding where two logs part.

The cache says of each leader epoch where it begins. Most entries follow from the records; the exception is the entry
that a new leader makes before it has written anything (KAFKA-7415).
"""

from __future__ import annotations

from model.language.records import evolve
from model.log import NO_EPOCH, Record
from model.partition.protocol import HighWatermarkCheckpoint, PartitionProtocol
from model.partition.state import DELETED, UNKNOWN_FOLLOWER, Process, Replica

EpochEnd = tuple[int, int]  # a leader epoch, and the offset behind its last record


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
    """Whether the cache is KAFKA-7415's: elections are noted, what contradicts an epoch gives way, what is older than
    all has an end.
    """
    return protocol.epoch_entry_on_election


def with_epoch(replica: Replica, epoch: int, offset: int, protocol: PartitionProtocol) -> Replica:
    """The replica that knows that an epoch begins at an offset.

    Entries that contradict it are dropped; until 2.0.0 it was not noted itself where it contradicted the newest.
    Source: kafka.server.epoch.LeaderEpochFileCache#assign (0.11 to 2.0.0), #truncateAndAppend (2.0.1 to 2.6),
        which is part of #assign since.
    """
    newest = latest_epoch(replica)
    if newest != NO_EPOCH:
        start = replica.epoch_starts[newest]
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
    """A new leader's replica, which notes where its epoch begins. Source: kafka.cluster.Partition#makeLeader (2.1,
    KAFKA-7415).
    """
    return with_epoch(replica, epoch, replica.log_end_offset, protocol) if elections_are_noted(protocol) else replica


def appended(replica: Replica, record: Record, protocol: PartitionProtocol) -> Replica:
    """The replica with one more record, and its epoch in the cache."""
    replica = with_epoch(replica, record.leader_epoch, replica.log_end_offset, protocol)
    return evolve(replica, log=replica.log + (record,))


def truncated(replica: Replica, offset: int, protocol: PartitionProtocol) -> Replica:
    """The replica cut at an offset; its high watermark is not beyond its end, if the protocol has it so.

    Source: kafka.log.Log#truncateTo (2.0.1, 2.3.1; 2.4.1), which until 2.6.0 left the cache alone where there was
        nothing to cut (KAFKA-10706).
    """
    if offset < replica.log_end_offset:
        high_watermark = (
            min(replica.high_watermark, offset) if protocol.truncation_lowers_high_watermark else replica.high_watermark
        )
        replica = evolve(replica, log=replica.log[:offset], high_watermark=high_watermark)
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
    """What a replica knows of where an epoch ends, or None where it cannot say.

    With KIP-101: the start of the next larger epoch that it knows. With KIP-279: the largest epoch up to the one asked
    for, and its end. If all that it knows are larger, from 2.0.1 the start of the first, because what came before is
    not in its log.
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
    """Where a follower cuts its log given the leader's answer, and whether that is all: if not, it asks again.

    Without an answer it falls back to its high watermark. With KIP-101 the answer has no epoch.
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
    """The high watermark that a broker would start with. Source: kafka.cluster.Partition#getOrCreateReplica
    (0.10.2).
    """
    if protocol.high_watermark_checkpoint is HighWatermarkCheckpoint.DURABLE:
        return replica.high_watermark
    if protocol.high_watermark_checkpoint is HighWatermarkCheckpoint.ZEROED:
        return replica.log_start
    return min(max(replica.checkpoint, replica.log_start), replica.log_end_offset)


def stopped(replica: Replica, protocol: PartitionProtocol, process: Process, clean: bool = False) -> Replica:
    """What is left of a broker that does not run any more: log, epoch cache and checkpoint, and its requests on their
    way.
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
