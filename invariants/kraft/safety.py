"""Who leads is registered, in sync and complete."""

from __future__ import annotations

from typing import Any

from highwater.model.kraft.bounds import partitions
from highwater.model.kraft.state import Cluster, Mishap
from highwater.model.language.declarations import Truth, Witness, invariant
from highwater.model.log import brokers


@invariant(partition=partitions)
def leaders_are_not_fenced(cluster: Cluster, partition: int = 0) -> Truth:
    """A partition's leader is not fenced.

    Kind: state.
    When false: clients are sent to a broker that is down, and nobody looks for another leader.
    Source: KAFKA-13173, KAFKA-18106, KAFKA-19522.
    """
    leader = cluster.partitions[partition].leader
    if leader is None or cluster.is_serving(leader):
        return True
    return Witness("b{leader} leads and is fenced", leader=leader)


@invariant(broker=brokers, partition=partitions)
def isr_members_are_not_fenced(cluster: Cluster, broker: int, partition: int = 0) -> Truth:
    """No member of the ISR is fenced. Without ELR, the last member stays in the ISR when it is fenced.

    Kind: state.
    When false: the high watermark waits for a broker that is down; or the broker is elected.
    Source: KIP-841.
    """
    now = cluster.partitions[partition]
    if broker not in now.isr or cluster.is_serving(broker):
        return True
    if now.leader is None and len(now.isr) == 1:
        return True
    return Witness("b{broker} is in the ISR and fenced", broker=broker)


@invariant(partition=partitions)
def leaders_are_in_the_isr(cluster: Cluster, partition: int = 0) -> Truth:
    """A partition's leader is in its ISR.

    Kind: state.
    When false: a leader commits records that it does not have to keep.
    Source: org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData (3.5.1 to 4.3.1).
    """
    now = cluster.partitions[partition]
    if now.leader is None or now.leader in now.isr:
        return True
    return Witness("b{leader} leads and is not in the ISR", leader=now.leader)


@invariant(broker=brokers, partition=partitions)
def acting_leaders_hold_committed_records(cluster: Cluster, broker: int, partition: int = 0) -> Truth:
    """A broker that leads a partition in the newest leader epoch, and knows it, has every committed record, unless the
    partition is recovering from an unclean election. `committed_records_survive` has no such exception.

    Kind: state.
    When false: consumers lose records that producers know to be committed, and the controller does not know.
    Source: S1; KIP-903, KIP-966.
    """
    if cluster.committed.partitions[partition].recovering or not _leads_without_records(cluster, broker, partition):
        return True
    return Witness("b{broker} leads without every committed record", broker=broker)


@invariant(broker=brokers, partition=partitions)
def committed_records_survive(cluster: Cluster, broker: int, partition: int = 0) -> Truth:
    """A broker that leads a partition in the newest leader epoch, and knows it, has every committed record, however it
    was elected. `acknowledged_records_survive` of the model `partition` asks the same.

    Kind: state.
    When false: consumers lose records that producers know to be committed.
    Source: S1; KIP-966, for the last known leader.
    """
    if not _leads_without_records(cluster, broker, partition):
        return True
    return Witness("b{broker} leads, and committed records are lost", broker=broker)


def _leads_without_records(cluster: Cluster, broker: int, partition: int) -> bool:
    ours, now = cluster.brokers[broker].replicas[partition], cluster.committed.partitions[partition]
    if not cluster.leads(broker, partition) or now.leader != broker or ours.complete or ours.view is None:
        return False
    return ours.view.leader_epoch == now.leader_epoch and ours.view.topic_id == now.topic_id


@invariant()
def reassignments_keep_enough_copies(cluster: Cluster) -> Truth:
    """No reassignment that completes takes the ISR below min.insync.replicas.

    Kind: state.
    When false: producers with acks=all are refused, and fewer brokers have the records than before.
    Source: KAFKA-15665.
    """
    return cluster.mishap is not Mishap.FEWER_COPIES or Witness(
        "a reassignment completed with an ISR below min.insync.replicas"
    )


@invariant()
def deposed_controllers_can_revert(cluster: Cluster) -> Truth:
    """A controller that is deposed can go back to what is committed.

    Kind: state.
    When false: the controller crashes. If that is why it was deposed, the quorum is one smaller.
    Source: KAFKA-17608.
    """
    return cluster.mishap is not Mishap.NO_SNAPSHOT or Witness("a controller could not go back to what is committed")


@invariant(needs=lambda bounds: bounds.stops and bounds.shutdowns, broker=brokers, partition=partitions)
def brokers_lead_by_what_they_have_read(cluster: Cluster, broker: int, partition: int = 0) -> Truth:
    """A broker that has read the metadata log as far as it is committed takes itself for the leader of a partition only
    if the log says so.

    Kind: state.
    When false: it goes on serving clients, who learn of the new leader only by timeouts.
    Source: KAFKA-14296.
    """
    ours, now = cluster.brokers[broker], cluster.committed.partitions[partition]
    if not ours.running or ours.unread or not cluster.leads(broker, partition) or now.leader == broker:
        return True
    return Witness("b{broker} has read that it leads no more, and leads on", broker=broker)


@invariant(needs=lambda bounds: bounds.min_isr_changes and bounds.topic_deletions)
def registrations_depose_no_controller(cluster: Cluster) -> Truth:
    """No active controller renounces because a broker registers or is unregistered.

    Kind: state.
    When false: the next controller meets the same, again and again, and the broker never comes up.
    Source: org.apache.kafka.controller.ReplicationControlManager#removeTopicElrs (4.0.0 to 4.3.1).
    """
    return cluster.mishap is not Mishap.DELETED_TOPIC or Witness("a controller found a deleted topic in its index")


def _only_brokers_disturb(bounds: Any) -> bool:
    """Whether nothing but brokers that fail or shut down changes two partitions with the same replicas."""
    others = (bounds.restarts, bounds.shrinks, bounds.elections, bounds.unclean_elections, bounds.directory_failures)
    moves = bounds.reassignments or bounds.min_isr_changes
    return bounds.partitions > 1 and not bounds.spread and not any(others) and not moves


@invariant(needs=_only_brokers_disturb)
def decisions_are_whole(cluster: Cluster) -> Truth:
    """Two partitions with the same replicas have the same leader and the same ISR, as long as only brokers that fail or
    shut down change them.

    Kind: state.
    When false: half of a decision of the controller is lost.
    Source: org.apache.kafka.controller.QuorumController#appendRecords (3.3.0 to 4.3.1).
    """
    first, second = cluster.partitions
    if first.leader == second.leader and first.isr == second.isr:
        return True
    return Witness("a broker has left one of the two partitions alone")
