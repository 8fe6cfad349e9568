"""The properties of the reference family, each with its name in the public modules."""

from __future__ import annotations

from highwater.model.language.declarations import Witness, invariant
from highwater.model.log import brokers
from highwater.model.reference.async_isr import Agreement
from highwater.model.reference.state import Cluster


def missing_below_high_watermark(cluster: Cluster, leader: int, members: frozenset[int], where: str) -> bool | Witness:
    """True if every member has the presumed leader's records below its high watermark, otherwise a witness."""
    replica = cluster.replicas[leader]
    if not cluster.presumes_leadership(leader) or replica.high_watermark == 0:
        return True
    for member in members:
        log = cluster.replicas[member].log
        for offset in range(replica.high_watermark):
            if offset >= len(replica.log) or offset >= len(log) or log[offset] != replica.log[offset]:
                return Witness(
                    "offset {offset} is below the high watermark of b{leader}, which presumes leadership, "
                    "but b{member}, in {where} ISR, does not hold that record",
                    leader=leader,
                    member=member,
                    offset=offset,
                    where=where,
                )
    return True


@invariant(leader=brokers)
def weak_isr(cluster: Cluster, leader: int) -> bool | Witness:
    """Every member of a presumed leader's own ISR has the records that this leader has committed.

    Kind: state.
    When false: the leader takes records for replicated that are not.
    Source: WeakIsr of the public module KafkaReplication.
    """
    return missing_below_high_watermark(cluster, leader, cluster.replicas[leader].isr, f"b{leader}'s own")


@invariant(leader=brokers)
def strong_isr(cluster: Cluster, leader: int) -> bool | Witness:
    """Every member of the true ISR, from which the next leader comes, has the records that a presumed leader has
    committed.

    Kind: state.
    When false: an election may lose records that consumers have read.
    Source: StrongIsr of the public module KafkaReplication.
    """
    return missing_below_high_watermark(cluster, leader, cluster.quorum.isr, "the true")


@invariant()
def leader_in_isr(cluster: Cluster) -> bool | Witness:
    """There is a true leader, and it is in the true ISR.

    Kind: state.
    When false: there is no leader. The initial state has none, nor is there one until a failed leader is replaced.
    Source: LeaderInIsr of the public module KafkaReplication, which TLC finds violated by the initial state.
    """
    if cluster.quorum.leader is None:
        return Witness("there is no leader, so none is in the ISR")
    return elected_leader_in_isr.function(cluster)


@invariant()
def elected_leader_in_isr(cluster: Cluster) -> bool | Witness:
    """The true leader, if there is one, is in the true ISR.

    Kind: state.
    When false: a broker leads that may lack committed records.
    Source: what LeaderInIsr of the public module KafkaReplication intends.
    """
    leader = cluster.quorum.leader
    return (
        leader is None
        or leader in cluster.quorum.isr
        or Witness("b{leader} leads but is not in the true ISR", leader=leader)
    )


@invariant(broker=brokers)
def high_watermark_within_log(cluster: Cluster, broker: int) -> bool | Witness:
    """No replica's high watermark lies beyond its log end offset.

    Kind: state.
    When false: a replica takes records for committed that it does not have.
    Source: kafka.log.Log#updateHighWatermark (2.4), which keeps it between log start and log end.
    """
    replica = cluster.replicas[broker]
    return replica.high_watermark <= replica.log_end_offset or Witness(
        "b{broker} has high watermark {high_watermark} but its log ends at {end}",
        broker=broker,
        high_watermark=replica.high_watermark,
        end=replica.log_end_offset,
    )


@invariant(broker=brokers)
def leader_epochs_never_decrease_along_a_log(cluster: Cluster, broker: int) -> bool | Witness:
    """Along every log, records' leader epochs never decrease.

    Kind: state.
    When false: the end offset of an epoch is not defined.
    Source: kafka.server.epoch.LeaderEpochFileCache#assign (2.0), which accepts only increasing epochs.
    """
    log = cluster.replicas[broker].log
    for offset in range(1, len(log)):
        if log[offset].leader_epoch < log[offset - 1].leader_epoch:
            return Witness(
                "the log of b{broker} goes back to an older leader epoch at offset {offset}",
                broker=broker,
                offset=offset,
            )
    return True


@invariant(broker=brokers)
def records_are_unique_within_a_log(cluster: Cluster, broker: int) -> bool | Witness:
    """No log holds a record twice.

    Kind: state.
    When false: replication has appended a record again.
    Source: records have unique ids in the public module KafkaReplication.
    """
    log = cluster.replicas[broker].log
    for later in range(len(log)):
        for earlier in range(later):
            if log[earlier].id == log[later].id:
                return Witness(
                    "b{broker} holds r{id} at offsets {earlier} and {later}",
                    broker=broker,
                    id=log[later].id,
                    earlier=earlier,
                    later=later,
                )
    return True


@invariant(some=brokers, other=brokers)
def same_offset_and_epoch_mean_same_record(cluster: Cluster, some: int, other: int) -> bool | Witness:
    """Two logs that have the same leader epoch at an offset have the same record there.

    Kind: state.
    When false: leader epochs do not show where logs diverge. All truncation since KIP-101 relies on it.
    Source: KIP-101; kafka.server.epoch.LeaderEpochFileCache (0.11).
    """
    if some >= other:
        return True
    ours, theirs = cluster.replicas[some].log, cluster.replicas[other].log
    for offset in range(min(len(ours), len(theirs))):
        if ours[offset].leader_epoch == theirs[offset].leader_epoch and ours[offset].id != theirs[offset].id:
            return Witness(
                "b{some} and b{other} hold different records of one epoch at offset {offset}",
                some=some,
                other=other,
                offset=offset,
            )
    return True


@invariant()
def valid_high_watermark(state: Agreement) -> bool | Witness:
    """Every member of the controller's ISR has reached the leader's high watermark.

    Kind: state.
    When false: the controller may elect a broker that lacks committed records.
    Source: ValidHighWatermark of the public module AsyncIsr; KIP-497.
    """
    high_watermark = state.leader.high_watermark
    for broker in state.isr:
        if state.leader.offsets[broker] < high_watermark:
            return Witness(
                "the leader's high watermark is {high_watermark}, but b{broker}, in the controller's ISR, ends at "
                "{end}",
                high_watermark=high_watermark,
                broker=broker,
                end=state.leader.offsets[broker],
            )
    return True


CLUSTER = (
    weak_isr,
    strong_isr,
    leader_in_isr,
    elected_leader_in_isr,
    high_watermark_within_log,
    leader_epochs_never_decrease_along_a_log,
    records_are_unique_within_a_log,
    same_offset_and_epoch_mean_same_record,
)

AGREEMENT = (valid_high_watermark,)
