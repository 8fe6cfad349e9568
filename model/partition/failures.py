"""Crashes, shutdowns and restarts of brokers, and what brokers keep of their logs and high watermarks."""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.domain import Integers
from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH, brokers
from highwater.model.partition.batches import as_loaded, is_inside
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.controlling import with_members, with_record
from highwater.model.partition.disturbing import failing, stopping
from highwater.model.partition.logs import stopped, without_epochs_from
from highwater.model.partition.protocol import CheckpointCovers, PartitionProtocol
from highwater.model.partition.state import Partition, Process, Replica, Standing


@action(actor="broker", needs=lambda bounds: bounds.process_crashes, broker=brokers)
def crash(partition: Partition, broker: int, protocol: PartitionProtocol, bounds: PartitionBounds) -> Partition | None:
    """A broker's process is killed; the operating system keeps what it has written.

    Actor: the broker.
    Enabled: it runs; the budget allows it.
    Effect: the broker is down and keeps its log.
    Source: org.apache.kafka.common.record.FileRecords#append (0.10.2 to 3.8), which hands records to the operating
        system.
    """
    if not partition.replicas[broker].is_up:
        return None
    after = partition.with_replica(broker, stopped(partition.replicas[broker], protocol, Process.DOWN))
    used = stopping(partition, broker, "process_crashes", bounds)
    return evolve(after, used=failing(partition, used, broker, bounds))


@action(
    actor="broker",
    needs=lambda bounds: bounds.lossy_crashes,
    broker=brokers,
    kept=lambda bounds: Integers(0, bounds.log_length_max),
)
def crash_with_loss(
    partition: Partition, broker: int, kept: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A broker's machine fails, and records that were not flushed are lost.

    Actor: the broker.
    Enabled: it runs; the budget allows it; `kept` is not beyond its log, nor inside a batch: a torn one is dropped.
    Effect: the broker is down; its log keeps the records below `kept`.
    Abstracts: how far the log was flushed: any prefix may be left.
    Source: kafka.log.Log#recoverLog (2.0), which keeps what is on disk; log.flush.interval.messages is unlimited by
        default.
    """
    replica = partition.replicas[broker]
    if not replica.is_up or kept > replica.log_end_offset or kept < replica.log_start or is_inside(replica.log, kept):
        return None
    cut = (
        without_epochs_from(evolve(replica, log=replica.log[:kept]), kept) if kept < replica.log_end_offset else replica
    )
    cut = evolve(cut, high_watermark=min(replica.high_watermark, kept))
    used = stopping(partition, broker, "lossy_crashes", bounds)
    after = partition.with_replica(broker, stopped(cut, protocol, Process.DOWN))
    return evolve(after, used=failing(partition, used, broker, bounds))


def has_read(partition: Partition, broker: int, partition_epoch: int) -> bool:
    """Whether a broker has read the metadata up to a partition epoch.

    A leader knows the partition epoch, a follower only elections.
    """
    replica = partition.replicas[broker]
    if replica.leader_epoch == NO_EPOCH:
        return False
    if replica.leadership is not None:
        return replica.leadership.partition_epoch >= partition_epoch
    following = replica.leader_epoch + 1
    return following > partition.leader_epoch or partition.elections[following].partition_epoch > partition_epoch


def may_end_shutdown(partition: Partition, broker: int, protocol: PartitionProtocol, bounds: PartitionBounds) -> bool:
    """Whether the controller lets a broker that shuts down go. With KRaft all active brokers must have read of the
    partition's first change after the shutdown began, which as a rule is the one that takes the broker out of the ISR.
    With ZooKeeper it waits for nobody.

    An active broker that is down has read nothing: the controller waits until it is fenced.
    Source: org.apache.kafka.controller.BrokerHeartbeatManager#calculateNextBrokerState, #lowestActiveOffset (2.8.0 to
        4.3.1); kafka.controller.KafkaController#doControlledShutdown (2.0.1).
    """
    quorum = partition.quorum
    changed = quorum.registrations[broker].since + 1
    if protocol.by_zookeeper or quorum.partition_epoch < changed:
        return True
    return all(
        quorum.registrations[other].standing is not Standing.ACTIVE or has_read(partition, other, changed)
        for other in range(bounds.brokers)
    )


@action(actor="broker", needs=lambda bounds: bounds.controlled_shutdowns, broker=brokers)
def end_controlled_shutdown(
    partition: Partition, broker: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A broker ends its controlled shutdown: it flushes its log and writes its checkpoint.

    Actor: the broker.
    Enabled: it runs, and the controller has taken leadership from it. The broker need not have learned that yet. With
        KRaft every other active broker has.
    Effect: the broker is down and keeps its log and its high watermark.
    Abstracts: a broker with KRaft gives up after five minutes, and one with ZooKeeper after its last retry.
    Source: kafka.server.KafkaServer#shutdown (0.10.2 to 3.5), kafka.server.BrokerServer#shutdown (3.5.1),
        see `may_end_shutdown`.
    """
    replica = partition.replicas[broker]
    if partition.quorum.registrations[broker].standing is not Standing.SHUTTING_DOWN or not replica.is_up:
        return None
    if not may_end_shutdown(partition, broker, protocol, bounds):
        return None
    return partition.with_replica(broker, stopped(with_checkpoint(replica), protocol, Process.DOWN, clean=True))


