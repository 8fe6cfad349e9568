"""Brokers: they crash, start, fetch, propose another ISR, commit and shut down."""

from __future__ import annotations

from typing import Any

from highwater.model.kraft.bounds import KraftBounds, partitions
from highwater.model.kraft.image import Standing
from highwater.model.kraft.metadata_log import settled
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.registering import registered
from highwater.model.kraft.requests import fate_of_next
from highwater.model.kraft.state import Cluster, Proposal, View
from highwater.model.language.declarations import action
from highwater.model.log import brokers


def down(cluster: Cluster, broker: int) -> Cluster:
    """The broker after its process has ended. Its logs stay. Whom its shutdown waits for matters no more; that it is in
    controlled shutdown does, since others do not wait for it.
    """
    if broker in cluster.heartbeats.leaving:
        cluster = cluster.with_departure(broker, frozenset())
    for partition in cluster.partition_ids:
        gone: dict[str, Any] = {"view": None, "proposal": None, "missing": False, "fetcher_stopped": False}
        cluster = cluster.with_replica(broker, partition, **gone, restarted=frozenset())
    ended: dict[str, Any] = {"running": False, "stopping": False, "stopped_cleanly": False}
    return cluster.with_broker(broker, **ended, serves_fenced=False, unread=0)


@action(actor="broker", needs=lambda bounds: bounds.crashes, broker=brokers)
def crash(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker crashes and keeps its logs.

    Actor: the broker.
    Enabled: it runs; the budget allows it.
    Effect: it sends no heartbeats any more.
    """
    return down(cluster, broker).spending("crashes") if cluster.brokers[broker].running else None


@action(actor="broker", needs=lambda bounds: bounds.lossy_crashes, broker=brokers)
def crash_with_loss(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker's machine fails, and its logs lose committed records.

    Actor: the broker.
    Enabled: it runs and has every committed record of a partition; there are some; the budget allows it.
    Effect: it sends no heartbeats any more, and no log of it is complete.
    """
    ours = cluster.brokers[broker]
    if not ours.running or not any(replica.complete for replica in ours.replicas) or cluster.used.commits == 0:
        return None
    after = down(cluster, broker)
    for partition in cluster.partition_ids:
        after = after.with_replica(broker, partition, complete=False)
    return after.spending("lossy_crashes")


@action(actor="broker", needs=lambda bounds: bounds.restarts, broker=brokers)
def start(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """A broker that is down starts, and the controller registers it.

    Actor: the broker.
    Enabled: it is down, and its session has ended, whether the controller has fenced it yet or not; the budget allows
        it. Until the session ends, the controller refuses another incarnation.
    Effect: it has a new broker epoch and is fenced. It has lost what the metadata log told it.
    Source: org.apache.kafka.controller.ClusterControlManager#registerBroker (3.5.1 to 4.3.1).
    """
    ours = cluster.brokers[broker]
    if ours.running or ours.broker_epoch >= bounds.restarts:
        return None
    epoch, present_end = ours.broker_epoch + 1, min(bounds.stops, 1)
    cluster = cluster.with_broker(
        broker, running=True, broker_epoch=epoch, knows_registration=False, unread=present_end
    )
    return settled(registered(cluster, broker, protocol, bounds))


@action(actor="broker", broker=brokers)
def send_heartbeat(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker sends a heartbeat to the active controller.

    Actor: the broker.
    Enabled: it runs and is registered.
    Effect: the controller has heard of it.
    Source: org.apache.kafka.controller.BrokerHeartbeatManager#touch (3.5.1 to 4.3.1).
    """
    if not cluster.brokers[broker].running or cluster.registrations[broker].standing is Standing.UNREGISTERED:
        return None
    return cluster.having_heard_of(broker)


def _follows(cluster: Cluster, leader: int, follower: int, partition: int) -> bool:
    """Whether a follower fetches: the leader that it knows runs and knows that it leads in the same epoch, and both
    know that the follower is a replica.

    Source: kafka.cluster.Partition#fetchRecords, #followerReplicaOrThrow (3.5.1 to 3.9).
    """
    ours = cluster.brokers[follower]
    replica = ours.replicas[partition]
    if leader == follower or replica.directory_failed or replica.missing or replica.view is None:
        return False
    if replica.fetcher_stopped:
        return False
    theirs = cluster.view_as_leader(leader, partition)
    if theirs is None or replica.view.topic_id != theirs.topic_id:
        return False
    if follower not in replica.view.replicas or follower not in theirs.replicas:
        return False
    return replica.view.leader_epoch == theirs.leader_epoch


@action(actor="follower", leader=brokers, follower=brokers, partition=partitions)
def catch_up(cluster: Cluster, leader: int, follower: int, partition: int = 0) -> Cluster | None:
    """A follower fetches all that its leader has of a partition.

    Actor: the follower.
    Enabled: both run and know that this leader leads in this epoch and that the follower is a replica.
    Effect: it is complete if, and only if, the leader is.
    Abstracts: fetches, offsets and truncation; the model `partition` has them.
    """
    if not _follows(cluster, leader, follower, partition):
        return None
    cluster = _fetched(cluster, leader, follower, partition)
    return cluster.with_replica(follower, partition, complete=cluster.brokers[leader].replicas[partition].complete)


def _fetched(cluster: Cluster, leader: int, follower: int, partition: int) -> Cluster:
    """The cluster once a follower has fetched: the leader knows its broker epoch.

    Source: KIP-903; kafka.cluster.Replica#updateFetchState (3.5.1), #updateFetchStateOrThrow (3.7.0 to 3.9).
    """
    restarted = cluster.brokers[leader].replicas[partition].restarted
    return cluster.with_replica(leader, partition, restarted=restarted - {follower})


def _proposing(cluster: Cluster, leader: int, partition: int) -> View | None:
    """What a leader has learned of a partition for which it has asked for nothing."""
    view = cluster.view_as_leader(leader, partition)
    return view if cluster.brokers[leader].replicas[partition].proposal is None else None


@action(actor="leader", leader=brokers, follower=brokers, partition=partitions)
def propose_expansion(
    cluster: Cluster, leader: int, follower: int, bounds: KraftBounds, partition: int = 0
) -> Cluster | None:
    """A leader proposes to take a follower that has caught up into the ISR.

    Actor: the leader.
    Enabled: no proposal of its own for the partition is in flight; the follower follows it, is complete as it is, and
        not in the ISR.
    Effect: the request is in flight, with the broker epoch that the follower has now; with two partitions it is queued.
    Source: kafka.cluster.Partition#maybeExpandIsr (3.5.1 to 4.3.1), kafka.server.DefaultAlterPartitionManager#submit
        (3.5.1 to 3.9).
    """
    view = _proposing(cluster, leader, partition)
    if view is None or not _follows(cluster, leader, follower, partition):
        return None
    ours, theirs = cluster.brokers[leader].replicas[partition], cluster.brokers[follower]
    if follower in view.isr:
        return None
    if ours.complete and not theirs.replicas[partition].complete:
        return None
    cluster, epochs = _fetched(cluster, leader, follower, partition), (view.leader_epoch, view.partition_epoch)
    outdated = bool(cluster.brokers[leader].replicas[partition].restarted)
    proposal = Proposal(follower, theirs.broker_epoch, None, *epochs, fate_of_next(bounds), view.topic_id, outdated)
    return cluster.with_replica(leader, partition, proposal=proposal)


@action(actor="leader", needs=lambda bounds: bounds.shrinks, leader=brokers, follower=brokers, partition=partitions)
def propose_shrink(
    cluster: Cluster, leader: int, follower: int, bounds: KraftBounds, partition: int = 0
) -> Cluster | None:
    """A leader proposes to take a slow follower out of the ISR.

    Actor: the leader.
    Enabled: no proposal of its own for the partition is in flight; the follower is in the ISR; the budget allows it.
    Effect: the request is in flight; with two partitions it is queued.
    Source: kafka.cluster.Partition#maybeShrinkIsr (3.5.1 to 4.3.1).
    """
    view = _proposing(cluster, leader, partition)
    if leader == follower or view is None or follower not in view.isr:
        return None
    ours = cluster.brokers[leader].replicas[partition]
    fate, outdated = fate_of_next(bounds), bool(ours.restarted & view.isr - {follower})
    proposal = Proposal(None, 0, follower, view.leader_epoch, view.partition_epoch, fate, view.topic_id, outdated)
    return cluster.with_replica(leader, partition, proposal=proposal).spending("shrinks")


@action(actor="leader", needs=lambda bounds: bounds.commits, leader=brokers, partition=partitions)
def commit(cluster: Cluster, leader: int, protocol: KraftProtocol, partition: int = 0) -> Cluster | None:
    """A leader commits records: every member of the ISR that it knows has them.

    Actor: the leader.
    Enabled: its topic is not deleted; the ISR that it knows has min.insync.replicas, or since KAFKA-15583 all replicas
        that it knows if these are fewer; its members, and whom it has asked to take in, follow it; the budget allows
        it.
    Effect: who is not among these is no longer complete.
    Source: kafka.cluster.Partition#appendRecordsToLeader (3.5.1 to 4.3.1), #effectiveMinIsr (3.7.0 to 4.3.1).
    """
    ours, view = cluster.brokers[leader].replicas[partition], cluster.view_as_leader(leader, partition)
    if view is None:
        return None
    members = view.isr
    if view.topic_id != cluster.committed.partitions[partition].topic_id:
        return None
    needed = view.min_isr
    if protocol.leader_caps_min_isr:
        needed = min(needed, len(view.replicas))
    if leader not in members or len(members) < needed:
        return None
    if ours.proposal is not None and ours.proposal.newcomer is not None:
        members = members | {ours.proposal.newcomer}
    if not all(member == leader or _follows(cluster, leader, member, partition) for member in members):
        return None
    for broker in cluster.ids:
        if broker in members:
            cluster = _fetched(cluster, leader, broker, partition)
        else:
            cluster = cluster.with_replica(broker, partition, complete=False)
    return cluster.spending("commits")


@action(actor="broker", needs=lambda bounds: bounds.shutdowns, broker=brokers)
def begin_shutdown(cluster: Cluster, broker: int) -> Cluster | None:
    """Somebody stops a broker by SIGTERM.

    Actor: the broker.
    Enabled: it runs and is unfenced; the budget allows it.
    Effect: its heartbeats say that it wants to shut down.
    """
    ours = cluster.brokers[broker]
    if not ours.running or ours.stopping or not cluster.is_unfenced(broker):
        return None
    return cluster.with_broker(broker, stopping=True).spending("shutdowns")


@action(actor="broker", needs=lambda bounds: bounds.shutdowns, broker=brokers)
def stop(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker that wants to shut down learns that it may, and ends.

    Actor: the broker.
    Enabled: it is fenced, and that is committed. The controller lets a fenced broker shut down at once.
    Effect: it is down, in order.
    Source: org.apache.kafka.controller.BrokerHeartbeatManager#calculateNextBrokerState (3.5.1 to 4.3.1).
    """
    ours = cluster.brokers[broker]
    if not ours.stopping:
        return None
    fenced = cluster.committed.registrations[broker].standing is Standing.FENCED
    return down(cluster, broker).with_broker(broker, stopped_cleanly=True) if fenced else None


@action(actor="broker", needs=lambda bounds: bounds.shutdown_limit and bounds.shutdowns, broker=brokers)
def end_unapproved(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker that wants to shut down has waited for five minutes, and ends without the controller's approval.

    Actor: the broker.
    Enabled: it wants to shut down; the bound allows it.
    Effect: it is down, in order: its logs are closed. The controller fences it once its session has ended.
    Abstracts: the time: it may end at any moment.
    Source: kafka.server.BrokerServer#shutdown (3.3.0 to 4.3.1).
    """
    if not cluster.brokers[broker].stopping:
        return None
    return down(cluster, broker).with_broker(broker, stopped_cleanly=True)


@action(actor="broker", needs=lambda bounds: bounds.directory_failures, broker=brokers, partition=partitions)
def fail_directory(cluster: Cluster, broker: int, partition: int = 0) -> Cluster | None:
    """The log directory of a broker's replica fails. The broker goes on with its other directories.

    Actor: the broker.
    Enabled: it runs; the budget allows it.
    Effect: the replica is offline, and what it had is out of reach. A replica of a deleted topic had nothing of the
        topic that there is now.
    Source: kafka.server.ReplicaManager#handleLogDirFailure (3.5.1 to 4.3.1).
    """
    ours = cluster.brokers[broker]
    if not ours.running or ours.replicas[partition].directory_failed:
        return None
    after = cluster.with_replica(broker, partition, directory_failed=True)
    if ours.replicas[partition].topic_id == cluster.partitions[partition].topic_id:
        after = after.with_replica(broker, partition, complete=False)
    return after.spending("directory_failures")


DISTURBING = (crash, crash_with_loss, fail_directory, propose_shrink, commit, begin_shutdown)
HEALING = (send_heartbeat, catch_up, propose_expansion, stop, end_unapproved)
RETURNS = (start,)
