"""Divergence: replicas with different records at the same offset."""

from __future__ import annotations

from highwater.model.language.declarations import Truth, Witness, invariant, step_property
from highwater.model.log import brokers, offsets
from highwater.model.partition.messages import Stage
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Partition


@invariant(one=brokers, other=brokers, offset=offsets)
def logs_agree_below_high_watermarks(partition: Partition, one: int, other: int, offset: int) -> Truth:
    """S5: two running replicas have the same record at every offset below both their high watermarks.

    Kind: state.
    When false: consumers of the two replicas read different records.
    Source: KIP-101, scenario 2; KAFKA-3919.
    """
    ours, theirs = partition.replicas[one], partition.replicas[other]
    if one >= other or offset >= ours.high_watermark or offset >= theirs.high_watermark:
        return True
    if not (ours.is_up and theirs.is_up and ours.has_offset(offset) and theirs.has_offset(offset)):
        return True
    if ours.log[offset] == theirs.log[offset]:
        return True
    return Witness(
        "at offset {offset}, below both high watermarks, b{one} has {ours} and b{other} has {theirs}",
        offset=offset,
        one=one,
        other=other,
        ours=str(ours.log[offset]),
        theirs=str(theirs.log[offset]),
    )


@invariant(one=brokers, other=brokers, offset=offsets)
def epochs_identify_records(partition: Partition, one: int, other: int, offset: int) -> Truth:
    """S6: if two logs have records of the same leader epoch at an offset, these are the same, and so are the records
    before them.

    Truncation by leader epochs relies on it.
    Kind: state.
    When false: logs with different records share an epoch, so that followers do not find where they diverge.
    Source: KIP-101, KIP-279.
    """
    ours, theirs = partition.replicas[one], partition.replicas[other]
    if one >= other or not ours.has_offset(offset) or not theirs.has_offset(offset):
        return True
    if ours.log[offset].leader_epoch != theirs.log[offset].leader_epoch:
        return True
    before = offset - 1
    same_before = not ours.has_offset(before) or not theirs.has_offset(before) or ours.log[before] == theirs.log[before]
    if ours.log[offset] == theirs.log[offset] and same_before:
        return True
    return Witness(
        "b{one} and b{other} have records of epoch {epoch} at offset {offset}, but their logs differ there or before",
        one=one,
        other=other,
        epoch=ours.log[offset].leader_epoch,
        offset=offset,
    )


@invariant(leader=brokers, follower=brokers, offset=offsets)
def followers_do_not_diverge(
    partition: Partition, leader: int, follower: int, offset: int, protocol: PartitionProtocol
) -> Truth:
    """S7: a follower in its leader's epoch that has ended truncation has its leader's records.

    With truncation on fetch, it has ended once the leader has accepted a fetch in this epoch; otherwise, once the
    follower may fetch.

    Kind: state.
    When false: the follower keeps records that its leader does not have, and appends others to them.
    Source: KIP-279; KAFKA-6361.
    """
    ours, theirs = partition.replicas[leader], partition.replicas[follower]
    if not ours.has_offset(offset) or not theirs.has_offset(offset) or ours.log[offset] == theirs.log[offset]:
        return True
    if (
        theirs.leader != leader
        or not partition.leads(leader)
        or theirs.leader_epoch != ours.leader_epoch
        or theirs.truncating
    ):
        return True
    if protocol.truncation_rules.fetches_name_epochs:
        known = ours.followers[follower]
        if known.log_end_offset is None or not known.since_change or known.log_end_offset <= offset:
            return True
    return Witness(
        "b{follower} follows b{leader} with {theirs} at offset {offset}, where the leader has {ours}",
        follower=follower,
        leader=leader,
        offset=offset,
        ours=str(ours.log[offset]),
        theirs=str(theirs.log[offset]),
    )


@invariant(needs=lambda bounds: bounds.batch_records > 1, broker=brokers, offset=offsets)
def batches_are_cut_as_a_whole(partition: Partition, broker: int, offset: int) -> Truth:
    """S26: no log has a gap: truncation ends between two batches.

    Kind: state.
    When false: truncation to an offset inside a batch has cut the batch from its start, and the log ends at that
        offset. What the leader has at the offsets between never arrives, and no fetch shows it.
    Source: kafka.log.Log#truncateTo (0.11 to 3.0), kafka.log.LocalLog#truncateTo (3.1 to 3.8).
    """
    replica = partition.replicas[broker]
    if offset < replica.log_start or offset >= replica.log_end_offset or replica.has_offset(offset):
        return True
    return Witness(
        "b{broker} has no record at offset {offset}, and its log ends at {end}",
        broker=broker,
        offset=offset,
        end=replica.log_end_offset,
    )


@step_property(follower=brokers, offset=offsets)
def overtaken_follower_keeps_no_diverging_records(
    before: Partition, after: Partition, follower: int, offset: int
) -> Truth:
    """S7 for a follower whose offset was out of range and whose leader has overtaken it since: it keeps no record that
    its leader does not have.

    Kind: step.
    When false: the follower appends to records that its leader does not have, and no broker notices.
    Source: KAFKA-2143; the comment in kafka.server.ReplicaFetcherThread#handleOffsetOutOfRange (0.10.2).
    """
    old, new = before.replicas[follower], after.replicas[follower]
    if (
        old.fetch is None
        or old.fetch.stage is not Stage.OUT_OF_RANGE
        or new.fetch is not None
        or not new.has_offset(offset)
    ):
        return True
    if new.leader is None or new.leader == follower or old.leader != new.leader or not after.leads(new.leader):
        return True
    leader = after.replicas[new.leader]
    if (
        not leader.has_offset(offset)
        or leader.log_end_offset < old.log_end_offset
        or leader.log[offset] == new.log[offset]
    ):
        return True
    return Witness(
        "b{follower}, overtaken by its leader b{leader}, keeps {ours} at offset {offset}; the leader has {theirs}",
        follower=follower,
        leader=new.leader,
        offset=offset,
        ours=str(new.log[offset]),
        theirs=str(leader.log[offset]),
    )
