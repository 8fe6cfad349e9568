"""Replicas that move between the log directories of their broker (KIP-113)."""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import NO_EPOCH, brokers
from highwater.model.partition.batches import Place
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.logs import latest_epoch
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Partition, Replica


def epochs_of_records(replica: Replica) -> tuple[int | None, ...]:
    """The leader epoch cache of a copy of a log: of each epoch the first offset that has a record of it."""
    epochs = [NO_EPOCH if each.place is Place.GAP else each.leader_epoch for each in replica.log[replica.log_start :]]
    return tuple(
        replica.log_start + epochs.index(epoch) if epoch in epochs else None
        for epoch in range(len(replica.epoch_starts))
    )


@action(actor="broker", needs=lambda bounds: bounds.directory_moves, broker=brokers)
def move_replica(
    partition: Partition, broker: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A broker puts a copy of its replica, in another of its log directories, in the place of the replica.

    Actor: the broker.
    Enabled: it runs and has learned of the partition; the budget allows it. Of a follower no epoch would be lost.
    Effect: the copy has the records, and only their epochs in its cache: a leader forgets the start of an epoch in
        which it has written nothing. Its high watermark is kept, but the checkpoint stays behind in the old directory.
    Abstracts: the copying, before which nothing changes; that a copy which began before records were deleted has their
        last epoch; that a replica which comes back finds its old checkpoint; the epoch that a follower goes on naming
        although its cache has lost it.
    Source: kafka.server.ReplicaAlterLogDirsThread#processPartitionData, kafka.cluster.Partition
        #maybeReplaceCurrentWithFutureReplica, kafka.log.LogManager#replaceCurrentWithFutureLog (3.5.1 to 4.4.0).
    """
    replica = partition.replicas[broker]
    if not replica.is_up or replica.leader_epoch == NO_EPOCH or broker not in partition.quorum.assignment:
        return None
    moved = evolve(replica, epoch_starts=epochs_of_records(replica), checkpoint=0)
    if moved == replica or (replica.leader != broker and latest_epoch(moved) != latest_epoch(replica)):
        return None
    return evolve(partition.with_replica(broker, moved), used=partition.spent("directory_moves"))
