"""Reassignments of several partitions, one beside the other: kafka.controller.KafkaController#onPartitionReassignment.

The model `controller` has each step of one reassignment, and what a crash between two of them leaves. Here each half is
one event.
"""

from __future__ import annotations

from highwater.model.controller.elections import Strategy
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.reassignment import ordered
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.language.declarations import action
from highwater.model.topic.bounds import partitions
from highwater.model.topic.machines import Batch, move_partitions, move_replicas, next_leadership
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.state import Phase, Topic


@action(actor="controller", needs=lambda bounds: bounds.reassignments, partition=partitions)
def notice_reassignment(topic: Topic, partition: int, protocol: TopicProtocol) -> Topic | None:
    """A controller learns of a partition's reassignment.

    Actor: the controller.
    Enabled: it handles events, and there is a reassignment that it does not know.
    Effect: all old and new replicas are assigned, in a new leader epoch; the new ones start.
    Source: kafka.controller.KafkaController#initiateReassignReplicasForTopicPartition, #onPartitionReassignment
        (0.9.0.0 to 0.10.2).
    """
    target = topic.nodes[partition].target
    known = topic.context.partitions[partition]
    if topic.context.phase is not Phase.ACTIVE or not target or known.target or not known.led:
        return None
    if not can_be_asked(topic, protocol, is_asked=True):
        return None
    return resume(topic.with_known(partition, target=target), partition, protocol)


@action(actor="controller", needs=lambda bounds: bounds.reassignments, partition=partitions)
def notice_caught_up_replicas(topic: Topic, partition: int, protocol: TopicProtocol) -> Topic | None:
    """A controller learns that all replicas of a reassignment's target are in the ISR.

    Actor: the controller.
    Enabled: it handles events and knows the reassignment.
    Effect: a replica of the target leads; the others are deleted; the reassignment is over.
    Abstracts: that since KIP-497 the controller learns of this as it answers AlterPartition, as in `controller`.
    Source: kafka.controller.ReassignedPartitionsIsrChangeListener#doHandleDataChange (0.10.2).
    """
    known = topic.context.partitions[partition]
    if topic.context.phase is not Phase.ACTIVE or not known.target or not is_complete(topic, partition):
        return None
    return resume(topic, partition, protocol)


def can_be_asked(topic: Topic, protocol: TopicProtocol, *, is_asked: bool = False) -> bool:
    """Whether a reassignment can be asked for, or, if it is asked for, whether the controller may learn of it.

    Until KIP-455 a client asks by a node in ZooKeeper, which may not be there yet, and whose signal comes after those
    of earlier changes. Since then it asks the controller, which may not have handled such a signal.
    Source: kafka.admin.ReassignPartitionsCommand#reassignPartitions (0.9.0.0 to 2.3),
        kafka.controller.KafkaController#processApiPartitionReassignment (2.4.0 to 3.9).
    """
    if not protocol.reassigned_by_zookeeper:
        return True
    return not topic.context.signalled if is_asked else not any(node.target for node in topic.nodes)


def is_complete(topic: Topic, partition: int) -> bool:
    """Whether all replicas of the target that the controller knows are in the ISR."""
    leadership = topic.nodes[partition].leadership
    target = topic.context.partitions[partition].target
    return leadership is not None and all(replica in leadership.isr for replica in target)


def resume(topic: Topic, partition: int, protocol: TopicProtocol) -> Topic:
    """The first half of the reassignment that the controller knows; the second one if the target is in the ISR."""
    return (_end if is_complete(topic, partition) else _begin)(topic, partition, protocol)


def write_assignment(topic: Topic, partition: int, replicas: tuple[int, ...]) -> Topic:
    """The controller writes the topic's node anew: this partition's assignment, and those of all others as it has them
    in memory. What it has not read yet is gone.

    Source: kafka.controller.KafkaController#updateAssignedReplicasForPartition (0.9.0.0 to 2.3),
        #updateReplicaAssignmentForPartition (2.4.0 to 3.9).
    """
    topic = topic.with_known(partition, assignment=replicas)
    for each in topic.numbers:
        topic = topic.with_node(each, assignment=topic.context.partitions[each].assignment)
    return topic


def _begin(topic: Topic, partition: int, protocol: TopicProtocol) -> Topic:
    known = topic.context.partitions[partition]
    wider = ordered(known.target, known.assignment)
    topic = _in_next_epoch(write_assignment(topic, partition, wider), partition, wider)
    new = [(partition, broker) for broker in known.target if known.replicas[broker] is ReplicaState.NON_EXISTENT]
    return move_replicas(topic, new, ReplicaState.NEW, protocol)


def _in_next_epoch(topic: Topic, partition: int, receivers: tuple[int, ...]) -> Topic:
    """Source: kafka.controller.KafkaController#updateLeaderEpochAndSendRequest (0.9.0.0 to 3.9)."""
    current = topic.nodes[partition].leadership
    if current is None:
        return topic
    after, batch = next_leadership(current, current.leader, current.isr), Batch()
    batch.lead(receivers, partition, after)
    return batch.sent(topic.with_node(partition, leadership=after))


def _end(topic: Topic, partition: int, protocol: TopicProtocol) -> Topic:
    """Abstracts: that since 2.4 only replicas that were added become online then. The others get a LeaderAndIsr of a
    leader epoch that they know.
    """
    known = topic.context.partitions[partition]
    target, removed = known.target, [each for each in known.assignment if each not in known.target]
    topic = move_replicas(topic, [(partition, each) for each in target], ReplicaState.ONLINE, protocol)
    topic = topic.with_known(partition, assignment=target)
    current = topic.nodes[partition].leadership
    if current is not None and current.leader in target and current.leader in topic.context.live:
        topic = _in_next_epoch(topic, partition, known.assignment if protocol.removed_replicas_told else target)
    else:
        topic = move_partitions(topic, (partition,), PartitionState.ONLINE, Strategy.REASSIGNMENT)
    for state in (
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.NON_EXISTENT,
    ):
        topic = move_replicas(topic, [(partition, each) for each in removed], state, protocol)
    return write_assignment(topic, partition, target).with_node(partition, target=()).with_known(partition, target=())
