"""What consumers and producers see."""

from __future__ import annotations

from highwater.invariants.partition.terms import is_the_leader, record_numbers
from highwater.model.language.declarations import Truth, Witness, invariant, step_property
from highwater.model.log import brokers, offsets
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.high_watermark import maximal_isr, min_isr
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Partition


@step_property(needs=lambda bounds: bounds.offset_queries)
def end_offset_never_goes_back(before: Partition, after: Partition) -> Truth:
    """S12: the end offset that clients learn never decreases.

    Kind: step.
    When false: a consumer that asks for the end offset twice gets a lower one.
    Source: KIP-207, KAFKA-2334.
    """
    old, new = before.clients.end_offset, after.clients.end_offset
    return new >= old or Witness("clients learned end offset {old}, and now {new}", old=old, new=new)


@step_property(needs=lambda bounds: bounds.consumer_reads, offset=offsets)
def reads_are_repeatable(before: Partition, after: Partition, offset: int) -> Truth:
    """S13: reads of an offset always return the same record.

    Kind: step.
    When false: two consumers, or one that reads twice, see different records at one offset.
    Source: KIP-392, KAFKA-14704.
    """
    old, new = before.clients.consumed[offset], after.clients.consumed[offset]
    return (
        old is None
        or old == new
        or Witness("r{old} was read at offset {offset}, and now r{new}", old=old, new=new, offset=offset)
    )


@invariant(needs=lambda bounds: bounds.retentions and bounds.deletions_answered, leader=brokers)
def deleted_records_stay_deleted(partition: Partition, leader: int) -> Truth:
    """S28: the leader's log does not start below the offset up to which clients have heard that records are deleted.

    Kind: state.
    When false: a client has heard that records are deleted, and consumers read them again.
    Source: KIP-107; kafka.cluster.Partition#lowWatermarkIfLeader (0.11 to 3.8).
    """
    deleted = partition.clients.deleted
    if not deleted or not is_the_leader(partition, leader) or partition.replicas[leader].log_start >= deleted:
        return True
    return Witness(
        "records below {deleted} are deleted, and the log of b{leader}, which leads, starts at {start}",
        deleted=deleted,
        leader=leader,
        start=partition.replicas[leader].log_start,
    )


@step_property(leader=brokers, record=record_numbers)
def refused_records_are_not_exposed(
    before: Partition, after: Partition, leader: int, record: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Truth:
    """S25: a record that was refused after the append is not exposed as long as the ISR is too small.

    The leader refuses it when its produce request times out, or when fewer than min.insync.replicas have committed it.
    It may be exposed once the ISR is large enough again: a refusal does not promise that the record is not written.

    Kind: step.
    When false: a consumer reads a record whose produce request has failed.
    Source: KAFKA-15583; kafka.cluster.Partition#checkEnoughReplicasReachOffset (3.5; 3.7).
    """
    if record not in after.clients.rejected:
        return True
    if any(each.is_record(record) for each in before.clients.exposed) or not any(
        each.is_record(record) for each in after.clients.exposed
    ):
        return True
    replica = after.presumed_leader(leader)
    if replica is None or replica.high_watermark == before.replicas[leader].high_watermark:
        return True
    size = len(maximal_isr(replica.leadership, protocol))
    if size >= min_isr(replica.leadership.assignment, protocol, bounds):
        return True
    return Witness(
        "r{record} was refused, and b{leader} exposes it with {size} in sync", record=record, leader=leader, size=size
    )


@invariant(needs=lambda bounds: bounds.refused_produces)
def no_record_is_refused_before_the_append(partition: Partition) -> Truth:
    """A leader appends every record that a producer with acks=all sends to it.

    Kind: state.
    When false: the topic is not writable: producers get NOT_ENOUGH_REPLICAS, and nothing is written.
    Source: kafka.cluster.Partition#appendRecordsToLeader (0.10.2 to 3.8).
    """
    return not partition.used.refused_produces or Witness("a leader refuses a record, as too few are in sync")


@invariant(needs=lambda bounds: not bounds.produce_timeouts, record=record_numbers)
def no_record_is_refused_after_the_append(partition: Partition, record: int) -> Truth:
    """A record that a leader has appended is acknowledged, or its request times out.

    Kind: state.
    When false: a producer gets NOT_ENOUGH_REPLICAS_AFTER_APPEND, sends the record again, and consumers may read both.
    Source: kafka.cluster.Partition#checkEnoughReplicasReachOffset (0.8.2 to 3.8).
    """
    return record not in partition.clients.rejected or Witness("r{record} was appended and is refused", record=record)
