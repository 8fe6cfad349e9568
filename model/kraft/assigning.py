"""Log directories: a broker tells the controller in which one it has a replica (KIP-858)."""

from __future__ import annotations

from highwater.model.kraft.bounds import KraftBounds, partitions
from highwater.model.kraft.changing import effective_min_isr, registration_of, replayed
from highwater.model.kraft.image import Standing
from highwater.model.kraft.metadata_log import appended
from highwater.model.kraft.partition_change import AssignedDirectory, assignment_of
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.state import Cluster
from highwater.model.language.declarations import action
from highwater.model.log import brokers


@action(actor="controller", needs=lambda bounds: bounds.directory_assignments, broker=brokers, partition=partitions)
def assign_directory(
    cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds, partition: int = 0
) -> Cluster | None:
    """The controller learns that a broker has a replica in another of its log directories, since an operator has moved
    it there, or since the replica is new.

    Actor: the controller.
    Enabled: the metadata version has directories; the broker runs and is registered so, be it fenced; it has the
        replica; the budget allows it.
    Effect: the record names the directory, and begins a partition epoch. Until 4.2 it is made as if there were no ELR:
        nobody is eligible any more.
    Abstracts: which directory it is, and one that has failed; that a broker asks until it has its answer.
    Source: KIP-858; org.apache.kafka.controller.ReplicationControlManager#handleAssignReplicasToDirs (3.7.0 to 4.4.0),
        org.apache.kafka.server.AssignmentsManager#onAssignment (3.7.0 to 4.4.0).
    """
    ours, registration = cluster.brokers[broker], cluster.registrations[broker]
    is_registered = (
        registration.broker_epoch == ours.broker_epoch and registration.standing is not Standing.UNREGISTERED
    )
    if protocol.assigned_directory is AssignedDirectory.NOT_RECORDED or not ours.running or not is_registered:
        return None
    if not _has_replica(cluster, broker, partition):
        return None
    record = assignment_of(
        registration_of(cluster, partition),
        effective_min_isr(cluster),
        lambda other: cluster.is_active(other, partition),
        protocol.rules,
    )
    return appended(cluster, replayed(cluster.spending("directory_assignments"), partition, record), protocol, bounds)


def _has_replica(cluster: Cluster, broker: int, partition: int) -> bool:
    """Whether a broker has a replica, knows that it is assigned, and so does the controller; and the directory works,
    as far as either knows.
    """
    replica, now = cluster.brokers[broker].replicas[partition], cluster.partitions[partition]
    if replica.view is None or replica.missing or replica.topic_id != now.topic_id:
        return False
    works = not replica.directory_failed and not cluster.registrations[broker].directories_failed[partition]
    return works and broker in now.replicas and broker in replica.view.replicas
