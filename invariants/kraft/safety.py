"""Who leads is registered, in sync and complete."""

from __future__ import annotations

from model.kraft.state import Cluster, Mishap
from model.language.declarations import Truth, Witness, invariant
from model.log import brokers


@invariant()
def leaders_are_not_fenced(cluster: Cluster) -> Truth:
    """The partition's leader is not fenced.

    Kind: state.
    When false: clients are sent to a broker that is down, and nobody looks for another leader.
    Source: KAFKA-13173, KAFKA-18106, KAFKA-19522.
    """
    leader = cluster.partition.leader
    if leader is None or cluster.is_serving(leader):
        return True
    return Witness("b{leader} leads and is fenced", leader=leader)


@invariant(broker=brokers)
def isr_members_are_not_fenced(cluster: Cluster, broker: int) -> Truth:
    """No member of the ISR is fenced. Without ELR, the last member stays in the ISR when it is fenced.

    Kind: state.
    When false: the high watermark waits for a broker that is down; or the broker is elected.
    Source: KIP-841.
    """
    partition = cluster.partition
    if broker not in partition.isr or cluster.is_serving(broker):
        return True
    if partition.leader is None and len(partition.isr) == 1:
        return True
    return Witness("b{broker} is in the ISR and fenced", broker=broker)


@invariant()
def leaders_are_in_the_isr(cluster: Cluster) -> Truth:
    """The partition's leader is in its ISR.

    Kind: state.
    When false: a leader commits records that it does not have to keep.
    Source: org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData (3.5.1 to 4.3.1).
    """
    partition = cluster.partition
    if partition.leader is None or partition.leader in partition.isr:
        return True
    return Witness("b{leader} leads and is not in the ISR", leader=partition.leader)


@invariant(broker=brokers)
def acting_leaders_hold_committed_records(cluster: Cluster, broker: int) -> Truth:
    """A broker that leads in the newest leader epoch, and knows it, has every committed record, unless the partition is
    recovering from an unclean election.

    Kind: state.
    When false: consumers lose records that producers know to be committed.
    Source: S1; KIP-903, KIP-966.
    """
    ours, partition = cluster.brokers[broker], cluster.committed.partition
    if not cluster.leads(broker) or partition.leader != broker or ours.complete or partition.recovering:
        return True
    if ours.view is None or ours.view.leader_epoch != partition.leader_epoch:
        return True
    if ours.view.topic_id != partition.topic_id:
        return True
    return Witness("b{broker} leads without every committed record", broker=broker)


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
