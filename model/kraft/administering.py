"""What operators ask the controller for: elections and reassignments."""

from __future__ import annotations

from highwater.model.kraft.bounds import KraftBounds, min_isrs, partitions, some_broker
from highwater.model.kraft.changing import (
    allows_unclean_elections,
    by_itself,
    by_partition,
    changed,
    recorded,
    registration_of,
    replayed,
)
from highwater.model.kraft.eligible_index import with_emptied_elrs
from highwater.model.kraft.metadata_log import appended
from highwater.model.kraft.partition import PartitionChange
from highwater.model.kraft.partition_change import ElectionKind, Target
from highwater.model.kraft.protocol import Cancelling, KraftProtocol
from highwater.model.kraft.reassignment import Cancelled, begun, cancelled
from highwater.model.kraft.state import Cluster
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve


@action(actor="controller", needs=lambda bounds: bounds.elections, partition=partitions)
def elect_preferred_leader(
    cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds, partition: int = 0
) -> Cluster | None:
    """Somebody asks for the preferred leader of a partition.

    Actor: the controller.
    Enabled: another replica leads, or none; the election changes something; the budget allows it.
    Effect: the first replica leads if it is active and in sync; if nobody leads, another one may.
    Source: org.apache.kafka.controller.ReplicationControlManager#electLeader (3.5.1 to 4.3.1).
    """
    if not is_imbalanced(cluster, partition):
        return None
    record = recorded(cluster, partition, protocol, Target(election=ElectionKind.PREFERRED))
    if record is None:
        return None
    return appended(cluster, replayed(cluster.spending("elections"), partition, record), protocol, bounds)


def is_imbalanced(cluster: Cluster, partition: int) -> bool:
    """Whether a partition is led by nobody or by another replica than the first one.

    Source: org.apache.kafka.metadata.PartitionRegistration#hasPreferredLeader (3.5.1 to 4.3.1).
    """
    now = cluster.partitions[partition]
    return bool(now.replicas) and now.leader != now.replicas[0]


