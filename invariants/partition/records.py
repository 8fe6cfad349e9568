"""Loss: which replicas keep the records that were exposed or acknowledged, and how far high watermarks reach."""

from __future__ import annotations

from highwater.invariants.partition.terms import is_the_leader, record_numbers
from highwater.model.language.declarations import Truth, Witness, invariant, step_property
from highwater.model.log import brokers, offsets
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.state import Partition


def lacks(partition: Partition, broker: int, offset: int) -> bool:
    """Whether a replica lacks the record exposed at an offset. Deletion by retention does not count."""
    replica = partition.replicas[broker]
    if offset >= len(partition.clients.exposed) or offset < replica.log_start:
        return False
    return offset >= replica.log_end_offset or replica.log[offset] != partition.clients.exposed[offset]


def lost(partition: Partition, broker: int, offset: int, who: str) -> Witness:
    """The witness of an exposed record that a replica lacks."""
    replica = partition.replicas[broker]
    has = f"has {replica.log[offset]} there" if replica.has_offset(offset) else f"ends at {replica.log_end_offset}"
    return Witness(
        "offset {offset} was exposed as {record}; b{broker}, {who}, {has}",
        offset=offset,
        record=str(partition.clients.exposed[offset]),
        broker=broker,
        who=who,
        has=has,
    )


@invariant(leader=brokers, offset=offsets)
def exposed_records_survive(partition: Partition, leader: int, offset: int) -> Truth:
    """S1: the leader has every record that was ever exposed.

    Kind: state.
    When false: a consumer has read a record that is lost.
    Source: KAFKA-1211; the aim of KIP-101 and KIP-320.
    """
    if not lacks(partition, leader, offset) or not is_the_leader(partition, leader):
        return True
    return lost(partition, leader, offset, f"leader of epoch {partition.leader_epoch}")


@invariant(leader=brokers, record=record_numbers)
def acknowledged_records_survive(partition: Partition, leader: int, record: int) -> Truth:
    """S2: the leader has every acknowledged record.

    Kind: state.
    When false: an acknowledged write is lost.
    Source: the guarantee of acks=all; KIP-966.
    """
    clients = partition.clients
    if record not in clients.acked or not is_the_leader(partition, leader):
        return True
    replica = partition.replicas[leader]
    if any(each.is_record(record) for each in replica.log[replica.log_start :]):
        return True
    if any(each.is_record(record) for each in clients.exposed[: replica.log_start]):
        return True
    return Witness(
        "r{record} was acknowledged; b{leader}, leader of epoch {epoch}, does not have it",
        record=record,
        leader=leader,
        epoch=partition.leader_epoch,
    )


@invariant(broker=brokers, offset=offsets)
def candidates_are_complete(partition: Partition, broker: int, offset: int) -> Truth:
    """S3: every running replica that a clean election may choose has every exposed record.

    Elections are safe because of it.
    Kind: state.
    When false: one election can lose a committed record.
    Source: StrongIsr in github.com/hachikuji/kafka-specification.
    """
    quorum = partition.quorum
    if not lacks(partition, broker, offset) or not partition.replicas[broker].is_up:
        return True
    if broker in quorum.isr:
        return lost(partition, broker, offset, "a member of the ISR")
    return broker not in quorum.elr or lost(partition, broker, offset, "an eligible leader replica")


@invariant(leader=brokers, member=brokers, offset=offsets)
def own_isr_is_complete(partition: Partition, leader: int, member: int, offset: int) -> Truth:
    """S4: every running member of a presumed leader's own ISR has the records below that leader's high watermark.

    Kind: state.
    When false: the leader takes records for replicated that are not.
    Source: WeakIsr in github.com/hachikuji/kafka-specification.
    """
    replica, other = partition.presumed_leader(leader), partition.replicas[member]
    if leader == member or replica is None or not replica.log_start <= offset < replica.high_watermark:
        return True
    if member not in replica.leadership.isr or not other.is_up or offset < other.log_start:
        return True
    if other.has_offset(offset) and other.log[offset] == replica.log[offset]:
        return True
    return Witness(
        "b{leader} counts offset {offset} as committed; b{member} of its ISR does not have its record",
        leader=leader,
        offset=offset,
        member=member,
    )


