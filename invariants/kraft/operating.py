"""What operators wait for: a partition that is led and writable again, and the end of a reassignment; and what they can
still ask for.

What they wait for is asked twice: of what still runs, though nobody comes back, and once all brokers run.
"""

from __future__ import annotations

from highwater.model.kraft.administering import cancel_reassignment, elect_uncleanly
from highwater.model.kraft.bounds import partitions
from highwater.model.kraft.definition import HEALING
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.state import Cluster
from highwater.model.language.declarations import Truth, Witness, invariant
from highwater.model.language.graph_properties import leads_to, prospect


def _all_run(cluster: Cluster) -> bool:
    return all(each.running and not each.stopping for each in cluster.brokers)


def _is_not_led(cluster: Cluster, partition: int = 0) -> bool:
    """Whether clients find no leader: there is none, or it is down, or does not know yet that it leads."""
    now = cluster.partitions[partition]
    return bool(now.replicas) and (now.leader is None or not cluster.leads(now.leader, partition))


@leads_to(_is_not_led, fair=HEALING, partition=partitions)
def partitions_stay_led(cluster: Cluster, partition: int = 0) -> Truth:
    """A partition that nobody leads is led at some time, though no broker comes back.

    Kind: liveness.
    When false: clients are refused until a broker returns, or an operator elects a leader uncleanly.
    Relies on: brokers read the metadata log and send heartbeats again and again.
    Source: org.apache.kafka.controller.PartitionChangeBuilder#electAnyLeader (3.5.1 to 4.3.1).
    """
    return not _is_not_led(cluster, partition) or Witness("nobody leads until a broker returns")


def _is_reassigned(cluster: Cluster, partition: int = 0) -> bool:
    now = cluster.partitions[partition]
    return bool(now.adding) or bool(now.removing)


@leads_to(_is_reassigned, fair=HEALING, needs=lambda bounds: bounds.reassignments, partition=partitions)
def reassignments_end(cluster: Cluster, partition: int = 0) -> Truth:
    """A reassignment is complete at some time, or was cancelled, though no broker comes back.

    Kind: liveness.
    When false: it is in progress until a broker returns, or an operator cancels it.
    Relies on: followers fetch, leaders propose, the controller answers, again and again.
    Source: org.apache.kafka.controller.PartitionReassignmentReplicas#maybeCompleteReassignment (3.5.1 to 4.3.1).
    """
    return not _is_reassigned(cluster, partition) or Witness("the reassignment does not end until a broker returns")


def _could_end(cluster: Cluster, partition: int = 0) -> bool:
    return _is_reassigned(cluster, partition) and _all_run(cluster)


@leads_to(_could_end, fair=HEALING, needs=lambda bounds: bounds.reassignments, partition=partitions)
def reassignments_end_once_all_run(cluster: Cluster, partition: int = 0) -> Truth:
    """Once all brokers run, a reassignment is complete at some time, or was cancelled, or a broker goes down.

    Kind: liveness.
    When false: it is in progress until an operator cancels it, or asks for another.
    Relies on: followers fetch, leaders propose, the controller answers, again and again.
    Source: org.apache.kafka.controller.PartitionReassignmentReplicas#maybeCompleteReassignment (3.5.1 to 4.3.1).
    """
    return not _could_end(cluster, partition) or Witness("all brokers run, and the reassignment never ends")


def _refuses_producers(cluster: Cluster, protocol: KraftProtocol, partition: int = 0) -> bool:
    """Whether producers with acks=all are refused: no broker that leads knows an ISR of min.insync.replicas.

    Source: kafka.cluster.Partition#appendRecordsToLeader (3.5.1 to 4.3.1), #effectiveMinIsr (3.7.0 to 4.3.1).
    """
    now = cluster.partitions[partition]
    if now.leader is None or not cluster.leads(now.leader, partition):
        return bool(now.replicas)
    view = cluster.brokers[now.leader].replicas[partition].view
    assert view is not None, "it leads"
    needed = min(view.min_isr, len(view.replicas)) if protocol.leader_caps_min_isr else view.min_isr
    return len(view.isr) < needed


@invariant(partition=partitions)
def leaders_take_records(cluster: Cluster, protocol: KraftProtocol, partition: int = 0) -> Truth:
    """Whoever leads a partition, and knows it, takes records with acks=all. Where nobody leads, clients wait.

    Kind: state.
    When false: producers get NotEnoughReplicas, be it for a moment.
    Source: kafka.cluster.Partition#appendRecordsToLeader (3.5.1 to 4.3.1).
    """
    if _is_not_led(cluster, partition) or not _refuses_producers(cluster, protocol, partition):
        return True
    return Witness("b{leader} refuses records with acks=all", leader=cluster.partitions[partition].leader)


@leads_to(_refuses_producers, fair=HEALING, partition=partitions)
def partitions_stay_writable(cluster: Cluster, protocol: KraftProtocol, partition: int = 0) -> Truth:
    """A partition that refuses producers with acks=all takes records again at some time, though no broker comes back.

    Kind: liveness.
    When false: producers get NotEnoughReplicas, or find no leader, until a broker returns.
    Relies on: brokers read the metadata log, followers fetch, leaders propose, the controller answers.
    Source: kafka.cluster.Partition#appendRecordsToLeader (3.5.1 to 4.3.1).
    """
    return not _refuses_producers(cluster, protocol, partition) or Witness(
        "producers are refused until a broker returns"
    )


def _could_be_writable(cluster: Cluster, protocol: KraftProtocol, partition: int = 0) -> bool:
    return _all_run(cluster) and _refuses_producers(cluster, protocol, partition)


@leads_to(_could_be_writable, fair=HEALING, partition=partitions)
def partitions_are_writable_once_all_run(cluster: Cluster, protocol: KraftProtocol, partition: int = 0) -> Truth:
    """Once all brokers run, a partition takes records with acks=all at some time, or a broker goes down.

    Kind: liveness.
    When false: producers are refused until an operator changes something.
    Relies on: brokers read the metadata log, followers fetch, leaders propose, the controller answers.
    Source: kafka.cluster.Partition#appendRecordsToLeader (3.5.1 to 4.3.1).
    """
    return not _could_be_writable(cluster, protocol, partition) or Witness("all brokers run, and producers are refused")


@prospect(
    along=(*HEALING, cancel_reassignment),
    needs=lambda bounds: bounds.reassignments and bounds.cancellations,
    partition=partitions,
)
def reassignments_can_be_cancelled(cluster: Cluster, partition: int = 0) -> Truth:
    """A reassignment can end, by itself or since an operator cancels it, though no broker comes back.

    Kind: prospect.
    When lost: it is in progress until a broker returns, and the request to cancel it is refused.
    Source: org.apache.kafka.controller.ReplicationControlManager#cancelPartitionReassignment (3.5.1 to 4.3.1).
    """
    return not _is_reassigned(cluster, partition) or Witness("the reassignment can neither end nor be cancelled")


@prospect(along=(*HEALING, elect_uncleanly), needs=lambda bounds: bounds.unclean_elections, partition=partitions)
def partitions_can_be_led(cluster: Cluster, partition: int = 0) -> Truth:
    """A partition can get a leader, by itself or since an operator asks for an unclean election, though no broker comes
    back.

    Kind: prospect.
    When lost: clients are refused until a broker returns, whatever an operator asks for.
    Source: org.apache.kafka.controller.ReplicationControlManager#electLeaders (3.5.1 to 4.3.1).
    """
    return not _is_not_led(cluster, partition) or Witness("nobody leads, and nobody can be elected")
