"""Producers and consumers, and retention."""

from __future__ import annotations

from enum import Enum

from highwater.model.language.declarations import action
from highwater.model.language.domain import Integers
from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH, brokers, epochs, offsets
from highwater.model.partition.batches import Place, Record, batch_end, is_inside
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.high_watermark import min_isr, with_leader
from highwater.model.partition.logs import appended, without_records_below
from highwater.model.partition.protocol import Acks, PartitionProtocol
from highwater.model.partition.state import Leader, Partition, Replica


class ClientError(Enum):
    """How a broker refuses a client that asks for records or offsets of the partition, by Kafka's names."""

    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH"
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"


def epoch_error(replica: Replica, current_epoch: int, *, leads: bool, of_leader: bool) -> ClientError | None:
    """How a broker refuses a client by the leader epoch that the client knows, or None if it does not.

    Args:
        current_epoch: the client's; -1 if it names none, as before KIP-320.
        leads: whether the broker presumes leadership.
        of_leader: whether the client wants an answer from the leader only.
    Source: kafka.cluster.Partition#checkCurrentLeaderEpoch (2.1 to 4.4), #getLocalLog (2.4 to 4.4); KIP-320.
    """
    if current_epoch != NO_EPOCH and current_epoch != replica.leader_epoch:
        older = current_epoch < replica.leader_epoch
        return ClientError.FENCED_LEADER_EPOCH if older else ClientError.UNKNOWN_LEADER_EPOCH
    return ClientError.NOT_LEADER_OR_FOLLOWER if of_leader and not leads else None


