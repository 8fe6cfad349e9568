"""Brokers crash, shut down, restart and lose their sessions: kafka.server.KafkaServer, and ZooKeeper's sessions."""

from __future__ import annotations

from highwater.model.controller.bounds import ControllerBounds
from highwater.model.controller.brokers import without_role
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.state import Cluster
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.log import brokers


def died(cluster: Cluster, broker: int) -> Cluster:
    """The broker after its process and its session with ZooKeeper have ended. Its log stays."""
    before = cluster.brokers[broker]
    after = evolve(
        without_role(before),
        running=False,
        leaving=False,
        attempts_left=0,
        controller_epoch=0,
        metadata=None,
        coordinator_epoch=0,
        resigning=None,
    )
    return cluster.with_broker(broker, after).with_zk(registrations=replaced(cluster.zk.registrations, broker, None))


@action(actor="broker", needs=lambda bounds: bounds.broker_crashes, broker=brokers)
def crash_broker(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker crashes and keeps its log.

    Actor: the broker.
    Enabled: it runs; the budget allows it.
    Effect: the broker loses its role and is no longer registered.
    Abstracts: the time until ZooKeeper ends its session: the controller may learn of it at any later moment.
    """
    return died(cluster, broker).spending("broker_crashes") if cluster.brokers[broker].running else None


@action(actor="broker", needs=lambda bounds: bounds.lossy_crashes, broker=brokers)
def crash_broker_with_loss(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker's machine fails, and its log loses committed records that were not flushed.

    Actor: the broker.
    Enabled: it runs and has every committed record; there are some; the budget allows it.
    Effect: as `crash_broker`; the log is no longer complete.
    Abstracts: which records are lost; log.flush.interval.messages is unlimited by default.
    """
    before = cluster.brokers[broker]
    if not before.running or not before.complete or not cluster.history.committed:
        return None
    after = died(cluster, broker)
    return after.with_broker(broker, evolve(after.brokers[broker], complete=False)).spending("lossy_crashes")


@action(actor="broker", needs=lambda bounds: bounds.shutdowns, broker=brokers)
def exit_broker(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker that has asked for a controlled shutdown exits.

    Actor: the broker.
    Enabled: it runs; its request was granted, or no attempt is left. Then it exits all the same, and may still lead.
    Source: kafka.server.KafkaServer#shutdown, #controlledShutdown (0.8.2.0 to 3.9).
    """
    ours = cluster.brokers[broker]
    return died(cluster, broker) if ours.running and ours.leaving and not ours.attempts_left else None


@action(actor="broker", needs=lambda bounds: bounds.shutdowns and bounds.unanswered_shutdowns, broker=brokers)
def get_no_answer(cluster: Cluster, broker: int, bounds: ControllerBounds) -> Cluster | None:
    """A broker asks for a controlled shutdown, and no controller answers.

    Actor: the broker.
    Enabled: it runs, and has not asked before or has attempts left; the budgets allow it.
    Effect: it has one attempt less.
    Abstracts: why: it knows no controller, cannot connect to it, or waits longer than controller.socket.timeout.ms. A
        request that the controller handles is another action, which may deny it.
    Source: kafka.server.KafkaServer#controlledShutdown (0.8.2.0 to 3.9).
    """
    ours = cluster.brokers[broker]
    if not ours.running or (ours.leaving and not ours.attempts_left):
        return None
    left = ours.attempts_left if ours.leaving else bounds.shutdown_attempts
    after = cluster.with_broker(broker, evolve(ours, leaving=True, attempts_left=left - 1))
    return (after if ours.leaving else after.spending("shutdowns")).spending("unanswered_shutdowns")


@action(actor="broker", broker=brokers)
def start_broker(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A broker starts.

    Actor: the broker.
    Enabled: it does not run.
    Effect: the broker is registered with its next broker epoch, and waits for LeaderAndIsr. Its metadata cache is
        empty.
    Source: kafka.server.KafkaServer#startup (3.5).
    """
    if cluster.brokers[broker].running:
        return None
    unknown = frozenset(cluster.ids) if protocol.live_brokers else frozenset[int]()
    return _registered(cluster.with_broker(broker, evolve(cluster.brokers[broker], dead=unknown)), broker)


def _registered(cluster: Cluster, broker: int) -> Cluster:
    after = evolve(cluster.brokers[broker], running=True, epoch=cluster.brokers[broker].epoch + 1)
    registrations = replaced(cluster.zk.registrations, broker, after.epoch)
    return cluster.with_broker(broker, after).with_zk(registrations=registrations)


@action(actor="broker", needs=lambda bounds: bounds.broker_expiries, broker=brokers)
def expire_broker_session(cluster: Cluster, broker: int) -> Cluster | None:
    """ZooKeeper ends the session of a running broker, which keeps its role.

    Actor: ZooKeeper.
    Enabled: the broker is registered; the budget allows it.
    """
    if not cluster.is_registered(broker):
        return None
    return cluster.with_zk(registrations=replaced(cluster.zk.registrations, broker, None)).spending("broker_expiries")


@action(actor="broker", broker=brokers)
def register_broker_again(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A running broker whose session ended registers again.

    Actor: the broker.
    Enabled: it runs and is not registered.
    Effect: the broker is registered with its next broker epoch, that of its new node in ZooKeeper; or with the one that
        it had, as in KRaft since KAFKA-16952.
    Source: kafka.controller.KafkaController#processRegisterBrokerAndReelect (3.5); ClusterControlManager#registerBroker
        (3.9).
    """
    if not cluster.brokers[broker].running or cluster.zk.registrations[broker] is not None:
        return None
    if protocol.registration_keeps_epoch:
        return cluster.with_zk(registrations=replaced(cluster.zk.registrations, broker, cluster.brokers[broker].epoch))
    return _registered(cluster, broker)
