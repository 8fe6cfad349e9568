"""Running the two state machines: every change goes through their tables, and has its effects in the tables' order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from highwater.model.controller import partition_states, replica_states
from highwater.model.controller.elections import (
    Elected,
    Strategy,
    elect_for_reassignment,
    elect_for_shutdown,
    elect_offline,
    elect_preferred,
    first_leadership,
)
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.protocol import ControllerProtocol, LastIsrMember
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.requests import Batch
from highwater.model.controller.state import Cluster, Mishap
from highwater.model.controller.transitions import Does, Edge, Effect, Illegal, To, When
from highwater.model.controller.zookeeper import Leadership
from highwater.model.language.records import replaced


class ControllerMoved(Exception):
    """A write to ZooKeeper failed because another controller was elected:
    org.apache.kafka.common.errors.ControllerMovedException.

    Attributes:
        batch_left: whether the replica state machine was about to send requests, and has not sent them.
    """

    def __init__(self, *, batch_left: bool = False) -> None:
        super().__init__()
        self.batch_left = batch_left


def fenced(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """The cluster as a controller is about to write to ZooKeeper. A write by a deposed controller is noted as a mishap.

    Raises:
        ControllerMoved: the controller was deposed, and writes are fenced.

    Source: KAFKA-6082; kafka.zk.KafkaZkClient#controllerZkVersionCheck (2.1), #retryRequestsUntilConnected with
        the controller epoch's version (2.2 to 3.9).
    """
    if cluster.controllers[controller].epoch == cluster.zk.controller_epoch:
        return cluster
    if protocol.zk_write_fenced:
        raise ControllerMoved
    return cluster.with_mishap(Mishap.STALE_WRITE)


def write_leadership(
    cluster: Cluster, controller: int, leadership: Leadership, protocol: ControllerProtocol
) -> Cluster:
    """The controller writes a partition's leadership and notes it in its context."""
    cluster = fenced(cluster, controller, protocol).with_zk(leadership=leadership)
    return cluster.with_context(controller, leadership=leadership)


def next_leadership(before: Leadership, leader: int | None, isr: frozenset[int], controller_epoch: int) -> Leadership:
    """Leader and ISR in the next leader epoch, with the next version."""
    return Leadership(leader, isr, before.leader_epoch + 1, before.partition_epoch + 1, controller_epoch)


def replaceable_leadership(cluster: Cluster, controller: int) -> Leadership | None:
    """The leadership that ZooKeeper has, if the controller may write the next: no later controller wrote it."""
    current = cluster.zk.leadership
    if current is None or current.controller_epoch > cluster.controllers[controller].epoch:
        return None
    return current


# Replicas


def move_replicas(
    cluster: Cluster, controller: int, replicas: Collection[int], to: ReplicaState, protocol: ControllerProtocol
) -> Cluster:
    """Move replicas to a state, in the order of their ids, and send the requests of that. Illegal changes are noted and
    skipped. If the batch is not empty, nothing happens.

    Source: kafka.controller.ZkReplicaStateMachine#handleStateChanges (3.5), which logs what newBatch throws.
    """
    if cluster.controllers[controller].batch_left:
        return cluster
    batch = Batch(controller)
    try:
        for replica in (each for each in cluster.ids if each in replicas):
            cluster = _move_replica(cluster, controller, replica, to, batch, protocol)
    except ControllerMoved:  # StopReplica is in the batch before the ISR is written
        raise ControllerMoved(batch_left=protocol.deposed_batch_stays) from None
    return batch.sent(cluster, protocol)


def replica_edge(before: ReplicaState, after: ReplicaState, protocol: ControllerProtocol) -> Edge | Illegal:
    """The edge between two states of a replica, or that there is none, under a protocol."""
    edges = replica_states.EDGES if protocol.offline_to_ineligible_allowed else replica_states.EDGES_BEFORE_2_3
    return replica_states.change(before, after, edges)


