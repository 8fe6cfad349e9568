"""Controllers are elected, fail over, resign, crash and are deposed: kafka.controller.KafkaController (3.5)."""

from __future__ import annotations

from highwater.model.controller import replica_states
from highwater.model.controller.bounds import ControllerBounds, controllers
from highwater.model.controller.context import Step
from highwater.model.controller.deletion import complete_deletion, resume_deletion
from highwater.model.controller.events import forgotten, handled, resigned
from highwater.model.controller.partition_states import at_startup as partition_at_startup
from highwater.model.controller.protocol import ControllerProtocol, DeadReplicaAtStartup
from highwater.model.controller.reassignment import (
    begin,
    has_begun,
    is_refused,
    ordered,
    take_step,
    with_deletion_resumed,
)
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.requests import metadata_sent
from highwater.model.controller.state import Cluster
from highwater.model.controller.state_machines import move_replicas, trigger_online
from highwater.model.controller.zookeeper import Reassignment
from highwater.model.language.declarations import action
from highwater.model.language.records import replaced

DELETION_STEPS = (Step.DELETE_LEADERSHIP, Step.DELETE_TOPIC, Step.DELETE_REQUEST)


@action(actor="controller", controller=controllers)
def elect_controller(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller is elected and takes over.

    Actor: the controller.
    Enabled: nobody owns /controller, and it is not active.
    Effect: it owns the node in the next controller epoch, reads ZooKeeper, starts both state machines, elects leaders
        for partitions without one, and resumes reassignment and deletion. It may resign at once.
    Abstracts: the time that reading takes.
    Source: kafka.controller.KafkaController#elect, #onControllerFailover (3.5).
    """
    if cluster.zk.controller is not None or cluster.controllers[controller].active:
        return None
    return taken_over(_registered(cluster, controller), controller, protocol)


@action(actor="controller", needs=lambda bounds: bounds.lost_answers, controller=controllers)
def elect_controller_unnoticed(cluster: Cluster, controller: int) -> Cluster | None:
    """ZooKeeper creates a controller's node, but the response is lost.

    Actor: the controller.
    Enabled: nobody owns /controller, and it is not active; the budget allows it.
    Effect: the controller owns the node in the next controller epoch, and does not know it.
    Abstracts: an attempt that ends in another error before it is repeated. The next attempt then finds the broker's own
        id in /controller and returns at once (KAFKA-13407), in all releases from 0.8.2 on, so that nobody is active
        until the session ends.
    Source: kafka.zk.KafkaZkClient#registerControllerAndIncrementControllerEpoch (2.1 to 3.9),
        kafka.controller.KafkaController#elect (1.0 to 3.9).
    """
    if cluster.zk.controller is not None or cluster.controllers[controller].active:
        return None
    return _registered(cluster, controller).spending("lost_answers")


@action(actor="controller", controller=controllers)
def find_itself_elected(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller retries within the same attempt, finds its own node and takes over.

    Actor: the controller.
    Enabled: it owns /controller, and is not active.
    Effect: as `elect_controller`. Until 0.8.2 it waits for ZooKeeper to remove the node, which lives as long as the
        session.
    Source: kafka.zk.KafkaZkClient#registerControllerAndIncrementControllerEpoch (2.1 to 3.9), whose
        checkControllerAndEpoch compares the epoch; kafka.zk.KafkaZkClient#checkedEphemeralCreate (1.1, 2.0) and
        ZKCheckedEphemeral (0.9 to 1.0), which compare the session;
        kafka.utils.ZkUtils#createEphemeralPathExpectConflictHandleZKBug (0.8.0 to 0.8.2).
    """
    if cluster.zk.controller != controller or cluster.controllers[controller].active:
        return None
    return taken_over(cluster, controller, protocol) if protocol.found_self_elected_runs_failover else None


def _registered(cluster: Cluster, controller: int) -> Cluster:
    return cluster.with_zk(controller=controller, controller_epoch=cluster.zk.controller_epoch + 1)


def taken_over(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """Fail-over: read ZooKeeper, start the state machines, and resume reassignment and deletion."""
    zk = cluster.zk
    cluster = cluster.with_context(
        controller, active=True, epoch=zk.controller_epoch, live=zk.registrations,
        topic_id=zk.topic_id if zk.assignment else 0, assignment=zk.assignment, leadership=zk.leadership,
        reassignment=zk.reassignment, notification_queued=False,
    )  # fmt: skip
    context = cluster.controllers[controller]
    assignment = context.assignment
    dead = [replica for replica in assignment if not context.is_online(replica)]
    if zk.deletion:
        cluster = _deletion_found(cluster, controller, dead, protocol)
    cluster = metadata_sent(cluster, controller, protocol)
    if assignment:
        cluster = _machines_started(cluster, controller, dead, protocol)
    context = cluster.controllers[controller]
    known = context.reassignment
    if known is not None and context.leadership is None and not is_refused(context, known, protocol):
        return _never_led(cluster, controller, known, protocol)
    if known is not None:
        return begin(cluster, controller, known, protocol)
    return resume_deletion(cluster, controller, protocol) if protocol.resume_deletion_on_failover else cluster


def _deletion_found(cluster: Cluster, controller: int, dead: list[int], protocol: ControllerProtocol) -> Cluster:
    """A new controller queues the topic for deletion, and drops its reassignment.

    Source: kafka.controller.KafkaController#fetchTopicDeletionsInProgress, #initializePartitionReassignments (3.5).
    """
    known = cluster.zk.reassignment
    if protocol.reassignment_overridable and not has_begun(cluster.zk):
        known = None
    cluster = cluster.with_context(controller, deleting=True, deletion_halted=bool(dead) or known is not None)
    if not protocol.failover_drops_reassignment or (protocol.reassignment_overridable and known is not None):
        return cluster
    return cluster.with_zk(reassignment=None).with_context(controller, reassignment=None)


def _never_led(cluster: Cluster, controller: int, reassignment: Reassignment, protocol: ControllerProtocol) -> Cluster:
    """A new controller cannot reassign a partition that was never led. It has written the wider assignment. Since
    KIP-455 it resigns over that, and deletes /controller; before, it drops the request.

    Source: kafka.controller.KafkaController#updateLeaderEpoch, #maybeResumeReassignments, #elect (2.4 to 3.9),
        #maybeTriggerPartitionReassignment (2.3).
    """
    wider = ordered(reassignment.target, cluster.controllers[controller].assignment)
    cluster = cluster.with_zk(assignment=wider)
    if protocol.reassignment_overridable:
        return resigned(cluster, controller, protocol).with_zk(controller=None)
    cluster = cluster.with_zk(reassignment=None).with_context(controller, assignment=wider, reassignment=None)
    return resume_deletion(cluster, controller, protocol) if protocol.resume_deletion_on_failover else cluster


def _machines_started(cluster: Cluster, controller: int, dead: list[int], protocol: ControllerProtocol) -> Cluster:
    """Source: kafka.controller.ReplicaStateMachine#startup, PartitionStateMachine#startup (3.5); until 2.3 the dead
    stay ineligible.
    """
    context = cluster.controllers[controller]
    states = context.replicas
    for replica in context.assignment:
        states = replaced(states, replica, replica_states.at_startup(is_live=replica not in dead))
    cluster = cluster.with_context(controller, replicas=states)
    if cluster.zk.partition_added:
        cluster = cluster.with_context(controller, added=states[context.assignment[0]])
    live = [replica for replica in context.assignment if replica not in dead]
    cluster = move_replicas(cluster, controller, live, ReplicaState.ONLINE, protocol)
    if protocol.dead_replica_at_startup is DeadReplicaAtStartup.OFFLINE:
        cluster = move_replicas(cluster, controller, dead, ReplicaState.OFFLINE, protocol)
    context = cluster.controllers[controller]
    leader = None if context.leadership is None else context.leadership.leader
    state = partition_at_startup(
        has_leadership=context.leadership is not None, leader_is_live=leader is not None and context.is_online(leader)
    )
    cluster = cluster.with_context(controller, partition=state)
    return trigger_online(cluster, controller, protocol)


@action(actor="controller", controller=controllers)
def resign(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns that it was deposed, and resigns.

    Actor: the controller.
    Enabled: it is active, and does not own /controller in its epoch.
    Effect: it clears its context and drops the requests that it has not sent.
    Source: kafka.controller.KafkaController#maybeResign, #onControllerResignation (3.5).
    """
    context = cluster.controllers[controller]
    if not context.active or (cluster.zk.controller == controller and context.epoch == cluster.zk.controller_epoch):
        return None
    return resigned(cluster, controller, protocol)


@action(actor="controller", needs=lambda bounds: bounds.depositions, controller=controllers)
def learn_successors_epoch(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A deposed controller adopts its successor's epoch from a listener: a bug.

    Actor: the controller.
    Enabled: `zombie_learns_epoch`; it is active with an epoch below the current one.
    Effect: it is active with the current epoch.
    Source: KAFKA-1096; kafka.controller.KafkaController#ControllerEpochListener (0.8.1).
    """
    context = cluster.controllers[controller]
    if not protocol.zombie_learns_epoch or not context.active or context.epoch == cluster.zk.controller_epoch:
        return None
    return cluster.with_context(controller, epoch=cluster.zk.controller_epoch)


@action(actor="controller", needs=lambda bounds: bounds.controller_crashes, controller=controllers)
def crash_controller(cluster: Cluster, controller: int) -> Cluster | None:
    """A controller crashes, between any two of its steps.

    Actor: the controller.
    Enabled: it is active or owns /controller; the budget allows it.
    Effect: its context and the requests that it has not sent are lost. If it owned /controller, the node is gone.
    """
    context = cluster.controllers[controller]
    owns = cluster.zk.controller == controller
    if not context.active and not owns:
        return None
    cluster = forgotten(cluster, controller).spending("controller_crashes")
    return cluster.with_zk(controller=None) if owns else cluster


@action(actor="controller", needs=lambda bounds: bounds.depositions, controller=controllers)
def depose_controller(cluster: Cluster, controller: int) -> Cluster | None:
    """A controller's node is deleted, and the controller does not know it yet.

    Actor: an operator who deletes /controller to force an election, or ZooKeeper when the session ends.
    Enabled: it owns /controller and is active; the budget allows it.
    Effect: the node is gone.
    Abstracts: the order of its event queue. The controller may handle any other event before it learns of this, and
        reads what ZooKeeper holds then. In Kafka it cannot read any more after its session has ended.
    """
    if cluster.zk.controller != controller or not cluster.controllers[controller].active:
        return None
    return cluster.with_zk(controller=None).spending("depositions")


@action(actor="controller", controller=controllers)
def take_next_step(
    cluster: Cluster, controller: int, protocol: ControllerProtocol, bounds: ControllerBounds
) -> Cluster | None:
    """A controller takes the next step of a reassignment or of the end of a deletion.

    Actor: the controller.
    Enabled: it is in the middle of one of these.
    Effect: see `highwater.model.controller.reassignment` and `highwater.model.controller.deletion`.
    """
    step, reassignment = cluster.controllers[controller].step, cluster.controllers[controller].reassignment
    if step in DELETION_STEPS:
        return handled(
            cluster, controller, protocol, lambda before: complete_deletion(before, controller, step, protocol)
        )
    if step is None or reassignment is None:
        return None
    return handled(
        cluster,
        controller,
        protocol,
        lambda before: with_deletion_resumed(
            take_step(before, controller, step, reassignment, bounds.min_isr, protocol), controller, protocol
        ),
    )
