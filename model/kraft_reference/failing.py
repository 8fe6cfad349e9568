"""Brokers crash, shut down and start.

Source of all: github.com/Vanlightly/kafka-tlaplus, modules kafka_replication_v3_5 and kafka_replication_kip_966 with
their functions; the action's name there is given with each.
"""

from __future__ import annotations

from highwater.model.kraft_reference.bounds import KraftBounds, brokers, incarnations
from highwater.model.kraft_reference.controlling import after_fencing, candidates
from highwater.model.kraft_reference.fetching import handled
from highwater.model.kraft_reference.logs import gone_on, refused
from highwater.model.kraft_reference.messages import NO_FETCH, Fetching
from highwater.model.kraft_reference.protocol import KraftProtocol
from highwater.model.kraft_reference.state import (
    UNKNOWN_FOLLOWER,
    Broker,
    Cluster,
    Registering,
    Role,
    Start,
    Status,
    keeping_shutdowns,
    losing_shutdowns,
)
from highwater.model.language.declarations import action
from highwater.model.language.domain import BOOLEAN
from highwater.model.language.records import evolve, replaced


def without_fetches(replica: Broker, leader: int, bounds: KraftBounds) -> Broker:
    """A follower after the message between it and a leader was lost."""
    if replica.fetches[leader].kind is Fetching.NONE:
        return replica
    delayed = True if replica.fetches_from == leader else replica.delayed
    lost = handled(replica, leader, bounds)
    return evolve(lost, fetches=replaced(replica.fetches, leader, NO_FETCH), delayed=delayed)


def stopped(
    cluster: Cluster, broker: int, status: Status, broker_epoch: int, candidate: int | None, bounds: KraftBounds
) -> Cluster | None:
    """The cluster after a broker went down: its connections are closed, its producers refused, the broker fenced."""
    replica = cluster.brokers[broker]
    clients = cluster.clients
    if replica.role is Role.LEADER and replica.high_watermark < len(replica.log):
        clients = refused(clients, replica)
    changed = gone_on(cluster, broker, bounds, learned=False)
    for other in range(bounds.broker_count):
        if other != broker:
            changed = changed.with_broker(other, without_fetches(changed.brokers[other], broker, bounds))
            changed = changed.with_broker(broker, without_fetches(changed.brokers[broker], other, bounds))
    replica = evolve(
        changed.brokers[broker],
        status=status,
        broker_epoch=broker_epoch,
        incarnation=0,
        role=Role.NONE,
        followers=(UNKNOWN_FOLLOWER,) * bounds.broker_count,
        fetches_from=None,
        delayed=False,
        first_written=None,
    )
    return after_fencing(evolve(changed.with_broker(broker, replica), clients=clients), broker, candidate, bounds)


def losing(cluster: Cluster, broker: int, candidate: int | None, bounds: KraftBounds) -> Cluster | None:
    """The cluster after a running broker went down and lost its log."""
    if cluster.used.losing_shutdowns >= losing_shutdowns(bounds) or not cluster.brokers[broker].is_online:
        return None
    changed = stopped(cluster, broker, Status.OFFLINE_DIRTY, 0, candidate, bounds)
    if changed is None:
        return None
    emptied = evolve(changed.brokers[broker], log=(), high_watermark=0, epoch_start=None)
    return evolve(changed.with_broker(broker, emptied), used=cluster.spent("losing_shutdowns"))


@action(actor="broker", broker=brokers, candidate=candidates)
def shut_down_uncleanly(
    cluster: Cluster, broker: int, candidate: int | None, bounds: KraftBounds, protocol: KraftProtocol
) -> Cluster | None:
    """A broker crashes and loses its whole log.

    Actor: the broker.
    Enabled: it is up; the limit is not reached; the candidate may be elected; under some bounds, it is not the last
        member of the ISR.
    Effect: its log is empty; the controller has fenced it.
    Abstracts: flushed records, which would survive.
    Source: UncleanShutdown.
    """
    if protocol.avoid_last_replica_standing and cluster.partition.isr == frozenset({broker}):
        return None
    return losing(cluster, broker, candidate, bounds)


