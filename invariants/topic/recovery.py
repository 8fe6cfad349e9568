"""What must stay possible for each partition, whatever the others wait for.

*By itself* means: along steps that a cluster takes if nobody disturbs it and no broker comes back.
"""

from __future__ import annotations

from highwater.model.language.declarations import Witness
from highwater.model.language.graph_properties import prospect
from highwater.model.log import brokers
from highwater.model.topic.bounds import TopicBounds, partitions
from highwater.model.topic.definition import HEALING
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.reassigning import can_be_asked
from highwater.model.topic.state import Fetch, Role, Topic


def _is_asked_for(topic: Topic, partition: int, bounds: TopicBounds) -> bool:
    """Whether a client has created the partition with the topic or has added it."""
    if not topic.nodes[0].assignment:
        return False
    return partition < bounds.partitions or partition - bounds.partitions < topic.used.partition_additions


def _can_have_no_leader(topic: Topic, partition: int) -> bool:
    """Whether no live broker may lead: none is assigned, or none in the ISR."""
    node = topic.nodes[partition]
    may_lead = node.assignment if node.leadership is None else node.leadership.isr
    return bool(node.assignment) and not any(broker in may_lead and broker in topic.live for broker in topic.ids)


@prospect(along=HEALING, partition=partitions)
def partitions_can_be_led(topic: Topic, partition: int, bounds: TopicBounds) -> bool | Witness:
    """Each partition that a client was promised can be led by itself, unless all brokers that may lead are down.

    Kind: prospect.
    When lost: clients cannot use the partition before an operator acts.
    Source: kafka.controller.KafkaController#onNewPartitionCreation, #onControllerFailover (0.9.0.0 to 3.9).
    """
    if not _is_asked_for(topic, partition, bounds) or topic.leads(partition) or _can_have_no_leader(topic, partition):
        return True
    return Witness("whatever the cluster does by itself, nobody leads p{partition}", partition=partition)


@prospect(along=HEALING, broker=brokers, partition=partitions)
def replicas_can_be_in_sync(topic: Topic, broker: int, partition: int) -> bool | Witness:
    """Each live replica can be in the ISR by itself, if its own records can be appended.

    Kind: prospect.
    When lost: the partition stays under-replicated, for a reason that is not its own.
    Source: KIP-461.
    """
    node = topic.nodes[partition]
    if node.leadership is None or broker not in node.assignment or broker not in topic.live:
        return True
    if broker in node.leadership.isr or _can_have_no_leader(topic, partition):
        return True
    if topic.brokers[broker].replicas[partition].fetch is Fetch.FAILED:
        return True
    return Witness(
        "whatever the cluster does by itself, b{broker} does not join the ISR of p{partition}",
        broker=broker,
        partition=partition,
    )


@prospect(along=HEALING, partition=partitions)
def reassignments_can_complete(topic: Topic, partition: int) -> bool | Witness:
    """Each reassignment can complete by itself, unless one of its own brokers is down.

    Kind: prospect.
    When lost: a reassignment waits for another partition's broker.
    Source: kafka.controller.KafkaController#onPartitionReassignment (0.9.0.0 to 3.9).
    """
    node = topic.nodes[partition]
    if not node.target or _can_have_no_leader(topic, partition):
        return True
    if any(broker not in topic.live for broker in node.target):
        return True
    return Witness("whatever the cluster does by itself, the reassignment of p{partition} stays", partition=partition)


@prospect(along=HEALING, broker=brokers, partition=partitions)
def removed_replicas_can_be_deleted(topic: Topic, broker: int, partition: int) -> bool | Witness:
    """Each live broker can delete by itself what a reassignment has taken from it.

    Kind: prospect.
    When lost: the replica takes up space, and fetches or leads on.
    Source: kafka.controller.KafkaController#stopOldReplicasOfReassignedPartition (0.9.0.0 to 2.3).
    """
    node = topic.nodes[partition]
    if broker in node.assignment:
        return True
    if topic.brokers[broker].replicas[partition].role is Role.NONE:
        return True
    return Witness(
        "whatever the cluster does by itself, b{broker} keeps p{partition}", broker=broker, partition=partition
    )


@prospect(along=HEALING, partition=partitions)
def reassignments_can_be_asked_for(topic: Topic, partition: int, protocol: TopicProtocol) -> bool | Witness:
    """Each partition can be reassigned that is not, whatever other partitions wait for.

    Kind: prospect.
    When lost: an operator cannot move a partition, because a reassignment of another one does not complete.
    Source: KIP-455.
    """
    if topic.nodes[partition].target or can_be_asked(topic, protocol):
        return True
    return Witness("whatever the cluster does by itself, p{partition} cannot be reassigned", partition=partition)


@prospect(along=HEALING, partition=partitions)
def preferred_leaders_can_lead(topic: Topic, partition: int) -> bool | Witness:
    """Each partition can be led by its preferred leader by itself, unless that is down or the partition is being
    reassigned.

    Kind: prospect.
    When lost: leaders stay where failures have moved them.
    Source: kafka.controller.KafkaController#checkAndTriggerPartitionRebalance (0.9.0.0 to 0.10.2).
    """
    node = topic.nodes[partition]
    if node.leadership is None or not node.assignment or node.leadership.leader == node.assignment[0]:
        return True
    if node.target or node.assignment[0] not in topic.live or _can_have_no_leader(topic, partition):
        return True
    return Witness(
        "whatever the cluster does by itself, b{broker} does not lead p{partition}",
        broker=node.assignment[0],
        partition=partition,
    )
