"""What consumers and producers are told."""

from __future__ import annotations

from invariants.partition.words import Truth, record_numbers
from model.domain import Witness, invariant, step_property
from model.log import offsets
from model.partition.state import Partition


@step_property(needs=lambda bounds: bounds.offset_queries)
def end_offset_never_goes_back(before: Partition, after: Partition) -> Truth:
    """S12: the end offset that clients are told never decreases.

    Kind: step.
    When false: a consumer that asked where the partition ends is told later that it ends earlier.
    """
    old, new = before.clients.end_offset, after.clients.end_offset
    return new >= old or Witness("clients were told end offset {old}, and now {new}", old=old, new=new)


@step_property(needs=lambda bounds: bounds.consumer_reads, offset=offsets)
def reads_are_repeatable(before: Partition, after: Partition, offset: int) -> Truth:
    """S13: what a consumer has read at an offset is what is read there ever after.

    Kind: step.
    When false: two consumers, or one that reads twice, see different records at one offset.
    """
    old, new = before.clients.consumed[offset], after.clients.consumed[offset]
    return old is None or old == new or Witness("r{old} was read at offset {offset}, and now r{new}", old=old, new=new, offset=offset)


@invariant(record=record_numbers)
def refused_records_are_not_exposed(partition: Partition, record: int) -> Truth:
    """S25: a record that was refused after the append, for too small an ISR, is not exposed.

    Kind: safety.
    When false: a consumer reads what the producer was told has failed.
    """
    if record not in partition.clients.rejected or all(each.id != record for each in partition.clients.exposed):
        return True
    return Witness("r{record} was refused with NOT_ENOUGH_REPLICAS_AFTER_APPEND, and is exposed", record=record)
