"""How brokers die, leave and come back: kafka.server.KafkaServer, and ZooKeeper's sessions."""

from __future__ import annotations

from model.controller.brokers import without_role
from model.controller.protocol import ControllerProtocol
from model.controller.state import Cluster
from model.language.declarations import action
from model.language.records import evolve, replaced
from model.log import brokers


def died(cluster: Cluster, broker: int) -> Cluster:
    """The process is gone, and so is its session with ZooKeeper; the log stays."""
    before = cluster.brokers[broker]
    after = evolve(
        without_role(before), running=False, leaving=False, controller_epoch=0, metadata=None, resigning=None
    )
    return cluster.with_broker(broker, after).with_zk(registrations=replaced(cluster.zk.registrations, broker, None))


@action(actor="broker", needs=lambda bounds: bounds.broker_crashes, broker=brokers)
def crash_broker(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker dies. Its log stays.

    Actor: the broker.
    Enabled: it runs; within the budget.
    Effect: it forgets its role, and is not registered any more.
    Abstracts: the time until ZooKeeper ends its session: the controller may learn of it at any later moment.
    """
    return died(cluster, broker).spending("broker_crashes") if cluster.brokers[broker].running else None


@action(actor="broker", needs=lambda bounds: bounds.lossy_crashes, broker=brokers)
def crash_broker_with_loss(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker's machine fails, and records that were committed and not flushed are gone from its log.

    Actor: the broker.
    Enabled: it runs and has every committed record, of which there are some; within the budget.
    Effect: as of a crash; its log is not complete any more.
    Abstracts: which records; log.flush.interval.messages is unlimited by default.
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
    Enabled: it runs, and the controller has answered its request.
    Source: kafka.server.KafkaServer#shutdown (3.5).
    """
    return died(cluster, broker) if cluster.brokers[broker].running and cluster.brokers[broker].leaving else None


@action(actor="broker", broker=brokers)
def start_broker(cluster: Cluster, broker: int) -> Cluster | None:
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
def expire_broker_session(cluster: Cluster, broker: int) -> Cluster | None:
    """ZooKeeper ends the session of a broker that runs on, with its role.

    Actor: ZooKeeper.
    Enabled: the broker is registered; within the budget.
    """
    if not cluster.is_registered(broker):
        return None
    return cluster.with_zk(registrations=replaced(cluster.zk.registrations, broker, None)).spending("broker_expiries")


@action(actor="broker", broker=brokers)
def register_broker_again(cluster: Cluster, broker: int, protocol: ControllerProtocol) -> Cluster | None:
    """A running broker whose session ended registers again.

    Actor: the broker.
    Enabled: it runs and is not registered.
    Effect: it is registered under its next broker epoch, as its new node in ZooKeeper is given one; or under the one
        that it had, as KRaft has it since KAFKA-16952.
    Source: kafka.controller.KafkaController#processRegisterBrokerAndReelect (3.5); ClusterControlManager#registerBroker
        (3.9).
    """
    if not cluster.brokers[broker].running or cluster.zk.registrations[broker] is not None:
        return None
    if protocol.registration_keeps_epoch:
        return cluster.with_zk(registrations=replaced(cluster.zk.registrations, broker, cluster.brokers[broker].epoch))
    return _registered(cluster, broker)
