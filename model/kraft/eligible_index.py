"""The controller's index of who is in which ELR. It agrees with the partitions, unless ELRs were emptied behind it."""

from __future__ import annotations

from highwater.model.kraft.bounds import KraftBounds
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.state import Cluster
from highwater.model.language.records import evolve


def eligible(cluster: Cluster) -> frozenset[int]:
    """Who is in an ELR of the topic."""
    found = frozenset[int]()
    for partition in cluster.partition_ids:
        found = found | cluster.partitions[partition].elr
    return found


def with_emptied_elrs(before: Cluster, after: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster:
    """The cluster after a record that empties the topic's ELRs: the index names their members still. That matters only
    if the topic may be deleted.

    Source: org.apache.kafka.controller.ReplicationControlManager#removeTopicElrs (4.0.0 to 4.3.1); other changes of a
        partition go through #updatePartitionInfo and org.apache.kafka.controller.BrokersToElrs#update (3.8.0 to 4.3.1).
    """
    if protocol.index_follows_emptied_elrs or not bounds.topic_deletions:
        return after
    return evolve(after, stale=evolve(after.stale, of_topic=before.stale.of_topic | eligible(before)))


def with_deleted_topic(cluster: Cluster) -> Cluster:
    """The cluster before its topic is deleted: the members of the present ELRs leave the index.

    Source: org.apache.kafka.controller.ReplicationControlManager#replay(RemoveTopicRecord), org.apache.kafka.controller
        .BrokersToElrs#removeTopicEntryForBroker (3.8.0 to 4.3.1).
    """
    stale = cluster.stale
    if not stale.of_topic:
        return cluster
    left = stale.of_topic - eligible(cluster)
    return evolve(cluster, stale=evolve(stale, of_topic=frozenset(), of_deleted=stale.of_deleted | left))


def is_turned_away(cluster: Cluster, broker: int) -> bool:
    """Whether a broker runs and no controller can register it. It sends no heartbeats.

    Source: org.apache.kafka.controller.ReplicationControlManager#generateLeaderAndIsrUpdates (3.7.0 to 4.3.1), for a
        topic that is not there.
    """
    if broker not in cluster.stale.of_deleted:
        return False
    return cluster.registrations[broker].broker_epoch != cluster.brokers[broker].broker_epoch
