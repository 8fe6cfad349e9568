"""Clients create the topic, add partitions and ask for reassignments; a deposed controller writes late."""

from __future__ import annotations

from highwater.model.controller.elections import first_leadership
from highwater.model.language.declarations import action
from highwater.model.language.domain import Integers
from highwater.model.language.records import evolve
from highwater.model.topic.bounds import TopicBounds, partition_sets, partitions
from highwater.model.topic.initial import spread
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.reassigning import can_be_asked
from highwater.model.topic.state import Leadership, Topic


def _signalled(topic: Topic) -> Topic:
    """The topic after its assignment has changed in ZooKeeper: a watch fires once, and is gone."""
    if not topic.context.watches:
        return topic
    return topic.with_context(watches=False, signalled=True)


@action(actor="admin", needs=lambda bounds: not bounds.established)
def create_topic(topic: Topic, bounds: TopicBounds) -> Topic | None:
    """A client creates the topic.

    Actor: an admin client.
    Enabled: there is no topic.
    Effect: ZooKeeper has the assignment of each partition: replica j of partition i is on broker i + j, modulo their
        number.
    Abstracts: the random broker of partition 0, and racks.
    Source: kafka.admin.AdminUtils#createTopic, #assignReplicasToBrokers (0.9.0.0 to 0.10.2).
    """
    if topic.nodes[0].assignment:
        return None
    for partition, replicas in enumerate(spread(bounds)[: bounds.partitions]):
        topic = topic.with_node(partition, assignment=replicas)
    return topic


@action(actor="admin", needs=lambda bounds: bounds.partition_additions)
def add_partition(topic: Topic, bounds: TopicBounds, protocol: TopicProtocol) -> Topic | None:
    """A client adds a partition.

    Actor: an admin client.
    Enabled: the topic is there; the budget allows it; since KIP-195 no partition is being reassigned.
    Effect: ZooKeeper has the assignment of one partition more, which goes on where that of the others ends. A
        controller that watches the topic is signalled.
    Abstracts: that the client reads what is there before it writes; changes in between are lost.
    Source: kafka.admin.AdminUtils#addPartitions (0.9.0.0 to 0.10.2), kafka.server.AdminManager#createPartitions (1.0.0
        to 2.6), kafka.server.ZkAdminManager#createPartitions (2.8.0 to 3.9).
    """
    missing = [partition for partition in topic.numbers if not topic.nodes[partition].assignment]
    if not missing or missing[0] == 0:
        return None
    if protocol.additions_wait and any(node.target for node in topic.nodes):
        return None
    after = topic.with_node(missing[0], assignment=spread(bounds)[missing[0]])
    return _signalled(after).spending("partition_additions")


@action(
    actor="admin",
    needs=lambda bounds: bounds.reassignments,
    named=partition_sets,
    first=lambda bounds: Integers(0, bounds.brokers - 1),
)
def request_reassignments(
    topic: Topic, named: frozenset[int], first: int, bounds: TopicBounds, protocol: TopicProtocol
) -> Topic | None:
    """A client asks to reassign some partitions, in one request: to where they would be if the topic began at another
    broker.

    Actor: an admin client.
    Enabled: each of them is led, and is not being reassigned; until KIP-455 no other one is either. The budget allows
        it.
    Effect: the request is in ZooKeeper.
    Abstracts: a request that overrides one in progress; the model `controller` has it.
    Source: kafka.admin.ReassignPartitionsCommand#reassignPartitions (0.9.0.0 to 2.3),
        kafka.controller.KafkaController#processApiPartitionReassignment (2.4.0 to 3.9).
    """
    chosen = [partition for partition in topic.numbers if partition in named]
    if not chosen or not can_be_asked(topic, protocol):
        return None
    targets = spread(bounds, first)
    for partition in chosen:
        node = topic.nodes[partition]
        if node.target or node.leadership is None or node.assignment in ((), targets[partition]):
            return None
        topic = topic.with_node(partition, target=targets[partition])
    return topic.spending("reassignments")


@action(actor="controller", needs=lambda bounds: bounds.late_writes and bounds.fail_overs, partition=partitions)
def write_late(topic: Topic, partition: int, protocol: TopicProtocol) -> Topic | None:
    """A deposed controller that does not know it yet learns of an added partition, and writes its first leadership.

    Actor: a deposed controller.
    Enabled: there was a fail-over; the partition has no leadership; the budget allows it. Since KAFKA-6082 the write
        fails.
    Effect: ZooKeeper has leader and ISR of the partition.
    Abstracts: its requests: it is deposed as its session ends, and brokers refuse what an older controller sends.
    Source: kafka.controller.PartitionStateMachine#initializeLeaderAndIsrForPartition (0.9.0.0 to 1.0), which knows that
        its write may meet that of another controller.
    """
    node = topic.nodes[partition]
    if protocol.zk_write_fenced or not topic.used.fail_overs or not node.assignment or node.leadership is not None:
        return None
    elected = first_leadership(node.assignment, topic.live)
    if elected is None:
        return None
    leadership = Leadership(elected.leader, elected.isr, 0)
    return evolve(topic.with_node(partition, leadership=leadership)).spending("late_writes")
