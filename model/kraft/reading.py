"""Brokers read the metadata log, each at its own pace, and learn of their partitions."""

from __future__ import annotations

from highwater.model.kraft.bounds import KraftBounds
from highwater.model.kraft.changing import view_of
from highwater.model.kraft.image import Image, Partition, Standing
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.state import Broker, Cluster, Fate, View
from highwater.model.kraft.topics import with_replica_of
from highwater.model.language.declarations import action
from highwater.model.language.domain import Integers
from highwater.model.language.records import evolve
from highwater.model.log import brokers


def earlier_ends(bounds: KraftBounds) -> Integers:
    return Integers(0, bounds.stops)


@action(actor="broker", broker=brokers, back=earlier_ends)
def read_metadata(
    cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds, back: int = 0
) -> Cluster | None:
    """A broker reads the metadata log as far as it is committed, or up to an earlier committed end.

    Actor: the broker.
    Enabled: it runs. There is an end that many committed batches back, and the broker has not read so far. At
        first it reads at least as far as the metadata log was committed when it started.
    Effect: it knows leader, ISR and epochs of each partition, unless it has learned of newer ones by an answer, which
        a leader forgot before KAFKA-13790. A leader that waited for newer metadata may ask again. A broker that shuts
        down did not become a follower before KAFKA-14296. If the topic is another one, the log of the former is
        deleted.
        Before KAFKA-16234 a record of the partition made a broker create a new log in another directory, if that of its
        replica had failed.
    Abstracts: stops further back than the bound `stops`; a broker learns several records at once.
    Source: org.apache.kafka.image.loader.MetadataLoader#handleCommit, #stillNeedToCatchUp,
        kafka.server.metadata.BrokerMetadataPublisher#onMetadataUpdate, kafka.server.ReplicaManager#applyDelta,
        kafka.cluster.Partition#makeLeader, #makeFollower (3.5.1 to 4.3.1), kafka.server.ReplicaManager
        #getOrCreatePartition (3.7.0 to 4.3.1).
    """
    ours = cluster.brokers[broker]
    if not ours.running or (back and back >= ours.unread):
        return None
    image = cluster.read_up_to(back)
    for other in cluster.ids:
        awaited = cluster.heartbeats.waits_for[other]
        if broker in awaited and _has_departed(cluster, other, back, protocol, bounds):
            cluster = cluster.with_departure(other, awaited - {broker})
    if not back:
        cluster = evolve(cluster, at_end=cluster.at_end | {broker})
    for partition in cluster.partition_ids:
        cluster = _with_news(cluster, broker, partition, image, protocol)
    registered = image.registrations[broker].broker_epoch == ours.broker_epoch
    return cluster.with_broker(broker, knows_registration=registered, unread=back)


def _with_news(cluster: Cluster, broker: int, partition: int, image: Image, protocol: KraftProtocol) -> Cluster:
    """The cluster after a broker has read what the metadata log says of a partition."""
    replica, now = cluster.brokers[broker].replicas[partition], image.partitions[partition]
    proposal, view = replica.proposal, replica.view
    is_older = view is not None and now.topic_id == view.topic_id and now.partition_epoch < view.partition_epoch
    if is_older and protocol.older_metadata_skipped:
        return cluster
    if _is_skipped(cluster.brokers[broker], view, now, broker, protocol):
        return cluster
    if proposal is not None and proposal.fate is Fate.REFUSED and proposal.partition_epoch != now.partition_epoch:
        cluster = cluster.with_replica(broker, partition, proposal=None)
    if not protocol.failed_directories_avoided and _has_news(view, now):
        cluster = cluster.with_replica(broker, partition, directory_failed=False)
    stopped = replica.fetcher_stopped
    if _has_news(view, now) and broker in now.replicas:
        stopped = _stops_fetching(cluster, broker, partition, now, protocol)
    cluster = with_replica_of(cluster, broker, partition, now, protocol)
    restarted = replica.restarted & now.isr if now.leader == broker else frozenset[int]()
    seen = {"view": view_of(image, partition), "fetcher_stopped": stopped, "restarted": restarted}
    return cluster.with_replica(broker, partition, **seen)


def _is_skipped(ours: Broker, view: View | None, now: Partition, broker: int, protocol: KraftProtocol) -> bool:
    """Whether a broker does nothing about a partition that it follows, or that has no leader, because it shuts down.
    Before KAFKA-14296 it led on, if it had, and fetched on.

    Source: kafka.server.ReplicaManager#applyLocalFollowersDelta (3.3.1, 3.3.2).
    """
    if protocol.demoted_during_shutdown or not ours.stopping or view is None:
        return False
    return now.topic_id == view.topic_id and broker in now.replicas and now.leader != broker


def _stops_fetching(cluster: Cluster, broker: int, partition: int, now: Partition, protocol: KraftProtocol) -> bool:
    """Whether the fetcher of a partition is stopped once a broker has read a record of it. In controlled shutdown the
    broker stops it if the partition has no leader or its ISR lacks the broker; a new leader epoch starts another one.

    Source: kafka.server.ReplicaManager#applyLocalFollowersDelta (3.3.2 to 4.3.1). 3.2 reads nothing then
        (BrokerServer#shutdown): its brokers fetch in a leader epoch that is over.
    """
    ours = cluster.brokers[broker]
    if ours.stopping and protocol.shutdown_stops_fetchers and (now.leader is None or broker not in now.isr):
        return True
    view = ours.replicas[partition].view
    same_epoch = view is not None and view.leader_epoch == now.leader_epoch and view.topic_id == now.topic_id
    return same_epoch and ours.replicas[partition].fetcher_stopped


def _has_news(view: View | None, now: Partition) -> bool:
    """Whether the metadata log has a record of a partition that a broker has not read."""
    return view is None or view.partition_epoch != now.partition_epoch or view.topic_id != now.topic_id


def _has_departed(cluster: Cluster, broker: int, back: int, protocol: KraftProtocol, bounds: KraftBounds) -> bool:
    """Whether what must be read before a broker may shut down is said, to the last of its batches, up to the end that
    many committed batches back.
    """
    if not protocol.shutdown_offset_kept or not protocol.shutdowns_recorded:
        return not cluster.tail and not back
    image = cluster.read_up_to(back)
    if image.registrations[broker].standing is not Standing.LEAVING:
        return False
    return not bounds.split_batches or all(
        each.leader != broker and _has_left(each.isr, broker) for each in image.partitions
    )


def _has_left(isr: frozenset[int], broker: int) -> bool:
    """Without ELR, the last member stays in the ISR."""
    return broker not in isr or len(isr) == 1