@action(actor="controller", needs=lambda bounds: bounds.balancing)
def balance_leaders(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """The controller elects preferred leaders by itself.

    Actor: the controller.
    Enabled: a partition is led by another replica than the first one, or by nobody, and an election changes that.
    Effect: each such partition is led by its first replica if that is active and in sync; if nobody leads, another one
        may. All records are in one batch.
    Abstracts: the time between two attempts, and that one has at most 1,000 elections.
    Source: KAFKA-13682; org.apache.kafka.controller.ReplicationControlManager#maybeBalancePartitionLeaders (3.2.0 to
        4.3.1), org.apache.kafka.controller.QuorumController#maybeScheduleNextBalancePartitionLeaders (3.2.0 to 3.9).
    """

    def balanced(now: Cluster, partition: int) -> Cluster:
        if not is_imbalanced(now, partition):
            return now
        return replayed(now, partition, recorded(now, partition, protocol, Target(election=ElectionKind.PREFERRED)))

    *before, after = by_partition(cluster, balanced)
    return appended(cluster, after, protocol, bounds) if before else None


@action(actor="controller", needs=lambda bounds: bounds.unclean_elections, partition=partitions)
def elect_uncleanly(
    cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds, partition: int = 0
) -> Cluster | None:
    """Somebody asks for an unclean election of a partition's leader.

    Actor: the controller.
    Enabled: nobody leads; a replica is active; the budget allows it.
    Effect: who may be elected cleanly leads; else the last known leader, if it is active; else the first replica that
        is active, whatever it has.
    Source: org.apache.kafka.controller.ReplicationControlManager#electLeader (3.5.1 to 4.3.1),
        org.apache.kafka.controller.PartitionChangeBuilder#electAnyLeader (3.5.1 to 4.3.1).
    """
    if cluster.partitions[partition].leader is not None:
        return None
    wanted = Target(election=ElectionKind.UNCLEAN)
    after = changed(cluster.spending("unclean_elections"), partition, protocol, wanted)
    return None if after.partitions[partition].leader is None else appended(cluster, after, protocol, bounds)


@action(
    actor="controller",
    needs=lambda bounds: bounds.reassignments,
    leaver=some_broker,
    newcomer=some_broker,
    partition=partitions,
)
def reassign(
    cluster: Cluster,
    leaver: int | None,
    newcomer: int | None,
    protocol: KraftProtocol,
    bounds: KraftBounds,
    partition: int = 0,
) -> Cluster | None:
    """Somebody asks for another assignment of a partition: without one replica, with another, or both.

    Actor: the controller.
    Enabled: one replica stays, or another comes; the budget allows it.
    Effect: the reassignment is in progress. It is complete at once if the ISR has what it needs. It takes the place of
        one that is in progress, whose target is what it changes. Kafka notes what is added if the new one adds
        something, and likewise what is removed. Else the former's note stays: a reassignment back to the former
        replicas removes what is still noted as added. A request by which a newcomer would be elected at once fails: the
        controller looks for the newcomer's directory among those of the present replicas.
    Source: org.apache.kafka.controller.ReplicationControlManager#changePartitionReassignment (3.5.1 to 4.3.1),
        LeaderAcceptor#test, org.apache.kafka.metadata.PartitionRegistration#directory (3.7.0 to 4.3.1).
    """
    now = cluster.partitions[partition]
    wished = tuple(broker for broker in now.replicas if broker not in now.removing)
    if not now.replicas or (leaver is None and newcomer is None) or newcomer in wished:
        return None
    if leaver is not None and leaver not in wished:
        return None
    target = tuple(broker for broker in wished if broker != leaver)
    target = target if newcomer is None else (newcomer, *target)
    if not target:
        return None
    move = begun(tuple(now.replicas), target)
    wanted = Target(replicas=move.replicas, removing=move.removing or None, adding=move.adding or None)
    after = changed(cluster.spending("reassignments"), partition, protocol, wanted)
    if after.partitions[partition].leader not in (None, now.leader, *now.replicas):
        return None
    return appended(cluster, after, protocol, bounds)


def _may_cancel(cluster: Cluster, partition: int, back: Cancelled, protocol: KraftProtocol) -> bool:
    if protocol.cancelling is Cancelling.IF_ONE_IS_IN_SYNC:
        return not back.unclean or allows_unclean_elections(protocol)
    if protocol.cancelling is Cancelling.ALWAYS:
        return True
    return all(cluster.is_active(replica, partition) for replica in back.replicas)


@action(actor="controller", needs=lambda bounds: bounds.cancellations, partition=partitions)
def cancel_reassignment(
    cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds, partition: int = 0
) -> Cluster | None:
    """Somebody cancels the reassignment of a partition that is in progress.

    Actor: the controller.
    Enabled: one is in progress; a replica from before is in the ISR, since else it would take an unclean election; the
        budget allows it.
    Effect: the partition has the replicas from before.
    Source: org.apache.kafka.controller.ReplicationControlManager#cancelPartitionReassignment (3.5.1 to 4.3.1).
    """
    now = cluster.partitions[partition]
    if not now.removing and not now.adding:
        return None
    back = cancelled(registration_of(cluster, partition))
    if not _may_cancel(cluster, partition, back, protocol):
        return None
    election = by_itself(protocol)
    wanted = Target(isr=back.isr, replicas=back.replicas, removing=(), adding=(), election=election)
    after = changed(cluster.spending("cancellations"), partition, protocol, wanted)
    return appended(cluster, after, protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.min_isr_changes, min_isr=min_isrs)
def set_min_isr(cluster: Cluster, min_isr: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody sets the topic's min.insync.replicas.

    Actor: the controller.
    Enabled: it is another number; the budget allows it.
    Effect: the controller and, once they have read it, leaders go by it. Since KAFKA-16540 the ELR is emptied with it,
        and no last known leader is known. The controller's index of it stays as it was.
    Source: org.apache.kafka.controller.ConfigurationControlManager#createClearElrRecordsAsNeeded (4.0.0 to 4.3.1),
        org.apache.kafka.controller.ReplicationControlManager#removeTopicElrs (4.0.0 to 4.3.1).
    """
    if min_isr == cluster.min_isr or not cluster.partitions[0].replicas:
        return None
    after = evolve(cluster.spending("min_isr_changes"), min_isr=min_isr)
    if protocol.elr_cleared_with_min_isr:
        for partition in cluster.partition_ids:
            now = cluster.partitions[partition]
            if now.elr or now.last_known_leader is not None:
                after = replayed(after, partition, PartitionChange(elr=(), last_known_elr=()))
        after = with_emptied_elrs(cluster, after, protocol, bounds)
    return appended(cluster, after, protocol, bounds)
