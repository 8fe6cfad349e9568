"""Clients create and delete the topic and add a partition to it, and controllers notice that."""

from __future__ import annotations

from highwater.model.controller.bounds import ControllerBounds, controllers
from highwater.model.controller.context import Answer
from highwater.model.controller.deletion import (
    create_partition,
    fail_deletion,
    in_state,
    resume_deletion,
    without_topic,
)
from highwater.model.controller.events import handled, is_free
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.state import Cluster, first_assignment
from highwater.model.controller.state_machines import fenced, move_replicas
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.log import brokers


@action(actor="admin")
def create_topic(cluster: Cluster, bounds: ControllerBounds) -> Cluster | None:
    """A client creates the topic.

    Actor: an admin client.
    Enabled: there is no topic, and no request to delete it.
    Effect: ZooKeeper has its assignment with a new topic id.
    Source: kafka.zk.AdminZkClient#createTopicWithAssignment (3.5).
    """
    if cluster.zk.assignment or cluster.zk.deletion:
        return None
    cluster = cluster.with_zk(topic_id=cluster.zk.topic_id + 1, assignment=first_assignment(bounds))
    return evolve(cluster, history=evolve(cluster.history, committed=False, target=frozenset()))


@action(actor="controller", controller=controllers)
def notice_topic(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns of a new topic, or that another controller has deleted the one that it knows.

    Actor: the controller.
    Enabled: it is free, and the topic that it knows is not the one in ZooKeeper.
    Effect: it forgets the old topic, and brings the new one's partition and replicas online.
    Source: kafka.controller.KafkaController#processTopicChange (3.5).
    """
    context, zk = cluster.controllers[controller], cluster.zk
    if not is_free(context) or context.topic_id == (zk.topic_id if zk.assignment else 0):
        return None
    cluster = without_topic(cluster, controller)
    if not zk.assignment:
        return cluster
    cluster = cluster.with_context(controller, topic_id=zk.topic_id, assignment=zk.assignment)
    return handled(cluster, controller, protocol, lambda before: create_partition(before, controller, protocol))


@action(actor="admin", needs=lambda bounds: bounds.deletions)
def request_deletion(cluster: Cluster) -> Cluster | None:
    """A client asks to delete the topic.

    Actor: an admin client.
    Enabled: the topic exists; there is no request to delete it; the budget allows it.
    Source: kafka.zk.KafkaZkClient#createDeleteTopicPath (3.5).
    """
    if cluster.zk.deletion or not cluster.zk.assignment:
        return None
    return cluster.with_zk(deletion=True).spending("deletions")


@action(actor="controller", needs=lambda bounds: bounds.deletions, controller=controllers)
def notice_deletion(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns that the topic is to be deleted.

    Actor: the controller.
    Enabled: it is free; there is a request that it does not know, and it knows the topic, or there is no topic.
    Effect: the topic is queued for deletion, which begins. If there is no topic, the controller removes the request.
    Source: kafka.controller.KafkaController#processTopicDeletion (3.5). If a reassignment is in progress, it marks the
        topic as ineligible for deletion before it queues it, which has no effect:
        kafka.controller.TopicDeletionManager#markTopicIneligibleForDeletion (0.8.2 to 3.9).
    """
    context = cluster.controllers[controller]
    if not cluster.zk.deletion or not is_free(context) or context.deleting:
        return None
    if not cluster.zk.assignment:
        return handled(
            cluster, controller, protocol, lambda before: fenced(before, controller, protocol).with_zk(deletion=False)
        )
    if not context.topic_id:
        return None
    halted = protocol.deletion_waits_for_reassignment and context.reassignment is not None
    cluster = cluster.with_context(controller, deleting=True, deletion_halted=halted)
    return handled(cluster, controller, protocol, lambda before: resume_deletion(before, controller, protocol))


@action(actor="admin", needs=lambda bounds: bounds.partition_additions)
def request_partition(cluster: Cluster) -> Cluster | None:
    """A client adds a partition to the topic while it is being deleted.

    Actor: an admin client.
    Enabled: there are a topic and a request to delete it; no partition was added yet; the budget allows it.
    Effect: ZooKeeper has an assignment of a second partition, with one replica, on the first partition's preferred
        broker.
    Abstracts: adding partitions to a topic that stays.
    Source: kafka.zk.AdminZkClient#addPartitions (2.0).
    """
    if not cluster.zk.assignment or not cluster.zk.deletion or cluster.zk.partition_added:
        return None
    return cluster.with_zk(partition_added=True).spending("partition_additions")


@action(actor="controller", needs=lambda bounds: bounds.partition_additions, controller=controllers)
def take_back_added_partition(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller that deletes the topic learns of an added partition, and removes it from the assignment.

    Actor: the controller.
    Enabled: `added_partitions_taken_back`; it is free and deletes the topic; the partition was added after it took
        over.
    Effect: ZooKeeper has the assignment of the first partition alone. Until KAFKA-6612 the controller only logged an
        error.
    Source: kafka.controller.KafkaController#restorePartitionReplicaAssignment (2.0 to 3.9),
        #processPartitionModifications (2.3 to 3.9).
    """
    context = cluster.controllers[controller]
    if not protocol.added_partitions_taken_back or not cluster.zk.partition_added or not is_free(context):
        return None
    if not context.deleting or context.added is not ReplicaState.NON_EXISTENT:
        return None
    return handled(
        cluster,
        controller,
        protocol,
        lambda before: fenced(before, controller, protocol).with_zk(partition_added=False),
    )


@action(actor="controller", needs=lambda bounds: bounds.deletions, controller=controllers, broker=brokers)
def read_answer(cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller reads a broker's response to StopReplica with delete.

    Actor: the controller.
    Enabled: it is free, and a response has arrived.
    Effect: the replica is deleted, or its deletion has failed; the controller resumes the topic's deletion.
    Source: kafka.controller.KafkaController#processTopicDeletionStopReplicaResponseReceived (3.5).
    """
    context = cluster.controllers[controller]
    answer = context.answers[broker]
    if answer is Answer.NONE or not is_free(context):
        return None
    cluster = cluster.with_context(controller, answers=replaced(context.answers, broker, Answer.NONE))
    if not context.deleting or not in_state(context, ReplicaState.DELETION_STARTED):
        return cluster

    def handle(cluster: Cluster) -> Cluster:
        if answer is Answer.FAILED:
            return fail_deletion(cluster, controller, [broker], protocol)
        cluster = move_replicas(cluster, controller, [broker], ReplicaState.DELETION_SUCCESSFUL, protocol)
        return resume_deletion(cluster, controller, protocol)

    return handled(cluster, controller, protocol, handle)
