"""Brokers start, fail, bounce or shut down, and a controller reacts: kafka.controller.KafkaController (3.5)."""

from __future__ import annotations

from highwater.model.controller.bounds import ControllerBounds, asks_again, controllers
from highwater.model.controller.context import Answer
from highwater.model.controller.deletion import fail_deletion, resume_deletion
from highwater.model.controller.elections import Strategy, elect_offline
from highwater.model.controller.events import handled, is_free
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.reassignment import go_on
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.requests import Batch, metadata_sent
from highwater.model.controller.state import Cluster
from highwater.model.controller.state_machines import (
    ControllerMoved,
    move_partition,
    move_replicas,
    next_leadership,
    replaceable_leadership,
    trigger_online,
    write_leadership,
)
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.log import brokers


@action(actor="controller", controller=controllers)
def notice_brokers(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns which brokers have started, failed, or both.

    Actor: the controller.
    Enabled: it is free, and the registrations are not those that it knows.
    Effect: the channels to failed brokers are closed, and all messages in them are lost. Failed brokers lose leadership
        and leave the ISR. Started brokers get LeaderAndIsr for the replicas that they host.
    Source: kafka.controller.KafkaController#processBrokerChange, #onBrokerStartup, #onBrokerFailure (3.5);
        ReplicaStateMachine's BrokerChangeListener (0.10.2), which compares ids only.
    """
    context, registrations = cluster.controllers[controller], cluster.zk.registrations
    if not is_free(context):
        return None
    came, went, bounced = [], [], []
    for broker in cluster.ids:
        known, present = context.live[broker], registrations[broker]
        if known is None and present is not None:
            came.append(broker)
        elif known is not None and present is None:
            went.append(broker)
        elif known != present and protocol.controller_detects_bounce:
            bounced.append(broker)
    if not came and not went and not bounced:
        return None

    def handle(cluster: Cluster) -> Cluster:
        for broker in went + bounced:
            answers = replaced(cluster.controllers[controller].answers, broker, Answer.NONE)
            cluster = cluster.with_queue(controller, broker, ()).with_context(controller, answers=answers)
        cluster = _came(cluster, controller, came, protocol)
        if protocol.bounce_updates_partitions:
            cluster = _went(cluster, controller, bounced, protocol)
        cluster = _came(cluster, controller, bounced, protocol)
        return _went(cluster, controller, went, protocol)

    return handled(cluster, controller, protocol, handle)


def _came(cluster: Cluster, controller: int, came: list[int], protocol: ControllerProtocol) -> Cluster:
    """What a controller does about brokers that have started.

    Abstracts: that since 2.2.0 brokers that ran before get the live brokers without the partition.
    Source: kafka.controller.KafkaController#onBrokerStartup (0.8.2 to 3.5).
    """
    if not came:
        return cluster
    live = cluster.controllers[controller].live
    for broker in came:
        live = replaced(live, broker, cluster.zk.registrations[broker])
    cluster = cluster.with_context(controller, live=live)
    context = cluster.controllers[controller]
    to = cluster.ids if protocol.startup_sends_metadata_to_all else came
    cluster = metadata_sent(cluster, controller, protocol, to)
    hosted = [replica for replica in context.assignment if replica in came]
    cluster = move_replicas(cluster, controller, hosted, ReplicaState.ONLINE, protocol)
    cluster = trigger_online(cluster, controller, protocol)
    context = cluster.controllers[controller]
    reassignment = context.reassignment
    if reassignment is not None and any(replica in came for replica in reassignment.target):
        cluster = go_on(cluster, controller, reassignment, protocol)
        halted = context.deleting and protocol.deletion_waits_for_reassignment
        return cluster.with_context(controller, deletion_halted=halted)
    is_reassigning = reassignment is not None and context.step is not None
    if context.deleting and hosted and not is_reassigning:
        return resume_deletion(cluster.with_context(controller, deletion_halted=False), controller, protocol)
    return cluster


def _went(cluster: Cluster, controller: int, went: list[int], protocol: ControllerProtocol) -> Cluster:
    """What a controller does about brokers that have failed. If they host nothing, or the topic is being deleted,
    UpdateMetadata makes known who is left.

    Abstracts: that until 0.8.2 nothing is sent then, and that since 2.2.0 the partition is left out.
    Source: kafka.controller.KafkaController#onBrokerFailure (0.9 to 3.5), #onReplicasBecomeOffline (1.0 to 3.5).
    """
    if not went:
        return cluster
    context = cluster.controllers[controller]
    live = context.live
    for broker in went:
        live = replaced(live, broker, None)
    cluster = cluster.with_context(controller, live=live, shutting_down=context.shutting_down - frozenset(went))
    context = cluster.controllers[controller]
    hosted = [replica for replica in context.assignment if replica in went]
    if context.deleting:
        cluster = fail_deletion(cluster, controller, hosted, protocol) if hosted else cluster
        return metadata_sent(cluster, controller, protocol)
    if not protocol.one_expiry_at_a_time and len(hosted) > 1:
        return _fenced_from_one_snapshot(cluster, controller, hosted, protocol)
    leader = None if context.leadership is None else context.leadership.leader
    if context.leadership is not None and (leader is None or not context.is_online(leader)):
        cluster = move_partition(cluster, controller, PartitionState.OFFLINE, protocol)
    cluster = trigger_online(cluster, controller, protocol)
    cluster = move_replicas(cluster, controller, hosted, ReplicaState.OFFLINE, protocol)
    return cluster if hosted else metadata_sent(cluster, controller, protocol)


def _fenced_from_one_snapshot(
    cluster: Cluster, controller: int, went: list[int], protocol: ControllerProtocol
) -> Cluster:
    """The leadership after the controller has fenced several brokers, each from the ISR before all of them: a bug. Only
    the last change is kept.

    Source: KAFKA-13173; org.apache.kafka.controller.ReplicationControlManager#handleNodeDeactivated (2.8).
    """
    snapshot = leadership = replaceable_leadership(cluster, controller)
    if snapshot is None or leadership is None:
        return cluster
    for replica in went:
        isr = snapshot.isr - {replica} or snapshot.isr
        leader = snapshot.leader
        if leader == replica:
            others = frozenset(cluster.ids) - {replica}
            elected = elect_offline(cluster.controllers[controller].assignment, isr, others, unclean=False)
            leader = None if elected is None else elected.leader
        leadership = next_leadership(leadership, leader, isr, cluster.controllers[controller].epoch)
        cluster = write_leadership(cluster, controller, leadership, protocol)
    batch = Batch(controller)
    context = cluster.controllers[controller]
    batch.add_leader_and_isr(cluster, context.assignment, leadership)
    states = context.replicas
    for replica in went:
        states = replaced(states, replica, ReplicaState.OFFLINE)
    return batch.sent(cluster, protocol).with_context(controller, replicas=states)


@action(actor="controller", needs=lambda bounds: bounds.shutdowns, controller=controllers, broker=brokers)
def shut_down_broker(
    cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol, bounds: ControllerBounds
) -> Cluster | None:
    """A broker asks for a controlled shutdown. The controller moves leadership off it and removes it from the ISR.

    Actor: the controller, on the broker's request.
    Enabled: the controller is free and knows the broker; the broker is registered and has not asked before; the budget
        allows it.
    Effect: if the broker led, another leader is elected. If it followed, it gets StopReplica and leaves the ISR. If it
        still leads, or the controller was deposed and cannot write, the broker has attempts left.
    Abstracts: the second StopReplica that a follower gets.
    Source: kafka.controller.KafkaController#doControlledShutdown (3.5).
    """
    if not _can_answer(cluster, controller, broker) or cluster.brokers[broker].leaving:
        return None
    cluster = cluster.with_broker(broker, evolve(cluster.brokers[broker], leaving=True)).spending("shutdowns")
    return _answered(cluster, controller, broker, bounds.shutdown_attempts - 1, protocol)


@action(actor="controller", needs=asks_again, controller=controllers, broker=brokers)
def shut_down_broker_again(
    cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol
) -> Cluster | None:
    """A broker whose controlled shutdown was not granted asks for it again.

    Actor: the controller, on the broker's request.
    Enabled: the controller is free and knows the broker; the broker is registered and has attempts left.
    Effect: as `shut_down_broker`, with one attempt less.
    Abstracts: controlled.shutdown.retry.backoff.ms: the next attempt may come at any moment.
    Source: kafka.server.KafkaServer#controlledShutdown (0.8.2.0 to 3.9);
        kafka.controller.KafkaController#doControlledShutdown (3.5).
    """
    left = cluster.brokers[broker].attempts_left
    if not left or not _can_answer(cluster, controller, broker):
        return None
    return _answered(cluster, controller, broker, left - 1, protocol)


def _can_answer(cluster: Cluster, controller: int, broker: int) -> bool:
    """Whether a controller is free, and knows the broker by its present registration."""
    context = cluster.controllers[controller]
    if not is_free(context) or not cluster.is_registered(broker):
        return False
    return context.live[broker] == cluster.brokers[broker].epoch


def _answered(cluster: Cluster, controller: int, broker: int, left: int, protocol: ControllerProtocol) -> Cluster:
    """The cluster after a request for a controlled shutdown. Once it is granted, no attempt is left.

    A write that fails because the controller was deposed is the broker's answer. The controller does not resign over
    it, unlike over other events: it goes on until it learns of its successor.

    Source: kafka.controller.KafkaController#processControlledShutdown (2.3.0 to 3.9).
    """
    before = cluster.controllers[controller]
    cluster = cluster.with_context(controller, shutting_down=before.shutting_down | {broker})
    try:
        cluster = _handed_over(cluster, controller, broker, protocol)
    except ControllerMoved as moved:
        cluster = _follower_stopped(cluster, controller, broker, protocol)
        cluster = cluster.with_context(controller, batch_left=before.batch_left or moved.batch_left)
    else:
        left = 0 if _is_granted(cluster, controller, broker) else left
    return cluster.with_broker(broker, evolve(cluster.brokers[broker], attempts_left=left))


def _follower_stopped(cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol) -> Cluster:
    """The cluster after a follower got StopReplica, which is sent before the ISR is written.

    Source: kafka.controller.KafkaController#doControlledShutdown (3.5).
    """
    context, batch = cluster.controllers[controller], Batch(controller)
    if context.leadership is not None and context.leadership.leader != broker:
        batch.add_stop_replica(cluster, broker, delete=False)
    return batch.sent(cluster, protocol)


def _handed_over(cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol) -> Cluster:
    """Source: kafka.controller.KafkaController#doControlledShutdown (3.5)."""
    context = cluster.controllers[controller]
    if (
        broker not in context.assignment
        or len(context.assignment) < 2
        or context.leadership is None
        or context.deleting
    ):
        return cluster
    if context.leadership.leader == broker:
        return move_partition(cluster, controller, PartitionState.ONLINE, protocol, Strategy.CONTROLLED_SHUTDOWN)
    return move_replicas(cluster, controller, [broker], ReplicaState.OFFLINE, protocol)


def _is_granted(cluster: Cluster, controller: int, broker: int) -> bool:
    """Whether the answer names no partition that remains: one with other replicas that the broker still leads.

    Source: kafka.controller.ControllerContext#partitionLeadersOnBroker (2.7.0 to 3.9); 2.0's answer also names what is
        being deleted: kafka.controller.KafkaController#doControlledShutdown (2.0.0).
    """
    context = cluster.controllers[controller]
    if context.deleting or context.leadership is None or len(context.assignment) < 2:
        return True
    return context.leadership.leader != broker