@action(actor="broker", broker=brokers)
def restart(
    partition: Partition, broker: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A broker starts again and registers.

    Actor: the broker.
    Enabled: it is down. It is fenced, unless the protocol lets a broker register again without leaving the ISR: after
        the end of its session, and before the controller fences it.
    Effect: the broker runs with a new broker epoch, and is fenced until it has caught up with the metadata. It has its
        log without a gap at its end, the leader epochs of the records there, and the high watermark of its checkpoint.
        If it registers before it was fenced, it stays in the ISR, and leads if it led; the controller refuses what the
        incarnation before has asked for. Under some protocols a broker whose shutdown was unclean leaves ISR and ELR,
        because it may have lost data.
    Source: kafka.log.LogManager#loadLogs, kafka.server.ReplicaManager#getOrCreatePartition (0.10.2); kafka.log.Log,
        whose loading cuts the epoch cache at the log end offset (0.11 to 2.8), kafka.log.LogLoader#load (3.0 to 3.8);
        org.apache.kafka.controller.ClusterControlManager#registerBroker (3.5.1; 4.0.0), #checkBrokerEpoch (2.8.0 to
        3.8), ReplicationControlManager#handleBrokerUncleanShutdown (3.8.0), #handleBrokerShutdown (4.0.0).
    """
    replica, quorum = partition.replicas[broker], partition.quorum
    registration = quorum.registrations[broker]
    if replica.is_up:
        return None
    if registration.standing is not Standing.FENCED:
        if protocol.registering_again_fences:
            return None
        replica = evolve(replica, changes=())
        registration = evolve(registration, standing=Standing.FENCED, since=quorum.partition_epoch)
    registration = evolve(registration, broker_epoch=registration.broker_epoch + 1)
    changed = evolve(quorum, registrations=replaced(quorum.registrations, broker, registration))
    if (
        protocol.unclean_shutdown_removes_from_elr
        and not replica.clean
        and (broker in quorum.isr or broker in quorum.elr)
    ):
        gone = frozenset({broker})
        left = with_members(changed, quorum.isr - gone, gone, protocol, bounds)
        partition = with_record(partition, left, (), protocol)
        changed = partition.quorum
    if bounds.batch_records > 1:
        loaded_log = as_loaded(replica.log)
        replica = evolve(replica, log=loaded_log, high_watermark=min(replica.high_watermark, len(loaded_log)))
    loaded = without_epochs_from(replica, replica.log_end_offset)
    return evolve(partition, quorum=changed).with_replica(broker, evolve(loaded, process=Process.UP, clean=False))


def with_checkpoint(replica: Replica) -> Replica:
    return evolve(replica, checkpoint=replica.high_watermark)


@action(actor="broker", needs=lambda bounds: bounds.checkpoints, broker=brokers)
def checkpoint_high_watermark(partition: Partition, broker: int, protocol: PartitionProtocol) -> Partition | None:
    """A broker writes the high watermarks of its replicas to its checkpoint file.

    Actor: the broker.
    Enabled: it runs; the file would change; the budget allows it. A broker does not use the partition as long as it
        has learned of no leader, or only of one that is down.
    Effect: the file holds the high watermark. If the broker does not use the partition, and the file holds partitions
        in use only, the file no longer holds its high watermark.
    Source: kafka.server.ReplicaManager#checkpointHighWatermarks, #startHighWaterMarksCheckPointThread (0.8.1; 0.8.2,
        KAFKA-1647).
    """
    replica = partition.replicas[broker]
    if not replica.is_up:
        return None
    written = replica.high_watermark
    if replica.leader_epoch < 0:
        if protocol.high_watermark_checkpoint_covers is CheckpointCovers.ALL:
            return None
        if partition.is_alive(partition.quorum.leader):
            return None
        written = 0
    if written == replica.checkpoint:
        return None
    return evolve(
        partition.with_replica(broker, evolve(replica, checkpoint=written)), used=partition.spent("checkpoints")
    )
