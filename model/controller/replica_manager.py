"""Brokers handle a controller's requests: kafka.server.ReplicaManager, kafka.server.KafkaApis (3.5)."""

from __future__ import annotations

from collections.abc import Iterable

from highwater.model.controller.bounds import controllers
from highwater.model.controller.brokers import DURING_DELETION, Broker, Kind, Metadata, Request, Role, without_role
from highwater.model.controller.context import Answer
from highwater.model.controller.protocol import ControllerProtocol, StopReplicaEpoch
from highwater.model.controller.state import Cluster, Mishap
from highwater.model.language.declarations import action
from highwater.model.language.domain import BOOLEAN
from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH, brokers


@action(actor="broker", controller=controllers, broker=brokers)
def receive(cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A broker handles the next request of a controller.

    Actor: the broker.
    Enabled: it runs, and a request is in flight to it. A controller sends requests to a broker until it learns that the
        broker is down.
    Effect: the broker obeys or refuses the request. It responds to StopReplica with delete while its topic is deleted.
    Source: kafka.server.KafkaApis#handleLeaderAndIsrRequest, #handleStopReplicaRequest, #handleUpdateMetadataRequest,
        #isBrokerEpochStale (3.5); kafka.server.ReplicaManager (3.5).
    """
    queue = cluster.queues[controller][broker]
    if not queue or not cluster.brokers[broker].running:
        return None
    return obeyed(cluster.with_queue(controller, broker, queue[1:]), controller, broker, queue[0], protocol)


def obeyed(cluster: Cluster, controller: int, broker: int, request: Request, protocol: ControllerProtocol) -> Cluster:
    """The cluster after a broker has obeyed or refused a request."""
    before = cluster.brokers[broker]
    if request.broker_epoch != before.epoch and protocol.broker_checks_broker_epoch:
        return _answered(cluster, controller, broker, request, Answer.FAILED)
    if request.controller_epoch < before.controller_epoch and protocol.broker_checks_controller_epoch:
        return _answered(cluster, controller, broker, request, Answer.FAILED)
    is_stale = request.broker_epoch != before.epoch or request.controller_epoch < before.controller_epoch
    after = evolve(before, controller_epoch=max(before.controller_epoch, request.controller_epoch))
    match request.kind:
        case Kind.LEADER_AND_ISR:
            done = _took_role(after, broker, request, protocol, committed=cluster.history.committed)
            is_stale |= request.leader_epoch < before.leader_epoch
        case Kind.STOP_REPLICA:
            done = _stopped(after, request, protocol)
            is_stale |= NO_EPOCH < request.leader_epoch < before.leader_epoch
            if done is not None:
                cluster = _answered(cluster, controller, broker, request, Answer.DELETED)
        case _:
            done = _updated(after, request, cluster.ids, protocol)
    cluster = cluster.with_broker(broker, after if done is None else done)
    return cluster.with_mishap(Mishap.STALE_REQUEST) if done is not None and is_stale else cluster


def _updated(broker: Broker, request: Request, everybody: Iterable[int], protocol: ControllerProtocol) -> Broker:
    """The broker with the metadata of a request, which replace its list of live brokers.

    Source: kafka.server.MetadataCache#updateCache (0.8.2 to 2.0).
    """
    served = (
        None if request.leader_epoch == DURING_DELETION else Metadata(request.leader, request.leader_epoch, request.isr)
    )
    if request.leader_epoch != NO_EPOCH:
        broker = evolve(broker, metadata=served)
    if not protocol.live_brokers:
        return broker
    return evolve(broker, dead=frozenset(each for each in everybody if each not in request.replicas))


def _answered(cluster: Cluster, controller: int, broker: int, request: Request, answer: Answer) -> Cluster:
    """The broker's response to StopReplica with delete. It counts if it arrives while the controller deletes the topic,
    even if the controller sent the request for another reason.

    Source: kafka.controller.AbstractControllerBrokerRequestBatch#sendStopReplicaRequests (2.6 to 3.9), whose callback
        checks isTopicDeletionInProgress when the response arrives.
    """
    if request.kind is not Kind.STOP_REPLICA or not request.delete:
        return cluster
    context = cluster.controllers[controller]
    if not context.active or context.epoch != request.controller_epoch or not context.deletion_begun:
        return cluster
    return cluster.with_context(controller, answers=replaced(context.answers, broker, answer))


def _took_role(
    broker: Broker, me: int, request: Request, protocol: ControllerProtocol, *, committed: bool
) -> Broker | None:
    """The broker as leader or follower, or None if it refuses.

    If the request names no leader, the broker only creates a log: a broker that leads goes on in its old leader epoch.
    A broker that shuts down starts no fetcher. Coordinators move with leadership: a new leader loads the state of
    groups or transactions, a new follower unloads it. A leader that leads on in a newer epoch does not tell its
    coordinator.

    A broker that does not take the leader for alive makes the replica and does not follow: it keeps its role and its
    leader epoch.

    Abstracts: since 3.3 the check of the partition epoch, which within a topic is never older if the leader epoch is
        newer.
    Source: kafka.server.ReplicaManager#becomeLeaderOrFollower, #makeFollowers (0.8.2 to 3.9),
        kafka.cluster.Partition#makeLeader, #makeFollower (0.8.2 to 3.9),
        kafka.server.RequestHandlerHelper#onLeadershipChange (3.5).
    """
    if protocol.leader_and_isr_needs_newer_epoch and request.leader_epoch <= broker.leader_epoch:
        return None
    if me not in request.replicas:
        return None
    is_stray = broker.log is not None and broker.log != request.topic_id
    if is_stray and protocol.topic_ids and not protocol.stray_replaced:
        return None
    if broker.log is None or (is_stray and protocol.topic_ids):
        broker = evolve(broker, log=request.topic_id, complete=not committed)
    if request.leader != me and not _follows(broker, me, request, protocol):
        return broker
    broker = evolve(broker, leader=request.leader, leader_epoch=request.leader_epoch, topic_id=request.topic_id)
    broker = evolve(broker, change=None)
    if request.leader == me:
        if broker.role is not Role.LEADER:
            broker = _coordinating(broker, request.leader_epoch, protocol, leads=True)
        replicas = request.replicas if protocol.leader_forgets_removed else request.replicas | broker.replicas
        return evolve(
            broker, role=Role.LEADER, isr=request.isr, replicas=replicas, partition_epoch=request.partition_epoch
        )
    if broker.role is Role.LEADER and broker.leaving and not protocol.demote_during_shutdown:
        return broker
    role = Role.STOPPED if broker.leaving and not protocol.leaving_broker_fetches else Role.FOLLOWER
    broker = evolve(broker, role=role, isr=frozenset(), replicas=frozenset(), partition_epoch=0)
    return _coordinating(broker, request.leader_epoch, protocol, leads=False)


def _coordinating(broker: Broker, epoch: int, protocol: ControllerProtocol, *, leads: bool) -> Broker:
    """The broker after its coordinator has heard that it leads, or leads no longer, in a leader epoch; -1 once the
    topic is deleted.

    The coordinator of groups ignores what is older than the newest epoch of which it has heard. It remembers that of a
    topic that was deleted, too, and so loads nothing of one that is made again, until leadership has changed as often.
    The coordinator of transactions ignores nothing in any release: its claims set `coordinator_checks_epoch` to false.
    Source: kafka.coordinator.group.GroupMetadataManager#loadGroupsAndOffsets, #removeGroupsAndOffsets,
        #maybeUpdateCoordinatorEpoch (2.8.1 to 3.9);
        kafka.coordinator.transaction.TransactionStateManager#removeTransactionsForTxnTopicPartition (2.8.0 to 3.9).
    """
    if not protocol.coordinator_checks_epoch:
        return evolve(broker, coordinates=leads)
    known = 0 if protocol.coordinator_forgets_epoch and epoch == NO_EPOCH else broker.coordinator_epoch
    if NO_EPOCH < epoch < known:
        return broker
    return evolve(broker, coordinates=leads, coordinator_epoch=max(known, epoch))


def _stopped(broker: Broker, request: Request, protocol: ControllerProtocol) -> Broker | None:
    """The broker without its replica, or with one that no longer fetches, or None if it refuses.

    A leader that gets StopReplica without delete stays leader: the request stops only fetchers. A broker that deletes
    its replica gets no more LeaderAndIsr, so that StopReplica has to end its role as coordinator.
    Source: kafka.server.ReplicaManager#stopReplicas, #stopPartitions (3.5), #stopReplica (0.10.2);
        kafka.server.KafkaApis#handleStopReplicaRequest (3.5).
    """
    epoch, known = request.leader_epoch, broker.leader_epoch
    if epoch > NO_EPOCH:  # a broker without a role knows no leader epoch, and so refuses none
        refused = {
            StopReplicaEpoch.ANY: False,
            StopReplicaEpoch.NEWER: epoch <= known,
            StopReplicaEpoch.NEWER_OR_EQUAL: epoch < known,
        }
        if refused[protocol.stop_replica_epoch]:
            return None
    if request.delete:
        gone = evolve(without_role(broker), log=None, complete=False, coordinates=broker.coordinates)
        if not protocol.stop_replica_ends_coordination:
            return gone
        return _coordinating(gone, max(NO_EPOCH, epoch), protocol, leads=False)
    return evolve(broker, role=Role.STOPPED) if broker.role is Role.FOLLOWER else broker


@action(
    actor="broker",
    needs=lambda bounds: bounds.failed_role_changes,
    controller=controllers,
    broker=brokers,
    ours_first=BOOLEAN,
)
def fail_to_take_role(
    cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol, *, ours_first: bool
) -> Cluster | None:
    """A broker's session with ZooKeeper ends while it opens the log of a partition that it is to lead or to follow.

    Actor: the broker.
    Enabled: it runs, and its next request is a LeaderAndIsr of a newer leader epoch; the budget allows it. Since
        KAFKA-9769 it has no log of our partition, and cannot make one.
    Effect: the broker is no longer registered. Since KAFKA-9769 it stays without a role; but from 3.6 on one that was
        to follow has noted leader and leader epoch. Until KAFKA-9769 it may be another partition's log, and the request
        ends there. If ours came first, the broker leads it, or has noted the leader epoch and does not follow; else
        role and epoch stay, but a follower that was to lead fetches no more. The coordinator hears of nothing.
    Abstracts: the other partition, of which the model `topic` has more; that until 2.1 a follower goes on to fetch
        from its former leader.
    Source: kafka.cluster.Partition#makeLeader, #makeFollower (2.6, 2.7, 3.6), kafka.server.ReplicaManager#makeLeaders,
        #makeFollowers (2.6).
    """
    queue = cluster.queues[controller][broker]
    before = cluster.brokers[broker]
    if not cluster.is_registered(broker) or not queue or queue[0].kind is not Kind.LEADER_AND_ISR:
        return None
    request = queue[0]
    if (
        request.broker_epoch != before.epoch
        or request.controller_epoch < before.controller_epoch
        or request.leader_epoch <= before.leader_epoch
        or broker not in request.replicas
    ):
        return None
    before = evolve(before, controller_epoch=request.controller_epoch)
    if not protocol.epoch_stored_after_role_change:
        after = _half_way(before, broker, request, protocol, ours_first=ours_first, committed=cluster.history.committed)
    elif ours_first or before.log is not None:
        return None
    else:
        after = _without_log(before, broker, request, protocol)
    if after is None:
        return None
    cluster = cluster.with_queue(controller, broker, queue[1:]).spending("failed_role_changes")
    cluster = cluster.with_zk(registrations=replaced(cluster.zk.registrations, broker, None))
    return cluster.with_broker(broker, after)


def _without_log(before: Broker, me: int, request: Request, protocol: ControllerProtocol) -> Broker:
    """The broker that has no role, and could not make the log for one."""
    if not protocol.follower_notes_epoch_first or not _follows(before, me, request, protocol):
        return before
    noted = evolve(before, leader=request.leader, leader_epoch=request.leader_epoch, topic_id=request.topic_id)
    return evolve(noted, role=Role.STOPPED)


def _follows(broker: Broker, me: int, request: Request, protocol: ControllerProtocol) -> bool:
    """Whether the broker is to follow somebody whom it takes for alive."""
    if request.leader is None or request.leader == me:
        return False
    return not protocol.leader_alive_by_metadata or request.leader not in broker.dead


def _half_way(
    before: Broker, me: int, request: Request, protocol: ControllerProtocol, *, ours_first: bool, committed: bool
) -> Broker | None:
    """The broker after a request that has ended at another partition, or None if it refuses ours."""
    if not ours_first:
        stops = request.leader == me and before.role is Role.FOLLOWER
        return evolve(before, role=Role.STOPPED) if stops else before
    done = _took_role(before, me, request, protocol, committed=committed)
    if done is None:
        return None
    done = evolve(done, coordinates=before.coordinates, coordinator_epoch=before.coordinator_epoch)
    is_new = done.leader_epoch > before.leader_epoch
    return evolve(done, role=Role.STOPPED) if is_new and done.role is Role.FOLLOWER else done


@action(actor="broker", needs=lambda bounds: bounds.late_resignations, controller=controllers, broker=brokers)
def delete_replica_and_resign_late(
    cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol
) -> Cluster | None:
    """A coordinator deletes its replica, and its resignation is delayed.

    Actor: the broker.
    Enabled: it runs and is coordinator; its next request is a StopReplica with delete that it obeys; the budget allows
        it.
    Effect: the replica is gone, and the broker stays coordinator until it resigns.
    Source: kafka.server.KafkaApis#handleStopReplicaRequest (2.8), which resigns outside of the lock that orders changes
        of leadership.
    """
    queue, before = cluster.queues[controller][broker], cluster.brokers[broker]
    if not queue or not before.coordinates or not before.running or not queue[0].delete:
        return None
    after = obeyed(cluster.with_queue(controller, broker, queue[1:]), controller, broker, queue[0], protocol)
    if after.brokers[broker].log is not None:
        return None
    late = evolve(
        after.brokers[broker],
        coordinates=True,
        coordinator_epoch=before.coordinator_epoch,
        resigning=max(NO_EPOCH, queue[0].leader_epoch),
    )
    return after.with_broker(broker, late).spending("late_resignations")


@action(actor="broker", needs=lambda bounds: bounds.late_resignations, broker=brokers)
def resign_as_coordinator(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A coordinator carries out its delayed resignation.

    Actor: the broker.
    Enabled: it has a delayed resignation.
    Effect: it is no longer coordinator, unless it has heard of a newer leader epoch since.
    Source: kafka.coordinator.group.GroupMetadataManager#removeGroupsAndOffsets, #maybeUpdateCoordinatorEpoch (3.0).
    """
    ours = cluster.brokers[broker]
    if ours.resigning is None:
        return None
    resigned = _coordinating(evolve(ours, resigning=None), ours.resigning, protocol, leads=False)
    return cluster.with_broker(broker, resigned)


@action(actor="network", needs=lambda bounds: bounds.reorderings, controller=controllers, broker=brokers)
def overtake(cluster: Cluster, controller: int, broker: int) -> Cluster | None:
    """A request overtakes the one before it: the connection broke, and the first one was sent again.

    Actor: the network.
    Enabled: two requests of one controller are in flight to one broker; the budget allows it.
    """
    queue = cluster.queues[controller][broker]
    if len(queue) < 2:
        return None
    return cluster.with_queue(controller, broker, queue[1:2] + queue[:1] + queue[2:]).spending("reorderings")
