"""AlterPartition requests: what a leader wants is queued, sent, and answered.

A broker has one request in flight. It asks for everything that the broker's partitions wanted when it was sent, and is
answered partition by partition.
"""

from __future__ import annotations

from highwater.model.kraft.bounds import KraftBounds
from highwater.model.kraft.state import Cluster, Fate
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers

ASKED = (Fate.IN_FLIGHT, Fate.APPENDED, Fate.OUT_OF_DATE, Fate.INELIGIBLE)
"""Of a request that is not answered."""
DECIDED = (Fate.APPENDED, Fate.OUT_OF_DATE, Fate.INELIGIBLE)
"""Of a request that is answered once what was granted is committed."""


def fate_of(cluster: Cluster, leader: int, partition: int) -> Fate | None:
    """What has become of what a leader asks for a partition, if it asks for anything."""
    proposal = cluster.brokers[leader].replicas[partition].proposal
    return None if proposal is None else proposal.fate


def has_fate(cluster: Cluster, leader: int, partition: int, *fates: Fate) -> bool:
    fate = fate_of(cluster, leader, partition)
    return any(fate is each for each in fates)


def with_fate(cluster: Cluster, leader: int, partition: int, fate: Fate) -> Cluster:
    proposal = cluster.brokers[leader].replicas[partition].proposal
    return cluster.with_replica(leader, partition, proposal=evolve(proposal, fate=fate))


def fate_of_next(bounds: KraftBounds) -> Fate:
    """The fate of what a leader wants next. With one partition it is sent at once."""
    return Fate.QUEUED if bounds.partitions > 1 else Fate.IN_FLIGHT


@action(actor="leader", needs=lambda bounds: bounds.partitions > 1, leader=brokers)
def send_request(cluster: Cluster, leader: int) -> Cluster | None:
    """A leader sends an AlterPartition request.

    Actor: the leader.
    Enabled: something is queued, and no request of its own is in flight. One of partitions that the model does not have
        may be, so that it may wait.
    Effect: the request asks for all that is queued.
    Source: kafka.server.DefaultAlterPartitionManager#maybePropagateIsrChanges (3.5.1 to 3.9).
    """
    after = cluster
    for partition in cluster.partition_ids:
        if has_fate(cluster, leader, partition, *ASKED):
            return None
        if has_fate(cluster, leader, partition, Fate.QUEUED):
            after = with_fate(after, leader, partition, Fate.IN_FLIGHT)
    return None if after is cluster else after


def answered(cluster: Cluster, leader: int) -> Cluster:
    """A leader learns the answer to its request.

    Source: kafka.server.DefaultAlterPartitionManager#handleAlterPartitionResponse (3.5.1 to 3.9).
    """
    for partition in cluster.partition_ids:
        cluster = settled(cluster, leader, partition)
    return cluster


def settled(cluster: Cluster, leader: int, partition: int) -> Cluster:
    """A leader learns the answer about one partition: what the request has made of it, which is committed now. If it
    was granted, the leader knows the ISR and the partition epoch, and nothing else: not the replicas, nor
    min.insync.replicas. It ignores what is of another leader epoch than its own, which the request itself may have
    begun, and waits for the metadata.

    Source: kafka.cluster.Partition#handleAlterPartitionUpdate, #handleAlterPartitionError (3.5.1 to 4.3.1).
    """
    fate = fate_of(cluster, leader, partition)
    now, view = cluster.committed.partitions[partition], cluster.brokers[leader].replicas[partition].view
    if fate is Fate.APPENDED and view is not None:
        if now.leader_epoch != view.leader_epoch:
            return with_fate(cluster, leader, partition, Fate.REFUSED)
        view = evolve(view, isr=now.isr, partition_epoch=now.partition_epoch)
        return cluster.with_replica(leader, partition, proposal=None, view=view)
    if fate is Fate.OUT_OF_DATE:
        return with_fate(cluster, leader, partition, Fate.REFUSED)
    return cluster.with_replica(leader, partition, proposal=None) if fate is Fate.INELIGIBLE else cluster


def sent_again(cluster: Cluster, leader: int) -> Cluster:
    """A leader whose request was not answered sends the same one again.

    Source: kafka.server.NodeToControllerRequestThread#handleResponse (3.7.0 to 3.9).
    """
    for partition in cluster.partition_ids:
        if has_fate(cluster, leader, partition, *DECIDED):
            cluster = with_fate(cluster, leader, partition, Fate.IN_FLIGHT)
    return cluster
