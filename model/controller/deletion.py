"""Creation and deletion of the topic.

Source: kafka.controller.TopicDeletionManager (3.5, 0.10.2), KafkaController#onNewPartitionCreation (3.5).
"""

from __future__ import annotations

from highwater.model.controller.context import Context, Step, blank
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.requests import metadata_sent
from highwater.model.controller.state import Cluster
from highwater.model.controller.state_machines import fenced, move_partition, move_replicas, replica_edge
from highwater.model.controller.transitions import Illegal

STARTED, SUCCESSFUL, INELIGIBLE = (
    ReplicaState.DELETION_STARTED,
    ReplicaState.DELETION_SUCCESSFUL,
    ReplicaState.DELETION_INELIGIBLE,
)


def in_state(context: Context, state: ReplicaState) -> list[int]:
    """The assigned replicas in a state, in the assignment's order."""
    return [replica for replica in context.assignment if context.replicas[replica] is state]


def create_partition(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """A controller that has read a new topic's assignment brings its partition and replicas online.

    Source: kafka.controller.KafkaController#onNewPartitionCreation.
    """
    replicas = cluster.controllers[controller].assignment
    cluster = move_partition(cluster, controller, PartitionState.NEW, protocol)
    cluster = move_replicas(cluster, controller, replicas, ReplicaState.NEW, protocol)
    cluster = move_partition(cluster, controller, PartitionState.ONLINE, protocol)
    return move_replicas(cluster, controller, replicas, ReplicaState.ONLINE, protocol)


def resume_deletion(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """Resume a deletion: complete it, retry failed replicas, or begin it.

    Source: kafka.controller.TopicDeletionManager#resumeDeletions (3.5), DeleteTopicsThread#doWork (0.10.2).
    """
    context = cluster.controllers[controller]
    if not context.deleting:
        return cluster
    if _all_deleted(context, protocol):
        return cluster.with_context(controller, step=Step.DELETE_LEADERSHIP)
    if not in_state(context, STARTED):
        eligible = not context.deletion_halted
        if ineligible := in_state(context, INELIGIBLE):
            cluster = move_replicas(cluster, controller, ineligible, ReplicaState.OFFLINE, protocol)
        if context.added is INELIGIBLE:
            cluster = _move_added(cluster, controller, ReplicaState.OFFLINE, protocol)
        if eligible:
            return begin_deletion(cluster, controller, protocol)
    return cluster


def _move_added(cluster: Cluster, controller: int, to: ReplicaState, protocol: ControllerProtocol) -> Cluster:
    """Change the state of the replica of a partition that was added during the deletion. It has neither leadership nor
    a log.

    Abstracts: the requests, as there is nothing to stop or to delete.
    """
    context = cluster.controllers[controller]
    edge = replica_edge(context.added, to, protocol)
    if isinstance(edge, Illegal):
        return cluster.with_illegal("replica", edge)
    if to is ReplicaState.OFFLINE and not protocol.offline_without_leadership:
        return cluster
    return cluster.with_context(controller, added=to)


def _delete_added(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """Begin the deletion of the added partition. Its broker hosts nothing, so that it responds at once."""
    context = cluster.controllers[controller]
    if context.added in (ReplicaState.NON_EXISTENT, SUCCESSFUL):
        return cluster
    is_live = context.is_online(context.assignment[0])
    for state in (ReplicaState.OFFLINE, STARTED, SUCCESSFUL) if is_live else (INELIGIBLE,):
        cluster = _move_added(cluster, controller, state, protocol)
    return cluster


def _all_deleted(context: Context, protocol: ControllerProtocol) -> bool:
    """Whether every replica is deleted. If the protocol does not wait for dead brokers, theirs do not count."""
    if context.added not in (ReplicaState.NON_EXISTENT, SUCCESSFUL):
        return False
    waited_for = [
        replica for replica in context.assignment if protocol.dead_broker_blocks_deletion or context.is_online(replica)
    ]
    return all(context.replicas[replica] is SUCCESSFUL for replica in waited_for)


def begin_deletion(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """Send every broker that the topic is being deleted, and have every live replica delete its log.

    Abstracts: that until 2.0 the partition's own machine ends only when the deletion completes
        (kafka.controller.TopicDeletionManager#completeDeleteTopic (2.0)). Nothing but the number of offline partitions
        depends on it: no election is held for a partition that is being deleted.
    Source: kafka.controller.TopicDeletionManager#onTopicDeletion, #onPartitionDeletion (3.5).
    """
    if not cluster.controllers[controller].deletion_begun:
        cluster = move_partition(cluster, controller, PartitionState.OFFLINE, protocol)
        cluster = move_partition(cluster, controller, PartitionState.NON_EXISTENT, protocol)
        cluster = cluster.with_context(controller, deletion_begun=True)
    cluster = metadata_sent(cluster, controller, protocol)
    context = cluster.controllers[controller]
    dead = [replica for replica in context.assignment if not context.is_online(replica)]
    retried = [
        replica for replica in context.assignment if replica not in dead and context.replicas[replica] is not SUCCESSFUL
    ]
    cluster = move_replicas(cluster, controller, dead, INELIGIBLE, protocol)
    cluster = move_replicas(cluster, controller, retried, ReplicaState.OFFLINE, protocol)
    cluster = move_replicas(cluster, controller, retried, STARTED, protocol)
    cluster = _delete_added(cluster, controller, protocol)
    return cluster.with_context(controller, deletion_halted=True) if dead else cluster


def fail_deletion(cluster: Cluster, controller: int, replicas: list[int], protocol: ControllerProtocol) -> Cluster:
    """Halt the topic's deletion, because replicas could not be deleted.

    Source: kafka.controller.TopicDeletionManager#failReplicaDeletion (3.5).
    """
    if protocol.failed_deletion_becomes_ineligible:
        cluster = move_replicas(cluster, controller, replicas, INELIGIBLE, protocol)
    return resume_deletion(cluster.with_context(controller, deletion_halted=True), controller, protocol)


def complete_deletion(cluster: Cluster, controller: int, step: Step, protocol: ControllerProtocol) -> Cluster:
    """One step of the end of a deletion: nodes in ZooKeeper go one after the other, and a crash may leave some.

    Source: kafka.controller.TopicDeletionManager#completeDeleteTopic, kafka.zk.KafkaZkClient#deleteRecursive (3.5).
    """
    cluster = fenced(cluster, controller, protocol)
    match step:
        case Step.DELETE_LEADERSHIP:
            deleted = in_state(cluster.controllers[controller], SUCCESSFUL)
            cluster = move_replicas(cluster, controller, deleted, ReplicaState.NON_EXISTENT, protocol)
            return cluster.with_zk(leadership=None).with_context(controller, step=Step.DELETE_TOPIC)
        case Step.DELETE_TOPIC:
            cluster = cluster.with_zk(assignment=(), reassignment=None, partition_added=False)
            return cluster.with_context(controller, step=Step.DELETE_REQUEST)
    return without_topic(cluster.with_zk(deletion=False), controller)


def without_topic(cluster: Cluster, controller: int) -> Cluster:
    """The controller forgets the topic: kafka.controller.ControllerContext#removeTopic.

    Abstracts: that Kafka's state machines keep states other than `NON_EXISTENT`, of a topic that others have deleted.
    """
    empty = blank(len(cluster.brokers))
    return cluster.with_context(
        controller, topic_id=0, assignment=(), leadership=None, reassignment=None, partition=empty.partition,
        replicas=empty.replicas, deleting=False, deletion_begun=False, deletion_halted=False, added=empty.added,
        answers=empty.answers, step=None,
    )  # fmt: skip