@action(actor="leader", leader=brokers)
def produce(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A producer sends a record to a presumed leader, which appends it.

    Actor: the leader.
    Enabled: it presumes leadership; with acks=all, its ISR is not below min.insync.replicas, else it refuses the
        record before it appends.
    Effect: the leader appends the record in its leader epoch. It acknowledges the record at once with acks=1, and with
        acks=all once its high watermark is above the record.
    Source: kafka.cluster.Partition#appendMessagesToLeader (0.8.0 to 0.10.1), #appendRecordsToLeader (0.10.2 to 3.8).
    """
    replica = partition.presumed_leader(leader)
    if replica is None or not takes_records(replica, protocol, bounds) or not sends_to(partition, leader, bounds):
        return None
    return with_batch(partition, leader, replica, 1, protocol, bounds)


@action(
    actor="leader",
    needs=lambda bounds: bounds.batch_records > 1,
    leader=brokers,
    size=lambda bounds: Integers(2, bounds.batch_records),
)
def produce_batch(
    partition: Partition, leader: int, size: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A producer sends several records in one batch to a presumed leader, which appends it.

    Actor: the leader.
    Enabled: as `produce`.
    Effect: as `produce`; the batch is appended, acknowledged, fetched and cut as a whole.
    Source: kafka.cluster.Partition#appendRecordsToLeader (0.11 to 3.8); KIP-98, which gave each batch a base offset.
    """
    replica = partition.presumed_leader(leader)
    if replica is None or not takes_records(replica, protocol, bounds) or not sends_to(partition, leader, bounds):
        return None
    return with_batch(partition, leader, replica, size, protocol, bounds)


def sends_to(partition: Partition, leader: int, bounds: PartitionBounds) -> bool:
    """Whether a producer may send to a broker: it is the leader that its metadata name, if these are part of a claim.

    Source: org.apache.kafka.clients.producer.internals.RecordAccumulator#ready (0.9 to 3.8).
    """
    return not bounds.producer_metadata or partition.elections[partition.clients.producer_epoch].leader == leader


@action(actor="producer", needs=lambda bounds: bounds.producer_metadata, epoch=epochs)
def ask_for_metadata(partition: Partition, epoch: int) -> Partition | None:
    """A producer asks a broker for metadata: after NOT_LEADER_OR_FOLLOWER, a lost connection, or a while.

    Actor: the producer.
    Enabled: the leader epoch was published, and is newer than the one of which the producer has heard.
    Effect: the producer sends to the leader of that epoch, which may be an older one than the newest.
    Abstracts: which broker answers, and from how old a cache.
    Source: org.apache.kafka.clients.Metadata#updateLastSeenEpochIfNewer (2.2 to 3.8), KIP-320: metadata of an older
        leader epoch are ignored.
    """
    if not partition.clients.producer_epoch < epoch <= partition.leader_epoch:
        return None
    return evolve(partition, clients=evolve(partition.clients, producer_epoch=epoch))


def takes_records(replica: Leader, protocol: PartitionProtocol, bounds: PartitionBounds) -> bool:
    """Whether a leader appends what a producer sends: its ISR is large enough, and nobody else holds its lock.

    `maybeExpandIsr`, which is about to propose a candidate, holds it.
    """
    leadership = replica.leadership
    if protocol.acks is Acks.ALL and len(leadership.isr) < min_isr(leadership.assignment, protocol, bounds):
        return False
    return leadership.candidate is None


def with_batch(
    partition: Partition,
    leader: int,
    replica: Leader,
    size: int,
    protocol: PartitionProtocol,
    bounds: PartitionBounds,
) -> Partition:
    """The state after a leader has appended a batch of new records, and has answered its producer if acks=1."""
    first = partition.next_record_id
    after = evolve(partition, next_record_id=first + size)
    if protocol.acks is Acks.LEADER:
        after = evolve(
            after, clients=evolve(after.clients, acked=after.clients.acked | set(range(first, first + size)))
        )
    for number in range(size):
        place = Place.NEXT if number else Place.FIRST
        replica = appended(replica, Record(first + number, replica.leader_epoch, place), protocol)
    return with_leader(after, leader, replica, protocol, bounds)


@action(actor="leader", needs=lambda bounds: bounds.refused_produces, leader=brokers)
def refuse_record(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A producer with acks=all sends a record to a presumed leader, which refuses it before it appends.

    Actor: the leader.
    Enabled: it presumes leadership, and its ISR is below min.insync.replicas; the budget allows it.
    Effect: the producer gets NOT_ENOUGH_REPLICAS. Nothing is written.
    Source: kafka.cluster.Partition#appendMessagesToLeader (0.8.2 to 0.10.1), #appendRecordsToLeader (0.10.2 to 3.8).
    """
    replica = partition.presumed_leader(leader)
    if protocol.acks is not Acks.ALL or replica is None or not sends_to(partition, leader, bounds):
        return None
    leadership = replica.leadership
    if len(leadership.isr) >= min_isr(leadership.assignment, protocol, bounds) or leadership.candidate is not None:
        return None
    return evolve(partition, used=partition.spent("refused_produces"))


@action(actor="producer", needs=lambda bounds: bounds.produce_timeouts, leader=brokers, offset=offsets)
def give_up(partition: Partition, leader: int, offset: int, protocol: PartitionProtocol) -> Partition | None:
    """A produce request with acks=all times out.

    Actor: the producer.
    Enabled: a presumed leader has its batch, which begins at the offset, and has not committed it; the budget allows
        it.
    Effect: the producer gets REQUEST_TIMED_OUT, and no other response. The records stay in the log.
    Source: kafka.server.DelayedProduce#onExpiration (0.9 to 3.8).
    """
    replica = partition.presumed_leader(leader)
    if (
        protocol.acks is not Acks.ALL
        or replica is None
        or not replica.has_offset(offset)
        or offset < replica.high_watermark
    ):
        return None
    log, clients = replica.log, partition.clients
    if offset < replica.leadership.waiting_from or log[offset].id in clients.rejected or is_inside(log, offset):
        return None
    sent = {record.id for record in log[offset : batch_end(log, offset)]}
    return evolve(
        partition,
        clients=evolve(clients, rejected=clients.rejected | sent),
        used=partition.spent("produce_timeouts"),
    )


@action(actor="consumer", needs=lambda bounds: bounds.consumer_reads, broker=brokers, offset=offsets)
def consume(partition: Partition, broker: int, offset: int, protocol: PartitionProtocol) -> Partition | None:
    """A consumer reads a record below the high watermark.

    Actor: the consumer.
    Enabled: the broker leads, or consumers may read from followers; the record is in its log and below its high
        watermark; the last read at this offset returned another record, or there was none.
    Effect: the state remembers the record as the last read at this offset.
    Source: kafka.cluster.Partition#readRecords with isolation by high watermark (2.4); KIP-392 for followers.
    """
    replica = partition.replicas[broker]
    if offset >= replica.high_watermark or not replica.is_up or not replica.has_offset(offset):
        return None
    if replica.leader != broker and not (protocol.consumer_reads_follower and replica.leader is not None):
        return None
    record = replica.log[offset].id
    if partition.clients.consumed[offset] == record:
        return None
    return evolve(
        partition, clients=evolve(partition.clients, consumed=replaced(partition.clients.consumed, offset, record))
    )


@action(actor="consumer", needs=lambda bounds: bounds.offset_queries, leader=brokers)
def ask_end_offset(partition: Partition, leader: int, protocol: PartitionProtocol) -> Partition | None:
    """A client asks a presumed leader for the end offset of the partition.

    Actor: the client.
    Enabled: the broker presumes leadership. With KIP-320 a client names the leader epoch of the last answer or a newer
        one, and a leader of an older epoch refuses it; one of a newer epoch does, too, until the client has asked for
        metadata. With the guard of KIP-207 it answers only once its high watermark has reached the start of its epoch.
    Effect: the broker answers with its high watermark.
    Source: kafka.cluster.Partition#fetchOffsetForTimestamp (2.2), org.apache.kafka.clients.Metadata
        #updateLastSeenEpochIfNewer (2.2 to 3.8), without which metadata may go back; KIP-207, KIP-320.
    """
    replica, clients = partition.presumed_leader(leader), partition.clients
    if replica is None:
        return None
    if protocol.clients_name_epochs:
        error = epoch_error(replica, clients.end_offset_epoch, leads=True, of_leader=True)
        if error is ClientError.UNKNOWN_LEADER_EPOCH:
            return None
    if protocol.list_offsets_guard and replica.high_watermark < replica.leadership.start_offset:
        return None
    return evolve(
        partition, clients=evolve(clients, end_offset=replica.high_watermark, end_offset_epoch=replica.leader_epoch)
    )


def low_watermark(partition: Partition, leader: int, replica: Leader) -> int | None:
    """The offset below which all replicas that are alive have deleted, as far as their leader knows; None if it does
    not know one of them.

    Source: kafka.cluster.Partition#lowWatermarkIfLeader (0.11 to 3.8).
    """
    lowest = replica.log_start
    for broker, known in enumerate(replica.followers):
        if broker == leader or broker not in replica.leadership.assignment or not partition.is_alive(broker):
            continue
        if known.log_end_offset is None:
            return None
        lowest = min(lowest, known.log_start)
    return lowest


@action(actor="leader", needs=lambda bounds: bounds.retentions and bounds.deletions_answered, leader=brokers)
def answer_deletion(partition: Partition, leader: int) -> Partition | None:
    """A leader answers a client that waits until records are deleted.

    Actor: the leader.
    Enabled: it presumes leadership; the low watermark is above what clients have heard of.
    Effect: clients have heard of the low watermark.
    Abstracts: who waits. A leader that leads no more answers nobody: who waits there waits until its time is over.
    Source: kafka.server.DelayedDeleteRecords#tryComplete (0.11 to 3.8).
    """
    replica = partition.presumed_leader(leader)
    if replica is None or replica.log_start <= partition.clients.deleted:
        return None
    deleted = low_watermark(partition, leader, replica)
    if deleted is None or deleted <= partition.clients.deleted:
        return None
    return evolve(partition, clients=evolve(partition.clients, deleted=deleted))


@action(
    actor="leader",
    needs=lambda bounds: bounds.retentions,
    leader=brokers,
    offset=lambda bounds: Integers(1, bounds.log_length_max),
)
def delete_old_records(partition: Partition, leader: int, offset: int) -> Partition | None:
    """Retention or a client deletes the records below an offset from a leader's log.

    Actor: the leader.
    Enabled: it presumes leadership; the offset is above its log start offset and not above its high watermark.
    Effect: the log starts at that offset.
    Abstracts: segments and their sizes. Retention deletes whole segments; a client may name an offset inside a batch,
        which stays in the log and is served as a whole.
    Source: kafka.log.Log#deleteOldSegments, which keeps what is above the high watermark (0.11.0.1, KAFKA-5634).
    """
    replica = partition.presumed_leader(leader)
    if replica is None or not replica.log_start < offset <= replica.high_watermark:
        return None
    after = partition.with_replica(leader, without_records_below(replica, offset))
    return evolve(after, used=partition.spent("retentions"))
