"""Topics: the controller deletes one and creates another of the same name; brokers delete and create replicas."""

from __future__ import annotations

from highwater.model.kraft.bounds import KraftBounds
from highwater.model.kraft.eligible_index import with_deleted_topic
from highwater.model.kraft.image import Partition, Standing, created
from highwater.model.kraft.metadata_log import appended
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.state import Cluster
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers


@action(actor="controller", needs=lambda bounds: bounds.topic_deletions)
def delete_topic(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody deletes the topic.

    Actor: the controller.
    Enabled: there is one; the budget allows it.
    Effect: it is gone at once, with its configuration and any reassignment. Brokers delete its logs once they have read
        so.
    Source: org.apache.kafka.controller.ReplicationControlManager#deleteTopic, #replay(RemoveTopicRecord) (3.5.1 to
        4.3.1).
    """
    if not cluster.partitions[0].replicas:
        return None
    after = with_deleted_topic(cluster.spending("topic_deletions"))
    gone = created((), frozenset(), leader=None, topic_id=cluster.partitions[0].topic_id + 1)
    partitions = (gone,) * len(cluster.partitions)
    return appended(cluster, evolve(after, partitions=partitions, min_isr=bounds.min_isr), protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.topic_deletions, first=brokers)
def create_topic(cluster: Cluster, first: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody creates a topic of the same name, with as many replicas as the first one had.

    Actor: the controller.
    Enabled: the deletion of the last one is committed; one of each partition's replicas is active.
    Effect: the active replicas are the ISR, and the first of them leads. All partitions have the same replicas. Leader
        epoch and partition epoch begin anew, under another topic id. No replica lacks a record yet.
    Abstracts: other assignments: after the first replica the others come in the order of their ids.
    Source: org.apache.kafka.controller.ReplicationControlManager#createTopic (3.5.1 to 4.3.1).
    """
    if cluster.partitions[0].replicas or cluster.committed.partitions[0].replicas:
        return None
    others = tuple(broker for broker in cluster.ids if broker != first)
    replicas = (first, *others)[: bounds.replication_factor]
    isr = tuple(replica for replica in replicas if cluster.registrations[replica].standing is Standing.UNFENCED)
    if not isr:
        return None
    fresh = created(replicas, frozenset(isr), leader=isr[0], topic_id=cluster.partitions[0].topic_id)
    number = len(cluster.partitions)
    after = evolve(cluster, partitions=(fresh,) * number, used=evolve(cluster.used, commits=0))
    for broker in cluster.ids:
        after = after.with_registration(broker, directories_failed=(False,) * number)
        for partition in cluster.partition_ids:
            after = after.with_replica(broker, partition, complete=True)
    return appended(cluster, after, protocol, bounds)


def with_replica_of(cluster: Cluster, broker: int, partition: int, now: Partition, protocol: KraftProtocol) -> Cluster:
    """The cluster after a broker has learned that a partition is so `now`: it deletes its log of another topic, and of
    a partition that it is no longer assigned.

    A broker that starts finds stray logs on its disks. Until KAFKA-14616 it deleted them last, so that it made no
    replica of a new topic with the same name.
    Source: org.apache.kafka.image.TopicDelta#localChanges, kafka.server.ReplicaManager#applyDelta (3.5.1 to 4.3.1),
        kafka.log.LogManager#deleteStrayKRaftReplicas (3.7.0), kafka.server.metadata.BrokerMetadataPublisher
        #finishInitializingReplicaManager (3.6.2).
    """
    ours = cluster.brokers[broker].replicas[partition]
    if ours.topic_id == now.topic_id:
        stopped = now.replicas and broker not in now.replicas
        return cluster.with_replica(broker, partition, complete=False) if stopped else cluster
    starts = ours.view is None and not protocol.stray_logs_deleted_first
    missing = starts and broker in now.replicas
    fresh = {"topic_id": now.topic_id, "directory_failed": False, "missing": missing, "proposal": None}
    return cluster.with_replica(broker, partition, **fresh)