def _move_replica(
    cluster: Cluster, controller: int, replica: int, to: ReplicaState, batch: Batch, protocol: ControllerProtocol
) -> Cluster:
    context = cluster.controllers[controller]
    edge = replica_edge(context.replicas[replica], to, protocol)
    if isinstance(edge, Illegal):
        return cluster.with_illegal("replica", edge)
    leader = None if context.leadership is None else context.leadership.leader
    if to is ReplicaState.NEW and not replica_states.can_become_new(replica, leader):
        return cluster
    if to is ReplicaState.OFFLINE:
        if context.leadership is None:
            if not protocol.offline_without_leadership:
                batch.add_stop_replica(cluster, replica, delete=False)
                return cluster
        elif replaceable_leadership(cluster, controller) is None:
            batch.add_stop_replica(cluster, replica, delete=False)
            return cluster
    for effect in edge.effects:
        cluster = _replica_effect(cluster, controller, replica, effect, batch, protocol)
    states = replaced(cluster.controllers[controller].replicas, replica, to)
    return cluster.with_context(controller, replicas=states)


def _replica_effect(
    cluster: Cluster, controller: int, replica: int, effect: Effect, batch: Batch, protocol: ControllerProtocol
) -> Cluster:
    context = cluster.controllers[controller]
    if not _happens(effect.when, cluster, controller):
        return cluster
    match effect.does:
        case Does.LEADER_AND_ISR:
            receivers = (
                [replica] if effect.to is To.REPLICA else [other for other in context.assignment if other != replica]
            )
            batch.add_leader_and_isr(cluster, receivers, cast("Leadership", context.leadership))
        case Does.UPDATE_METADATA:
            batch.add_update_metadata(cluster)
        case Does.STOP_REPLICA | Does.STOP_REPLICA_AND_DELETE:
            batch.add_stop_replica(cluster, replica, delete=effect.does is Does.STOP_REPLICA_AND_DELETE)
        case Does.LEAVE_ISR_AND_WRITE if (current := cluster.zk.leadership) is not None:
            return _leave_isr(cluster, controller, replica, current, protocol)
        case Does.ADD_TO_ASSIGNMENT:
            if replica not in context.assignment:
                return cluster.with_context(controller, assignment=context.assignment + (replica,))
        case Does.REMOVE_FROM_ASSIGNMENT:
            left = tuple(other for other in context.assignment if other != replica)
            return cluster.with_context(controller, assignment=left)
    return cluster


def _happens(when: When, cluster: Cluster, controller: int) -> bool:
    """Whether an effect's condition is met. `IN_ISR` is checked later, when the ISR is read."""
    context = cluster.controllers[controller]
    match when:
        case When.ALWAYS:
            return True
        case When.LEADERSHIP_UNKNOWN:
            return context.leadership is None
        case When.KNOWN_AND_NOT_DELETING:
            return context.leadership is not None and not context.deleting
    return context.leadership is not None


def _leave_isr(
    cluster: Cluster, controller: int, replica: int, current: Leadership, protocol: ControllerProtocol
) -> Cluster:
    """Write the ISR without a replica, if it is a member. The context notes what ZooKeeper holds in any case."""
    stays = protocol.last_isr_member is LastIsrMember.STAYS or (
        protocol.last_isr_member is LastIsrMember.LEAVES_IF_UNCLEAN and not protocol.unclean_election
    )
    left = replica_states.leave_isr(replica, current.leader, current.isr, last_stays=stays)
    if left is None:
        return cluster.with_context(controller, leadership=current)
    following = next_leadership(current, left.leader, left.isr, cluster.controllers[controller].epoch)
    return write_leadership(cluster, controller, following, protocol)


# Partitions


def move_partition(
    cluster: Cluster,
    controller: int,
    to: PartitionState,
    protocol: ControllerProtocol,
    strategy: Strategy = Strategy.OFFLINE,
) -> Cluster:
    """Move the partition to a state; to `ONLINE`, by an election. Illegal changes are noted and skipped.

    Source: kafka.controller.ZkPartitionStateMachine#handleStateChanges (3.5).
    """
    context = cluster.controllers[controller]
    edge = partition_states.change(context.partition, to)
    if isinstance(edge, Illegal):
        return cluster.with_illegal("partition", edge)
    batch = Batch(controller)
    for effect in edge.effects:
        match effect.does:
            case Does.WRITE_FIRST_LEADERSHIP | Does.ELECT_AND_WRITE:
                elected = (
                    _first_election(cluster, controller)
                    if effect.does is Does.WRITE_FIRST_LEADERSHIP
                    else _election(cluster, controller, strategy, protocol)
                )
                if elected is None:
                    return cluster
                cluster = _write_elected(cluster, controller, elected, protocol)
            case Does.LEADER_AND_ISR:
                first = edge.before is PartitionState.NEW
                receivers = _receivers(cluster, controller, None if first else strategy, protocol)
                leadership = cast("Leadership", cluster.controllers[controller].leadership)
                batch.add_leader_and_isr(cluster, receivers, leadership)
            case Does.UPDATE_METADATA:
                batch.add_update_metadata(cluster)
    return batch.sent(cluster.with_context(controller, partition=to), protocol)


