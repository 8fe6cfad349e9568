"""Brokers: how they obey requests, replicate, change the ISR, die and come back; and what they tell clients."""

from __future__ import annotations

from enum import Enum

from model.controller.protocol import ControllerProtocol, StopReplicaEpoch
from model.controller.state import (
    DURING_DELETION,
    Answer,
    Broker,
    Cluster,
    Kind,
    Metadata,
    Mishap,
    Request,
    Role,
    controllers,
    without_role,
)
from model.domain import action, evolve, replaced
from model.log import NO_EPOCH, brokers

# Requests


@action(actor="broker", controller=controllers, broker=brokers)
def receives(cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A broker handles the next request of a controller.

    Actor: the broker.
    Enabled: it runs, and there is one. A controller keeps sending to a broker that is down until it learns of that.
    Effect: the request is obeyed or refused; one to delete the replica of a topic that goes away is answered.
    Source: kafka.server.KafkaApis#handleLeaderAndIsrRequest, #handleStopReplicaRequest, #handleUpdateMetadataRequest, #isBrokerEpochStale
        (3.5); kafka.server.ReplicaManager (3.5).
    """
    queue = cluster.queues[controller][broker]
    if not queue or not cluster.brokers[broker].running:
        return None
    return obeyed(cluster.with_queue(controller, broker, queue[1:]), controller, broker, queue[0], protocol)


def obeyed(cluster: Cluster, controller: int, broker: int, request: Request, protocol: ControllerProtocol) -> Cluster:
    """What becomes of a request that has arrived."""
    before = cluster.brokers[broker]
    if request.broker_epoch != before.epoch and protocol.broker_checks_broker_epoch:
        return _answered(cluster, controller, broker, request, Answer.FAILED)
    if request.controller_epoch < before.controller_epoch and protocol.broker_checks_controller_epoch:
        return _answered(cluster, controller, broker, request, Answer.FAILED)
    is_stale = request.broker_epoch != before.epoch or request.controller_epoch < before.controller_epoch
    after = evolve(before, controller_epoch=max(before.controller_epoch, request.controller_epoch))
    match request.kind:
        case Kind.LEADER_AND_ISR:
            done = _took_role(after, broker, request, cluster.history.committed, protocol)
            is_stale |= request.leader_epoch < before.leader_epoch
        case Kind.STOP_REPLICA:
            done = _stopped(after, request, protocol)
            is_stale |= NO_EPOCH < request.leader_epoch < before.leader_epoch
            if done is not None:
                cluster = _answered(cluster, controller, broker, request, Answer.DELETED)
        case _:
            told = None if request.leader_epoch == DURING_DELETION else Metadata(request.leader, request.leader_epoch)
            done = evolve(after, metadata=told)
    cluster = cluster.with_broker(broker, after if done is None else done)
    return cluster.with_mishap(Mishap.STALE_REQUEST) if done is not None and is_stale else cluster


def _answered(cluster: Cluster, controller: int, broker: int, request: Request, answer: Answer) -> Cluster:
    """The broker's answer, if the controller that asked still waits for it."""
    if request.kind is not Kind.STOP_REPLICA or not request.delete or request.leader_epoch != DURING_DELETION:
        return cluster
    context = cluster.controllers[controller]
    if not context.active or context.epoch != request.controller_epoch:
        return cluster
    return cluster.with_context(controller, answers=replaced(context.answers, broker, answer))


def _took_role(broker: Broker, me: int, request: Request, committed: bool, protocol: ControllerProtocol) -> Broker | None:
    """The broker as leader or follower, or None where it refuses.

    Source: kafka.server.ReplicaManager#becomeLeaderOrFollower (3.5), kafka.cluster.Partition#makeLeader, #makeFollower (3.5).
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
    broker = evolve(broker, leader=request.leader, leader_epoch=request.leader_epoch, topic_id=request.topic_id)
    if request.leader == me:
        replicas = request.replicas if protocol.leader_forgets_removed else request.replicas | broker.replicas
        return evolve(broker, role=Role.LEADER, isr=request.isr, replicas=replicas, partition_epoch=request.partition_epoch)
    if broker.role is Role.LEADER and broker.leaving and not protocol.demote_during_shutdown:
        return broker
    return evolve(broker, role=Role.FOLLOWER, isr=frozenset(), replicas=frozenset(), partition_epoch=0)


def _stopped(broker: Broker, request: Request, protocol: ControllerProtocol) -> Broker | None:
    """The broker without its replica, or with one that fetches no more, or None where it refuses.

    A leader that is told to stop without deleting stays leader: only its fetchers would be stopped.
    Source: kafka.server.ReplicaManager#stopReplicas, #stopPartitions (3.5), #stopReplica (0.10.2).
    """
    epoch, known = request.leader_epoch, broker.leader_epoch
    if epoch > NO_EPOCH and broker.role is not Role.NONE:
        refused = {StopReplicaEpoch.ANY: False, StopReplicaEpoch.NEWER: epoch <= known, StopReplicaEpoch.NEWER_OR_EQUAL: epoch < known}
        if refused[protocol.stop_replica_epoch]:
            return None
    if request.delete:
        return evolve(without_role(broker), log=None, complete=False)
    return evolve(broker, role=Role.STOPPED) if broker.role is Role.FOLLOWER else broker


@action(actor="broker", needs=lambda bounds: bounds.failed_role_changes, controller=controllers, broker=brokers)
def fails_to_take_role(cluster: Cluster, controller: int, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A broker's session with ZooKeeper ends while it takes up a role.

    Actor: the broker.
    Enabled: it runs, and the next request is a LeaderAndIsr of a newer leader epoch for it; within the budget.
    Effect: it is not registered any more, and keeps its role; until KAFKA-9769 it has noted the new epoch all the same, and with that it
        neither leads nor follows.
    Source: kafka.cluster.Partition#makeFollower, kafka.server.ReplicaManager#makeFollowers (2.6).
    """
    queue = cluster.queues[controller][broker]
    before = cluster.brokers[broker]
    if not cluster.is_registered(broker) or not queue or queue[0].kind is not Kind.LEADER_AND_ISR:
        return None
    request = queue[0]
    if request.broker_epoch != before.epoch or request.leader_epoch <= before.leader_epoch or broker not in request.replicas:
        return None
    cluster = cluster.with_queue(controller, broker, queue[1:]).spending("failed_role_changes")
    cluster = cluster.with_zk(registrations=replaced(cluster.zk.registrations, broker, None))
    if protocol.epoch_stored_after_role_change:
        return cluster
    return cluster.with_broker(broker, evolve(before, leader_epoch=request.leader_epoch, role=Role.STOPPED))


@action(actor="network", needs=lambda bounds: bounds.reorderings, controller=controllers, broker=brokers)
def overtakes(cluster: Cluster, controller: int, broker: int) -> Cluster | None:
    """A request overtakes the one before it, as after a connection broke and the first one was sent again.

    Actor: the network.
    Enabled: two requests of one controller are on their way to one broker; within the budget.
    """
    queue = cluster.queues[controller][broker]
    if len(queue) < 2:
        return None
    return cluster.with_queue(controller, broker, queue[1:2] + queue[:1] + queue[2:]).spending("reorderings")


# Replication


def follows_in_same_epoch(cluster: Cluster, follower: int, leader: int) -> bool:
    """Whether the leader would serve the follower's fetches: both run and agree on leader and leader epoch (KIP-320)."""
    ours, theirs = cluster.brokers[follower], cluster.brokers[leader]
    return (
        theirs.leads and ours.running and ours.role is Role.FOLLOWER and ours.leader == leader and ours.leader_epoch == theirs.leader_epoch
    )


@action(actor="follower", needs=lambda bounds: bounds.commits, follower=brokers, leader=brokers)
def catches_up(cluster: Cluster, follower: int, leader: int) -> Cluster | None:
    """A follower fetches all that its leader has.

    Actor: the follower.
    Enabled: it lacks committed records, follows in the leader's epoch, and the leader has them.
    Effect: it has every committed record.
    Abstracts: offsets; the model `partition` has them.
    """
    if follower == leader or cluster.brokers[follower].complete or not cluster.brokers[leader].complete:
        return None
    if not follows_in_same_epoch(cluster, follower, leader):
        return None
    return cluster.with_broker(follower, evolve(cluster.brokers[follower], complete=True))


@action(actor="leader", needs=lambda bounds: bounds.commits, leader=brokers)
def commits(cluster: Cluster, leader: int) -> Cluster | None:
    """A leader commits a record: every member of its ISR has it.

    Actor: the leader.
    Enabled: it leads and has what was committed before, and every other member of its ISR follows in its epoch and has, too; within the
        budget.
    Effect: all others lack it.
    """
    broker = cluster.brokers[leader]
    if not broker.leads or not broker.complete:
        return None
    others = (member for member in cluster.ids if member != leader and member in broker.isr)
    if not all(cluster.brokers[member].complete and follows_in_same_epoch(cluster, member, leader) for member in others):
        return None
    after = tuple(each if b in broker.isr else evolve(each, complete=False) for b, each in enumerate(cluster.brokers))
    return evolve(cluster, brokers=after, history=evolve(cluster.history, committed=True)).spending("commits")


def _with_isr(cluster: Cluster, leader: int, isr: frozenset[int]) -> Cluster | None:
    """The leader writes an ISR on the version that it knows, and leaves a notification; None where ZooKeeper holds another version.

    Source: kafka.utils.ReplicationUtils#updateLeaderAndIsr (0.10.2), kafka.zk.KafkaZkClient#conditionalUpdatePath (2.0).
    """
    current, broker = cluster.zk.leadership, cluster.brokers[leader]
    if not cluster.is_registered(leader) or current is None or current.partition_epoch != broker.partition_epoch:
        return None
    version = broker.partition_epoch + 1
    cluster = cluster.with_broker(leader, evolve(broker, isr=isr, partition_epoch=version))
    return cluster.with_zk(leadership=evolve(current, isr=isr, partition_epoch=version), isr_changed=True)


@action(actor="leader", leader=brokers, follower=brokers)
def expands_isr(cluster: Cluster, leader: int, follower: int, protocol: ControllerProtocol) -> Cluster | None:
    """A leader takes a follower that has caught up into the ISR.

    Actor: the leader.
    Enabled: it leads; the follower is not in its ISR, is assigned as far as it knows, and has every committed record, as it fetched them
        in this epoch; ZooKeeper holds the version that the leader knows.
    Effect: the follower is in the ISR; a notification tells the controller.
    Source: kafka.cluster.Partition#maybeExpandIsr (2.1). A leader that does not forget removed replicas goes by what it remembers of
        their logs, and does not ask for their leader epoch (0.8).
    """
    broker = cluster.brokers[leader]
    if follower == leader or not broker.leads or follower in broker.isr or follower not in broker.replicas:
        return None
    if not cluster.brokers[follower].complete:
        return None
    remembered = not protocol.leader_forgets_removed and cluster.brokers[follower].leader == leader
    if not remembered and not follows_in_same_epoch(cluster, follower, leader):
        return None
    return _with_isr(cluster, leader, broker.isr | {follower})


@action(actor="leader", needs=lambda bounds: bounds.shrinks, leader=brokers, follower=brokers)
def shrinks_isr(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """A leader takes a slow follower out of the ISR.

    Actor: the leader.
    Enabled: it leads; the follower is in its ISR; ZooKeeper holds the version that the leader knows; within the budget.
    Effect: the follower is out of the ISR; a notification tells the controller.
    Abstracts: replica.lag.time.max.ms; any follower may be slow at any moment.
    Source: kafka.cluster.Partition#maybeShrinkIsr (2.0).
    """
    broker = cluster.brokers[leader]
    if follower == leader or not broker.leads or follower not in broker.isr:
        return None
    shrunk = _with_isr(cluster, leader, broker.isr - {follower})
    return None if shrunk is None else shrunk.spending("shrinks")


@action(actor="leader", needs=lambda bounds: bounds.reassignments, leader=brokers, member=brokers)
def repairs_isr(cluster: Cluster, leader: int, member: int, protocol: ControllerProtocol) -> Cluster | None:
    """A leader takes a member out of the ISR that is not assigned.

    Actor: the leader.
    Enabled: it leads; the member is in its ISR and not in the assignment that it knows; ZooKeeper holds the version that the leader knows.
    Effect: the member is out of the ISR; a notification tells the controller.
    Source: kafka.cluster.Partition#isFollowerOutOfSync (3.0); KAFKA-9672.
    """
    broker = cluster.brokers[leader]
    if member == leader or not broker.leads or member not in broker.isr or member in broker.replicas:
        return None
    return _with_isr(cluster, leader, broker.isr - {member}) if protocol.isr_repair_unassigned else None


# Dying and coming back


def _died(cluster: Cluster, broker: int) -> Cluster:
    """The process is gone, and so is its session with ZooKeeper; the log stays."""
    before = cluster.brokers[broker]
    after = evolve(without_role(before), running=False, leaving=False, controller_epoch=0, metadata=None)
    return cluster.with_broker(broker, after).with_zk(registrations=replaced(cluster.zk.registrations, broker, None))


@action(actor="broker", needs=lambda bounds: bounds.broker_crashes, broker=brokers)
def broker_crashes(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker dies. Its log stays.

    Actor: the broker.
    Enabled: it runs; within the budget.
    Effect: it forgets its role, and is not registered any more.
    Abstracts: the time until ZooKeeper ends its session: the controller may learn of it at any later moment.
    """
    return _died(cluster, broker).spending("broker_crashes") if cluster.brokers[broker].running else None


@action(actor="broker", needs=lambda bounds: bounds.shutdowns, broker=brokers)
def broker_exits(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker that has asked for a controlled shutdown exits.

    Actor: the broker.
    Enabled: it runs, and the controller has answered its request.
    Source: kafka.server.KafkaServer#shutdown (3.5).
    """
    return _died(cluster, broker) if cluster.brokers[broker].running and cluster.brokers[broker].leaving else None


@action(actor="broker", broker=brokers)
def broker_starts(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker comes back.

    Actor: the broker.
    Enabled: it does not run.
    Effect: it is registered under its next broker epoch and waits to be told what it hosts.
    Source: kafka.server.KafkaServer#startup (3.5).
    """
    return None if cluster.brokers[broker].running else _registered(cluster, broker)


def _registered(cluster: Cluster, broker: int) -> Cluster:
    after = evolve(cluster.brokers[broker], running=True, epoch=cluster.brokers[broker].epoch + 1)
    registrations = replaced(cluster.zk.registrations, broker, after.epoch)
    return cluster.with_broker(broker, after).with_zk(registrations=registrations)


@action(actor="broker", needs=lambda bounds: bounds.broker_expiries, broker=brokers)
def broker_session_expires(cluster: Cluster, broker: int) -> Cluster | None:
    """ZooKeeper ends the session of a broker that runs on, with its role.

    Actor: ZooKeeper.
    Enabled: the broker is registered; within the budget.
    """
    if not cluster.is_registered(broker):
        return None
    return cluster.with_zk(registrations=replaced(cluster.zk.registrations, broker, None)).spending("broker_expiries")


@action(actor="broker", broker=brokers)
def broker_registers_again(cluster: Cluster, broker: int) -> Cluster | None:
    """A running broker whose session ended registers with a new broker epoch.

    Actor: the broker.
    Enabled: it runs and is not registered.
    Source: kafka.controller.KafkaController#processRegisterBrokerAndReelect (3.5).
    """
    if not cluster.brokers[broker].running or cluster.zk.registrations[broker] is not None:
        return None
    return _registered(cluster, broker)


# What clients see


class ClientError(Enum):
    """Errors that tell a client to ask again, by Kafka's names."""

    NONE = "NONE"
    UNKNOWN_TOPIC_OR_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"
    LEADER_NOT_AVAILABLE = "LEADER_NOT_AVAILABLE"
    REPLICA_NOT_AVAILABLE = "REPLICA_NOT_AVAILABLE"
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"


def metadata_error(broker: Broker, live: frozenset[int], assignment: frozenset[int]) -> ClientError:
    """The partition's error in a metadata response of a broker.

    Args:
        live: the live brokers, as far as the broker knows.
        assignment: the partition's replicas, as far as it knows.

    Source: kafka.server.metadata.ZkMetadataCache#getPartitionMetadata (3.5), for versions of the request that report replicas.
    """
    if broker.metadata is None:
        return ClientError.UNKNOWN_TOPIC_OR_PARTITION
    if broker.metadata.leader is None or broker.metadata.leader not in live:
        return ClientError.LEADER_NOT_AVAILABLE
    return ClientError.NONE if assignment <= live else ClientError.REPLICA_NOT_AVAILABLE


def produce_error(broker: Broker) -> ClientError:
    """What a broker answers to a producer: kafka.server.ReplicaManager#getPartitionOrException (3.5)."""
    if broker.leads:
        return ClientError.NONE
    return (
        ClientError.UNKNOWN_TOPIC_OR_PARTITION
        if broker.role is Role.NONE and broker.metadata is None
        else ClientError.NOT_LEADER_OR_FOLLOWER
    )
