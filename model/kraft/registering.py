"""Registrations of brokers at the active controller: fenced, unfenced, in controlled shutdown.

Each step appends one batch of records for all partitions; with the bound `split_batches` one for each.
"""

from __future__ import annotations

from highwater.model.kraft.alter_partition import restarted
from highwater.model.kraft.bounds import KraftBounds, partitions
from highwater.model.kraft.changing import (
    by_itself,
    by_partition,
    changed,
    recorded,
    recorded_last,
    replayed,
    taken_out,
    without_broker,
    without_member,
)
from highwater.model.kraft.eligible_index import is_turned_away
from highwater.model.kraft.image import Standing
from highwater.model.kraft.metadata_log import appended, appended_by_partition, taken_over
from highwater.model.kraft.partition_change import Target
from highwater.model.kraft.protocol import KraftProtocol, Reregistration, Unfencing
from highwater.model.kraft.state import Broker, Cluster, Mishap
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.log import brokers


def has_lost_its_session(cluster: Cluster, broker: int) -> bool:
    silent = not cluster.brokers[broker].running or is_turned_away(cluster, broker)
    return silent and broker in cluster.heartbeats.contacted and cluster.is_serving(broker)


@action(actor="controller", broker=brokers)
def fence(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """The controller fences a broker that sends no heartbeats any more.

    Actor: the controller.
    Enabled: the broker is down, or cannot register, and not fenced; the controller has heard of it.
    Effect: it leaves each ISR, and others lead what it led.
    Abstracts: the session time: a broker that is down loses its session at any moment.
    Source: org.apache.kafka.controller.ReplicationControlManager#maybeFenceOneStaleBroker (3.5.1 to 4.3.1).
    """
    if not has_lost_its_session(cluster, broker):
        return None
    stages = without_broker(cluster, broker, Standing.FENCED, protocol)
    return appended_by_partition(stages, protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.lost_sessions, broker=brokers)
def end_session(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """The session of a broker that runs ends: it pauses, or its heartbeats do not arrive in time.

    Actor: the controller.
    Enabled: the broker runs and is not fenced; the controller has heard of it; the budget allows it.
    Effect: as that of `fence`. The broker goes on as a leader or a follower until it reads otherwise. Its next
        heartbeat has it unfenced again, since it has read its registration long ago.
    Source: org.apache.kafka.controller.ReplicationControlManager#maybeFenceOneStaleBroker (3.5.1 to 4.3.1),
        org.apache.kafka.controller.BrokerHeartbeatManager#calculateNextBrokerState (3.5.1 to 4.3.1),
        kafka.server.BrokerLifecycleManager (3.3.0 to 4.2), org.apache.kafka.server.BrokerLifecycleManager (4.3.1),
        which keeps the state RUNNING.
    """
    ours = cluster.brokers[broker]
    if not ours.running or broker not in cluster.heartbeats.contacted or not cluster.is_serving(broker):
        return None
    serves = ours.serves_fenced or cluster.committed.registrations[broker].standing is not Standing.FENCED
    outlived = cluster.with_broker(broker, serves_fenced=serves).spending("lost_sessions")
    return appended_by_partition(without_broker(outlived, broker, Standing.FENCED, protocol), protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.crashes > 1, first=brokers, second=brokers)
def fence_two(
    cluster: Cluster, first: int, second: int, protocol: KraftProtocol, bounds: KraftBounds
) -> Cluster | None:
    """The controller fences two brokers in one batch of records.

    Actor: the controller.
    Enabled: both are down and not fenced; the controller has heard of them. Since KAFKA-13173 it fences one at a time.
    Effect: each record is made from the partition before the batch.
    Source: org.apache.kafka.controller.ReplicationControlManager#maybeFenceStaleBrokers (2.8.0),
        #maybeFenceOneStaleBroker (3.0.0).
    """
    if protocol.fences_one_at_a_time or first == second:
        return None
    if not has_lost_its_session(cluster, first) or not has_lost_its_session(cluster, second):
        return None
    after = cluster
    for partition in cluster.partition_ids:
        members = [broker for broker in (first, second) if broker in cluster.partitions[partition].isr]
        targets = [(broker, taken_out(cluster, partition, broker, protocol)) for broker in members]
        records = [recorded(cluster, partition, protocol, target, without=broker) for broker, target in targets]
        for record in records:
            after = replayed(after, partition, record)
    after = after.with_standing(first, Standing.FENCED).with_standing(second, Standing.FENCED)
    return appended(cluster, after, protocol, bounds)


@action(actor="controller", broker=brokers)
def unfence(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """The controller unfences a broker by a heartbeat.

    Actor: the controller.
    Enabled: the broker runs, is fenced, does not want to shut down, and has read its registration; until KAFKA-13959
        it must have read all of the metadata log.
    Effect: it is unfenced, says the first record. A partition without a leader may get one.
    Source: org.apache.kafka.controller.BrokerHeartbeatManager#calculateNextBrokerState, ReplicationControlManager
        #handleBrokerUnfenced (3.5.1 to 4.3.1).
    """
    ours: Broker = cluster.brokers[broker]
    at_end = protocol.unfencing is Unfencing.AT_REGISTRATION or broker in cluster.at_end
    if not ours.running or ours.stopping or not ours.knows_registration or not at_end:
        return None
    if cluster.registrations[broker].standing is not Standing.FENCED:
        return None
    after = cluster.with_standing(broker, Standing.UNFENCED).having_heard_of(broker)

    def with_leader(now: Cluster, partition: int) -> Cluster:
        return (
            changed(now, partition, protocol, Target(election=by_itself(protocol)))
            if now.partitions[partition].leader is None
            else now
        )

    return appended_by_partition(recorded_first(cluster, by_partition(after, with_leader)), protocol, bounds)


def recorded_first(before: Cluster, stages: list[Cluster]) -> list[Cluster]:
    """The stages of a decision of which the first batch begins with one more record.

    Args:
        stages: the cluster after that record, and after the records of each partition.
    """
    return [before, *(stages[1:] or stages)]


def renounced(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster:
    """The cluster once the active controller has found a deleted topic in its index. It has decided nothing, and
    renounces. The next one has the same index.

    Abstracts: a controller that starts from a snapshot of the metadata, whose index is made from the partitions; and
        that batches which are not committed may be lost.
    Source: org.apache.kafka.controller.ReplicationControlManager#generateLeaderAndIsrUpdates,
        org.apache.kafka.controller.QuorumController#handleEventException (3.8.0 to 4.3.1).
    """
    after = taken_over(cluster, len(cluster.tail), protocol, bounds)
    return evolve(after, deposed=(), mishap=Mishap.DELETED_TOPIC)


def _says_that_it_stopped_cleanly(cluster: Cluster, broker: int) -> bool:
    """Whether a broker has been shut down in order as the incarnation that the controller has registered: it names that
    one's broker epoch in every request to be registered, and has read it where it was written at the shutdown.

    Source: KIP-966; org.apache.kafka.controller.ClusterControlManager#registerBroker (4.0.0 to 4.3.1),
        kafka.server.BrokerLifecycleManager#sendBrokerRegistration (3.7.0 to 4.2).
    """
    ours, theirs = cluster.brokers[broker], cluster.registrations[broker]
    if not ours.stopped_cleanly or theirs.standing is Standing.UNREGISTERED:
        return False
    return theirs.broker_epoch == ours.broker_epoch - 1


def registered(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster:
    """A new incarnation of a broker is registered, says the last record. Who was killed may have lost records, and is
    not eligible to lead; nor is one of which the controller no longer knows the incarnation that shut down. The
    controller's index says where it was eligible.

    Source: org.apache.kafka.controller.ClusterControlManager#registerBroker (3.5.1 to 4.3.1), ReplicationControlManager
        #handleBrokerUncleanShutdown (3.8.0), #handleBrokerShutdown (4.0.0).
    """
    rule = protocol.reregistration
    leaves = rule is Reregistration.ISR or (rule is Reregistration.ISR_WITH_ELR and protocol.elr)
    uncleanly = not (protocol.clean_shutdowns_detected and _says_that_it_stopped_cleanly(cluster, broker))
    if uncleanly and broker in cluster.stale.of_deleted:
        return renounced(cluster, protocol, bounds)

    def without_incarnation(now: Cluster, partition: int) -> Cluster:
        before = now.partitions[partition]
        if not leaves or not (broker in before.isr or (uncleanly and broker in before.elr)):
            return now
        return changed(
            now, partition, protocol, taken_out(now, partition, broker, protocol, uncleanly=uncleanly), without=broker
        )

    stages = by_partition(cluster, without_incarnation)
    after = stages[-1].with_standing(broker, Standing.FENCED).having_heard_of(broker)
    after = after.with_registration(broker, broker_epoch=cluster.brokers[broker].broker_epoch)
    after = restarted(after, broker, protocol) if protocol.members_epochs_checked else after
    if bounds.upgrades:
        failed = tuple(replica.directory_failed for replica in cluster.brokers[broker].replicas)
        after = after.with_registration(broker, directories_failed=failed, outdated=False)
    return appended_by_partition(recorded_last(stages, after), protocol, bounds)


def _may_fail_to_register(bounds: KraftBounds) -> bool:
    return bool(bounds.uncommitted or (bounds.min_isr_changes and bounds.topic_deletions))


@action(actor="controller", needs=lambda bounds: bounds.restarts and _may_fail_to_register(bounds), broker=brokers)
def register_again(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """A broker whose registration was lost in a fail-over, or that no controller has registered, asks again.

    Actor: the controller.
    Enabled: the broker runs, and its incarnation is not registered.
    Effect: as that of `start`.
    Source: org.apache.kafka.controller.ClusterControlManager#registerBroker (3.5.1 to 4.3.1).
    """
    ours = cluster.brokers[broker]
    if not ours.running or cluster.registrations[broker].broker_epoch == ours.broker_epoch:
        return None
    return registered(cluster, broker, protocol, bounds)


def _others(cluster: Cluster, broker: int) -> frozenset[int]:
    return frozenset(other for other in cluster.ids if other != broker)


@action(actor="controller", needs=lambda bounds: bounds.shutdowns, broker=brokers)
def enter_controlled_shutdown(
    cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds
) -> Cluster | None:
    """The controller learns that a leader wants to shut down.

    Actor: the controller.
    Enabled: the broker wants it, is not fenced and leads a partition. This controller has noted no offset for it: what
        its registration says does not matter. So after a fail-over the first heartbeat begins the shutdown anew.
    Effect: it is in controlled shutdown and leaves each ISR; others lead what it led, or nobody does. The other active
        brokers must read so. That it is in controlled shutdown is the first record, unless its registration says so
        already. A metadata version before 3.3 has no such record: the active controller alone knows.
    Source: org.apache.kafka.controller.ReplicationControlManager#handleBrokerInControlledShutdown (3.5.1 to 4.3.1),
        org.apache.kafka.controller.BrokerHeartbeatManager#currentBrokerState, #calculateNextBrokerState (3.5.1 to
        4.3.1).
    """
    ours = cluster.brokers[broker]
    if not ours.stopping or not cluster.is_serving(broker) or not cluster.leads_any(broker):
        return None
    if broker in cluster.heartbeats.leaving:
        return None
    waiting = cluster.with_departure(broker, _others(cluster, broker))
    leaving = waiting.with_standing(broker, Standing.LEAVING) if protocol.shutdowns_recorded else waiting
    stages = by_partition(leaving, lambda now, partition: without_member(now, partition, broker, protocol))
    return appended_by_partition(recorded_first(waiting, stages), protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.shutdowns, broker=brokers)
def stay_in_controlled_shutdown(cluster: Cluster, broker: int, protocol: KraftProtocol) -> Cluster | None:
    """A broker in controlled shutdown sends one more heartbeat.

    Actor: the controller.
    Enabled: the controller has noted an offset for the broker.
    Effect: until KAFKA-14292 the offset that other brokers must reach moved to the present end of the metadata log.
    Source: org.apache.kafka.controller.BrokerHeartbeatManager#maybeUpdateControlledShutdownOffset (3.3.2),
        #updateControlledShutdownOffset (3.3.1).
    """
    ours = cluster.brokers[broker]
    if protocol.shutdown_offset_kept or not ours.stopping:
        return None
    if broker not in cluster.heartbeats.leaving:
        return None
    behind = _others(cluster, broker)
    return cluster.with_departure(broker, behind if cluster.tail else behind - cluster.at_end)


@action(actor="controller", needs=lambda bounds: bounds.shutdowns, broker=brokers)
def grant_shutdown(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """The controller lets a broker that wants to shut down do so.

    Actor: the controller.
    Enabled: the broker leads no partition. If this controller has noted an offset for it, whoever it takes for active
        has reached that.
    Effect: it is fenced and leaves each ISR.
    Source: org.apache.kafka.controller.BrokerHeartbeatManager#calculateNextBrokerState (3.5.1 to 4.3.1).
    """
    ours = cluster.brokers[broker]
    if not ours.stopping or not cluster.is_serving(broker) or cluster.leads_any(broker):
        return None
    for other in cluster.ids:
        if other in cluster.heartbeats.waits_for[broker] and cluster.is_awaited(other):
            return None
    return appended_by_partition(without_broker(cluster, broker, Standing.FENCED, protocol), protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.directory_failures, broker=brokers, partition=partitions)
def take_out_failed_directory(
    cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds, partition: int = 0
) -> Cluster | None:
    """The controller learns by a heartbeat that the log directory of a replica has failed.

    Actor: the controller.
    Enabled: the broker runs and is registered so; the metadata version has directories. A new topic has its replica in
        another directory.
    Effect: the replica leaves the ISR, and does not lead.
    Abstracts: several replicas in one directory.
    Source: KIP-858; org.apache.kafka.controller.ReplicationControlManager#handleDirectoriesOffline (3.7.0 to 4.3.1).
    """
    ours, registration = cluster.brokers[broker], cluster.registrations[broker]
    replica, failed = ours.replicas[partition], registration.directories_failed
    if not protocol.failed_directories_reported or not ours.running or not replica.directory_failed:
        return None
    if failed[partition] or registration.broker_epoch != ours.broker_epoch:
        return None
    if registration.standing is Standing.UNREGISTERED or replica.topic_id != cluster.partitions[partition].topic_id:
        return None
    after = without_member(cluster, partition, broker, protocol)
    after = after.with_registration(broker, directories_failed=replaced(failed, partition, True))
    return appended(cluster, after, protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.unregistrations, broker=brokers)
def unregister_broker(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody takes a broker out of the registrations.

    Actor: the controller.
    Enabled: the broker is registered, whether it runs or not; the budget allows it.
    Effect: it leaves each ISR, and leads nothing. Below min.insync.replicas it is in the ELR, or stays there. If it
        runs, its heartbeats are refused, and it registers again only after a restart. The controller's index says where
        it is eligible.
    Source: org.apache.kafka.controller.ReplicationControlManager#unregisterBroker, #handleBrokerUnregistered (3.5.1 to
        4.3.1), org.apache.kafka.controller.ClusterControlManager#checkBrokerEpoch (3.5.1 to 4.3.1).
    """
    if cluster.registrations[broker].standing is Standing.UNREGISTERED:
        return None
    heard_of = evolve(cluster.heartbeats, contacted=cluster.heartbeats.contacted - {broker})
    forgotten = evolve(cluster.spending("unregistrations"), heartbeats=heard_of)
    if broker in cluster.stale.of_deleted:
        return renounced(cluster.spending("unregistrations"), protocol, bounds)
    return appended_by_partition(without_broker(forgotten, broker, Standing.UNREGISTERED, protocol), protocol, bounds)
