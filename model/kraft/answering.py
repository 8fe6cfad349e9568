"""What becomes of what a leader asks for in AlterPartition requests.

A broker has one request in flight. It asks for everything that the broker's partitions want to change by then, and is
answered partition by partition.
"""

from __future__ import annotations

from model.kraft.changing import view_of
from model.kraft.state import Cluster, Fate
from model.language.records import evolve

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


def fate_of_next(cluster: Cluster, leader: int, partition: int) -> Fate:
    """The fate of what a leader asks for next: it waits while a request of other partitions is not answered.

    Source: kafka.server.DefaultAlterPartitionManager#maybePropagateIsrChanges (3.5.1 to 3.9).
    """
    others = (other for other in cluster.partition_ids if other != partition)
    waits = any(has_fate(cluster, leader, other, *ASKED) for other in others)
    return Fate.QUEUED if waits else Fate.IN_FLIGHT


def answered(cluster: Cluster, leader: int) -> Cluster:
    """A leader learns the answer to its request. The next one is sent.

    Source: kafka.server.DefaultAlterPartitionManager#handleAlterPartitionResponse (3.5.1 to 3.9).
    """
    for partition in cluster.partition_ids:
        cluster = settled(cluster, leader, partition)
    return next_sent(cluster, leader)


def settled(cluster: Cluster, leader: int, partition: int) -> Cluster:
    """A leader learns the answer about one partition. If what it asked for was granted, it knows the ISR, unless
    another broker leads now: then it learns only that.

    Source: kafka.cluster.Partition#handleAlterPartitionUpdate, #handleAlterPartitionError (3.5.1 to 4.3.1).
    """
    fate = fate_of(cluster, leader, partition)
    if fate is Fate.APPENDED:
        if cluster.committed.partitions[partition].leader != leader:
            return with_fate(cluster, leader, partition, Fate.REFUSED)
        return cluster.with_replica(leader, partition, proposal=None, view=view_of(cluster.committed, partition))
    if fate is Fate.OUT_OF_DATE:
        return with_fate(cluster, leader, partition, Fate.REFUSED)
    return cluster.with_replica(leader, partition, proposal=None) if fate is Fate.INELIGIBLE else cluster


def next_sent(cluster: Cluster, leader: int) -> Cluster:
    """A leader whose request is answered sends what has waited meanwhile."""
    for partition in cluster.partition_ids:
        if has_fate(cluster, leader, partition, Fate.QUEUED):
            cluster = with_fate(cluster, leader, partition, Fate.IN_FLIGHT)
    return cluster


def sent_again(cluster: Cluster, leader: int) -> Cluster:
    """A leader whose request was not answered sends it again, with what has waited meanwhile."""
    for partition in cluster.partition_ids:
        if has_fate(cluster, leader, partition, *DECIDED, Fate.QUEUED):
            cluster = with_fate(cluster, leader, partition, Fate.IN_FLIGHT)
    return cluster
