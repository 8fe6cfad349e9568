"""Brokers: they crash, start, read the metadata log, fetch, propose another ISR, commit and shut down."""

from __future__ import annotations

from model.kraft.bounds import KraftBounds
from model.kraft.changing import view_of
from model.kraft.protocol import KraftProtocol
from model.kraft.registering import registered
from model.kraft.state import Cluster, Fate, Proposal, Standing
from model.kraft.topics import with_replica_of
from model.language.declarations import action
from model.language.records import evolve
from model.log import brokers


def down(cluster: Cluster, broker: int) -> Cluster:
    """The broker after its process has ended. Its log stays."""
    return cluster.with_broker(
        broker, running=False, stopping=False, view=None, proposal=None, missing=False, waits_for=frozenset[int]()
    )


@action(actor="broker", needs=lambda bounds: bounds.crashes, broker=brokers)
def crash(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker crashes and keeps its log.

    Actor: the broker.
    Enabled: it runs; the budget allows it.
    Effect: it sends no heartbeats any more.
    """
    return down(cluster, broker).spending("crashes") if cluster.brokers[broker].running else None


@action(actor="broker", needs=lambda bounds: bounds.lossy_crashes, broker=brokers)
def crash_with_loss(cluster: Cluster, broker: int) -> Cluster | None:
    """A broker's machine fails, and its log loses committed records.

    Actor: the broker.
    Enabled: it runs and has every committed record; there are some; the budget allows it.
    Effect: it sends no heartbeats any more, and is no longer complete.
    """
    ours = cluster.brokers[broker]
    if not ours.running or not ours.complete or not cluster.used.commits:
        return None
    return down(cluster, broker).with_broker(broker, complete=False).spending("lossy_crashes")


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
    cluster = cluster.with_broker(broker, running=True, broker_epoch=ours.broker_epoch + 1, knows_registration=False)
    return registered(cluster, broker, protocol, bounds).with_broker(broker, stopped_cleanly=False)


@action(actor="broker", broker=brokers)
def read_metadata(cluster: Cluster, broker: int, protocol: KraftProtocol) -> Cluster | None:
    """A broker reads the metadata log as far as it is committed.

    Actor: the broker.
    Enabled: it runs.
    Effect: it knows leader, ISR and epochs of the partition. A leader that waited for newer metadata may ask again.
        If the topic is another one, the log of the former is deleted.
        Before KAFKA-16234 a record of the partition made a broker create a new log in another directory, if that of its
        replica had failed.
    Abstracts: stops on the way; a broker learns several records at once.
    Source: kafka.server.metadata.BrokerMetadataPublisher#onMetadataUpdate, kafka.server.ReplicaManager#applyDelta
        (3.5.1 to 4.3.1), #getOrCreatePartition (3.7.0 to 4.3.1).
    """
    ours, image = cluster.brokers[broker], cluster.committed
    if not ours.running:
        return None
    for other in cluster.ids:
        if broker in cluster.brokers[other].waits_for and _can_read_departure(cluster, other, protocol):
            cluster = cluster.with_broker(other, waits_for=cluster.brokers[other].waits_for - {broker})
    if protocol.compares_with_end:
        cluster = evolve(cluster, at_end=cluster.at_end | {broker})
    proposal = ours.proposal
    refused = proposal is not None and proposal.fate is Fate.REFUSED
    if refused and proposal.partition_epoch != image.partition.partition_epoch:
        cluster = cluster.with_broker(broker, proposal=None)
    if ours.directory_failed and not protocol.failed_directories_avoided and _has_news(cluster, broker):
        cluster = cluster.with_broker(broker, directory_failed=False)
    cluster = with_replica_of(cluster, broker, image.partition, protocol)
    registered = image.registrations[broker].broker_epoch == ours.broker_epoch
    return cluster.with_broker(broker, view=view_of(image), knows_registration=registered)


def _has_news(cluster: Cluster, broker: int) -> bool:
    """Whether the metadata log has a record of the partition that a broker has not read."""
    view = cluster.brokers[broker].view
    partition = cluster.committed.partition
    return view is None or view.partition_epoch != partition.partition_epoch or view.topic_id != partition.topic_id


def _can_read_departure(cluster: Cluster, broker: int, protocol: KraftProtocol) -> bool:
    """Whether what must be read before a broker may shut down is committed."""
    if not protocol.shutdown_offset_kept:
        return not cluster.tail
    return cluster.committed.registrations[broker].standing is Standing.LEAVING


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
    return evolve(cluster, contacted=cluster.contacted | {broker})


def _follows(cluster: Cluster, leader: int, follower: int) -> bool:
    """Whether the leader that a follower knows runs and knows that it leads in the same epoch."""
    ours = cluster.brokers[follower]
    if leader == follower or not ours.running or ours.directory_failed or ours.missing or ours.view is None:
        return False
    if not cluster.leads(leader) or ours.view.topic_id != cluster.brokers[leader].view.topic_id:
        return False
    return ours.view.leader == leader and ours.view.leader_epoch == cluster.brokers[leader].view.leader_epoch


@action(actor="follower", leader=brokers, follower=brokers)
def catch_up(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """A follower fetches all that its leader has.

    Actor: the follower.
    Enabled: both run and know that this leader leads in this epoch; the follower is assigned.
    Effect: it is complete if, and only if, the leader is.
    Abstracts: fetches, offsets and truncation; the model `partition` has them.
    """
    if not _follows(cluster, leader, follower) or follower not in cluster.partition.replicas:
        return None
    return cluster.with_broker(follower, complete=cluster.brokers[leader].complete)


def _proposing(cluster: Cluster, leader: int) -> bool:
    return cluster.leads(leader) and cluster.brokers[leader].proposal is None


@action(actor="leader", leader=brokers, follower=brokers)
def propose_expansion(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """A leader proposes to take a follower that has caught up into the ISR.

    Actor: the leader.
    Enabled: no proposal of its own is in flight; the follower follows it, is complete as it is, and not in the ISR.
    Effect: the request is in flight, with the broker epoch that the follower has now.
    Source: kafka.cluster.Partition#maybeExpandIsr (3.5.1 to 4.3.1).
    """
    if not _proposing(cluster, leader) or not _follows(cluster, leader, follower):
        return None
    ours, theirs = cluster.brokers[leader], cluster.brokers[follower]
    if follower in ours.view.isr or follower not in cluster.partition.replicas:
        return None
    if ours.complete and not theirs.complete:
        return None
    epochs = ours.view.leader_epoch, ours.view.partition_epoch
    proposal = Proposal(follower, theirs.broker_epoch, None, *epochs, Fate.IN_FLIGHT, ours.view.topic_id)
    return cluster.with_broker(leader, proposal=proposal)


@action(actor="leader", needs=lambda bounds: bounds.shrinks, leader=brokers, follower=brokers)
def propose_shrink(cluster: Cluster, leader: int, follower: int) -> Cluster | None:
    """A leader proposes to take a slow follower out of the ISR.

    Actor: the leader.
    Enabled: no proposal of its own is in flight; the follower is in the ISR; the budget allows it.
    Effect: the request is in flight.
    Source: kafka.cluster.Partition#maybeShrinkIsr (3.5.1 to 4.3.1).
    """
    if leader == follower or not _proposing(cluster, leader):
        return None
    view = cluster.brokers[leader].view
    if follower not in view.isr:
        return None
    proposal = Proposal(None, 0, follower, view.leader_epoch, view.partition_epoch, Fate.IN_FLIGHT, view.topic_id)
    return cluster.with_broker(leader, proposal=proposal).spending("shrinks")


@action(actor="leader", needs=lambda bounds: bounds.commits, leader=brokers)
def commit(cluster: Cluster, leader: int) -> Cluster | None:
    """A leader commits records: every member of the ISR that it knows has them.

    Actor: the leader.
    Enabled: its topic is not deleted; the ISR that it knows has min.insync.replicas; its members, and whom it has asked
        to take in, follow it; the budget allows it.
    Effect: who is not among these is no longer complete.
    """
    if not cluster.leads(leader):
        return None
    ours = cluster.brokers[leader]
    members = ours.view.isr
    if ours.view.topic_id != cluster.committed.partition.topic_id:
        return None
    if leader not in members or len(members) < ours.view.min_isr:
        return None
    if ours.proposal is not None and ours.proposal.newcomer is not None:
        members = members | {ours.proposal.newcomer}
    if not all(member == leader or _follows(cluster, leader, member) for member in members):
        return None
    for broker in cluster.ids:
        if broker not in members:
            cluster = cluster.with_broker(broker, complete=False)
    return cluster.spending("commits")


@action(actor="broker", needs=lambda bounds: bounds.shutdowns, broker=brokers)
def begin_shutdown(cluster: Cluster, broker: int) -> Cluster | None:
    """Somebody stops a broker by SIGTERM.

    Actor: the broker.
    Enabled: it runs and is unfenced; the budget allows it.
    Effect: its heartbeats say that it wants to shut down.
    """
    ours = cluster.brokers[broker]
    if not ours.running or ours.stopping or not cluster.is_active(broker):
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
    if not ours.running or not ours.stopping:
        return None
    fenced = cluster.committed.registrations[broker].standing is Standing.FENCED
    return down(cluster, broker).with_broker(broker, stopped_cleanly=True) if fenced else None


@action(actor="broker", needs=lambda bounds: bounds.directory_failures, broker=brokers)
def fail_directory(cluster: Cluster, broker: int) -> Cluster | None:
    """The log directory of a broker's replica fails. The broker goes on with its other directories.

    Actor: the broker.
    Enabled: it runs; the budget allows it.
    Effect: the replica is offline, and what it had is out of reach.
    Source: kafka.server.ReplicaManager#handleLogDirFailure (3.5.1 to 4.3.1).
    """
    ours = cluster.brokers[broker]
    if not ours.running or ours.directory_failed:
        return None
    after = cluster.with_broker(broker, directory_failed=True, complete=False)
    return after.spending("directory_failures")


DISTURBING = (crash, crash_with_loss, fail_directory, propose_shrink, commit, begin_shutdown)
HEALING = (read_metadata, send_heartbeat, catch_up, propose_expansion, stop)
RETURNS = (start,)