@action(actor="broker", broker=brokers, candidate=candidates)
def shut_down_losing_data(cluster: Cluster, broker: int, candidate: int | None, bounds: KraftBounds) -> Cluster | None:
    """A broker crashes and loses its whole log.

    Actor: the broker.
    Enabled: it is up; the limit is not reached; the candidate may be elected.
    Effect: its log is empty; the controller has fenced it.
    Abstracts: flushed records, which would survive.
    Source: DataLossShutdown.
    """
    return losing(cluster, broker, candidate, bounds)


def keeping(
    cluster: Cluster, broker: int, broker_epoch: int, candidate: int | None, bounds: KraftBounds
) -> Cluster | None:
    """The cluster after a running broker went down and kept its log."""
    if cluster.used.keeping_shutdowns >= keeping_shutdowns(bounds) or not cluster.brokers[broker].is_online:
        return None
    changed = stopped(cluster, broker, Status.OFFLINE_CLEAN, broker_epoch, candidate, bounds)
    return None if changed is None else evolve(changed, used=cluster.spent("keeping_shutdowns"))


@action(actor="broker", broker=brokers, candidate=candidates)
def shut_down_cleanly(cluster: Cluster, broker: int, candidate: int | None, bounds: KraftBounds) -> Cluster | None:
    """A broker shuts down and keeps its log.

    Actor: the broker.
    Enabled: it is up; the limit is not reached; the candidate may be elected.
    Effect: the controller has fenced it.
    Abstracts: the controlled shutdown, which moves leadership first.
    Source: CleanShutdown.
    """
    return keeping(cluster, broker, 0, candidate, bounds)


@action(actor="broker", broker=brokers, clean=BOOLEAN, candidate=candidates)
def shut_down_keeping_data(
    cluster: Cluster, broker: int, candidate: int | None, bounds: KraftBounds, *, clean: bool
) -> Cluster | None:
    """A broker shuts down cleanly, or crashes, and keeps its log.

    Actor: the broker.
    Enabled: it is up; the limit is not reached; the candidate may be elected.
    Effect: the controller has fenced it. After a clean shutdown the broker still knows its broker epoch when it starts.
    Source: NoDataLossShutdown; KIP-966.
    """
    return keeping(cluster, broker, cluster.brokers[broker].broker_epoch if clean else 0, candidate, bounds)


@action(actor="broker", broker=brokers)
def start(cluster: Cluster, broker: int, bounds: KraftBounds) -> Cluster | None:
    """A broker that is down starts.

    Actor: the broker.
    Enabled: it is down.
    Effect: a registration request is in flight, under a new incarnation.
    Source: BrokerStart; kafka.server.BrokerLifecycleManager (3.5).
    """
    replica = cluster.brokers[broker]
    if replica.is_online:
        return None
    starting = evolve(replica, status=Status.STARTING, incarnation=2 + len(cluster.starts), role=Role.NONE)
    request = Start(broker, replica.broker_epoch if bounds.keeps_elr else 0, Registering.REQUEST, 0, 0)
    return evolve(cluster.with_broker(broker, starting), starts=cluster.starts + (request,))


@action(actor="broker", incarnation=incarnations)
def finish_start(cluster: Cluster, incarnation: int, bounds: KraftBounds) -> Cluster | None:
    """A starting broker learns that it is registered.

    Actor: the broker.
    Enabled: it starts in that incarnation, whose response is in flight.
    Effect: it runs with its new broker epoch. It has the metadata log up to one record before the registration, and no
        partition yet.
    Abstracts: the time that reading the metadata log takes.
    Source: ReceiveBrokerRegResponse; kafka.server.BrokerLifecycleManager (3.5).
    """
    number = incarnation - 2
    if not 0 <= number < len(cluster.starts):
        return None
    begun = cluster.starts[number]
    if begun.stage is not Registering.RESPONSE:
        return None
    replica = cluster.brokers[begun.broker]
    if replica.status is not Status.STARTING or replica.incarnation != incarnation:
        return None
    running = evolve(
        replica,
        status=Status.RUNNING,
        broker_epoch=begun.broker_epoch,
        applied=max(0, begun.metadata_offset - 1),
        known=0,
    )
    changed = cluster.with_broker(begun.broker, running)
    done = evolve(begun, stage=Registering.DONE, metadata_offset=begun.metadata_offset if bounds.keeps_messages else 0)
    return evolve(changed, starts=replaced(cluster.starts, number, done))