def _first_election(cluster: Cluster, controller: int) -> Elected | None:
    """The first leadership; None if ZooKeeper has one already."""
    context = cluster.controllers[controller]
    return None if cluster.zk.leadership is not None else first_leadership(context.assignment, context.online())


def _election(cluster: Cluster, controller: int, strategy: Strategy, protocol: ControllerProtocol) -> Elected | None:
    """The result of an election over what ZooKeeper holds; None if a later controller wrote that.

    Source: kafka.controller.ZkPartitionStateMachine#doElectLeaderForPartitions (3.5).
    """
    current = replaceable_leadership(cluster, controller)
    if current is None:
        return None
    context, isr = cluster.controllers[controller], current.isr
    match strategy:
        case Strategy.OFFLINE:
            return elect_offline(context.assignment, isr, context.online(), unclean=protocol.unclean_election)
        case Strategy.REASSIGNMENT:
            target = context.assignment if context.reassignment is None else context.reassignment.target
            return elect_for_reassignment(target, isr, context.online())
        case Strategy.PREFERRED:
            if not protocol.election_type_checked:
                return elect_offline(context.assignment, isr, context.online(), unclean=True)
            return elect_preferred(context.assignment, isr, context.online())
    live = frozenset(broker for broker in cluster.ids if context.live[broker] is not None)
    return elect_for_shutdown(context.assignment, isr, live, context.shutting_down)


def _write_elected(cluster: Cluster, controller: int, elected: Elected, protocol: ControllerProtocol) -> Cluster:
    before, epoch = cluster.zk.leadership, cluster.controllers[controller].epoch
    if before is None:
        leadership = Leadership(elected.leader, elected.isr, 0, 0, epoch)
    else:
        leadership = next_leadership(before, elected.leader, elected.isr, epoch)
        if elected.leader not in before.isr:
            cluster = cluster.with_mishap(Mishap.UNCLEAN_ELECTION)
    return write_leadership(cluster, controller, leadership, protocol)


def _receivers(
    cluster: Cluster, controller: int, strategy: Strategy | None, protocol: ControllerProtocol
) -> Sequence[int]:
    """The replicas that get an election's LeaderAndIsr; those on dead brokers are left out when it is sent. Without a
    strategy it is the first election.

    A broker that shuts down gets it if a reassignment, a client or (except from 1.1 to 2.0) its own shutdown is the
    reason for the election.

    Source: kafka.controller.Election#leaderForOffline, #leaderForControlledShutdown (2.3 to 3.9),
        kafka.controller.PartitionStateMachine#leaderForControlledShutdown (1.1 to 2.2); until 1.0 the leader selectors.
    """
    context = cluster.controllers[controller]
    if strategy is Strategy.REASSIGNMENT and context.reassignment is not None:
        return context.reassignment.target
    everybody = strategy in (Strategy.REASSIGNMENT, Strategy.PREFERRED)
    if everybody or (strategy is Strategy.CONTROLLED_SHUTDOWN and protocol.leaving_leader_told):
        return context.assignment
    return [replica for replica in context.assignment if context.is_online(replica)]


def trigger_online(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """Elect a leader if the partition is new or offline and not being deleted.

    Source: kafka.controller.PartitionStateMachine#triggerOnlinePartitionStateChange (3.5).
    """
    context = cluster.controllers[controller]
    if context.deleting or context.partition not in (PartitionState.NEW, PartitionState.OFFLINE):
        return cluster
    return move_partition(cluster, controller, PartitionState.ONLINE, protocol)


def bump_leader_epoch(cluster: Cluster, controller: int) -> Leadership | None:
    """The leadership that ZooKeeper holds, in the next leader epoch; None if that cannot be written.

    Source: kafka.controller.KafkaController#updateLeaderEpoch (3.5).
    """
    current = replaceable_leadership(cluster, controller)
    if current is None:
        return None
    return next_leadership(current, current.leader, current.isr, cluster.controllers[controller].epoch)