@step_property(broker=brokers, offset=offsets)
def isr_members_keep_committed_records(before: Partition, after: Partition, broker: int, offset: int) -> Truth:
    """S11: no running member of the ISR truncates an exposed record.

    Kind: step.
    When false: a member of the ISR no longer has every committed record.
    Source: KAFKA-1211, KAFKA-13207.
    """
    old, new = before.replicas[broker], after.replicas[broker]
    if offset >= len(before.clients.exposed) or not old.has_offset(offset) or new.log_end_offset > offset:
        return True
    if (
        broker not in before.quorum.isr
        or not old.is_up
        or not new.is_up
        or old.log[offset] != before.clients.exposed[offset]
    ):
        return True
    return Witness(
        "b{broker}, a member of the ISR, truncates offset {offset}, which was exposed", broker=broker, offset=offset
    )


@step_property(needs=lambda bounds: bounds.checkpoints, broker=brokers)
def checkpoints_keep_high_watermarks(before: Partition, after: Partition, broker: int) -> Truth:
    """A high watermark in the checkpoint file decreases no further than to the broker's own one or its log end offset.

    Kind: step.
    When false: a broker that restarts knows less of its log to be committed than before.
    Source: KAFKA-1647; kafka.server.ReplicaManager#makeFollowers (0.8.2).
    """
    old, new = before.replicas[broker].checkpoint, after.replicas[broker].checkpoint
    if new >= old or new >= after.replicas[broker].high_watermark > 0 or new >= after.replicas[broker].log_end_offset:
        return True
    return Witness("b{broker}'s checkpoint goes from {old} back to {new}", broker=broker, old=old, new=new)


@invariant(broker=brokers)
def high_watermark_is_within_the_log(partition: Partition, broker: int) -> Truth:
    """S14: no replica's high watermark is below its log start offset or beyond its log end offset.

    Kind: state.
    When false: fetches at the high watermark fail.
    Source: kafka.log.Log#updateHighWatermark (2.4 to 3.0), kafka.log.UnifiedLog#updateHighWatermark (3.1 to 3.8);
        KAFKA-9491.
    """
    replica = partition.replicas[broker]
    if replica.log_start <= replica.high_watermark <= replica.log_end_offset:
        return True
    return Witness(
        "b{broker} has high watermark {hw} and a log of {start}..{end}",
        broker=broker,
        hw=replica.high_watermark,
        start=replica.log_start,
        end=replica.log_end_offset,
    )


@invariant(leader=brokers)
def leaders_know_a_high_watermark_within_their_log(partition: Partition, leader: int) -> Truth:
    """S29: no presumed leader's high watermark is beyond its log end offset.

    Until 2.3 truncation leaves a follower's high watermark where it is, so that it is beyond the log until the next
    fetch.
    Kind: state.
    When false: the leader finds no position for its high watermark in its log, and commits nothing up to there.
    Source: kafka.cluster.Replica#convertHWToLocalOffsetMetadata (0.10.2 to 2.3.1).
    """
    replica = partition.presumed_leader(leader)
    if replica is None or replica.high_watermark <= replica.log_end_offset:
        return True
    return Witness(
        "b{leader} leads with high watermark {hw}, and its log ends at {end}",
        leader=leader,
        hw=replica.high_watermark,
        end=replica.log_end_offset,
    )


@invariant(broker=brokers, offset=offsets)
def records_below_a_high_watermark_are_committed(partition: Partition, broker: int, offset: int) -> Truth:
    """S15: every record below a running replica's high watermark is the one that was exposed at its offset.

    Reading from followers (KIP-392) relies on it.
    Kind: state.
    When false: consumers can read records from a replica that may be lost.
    Source: KAFKA-14704; KIP-392.
    """
    replica = partition.replicas[broker]
    if not replica.log_start <= offset < min(replica.high_watermark, replica.log_end_offset) or not replica.is_up:
        return True
    seen = partition.clients.exposed
    if offset < len(seen) and replica.log[offset] == seen[offset]:
        return True
    return Witness(
        "b{broker} has {record} at offset {offset} below its high watermark, which was never committed there",
        broker=broker,
        record=str(replica.log[offset]),
        offset=offset,
    )


@invariant(record=record_numbers)
def acknowledged_records_are_somewhere(partition: Partition, record: int, bounds: PartitionBounds) -> Truth:
    """S23: as long as fewer than min.insync.replicas crashes have lost data, an acknowledged record is in some log.

    Kind: state.
    When false: no election can recover the record.
    Source: KIP-966; min.insync.replicas, KAFKA-1555.
    """
    if record not in partition.clients.acked or partition.used.lossy_crashes >= bounds.min_insync_replicas:
        return True
    if any(each.is_record(record) for replica in partition.replicas for each in replica.log[replica.log_start :]):
        return True
    if any(replica.log_start for replica in partition.replicas):
        return True
    return Witness("r{record} was acknowledged, and is in no log", record=record)
